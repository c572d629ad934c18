"""Settings of uv: its own where it has any, else those of pip."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from localstack.toolchain.paths import ROOT, VENV
from localstack.toolchain.pip_settings import PipSettings, read_pip_settings

INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_NO_INDEX", "UV_FIND_LINKS")
SYSTEM_CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)
# The project's own Python ends where its packages have been seen to work.
PYTHON_RANGE = ">=3.11,<3.15"


def locked_index() -> str:
    """The index that the lock was made from, which is the one used when nobody says otherwise."""
    found = re.search(r'registry = "([^"]+)"', (ROOT / "uv.lock").read_text(encoding="utf-8"))
    if found is None:
        message = "uv.lock names no package index"
        raise ValueError(message)
    return found.group(1)


def uv_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment that uv runs in: the caller's, with what pip knows and uv does not."""
    settings = read_pip_settings(environ)
    result = {name: value for name, value in environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    result["UV_PROJECT_ENVIRONMENT"] = str(VENV)
    result.setdefault("UV_PYTHON", PYTHON_RANGE)
    result.setdefault("UV_HTTP_TIMEOUT", "120")
    if not _has_own_index(environ):
        _take_indexes(result, settings)
    if settings.trusted_hosts:
        result.setdefault("UV_INSECURE_HOST", " ".join(settings.trusted_hosts))
    if settings.cert:
        result.setdefault("SSL_CERT_FILE", settings.cert)
    if "SSL_CERT_FILE" not in result and "UV_NATIVE_TLS" not in result and system_certificates():
        result.setdefault("UV_SYSTEM_CERTS", "1")
    return result


def mirror_of(environ: Mapping[str, str]) -> str | None:
    """The index that replaces the locked one on this machine, or None. `environ` is that of `uv_environment`."""
    chosen = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL") or _index_of_file(environ)
    if not chosen or chosen.rstrip("/") == locked_index().rstrip("/"):
        return None
    return chosen


def index_url(environ: Mapping[str, str]) -> str:
    return mirror_of(environ) or locked_index()


def system_certificates() -> str | None:
    return next((path for path in SYSTEM_CERTIFICATES if Path(path).is_file()), None)


def _take_indexes(result: dict[str, str], settings: PipSettings) -> None:
    if settings.index_url:
        result["UV_DEFAULT_INDEX"] = settings.index_url
    if settings.extra_index_urls:
        result["UV_INDEX"] = " ".join(settings.extra_index_urls)
        # As pip looks at them. The hashes of the lock decide what is taken, whichever index offers it.
        result.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")


def _has_own_index(environ: Mapping[str, str]) -> bool:
    if any(environ.get(name) for name in INDEX_VARIABLES):
        return True
    return any(re.search(r"(?m)^\s*(\[\[index\]\]|(extra-)?index-url\s*=)", text) for text in _uv_files(environ))


def _index_of_file(environ: Mapping[str, str]) -> str | None:
    """The default index in uv.toml. Python 3.8 reads no TOML, so this knows the two forms that uv documents."""
    for text in _uv_files(environ):
        plain = re.search(r'(?m)^\s*index-url\s*=\s*"([^"]+)"', text)
        if plain:
            return plain.group(1)
        for block in re.split(r"(?m)^\s*\[\[index\]\]", text)[1:]:
            url = re.search(r'(?m)^\s*url\s*=\s*"([^"]+)"', block)
            if url and re.search(r"(?m)^\s*default\s*=\s*true", block):
                return url.group(1)
    return None


def _uv_files(environ: Mapping[str, str]) -> list[str]:
    chosen = environ.get("UV_CONFIG_FILE")
    home = Path(environ.get("HOME") or "/nonexistent")
    paths = (
        [Path(chosen)]
        if chosen
        else [
            Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "uv" / "uv.toml",
            Path("/etc/uv/uv.toml"),
        ]
    )
    return [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
