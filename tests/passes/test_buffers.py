"""Operations that write into operands: before and after, what is refused, and the same bits as without."""

import functools
import operator
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimised import optimise, plain

from ctxdispatch.bytecode.emit import make_function
from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir import verify
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Graph, positional
from ctxdispatch.ir.values import Const
from ctxdispatch.passes import buffers
from ctxdispatch.passes.buffers import DTYPES, IN_PLACE, makes_new, reuse_buffers
from ctxdispatch.passes.types import type_of

V, W = np.linspace(0.5, 2.0, 5), np.linspace(-1.0, 3.0, 5)
M, N = np.arange(12.0).reshape(3, 4) - 4.0, np.ones((3, 4))


def optimised(f, args):
    graph = lift(f)
    graph.name = "f"
    optimise(graph, list(map(type_of, args)), f.__closure__ or ())
    return graph


def reused(f, args):
    return verify(reuse_buffers(optimised(f, args)))


def in_place(graph):
    """The ops that write into an operand."""
    return [op for _, op in graph.ops() if isinstance(op.fn, np.ufunc) and len(op.args) > op.fn.nin]


def assert_becomes(f, args, expected):
    assert str(reused(f, args)).strip() == textwrap.dedent(expected).strip()
    assert_same_bits(f, args)


def assert_refused(f, args):
    assert not in_place(reused(f, args))


def assert_same_bits(f, args):
    without = make_function(optimised(f, args), f.__globals__, f.__closure__ or ())
    with_it = make_function(reused(f, args), f.__globals__, f.__closure__ or ())
    before = plain(list(args))
    expected = described(without(*args))
    for _ in range(2):
        assert described(with_it(*args)) == expected
        assert plain(list(args)) == before


def described(value):
    """Bits, and the order of axes in memory."""
    if isinstance(value, (tuple, list)):
        return [described(v) for v in value]
    return plain(value), value.strides if isinstance(value, np.ndarray) and value.size else None


# -- before and after ------------------------------------------------------------------------------


def test_a_chain_in_one_buffer():
    def f(a, b, c):
        return np.exp(-(a * b + c) / 2.0)

    assert_becomes(
        f,
        (V, W, V),
        """
        f(%a, %b, %c):
          b0():
            %0 = mul(%a, %b)
            %1 = np.add(%0, %c, %0)
            %2 = np.negative(%1, %1)
            %3 = np.divide(%2, 2.0, %2)
            %4 = np.exp(%3, %3)
            return %4
        """,
    )


def test_either_operand():
    def f(a, b):
        return 2.0 - a * b, b / (a + 1.0), a - b * b

    assert_becomes(
        f,
        (V, W),
        """
        f(%a, %b):
          b0():
            %0 = mul(%a, %b)
            %1 = np.subtract(2.0, %0, %0)
            %2 = add(%a, 1.0)
            %3 = np.divide(%b, %2, %2)
            %4 = mul(%b, %b)
            %5 = np.subtract(%a, %4, %4)
            %6 = build_tuple(%1, %3, %5)
            return %6
        """,
    )


def test_an_operand_that_lives_on_is_kept():
    def f(a):
        t = a + 1.0
        u = t * (a * 2.0)
        return u, t, u.size

    assert_becomes(
        f,
        (V,),
        """
        f(%a):
          b0():
            %t = add(%a, 1.0)
            %0 = mul(%a, 2.0)
            %u = np.multiply(%t, %0, %0)
            %1 = getattr(%u, 'size')
            %2 = build_tuple(%u, %t, %1)
            return %2
        """,
    )


def test_the_same_operand_twice():
    def f(a):
        t = a + 1.0
        return t * t

    assert_becomes(f, (V,), "f(%a):\n  b0(): %t = add(%a, 1.0); %0 = np.multiply(%t, %t, %t); return %0")


def test_in_a_loop():
    def f(x, n):
        t = x * 2.0
        for _ in range(n):
            t = t * x + 1.0
        return t

    assert_becomes(
        f,
        (V, 3),
        """
        f(%x, %n):
          b0(): %t = mul(%x, 2.0); %0 = range(%n); %1 = iter(%0); jump b1(%t)
          b1(%t2): iterate %1 b2() b3()
          b2(%_): %2 = mul(%t2, %x); %t3 = np.add(%2, 1.0, %2); jump b1(%t3)
          b3(): return %t2
        """,
    )


