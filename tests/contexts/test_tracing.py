"""TraceContext: trees against programs whose calls are known, against a tracer made of rules, and over real
programs, whose results must be those of plain runs."""

import ast
import asyncio
import contextlib
import difflib
import functools
import gc
import io
import json
import json.tool
import math
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ctxdispatch
import ctxdispatch_contexts
from ctxdispatch import Context, Dual, DualContext, grad, overdub, recurse
from ctxdispatch.contexts import TraceContext
from ctxdispatch_contexts.tracing import Node, Tree
from ctxdispatch_contexts.tracing import context as tracing_context
from ctxdispatch_contexts.tracing import recording as tracing_recording
from ctxdispatch_contexts.tracing.naming import LONGEST, full_name, parts, short, shown

HERE = __name__ + "."


def traced(f, *args, cls=TraceContext, **options):
    ctx = cls(**options)
    out = overdub(ctx, f, *args)
    return out, ctx.tree


def drawn(tree, **options):
    """Its text without times and without this module's name."""
    return tree.text(times=False, **options).replace(HERE, "")


def check(tree, expected, **options):
    assert drawn(tree, **options) == textwrap.dedent(expected).strip("\n")


# -- functions -------------------------------------------------------------------------------------


def leaf(x, *, offset=0):
    return x + offset


def twice(x, f=leaf):
    return f(x) + f(x, offset=1)


def nested(x):
    y = twice(x)
    return twice(x=y, f=abs_of)


def abs_of(x, **options):
    return abs(x)


def test_calls_with_arguments_and_results():
    out, tree = traced(nested, 2, arguments=True)
    assert out == nested(2) == 10
    check(tree, """
        nested(2) -> 10
          twice(2) -> 5
            leaf(2) -> 2
            leaf(2, offset=1) -> 3
          twice(x=5, f=<function abs_of at ...>) -> 10
            abs_of(5) -> 5
              abs(5) -> 5
            abs_of(5, offset=1) -> 5
              abs(5) -> 5
        """.replace("<function abs_of at ...>", short(abs_of)))  # fmt: skip


def test_sites_are_the_lines_of_the_calls():
    _, tree = traced(nested, 2)
    first = nested.__code__.co_firstlineno
    (root,) = tree.roots[0].children
    assert [node.site for node in root.children] == [f"{__file__}:{first + 1}", f"{__file__}:{first + 2}"]
    called = traced.__code__.co_firstlineno + 2
    assert root.site == f"{__file__}:{called}"
    assert tree.text(times=False, sites=True).splitlines()[0] == f"{HERE}nested  [{root.site}]"


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def test_recursion():
    out, tree = traced(fib, 4, arguments=True)
    calls = [(node.name, node.arguments, node.result) for node in tree]
    assert out == 3 and len(calls) == 9
    assert calls[:4] == [(HERE + "fib", f"({n})", f"{fib(n)}") for n in (4, 3, 2, 1)]
    assert [len(node.children) for node in tree] == [2, 2, 2, 0, 0, 0, 2, 0, 0]


class Model:
    def __init__(self, *weights, bias=0):
        self.weights, self.bias = weights, bias

    def __call__(self, x):
        return self.scale(x, by=2) + self.bias

    def scale(self, x, by):
        return leaf(sum(w * x for w in self.weights)) * by

    @classmethod
    def of(cls, n):
        return cls(*range(n), bias=1)

    @property
    def size(self):
        return leaf(len(self.weights))


def with_classes(n):
    model = Model.of(n)
    return functools.partial(model, 3)() + max([1, 2], key=leaf)


def test_classes_methods_partials_and_callbacks():
    out, tree = traced(with_classes, 3)
    assert out == with_classes(3)
    check(tree, """
        with_classes
          Model.of
            range
            Model
          functools.partial
          Model.__call__
            Model.scale
              Model.scale.<locals>.<genexpr>
              sum
              leaf
          max
            leaf
            leaf
        """)  # fmt: skip


# -- the same by rules -----------------------------------------------------------------------------


