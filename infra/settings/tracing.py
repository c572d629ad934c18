from __future__ import annotations

from typing import Annotated

from aws_cdk import Aws
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from shared.config import TRACED_SHARE_VARIABLE, TRACES_ENDPOINT_VARIABLE


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Tracing:
    """How many requests and fires are traced, and where the spans go: a URL that takes OTLP by HTTP, such as that of
    a collector of yours; without one to X-Ray, whose Transaction Search must be on (RUNBOOK.md).
    """

    share: Annotated[float, Field(gt=0, le=1)] = 0.05
    endpoint: Annotated[str, Field(pattern=r"^https?://[^\s/]+/\S+$")] | None = None

    @property
    def is_sent_to_aws(self) -> bool:
        return self.endpoint is None

    @property
    def variables(self) -> dict[str, str]:
        """What API, nodes and workers are told of it."""
        endpoint = self.endpoint or f"https://xray.{Aws.REGION}.{Aws.URL_SUFFIX}/v1/traces"
        return {TRACED_SHARE_VARIABLE: str(self.share), TRACES_ENDPOINT_VARIABLE: endpoint}
