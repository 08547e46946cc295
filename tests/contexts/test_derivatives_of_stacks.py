"""Derivatives of programs under other contexts: the values, what the inner context reports, and that what is
differentiated is its program, not the machinery that runs it."""

import json
import math
import operator
from types import FunctionType

import numpy as np
import pytest

from ctxdispatch import (
    ADContext,
    Dual,
    DualContext,
    grad,
    hessian,
    jacobian_sparsity,
    jvp,
    overdub,
    recurse,
    vjp,
)
from ctxdispatch.contexts import CountContext, NaNContext, PrecisionContext, TraceContext
from ctxdispatch.dispatch import Context, Editor
from ctxdispatch_contexts.programs.derived import entry_of
from ctxdispatch_contexts.programs.entry import Specialised
from ctxdispatch_contexts.sparsity.errors import SparsityError

# -- programs ------------------------------------------------------------------------------------------------


def helper(a, b):
    return a * b + a


class Scale:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.k * x

    def twice(self, x):
        return self(x) * x


SCALE = Scale(3.0)


def arithmetic(x):
    return x * x + 2.0 * x


def expression(x):
    return (np.sin(x) * x).sum()


def loop(x):
    s = 0.0
    for i in range(3):
        s = s + x * i * x
    return s


def helpers(x):
    return helper(x, helper(x, 2.0))


def methods(x):
    return SCALE.twice(x) + Scale(x).twice(x)


def stores(x):
    y = np.zeros(3)
    y[0] = x[0] * x[1]
    y[1:] = x[1:] * 3.0
    return (y * x).sum()


def lists(x):
    xs = []
    for i in range(3):
        xs.append(x * i * x)
    return sum(xs)


def branches(x):
    if x > 0.0:
        return math.exp(x) * x
    return -x


VECTOR = np.array([0.5, 1.5, 2.0])
PROGRAMS = [
    (arithmetic, 1.5), (expression, VECTOR), (loop, 1.5), (helpers, 1.5), (methods, 1.5), (stores, VECTOR),
    (lists, 1.5), (branches, 1.5),
]  # fmt: skip

# -- contexts ------------------------------------------------------------------------------------------------


class Ruled(Context):
    """Rules: one for any types, one on types, one that goes on with what it replaces."""


@Ruled.rule(operator.mul)
def _(ctx, a, b):
    return 2.0 * (a * b)


@Ruled.rule(operator.add, float, float)
def _(ctx, a, b):
    return a + b + a * b


@Ruled.rule(helper)
def _(ctx, a, b):
    return recurse(ctx, helper, a, b) * 0.5


class Hooked(Context):
    seen: list

    def prehook(self, f, args, kwargs):
        self.seen.append((getattr(f, "__name__", ""), len(args)))

    def posthook(self, out, f, args, kwargs):
        self.seen.append(getattr(f, "__name__", ""))


class Falling(Context):
    seen: list

    def fallback(self, f, args, kwargs):
        self.seen.append(getattr(f, "__name__", ""))
        return f(*args, **kwargs)


class Added(Context):
    """A pass: products become sums."""

    def transform(self, graph):
        edit = Editor(graph)
        for op in [op for op in edit.calls("operator") if edit.callee(op) is operator.mul]:
            edit.replace(op, operator.add, *edit.operands(op))
        return super().transform(edit.finish())


def counts(ctx):
    return json.loads(ctx.counts.to_json())


def seen(ctx):
    return list(ctx.seen)


CONTEXTS = {
    "counts": (CountContext, counts),
    "rules": (Ruled, lambda ctx: None),
    "hooks": (lambda: Hooked([]), seen),
    "fallback": (lambda: Falling([]), seen),
    "pass": (Added, lambda ctx: None),
}
"""What makes one, and what it reports."""


def along(x):
    return 1.0 if isinstance(x, float) else np.arange(1.0, len(x) + 1)


OUTER = {
    "grad": lambda g, x: grad(g)(x),
    "vjp": lambda g, x: vjp(g, x)[1](1.0)[0],
}


def differences(f, x, eps=1e-6):
    if isinstance(x, float):
        return (f(x + eps) - f(x - eps)) / (2 * eps)
    steps = np.eye(len(x)) * eps
    return np.array([(f(x + s) - f(x - s)) / (2 * eps) for s in steps])


@pytest.mark.every(8)
@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
@pytest.mark.parametrize("name", CONTEXTS)
def test_values_and_reports(name, f, x):
    make, report = CONTEXTS[name]
    plain = make()
    overdub(plain, f, x)
    expected = differences(lambda x: overdub(make(), f, x), x)
    for outer in OUTER.values():
        ctx = make()
        assert np.allclose(outer(lambda x: overdub(ctx, f, x), x), expected, rtol=1e-4)
        assert report(ctx) == report(plain)
    for pushed in (
        lambda ctx: jvp(lambda x: overdub(ctx, f, x), (x,), (along(x),))[1],
        lambda ctx: overdub(DualContext(), overdub, ctx, f, Dual(x, along(x))).partials,
    ):
        ctx = make()
        assert np.isclose(pushed(ctx), np.sum(expected * along(x)), rtol=1e-4)
        assert report(ctx) == report(plain)
    ctx = make()
    assert np.allclose(overdub(ADContext(), overdub, ctx, f, x)[1](1.0)[2], expected, rtol=1e-4)
    assert report(ctx) == report(plain)


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
@pytest.mark.parametrize("name", CONTEXTS)
def test_sparsity(name, f, x):
    make, _ = CONTEXTS[name]
    if name == "fallback" and f is branches:  # which appends to a list in a branch on the input
        with pytest.raises(SparsityError, match="one number of items or another"):
            jacobian_sparsity(lambda x: overdub(make(), f, x), x)
        return
    expected = differences(lambda x: overdub(make(), f, x), x)
    found = jacobian_sparsity(lambda x: overdub(make(), f, x), x).toarray()
    assert found.shape == np.atleast_2d(expected).shape and np.all(found >= (np.atleast_2d(expected) != 0))


