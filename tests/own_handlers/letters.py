"""Handlers as a deployment has them (setting `handlers`): this folder is on the worker's import path, by itself."""

from __future__ import annotations

from typing import Any

from paper import sheet  # type: ignore[import-not-found]

from carillon.handlers import Context, handler


@handler("letter")
def letter(context: Context, payload: Any) -> str:
    return f"{sheet(payload['to'])}, {context.attempt}"
