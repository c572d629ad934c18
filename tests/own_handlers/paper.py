"""What a handler imports besides."""

from __future__ import annotations


def sheet(to: str) -> str:
    return f"Dear {to}"
