"""What this machine has told pip about package indexes: variables first, then its configuration files."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SECTIONS = ("global", "install", "download")


@dataclass(frozen=True)
class PipSettings:
    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    cert: str | None = None
    trusted_hosts: tuple[str, ...] = ()


def read_pip_settings(environ: Mapping[str, str]) -> PipSettings:
    files = _values_of_files(environ)

    def value(name: str) -> str:
        variable = environ.get("PIP_" + name.upper().replace("-", "_"), "")
        return variable.strip() or files.get(name, "")

    return PipSettings(
        index_url=value("index-url") or None,
        extra_index_urls=tuple(value("extra-index-url").split()),
        cert=value("cert") or None,
        trusted_hosts=tuple(value("trusted-host").split()),
    )


def _values_of_files(environ: Mapping[str, str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for path in _configuration_files(environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(str(path), encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            print(f"note: {path} is skipped, pip could not read it either: {error}", file=sys.stderr)
            continue
        for section in SECTIONS:
            if parser.has_section(section):
                values.update(parser.items(section))
    return values


def _configuration_files(environ: Mapping[str, str]) -> list[Path]:
    """In the order in which pip reads them: what is later wins."""
    chosen = environ.get("PIP_CONFIG_FILE", "")
    if chosen == os.devnull:
        return []
    home = Path(environ.get("HOME") or "/nonexistent")
    config_home = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    directories = [Path(part) for part in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if part]
    candidates = [directory / "pip" / "pip.conf" for directory in directories]
    candidates += [Path("/etc/pip.conf"), home / ".pip" / "pip.conf", config_home / "pip" / "pip.conf"]
    if sys.platform == "darwin":
        mac = Path("Library/Application Support/pip/pip.conf")
        candidates = [Path("/") / mac, *candidates, home / mac]
    if chosen:
        candidates.append(Path(chosen))
    return [path for path in candidates if path.is_file()]
