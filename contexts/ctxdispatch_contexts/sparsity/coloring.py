"""Coloring: which columns (or rows) of a sparse matrix can be found out together.

    column     columns of one color have no row in common: J is read off J @ seeds
    row        rows of one color have no column in common: seeds @ J
    symmetric  a star coloring: no two adjacent vertices of one color, and no path of four of two colors; a
               symmetric H is read off H @ seeds, each entry from one of its two places

After Gebremedhin, Manne, Pothen, "What Color Is Your Jacobian?" (2005), greedily, in the best of a few
orders.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from ctxdispatch_contexts.sparsity.errors import SparsityError
from ctxdispatch_contexts.sparsity.pattern import SparsityPattern

ColoringMode = Literal["column", "row", "symmetric"]


@dataclasses.dataclass(frozen=True, eq=False)
class Coloring:
    """`colors[j]`, from 0 to `number` - 1, is that of column (or row, or vertex) j; (n,) int32."""

    colors: np.ndarray[Any, np.dtype[np.int32]]
    number: int
    mode: ColoringMode

    @property
    def groups(self) -> list[Any]:
        """Per color its columns (or rows), ascending."""
        order = np.argsort(self.colors, kind="stable")
        ends = np.cumsum(np.bincount(self.colors, minlength=self.number))
        return np.split(order, ends[:-1]) if self.number else []

    def seeds(self, dtype: Any = np.float64) -> Any:
        """(number, n): row c is 1 at the columns (or rows) of color c, 0 elsewhere."""
        out = np.zeros((self.number, len(self.colors)), dtype)
        out[self.colors, np.arange(len(self.colors))] = 1
        return out

    def __repr__(self) -> str:
        return f"Coloring({self.mode}, {self.number} colors of {len(self.colors)})"


def color(pattern: SparsityPattern, mode: ColoringMode = "column") -> Coloring:
    """A coloring of the columns, the rows, or (of a symmetric pattern) the vertices of `pattern`.

    Raises SparsityError where `mode` is "symmetric" and the pattern is not.
    """
    if not isinstance(pattern, SparsityPattern):
        raise SparsityError(
            f"color() takes a SparsityPattern, not a {type(pattern).__name__}; SparsityPattern.from_scipy "
            "and "
            "from_dense make one"
        )
    if mode not in _METHODS:
        raise ValueError(f'mode is "column", "row" or "symmetric", not {mode!r}')
    return _METHODS[mode](pattern)


def _columns(pattern: SparsityPattern) -> Coloring:
    return _best(pattern.T, _distance_two, "column", pattern.shape[0], 12)


def _rows(pattern: SparsityPattern) -> Coloring:
    return _best(pattern, _distance_two, "row", pattern.shape[1], 12)


def _symmetric(pattern: SparsityPattern) -> Coloring:
    if pattern.shape[0] != pattern.shape[1] or pattern != pattern.T:
        raise SparsityError('mode="symmetric" needs a symmetric pattern; take p | p.T, or another mode')
    return _best(pattern, _star, "symmetric", pattern.shape[1], 3)


_METHODS: dict[str, Callable[[SparsityPattern], Coloring]] = {
    "column": _columns, "row": _rows, "symmetric": _symmetric,
}  # fmt: skip


def _best(lists: SparsityPattern, method: Any, mode: ColoringMode, other: int, improvements: int) -> Coloring:
    """The fewest colors over the orders, and over recolorings in orders that earlier colors suggest. `lists`:
    per vertex what it is in."""
    adjacency = _adjacency(lists)
    tried = [method(adjacency, order, other) for order in _orders(lists)]
    found: list[int] = min(tried, key=max, default=[])
    current, least = found, _clique(lists) if method is _distance_two else 1
    for order in range(improvements if found else 0):
        if max(found) < least:
            break
        current = method(adjacency, _by_class(current, order), other)
        found = min(found, current, key=max)
    colors = np.array(found, np.int32)
    return Coloring(colors, int(colors.max(initial=-1)) + 1, mode)


def _clique(lists: SparsityPattern) -> int:
    """A bound from below of colorings of distance two: all entries of the longest row or column differ."""
    return int(np.bincount(lists.indices, minlength=1).max(initial=0))


def _by_class(colors: list[int], turn: int) -> list[int]:
    """Vertices of one color one after the other. So a greedy coloring needs no more colors, often fewer
    (Culberson, "Iterated Greedy Graph Coloring", 1992): last color first, smallest class last, at random."""
    of = np.array(colors)
    count = int(of.max()) + 1
    ranks = (
        np.arange(count)[::-1],
        np.argsort(np.argsort(-np.bincount(of), kind="stable")),
        np.random.default_rng(turn).permutation(count),
    )
    order: list[int] = np.argsort(ranks[turn % 3][of], kind="stable").tolist()
    return order


def _adjacency(pattern: SparsityPattern) -> list[list[int]]:
    columns, ends = pattern.indices.tolist(), pattern.indptr.tolist()
    return [columns[a:b] for a, b in zip(ends, ends[1:])]


def _orders(lists: SparsityPattern) -> Iterator[list[int]]:
    """As they come; and largest first, by how many vertices share something with each (counted with
    repeats)."""
    n = lists.shape[0]
    if not n:
        return
    yield list(range(n))
    degree = np.bincount(lists.indices, minlength=lists.shape[1])
    meets = np.zeros(n, np.int64)
    np.add.at(meets, lists.rows, degree[lists.indices])
    if (meets != meets[0]).any():
        yield np.argsort(-meets, kind="stable").tolist()


def _distance_two(adjacency: list[list[int]], order: list[int], other: int) -> list[int]:
    """Partial distance-2 coloring. Each row knows its colors as bits, so a column's color is the lowest bit
    that none of its rows has: linear in the number of entries."""
    taken = [0] * other
    colors = [0] * len(adjacency)
    for j in order:
        rows, forbidden = adjacency[j], 0
        for i in rows:
            forbidden |= taken[i]
        bit = ~forbidden & (forbidden + 1)
        colors[j] = bit.bit_length() - 1
        for i in rows:
            taken[i] |= bit
    return colors


def _star(adjacency: list[list[int]], order: list[int], other: int) -> list[int]:
    """Algorithm 4.1 of the paper, with its test "x has another neighbour of w's color" by counting: v must
    not have the color of x, two steps away over w, if w has no color yet or x has two neighbours of w's."""
    n = len(adjacency)
    colors = [-1] * n
    counts: list[dict[int, int]] = [{} for _ in range(n)]
    for v in order:
        forbidden = _forbidden(v, adjacency, colors, counts)
        c = (~forbidden & (forbidden + 1)).bit_length() - 1
        colors[v] = c
        for w in adjacency[v]:
            if w != v:
                counts[w][c] = counts[w].get(c, 0) + 1
    return colors


