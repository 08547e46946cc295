"""CountContext: counts against what is known of the programs, by hand or by the text of the derivative."""

import ast
import cmath
import functools
import json
import math
import operator
import threading

import numpy as np
import pytest

from ctxdispatch import Context, DualContext, code_adjoint, grad, overdub
from ctxdispatch.contexts import CountContext
from ctxdispatch_contexts.counting import DeepCountContext
from ctxdispatch_contexts.counting.costs import ELEMENTARY


def counted(f, *args, **kwargs):
    ctx = CountContext()
    out = overdub(ctx, f, *args, **kwargs)
    return out, ctx.counts


def horner(x, n):
    total = 0.0
    for k in range(n):
        total = total * x + k
    return total


class Vector:
    def __init__(self, *xs):
        self.xs = xs

    def __add__(self, other):
        return Vector(*[a + b for a, b in zip(self.xs, other.xs)])

    def __matmul__(self, other):
        return math.fsum(a * b for a, b in zip(self.xs, other.xs))


# -- programs of numbers ---------------------------------------------------------------------------


def test_floats_are_flops_and_whole_numbers_are_not():
    out, counts = counted(horner, 2.0, 5)
    assert out == horner(2.0, 5)
    assert (counts.operations, counts.flops, counts.calls) == (10, 5 + 0 + 5, 1)
    assert counts.of("mul") == 5 and counts.of("add") == 5 and counts.of("range") == 1
    _, counts = counted(lambda n: sum(k * k for k in range(n)), 10)
    assert counts.operations == 10 and counts.flops == 0


