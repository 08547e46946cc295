"""Emission gives back what was lifted: results, exceptions, places; code is as short as CPython's."""

import builtins
import dis
import inspect
import operator
import sys
import traceback
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import CASES
from test_lift import outcome
from test_lift_random import PROGRAMS, block
from test_lift_random import outcome as logged

from ctxdispatch.bytecode.emit import emit, make_function
from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir import primitives, verify
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Edge, Graph, Iterate, Jump, Signature, positional
from ctxdispatch.ir.values import UNDEF, Const, Value


def again(f):
    """`f` after lift and emit."""
    return make_function(lift(f), None, f.__closure__ or (), f.__defaults__, f.__kwdefaults__)


def names(f):
    """Instructions, fused pairs apart and version by version the same."""
    opnames = (i.opname.replace("_BORROW", "") for i in dis.get_instructions(f))
    return [name for name in opnames if name not in ("CACHE", "RESUME", "PRECALL", "NOT_TAKEN")]


@pytest.mark.parametrize(
    "f, args",
    [pytest.param(f, a, id=f"{f.__qualname__}-{n}") for f, cases in CASES for n, a in enumerate(cases)],
)
def test_the_round_trip_computes_the_function(f, args):
    assert outcome(again(f), *args) == outcome(f, *args)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(PROGRAMS, st.integers(-1, 3), st.integers(-1, 3))
def test_random_programs(lines, a, b):
    source = "\n".join(["def f(a, b, fuel, log):", *block(lines), " return a, b"])
    scope = {}
    exec(source, scope)
    assert logged(again(scope["f"]), a, b) == logged(scope["f"], a, b), source


@pytest.mark.parametrize("f", [pytest.param(f, id=f.__qualname__) for f, _ in CASES])
def test_no_instruction_more_than_the_compiler_made(f):
    """In all: block parameters of `and`/`or` cost a store and a load, other code saves them."""
    assert len(names(again(f))) <= 1.35 * len(names(f)) + 2


# -- places ---------------------------------------------------------------


def raises_late(x):
    y = x + 1
    z = [
        y,
        y.missing,
    ]
    return z


def places(f, *args):
    try:
        f(*args)
    except Exception as error:
        stack = traceback.TracebackException.from_exception(error).stack
        return [(e.lineno, e.end_lineno, e.colno, e.end_colno) for e in stack if e.name == f.__name__]


def test_exceptions_are_raised_at_the_same_line_and_column():
    assert places(again(raises_late), 1) == places(raises_late, 1) != []


def test_name_file_and_signature_are_those_of_the_source():
    def f(a, /, b, *rest, c=3, **more):
        """Said."""
        return a, b, rest, c, more

    g = again(f)
    assert inspect.signature(g) == inspect.signature(f)
    assert (g.__name__, g.__qualname__, g.__doc__) == (f.__name__, f.__qualname__, "Said.")
    assert g.__code__.co_filename == __file__
    assert g.__code__.co_firstlineno == f.__code__.co_firstlineno
    assert g(1, 2, 3, c=4, d=5) == (1, 2, (3,), 4, {"d": 5})


def test_docstring_flag_only_where_there_is_one():
    def f():
        return "not a docstring"

    assert again(f).__doc__ is None


# -- hand-made graphs ---------------------------------------------------------------


def build(n, write, **options):
    graph = Graph("f", positional(n), **options)
    builder = Builder(graph)
    result = write(builder, *graph.params)
    if result is not None:
        builder.ret(result)
    return make_function(verify(graph))


def test_constants_are_told_apart_by_identity():
    one = [1, 1.0, True, [], [], {}, "a"]
    f = build(0, lambda b: b.call(primitives.build_tuple, *map(Const, one), syntax=True))
    assert [type(x) for x in f()] == [type(x) for x in one]
    assert all(x is y for x, y in zip(f(), one))


