"""Pairs of inputs whose second derivative may be nonzero, collected at each nonlinear operation.

    y = f(a, b):   sets(a) x sets(a)  if the partial in a varies with a,   sets(a) x sets(b)  if with b

That, summed over all operations, is the pattern of the Hessian of whatever they lead to, for the chain rule
adds only products of first derivatives with second ones of single operations. Which partial varies with what,
the table of derivatives says (`Elementwise.varies`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch_contexts.derivatives.table import Elementwise
from ctxdispatch_contexts.sparsity.indexsets import members

OUTER = 1 << 14
"""Products of sets up to this size are listed, larger ones are rows of bits."""


class Pairs:
    """Pairs of row numbers; each stands for the product of its two rows."""

    def __init__(self) -> None:
        self._keys: list[Any] = []

    def elementwise(self, run: Any, row: Elementwise, out: Any, args: Any) -> None:
        for i, j in _varying(row):
            if i < len(args) and j < len(args):
                for t in run.terms(args[i]):
                    for u in run.terms(args[j]):
                        self.cross(run, *np.broadcast_arrays(t, u))

    def cliques(self, run: Any, terms: Any) -> None:
        """Each element's set with itself."""
        for k, t in enumerate(terms):
            for u in terms[k:]:
                self.cross(run, t, u)

    def clique(self, run: Any, bits: int) -> None:
        if bits:
            row = np.array([run.arena.row(bits)])
            self.cross(run, row, row)

    def cross(self, run: Any, a: Any, b: Any) -> None:
        a, b = a.reshape(-1).astype(np.int64), b.reshape(-1).astype(np.int64)
        keys = (np.minimum(a, b) << 32 | np.maximum(a, b))[(a > 0) & (b > 0)]
        self._keys.append(keys if keys.size < 64 else np.unique(keys))

    def finished(self, run: Any) -> Any:
        """The sorted keys i n + j of all pairs (i, j), both ways round."""
        n = run.arena.n
        if not self._keys:
            return np.zeros(0, np.int64)
        keys = np.unique(np.concatenate(self._keys))
        a, b = keys >> 32, keys & 0xFFFFFFFF
        single = (a <= n) & (b <= n)
        found = [(a[single] - 1) * n + b[single] - 1]
        rows: dict[int, int] = {}
        for i, j in zip(a[~single].tolist(), b[~single].tolist()):
            _multiply(run, i, j, n, found, rows)
        for i, bits in rows.items():
            found.append(i * n + members(bits).astype(np.int64))
        flat = np.concatenate(found)
        return np.unique(np.concatenate([flat, flat % n * n + flat // n]))


def _multiply(run: Any, a: int, b: int, n: int, found: list[Any], rows: dict[int, int]) -> None:
    left, right = (members(run.arena.bits(np.array([r]))).astype(np.int64) for r in (a, b))
    if left.size * right.size <= OUTER:
        found.append((left[:, None] * n + right).reshape(-1))
        return
    bits = run.arena.bits(np.array([b]))
    for i in left.tolist():
        rows[i] = rows.get(i, 0) | bits


def _varying(row: Elementwise) -> set[tuple[int, int]]:
    """Pairs of parameters with a second derivative."""
    found = set()
    for i, (kind, varies) in enumerate(zip(row.kinds, row.varies)):
        if kind != "zero":
            found.update({(min(i, j), max(i, j)) for j, p in enumerate(row.params) if p in varies})
    return found