def test_in_the_branches_after_it():
    def f(x, c):
        t = x * 2.0
        if c:
            return t + 1.0
        return np.sin(t) + t

    graph = reused(f, (V, True))
    assert [op.fn for op in in_place(graph)] == [np.add, np.add]
    assert_same_bits(f, (V, True))
    assert_same_bits(f, (V, False))


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t.sum(),
        lambda t: np.add.reduce(t, 0),
        lambda t: t @ t,
        lambda t: np.dot(t, t),
        lambda t: len(t),
        lambda t: t.shape[0] + t.ndim + t.size,
        lambda t: t[0],
        lambda t: t.T.sum(),
        lambda t: t[1:].sum() + t[:, None].sum(),
        lambda t: np.outer(t, t),
        lambda t: t.reshape(-1, 1) * 2.0,
        lambda t: t > 1.0,
        lambda t: t.astype("f4"),
    ],
)
def test_uses_that_keep_nothing(use):
    def f(x):
        t = x * 2.0
        seen = use(t)
        return np.exp(t), seen

    graph = inlined(f, use, V)
    assert [op.fn for op in in_place(graph) if op.fn is np.exp], str(graph)
    assert_same_bits(f, (V,))


def inlined(f, use, x):
    from ctxdispatch.ir.rewrite import clone  # noqa: PLC0415
    from ctxdispatch.passes.inline import inline_call  # noqa: PLC0415

    graph = optimised(f, (x,))
    block = graph.entry
    index = next(i for i, op in enumerate(block.ops) if op.fn is use)
    inline_call(graph, block, index, clone(lift(use)), block.ops[index].args, [])
    optimise(graph, [type_of(x)])
    return verify(reuse_buffers(graph))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x @ x.T,
        lambda x: np.zeros((2, 2)),
        lambda x: np.ones((2, 2), "f8"),
        lambda x: np.full((2, 2), 3.0),
        lambda x: np.add.reduce(x[:, :, None] * 2.0, 1) @ np.ones((1, 3)),
        lambda x: x.sum(axis=0, keepdims=True),
        lambda x: np.where(x > 1.0, 1.0, x @ x.T),
        lambda x: np.mean(x, axis=1),
        lambda x: np.tanh(x),
    ],
)
def test_makers(make):
    def f(x):
        return make(x) * 2.0

    x = np.arange(4.0).reshape(2, 2)
    graph = inlined(f, make, x)
    assert [op.fn for op in in_place(graph)][-1:] == [np.multiply], str(graph)
    assert_same_bits(f, (x,))


# -- refused ---------------------------------------------------------------------------------------


def argument(a, b):
    return a * b


def block_parameter(a, b):
    t = a * 2.0 if len(b) else b
    return t + 1.0


def defined_outside_the_loop(a, b):
    t = a * b
    out = a
    for _ in range(3):
        out = t + out[0]
    return out


def read_later(a, b):
    t = a * b
    u = t + 1.0
    return np.exp(t), u


def returned(a, b):
    t = a * b
    return t, t + 1.0


def view_read_later(a, b):
    t = a * b
    view = t[1:]
    return t + 1.0, view.sum(), t.T


def view_returned(a, b):
    t = a * b
    view = t[::-1]
    return t + 1.0, view


def view_is_other_operand(a, b):
    t = a * b
    return t + t[::-1]


def view_of_a_view(a, b):
    t = a * b
    view = t[::-1].reshape(-1)
    return t + view


def view_itself(a, b):
    t = (a * b)[::-1]
    return t + 1.0


def broadcast_view(a, b):
    t = np.broadcast_to(a * b, (5,))
    return t + 1.0


def kept_in_a_list(a, b):
    t = a * b
    kept = [t]
    u = t + 1.0
    return u, kept


def kept_in_a_partial(a, b):
    t = a * b
    kept = functools.partial(operator.neg, t)
    u = t + 1.0
    return u, kept()


def kept_by_a_function(a, b):
    t = a * b
    kept = lambda: t  # noqa: E731
    u = t + 1.0
    return u, kept()


def kept_by_an_unknown_call(a, b):
    t = a * b
    kept = keep(t)
    u = t + 1.0
    return u, kept


def keep(t):
    return t


def other_dtype(a, b):
    return (a > b) * 1.0, (a > b) / 2.0


def broadcast_to_more_dimensions(a, b):
    return (a * b) + np.ones((2, 1))


def other_length(a, b):
    return (a[:1] * 2.0) + b[1:]


