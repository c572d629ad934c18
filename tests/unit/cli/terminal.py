"""The command line over the API's real handler: arguments in, exit code and texts out."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from carillon import cli
from carillon.client import Client
from tests.unit.api.world import World
from tests.unit.client.api import URL, FakeTime, InProcess


@dataclass
class Terminal:
    """`code` and the texts are those of the last command."""

    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    world: World = field(default_factory=World)
    code: int = -1
    out: str = ""
    err: str = ""

    def __call__(self, *arguments: str, connect: Callable[[Namespace], Client] | None = None) -> Terminal:
        environ = {"CARILLON_URL": URL, "CARILLON_KEY": self.world.key_text}
        self.capsys.readouterr()
        try:
            self.code = cli.main(arguments, environ=environ, connect=connect or self.connect)
        except SystemExit as ended:
            self.code = int(ended.code or 0)
        self.out, self.err = self.capsys.readouterr()
        # The API in this process logs where a command prints.
        self.out = "".join(line for line in self.out.splitlines(keepends=True) if not line.startswith('{"level"'))
        return self

    def connect(self, chosen: Namespace) -> Client:
        transport = InProcess(self.world.handler)
        return Client(chosen.url, chosen.key, owner=chosen.owner, transport=transport, time=FakeTime().seams)

    def json(self, *arguments: str) -> Any:
        self(*arguments, "--json")
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """Words of each line."""
        return [line.split() for line in self.out.splitlines()]
