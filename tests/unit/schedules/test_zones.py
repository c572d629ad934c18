"""Zone data is the tzdata package's, and the spans made of it miss no change."""

from __future__ import annotations

import struct
import zoneinfo
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pytest

from shared.domain.errors import StoredUnreadable
from shared.domain.instants import SECOND
from shared.domain.schedules import tzdata_version, zone, zone_names
from shared.domain.schedules.spans import BLOCK_BITS, PROBE_STEP, offset_at, spans_of
from tests.unit.schedules.moments import at

FIRST = at("1970-06-01T00:00Z")


def changes_in_file(name: str) -> list[tuple[int, int]]:
    """(instant in s, new offset in s) of every change of offset that the compiled file lists (RFC 9636)."""
    data = resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    second_header = _end_of_block(data, 0, 4)
    _, _, _, times, kinds, _ = struct.unpack(">6l", data[second_header + 20 : second_header + 44])
    at_byte = second_header + 44
    moments = struct.unpack(f">{times}q", data[at_byte : at_byte + 8 * times])
    indices = data[at_byte + 8 * times : at_byte + 9 * times]
    table = at_byte + 9 * times
    offsets = [struct.unpack(">l", data[table + 6 * k : table + 6 * k + 4])[0] for k in range(kinds)]
    found, before = [], offsets[0]
    for moment, index in zip(moments, indices, strict=True):
        if offsets[index] != before:
            found.append((moment, offsets[index]))
        before = offsets[index]
    return found


def _end_of_block(data: bytes, start: int, width: int) -> int:
    header: tuple[int, ...] = struct.unpack(">6l", data[start + 20 : start + 44])
    is_ut, is_std, leaps, times, kinds, characters = header
    return start + 44 + times * (width + 1) + kinds * 6 + characters + leaps * (width + 4) + is_std + is_ut


def test_no_zone_changes_twice_within_a_probe_step() -> None:
    closest = min(
        later - earlier
        for name in zone_names()
        for (earlier, _), (later, _) in pairwise(changes_in_file(name))
    )  # fmt: skip
    assert closest * SECOND > PROBE_STEP


@pytest.mark.timeout(300)
def test_spans_show_every_change_that_a_file_lists() -> None:
    for name in sorted(zone_names()):
        listed = {t * SECOND: offset * SECOND for t, offset in changes_in_file(name) if t * SECOND >= FIRST}
        if listed:
            # Behind its last line a file goes on by a rule, which brute force checks.
            assert changes_in_spans(name, FIRST, max(listed)) == listed, name


def changes_in_spans(name: str, first: int, last: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for block in range(first >> BLOCK_BITS, (last >> BLOCK_BITS) + 1):
        spans = spans_of(name, block)
        assert all(span.end == following.start for span, following in pairwise(spans))
        found |= {span.start: span.offset for span in spans if span.gap_ms and first <= span.start <= last}
    return found


def test_blocks_meet_without_a_seam() -> None:
    for block in range(at("2020-01-01T00:00Z") >> BLOCK_BITS, at("2040-01-01T00:00Z") >> BLOCK_BITS):
        for name in ("Europe/Berlin", "Africa/Casablanca", "Australia/Lord_Howe"):
            spans = spans_of(name, block)
            assert spans[0].start < block << BLOCK_BITS < spans[0].end
            assert spans[-1].end == (block + 1) << BLOCK_BITS


def test_an_offset_changes_on_the_millisecond() -> None:
    change = at("2026-03-29T01:00Z")
    assert offset_at("Europe/Berlin", change - 1) == 3_600_000
    assert offset_at("Europe/Berlin", change) == 7_200_000


def test_the_hosts_database_cannot_win(tmp_path: Path) -> None:
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Berlin").write_bytes(
        resources.files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo").read_bytes()
    )
    before = zoneinfo.TZPATH
    zoneinfo.reset_tzpath([str(tmp_path)])
    zone.cache_clear()
    try:
        moment = at("2026-01-01T00:00Z")
        assert zoneinfo.ZoneInfo.no_cache("Europe/Berlin").key == "Europe/Berlin"
        spans_of.cache_clear()
        assert offset_at("Europe/Berlin", moment) == 3_600_000
    finally:
        zoneinfo.reset_tzpath(before)


@pytest.mark.parametrize("name", ["localtime", "posixrules", "../zones", "", "Europe", "zone.tab", "europe/berlin"])
def test_a_name_that_is_not_listed_is_no_zone(name: str) -> None:
    with pytest.raises(StoredUnreadable):
        zone(name)


def test_the_version_is_a_release_that_knows_of_moroccos_last_change() -> None:
    """B67."""
    assert tzdata_version() >= "2026c"
