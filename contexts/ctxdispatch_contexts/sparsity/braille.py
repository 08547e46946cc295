"""A matrix's pattern as text: a braille character is 4 rows of 2 dots."""

from __future__ import annotations

from typing import Any

import numpy as np

WIDTH, HEIGHT = 60, 30
"""The largest picture, in characters."""

DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""The bit of each dot, U+2800 plus which is the character (Unicode, "Braille Patterns")."""


def picture(shape: tuple[int, int], rows: Any, cols: Any) -> str:
    """A dot wherever one of the entries that fall on it is there. Lines are framed; empty if the matrix
    is."""
    if not all(shape):
        return ""
    scale = max(1.0, shape[0] / (4 * HEIGHT), shape[1] / (2 * WIDTH))
    height, width = (min(most, int(np.ceil(n / scale))) for n, most in zip(shape, (4 * HEIGHT, 2 * WIDTH)))
    at_row = np.minimum((np.asarray(rows) / scale).astype(int), height - 1)
    at_col = np.minimum((np.asarray(cols) / scale).astype(int), width - 1)
    dots = np.zeros((-(-height // 4) * 4, -(-width // 2) * 2), np.int64)
    dots[at_row, at_col] = 1
    cells = dots.reshape(dots.shape[0] // 4, 4, dots.shape[1] // 2, 2)
    codes = 0x2800 + np.einsum("rdce,de->rc", cells, DOTS)
    lines = ["".join(map(chr, line)) for line in codes.tolist()]
    edge = "─" * len(lines[0])
    return "\n".join([f"┌{edge}┐", *(f"│{line}│" for line in lines), f"└{edge}┘"])