def test_constants_are_never_compared():
    class Odd:
        __hash__ = None

        def __eq__(self, other):
            raise AssertionError("compared")

        def __call__(self, *args):
            return args

        __len__ = __bool__ = __add__ = __eq__

    odd = Odd()

    def write(b, x):
        then, join = b.new_block(), b.new_block()
        join.params = [Value("p")]
        b.branch(b.call(operator.is_, x, Const(odd), syntax=True), then, join)
        b.graph.entry.terminator.orelse.args = [Const(odd)]
        b.enter(then)
        b.jump(join, [b.call(odd, Const(odd), x)])
        b.enter(join)
        return b.call(odd, Const(odd), join.params[0], b.call(odd))

    assert build(1, write)(1)[0] is odd
    assert build(1, write)(odd)[1][0] is odd


def test_an_operator_that_is_called_is_called():
    f = build(2, lambda b, x, y: b.call(operator.add, x, y))
    g = build(2, lambda b, x, y: b.call(operator.add, x, y, syntax=True))
    assert f(1, 2) == g(1, 2) == 3
    assert "BINARY_OP" not in names(f) and "CALL" in names(f)
    assert "CALL" not in names(g)


def test_a_global_of_another_module():
    def write(b):
        return b.call(primitives.load_global, Const({"x": 5}), Const("x"), syntax=True)

    assert build(0, write, namespace={"x": 6})() == 5


def test_a_square_copies_what_is_on_the_stack():
    def write(b, x):
        y = b.call(operator.add, x, Const(1), syntax=True)
        return b.call(operator.mul, y, y, syntax=True)

    f = build(1, write)
    assert f(2) == 9
    assert not any("STORE_FAST" in n for n in names(f))


def test_an_operand_waits_on_the_stack_while_statements_run():
    log = []

    def write(b, x):
        early = b.call(operator.add, x, Const(1), syntax=True)
        b.call(log.append, x)
        late = b.call(operator.mul, x, x, syntax=True)
        return b.call(operator.sub, early, late, syntax=True)

    f = build(1, write)
    assert f(3) == 4 - 9 and log == [3]
    assert not any("STORE_FAST" in n for n in names(f))


def test_operands_in_the_other_order():
    def write(b, x):
        first = b.call(operator.add, x, Const(1), syntax=True)
        second = b.call(operator.mul, x, x, syntax=True)
        return b.call(operator.sub, second, first, syntax=True)

    assert build(1, write)(3) == 9 - 4


def test_a_result_that_is_used_on_the_left_of_its_first_use():
    def write(b, x):
        y = b.call(operator.add, x, Const(1), syntax=True)
        z = b.call(operator.mul, y, Const(2), syntax=True)
        return b.call(primitives.build_tuple, y, z, y, syntax=True)

    assert build(1, write)(1) == (2, 4, 2)


def test_parallel_copies():
    """a, b, c = b, c, a + c in a loop of n rounds."""
    graph = Graph("f", positional(1))
    b = Builder(graph)
    loop, body, done = b.new_block(), b.new_block(), b.new_block()
    n, x, y, z = loop.params = [Value(v) for v in "nxyz"]
    b.jump(loop, [graph.params[0], Const(1), Const(2), Const(3)])
    b.enter(loop)
    b.branch(b.call(operator.gt, n, Const(0), syntax=True), body, done)
    b.enter(body)
    less = b.call(operator.sub, n, Const(1), syntax=True)
    b.jump(loop, [less, y, z, b.call(operator.add, x, z, syntax=True)])
    b.enter(done)
    b.ret(b.call(primitives.build_tuple, x, y, z, syntax=True))
    f = make_function(verify(graph))

    def expected(n):
        x, y, z = 1, 2, 3
        while n > 0:
            n, x, y, z = n - 1, y, z, x + z
        return x, y, z

    assert [f(k) for k in range(7)] == [expected(k) for k in range(7)]


def test_a_loop_variable_has_one_slot():
    def f(n):
        while n > 0:
            n = n - 1
        return n

    assert again(f).__code__.co_nlocals == 1
    assert names(again(f)) == names(f)


