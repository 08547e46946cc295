"""Before and after of each thing that folding, common subexpressions and dead code do; guards; types."""

import math
import textwrap
import time
import types

import numpy as np
import pytest
from optimised import optimise

from ctxdispatch.bytecode.lift import lift
from ctxdispatch.passes.guards import AttrIs, CellIs, CellType, PathIs, PathType
from ctxdispatch.passes.infer import infer
from ctxdispatch.passes.types import (
    ArrayOf,
    Exact,
    Known,
    ListOf,
    TupleOf,
    const_type,
    join,
    leq,
    type_of,
    widen,
)

FLOAT, INT = Exact(float), Exact(int)
VECTOR, MATRIX = ArrayOf(np.dtype(float), (False,)), ArrayOf(np.dtype(float), (False, False))


def after(f, *types_):
    graph = lift(f)
    graph.name = "f"
    optimise(graph, types_, f.__closure__ or ())
    return str(graph).strip()


def assert_becomes(f, types_, expected):
    assert after(f, *types_) == textwrap.dedent(expected).strip()


# -- fold -------------------------------------------------------------------------------------------


def test_names_and_constants():
    def f(x):
        return math.sin(x) * (2 + math.pi) + np.linalg.norm(x)

    assert_becomes(
        f,
        [FLOAT],
        """
        f(%x):
          b0():
            %0 = math.sin(%x)
            %1 = mul(%0, 5.141592653589793)
            %2 = numpy.linalg.norm(%x)
            %3 = add(%1, %2)
            return %3
        """,
    )


def test_known_branches():
    def f(x, y=None):
        if y is None and isinstance(x, float):
            y = 1
        return x, y

    assert_becomes(f, [FLOAT, Known(None)], "f(%x, %y):\n  b0(): %0 = build_tuple(%x, 1); return %0")


def test_tuples_are_taken_apart():
    def f(x, y):
        pair = (y, x)
        a, b = pair
        return max(*(a, b)) + pair[-1]

    assert_becomes(f, [FLOAT, FLOAT], "f(%x, %y):\n  b0(): %0 = max(%y, %x); %1 = add(%0, %x); return %1")


def test_methods_of_arrays_become_reductions():
    def f(x):
        return x.sum(), np.max(x, axis=1), x.mean(keepdims=True), x.astype(int).sum()

    text = after(f, MATRIX)
    assert "reduce(%x, axis=None)" in text and "reduce(%x, 1)" in text
    assert "ndarray.mean(%x, keepdims=True)" in text and "ndarray.sum(" in text  # of ints


def test_identities_of_floats_only():
    def f(x):
        return 1.0 * x / 1 - 0.0

    assert_becomes(f, [FLOAT], "f(%x):\n  b0(): return %x")
    assert "mul" in after(f, INT) and "mul" in after(f, Exact(complex))

    def zeros(x):
        return x + 0.0, 0.0 * x

    assert "add" in after(zeros, FLOAT) and "mul" in after(zeros, FLOAT)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (1000,), (33, 65), (3, 1, 129)])
def test_reductions_are_bitwise_the_same(dtype, shape):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    for name, ufunc in dict(sum=np.add, prod=np.multiply, max=np.maximum, min=np.minimum).items():
        for axis in (None, *range(len(shape))):
            assert getattr(np, name)(x, axis=axis).tobytes() == ufunc.reduce(x, axis=axis).tobytes()
    assert (x**2).tobytes() == (x * x).tobytes()


# -- common subexpressions -------------------------------------------------------------------------


def test_equal_calls_are_one():
    def f(x, y):
        if y > 0:
            return math.exp(x) * math.exp(x)
        return x * y + x * y

    text = after(f, FLOAT, FLOAT)
    assert text.count("exp") == 1 and text.count("mul(%x, %y)") == 1


def test_products_and_sums_are_the_same_either_way_round():
    def numbers(x, y):
        return (x * y) - (y * x), (x + y) - (y + x), (x - y) - (y - x)

    text = after(numbers, FLOAT, FLOAT)
    assert [text.count(name) for name in ("mul(", "add(", "sub(")] == [1, 1, 5]
    assert after(numbers, VECTOR, FLOAT).count("mul(") == 1

    def lists(x, y):
        return len(x + y) * (y + x)

    assert after(lists, ListOf(FLOAT), ListOf(FLOAT)).count("add(") == 2


def test_calls_on_both_sides_of_a_branch_are_two():
    def f(x):
        y = 0.0
        if x > 0:
            y = math.sin(x)
        return y + math.sin(x)

    assert after(f, FLOAT).count("sin") == 2


def test_arrays_are_shared_where_nobody_changes_them():
    def shared(x):
        return np.sum(np.exp(x) * np.exp(x) * 1.0)

    def both_returned(x):
        return np.exp(x), np.exp(x)

    def changed(x):
        y, z = np.exp(x), np.exp(x)
        y += 1.0
        return y, z.sum()

    def between(x):
        y = x.sum()
        x[0] = 1.0
        return y + x.sum()

    assert after(shared, VECTOR).count("exp") == 1 and "1.0" not in after(shared, VECTOR)
    assert [after(f, VECTOR).count("exp") for f in (both_returned, changed)] == [2, 2]
    assert after(between, VECTOR).count("reduce") == 2