@pytest.mark.parametrize(
    "f, args, flops",
    [
        (lambda a, b: a * b + a / b - a, (1.5, 2.0), 4),
        (lambda a: -a, (1.5,), 1),
        (lambda a: 2 * a + 1, (1.5,), 2),
        (lambda n: n * 0.5, (3,), 1),
        (lambda a, b: a // b + a % b, (7.5, 2.0), 5),
        (lambda a: a**3.0, (1.5,), ELEMENTARY),
        (lambda a: math.sin(a) + math.sqrt(a), (1.5,), ELEMENTARY + 2),
        (lambda a, b: a * b, (1j, 2j), 6),
        (lambda a, b: a + b, (1j, 2.0), 2),
        (lambda a, b: a / b, (1j, 2j), 11),
        (lambda a, b: a * b, (np.float64(1.5), 2.0), 1),
        (lambda a, b: a * b, (np.float32(1.5), 2), 1),
        (lambda a: math.floor(a), (1.5,), 0),
        (lambda a, b: a < b, (1.5, 2.0), 0),
        (lambda a, b: a + b, ("text", "more"), 0),
        (lambda a, b: a | b, ({1}, {2}), 0),
        (lambda a: a * 2, ([1.0],), 0),
        (lambda a, b: a / b, (7, 2), 1),
        (lambda a: a / 2 + 1 / a, (7,), 3),
        (lambda a, b: a // b, (7, 2), 0),
        (lambda a, b: pow(a, b) + abs(b) + divmod(a, b)[0], (2.0, 3.0), ELEMENTARY + 1 + 4 + 2),
        (lambda a, b: operator.mul(a, b), (2.0, 3.0), 1),
        (lambda a: math.prod(a), ([1.0, 2.0, 3.0],), 3),
        (lambda a: cmath.exp(a), (1j,), 4 * ELEMENTARY),
        (lambda a: math.fmod(a, 2.0), (1.5,), 2),
    ],
)
def test_flops_of_an_operation(f, args, flops):
    out, counts = counted(f, *args)
    assert counts.flops == flops and out == f(*args)


# -- arrays ----------------------------------------------------------------------------------------

X, Y, M = np.arange(1.0, 5.0), np.ones(4, np.float32), np.eye(4) + 1.0
K, K8 = np.arange(1, 5), np.arange(1, 5, dtype=np.int8)


@pytest.mark.parametrize(
    "f, flops, nbytes",
    [
        (lambda: X + X, 4, 96),
        (lambda: X * 2.0, 4, 64),
        (lambda: X[:, None] * X, 16, 8 * (4 + 4 + 16)),
        (lambda: Y + Y, 4, 48),
        (lambda: M @ X, 32, 8 * (16 + 4 + 4)),
        (lambda: M @ M, 128, 8 * 48),
        (lambda: np.dot(X, X), 8, 8 * 8),
        (lambda: X.dot(X), 8, 8 * 8),
        (lambda: np.exp(X), 4 * ELEMENTARY, 64),
        (lambda: np.add(X, X), 4, 96),
        (lambda: np.sqrt(M), 16, 256),
        (lambda: np.sum(M), 16, 128),
        (lambda: M.sum(), 16, 128),
        (lambda: M.T, 0, 0),
        (lambda: M.reshape(2, 8), 0, 0),
        (lambda: np.linalg.solve(M, X), round(2 / 3 * 64 + 32), 8 * (16 + 4 + 4)),
        (lambda: np.einsum("ij,jk->ik", M, M), 128, 8 * 48),
        (lambda: np.arange(4) + 1, 0, 32 + 64),
        (lambda: X * 1j, 24, None),
        (lambda: np.maximum(X, 2.0), 0, 64),
        (lambda: np.stack([M, M]) @ M, 256, None),
        (lambda: X < 2.0, 0, 0),
        (lambda: np.inner(M, M), 128, 8 * 48),
        (lambda: X @ np.ones((5, 4, 6)), 240, None),
        (lambda: np.arange(1, 5) / np.arange(1, 5), 4, None),
        (lambda: K / K, 4, 96),
        (lambda: np.divide(K, K), 4, 96),
        (lambda: K8 * 2.0, 4, 4 + 32),
        (lambda: np.multiply(K8, 2.0), 4, 4 + 32),
        (lambda: K8 * 2, 0, 4 + 4),
        (lambda: X * [1.0, 2.0, 3.0, 4.0], 4, 64),
        (lambda: Y * X, 4, 16 + 32 + 32),
        (lambda: np.add.reduce(X), 4, 32),
        (lambda: np.multiply.outer(X, X), 16, 8 * (4 + 4 + 16)),
        (lambda: np.logical_and.reduce(X), 0, 32),
        (lambda: np.mean(K) + K.mean(), 9, 64),
        (lambda: np.std(a=X), 17, 32),
        (lambda: np.sum(M, where=M > 1.5), 4, None),
        (lambda: np.add(X, X, out=np.zeros(4), where=X > 2.0), 2, None),
        (lambda: np.floor_divide(X, 2.0) + X % 2.0, 20, None),
        (lambda: np.average(X, weights=X), 13, 64),
        (lambda: np.fft.fft2(M), 5 * 16 * 4, None),
        (lambda: np.linalg.solve(np.stack([M, M]), np.stack([M, M])), round(2 * (2 / 3 * 64 + 128)), None),
        (lambda: np.stack([X, X]), 0, 8 * 16),
        (lambda: np.sum(*[M], **{"axis": 0}), 16, 8 * 20),
        (lambda: sum(M), 16, 8 * 20),
        (lambda: np.prod(X * 1j), 24 + 24, None),
        (lambda: np.var(X * 1j), 24 + 32, None),
        (lambda: np.einsum("ij->ji", M), 0, 0),
        (lambda: M.trace(), 4, 128),
    ],
)
def test_flops_and_bytes_of_arrays(f, flops, nbytes):
    out, counts = counted(f)
    assert np.array_equal(out, f())
    assert counts.flops == flops
    assert nbytes is None or counts.bytes == nbytes


def test_in_place_the_operand_is_written():
    def program(x, y):
        x += y
        x *= 2.0
        return x

    out, counts = counted(program, np.ones(4, np.float32), np.ones(4))
    assert out.dtype == np.float32 and counts.flops == 8
    assert counts.bytes == (16 + 32 + 16) + (16 + 16)


def test_ufuncs_write_where_they_are_told_to():
    out = np.empty(4)
    for f in (lambda: np.exp(X, out), lambda: np.exp(X, out=out), lambda: np.exp(out, out=out)):
        _, counts = counted(f)
        assert (counts.flops, counts.bytes) == (4 * ELEMENTARY, 64)


def test_arrays_with_operators_of_their_own_are_counted_where_these_are_written():
    masked, matrix = np.ma.masked_array(X, [0, 0, 1, 0]), M.view(np.matrix)
    assert counted(lambda: masked * 2.0)[1].flops == 4
    assert counted(lambda: matrix * matrix)[1].flops == 128
    assert counted(lambda: matrix + 1.0)[1].flops == 16


def test_methods_of_ufuncs_have_the_names_of_both():
    assert counted(lambda: np.add.reduce(X))[1].of("numpy.add.reduce") == 1


def test_what_is_of_no_known_kind_counts_as_a_call():
    class Unhashable:
        __hash__ = None

        def __call__(self, x):
            return x

    out, counts = counted(lambda f, x: f(x), Unhashable(), X)
    assert counts.calls == 1 and out is X
    _, counts = counted(lambda: np.linalg.norm(X, ord=1) + np.sum(a=X) + np.exp(*[X]).sum())
    assert counts.of("numpy.exp") == 1 and counts.of("numpy.sum") == 1


# -- what is reached -------------------------------------------------------------------------------


def test_python_operators_count_what_their_bodies_do():
    out, counts = counted(lambda a, b: (a + b) @ a, Vector(1.0, 2.0), Vector(3.0, 4.0))
    assert out == 4.0 + 12.0
    assert counts.of("add") == 1 + 2 and counts.of("mul") == 2 and counts.of("matmul") == 1
    assert counts.flops == 2 + 2  # not one for `a + b` itself


def test_methods_generators_comprehensions_recursion_callbacks_and_exceptions():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def numbers(n):
        for k in range(n):
            yield k * 0.5

    def program():
        try:
            [1.0 / x for x in (2.0, 0.0)]
        except ZeroDivisionError:
            pass
        by = sorted([3.0, 1.0], key=lambda x: -x)
        return fib(5) + sum(numbers(3)) + by[0]

    out, counts = counted(program)
    assert out == program()
    lines = {r.function.split(".")[-1]: r for r in counts.by_function()}
    assert lines["fib"].calls == 15 - 1 + 3 * 7 and lines["numbers"].flops == 3
    assert counts.of("truediv") == 2 and lines["<lambda>"].calls == 2


def test_what_attributes_and_subscripts_run_is_counted_when_asked_for():
    class Box:
        @property
        def area(self):
            return 2.0 * 3.0 if self else 0.0

        def __getitem__(self, k):
            return 1.0 * k

    def f(box, x):
        return box.area + box[x]

    assert counted(f, Box(), 2.0)[1].of("add") == 1 and counted(f, Box(), 2.0)[1].of("mul") == 0
    ctx = DeepCountContext()
    assert overdub(ctx, f, Box(), 2.0) == f(Box(), 2.0)
    assert ctx.counts.of("mul") == 1 and ctx.counts.flops == 2


def test_totals_are_exact_with_eight_threads():
    ctx = CountContext()

    def work():
        overdub(ctx, horner, 1.0, 2000)

    threads = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert ctx.counts.of("mul") == ctx.counts.of("add") == 16_000


def test_instances_count_for_themselves_and_go_on_counting():
    one, two = CountContext(), CountContext()
    for ctx in (one, two, one):
        overdub(ctx, horner, 2.0, 3)
    assert one.counts.operations == 12 and two.counts.operations == 6


# -- derivatives -----------------------------------------------------------------------------------


def spelled(text):
    """How often the derivative's text has each arithmetic operator and call."""
    names = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "Pow": "pow", "MatMult": "matmul",
             "USub": "neg"}  # fmt: skip
    found = {}
    for node in ast.walk(ast.parse(text)):
        name = None
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.AugAssign):
            name = names[type(node.op).__name__]
            if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
                continue
        elif isinstance(node, ast.Call):
            name = "call"
        if name:
            found[name] = found.get(name, 0) + 1
    return found