def a_product(a, b):
    t = np.ones((5, 5)) @ a
    return t @ b, t.dot(b)


def numbers(a, b):
    return a[0] * b[0] + 1.0


def power(a, b):
    return (a * b) ** 3.0


def out_of_the_user(a, b):
    t = a * b
    u = np.add(a, b, t)
    return u * 2.0, t


REFUSED = [
    argument, block_parameter, defined_outside_the_loop, returned, view_read_later, view_returned,
    view_is_other_operand, view_of_a_view, view_itself, broadcast_view, kept_in_a_list, kept_in_a_partial,
    kept_by_a_function, kept_by_an_unknown_call, other_dtype, broadcast_to_more_dimensions, other_length,
    a_product, numbers, power,
]  # fmt: skip


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_refused(f):
    assert_refused(f, (V, W))
    if "kept" not in f.__name__:
        assert_same_bits(f, (V, W))


def test_only_the_last_reader_writes():
    graph = reused(read_later, (V, W))
    assert [op.fn for op in in_place(graph)] == [np.exp]
    assert_same_bits(read_later, (V, W))


def test_what_the_user_writes_into():
    graph = reused(out_of_the_user, (V, W))
    assert len(in_place(graph)) == 1  # the user's
    assert_same_bits(out_of_the_user, (V, W))


@pytest.mark.parametrize("dtype", ["i8", "?", "c16", "f2"])
def test_dtypes_left_alone(dtype):
    def f(a, b):
        return (a + b) * a

    assert_refused(f, (V.astype(dtype), W.astype(dtype)))


def of_slices(start, stop):
    """2 x[1:] * y[start:stop], x and y the same vector or two"""
    graph = Graph("f", positional(2, ("x", "y")))
    build = Builder(graph)
    x, y = graph.params
    t = build.call(operator.mul, build.call(operator.getitem, x, Const(slice(1, None))), Const(2.0))
    u = build.call(operator.getitem, x if start is None else y, Const(slice(start, stop)))
    build.ret(build.call(operator.mul, t, u))
    optimise(graph, [type_of(V), type_of(V)])
    return graph


def test_lengths_that_are_not_known():
    assert not in_place(reuse_buffers(of_slices(1, None)))  # of two vectors: either may be of length 1
    assert len(in_place(reuse_buffers(of_slices(None, -1)))) == 1  # of one: both are one shorter


# -- the order of axes -----------------------------------------------------------------------------


def mixed(x, y):
    return (x * x) * y


def alike(x, y):
    return (x * y) * x - x


def product_first(x, y):
    return (x.T @ y) * 2.0 + (x * y).T[0, 0]


def rows(x, y):
    return (x[:, :1] * y[:1]) + x


ARRANGED = [
    np.ascontiguousarray,
    np.asfortranarray,
    lambda m: m.T.copy().T[:, ::-1],
    lambda m: np.broadcast_to(m[:1], m.shape),
]


@pytest.mark.parametrize("f", [mixed, alike, product_first, rows], ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("second", range(4))
def test_order(f, first, second):
    assert_same_bits(f, (ARRANGED[first](M), ARRANGED[second](N + M)))


def test_order_decides():
    assert_refused(mixed, (M, N))
    assert len(in_place(reused(alike, (M, N)))) == 2
    cube = np.ones((2, 3, 4))
    assert_refused(alike, (cube, cube))


# -- the tables ------------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, 0.5, 700.0]


@pytest.mark.parametrize(
    "ufunc", sorted(set(IN_PLACE.values()), key=lambda f: f.__name__), ids=lambda f: f.__name__
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_ufuncs_give_the_same_bits_in_place(ufunc, dtype):
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for n in (*range(20), 63, 64, 65, 1000):
            a, b = (rng.choice([*SPECIAL, *rng.normal(size=30)], n).astype(dtype) for _ in "ab")
            for others in ((a, b), (b, a), (a, b[::-1]), (a, 0.5), (0.5, a)):
                args = others[: ufunc.nin]
                if args[0] is a or ufunc.nin == 2:
                    target = a.copy()
                    ufunc(*(target if x is a else x for x in args), target)
                    assert target.tobytes() == ufunc(*args).tobytes()


def test_calls_that_are_given_more_make_nothing_new():
    graph = Graph("f", positional(2, ("x", "y")))
    build = Builder(graph)
    x, y = graph.params
    ops = [
        build.op(np.add, [x, y], [build_value()]),
        build.op(np.add, [x, y, x], [build_value()]),
        build.op(np.dot, [x, y, x], [build_value()]),
        build.op(np.add.reduce, [x, Const(0), y], [build_value()], ("out",)),
        build.op(np.ndarray.astype, [x, Const(float), Const(False)], [build_value()], ("copy",)),
    ]
    assert list(map(makes_new, ops)) == [True, False, False, False, False]


def build_value():
    from ctxdispatch.ir.values import Value

    return Value()


# -- random programs -------------------------------------------------------------------------------

BINARY = ["add", "sub", "mul", "truediv"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["binary"] * 4 + ["scalar", "unary", "unary", "view", "sum", "matmul", "keep"]),
        st.integers(0, 30), st.integers(0, 30), st.integers(0, 5),
    ),
    min_size=3, max_size=14,
)  # fmt: skip
SHAPES = st.sampled_from([(4,), (1,), (0,), (3, 3), (1, 3), (2, 2, 2)])


