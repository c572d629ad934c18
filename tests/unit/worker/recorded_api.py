"""AWS, as far as a target sees it: answers what it is told, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.domain.errors import StoreError
from shared.ports.aws_api import AwsCall


@dataclass
class RecordedApi:
    answer: Mapping[str, Any] | StoreError = field(default_factory=dict)
    calls: list[AwsCall] = field(default_factory=list)

    def call(self, call: AwsCall) -> Mapping[str, Any]:
        self.calls.append(call)
        if isinstance(self.answer, StoreError):
            raise self.answer
        return self.answer
