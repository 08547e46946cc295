"""`SparsityPattern`: sizes, sets, transposes, conversions and the picture."""

import dataclasses
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from ctxdispatch_contexts.sparsity import SparsityError, SparsityPattern

masks = arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=7))
pairs = array_shapes(min_dims=2, max_dims=2, max_side=6).flatmap(
    lambda shape: st.tuples(arrays(bool, shape), arrays(bool, shape))
)


@given(masks)
def test_it_is_the_matrix(mask):
    p = SparsityPattern.from_dense(mask)
    assert p.shape == mask.shape and p.nnz == mask.sum()
    assert np.array_equal(p.toarray(), mask) and np.array_equal(p.T.toarray(), mask.T) and p.T.T == p
    assert np.array_equal(np.array(np.nonzero(mask)), [p.rows, p.cols])
    assert p.density == pytest.approx(mask.mean() if mask.size else 0.0)
    assert hash(p) == hash(SparsityPattern.from_dense(mask)) and repr(p)


@given(pairs)
def test_sets(masks):
    a, b = masks
    p, q = map(SparsityPattern.from_dense, masks)
    assert np.array_equal((p | q).toarray(), a | b)
    assert p.issubset(q) == bool((a <= b).all()) and p.issubset(p | q)
    assert (p == q) == bool((a == b).all())


@given(masks)
def test_scipy_and_back(mask):
    pytest.importorskip("scipy.sparse")
    p = SparsityPattern.from_dense(mask)
    assert p.scipy().dtype == bool and p.scipy().shape == p.shape
    assert SparsityPattern.from_scipy(p.scipy()) == p
    assert SparsityPattern.from_scipy(p.scipy().tocoo()) == p


def test_it_is_frozen():
    p = SparsityPattern.from_dense(np.eye(3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        p.shape = (1, 1)
    with pytest.raises(ValueError, match="read-only"):
        p.indices[0] = 1


def test_shapes_must_agree():
    p, q = SparsityPattern.from_dense(np.eye(3)), SparsityPattern.from_dense(np.eye(2))
    with pytest.raises(SparsityError, match=r"\(3, 3\) and \(2, 2\)"):
        p | q
    with pytest.raises(SparsityError, match="two dimensions"):
        SparsityPattern.from_dense(np.ones(3))
    assert p != q and p != "p"


def test_repr_is_a_header_and_a_picture():
    lower = SparsityPattern.from_dense(np.tril(np.ones((8, 8))))
    assert repr(lower).splitlines() == [
        "SparsityPattern 8 × 8, nnz 36, density 56.25%",
        "┌────┐",
        "│⣷⣄⠀⠀│",
        "│⣿⣿⣷⣄│",
        "└────┘",
    ]
    assert repr(SparsityPattern.from_dense(np.zeros((0, 3)))) == "SparsityPattern 0 × 3, nnz 0, density 0.00%"


@pytest.mark.parametrize("shape", [(1, 1), (3, 1000), (1000, 3), (18432, 18432), (121, 120)])
def test_the_picture_is_no_larger_than_60_by_30(shape):
    corners = np.zeros(shape) if max(shape) < 5000 else None
    if corners is None:
        p = SparsityPattern.from_counts(shape, np.ones(shape[0], int), np.arange(shape[0]))
    else:
        corners[0, 0] = corners[-1, -1] = 1
        p = SparsityPattern.from_dense(corners)
    lines = repr(p).splitlines()[2:-1]
    assert 1 <= len(lines) <= 30 and all(1 <= len(line) - 2 <= 60 for line in lines)
    assert lines[0][1] != "⠀" and lines[-1][-2] != "⠀"


def test_plot_names_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="needs matplotlib: pip install matplotlib"):
        SparsityPattern.from_dense(np.eye(3)).plot()
