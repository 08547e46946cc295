"""Sets of small numbers as the bits of an int."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress, count


def numbers_in(bits: int) -> Iterator[int]:
    """Of the bits that are set: found one by one, or, where they lie close, all in one pass."""
    if bits.bit_count() * _CLOSE < bits.bit_length():
        return _one_by_one(bits)
    return compress(count(), f"{bits:b}"[::-1].encode().translate(_DIGITS))


_CLOSE = 8
_DIGITS = bytes.maketrans(b"01", b"\0\1")


def _one_by_one(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
