"""Reads a Dockerfile and carries it out in a folder: no Docker, and of its instructions those that ours use."""

from __future__ import annotations

import fnmatch
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str
    text: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)


@dataclass(slots=True)
class Stage:
    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def all_of(self, name: str) -> list[Instruction]:
        return [each for each in self.instructions if each.name == name]

    def last(self, name: str) -> Instruction:
        return self.all_of(name)[-1]

    @property
    def command(self) -> list[str]:
        """Raises ValueError when it is not in the form of a list, so that a shell would swallow the signals."""
        command: list[str] = json.loads(self.last("CMD").text)
        return command

    @property
    def environ(self) -> dict[str, str]:
        pairs = [word.partition("=") for each in self.all_of("ENV") for word in each.words]
        return {name: value for name, _, value in pairs}


def read(path: Path) -> list[Stage]:
    stages: list[Stage] = []
    for line in _lines(path.read_text()):
        name, _, text = line.partition(" ")
        if name == "FROM":
            words = text.split()
            stages.append(Stage(words[0], words[2] if len(words) > 1 else ""))
        else:
            stages[-1].instructions.append(Instruction(name, text.strip()))
    return stages


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


@dataclass(frozen=True, slots=True)
class Builder:
    """Carries out stages below `folder`: the absolute paths of an image are paths there."""

    context: Path
    ignored: list[str]
    folder: Path
    uv: str
    environ: Mapping[str, str]
    #: Folders in the place of stages, as of `--build-context`.
    contexts: Mapping[str, Path] = field(default_factory=dict)

    def root(self, stage: Stage) -> Path:
        return self.folder / (stage.name or "final")

    def inside(self, stage: Stage, text: str) -> str:
        return text.replace("/opt/", f"{self.root(stage)}/opt/")

    def build(self, stage: Stage) -> None:
        """Raises CalledProcessError when a RUN fails."""
        here = self.root(stage)
        for each in stage.instructions:
            if each.name == "WORKDIR":
                here = Path(self.inside(stage, each.text + "/"))
                here.mkdir(parents=True, exist_ok=True)
            elif each.name == "COPY":
                self._copy(stage, each, here)
            # What a final stage runs needs root and writes outside of the folder.
            elif each.name == "RUN" and stage.name:
                self._run(stage, each, here)

    def _copy(self, stage: Stage, instruction: Instruction, here: Path) -> None:
        words = instruction.words
        if words[0] == "--from=uv":
            return
        if words[0].startswith("--from="):
            _, source, target = words
            name = words[0].removeprefix("--from=")
            kept = self.contexts.get(name, self.folder / name) / source.lstrip("/")
            # A stage that makes nothing is an empty one.
            kept.mkdir(exist_ok=True)
            shutil.copytree(kept, Path(self.inside(stage, target)), symlinks=True)
            return
        *sources, target = words
        for source in sources:
            self._copy_from_context(Path(source), here / target)

    def _copy_from_context(self, source: Path, target: Path) -> None:
        path = self.context / source
        if path.is_file():
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / path.name)
            return
        for found in sorted(path.rglob("*")):
            if found.is_file() and not self._is_ignored(found.relative_to(self.context)):
                copied = target / found.relative_to(path)
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, copied)

    def _is_ignored(self, path: Path) -> bool:
        patterns = [each for each in self.ignored if not each.startswith("!") and each != "*"]
        return any(
            path.is_relative_to(pattern)
            or fnmatch.fnmatch(path.as_posix(), pattern)
            or any(fnmatch.fnmatch(part, pattern.removeprefix("**/")) for part in path.parts)
            for pattern in patterns
        )

    def _run(self, stage: Stage, instruction: Instruction, here: Path) -> None:
        environ = {name: self.inside(stage, value) for name, value in stage.environ.items()}
        command = instruction.text.replace("uv sync", f"{shlex.quote(self.uv)} sync", 1)
        subprocess.run(
            ["sh", "-c", command],
            cwd=here,
            env={**self.environ, **environ},
            check=True,
            capture_output=True,
            text=True,
        )

    def start(self, stage: Stage, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """The command of the image, in the environment of the image and nothing else."""
        environ = {
            name: self.inside(stage, value).replace("$PATH", os.defpath) for name, value in stage.environ.items()
        }
        program = shutil.which(stage.command[0], path=environ["PATH"])
        assert program is not None
        return subprocess.run(
            [program, *stage.command[1:]],
            cwd=self.inside(stage, stage.last("WORKDIR").text + "/"),
            env={**environ, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
