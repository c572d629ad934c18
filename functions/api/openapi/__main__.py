"""Write the document anew: `python -m functions.api.openapi`."""

from __future__ import annotations

from functions.api.openapi.written import PATH, text

PATH.write_text(text(), encoding="utf-8")