def test_nested_for_loops_keep_their_iterators_on_the_stack():
    def f(n):
        total = 0
        for i in range(n):
            for j in range(i):
                if j == 7:
                    break
                if j % 2:
                    continue
                total += i * j
            else:
                total -= 1
        return total

    g = again(f)
    assert [g(k) for k in range(15)] == [f(k) for k in range(15)]
    assert len(names(g)) <= len(names(f))


def test_an_iterator_that_others_use_too():
    def write(b, xs):
        it = b.call(builtins.iter, xs, syntax=True)
        out = b.call(primitives.build_list, syntax=True)
        loop, body, done = b.new_block(), b.new_block(), b.new_block()
        b.jump(loop)
        b.enter(loop)
        item = b.iterate(it, body, done)
        b.enter(body)
        following = b.call(builtins.next, it, Const(None))
        pair = b.call(primitives.build_tuple, item, following, syntax=True)
        b.call(primitives.list_append, out, pair, syntax=True)
        b.jump(loop)
        b.enter(done)
        b.ret(out)

    assert build(1, write)([1, 2, 3, 4, 5]) == [(1, 2), (3, 4), (5, None)]


def test_the_item_goes_to_a_block_with_other_predecessors():
    """for x in xs: while x > 0: x -= 1; total += 1"""
    graph = Graph("f", positional(1))
    b = Builder(graph)
    outer, inner, step, done = (b.new_block() for _ in range(4))
    (total,) = outer.params = [Value("total")]
    x, count = inner.params = [Value("x"), Value("count")]
    it = b.call(builtins.iter, graph.params[0], syntax=True)
    b.jump(outer, [Const(0)])
    outer.terminator = Iterate(it, Edge(inner, [total]), Edge(done, []))
    b.enter(inner)
    b.branch(b.call(operator.gt, x, Const(0), syntax=True), step, outer)
    inner.terminator.orelse.args = [count]
    b.enter(step)
    b.jump(
        inner,
        [b.call(operator.sub, x, Const(1), syntax=True), b.call(operator.add, count, Const(1), syntax=True)],
    )
    b.enter(done)
    b.ret(total)
    assert make_function(verify(graph))([3, 0, 2, -1, 4]) == 9


def test_free_variables_and_cells():
    def write(b):
        (cell,) = b.graph.cells
        old = b.call(primitives.cell_get, cell, Const("v"), Const(True), syntax=True)
        b.call(primitives.cell_set, cell, b.call(operator.add, old, Const(1), syntax=True), syntax=True)
        b.ret(old)

    graph = Graph("f", positional(0), cellnames=("v",))
    write(Builder(graph))
    cell = types.CellType(1)
    f = make_function(graph, closure=(cell,))
    assert (f(), f(), cell.cell_contents) == (1, 2, 3)
    with pytest.raises(NameError, match="free variable 'v'"):
        make_function(graph, closure=(types.CellType(),))()


def test_a_constant_cell():
    cell = types.CellType(4)

    def write(b, x):
        b.call(primitives.cell_set, Const(cell), x, syntax=True)
        return b.call(primitives.cell_get, Const(cell), Const("v"), Const(True), syntax=True)

    assert build(1, write)(7) == 7 == cell.cell_contents


def test_two_names_for_what_may_be_unbound():
    """The message names the variable, not the slot."""

    def write(b, x):
        left, join, first, second = (b.new_block() for _ in range(4))
        value = Value()
        join.params = [value]
        b.branch(b.call(operator.gt, x, Const(0), syntax=True), left, join)
        b.graph.entry.terminator.orelse.args = [UNDEF]
        b.enter(left)
        b.jump(join, [x])
        b.enter(join)
        b.branch(b.call(operator.eq, x, Const(0), syntax=True), first, second)
        for target, name in ((first, "p"), (second, "q")):
            b.enter(target)
            b.ret(b.call(primitives.check_bound, value, Const(name), syntax=True))

    f = build(1, write)
    assert f(3) == 3
    for x, name in ((0, "p"), (-1, "q")):
        with pytest.raises(UnboundLocalError, match=f"variable '{name}'"):
            f(x)


