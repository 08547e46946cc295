"""`SparsityPattern`: where a matrix may be nonzero, in compressed rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ctxdispatch_contexts.sparsity.braille import picture
from ctxdispatch_contexts.sparsity.errors import SparsityError


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SparsityPattern:
    """Row i has entries in the columns `indices[indptr[i]:indptr[i + 1]]`, ascending.

    `indptr` (m + 1,) and `indices` (nnz,) are int32 and must not be written into.
    """

    shape: tuple[int, int]
    indptr: np.ndarray[Any, np.dtype[np.int32]]
    indices: np.ndarray[Any, np.dtype[np.int32]]

    # -- making ----------------------------------------------------------------------------------------------

    @classmethod
    def from_counts(cls, shape: tuple[int, int], counts: Any, indices: Any) -> SparsityPattern:
        """Of the number of entries per row, and their columns row by row."""
        indptr = np.zeros(shape[0] + 1, np.int32)
        np.cumsum(counts, out=indptr[1:])
        for array in (indptr, indices := np.ascontiguousarray(indices, np.int32)):
            array.setflags(write=False)
        return cls(shape, indptr, indices)

    @classmethod
    def from_keys(cls, shape: tuple[int, int], keys: Any) -> SparsityPattern:
        """Of ascending keys row * columns + column."""
        rows = keys // max(shape[1], 1)
        return cls.from_counts(shape, np.bincount(rows, minlength=shape[0]), keys - rows * shape[1])

    @classmethod
    def from_dense(cls, matrix: Any) -> SparsityPattern:
        """The nonzeros of a 2-D array."""
        mask = np.asarray(matrix) != 0
        if mask.ndim != 2:
            raise SparsityError(f"a pattern has two dimensions, not {mask.ndim}; reshape the array")
        return cls.from_counts(mask.shape, mask.sum(axis=1), np.nonzero(mask)[1])

    @classmethod
    def from_scipy(cls, matrix: Any) -> SparsityPattern:
        """The stored entries of a SciPy sparse matrix or array."""
        if not hasattr(matrix, "tocsr"):
            raise SparsityError(
                f"from_scipy takes a SciPy sparse matrix or array, not a {type(matrix).__name__}; of a dense "
                "array make a pattern by from_dense"
            )
        csr = matrix.tocsr().copy()
        csr.sum_duplicates()
        return cls.from_counts(csr.shape, np.diff(csr.indptr), csr.indices)

    # -- reading ---------------------------------------------------------------------------------------------

    @property
    def nnz(self) -> int:
        """How many entries may be nonzero."""
        return len(self.indices)

    @property
    def density(self) -> float:
        """The share of entries that may be nonzero; 0.0 of an empty matrix."""
        size = self.shape[0] * self.shape[1]
        return self.nnz / size if size else 0.0

    @property
    def rows(self) -> Any:
        """The row of each entry, (nnz,) int32."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.indptr))

    @property
    def cols(self) -> Any:
        """The column of each entry, (nnz,) int32."""
        return self.indices

    @property
    def T(self) -> SparsityPattern:
        """The pattern of the transpose, (n, m)."""
        keys = np.sort(self.cols.astype(np.int64) * self.shape[0] + self.rows)
        return SparsityPattern.from_keys((self.shape[1], self.shape[0]), keys)

    def keys(self) -> Any:
        """row * columns + column of each entry, ascending."""
        return self.rows.astype(np.int64) * self.shape[1] + self.cols

    def toarray(self) -> Any:
        """A (m, n) array of bool."""
        out = np.zeros(self.shape, bool)
        out[self.rows, self.cols] = True
        return out

    def scipy(self) -> Any:
        """A `scipy.sparse.csr_array` of bool."""
        from scipy.sparse import csr_array  # type: ignore[import-untyped, unused-ignore]

        return csr_array((np.ones(self.nnz, bool), self.indices.copy(), self.indptr.copy()), shape=self.shape)

    # -- comparing -------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparsityPattern):
            return NotImplemented
        return self.shape == other.shape and bool(
            np.array_equal(self.indptr, other.indptr) and np.array_equal(self.indices, other.indices)
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.indices.tobytes()))

    def __or__(self, other: SparsityPattern) -> SparsityPattern:
        if not isinstance(other, SparsityPattern):
            return NotImplemented
        self._same_shape(other)
        return SparsityPattern.from_keys(self.shape, np.union1d(self.keys(), other.keys()))

    def issubset(self, other: SparsityPattern) -> bool:
        """Whether every entry is one of `other`, which has the same shape."""
        self._same_shape(other)
        return bool(np.isin(self.keys(), other.keys(), assume_unique=True).all())

    def _same_shape(self, other: SparsityPattern) -> None:
        if self.shape != other.shape:
            raise SparsityError(
                f"patterns of different shapes: {self.shape} and {other.shape}; "
                "make them of arguments of the same sizes"
            )

    # -- looking ---------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        m, n = self.shape
        header = f"SparsityPattern {m} × {n}, nnz {self.nnz}, density {self.density:.2%}"
        drawing = picture(self.shape, self.rows, self.cols)
        return f"{header}\n{drawing}" if drawing else header

    def plot(self, ax: Any = None) -> Any:
        """Draw it with matplotlib, into the axes `ax` or new ones, which are returned."""
        try:
            import matplotlib.pyplot as plt  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise ImportError(
                "plot() needs matplotlib: pip install matplotlib; repr() draws as text"
            ) from error
        ax = ax or plt.subplots()[1]
        ax.scatter(self.cols, self.rows, s=max(0.2, 4e4 / max(*self.shape, 1) ** 2), marker="s", linewidths=0)
        ax.set(xlim=(-0.5, self.shape[1] - 0.5), ylim=(self.shape[0] - 0.5, -0.5), aspect="equal")
        ax.set_title(f"{self.shape[0]} × {self.shape[1]}, {self.nnz} entries")
        return ax
