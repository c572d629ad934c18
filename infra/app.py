"""`cdk synth`: the stacks of one Carillon. `-c environment=` chooses what kind, `-c name=` which of several, and
`-c settings=` changes the environment's values.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from aws_cdk import App

from infra.bundle import BundlingFailed
from infra.data_stack import DataStack
from infra.environments import UnknownEnvironment, environment_named
from infra.service_stack import ServiceStack
from infra.settings import Environment, SettingsRefused

DEFAULT_ENVIRONMENT = "dev"
DEFAULT_NAME = "Carillon"
#: With the rest of a stack name it stays inside the 128 characters of CloudFormation.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}", re.ASCII)


class UnusableName(Exception):
    def __init__(self, name: object) -> None:
        self.name = name
        super().__init__(
            f"{name!r} cannot begin the name of a stack: use a letter, then letters, digits and hyphens, 64 at most, "
            "for example `-c name=Carillon`"
        )


@dataclass(frozen=True, slots=True)
class Stacks:
    data: DataStack
    service: ServiceStack


def compose(app: App) -> Stacks:
    """Add the stacks that the context asks for. Raises UnknownEnvironment, SettingsRefused, UnusableName,
    BundlingFailed.
    """
    settings = app.node.try_get_context("settings")
    environment = environment_named(_context(app, "environment", DEFAULT_ENVIRONMENT), settings)
    name = _context(app, "name", DEFAULT_NAME)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UnusableName(name)
    data = DataStack(app, "Data", stack_name=_stack_name(name, environment, "data"), environment=environment)
    service = ServiceStack(
        app,
        "Service",
        stack_name=_stack_name(name, environment, "service"),
        environment=environment,
        data=data.data,
    )
    return Stacks(data, service)


def _context(app: App, key: str, default: str) -> object:
    given: object = app.node.try_get_context(key)
    return default if given is None else given


def _stack_name(name: str, environment: Environment, part: str) -> str:
    return f"{name}-{environment.name}-{part}"


def main() -> None:
    app = App()
    try:
        compose(app)
    except (UnknownEnvironment, SettingsRefused, UnusableName, BundlingFailed) as mistake:
        sys.exit(str(mistake))
    app.synth()


if __name__ == "__main__":
    main()