def _forbidden(v: int, adjacency: list[list[int]], colors: list[int], counts: list[dict[int, int]]) -> int:
    forbidden = 0
    for w in adjacency[v]:
        if w == v:
            continue
        mine = colors[w]
        if mine < 0:
            for c in counts[w]:
                forbidden |= 1 << c
            continue
        forbidden |= 1 << mine
        for x in adjacency[w]:
            if x != v and x != w and colors[x] >= 0 and counts[x].get(mine, 0) > 1:
                forbidden |= 1 << colors[x]
    return forbidden


# -- decompression -------------------------------------------------------------------------------------------


def gather(pattern: SparsityPattern, coloring: Coloring) -> Any:
    """Where each entry of `pattern`, row by row, stands in the raveled compressed matrix: (number, m) of
    columns, J @ seeds transposed; (number, n) of rows; (number, n) of a symmetric matrix.

    Raises SparsityError where two entries would stand at one place: it is no coloring of this pattern.
    """
    rows, cols = pattern.rows.astype(np.int64), pattern.cols.astype(np.int64)
    colors = coloring.colors
    m, n = pattern.shape
    if coloring.mode == "row":
        here = there = colors[rows] * np.int64(n) + cols
    else:
        here = there = colors[cols] * np.int64(m) + rows
    if coloring.mode == "symmetric":
        there = colors[rows] * np.int64(n) + cols
    times = np.bincount(here, minlength=max(m, n) * coloring.number)
    alone = times[here] == 1
    if not (alone | (times[there] == 1)).all():
        raise SparsityError(
            f"{coloring} is no {coloring.mode} coloring of this pattern: entries "
            "coincide; make one with color(pattern)"
        )
    return np.where(alone, here, there)
