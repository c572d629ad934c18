"""The README's examples, by the heading they stand under, so that they can be executed."""

from __future__ import annotations

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section(heading: str) -> str:
    """What stands under the heading, up to the next one of any level."""
    # A `#` in an example is no heading.
    outside = _BLOCK.sub(lambda block: "\n" * block.group().count("\n"), README)
    starts = {found.group(1): found.group() for found in _HEADING.finditer(outside)}
    if heading not in starts:
        raise LookupError(f"the README has no heading {heading!r}")
    after = README.partition(f"{starts[heading]}\n")[2]
    ends = [after.find(f"\n{line}\n") for line in starts.values() if f"\n{line}\n" in after]
    return after[: min(ends, default=len(after))]


def examples(heading: str, language: str = "") -> list[str]:
    """The blocks of that language under the heading."""
    return [text for found, text in _BLOCK.findall(section(heading)) if found == language]
