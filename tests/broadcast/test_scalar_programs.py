"""What becomes of a function on its way to a kernel, before and after."""

import math

import numpy as np
import pytest

from ctxdispatch import KernelError, broadcast
from ctxdispatch.ir.verify import verify
from ctxdispatch_contexts.broadcast.api import kernel_of
from ctxdispatch_contexts.broadcast.interpreter import interpret
from ctxdispatch_contexts.broadcast.kernel import Kernel
from ctxdispatch_contexts.broadcast.lowering import lower
from ctxdispatch_contexts.broadcast.predicate import flatten
from ctxdispatch_contexts.programs.derived import entry_of

RATE = 0.5
COEFFICIENTS = (1.0, 2.0, 3.0)


def kernel(f, *args):
    """The kernel of `f` for such arguments."""
    made = kernel_of(f, backend="reference")
    made(*args)
    programs = [p for kept in entry_of(made).specialised.values() for p in kept]
    return next(op.fn for p in programs for _, op in p._plain.ops() if isinstance(op.fn, Kernel))


def relu(x):
    return x if x > 0 else 0.0 * x


def decay(x, n):
    for _ in range(n):
        x = x * RATE
    return x


def horner(x):
    y = 0.0
    for c in COEFFICIENTS:
        y = y * x + c
    return y


def pair(x, y):
    if x > y:
        return x - y, x
    return y - x, y


def newton(x):
    r = x
    while abs(r * r - x) > 1e-12 * x:
        r = 0.5 * (r + x / r)
    return r


def triangle(x, n):
    total = 0.0
    for i in range(n):
        if i == 3:
            continue
        for j in range(i):
            total = total + x * j
            if total > 10:
                return total, i
    return total, -1


def test_a_branch():
    graph = kernel(relu, np.ones(3)).graph
    assert [[op.fn.__name__ for op in block.ops] for block in graph.blocks] == [
        ["gt"], ["mul"], ["build_tuple"],
    ]  # fmt: skip


def test_numbers_read_elsewhere_are_operands():
    graph = kernel(decay, np.ones(3), 2).graph
    assert len(graph.params) == 3
    assert "load_global" not in str(graph)


def test_a_loop_over_a_tuple_is_unrolled():
    graph = kernel(horner, np.ones(3)).graph
    assert len(graph.blocks) == 1 and str(graph).count("add") == 3
    np.testing.assert_allclose(broadcast(horner, np.array([2.0])), [11.0])


def test_partials_that_are_zero_by_structure_are_not_there():
    def first(x, y, n):
        return x * 2.0 + n

    found = kernel(first, np.ones(2), np.ones(2), np.ones(2, int))
    assert found.moved_by((0, 1)) == (0,)
    assert len(found.partials((0, 1)).outputs) == 2


def test_a_pullback_is_what_a_person_would_write():
    def product(x, y, z):
        return x * y * z

    graph = kernel(product, *[np.ones(2)] * 3).pullback((0, 1, 2), (0,)).graph
    (block,) = graph.blocks
    assert sum(op.fn.__name__ == "mul" for op in block.ops) == 6


PROGRAMS = [
    (relu, (np.linspace(-2, 2, 9),)),
    (decay, (np.linspace(-2, 2, 9), np.arange(9), np.float64(0.5))),
    (pair, (np.linspace(-2, 2, 9), np.linspace(1, -1, 9))),
    (newton, (np.linspace(0.5, 4, 9),)),
    (triangle, (np.linspace(-1, 3, 9), np.arange(9))),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_flattened_programs_are_the_same_programs(f, args):
    found = kernel(f, *args[: f.__code__.co_argcount])
    floats = [i for i, kind in enumerate(found.kinds) if kind is float]
    for each in (found, found.partials(floats)):
        given = [np.broadcast_to(a, (9,)) for a in args]
        lowered = lower(each.graph, [a.dtype for a in given])
        flat = flatten(lowered)
        verify(flat.graph)
        for a, b in zip(interpret(lowered, given, 9), interpret(flat, given, 9), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_compute_what_python_does(f, args):
    args = args[: f.__code__.co_argcount]
    rows = [f(*[v.item() for v in row]) for row in zip(*args)]
    found = broadcast(f, *args)
    expected = list(zip(*rows)) if isinstance(rows[0], tuple) else [rows]
    for a, b in zip(found if isinstance(found, tuple) else [found], expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-15)


@pytest.mark.parametrize(
    ("f", "message"),
    [

        (lambda x: print(x), "print"),
        (lambda x: str(x), "str"),
        (lambda x: x + np.ones(3), "is a ndarray"),
        (lambda x: math.factorial(3) * math.comb(int(x), 2), "comb"),
        (lambda x: (x > 0) + (x > 1), "add"),
        (lambda x: int(x) ** int(x), "write float"),
    ],
)
def test_refusals_name_the_line(f, message):
    with pytest.raises(KernelError, match=message) as raised:
        broadcast(f, np.ones(3))
    assert f"test_scalar_programs.py:{f.__code__.co_firstlineno}" in str(raised.value)


def test_a_raise_is_refused():
    def checked(x):
        if x < 0:
            raise ValueError("negative")
        return x**0.5

    with pytest.raises(KernelError, match="cannot raise; return nan"):
        broadcast(checked, np.ones(3))


def down(x):
    return down(x - 1.0) if x > 0 else x


def test_recursion_is_refused():
    with pytest.raises(KernelError, match="no recursion"):
        broadcast(down, np.ones(3))
