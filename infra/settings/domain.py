from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class CustomDomain:
    """A name of yours for the API, and the certificate of ACM in the same Region that proves it.

    The record of DNS is yours to make: it points to the output `ApiDomainTarget`.
    """

    name: Annotated[str, Field(pattern=r"^([a-z0-9-]+\.)+[a-z]{2,}$")]
    certificate_arn: Annotated[str, Field(pattern=r"^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate/.+$")]