def loss(w, x, y):
    return np.mean(np.log1p(np.exp(-y * (x @ w))))


def wave(t, k):
    return math.sin(k * t) * math.exp(-t) + t**3


@pytest.mark.parametrize("f, args", [(loss, (np.zeros(3), np.ones((5, 3)), np.ones(5))), (wave, (0.5, 2.0))])
def test_over_a_gradient_the_operations_of_the_derivative_are_counted(f, args):
    out, counts = counted(grad(f), *args)
    np.testing.assert_array_equal(out, grad(f)(*args))
    expected = spelled(repr(code_adjoint(f)(*args)))
    by = {r.operation.lstrip("i") if r.kind == "operator" else "call": 0 for r in counts.by_operation()}
    for record in counts.by_operation():
        by["call" if record.kind == "call" else record.operation] += record.calls
    assert by == expected


def test_the_gradient_of_a_loop_takes_a_multiple_of_the_loop():
    def power(x, n):
        r = 1.0
        for _ in range(n):
            r = r * x
        return r

    steps = [counted(grad(power), 1.5, n)[1].of("mul") for n in (10, 20, 30)]
    assert steps[1] - steps[0] == steps[2] - steps[1] and 10 <= steps[1] - steps[0] <= 40


# -- stacks ----------------------------------------------------------------------------------------


