"""The block forms of linear functions are the functions of the arrays in the block, stacked:

    block(f)(d, ...)[j] = f(d[j], ...)

in value, dtype and shape, for no, one and three directions, on the cases of the rules.
"""

from __future__ import annotations

import inspect
import itertools
import math

import numpy as np
import pytest
from derivative_cases import name_of
from derivative_checker import leaves, random_like, replace
from hypothesis import given
from hypothesis import strategies as st
from program_cases import CONVERSIONS
from test_linearity import MARKED, SETTINGS, VJP, call, named, positions, prepared, voided

from ctxdispatch.bytecode.lift import lift
from ctxdispatch_contexts.derivatives import linear, padding, registry, shapes, table

DIRECTIONS = (3, 1, 0)
ONE_BY_ONE = {
    np.convolve, np.correlate, np.block, np.bincount, np.choose, np.ndarray.choose, np.select, np.longdouble,
    np.clongdouble, np.insert, np.add.reduceat, padding.around, padding.of_values,
    *registry.of(math, "sumprod"),
}  # fmt: skip


table.block_rule(np.sum)  # which loads all of them
FORMS = [(callee, i) for callee, i in registry.BLOCK if not table.is_of_contexts(callee)]


# -- the arguments -------------------------------------------------------------------------------------------


def as_arrays(callee, args):
    """As contexts call rules: numbers and lists are arrays where arrays are meant."""
    n = table.array_arguments(callee)
    return [
        np.asarray(x) if i < n and type(x) in (int, float, complex, list) else x for i, x in enumerate(args)
    ]


def directions(x, k, rng):
    """k things of the structure of `x`, and the block of them."""
    items = [replace(x, iter([random_like(leaf, rng) for leaf in leaves(x)])) for _ in range(max(k, 1))]
    items = [as_types(item, x) for item in items]
    blocks = [np.stack(same)[:k] for same in zip(*map(leaves, items))]
    return items, replace(x, iter(blocks))


def as_types(item, x):
    """Arrays without dimensions as arrays."""
    types = [type(leaf) for leaf in leaves(x)]
    converted = [
        np.asarray(leaf) if cls is np.ndarray else leaf for leaf, cls in zip(leaves(item), types, strict=True)
    ]
    return replace(item, iter(converted))


def put(args, new):
    return [new.get(i, x) for i, x in enumerate(args)]


def parts(y):
    return [part for item in y for part in parts(item)] if isinstance(y, (list, tuple)) else [np.asarray(y)]


def assert_block(callee, i, args, kwargs, at, k):
    rng = np.random.default_rng(k)
    drawn = {p: directions(args[p], k, rng) for p in at}
    found = table.block_rule(callee, i)(*put(args, {p: block for p, (_, block) in drawn.items()}), **kwargs)
    single = [
        parts(call(callee, put(args, {p: items[j] for p, (items, _) in drawn.items()}), kwargs))
        for j in range(max(k, 1))
    ]
    expected = [np.stack(same)[:k] for same in zip(*single)]
    for a, b in zip(parts(found), expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


# -- all forms -----------------------------------------------------------------------------------------------


@named(MARKED)
@SETTINGS
@given(data=st.data())
def test_blocks(case, data):
    args, kwargs = data.draw(case.arguments)
    entry = table.linearity(case.callee)
    if voided(entry, kwargs) or not table.takes(table.vjp_rule(case.callee), tuple(kwargs)):
        return  # or a ufunc's keywords are spelled out, and this is not called with them
    args = as_arrays(case.callee, prepared(entry, args))
    at = positions(entry, args)
    for k in DIRECTIONS:
        if entry.joint and at:
            assert_block(case.callee, None, args, kwargs, at, k)
        elif not entry.joint:
            for i in at:
                assert_block(case.callee, i, args, kwargs, [i], k)


@pytest.mark.parametrize("cls", [cls for cls in CONVERSIONS if cls in VJP])
@pytest.mark.parametrize("k", DIRECTIONS)
def test_conversions(cls, k):
    block = np.linspace(1.0, 2.0, k)
    found = table.block_rule(cls)(block)
    expected = np.stack([cls(x) for x in [*block, 1.0]])[:k]
    assert found.dtype == expected.dtype and found.tolist() == expected.tolist()


def test_which_functions_have_no_form_of_their_own():
    table.block_rule(np.sum)
    own = {callee for callee, _ in FORMS}
    without = {f for f in registry.LINEAR if not table.is_of_contexts(f)} - own
    assert {f for f in without if not is_of_scipy(f)} == ONE_BY_ONE
    assert own <= set(registry.LINEAR)


def is_of_scipy(f):
    """Or of ours for SciPy's."""
    module = str(getattr(f, "__module__", ""))
    return module.startswith("scipy.") or module.endswith(".scipy_distributions")


@pytest.mark.parametrize("callee, i", FORMS, ids=name_of)
def test_forms_are_plain_functions_with_the_parameters_of_the_primal(callee, i):
    """What every lifter and inliner handles; and a call of the function is a call of its form."""
    form = table.block_rule(callee, i)
    assert not form.__code__.co_freevars and not form.__code__.co_cellvars
    assert not form.__code__.co_flags & inspect.CO_GENERATOR
    assert lift(form).blocks
    expected, found = parameters_of(callee), list(inspect.signature(form).parameters)
    starred = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in expected)
    assert starred or [p.name for p in expected] == found