def by_rules(f, *args):
    """The tree that rules for this module's functions give: each runs what it replaces under a context that
    has another list for children."""

    class ByRules(Context):
        children: list

    def trace(function):
        @ByRules.rule(function)
        def rule(ctx, *args, **kwargs):
            children = []
            ctx.children.append((parts(function)[1], shown(args, kwargs), children))
            return recurse(ctx.replace(children=children), function, *args, **kwargs)

    for function in (leaf, twice, nested, abs_of, fib, mixed, apply, Model.scale, abs, len, divmod):
        trace(function)
    root = []
    return overdub(ByRules(root), f, *args), root


def by_hooks(f, *args):
    names = [HERE + n for n in ("leaf", "twice", "nested", "abs_of", "fib", "mixed", "apply", "Model.scale")]
    out, tree = traced(f, *args, arguments=True, include=(*names, "abs", "len", "divmod"))
    return out, tree.roots[0].children


def compared(node):
    return node.name.removeprefix(HERE), node.arguments, [*map(compared, node.children)]


def apply(f, *args, **kwargs):
    return f(*args, **kwargs)


def mixed(n):
    total, options = 0, {"offset": 3}
    for k in range(n):
        total += apply(leaf, k, **options) if k % 2 else apply(twice, x=k)
        try:
            total += apply(divmod, n, k)[0]
        except ZeroDivisionError:
            total += fib(k)
    return total + len([*map(leaf, sorted([3, 1, 2], key=abs))])


@pytest.mark.parametrize("f, args", [(nested, (2,)), (fib, (6,)), (mixed, (4,)), (apply, (twice, 5, leaf))])
def test_hooks_and_rules_give_the_same_tree(f, args):
    out, tree = by_hooks(f, *args)
    other, expected = by_rules(f, *args)
    assert out == other == f(*args)
    assert [*map(compared, tree)] == expected


# -- exceptions ------------------------------------------------------------------------------------


def fails(x):
    leaf(x)
    raise ValueError(x)


def passes_on(x):
    fails(x)


def recovers(x):
    for k in range(2):
        try:
            passes_on(x)
        except ValueError:
            pass
    leaf(1)
    with contextlib.suppress(ValueError):
        fails(2)
    return leaf(2)


def test_what_exceptions_leave_is_closed():
    _, tree = traced(recovers, 1, exclude=("contextlib.*",))
    check(tree, """
        recovers
          range
          passes_on raised
            fails raised
              leaf
              ValueError
          passes_on raised
            fails raised
              leaf
              ValueError
          leaf
          fails raised
            leaf
            ValueError
          issubclass
          leaf
        """)  # fmt: skip


def test_an_exception_that_nobody_catches():
    ctx = TraceContext()
    for _ in range(2):
        with pytest.raises(ValueError):
            overdub(ctx, passes_on, 1)
    overdub(ctx, leaf, 1)
    check(ctx.tree, """
        passes_on raised
          fails raised
            leaf
            ValueError
        passes_on raised
          fails raised
            leaf
            ValueError
        leaf
        """)  # fmt: skip


def silent():
    try:
        [fails(x) for x in (1,)]
    except ValueError:
        pass


def goes_on():
    silent()
    return leaf(1)


def test_a_function_that_recovers_without_another_call():
    _, tree = traced(goes_on)
    check(tree, """
        goes_on
          silent
            fails raised
              leaf
              ValueError
          leaf
        """)  # fmt: skip


def keyed(x):
    if x == 2:
        raise KeyError(x)
    return leaf(x)


def through_c():
    try:
        sorted([1, 2, 3], key=keyed)
    except KeyError:
        return leaf(0)


def test_an_exception_through_c_code():
    _, tree = traced(through_c)
    check(tree, """
        through_c
          sorted raised
            keyed
              leaf
            keyed raised
              KeyError
          leaf
        """)  # fmt: skip


class Local:
    pass


