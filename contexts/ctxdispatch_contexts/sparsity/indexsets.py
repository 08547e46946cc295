"""Index sets, and the arena in which those of one run live.

A *set* is a set of inputs 0 .. n - 1. Scalars have theirs as a bitset, a Python int. Arrays have *rows*:

    row 0 is {}, row 1 + j is {j}, further rows are appended in compressed form (indptr, indices)

and an array's sets are `terms`, int32 arrays of row numbers in the array's shape: element i depends on the
union of the rows terms[0][i], terms[1][i], ... A union of arrays is so a list of terms, made in no time; what
moves elements moves row numbers; only where terms would become many, or elements are summed up, are rows of
unions made, by sorting concatenated keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Ids: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"
Terms: TypeAlias = tuple[Ids, ...]

MOST_TERMS = 24


class Arena:
    """The rows of one run over `n` inputs."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.count = n + 1
        self._indptr: list[Any] = [np.zeros(1, np.int64)]
        self._indices: list[Any] = []
        self._entries = 0
        self._row_of: dict[int, int] = {}
        self._bits_of: dict[int, int] = {}

    # -- rows ------------------------------------------------------------------------------------------------

    def table(self) -> tuple[Any, Any]:
        """(indptr, indices) of the rows above n."""
        if len(self._indptr) > 1:
            self._indptr = [np.concatenate(self._indptr)]
        if len(self._indices) > 1:
            self._indices = [np.concatenate(self._indices)]
        return self._indptr[0], self._indices[0] if self._indices else np.zeros(0, np.int32)

    def append(self, counts: Any, columns: Any) -> Ids:
        """New rows of `counts` entries each; small ones are the rows that there are already."""
        keep = counts > 1
        ids = np.zeros(len(counts), np.int32)
        ends = np.cumsum(counts)
        single = counts == 1
        ids[single] = columns[ends[single] - 1] + 1
        ids[keep] = self.count + np.arange(np.count_nonzero(keep))
        if not keep.all():
            columns = columns[np.repeat(keep, counts)]
        if columns.size:
            self._indptr.append(self._entries + np.cumsum(counts[keep]))
            self._indices.append(columns.astype(np.int32, copy=False))
            self._entries += len(columns)
            self.count += int(np.count_nonzero(keep))
        return ids

    def expand(self, groups: Any, ids: Ids) -> tuple[Any, Any]:
        """(group, column) for every entry of row ids[k], which belongs to groups[k]."""
        single = (ids > 0) & (ids <= self.n)
        big = ids > self.n
        if not big.any():
            return groups[single], ids[single] - 1
        indptr, indices = self.table()
        rows = ids[big] - (self.n + 1)
        lengths = indptr[rows + 1] - indptr[rows]
        ends = np.cumsum(lengths)
        take = np.arange(ends[-1]) + np.repeat(indptr[rows] - (ends - lengths), lengths)
        return (
            np.concatenate([groups[single], np.repeat(groups[big], lengths)]),
            np.concatenate([ids[single] - 1, indices[take]]),
        )

    def unions(self, groups: Any, ids: Ids, count: int) -> Ids:
        """Per group 0 .. count - 1 the row that is the union of the rows ids[k] with groups[k] that group."""
        return self.append(*self.compressed(groups, ids, count))

    def compressed(self, groups: Any, ids: Ids, count: int) -> tuple[Any, Any]:
        """(entries per group, columns): the unions in compressed form, columns ascending."""
        group, column = self.expand(groups.astype(np.int64, copy=False), ids)
        keys = group * max(self.n, 1) + column
        keys.sort()
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys
        group = keys // max(self.n, 1)
        return np.bincount(group, minlength=count), (keys - group * self.n).astype(np.int32)

    # -- bitsets ---------------------------------------------------------------------------------------------

    def bits(self, ids: Any) -> int:
        """The union of rows, as a bitset."""
        ids = np.asarray(ids)
        if ids.size == 1:
            return self._bits(int(ids.reshape(-1)[0]))
        distinct = np.unique(ids)
        if len(distinct) <= 4:
            return _any(self._bits(int(i)) for i in distinct)
        _, columns = self.expand(np.zeros(len(distinct), np.int64), distinct)
        return bitset(columns, self.n)

    def _bits(self, row: int) -> int:
        if row <= self.n:
            return 1 << (row - 1) if row else 0
        found = self._bits_of.get(row)
        if found is None:
            indptr, indices = self.table()
            k = row - self.n - 1
            found = self._bits_of[row] = bitset(indices[indptr[k] : indptr[k + 1]], self.n)
        return found

    def row(self, bits: int) -> int:
        """The row that is this bitset."""
        if bits & (bits - 1) == 0:
            return bits.bit_length()
        found = self._row_of.get(bits)
        if found is None:
            columns = members(bits)
            found = self._row_of[bits] = int(self.append(np.array([len(columns)]), columns)[0])
        return found

    # -- terms -----------------------------------------------------------------------------------------------

    def collapse(self, terms: Sequence[Ids]) -> Terms:
        """The same sets as one term (none, if all are empty)."""
        terms = distinct_terms(terms)
        if len(terms) <= 1:
            return tuple(terms)
        shape, flat = terms[0].shape, [t.reshape(-1) for t in terms]
        size = flat[0].size
        if max(int(t.max(initial=0)) for t in flat) > self.n:  # large rows: each combination of rows once
            inverse = self._combinations(flat)
            firsts = np.zeros(int(inverse.max(initial=-1)) + 1, np.int64)
            firsts[inverse] = np.arange(size)
            groups = np.tile(np.arange(len(firsts)), len(flat))
            ids = self.unions(groups, np.concatenate([t[firsts] for t in flat]), len(firsts))
            return (ids[inverse].reshape(shape),)
        groups = np.tile(np.arange(size), len(flat))
        return (self.unions(groups, np.concatenate(flat), size).reshape(shape),)

    def _combinations(self, flat: list[Ids]) -> Any:
        """Elements with the same rows have the same number."""
        inverse = np.unique(flat[0], return_inverse=True)[1].astype(np.int64)
        for t in flat[1:]:
            inverse = np.unique(inverse * self.count + t, return_inverse=True)[1]
        return inverse

    def limited(self, terms: Sequence[Ids]) -> Terms:
        terms = tuple(terms) if len(terms) <= 1 else distinct_terms(terms)
        return terms if len(terms) <= MOST_TERMS else self.collapse(terms)

    def reduced(self, terms: Sequence[Ids]) -> Terms:
        """Unions along the last axis."""
        if not terms:
            return ()
        shape = terms[0].shape[:-1]
        count, width = int(np.prod(shape)), terms[0].shape[-1]
        if count == 1:
            row = self.row(self.bits(np.concatenate([t.reshape(-1) for t in terms])))
            return (np.full(shape, row, np.int32),)
        if len(terms) > 1 and max(int(t.max(initial=0)) for t in terms) > self.n:
            terms = self.collapse(terms)
        stacked = np.concatenate([t.reshape(count, width) for t in terms], axis=1)
        groups = np.repeat(np.arange(count), stacked.shape[1])
        return (self.unions(groups, stacked.reshape(-1), count).reshape(shape),)

    def counts(self, terms: Sequence[Ids], size: int) -> Any:
        """How many inputs each of `size` elements depends on."""
        if not terms:
            return np.zeros(size, np.int64)
        groups = np.tile(np.arange(size), len(terms))
        return self.compressed(groups, np.concatenate([t.reshape(-1) for t in terms]), size)[0]


