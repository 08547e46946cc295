"""Debug mode: every rule that a derivative runs is checked where it is used.

    grad(f, debug=True)        this one function
    with debug_rules(): ..     all derivatives that are taken in the block, in this process

A checked derivative is recorded (`recording/checking.py`), by a tape that compares each operation with finite
differences. Programs that there are already are made again when debug mode begins and when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_depth = 0

TURNED: list[Callable[[], None]] = []
"""Called when debug mode begins and ends."""


def is_on() -> bool:
    return _depth > 0


@contextmanager
def debug_rules() -> Iterator[None]:
    """In this block every rule that a derivative uses is checked: its value against the operation itself, its
    cotangents (tangents in forward mode) against central differences, their shape and dtype, and whether it
    changes its operands. The first that is wrong is named with the line that called it, by WrongRule, an
    AssertionError. So are the `examples` of rules that are defined in the block.

    Checked derivatives are slower by a factor of a hundred and more. Operations are run again, at points
    nearby.
    """
    _turn(1)
    try:
        yield
    finally:
        _turn(-1)


def _turn(by: int) -> None:
    global _depth
    _depth += by
    for each in TURNED:
        each()
