"""URLs of webhooks: what may be called, and what a placeholder may stand in (path and query, never scheme or host)."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from shared.domain.limits import MAX_URL_LENGTH
from shared.domain.targets.reading import shown
from shared.domain.templates import PLACEHOLDERS, Values, filled

NOT_IN_URL = re.compile(r"[^\x21-\x7e]|[\"<>\\^`{|}]")


def fault_of_url(url: object, *, is_templated: bool = True) -> str | None:
    """Why this is no URL to call, or None."""
    if not isinstance(url, str):
        return "a target of type http needs a url, which is a text"
    if len(url) > MAX_URL_LENGTH:
        return f"a URL has at most {MAX_URL_LENGTH} characters, this one has {len(url)}"
    names = PLACEHOLDERS if is_templated else ()
    one, other = (filled_url(url, dict.fromkeys(names, digit)) for digit in "12")
    if found := NOT_IN_URL.search(one):
        return f"the character {found.group()!r} at position {found.start()} must be percent-encoded (a host: punycode)"
    try:
        parts, same = urlsplit(one), urlsplit(other)
        port = parts.port
    except ValueError as error:
        return f"not a URL: {error}"
    if parts.scheme not in {"http", "https"}:
        return f"a URL starts with https:// or http://, not with {shown(url[:20])}"
    faults: dict[str, bool] = {
        "a placeholder may stand in path and query, never in scheme, host or port": parts[:2] != same[:2],
        "the URL names no host": not parts.hostname,
        "a host is written without percent-encoding (a name with other letters: punycode)": "%" in parts.netloc,
        "port 0 cannot be called": port == 0,
        "a URL with a user name or password would store a secret": "@" in parts.netloc,
        "a fragment (#...) is never sent; leave it out": "#" in url,
    }
    return next((fault for fault, applies in faults.items() if applies), None)


def filled_url(url: str, values: Values) -> str:
    """Each value percent-encoded as a whole, so that it stays inside its part of the path or query."""
    text: str = filled(url, values, encode=lambda value: quote(value, safe=""))
    return text


def host_of(url: str) -> str:
    """As grants name it: lower case, IPv6 in brackets, without port."""
    host = (urlsplit(url).hostname or "").lower()
    return f"[{host}]" if ":" in host else host