class Hooks(Context):
    def prehook(self, f, args, kwargs):
        pass

    def posthook(self, out, f, args, kwargs):
        pass


@pytest.mark.parametrize("inner", [Hooks, CountContext])
def test_stacks_leave_results_and_counts_alone(inner):
    _, alone = counted(horner, 2.0, 5)
    outermost, innermost = CountContext(), CountContext()
    assert overdub(outermost, overdub, inner(), horner, 2.0, 5) == horner(2.0, 5)
    assert overdub(inner(), overdub, innermost, horner, 2.0, 5) == horner(2.0, 5)
    assert sorted(innermost.counts.by_operation()) == sorted(alone.by_operation()) != []
    assert outermost.counts.operations == alone.operations and outermost.counts.flops == alone.flops


def test_a_dual_number_program_is_counted():
    from ctxdispatch import Dual

    ctx = CountContext()
    out = overdub(ctx, overdub, DualContext(), wave, Dual(0.5, 1.0), 2.0)
    assert out.value == wave(0.5, 2.0) and ctx.counts.flops > counted(wave, 0.5, 2.0)[1].flops


# -- reports ---------------------------------------------------------------------------------------


def two_lines(x):
    y = x * x
    return functools.reduce(operator.add, [y, y]) - 1.0


def test_sums_and_reports():
    _, counts = counted(two_lines, 3.0)
    first = two_lines.__code__.co_firstlineno
    assert [(r.line - first, r.flops) for r in counts.by_line("line")] == [(1, 1), (2, 1)]
    (function,) = counts.by_function()
    assert function.function == "two_lines" and function.flops == 2 and function.line == 0
    text = counts.text(by="line", limit=1)
    assert text.splitlines()[0] == "1 calls, 2 operators, 2 flops, 0 bytes"
    assert text.splitlines()[-1] == "... and 1 more" and f"{__file__}:{first + 2} two_lines" in text
    loaded = json.loads(counts.to_json())
    assert loaded["totals"] == {"calls": 1, "operations": 2, "flops": 2, "bytes": 0}
    assert sum(r["flops"] for r in loaded["records"]) == 2
    with pytest.raises(ValueError, match="sort by one of flops, bytes, calls, line, not by 'size'"):
        counts.by_line("size")


def test_operators_on_constants_do_what_they_do_plainly():
    def caught():
        try:
            1 / 0
        except ZeroDivisionError:
            return 1

    assert overdub(CountContext(), caught) == 1
    programs = [
        lambda: 1 / 0, lambda: -"a", lambda: 1.0 / 0.0, lambda: 1.0 % 0, lambda: 2.0**100000.0,
        lambda: 1.0 - (2,), lambda: "a" + 1, lambda: ~1.5,
    ]  # fmt: skip
    for f in programs:
        with pytest.raises(Exception) as plain:
            f()
        with pytest.raises(type(plain.value)) as counted:
            overdub(CountContext(), f)
        assert str(counted.value) == str(plain.value)


def test_a_cost_that_is_not_known_is_no_error():
    ctx = CountContext()
    made = overdub(ctx, lambda: np.dot(np.ones((2, 3, 4)), np.ones((5, 4, 6))))
    assert made.shape == (2, 3, 5, 6)