@pytest.mark.parametrize("name", CONTEXTS)
def test_second_order(name):
    make, report = CONTEXTS[name]
    ctx = make()
    found = hessian(lambda x: overdub(ctx, expression, x))(VECTOR)
    expected = differences(grad(lambda x: overdub(make(), expression, x)), VECTOR)
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-7)


# -- what is differentiated ----------------------------------------------------------------------------------

CTX = CountContext()
PROBES = {
    "global": lambda x: overdub(CTX, expression, x),
    "made": lambda x: overdub(CountContext(), expression, x),
    "local": lambda x: overdub(CTX, lambda y: (y * x).sum(), x),
    "three deep": lambda x: overdub(Ruled(), overdub, CTX, expression, x),
    "within": lambda x: overdub(CTX, lambda y: overdub(Ruled(), expression, y), x),
}


@pytest.mark.parametrize("name", PROBES)
def test_there_is_a_program_without_the_engine(name):
    """Not a recorded run, and not the code of the engine."""
    g = grad(PROBES[name])
    g(VECTOR)
    g(VECTOR)  # the first call may have imported rules, and then it is made again
    (programs,) = entry_of(g).specialised.values()
    assert isinstance(programs[0], Specialised)
    called = [op.fn for _, op in programs[0]._plain.ops() if isinstance(op.fn, FunctionType)]
    assert not [f for f in called if f.__module__.startswith("ctxdispatch.dispatch.")]


def test_rules_that_come_and_go_are_seen():
    class Late(Context):
        pass

    ctx = Late()
    g = grad(lambda x: overdub(ctx, lambda y: y * y, x))
    h = grad(lambda x: overdub(Late(), helper, x, x))
    assert g(3.0) == 6.0 and h(3.0) == 7.0
    Late.rule(operator.mul)(lambda ctx, a, b: 5.0 * (a * b))
    Late.rule(helper)(lambda ctx, a, b: a - b * b)
    assert g(3.0) == 30.0 and h(3.0) == 1.0 - 30.0 + 24.0
    Late.unrule(operator.mul, helper)
    assert g(3.0) == 6.0 and h(3.0) == 7.0


def test_code_that_is_replaced_is_seen():
    def one(x):
        return x * x

    def two(x):
        return x * x * x

    ctx = CountContext()
    g = grad(lambda x: overdub(ctx, one, x))
    assert g(2.0) == 4.0
    one.__code__ = two.__code__
    assert g(2.0) == 12.0


def test_what_a_pass_puts_into_the_program_is_differentiated():
    """Though no context is asked about it: only what nothing but others of its kind reads does watch."""

    def tripled(a, b):
        return 3.0 * a * b

    class Replaced(Context):
        def transform(self, graph):
            edit = Editor(graph)
            for op in [op for op in edit.calls("operator") if edit.callee(op) is operator.mul]:
                edit.replace(op, tripled, *edit.operands(op), dispatch=False)
            return super().transform(edit.finish())

    ctx = Replaced()
    assert overdub(ctx, arithmetic, 2.0) == 24.0
    assert grad(lambda x: overdub(ctx, arithmetic, x))(2.0) == 18.0
    assert overdub(ADContext(), overdub, ctx, arithmetic, 2.0)[1](1.0)[2] == 18.0
    assert jvp(lambda x: overdub(ctx, arithmetic, x), (2.0,), (1.0,))[1] == 18.0

    def handled(x):
        try:
            return overdub(ctx, arithmetic, x)
        finally:
            pass

    assert grad(handled)(2.0) == 18.0  # recorded


def test_hooks_that_ask_where_they_are_called_from_are_told():
    """The frames of the program are there: it is recorded."""

    class Places(Context):
        places: list

        def prehook(self, f, args, kwargs):
            self.note()

        def note(self):
            self.places.append(self.where().line)

    plain, ctx = Places([]), Places([])
    overdub(plain, helpers, 1.5)
    assert grad(lambda x: overdub(ctx, helpers, x))(1.5) == pytest.approx(grad(helpers)(1.5))
    assert ctx.places == plain.places and len(plain.places) == 6


@pytest.mark.parametrize("make", [lambda: NaNContext(on="record"), PrecisionContext, TraceContext])
@pytest.mark.parametrize(("f", "x"), [(branches, 1.5), (expression, VECTOR)])
def test_contexts_that_are_recorded(make, f, x):
    """Rules of modules that no other context looks into are parts of the program all the same."""
    assert np.allclose(grad(lambda x: overdub(make(), f, x))(x), grad(f)(x))
    assert np.allclose(overdub(ADContext(), overdub, make(), f, x)[1](1.0)[2], grad(f)(x))


def test_a_finding_is_the_plain_run_s():
    def f(x):
        return np.log(x) * x

    ctx = NaNContext(on="record")
    with np.errstate(all="ignore"):
        grad(lambda x: overdub(ctx, f, x))(np.float64(0.0))
    assert [finding.where.function.rpartition(".")[2] for finding in ctx.found][:1] == ["f"]