def source(steps, loop):
    """A program over x and y. In a loop `z` is carried from one turn to the next."""
    names, lines, kept = ["x", "y"], [], []
    if loop:
        names.append("z")
    for number, (kind, i, j, k) in enumerate(steps):
        a, b, new = names[-1 - i % min(len(names), 4)], names[j % len(names)], f"v{number}"
        text = {
            "binary": f"{a} {'+-*/'[k % 4]} {b}",
            "scalar": f"{0.5 + k} {'+-*/'[k % 4]} {a}" if j % 2 else f"{a} {'+-*/'[k % 4]} {0.5 + k}",
            "unary": [
                f"np.tanh({a})",
                f"-{a}",
                f"abs({a})",
                f"np.sin({a})",
                f"np.exp({a})",
                f"np.square({a})",
            ][k],
            "view": [
                f"{a}.T",
                f"{a}[::-1]",
                f"{a}.reshape({a}.shape)",
                f"{a}[...]",
                f"{a}.T.T",
                f"{a}[None][0]",
            ][k],
            "sum": [f"{a} * {a}.sum()", f"{a} + {a}.sum(axis=0)", f"{a} - {a}.mean(axis=-1, keepdims=True)"][
                k % 3
            ],
            "matmul": f"{a} @ {b}.T + {a}",
            "keep": a,
        }[kind]
        kept += [new] if kind == "keep" else []
        lines.append(f"{new} = {text}")
        names.append(new)
    body = "".join(f"        {line}\n" for line in lines)
    head = "    z = x\n    for i in range(3):\n" if loop else "    if True:\n"
    carry = f"        z = {names[-1]}\n" if loop else ""
    return f"def f(x, y):\n{head}{body}{carry}    return {names[-1]}, {', '.join([*kept, names[-2]])}, x, y\n"


ORDERS = [lambda a: a, np.asfortranarray, lambda a: np.ascontiguousarray(a[::-1])[::-1]]


@settings(max_examples=120, deadline=None)
@given(
    STEPS, SHAPES, st.booleans(), st.sampled_from("fd"), st.integers(0, 2), st.integers(0, 2), st.booleans()
)
def test_random_programs(steps, shape, loop, dtype, first, second, same):
    space = {"np": np}
    exec(source(steps, loop), space)
    rng = np.random.default_rng(len(steps))
    x, y = (rng.normal(size=shape).astype(dtype) for _ in "xy")
    x, y = ORDERS[first](x), ORDERS[second](y)
    args = (x, x if same else y)
    with np.errstate(all="ignore"):
        try:
            space["f"](*args)
        except (ValueError, TypeError):
            return
        assert_same_bits(space["f"], args)


# -- functions -------------------------------------------------------------------------------------


def chain(a, b):
    return np.exp(a * b + a)


def test_a_function_is_lifted_as_before_the_pass():
    graph = optimised(chain, (V, W))
    before = str(graph)
    function = buffers.make_function(graph, globals())
    assert described(function(V, W)) == described(chain(V, W))
    assert str(graph) == before
    assert str(lift(function)).replace(" cells(%$pool)", "") == before
    assert np.multiply not in function.__code__.co_consts and np.add in function.__code__.co_consts


def test_a_function_without_arrays_is_emitted_as_ever():
    graph = optimised(chain, (1.0, 2.0))
    function = buffers.make_function(graph)
    assert function.__code__.co_consts[:-1] == make_function(graph).__code__.co_consts
