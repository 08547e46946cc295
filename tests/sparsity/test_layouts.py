"""A view or a copy: what NumPy makes of an array goes by how it lies in memory, and so do the patterns."""

import numpy as np
import pytest
from sparsity_checks import jacobian_by_differences, rows

from ctxdispatch_contexts.sparsity import SparsityError, jacobian_sparsity
from ctxdispatch_contexts.sparsity.layouts import alike, overlaps, own_memory, same_layout

X = np.array([1.0, 2.0, 3.0, 4.0])

MADE = {
    "c": lambda a: np.array(a),
    "asfortranarray": np.asfortranarray,
    "ascontiguousarray of .T": lambda a: np.ascontiguousarray(a.T),
    "array order F": lambda a: np.array(a, order="F"),
    "astype copy=False": lambda a: a.T.astype(float, copy=False, order="C"),
    "require": lambda a: np.require(a, requirements="F"),
    "copy order K": lambda a: a.T.copy("K"),
    "copy": lambda a: a.T.copy(),
    "ufunc keeps the order": lambda a: a.T * 1.0,
    "ufunc order C": lambda a: np.add(a.T, 0.0, order="C"),
    "fancy": lambda a: a[:, [0, 1]],
    "full order F": lambda a: np.zeros((2, 2), order="F") + a,
    "einsum view": lambda a: np.einsum("ij->ji", a),
    "slice": lambda a: np.stack([a, a])[:, :, 0],
}
SEEN = {
    "ravel": lambda b: b.ravel(),
    "ravel C": lambda b: b.ravel(order="C"),
    "ravel F": lambda b: b.ravel(order="F"),
    "ravel K": lambda b: b.ravel(order="K"),
    "reshape": lambda b: b.reshape(-1),
    "reshape A": lambda b: b.reshape(-1, order="A"),
    "flatten": lambda b: b.flatten(),
    "ascontiguousarray": lambda b: np.ascontiguousarray(b).reshape(-1),
    "asfortranarray": lambda b: np.asfortranarray(b).T.reshape(-1),
    "array copy=None": lambda b: np.array(b, copy=None, order="F").T.reshape(-1),
    "transpose": lambda b: b.T.ravel(),
}


def check_exact(f, x):
    def of_vector(v):
        made = alike(x)[0]
        made[...] = v.reshape(x.shape)
        return f(made)

    expected = jacobian_by_differences(of_vector, np.ravel(x)) != 0
    assert (jacobian_sparsity(f, x).toarray() == expected).all()


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
def test_stores_through_what_may_be_a_view(made, seen):
    def f(x):
        b = made(x.reshape(2, 2))
        c = seen(b)
        c[1] = 7.0
        c[2] = x[0] * x[3]
        return np.concatenate([b.ravel(), b.ravel(order="K"), c, x])

    check_exact(f, X)


INPUTS = {
    "F": np.asfortranarray(X.reshape(2, 2)),
    "every other": np.arange(8.0).reshape(2, 4)[:, ::2],
    "backwards": X[::-1].reshape(2, 2),
    "both ways": X.reshape(2, 2)[:, ::-1].T,
    "3-D": np.arange(8.0).reshape(2, 2, 2).transpose(1, 2, 0),
}


@pytest.mark.parametrize("x", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
def test_arguments_lie_in_memory_as_they_do(x, seen):
    def f(x):
        c = seen(x)
        c[1] = 7.0
        return np.concatenate([x.ravel() * 1.0, x.ravel(order="K"), c])

    before = np.array(x)
    check_exact(f, x)
    assert (x == before).all()


@pytest.mark.parametrize("made", [
    lambda x: np.array(x[0]), lambda x: np.asarray(x[0]), lambda x: np.array([x[0]]).reshape(()),
    lambda x: x[0:1].reshape(()), lambda x: x[0, ...], lambda x: np.full((), x[0]),
])  # fmt: skip
def test_stores_into_an_array_without_dimensions(made):
    def added(x):
        b = made(x)
        b += x[2]
        return b * 1.0

    def scaled(x):
        b = made(x)
        b[...] *= x[3]
        return b * 1.0

    def by_empty_tuple(x):
        b = made(x)
        b[()] += x[1]
        return b * 1.0

    def out(x):
        b = made(x)
        np.add(b, x[1], out=b)
        return b * 1.0

    def replaced(x):
        b = made(x)
        b[...] = x[2]
        return b * 1.0

    def flat(x):
        b = np.asarray(made(x))
        b.reshape(-1)[0] += x[1]
        b.flat = [x[2] * b]
        return b.copy().ravel("K")

    for f in (added, scaled, by_empty_tuple, out, replaced, flat):
        check_exact(f, X)


def test_a_reduction_along_the_last_axis_of_none():
    assert jacobian_sparsity(lambda x: np.sum(np.asarray(x[1]), axis=-1), X) == rows(".x..")


def test_after_a_branch_the_layout_must_be_known_where_it_is_stored_to():
    def f(x, other, store):
        b = x.reshape(2, 2) * 1.0
        if x[0] > 0.5:
            b = other(b)
        if store:
            b.ravel()[1] = 7.0
        return b * 1.0

    def backwards(b):
        return b[::-1]

    assert jacobian_sparsity(lambda x: f(x, backwards, False), X) == rows("x.x.", ".x.x", "x.x.", ".x.x")
    with pytest.raises(SparsityError, match="one of two objects"):
        jacobian_sparsity(lambda x: f(x, backwards, True), X)
    with pytest.raises(SparsityError, match="in one order or another.*order="):
        jacobian_sparsity(lambda x: f(x, np.asfortranarray, True), X)


def test_what_was_one_of_two_arrays_stays_so_after_another_branch():
    def f(x):
        a, b = x * 1.0, x * 2.0
        c = b
        if x[0] > 0.5:
            if x[1] > 0.5:
                c = a
        else:
            c = x * 3.0
        c[0] = x[3]
        return a

    with pytest.raises(SparsityError, match="one of two objects"):
        jacobian_sparsity(f, X)


def test_alike_is_taken_by_numpy_as_the_array_itself():
    whole = np.arange(120.0).reshape(2, 3, 4, 5)
    for v in (whole, whole.T, whole[:, ::2, ::-1], whole[..., 1:, 0], whole.transpose(2, 0, 3, 1)[1:]):
        sample, root = alike(v)
        assert (sample == v).all() and root.flags.c_contiguous and root.size <= 4 * v.size
        assert np.shares_memory(sample, root) and not np.shares_memory(sample, v)
        flat = [np.shares_memory(a, a.reshape(-1)) for a in (sample, v)]
        assert flat[0] == flat[1]
        assert (sample.ravel(order="K") == v.ravel(order="K")).all()
    assert overlaps(np.broadcast_to(1.0, 3)) and not overlaps(whole[:, ::-1])
    assert same_layout(*own_memory(whole))
