"""Remembers what a step was last done for, so that a warm start does nothing."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from localstack.toolchain.paths import STAMPS

if TYPE_CHECKING:
    from pathlib import Path


def digest(*parts: object) -> str:
    """A digest of texts and of the contents of files."""
    described = [part.read_bytes().hex() if hasattr(part, "read_bytes") else str(part) for part in parts]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()


def is_done(step: str, done_for: str, *, made: Path) -> bool:
    stamp = STAMPS / step
    return made.exists() and stamp.is_file() and stamp.read_text() == done_for


def mark_done(step: str, done_for: str) -> None:
    STAMPS.mkdir(parents=True, exist_ok=True)
    (STAMPS / step).write_text(done_for)


def forget(step: str) -> None:
    stamp = STAMPS / step
    if stamp.exists():
        stamp.unlink()