def distinct_terms(terms: Sequence[Ids]) -> Terms:
    """Without those that are one piece of memory."""
    found: dict[Any, Ids] = {}
    for t in terms:
        found.setdefault((t.__array_interface__["data"][0], t.strides, t.shape), t)
    return tuple(found.values())


def _any(bitsets: Any) -> int:
    out = 0
    for b in bitsets:
        out |= b
    return out


def bitset(columns: Any, n: int) -> int:
    """The set of these columns as bits."""
    if len(columns) <= 4:
        return _any(1 << int(c) for c in columns)
    flags = np.zeros(n, np.uint8)
    flags[columns] = 1
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def members(bits: int) -> Any:
    """The columns of a bitset, ascending."""
    raw = np.frombuffer(bits.to_bytes((bits.bit_length() + 7) // 8, "little"), np.uint8)
    if raw.size <= 64:
        return np.flatnonzero(np.unpackbits(raw, bitorder="little")).astype(np.int32)
    at = np.flatnonzero(raw)
    flags = np.unpackbits(raw[at].reshape(-1, 1), axis=1, bitorder="little")
    where, bit = np.nonzero(flags)
    return (at[where] * 8 + bit).astype(np.int32)


# -- compressed rows of small terms --------------------------------------------------------------------------


def sorted_rows(terms: Sequence[Ids]) -> tuple[Any, Any]:
    """(entries per element, columns) of terms whose rows have at most one entry.

    The terms, one array each, pass a sorting network (Batcher 1968, odd-even merge): minima and maxima of
    whole arrays, so that all elements are sorted at once.
    """
    columns = np.array([t.reshape(-1) for t in terms])
    for i, j in network(len(columns)):
        low = np.minimum(columns[i], columns[j])
        np.maximum(columns[i], columns[j], out=columns[j])
        columns[i] = low
    keep = columns > 0
    keep[1:] &= columns[1:] != columns[:-1]
    if keep.all():
        return np.full(columns.shape[1], len(columns)), columns.T.reshape(-1) - 1
    return keep.sum(axis=0), columns.T[keep.T] - 1


def network(width: int) -> list[tuple[int, int]]:
    """The comparisons (i < j) that sort `width` items."""
    p, steps = 1, list[tuple[int, int]]()
    while p < width:
        k = p
        while k >= 1:
            for j in range(k % p, width - k, 2 * k):
                low = range(j, j + min(k, width - j - k))
                steps += [(i, i + k) for i in low if i // (2 * p) == (i + k) // (2 * p)]
            k //= 2
        p *= 2
    return steps


__all__ = ["Arena", "Ids", "Terms", "bitset", "members", "network", "sorted_rows"]
