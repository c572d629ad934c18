"""Pages that fit an answer: a Lambda may answer 6 MB, and what is listed may be large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from functions.api import audit
from functions.api.bodies import Document
from functions.api.responses import Answer, encoded, page_answer
from shared.domain.pages import Page

T = TypeVar("T")

#: Of all items of a page, as they are answered.
MAX_PAGE_LENGTH: Final = 4_000_000


def answer_page(read: Callable[[int], Page[T]], show: Callable[[T], Document], limit: int) -> Answer:
    """The page that `read` gives for a limit; a shorter one where its items are large."""
    while True:
        page = read(limit)
        items: list[str] = []
        length = 0
        for each in page.items:
            items.append(encoded(show(each)))
            length += len(items[-1])
            if length > MAX_PAGE_LENGTH and len(items) > 1:
                # Read again, for the cursor is that of a whole page.
                limit = len(items) - 1
                break
        else:
            audit.note_unreadable(page.unreadable)
            return page_answer(items, page.cursor, page.unreadable)