@pytest.mark.parametrize("merge", [False, True])
def test_frames_and_what_is_in_them_are_let_go(merge):
    seen = []

    def holds(fail):
        local = Local()
        seen.append(weakref.ref(local))
        if fail:
            fails(1)

    def pieces():
        local = Local()
        seen.append(weakref.ref(local))
        yield leaf(1)
        yield leaf(2)

    def program():
        holds(False)
        assert seen[-1]() is None
        with contextlib.suppress(ValueError):
            holds(True)
        leaf(1)
        gc.collect()
        assert seen[-1]() is None
        next(pieces())
        leaf(1)
        assert seen[-1]() is None
        holds(True)

    ctx = TraceContext(merge=merge)
    with pytest.raises(ValueError):
        overdub(ctx, program)
    gc.collect()
    assert len(seen) == 4 and [ref() for ref in seen] == [None] * 4
    assert len(ctx.threads[0]) == 1


# -- generators and coroutines ---------------------------------------------------------------------


def numbers(n):
    for k in range(n):
        yield leaf(k)


def walks(n):
    yield from numbers(n)
    yield leaf(-1)


def consumes():
    for x in numbers(2):
        abs(x)
    total = sum(numbers(2))
    a, b = numbers(1), walks(1)
    next(a)
    next(b)
    return [total, *b, next(a, None)]


def test_generators_are_where_they_are_resumed():
    out, tree = traced(consumes)
    assert out == [1, -1, None]
    check(tree, """
        consumes
          numbers
          numbers (resumed)
            range
            leaf
          abs
          numbers (resumed)
            leaf
          abs
          numbers
          sum
            numbers (resumed)
              range
              leaf
              leaf
          numbers
          walks
          next
            numbers (resumed)
              range
              leaf
          next
            walks (resumed)
              numbers
              numbers (resumed)
                range
                leaf
          walks (resumed)
            leaf
          next
        """)  # fmt: skip


def broken(n):
    yield leaf(n)
    fails(n)


def of_broken():
    try:
        for x in broken(1):
            pass
    except ValueError:
        return leaf(3)


def test_an_exception_out_of_a_generator():
    _, tree = traced(of_broken)
    check(tree, """
        of_broken
          broken
          broken (resumed)
            leaf
            fails raised
              leaf
              ValueError
          leaf
        """)  # fmt: skip


async def waits(k):
    leaf(k)
    await asyncio.sleep(0)
    return leaf(k)


async def outer(k):
    return await waits(k) + leaf(10)


async def both():
    out = await asyncio.gather(outer(1), outer(2))
    return sum(out)


def test_coroutines_lie_within_those_that_wait_for_them():
    names = ("waits", "outer", "both", "leaf")
    out, tree = traced(lambda: asyncio.run(both()), include=tuple(HERE + name for name in names))
    assert out == 23
    check(tree, """
        both
        both (resumed)
          outer
          outer
        outer (resumed)
          waits
          waits (resumed)
            leaf
        outer (resumed)
          waits
          waits (resumed)
            leaf
        outer (resumed)
          waits (resumed)
            leaf
          leaf
        outer (resumed)
          waits (resumed)
            leaf
          leaf
        """)  # fmt: skip


# -- threads ---------------------------------------------------------------------------------------


def in_threads(n):
    threads = [threading.Thread(target=twice, args=(k,), name=f"worker {k}") for k in range(n)]
    for thread in threads:
        thread.start()
        thread.join()
    return leaf(n)


def test_each_thread_has_a_root_of_its_own():
    _, tree = traced(in_threads, 2, include=(HERE + "*",))
    check(tree, """
        [MainThread]
          in_threads
            leaf
        [worker 0]
          twice
            leaf
            leaf
        [worker 1]
          twice
            leaf
            leaf
        """)  # fmt: skip


def in_a_pool(n):
    barrier = threading.Barrier(n)

    def work(k):
        barrier.wait()
        return [fib(k) for _ in range(20)]

    with ThreadPoolExecutor(n) as pool:
        return [*pool.map(work, range(n))]


