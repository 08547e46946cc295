"""What the table says about linear functions, on the cases of their rules.

    f(s a) = s f(a)  and  f(a + c) = f(a) + f(c)        of all linear arguments at once, or of each

for everything that is marked; and for nothing else.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from derivative_cases import CASES, name_of
from derivative_checker import is_leaf, leaves, random_like, replace, shifted
from derivative_programs import ATTRIBUTES
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from program_cases import CONVERSIONS, MORE

from ctxdispatch_contexts.derivatives import eigenvalues, registry, special_functions, table
from ctxdispatch_contexts.derivatives.registry import of

SETTINGS = settings(
    max_examples=8, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
VJP = {callee for kind, callee in table.names() if kind == "vjp"}
RULED = [case for case in [*CASES, *MORE] if case.callee in VJP]
MARKED = [case for case in RULED if table.linearity(case.callee) is not None]
SCALES = (-1.75, 0.5)

SELECTIONS = "what is selected follows the values: linear between the kinks, where the cases are"
PIECEWISE = {
    np.nansum: SELECTIONS, np.nanmean: SELECTIONS, np.nan_to_num: SELECTIONS, np.real_if_close: SELECTIONS,
    np.trim_zeros: SELECTIONS,
}  # fmt: skip
REFUSED = "the identity, of which no cotangent is known"
ONE_NUMBER = "of one number it is the number itself, or zero; its rule, though, is that for arrays"
FLAGS = "flags, which no step in the arguments changes by little"
TRIVIAL = {
    eigenvalues.equal: FLAGS, eigenvalues.free: "zeros, or nan",
    **dict.fromkeys(of(np.generic, *"max min prod cumprod var std".split()), ONE_NUMBER),
    special_functions.order_of_ive: REFUSED,
}


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


# -- the arguments, and moving them --------------------------------------------------------------------------


def call(callee, args, kwargs):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return callee.__get__(*args) if isinstance(callee, ATTRIBUTES) else callee(*args, **kwargs)


def voided(entry, kwargs):
    """Whether a call gives one of the parameters that void the claim (the cases name them)."""
    return any(name in entry.unless and kwargs[name] not in (None, "constant", "C", False) for name in kwargs)


def positions(entry, args):
    """Those linear positions of a call that have something to vary."""
    if isinstance(entry.positions, slice):
        at = range(len(args))[entry.positions]
    else:
        at = [i for i in entry.positions if i < len(args)]
    return [i for i in at if leaves(args[i])]


def numeric(x):
    """`x` with the whole numbers in its lists as floats: they are numbers like the others there."""
    if isinstance(x, (list, tuple)):
        return type(x)([float(item) if type(item) is int else numeric(item) for item in x])
    return x


def prepared(entry, args):
    """At a joint position a list is one of numbers, whole ones too; at the others it may be of axes."""
    at = positions(entry, args) if entry.joint else []
    return [numeric(x) if i in at else x for i, x in enumerate(args)]


def mapped(move, x):
    return replace(x, iter([move(leaf) for leaf in leaves(x)]))


def scaled(x, s):
    """s x, with the same memory layout."""
    return mapped(lambda leaf: shifted(leaf, (s - 1) * leaf), x)


def other(x, rng):
    """Something else of the same structure, dtypes and layouts."""
    return mapped(lambda leaf: shifted(leaf, random_like(leaf, rng) - leaf), x)


def plus(x, d):
    steps = iter(leaves(d))
    return mapped(lambda leaf: shifted(leaf, next(steps)), x)


def moved(args, at, move):
    return [move(x) if i in at else x for i, x in enumerate(args)]


# -- the two equations ---------------------------------------------------------------------------------------


def deviations(callee, args, kwargs, at, rng):
    """How far f is from linear in the arguments `at`: |f(s a) - s f(a)| and |f(a + c) - f(a) - f(c)|."""
    others = [other(x, rng) if i in at else x for i, x in enumerate(args)]
    sums = [plus(x, c) if i in at else x for i, (x, c) in enumerate(zip(args, others))]
    y, z, total = (leaves(call(callee, a, kwargs)) for a in (args, others, sums))
    for s in SCALES:
        multiple = leaves(call(callee, moved(args, at, lambda x: scaled(x, s)), kwargs))
        yield from (distance(m, s * np.asarray(v)) for m, v in zip(multiple, y, strict=True))
    yield from (distance(t, np.asarray(v) + w) for t, v, w in zip(total, y, z, strict=True))


def distance(a, b):
    return float(np.max(np.abs(np.asarray(a) - b), initial=0.0)) if np.shape(a) == np.shape(b) else np.inf


@named(MARKED)
@SETTINGS
@given(data=st.data())
def test_what_is_marked_is_linear(case, data):
    args, kwargs = data.draw(case.arguments)
    entry = table.linearity(case.callee)
    if voided(entry, kwargs):
        return
    args, rng = prepared(entry, args), np.random.default_rng(0)
    at = positions(entry, args)
    for together in [at] if entry.joint else [[i] for i in at]:
        assert max(deviations(case.callee, args, kwargs, together, rng), default=0.0) < 1e-9, together


@pytest.mark.parametrize("cls", [cls for cls in CONVERSIONS if cls in VJP])
def test_conversions_are_linear(cls):
    assert table.linearity(cls).joint
    assert cls(3.0) == 2 * cls(1.5) == cls(1.25) + cls(1.75)


def test_every_mark_is_tested_on_something_that_varies():
    tested = {case.callee for case in MARKED} | set(CONVERSIONS)
    assert {f for f in registry.LINEAR if not table.is_of_contexts(f)} - tested == set()


# -- and nothing else ----------------------------------------------------------------------------------------

UNMARKED = {case.callee: [] for case in RULED if table.linearity(case.callee) is None}
for _case in RULED:
    if _case.callee in UNMARKED:
        UNMARKED[_case.callee].append(_case)


def nonlinear(callee, args, kwargs):
    """Whether f is neither linear in all arguments at once nor in each."""
    rng = np.random.default_rng(0)
    at = [i for i, x in enumerate(args) if leaves(x)]
    ways = [[at], [[i] for i in at]]
    return all(any(violated(callee, args, kwargs, together, rng) for together in way) for way in ways)


def violated(callee, args, kwargs, at, rng):
    try:
        return np.nanmax([0.0, *deviations(callee, args, kwargs, at, rng)]) > 1e-6
    except (ValueError, np.linalg.LinAlgError):  # outside of the domain, or results of another structure
        return True


SEARCHED = [callee for callee in UNMARKED if callee not in PIECEWISE and callee not in TRIVIAL]


@pytest.mark.parametrize("callee", SEARCHED, ids=name_of)
def test_what_is_not_marked_is_not_linear(callee):
    found = []

    @settings(SETTINGS, max_examples=20, phases=[Phase.generate])
    @given(data=st.data())
    def search(data):
        for case in UNMARKED[callee]:
            args, kwargs = data.draw(case.arguments)
            found.append(nonlinear(callee, args, kwargs))

    search()
    assert any(found)


@pytest.mark.parametrize(
    "callee, at, elsewhere",
    [
        (np.nansum, [1.0, 2.0], [1.0, np.nan]),
        (np.nanmean, [1.0, 2.0], [1.0, np.nan]),
        (np.nan_to_num, [1.0], [np.nan]),
        (np.real_if_close, [1.0 + 0j], [1.0 + 1j]),
        (np.trim_zeros, [1.0, 2.0], [0.0, 2.0]),
    ],
)
def test_what_is_linear_in_pieces_is_not_linear(callee, at, elsewhere):
    assert callee in PIECEWISE
    args = [np.array(at)], [np.array(elsewhere)], [np.array(at) + elsewhere]
    y, z, total = (np.asarray(call(callee, a, {})) for a in args)
    assert y.shape != z.shape or y.dtype != z.dtype or not np.allclose(y + z, total)


# -- names ---------------------------------------------------------------------------------------------------


def test_unknown_and_unhashable_callees_are_not_linear():
    assert table.linearity([]) is None
    assert table.linearity(np.max) is None


def test_sums_and_products():
    assert table.linearity(np.sum) == registry.Linear((0,), True, frozenset({"initial", "out"}))
    assert table.linearity(np.matmul) == registry.Linear((0, 1), False)


def test_leaves_of_einsum_are_its_arrays():
    args = ("ij,j", np.ones((2, 3)), np.ones(3))
    assert positions(table.linearity(np.einsum), args) == [1, 2]
    assert not is_leaf(args[0])
