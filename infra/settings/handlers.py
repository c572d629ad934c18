from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from infra.bundle import ROOT
from infra.settings.handler_names import names_in, names_in_file
from shared.config import HANDLER_NAMES_VARIABLE, HANDLERS_FOLDER_VARIABLE, HANDLERS_VARIABLE

_MODULE = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"
#: These packages come first on the worker's import path, so that a module of yours would never be found under them.
_TAKEN = frozenset(["carillon", "functions", "shared"])
#: Of those that every deployment has.
_EXAMPLES = ROOT / "functions" / "worker" / "examples.py"
#: All variables of a function together may have 4 KB. With longer names the API cannot say which handlers there are.
_MOST_NAME_BYTES = 1_000


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Handlers:
    """Functions of yours for targets of type `handler`: `modules`, whose import registers them, in a `folder`.

    The worker has all of the folder on its import path, behind Carillon and the packages of Carillon: what the modules
    import besides lies in it too. A relative folder begins at the top of the checkout.
    """

    folder: str
    modules: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")], ...], Field(min_length=1)
    ]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.path.is_dir():
            raise ValueError(f"handlers.folder {self.folder!r} is no folder: there is none at {self.path}")
        for module in self.modules:
            if module.partition(".")[0] in _TAKEN:
                raise ValueError(
                    f"handlers.modules names {module!r}, and Carillon has a package of that name: use another"
                )
            path = self.path / module.replace(".", "/")
            if not path.with_suffix(".py").is_file() and not (path / "__init__.py").is_file():
                raise ValueError(f"handlers.modules names {module!r}, which is not in {self.path}")
        return self

    def variables(self, folder: str) -> dict[str, str]:
        """What a worker is told that finds them there."""
        return {HANDLERS_VARIABLE: ",".join(self.modules), HANDLERS_FOLDER_VARIABLE: folder}

    @property
    def names(self) -> frozenset[str] | None:
        """What its files may register; None where their text does not say."""
        return names_in(self.path)

    @property
    def path(self) -> Path:
        return (ROOT / self.folder).resolve()


def variables_of_names(handlers: Handlers | None) -> dict[str, str]:
    """What the API is told of the handlers there are; nothing where that is not known."""
    own = frozenset[str]() if handlers is None else handlers.names
    built_in = names_in_file(_EXAMPLES)
    if own is None or built_in is None:
        return {}
    listed = json.dumps(sorted(own | built_in), separators=(",", ":"))
    return {HANDLER_NAMES_VARIABLE: listed} if len(listed) <= _MOST_NAME_BYTES else {}