def test_threads_at_the_same_time_do_not_mix():
    out, tree = traced(in_a_pool, 4, arguments=True, include=(HERE + "*",))
    assert out == [[fib(k)] * 20 for k in range(4)]
    found = {root.children[0].arguments: root for root in tree.roots if root.name != "MainThread"}
    assert sorted(found) == ["(0)", "(1)", "(2)", "(3)"]
    for k in range(4):
        (work,) = found[f"({k})"].children
        assert [node.arguments for node in work.children] == [f"({k})"] * 20
        assert sum(1 for _ in work.children[0].children) == (2 if k > 1 else 0)


def test_a_thread_that_an_exception_ends_holds_nothing():
    seen = []

    def holds():
        local = Local()
        seen.append(weakref.ref(local))
        fails(1)

    def program():
        import _thread

        done = _thread.allocate_lock()
        done.acquire()

        def run():
            try:
                holds()
            finally:
                done.release()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "unraisablehook", lambda *args: None)
            _thread.start_new_thread(run, ())
            done.acquire()

    _, tree = traced(program, include=(HERE + "*",))
    for _ in range(200):  # the thread may be about to end
        gc.collect()
        if seen[0]() is None:
            break
        threading.Event().wait(0.01)
    assert seen[0]() is None


# -- times -----------------------------------------------------------------------------------------


class Clock:
    """Time passes only where a program says so."""

    now = 10**9

    def __call__(self):
        return self.now


CLOCK = Clock()


def take(ms):
    CLOCK.now += round(ms * 1e6)


def brief(x):
    take(1)
    return leaf(x)


def long(x):
    take(5)
    brief(x)
    take(0.5)
    return brief(x)


def again(n):
    take(2)
    return again(n - 1) if n else long(0)


def takes_time():
    take(3)
    long(1)
    try:
        take(1)
        fails(1)
    except ValueError:
        take(2)
    return again(1)


@pytest.fixture
def clock(monkeypatch):
    for module in (tracing_context, tracing_recording):
        monkeypatch.setattr(module, "perf_counter_ns", CLOCK)


NO_TAKE = {"include": (HERE + "*",), "exclude": (HERE + "take", HERE + "leaf")}


def test_total_and_own_times(clock):
    _, tree = traced(takes_time, **NO_TAKE)
    assert "\n" + tree.text().replace(HERE, "") + "\n" == """
        total          own
    25.000 ms     6.000 ms  takes_time
     7.500 ms     5.500 ms    long
     1.000 ms     1.000 ms      brief
     1.000 ms     1.000 ms      brief
     0.000 ms     0.000 ms    fails raised
    11.500 ms     2.000 ms    again
     9.500 ms     2.000 ms      again
     7.500 ms     5.500 ms        long
     1.000 ms     1.000 ms          brief
     1.000 ms     1.000 ms          brief
"""
    assert [node.start for node in tree.find(HERE + "long")] == [3_000_000, 17_500_000]
    assert [(name.removeprefix(HERE), *row) for name, *row in tree.summary()] == [
        ("long", 2, 11_000_000, 15_000_000), ("takes_time", 1, 6_000_000, 25_000_000),
        ("again", 2, 4_000_000, 11_500_000), ("brief", 4, 4_000_000, 4_000_000),
        ("fails", 1, 0, 0),
    ]  # fmt: skip


MERGED = """
    takes_time
      long
        brief x 2
      fails raised
      again
        again
          long
            brief x 2
"""


def test_equal_calls_are_added_up_while_they_are_recorded_and_afterwards(clock):
    _, tree = traced(takes_time, **NO_TAKE)
    _, merged = traced(takes_time, merge=True, **NO_TAKE)
    check(merged, MERGED)
    assert merged == tree.merged() == tree.merged().merged()
    assert [node.total for node in merged.find(HERE + "brief")] == [2_000_000] * 2