def parameters_of(callee):
    """Its own, or those of its rule behind g and y."""
    if getattr(callee, "__module__", None) in (linear.__name__, shapes.__name__):
        return list(inspect.signature(callee).parameters.values())
    return list(inspect.signature(table.vjp_rule(callee)).parameters.values())[2:]


# -- indices -------------------------------------------------------------------------------------------------

MASK = np.array([[True, False, True], [False, True, True]])
ITEMS = [
    0, -1, slice(None), slice(None, None, -1), slice(1, None), None, Ellipsis, [0, 1], [1, 1, 0],
    np.array([[0, 1], [1, 0]]), np.array([True, False]), np.int64(1), np.array(1), MASK, np.array([], int),
]  # fmt: skip


def indices():
    """Every tuple of up to four items that a 2 x 3 x 2 x 2 array can be indexed with."""
    for n in range(4):
        yield from itertools.product(ITEMS, repeat=n)
    yield from ((x, *rest) for x in ([0, 1], 1) for rest in itertools.product(ITEMS[2:8], repeat=3))


def element(a, index):
    try:
        return a[index]
    except IndexError:
        return None


def test_every_kind_of_index():
    block = np.arange(72.0).reshape(3, 2, 3, 2, 2)
    form, put_back = table.block_rule(np.ndarray.__getitem__), table.block_rule(linear.scatter)
    tested = 0
    for index in indices():
        expected = [element(a, index) for a in block]
        if expected[0] is not None:
            tested += 1
            found = form(block, index)
            assert found.shape == np.shape(expected) and (found == np.stack(expected)).all(), index
            back = put_back(found, index, block.shape[1:], block.dtype)
            single = [linear.scatter(y, index, a.shape, a.dtype) for a, y in zip(block, expected)]
            assert (back == np.stack(single)).all(), index
    assert tested > 1000


@pytest.mark.parametrize("index", [x for x in ITEMS if not isinstance(x, np.ndarray) or x.ndim])
def test_indices_that_are_no_tuples(index):
    block = np.arange(36.0).reshape(3, 2, 3, 2)
    found = table.block_rule(np.ndarray.__getitem__)(block, index)
    np.testing.assert_array_equal(found, np.stack([a[index] for a in block]))


# -- more ranks than the cases have --------------------------------------------------------------------------

SHAPES = [(3,), (3, 3), (2, 3, 3), (1, 3, 3), (2, 1, 3, 3)]


@pytest.mark.parametrize("callee", [np.matmul, np.dot, np.inner, np.outer, np.multiply.outer])
@pytest.mark.parametrize("left", [(), *SHAPES])
@pytest.mark.parametrize("right", [(), *SHAPES])
def test_products_of_all_ranks(callee, left, right):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=left), rng.normal(size=right)
    if callee is not np.matmul or (left and right):
        for i, k in itertools.product((0, 1), DIRECTIONS):
            assert_block(callee, i, [a, b], {}, [i], k)


AXES = [None, 0, -1, 2, (0, 2), (-1, 0), ()]


@pytest.mark.parametrize("callee", [np.sum, np.mean, np.add.reduce, np.flip])
@pytest.mark.parametrize("axis", AXES)
def test_axes(callee, axis):
    for k in DIRECTIONS:
        assert_block(callee, None, [np.ones((2, 3, 2)), axis], {}, [0], k)


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_numbers_have_no_axes(axis):
    """NumPy takes axis 0 and -1 of a number, too: it must not be the block's."""
    for callee in (np.sum, np.cumsum, np.squeeze, np.repeat):
        args = [np.array(2.0), 2, axis] if callee is np.repeat else [np.array(2.0), axis]
        assert_block(callee, None, args, {}, [0], 3)


def test_sequences_within_sequences():
    """Two numbers in a list are an array of two, not the two directions of one number."""
    args = [[[1.0, 2.0], np.array([3.0])]]
    for callee in (np.concatenate, np.hstack):
        assert_block(callee, None, args, {}, [0], 2)


def test_arguments_by_name():
    value = np.array([1.0, 2.0])
    for callee in (np.full, np.convolve):
        form = table.block_rule(callee, None if callee is np.full else 1)
        name, first = ("fill_value", (3,)) if callee is np.full else ("v", np.ones(3))
        found = form(first, **{name: value if callee is np.full else value[:, None]})
        single = [callee(first, **{name: x if callee is np.full else np.array([x])}) for x in value]
        np.testing.assert_array_equal(found, np.stack(single))


# -- what has none -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "callee, i",
    [(np.max, None), (np.sum, 0), (np.matmul, None), (np.matmul, 2), (np.einsum, None), ([], None)],
)
def test_no_block_form(callee, i):
    assert table.block_rule(callee, i) is None
