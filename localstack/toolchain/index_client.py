"""Fetches a file of a package index by name, as pip would, with nothing but the standard library."""

from __future__ import annotations

import base64
import json
import netrc
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from html import unescape
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

ACCEPTED = "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1"
TIMEOUT_SECONDS = 60


class IndexUnreachable(Exception):
    pass


def fetch_file(index: str, project: str, filename: str, environ: Mapping[str, str]) -> bytes:
    """The bytes of one file of a project.

    Raises:
        IndexUnreachable: the index does not answer, or does not have that file.
    """
    page_url = index.rstrip("/") + f"/{project}/"
    if page_url.startswith("file:"):
        page_url += "index.html"
    kind, page = _read(page_url, environ)
    links = _links_of_json(page) if "json" in kind else _links_of_html(page)
    if filename not in links:
        raise IndexUnreachable(f"{without_credentials(index)} has no {filename}")
    return _read(urljoin(page_url, links[filename]), environ)[1]


def without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, parts.fragment))


def _links_of_json(page: bytes) -> dict[str, str]:
    return {entry["filename"]: entry["url"] for entry in json.loads(page.decode())["files"]}


def _links_of_html(page: bytes) -> dict[str, str]:
    found = re.findall(r'<a\s[^>]*href\s*=\s*["\']([^"\']+)["\']', page.decode(), re.IGNORECASE)
    links = [unescape(href).partition("#")[0] for href in found]
    return {unquote(link.rpartition("/")[2]): link for link in links}


def _read(url: str, environ: Mapping[str, str]) -> tuple[str, bytes]:
    request = urllib.request.Request(without_credentials(url), headers={"Accept": ACCEPTED})  # noqa: S310 - configured
    login = _login(url, environ)
    if login:
        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS, context=_tls(environ)) as answer:  # noqa: S310
            return answer.headers.get("Content-Type", ""), answer.read()
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise IndexUnreachable(f"{without_credentials(url)}: {error}") from error


def _login(url: str, environ: Mapping[str, str]) -> str | None:
    parts = urlsplit(url)
    if parts.username:
        return unquote(parts.username) + ":" + unquote(parts.password or "")
    try:
        found = netrc.netrc(environ.get("NETRC")).authenticators(parts.hostname or "")
    except (OSError, netrc.NetrcParseError):
        return None
    return f"{found[0]}:{found[2]}" if found else None


def _tls(environ: Mapping[str, str]) -> ssl.SSLContext:
    chosen = environ.get("SSL_CERT_FILE") or environ.get("PIP_CERT")
    return ssl.create_default_context(cafile=chosen) if chosen else ssl.create_default_context()
