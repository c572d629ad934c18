from __future__ import annotations

import pytest

from functions.worker.cuts import ends_of, first_bytes


@pytest.mark.parametrize(("limit", "cut"), [(0, ""), (1, ""), (2, "é"), (3, "é"), (4, "éé"), (9, "éé")])
def test_a_text_is_cut_between_characters(limit: int, cut: str) -> None:
    assert first_bytes("éé", limit) == cut


def test_both_ends_of_a_long_text_are_kept() -> None:
    assert ends_of("a" * 50 + "z" * 50, 15) == "aaaaa ... zzzzz"
    assert ends_of("x" * 15, 15) == "x" * 15
    assert len(ends_of("é" * 100, 16).encode()) <= 16


def test_what_utf_8_cannot_say_becomes_a_question_mark() -> None:
    assert first_bytes("a\ud800b", 10) == "a?b"
    assert ends_of("a\ud800b", 10) == "a?b"
