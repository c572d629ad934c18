"""Texts of users, cut to what a row may hold. What UTF-8 cannot say becomes `?`: it must not fail the write."""

from __future__ import annotations

_CUT = " ... "


def first_bytes(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8, ending at a whole character."""
    return text.encode(errors="replace")[:limit].decode(errors="ignore")


def ends_of(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8: of a longer text its first and its last part, where errors say most."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= limit:
        return encoded.decode()
    kept = limit - len(_CUT)
    head, tail = encoded[: kept - kept // 2], encoded[-(kept // 2) :]
    return head.decode(errors="ignore") + _CUT + tail.decode(errors="ignore")