def test_short_calls_are_left_out_while_they_are_recorded_and_afterwards(clock):
    _, tree = traced(takes_time, **NO_TAKE)
    _, without = traced(takes_time, min_ms=1.5, **NO_TAKE)
    assert without == tree.without_short(1.5)
    assert len(tree) == 10 and len(without) == 5
    assert [node.own for node in without.find(HERE + "long")] == [7_500_000] * 2
    _, merged = traced(takes_time, min_ms=1.5, merge=True, **NO_TAKE)
    assert merged == tree.merged().without_short(1.5)
    assert [node.calls for node in merged.find(HERE + "brief")] == [2, 2]


def test_times_of_pieces_span_their_calls(clock):
    def waiting():
        take(1)
        brief(1)
        take(2)
        brief(2)
        take(4)
        yield 1

    def program():
        for x in waiting():
            take(8)

    _, tree = traced(program, include=("*.program", "*.waiting", "*.brief"))
    made, piece = tree.roots[0].children[0].children
    assert (made.resumed, piece.resumed) == (False, True)
    assert (piece.total, piece.own, [n.total for n in piece.children]) == (9_000_000, 7_000_000, [10**6] * 2)


def test_children_never_take_longer_than_their_caller():
    _, tree = traced(lambda: [mixed(3), recovers(1), consumes()])
    for node in tree:
        assert sum(child.total for child in node.children) <= node.total
        assert 0 <= node.own <= node.total and node.start >= 0


# -- what is recorded ------------------------------------------------------------------------------


def test_depth():
    _, tree = traced(nested, 1, depth=2)
    check(tree, """
        nested
          twice
          twice
        """)  # fmt: skip
    _, tree = traced(nested, 1, depth=2, exclude=(HERE + "twice",))
    check(tree, """
        nested
          leaf
          leaf
          abs_of
          abs_of
        """)  # fmt: skip
    _, tree = traced(consumes, depth=2)
    assert {len(node.children) for node in tree.roots[0].children[0].children} == {0}


def test_include_and_exclude():
    _, tree = traced(nested, 1, include=(HERE + "twice", "abs*"))
    check(tree, """
        twice
        twice
          abs
          abs
        """)  # fmt: skip
    _, tree = traced(nested, 1, include=("*s*",), exclude=("*abs",))
    check(tree, """
        nested
          twice
            leaf
            leaf
          twice
            abs_of
            abs_of
        """)  # fmt: skip


def test_operators_by_a_class_of_their_kinds():
    cls = TraceContext.of_kinds("call", "operator")
    assert cls is TraceContext.of_kinds("call", "operator") and issubclass(cls, TraceContext)
    out, tree = traced(twice, 2, cls=cls, arguments=True)
    check(tree, """
        twice(2) -> 5
          leaf(2) -> 2
            operator.add(2, 0) -> 2
          leaf(2, offset=1) -> 3
            operator.add(2, 1) -> 3
          operator.add(2, 3) -> 5
        """)  # fmt: skip
    cls = TraceContext.of_kinds("call", "attribute")
    out, tree = traced(lambda: Model(1).size, cls=cls, exclude=("?etattr",))
    assert [node.name.removeprefix(HERE) for node in tree][1:] == ["Model", "len", "leaf"]
    with pytest.raises(ValueError, match="the kinds are call, operator.*not opreator"):
        TraceContext.of_kinds("opreator")
    with pytest.raises(ValueError, match="not none"):
        TraceContext.of_kinds()


@pytest.mark.parametrize("options", [{"depth": 0}, {"depth": -1}, {"min_ms": -0.5}])
def test_options_that_make_no_sense(options):
    with pytest.raises(ValueError, match=f"{[*options][0]} is . or more, not -?[01]"):
        TraceContext(**options)


def test_runs_add_up_and_the_tree_of_a_running_program_has_its_open_calls():
    ctx = TraceContext()
    trees = []

    def look(x, **options):
        trees.append(ctx.tree)
        return leaf(x)

    overdub(ctx, twice, 1, look)
    names = [node.name.rpartition(".")[2] for node in trees[0]]
    assert names == ["twice", "look"] and trees[0].roots[0].total > 0
    overdub(ctx, leaf, 1)
    assert [node.name for node in ctx.tree.roots[0].children] == [HERE + "twice", HERE + "leaf"]
    assert len(trees[1]) == 5 and len(ctx.tree) == 8


