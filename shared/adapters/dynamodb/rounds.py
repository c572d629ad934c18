from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence


def rounds(keys: Sequence[Hashable]) -> Iterator[list[int]]:
    """The indexes of `keys` in rounds: no key twice in one, and equal keys in their order."""
    left = list(range(len(keys)))
    while left:
        first: dict[Hashable, int] = {}
        for index in left:
            first.setdefault(keys[index], index)
        taken = set(first.values())
        yield sorted(taken)
        left = [index for index in left if index not in taken]
