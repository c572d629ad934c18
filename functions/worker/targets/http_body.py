"""The start of an answer's body, as far as a run stores it."""

from __future__ import annotations

import zlib
from typing import Final

from shared.domain.limits import MAX_OUTPUT_BYTES

#: One more than is stored, so that the cut is seen.
_WANTED: Final = MAX_OUTPUT_BYTES + 1
#: What may come in for it: compressed text may have long stretches that say nothing.
_MOST_READ: Final = 64 * 1024
_IDENTITY: Final = frozenset({"", "identity"})
_ZLIB: Final = frozenset({"gzip", "x-gzip", "deflate"})
#: Of zlib: gzip or zlib, whichever is there; and deflate without a frame, which some servers send by that name.
_FRAMED: Final = zlib.MAX_WBITS | 32
_BARE: Final = -zlib.MAX_WBITS


class StartOfBody:
    """No encoding is asked for; what comes in one all the same is decoded where Python can, within the limit."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self._read = 0
        self._found = bytearray()
        self._decoder = zlib.decompressobj(_FRAMED) if self._encoding in _ZLIB else None
        self._is_broken = False

    def add(self, data: bytes) -> bool:
        """Whether more is wanted."""
        is_first = self._read == 0
        self._read += len(data)
        if self._decoder is None:
            self._found += data[: _WANTED - len(self._found)]
        else:
            self._decode(data, is_first=is_first)
        return len(self._found) < _WANTED and self._read < _MOST_READ and not self._is_broken

    @property
    def text(self) -> str | None:
        if self._encoding not in _IDENTITY | _ZLIB:
            return f"(in content-encoding {self._encoding[:40]}, which is not decoded)" if self._read else None
        if self._is_broken and not self._found:
            return f"(no {self._encoding}, though the answer says so)"
        return self._found.decode(errors="replace") or None

    def _decode(self, data: bytes, *, is_first: bool) -> None:
        assert self._decoder is not None
        wanted = _WANTED - len(self._found)
        try:
            self._found += self._decoder.decompress(data, wanted)
        except zlib.error:
            if not (is_first and self._encoding == "deflate"):
                self._is_broken = True
                return
            self._decoder = zlib.decompressobj(_BARE)
            self._decode(data, is_first=False)