# -- names and arguments ---------------------------------------------------------------------------


class Watched:
    """Objects whose attributes nobody may ask for."""

    def __getattribute__(self, name):
        raise AssertionError(name)

    def __call__(self, x):
        return leaf(x)

    def __repr__(self):
        raise RuntimeError("not now")


class Meta(type):
    def __getattribute__(cls, name):
        if name in ("__qualname__", "__module__", "__name__"):
            raise AssertionError("asked")
        return super().__getattribute__(name)


class Odd(metaclass=Meta):
    pass


def test_names_and_arguments_run_no_code_of_the_programs_but_repr():
    ctx = TraceContext(arguments=True)
    with pytest.raises(TypeError):
        overdub(ctx, lambda x: Watched()(x), Watched())
    names = [(node.name.removeprefix(HERE), node.arguments) for node in ctx.tree][1:]
    assert names == [("Watched", "()"), ("Watched.__call__", "(<Watched>)"), ("leaf", "(<Watched>)")]
    _, tree = traced(lambda: Odd())
    assert parts(Odd) == (__name__, "Odd") and len(tree.find(HERE + "Odd")) == 1


@pytest.mark.parametrize(
    "f, name",
    [
        (math.sin, "math.sin"), (np.sin, "numpy.sin"), (np.sum, "numpy.sum"), (len, "len"),
        ([].append, "list.append"), (str.join, "str.join"), ("".join, "str.join"), (int, "int"),
        (json.JSONEncoder, "json.encoder.JSONEncoder"), (dict.fromkeys, "dict.fromkeys"),
        (json.JSONEncoder().encode, "json.encoder.JSONEncoder.encode"),
        (object.__init__, "object.__init__"), (object().__hash__, "object.__hash__"),
        (functools.partial(leaf, 1), HERE + "leaf"), (functools.lru_cache(leaf), HERE + "leaf"),
        (Model.of, HERE + "Model.of"), (Model(), HERE + "Model.__call__"),
        (np.random.default_rng(0).normal, "numpy.random._generator.Generator.normal"),
    ],
)  # fmt: skip
def test_names(f, name):
    assert full_name(*parts(f)) == name


class Bad:
    def __repr__(self):
        raise RecursionError("too deep")


def test_arguments_are_short_whatever_they_are():
    cyclic = []
    cyclic.append(cyclic)
    huge = [
        10**6 * "x", [*range(10**6)], {k: k for k in range(10**5)}, np.ones((1000, 1000)), 10**6000, cyclic,
        Bad(), [Bad()], {1: Bad()}, np.array([Bad(), 1], dtype=object), "a\nb", b"x" * 1000,
        [[[[[[[[1]]]]]]]],
    ]  # fmt: skip
    for value in huge:
        text = short(value)
        assert 0 < len(text) <= LONGEST and "\n" not in text
    assert short(np.ones(3)) == "array([1., 1., 1.])"
    assert short(np.ones((100, 2))) == "<ndarray float64 (100, 2)>"
    assert short([1, Bad()]) == "[1, <Bad>]" and short("it's") == '"it\'s"'
    out, tree = traced(lambda: dict(a=leaf(1), **{f"k{k}": k for k in range(50)}), arguments=True)
    text = tree.find("dict")[0].arguments
    assert text.startswith("(a=1, k0=0") and text.endswith(", ...)") and len(text) < 100


# -- forms -----------------------------------------------------------------------------------------


def everything():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(nested, 3).result()
    return [mixed(3), recovers(1), consumes()]