def test_what_a_list_holds_is_read_again_after_a_change():
    def f(xs):
        before = len(xs)
        xs.append(1.0)
        return before + len(xs)

    assert after(f, ListOf(FLOAT)).count("len") == 2


# -- dead code --------------------------------------------------------------------------------------


def test_loops_that_end_and_do_nothing_go():
    def f(n, x):
        total, log = 0.0, []
        for i in range(n):
            for _ in range(i):
                total += x
            if i > 2:
                log.append(i)
        return x

    assert_becomes(f, [INT, FLOAT], "f(%n, %x):\n  b0(): return %x")


def test_loops_that_may_not_end_stay():
    def f(n):
        while n > 0:
            n = n - 1
        return 1

    assert "branch" in after(f, INT)


def test_what_may_raise_stays():
    def f(x, y):
        unused = math.log(x)
        quotient = x / y
        fine = x / 2.0 + math.atan(x) * y
        return x

    text = after(f, FLOAT, FLOAT)
    assert "log" in text and "truediv(%x, %y)" in text and "atan" not in text


def test_one_branch_of_two_may_go():
    def f(x, c):
        y, z = 0.0, 0.0
        if c:
            y = x + 1.0
        if x > 0:
            z = x
        return z

    assert after(f, FLOAT, Exact(bool)).count("branch %") == 1


# -- guards -----------------------------------------------------------------------------------------

NUMBER, TABLE = 2.0, np.ones(3)


def test_guards_are_few():
    def f(x):
        return np.linalg.norm(x) * NUMBER + TABLE.sum() + len(x)

    inference = infer(lift(f), [VECTOR])
    found = {g.path: g for g in inference.guards}
    assert set(found) == {("np", "linalg", "norm"), ("NUMBER",), ("TABLE",), ("len",)}
    assert isinstance(found["len",], PathIs) and found["len",].value is len
    assert found["NUMBER",].type == FLOAT and isinstance(found["TABLE",], PathType)


def test_guards_of_cells():
    scale, g = 2.0, math.sin

    def f(x):
        return g(x) * scale

    guards = infer(lift(f), [FLOAT], cells=f.__closure__).guards
    assert {type(g) for g in guards} == {CellIs, CellType}


def test_cells_by_type():
    scale = 2.0

    def f(x):
        return x * scale

    inference = infer(lift(f), [FLOAT], cells=[INT])
    assert inference.return_type == FLOAT and not inference.guards


def test_a_property_of_a_slotted_class_is_its_getter():
    class Box:
        __slots__ = ("a",)

        @property
        def double(self):
            return 2 * self.a

        def method(self):
            return 1

    def f(box):
        return box.double, box.method()

    graph = lift(f)
    inference = optimise(graph, [Exact(Box)])
    assert {(type(g), g.name) for g in inference.guards} == {(AttrIs, "double"), (AttrIs, "method")}
    assert all(isinstance(op.fn, types.FunctionType) for _, op in graph.ops())


def test_stored_globals_are_unknown():
    def f(x):
        global NUMBER
        NUMBER = x
        return NUMBER

    inference = infer(lift(f), [FLOAT])
    assert not inference.guards and repr(inference.return_type) == "Any"


# -- the lattice ------------------------------------------------------------------------------------


def test_types_of_values():
    nested = [1.0]
    nested.append(nested)
    assert type_of((1.0, [2, 3], None)) == TupleOf((FLOAT, ListOf(INT), Known(None)))
    assert type_of([1.0, "a"]) == Exact(list) == type_of([])
    assert repr(type_of(np.ones((1, 3), "f4"))) == "float32[1,n]"
    assert type_of(np.float32(1)) == Exact(np.float32) and type_of(math.sin) == Known(math.sin)
    assert leq(type_of(nested), Exact(list))
    assert const_type((1, None)) == TupleOf((Known(1), Known(None)))


def test_joins():
    assert join(Known(1), Known(2)) == INT and join(Known(0.0), Known(-0.0)) == FLOAT
    assert join(Known(1), Known(True)) != Known(1)
    assert join(VECTOR, ArrayOf(np.dtype(float), (True,))) == ArrayOf(np.dtype(float), (None,))
    assert join(VECTOR, MATRIX) == Exact(np.ndarray)
    assert join(TupleOf((Known(1),)), TupleOf((Known(2),))) == TupleOf((INT,))
    assert widen(Known(1)) == INT and widen(Known(math.sin)) == Known(math.sin)
    assert Known(np.add.reduce) == Known(np.add.reduce)


def test_a_large_graph_is_quick():
    lines = "".join(f"    y = math.sin(y) * x + {i}.0\n" for i in range(200))
    scope = {"math": math}
    exec(f"def f(x):\n    y = x\n{lines}    return y\n", scope)
    graph = lift(scope["f"])
    start = time.perf_counter()
    optimise(graph, [FLOAT])
    assert time.perf_counter() - start < 1.0