def test_unbound_locals_have_empty_slots():
    def f(n):
        for i in range(n):
            if i:
                last = i
        return last

    g = again(f)
    assert g(3) == 2
    assert not any(c is primitives.check_bound for c in g.__code__.co_consts)
    with pytest.raises(UnboundLocalError, match="variable 'last'"):
        g(1)


def test_results_that_nothing_uses():
    log = []

    def write(b, x):
        b.call(log.append, x)
        b.call(operator.add, x, Const(1), syntax=True)
        b.op(primitives.unpack, [x, Const(2)], [Value(), Value()], syntax=True)
        return Const(None)

    class Pair(tuple):
        def __add__(self, other):
            log.append("added")

    assert build(1, write)(Pair((1, 2))) is None and log == [(1, 2), "added"]


def test_the_result_of_a_store_is_none():
    def write(b, d):
        none = b.call(operator.setitem, d, Const("k"), Const(1), syntax=True)
        return b.call(primitives.build_tuple, none, d, syntax=True)

    assert build(1, write)({}) == (None, {"k": 1})


def test_a_jump_to_the_loop_around_where_a_loop_is_exhausted():
    def f(rows):
        total = 0
        for row in rows:
            for x in row:
                total += x
        return total

    assert again(f)([[1, 2], [], [3]]) == 6


def test_a_generator_is_closed_after_the_return_value_is_made():
    log = []

    def items():
        try:
            yield 1
        finally:
            log.append("closed")

    def f():
        for x in items():
            return log.append("made")

    again(f)()
    assert log == ["made", "closed"]


def test_far_jumps():
    body = "\n".join(f"        x = x + {i} * y.real + {i}" for i in range(300))
    scope = {}
    exec(f"def f(x, y):\n    for i in range(3):\n{body}\n        if x < 0: break\n    return x\n", scope)
    assert again(scope["f"])(1, 2) == scope["f"](1, 2)


def test_deep_expressions_need_no_recursion():
    def write(b, x):
        left = right = x
        for _ in range(3 * sys.getrecursionlimit()):
            left = b.call(operator.add, left, Const(1), syntax=True)
        for _ in range(20):
            right = b.call(operator.add, Const(1), right, syntax=True)
        return b.call(operator.sub, left, right, syntax=True)

    assert build(1, write)(0) == 3 * sys.getrecursionlimit() - 20


def test_an_endless_loop_and_one_block_that_is_its_own_loop():
    def f(it):
        while True:
            next(it)

    with pytest.raises(StopIteration):
        again(f)(iter([1, 2, 3]))


def test_entry_is_a_loop():
    graph = Graph("f", Signature(("n",), 1))
    b = Builder(graph)
    done = b.new_block()
    less = b.call(operator.sub, graph.params[0], Const(1), syntax=True)
    cond = b.call(operator.gt, less, Const(0), syntax=True)
    step = b.new_block()
    b.branch(cond, step, done)
    step.terminator = Jump(Edge(graph.entry, [less]))
    b.enter(done)
    b.ret(less)
    assert make_function(graph)(5) == 0


def test_what_a_choice_gives_stays_on_the_stack():
    def f(x, y):
        return y + (x.real if x else 1 if y else 2)

    g = again(f)
    assert [g(*a) for a in ((0, 0), (0, 1), (1, 0))] == [f(*a) for a in ((0, 0), (0, 1), (1, 0))]
    assert not any("STORE_FAST" in n for n in names(g))


def test_a_new_name():
    graph = lift(raises_late)
    code = emit(graph, name="a.b", filename="<there>", line=7)
    assert (code.co_name, code.co_qualname) == ("b", "a.b")
    assert (code.co_filename, code.co_firstlineno) == ("<there>", 7)