def test_json_there_and_back():
    _, tree = traced(everything, arguments=True)
    text = tree.to_json()
    other = Tree.from_json(text)
    assert other == tree and other.to_json() == text and other.text(sites=True) == tree.text(sites=True)
    assert len(other.roots) == 2 and other.summary() == tree.summary()
    other.find(HERE + "leaf")[0].raised += 1
    assert other != tree
    threads = json.loads(text)["threads"]
    assert threads[0]["thread"] == "MainThread" and threads[0]["nodes"][0]["parent"] == -1


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "ctxdispatch call tree 0"}', "nothing"])
def test_what_is_no_tree(text):
    with pytest.raises(ValueError):
        Tree.from_json(text)


def test_an_empty_tree():
    tree = TraceContext().tree
    assert (tree.text(times=False), len(tree), tree.summary()) == ("", 0, [])
    assert Tree.from_json(tree.to_json()) == tree == tree.merged() and "<!doctype" in tree.to_html()


def deep(n):
    return n and deep(n - 1)


def test_a_tree_that_is_deeper_than_the_interpreter_recurs():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        _, tree = traced(deep, 4000)
    finally:
        sys.setrecursionlimit(limit)
    assert len(tree) == 4001 and len(tree.text().splitlines()) == 4002
    assert Tree.from_json(tree.to_json()) == tree and len(tree.merged()) == 4001
    assert len(tree.without_short(0)) == 4001 and tree.summary()[0][1] == 4001
    assert len(tree.to_html()) > 4001
    ctx = TraceContext(merge=True)
    for _ in range(2):
        overdub(ctx, deep, 100)
    assert [node.calls for node in ctx.tree] == [2] * 101


def test_nodes_are_made_by_hand_too():
    g = Node("g", total=2, calls=3, raised=2)
    f = Node("f", total=5, children=[g])
    check(Tree([Node("main", children=[f])]), "f\n  g x 3 2 raised")
    assert f.own == 3 and repr(g) == "<Node g: 3 calls, 0.000 ms, 0 children>"


# -- real programs ---------------------------------------------------------------------------------


class Open(io.StringIO):
    def close(self):
        pass


def formatted():
    out = Open()
    with contextlib.redirect_stdout(out), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["json.tool", "--sort-keys", "--indent", "2"])
        patch.setattr(sys, "stdin", io.StringIO('{"b": [1, 2.5, null], "a": {"c": "\\u00e9"}}'))
        json.tool.main()
    return out.getvalue()


def compared_texts():
    a, b = MERGED, MERGED.replace("brief", "short").replace("long", "long\nline")
    ratio = difflib.SequenceMatcher(None, a, b).ratio()
    return [*difflib.unified_diff(a.splitlines(), b.splitlines())], ratio


def unparsed():
    with open(textwrap.__file__) as file:
        return ast.unparse(ast.parse(file.read()))


def minimized():
    optimize = pytest.importorskip("scipy.optimize")
    found = optimize.minimize(optimize.rosen, [1.3, 0.7, 0.8], method="BFGS", jac=optimize.rosen_der)
    return found.x.tolist(), found.nit, found.nfev


@pytest.mark.parametrize(
    "program, names",
    [
        (formatted, ["json.tool.main", "argparse.ArgumentParser.parse_args", "json.load"]),
        (compared_texts, ["difflib.unified_diff", "difflib.SequenceMatcher.find_longest_match"]),
        (unparsed, ["ast.parse", "ast.unparse", "visit_FunctionDef"]),
        (minimized, ["scipy.optimize._minimize.minimize", "scipy.optimize._optimize.rosen_der"]),
    ],
)
def test_real_programs_do_what_they_do_and_their_trees_are_whole(program, names):
    out, tree = traced(program)
    assert out == program()
    found = {node.name for node in tree} | {node.name.rpartition(".")[2] for node in tree}
    assert [name for name in names if name not in found] == []
    assert len(tree) > 100 and all(node.total >= 0 for node in tree)
    assert Tree.from_json(tree.to_json()) == tree


# -- over other contexts ---------------------------------------------------------------------------


def cube(x):
    return square(x) * x


def square(x):
    return math.pow(x, 2)


