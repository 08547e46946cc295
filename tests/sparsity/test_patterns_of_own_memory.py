"""Patterns of stores of a value that lies in the array that is stored to: what NumPy reads may be what it has
just written."""

import numpy as np
import pytest

from ctxdispatch import jacobian_sparsity, sparse_jacobian

U = np.array([0.3, 0.7, 1.1, 0.2, 0.9])


def spread(a):
    a[::2] = a[:3]


def by_a_mask(a):
    a[[True, False, True, False, True]] = a[:3]


def copied(a):
    np.copyto(a[::2], a[:3])


def copied_in_part(a):
    np.copyto(a[::2], a[:3], where=np.array([True, True, True]))


@pytest.mark.parametrize("store", [spread, by_a_mask, copied, copied_in_part])
def test_no_input_is_missing(store):
    def f(u):
        a = u * u
        store(a)
        return a * 1.0

    step = 1e-6
    columns = [(f(U + step * e) - f(U - step * e)) / (2 * step) for e in np.eye(5)]
    slopes = np.array(columns).T
    assert not np.any((slopes != 0.0) & ~jacobian_sparsity(f, U).toarray())
    assert np.allclose(sparse_jacobian(f, U)(U).toarray(), slopes, atol=1e-8)


def test_what_is_read_before_it_is_written_is_exact():
    def shifted(u):
        a = u * u
        a[1:] = a[:-1]
        return a * 1.0

    pattern = jacobian_sparsity(shifted, U)
    assert [*zip(pattern.rows, pattern.cols)] == [(0, 0), (1, 0), (2, 1), (3, 2), (4, 3)]
