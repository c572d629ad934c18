"""`python -P -m infra.sbom <folder>`: what each deployable is made of, by uv.lock, as a CycloneDX document.

Whoever has to answer for known weaknesses feeds these files to the scanner of their own.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from infra.bundle import ROOT, BundlingFailed, run_uv

#: uv calls the format a preview.
_EXPORT = ("export", "--frozen", "--format", "cyclonedx1.5", "--preview-features", "sbom-export", "--no-emit-project")


def deployables() -> list[str]:
    """The folders of `functions` that have a dependency group of their own."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    return sorted(path.name for path in (ROOT / "functions").iterdir() if path.is_dir() and path.name in groups)


def write(folder: Path) -> list[Path]:
    """One file for each deployable. Needs uv, and no network. Raises BundlingFailed."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in deployables():
        path = folder / f"{name}.cdx.json"
        path.write_text(run_uv(*_EXPORT, "--only-group", name), encoding="utf-8")
        written.append(path)
    return written


def main(folder: Path) -> None:
    try:
        write(folder)
    except BundlingFailed as failure:
        sys.exit(str(failure))
    shown = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    sys.stdout.write(f"bills of materials: {shown}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
