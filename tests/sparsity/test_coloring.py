"""Colorings, checked by brute force against their definitions, and by what they are for."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sparsity_checks import brusselator

from ctxdispatch import color, jacobian_sparsity
from ctxdispatch_contexts.sparsity import SparsityError, SparsityPattern
from ctxdispatch_contexts.sparsity.coloring import gather

masks = arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=9))
squares = st.integers(0, 9).flatmap(lambda n: arrays(bool, (n, n))).map(lambda a: a | a.T)


@given(masks)
def test_columns_of_one_color_share_no_row(mask):
    c = color(SparsityPattern.from_dense(mask))
    for i, j in combinations(range(mask.shape[1]), 2):
        if c.colors[i] == c.colors[j]:
            assert not (mask[:, i] & mask[:, j]).any()
    assert c.number == len(set(c.colors.tolist()))
    assert sorted(np.concatenate([*c.groups, []]).tolist()) == list(range(mask.shape[1]))
    assert all(len({int(c.colors[j]) for j in group}) == 1 for group in c.groups)


@given(masks)
def test_rows_are_columns_of_the_transpose(mask):
    rows, columns = color(SparsityPattern.from_dense(mask), "row"), color(SparsityPattern.from_dense(mask.T))
    assert np.array_equal(rows.colors, columns.colors)


@given(squares)
def test_star_coloring(mask):
    c = color(SparsityPattern.from_dense(mask), "symmetric").colors
    n = len(mask)
    edges = mask & ~np.eye(n, dtype=bool)
    assert not any(edges[i, j] and c[i] == c[j] for i in range(n) for j in range(n))
    for i in range(n):
        for j in np.flatnonzero(edges[i]):
            for k in set(np.flatnonzero(edges[j])) - {i}:
                for l in set(np.flatnonzero(edges[k])) - {i, j}:
                    assert not (c[i] == c[k] and c[j] == c[l]), (i, j, k, l)


@given(masks, st.sampled_from(["column", "row"]))
def test_compressed_matrices_are_unpacked(mask, mode):
    p = SparsityPattern.from_dense(mask)
    matrix = mask * np.random.default_rng(0).normal(size=mask.shape)
    c = color(p, mode)
    compressed = (matrix @ c.seeds().T).T if mode == "column" else c.seeds() @ matrix
    if p.nnz:
        assert np.array_equal(compressed.reshape(-1)[gather(p, c)], matrix[p.rows, p.cols])


@given(squares)
def test_compressed_symmetric_matrices_are_unpacked(mask):
    p = SparsityPattern.from_dense(mask)
    matrix = np.random.default_rng(0).normal(size=mask.shape)
    matrix = mask * (matrix + matrix.T)
    c = color(p, "symmetric")
    if p.nnz:
        assert np.array_equal((c.seeds() @ matrix).reshape(-1)[gather(p, c)], matrix[p.rows, p.cols])


def test_few_colors():
    band = SparsityPattern.from_dense(np.tri(50, k=2) * np.tri(50, k=2).T)
    assert color(band).number == 5 and color(band, "symmetric").number <= 5
    arrow = np.eye(30) + 0
    arrow[0] = arrow[:, 0] = 1
    assert color(SparsityPattern.from_dense(arrow), "symmetric").number == 2
    assert color(SparsityPattern.from_dense(arrow)).number == 30
    assert color(SparsityPattern.from_dense(np.eye(7))).number == 1
    stencil = jacobian_sparsity(brusselator(12), 0.0, np.ones(288), argnums=1)
    assert color(stencil).number <= 12


def test_bad_input():
    p = SparsityPattern.from_dense(np.tri(3))
    with pytest.raises(SparsityError, match="symmetric pattern"):
        color(p, "symmetric")
    with pytest.raises(ValueError, match='"column", "row" or "symmetric"'):
        color(p, "diagonal")
    with pytest.raises(SparsityError, match="takes a SparsityPattern, not a ndarray"):
        color(np.eye(3))