def test_over_dual_over_reverse_mode():
    def slope(x):
        return grad(cube)(x)

    plain = overdub(DualContext(), slope, Dual(2.0, 1.0))
    ctx = TraceContext()
    out = overdub(ctx, overdub, DualContext(), slope, Dual(2.0, 1.0))
    assert [*out] == [*plain] == [12.0, 12.0]
    (program,) = ctx.tree.roots[0].children
    assert program.name.endswith("slope") and any("pow" in node.name for node in ctx.tree)


def test_under_another_context():
    class Count(Context):
        names: list
        intercepts = ("call",)

        def prehook(self, f, args, kwargs):
            self.names.append(parts(f)[1])

    ctx, count = TraceContext(), Count([])
    assert overdub(count, overdub, ctx, nested, 2) == nested(2)
    check(ctx.tree, """
        twice
          leaf
          leaf
        twice
          abs_of
            abs
          abs_of
            abs
        """)  # fmt: skip
    assert [name for name in count.names if name in ("twice", "leaf", "abs_of", "abs")] == [
        node.name.removeprefix(HERE) for node in ctx.tree
    ]


def test_within_and_around_contexts_with_rules_and_each_other():
    class Ruled(Context):
        pass

    @Ruled.rule(leaf)
    def _(ctx, x, **options):
        return abs(-100)

    inner, outer = TraceContext(), TraceContext()
    assert overdub(Ruled(), overdub, inner, twice, 4) == overdub(outer, overdub, Ruled(), twice, 4) == 200
    check(inner.tree, "leaf\nleaf")
    assert [node.name for node in outer.tree.find("abs")] == ["abs", "abs"]
    both = TraceContext(), TraceContext()
    assert overdub(both[0], overdub, both[1], nested, 4) == nested(4)
    _, alone = traced(nested, 4)
    for ctx in both:
        assert drawn(ctx.tree).split() == drawn(alone).split()[-len(ctx.tree) :] and len(ctx.tree) >= 8


# -- command line ----------------------------------------------------------------------------------

SCRIPT = """
import threading

def helper(x, *, by=1):
    if x < 0:
        raise ValueError(x)
    return x * by

def main():
    try:
        helper(-1)
    except ValueError:
        pass
    return sum([helper(k, by=2) for k in range(3)])

print(main())
"""


@pytest.fixture
def run(tmp_path):
    """`run(*options)`: the finished process of the script under a trace."""
    (tmp_path / "script.py").write_text(SCRIPT)
    paths = [str(Path(package.__file__).parent.parent) for package in (ctxdispatch, ctxdispatch_contexts)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def run(*options):
        words = ["-m", "ctxdispatch", "run", "--context", "ctxdispatch_contexts.tracing:TraceContext"]
        return subprocess.run(
            [sys.executable, *words, *options, "script.py"],
            capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300,
        )  # fmt: skip

    return run


def test_a_command_line(run, tmp_path):
    done = run("--include", "main", "--include", "helper", "--exclude", "range", "--arguments")
    assert (done.stdout, done.returncode) == ("6\n", 0), done.stderr
    assert [line[28:] for line in done.stderr.splitlines()] == [
        "", "main() -> 6", "  helper(-1) raised", "  helper(0, by=2) -> 0", "  helper(1, by=2) -> 2",
        "  helper(2, by=2) -> 4",
    ]  # fmt: skip
    done = run("--format", "json", "--output", "tree.json", "--merge", "--depth", "4")
    assert done.stderr == "the call tree is in tree.json\n"
    tree = Tree.from_json((tmp_path / "tree.json").read_text())
    assert [(node.calls, node.raised) for node in tree.find("helper")] == [(4, 1)]


def test_a_command_line_that_is_wrong(run):
    for options, message in [
        (("--depth", "0"), "depth is 1 or more"),
        (("--kinds", "cal"), "the kinds are"),
        (("--output", "nowhere/tree.html"), "there is no directory 'nowhere'"),
    ]:
        done = run(*options)
        assert done.returncode == 2 and message in done.stderr and done.stdout == ""
