from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from localstack.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


def test_other_users_of_the_machine_see_nothing_of_a_stack_s_folder(tmp_path: Path) -> None:
    folder = tmp_path / "stack"
    folder.mkdir(mode=0o777)

    Workspace(folder).subfolder("cdk.out")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
