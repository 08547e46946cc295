"""TraceContext: the tree of calls, exactly, in all the ways in which calls end."""

import asyncio
import gc
import json
import math
import sys
import threading
import time
import weakref
from argparse import ArgumentParser

import numpy as np
import pytest

from ctxdispatch import ADContext, Context, Dual, DualContext, grad, overdub, recurse
from ctxdispatch.contexts import TraceContext
from ctxdispatch_contexts.tracing import Node, Tree
from ctxdispatch_contexts.tracing.tree import name_of


def traced(f, *args, **options):
    ctx = TraceContext(**options)
    out = overdub(ctx, f, *args)
    return out, ctx.tree


def lines(tree):
    return [line.replace(f"{__name__}.", "") for line in tree.text(times=False).splitlines()]


def leaf(x, scale=1):
    if x < 0:
        raise ValueError(x)
    return math.sqrt(x) * scale


def branch(x):
    return leaf(x) + leaf(x, scale=2)


def root(x):
    return branch(x) + leaf(x)


def careful(xs):
    out = []
    for x in xs:
        try:
            out.append(leaf(x))
        except ValueError:
            out.append(abs(x))
    return out


# -- trees -----------------------------------------------------------------------------------------


def test_the_tree_of_nested_calls_with_arguments_and_results():
    out, tree = traced(root, 4.0, arguments=True)
    assert out == root(4.0)
    assert lines(tree) == [
        "branch(4.0) -> 6.0",
        "  leaf(4.0) -> 2.0",
        "    math.sqrt(4.0) -> 2.0",
        "  leaf(4.0, scale=2) -> 4.0",
        "    math.sqrt(4.0) -> 2.0",
        "leaf(4.0) -> 2.0",
        "  math.sqrt(4.0) -> 2.0",
    ]


def test_the_same_tree_by_rules():
    class ByRules(Context):
        children: list

    for f in (branch, leaf, math.sqrt):

        @ByRules.rule(f)
        def _(ctx, *args, f=f, **kwargs):
            below = ctx.replace(children=[])
            out = recurse(below, f, *args, **kwargs)
            ctx.children.append((name_of(f), below.children))
            return out

    def plain(node):
        return node.name, [plain(child) for child in node.children]

    ctx = ByRules([])
    overdub(ctx, root, 4.0)
    _, tree = traced(root, 4.0)
    assert [plain(child) for child in tree.roots[0].children] == ctx.children


def test_calls_that_exceptions_left():
    out, tree = traced(careful, [4.0, -1.0, 9.0])
    assert out == [2.0, 1.0, 3.0]
    assert lines(tree) == [
        "leaf", "  math.sqrt", "list.append", "leaf raised", "  ValueError", "abs", "list.append",
        "leaf", "  math.sqrt", "list.append",
    ]  # fmt: skip


def test_an_exception_through_several_frames_and_out_of_the_run():
    ctx = TraceContext()
    with pytest.raises(ValueError):
        overdub(ctx, root, -1.0)
    assert lines(ctx.tree) == ["branch raised", "  leaf raised", "    ValueError"]

    def again():
        try:
            root(-1.0)
        except ValueError:
            return leaf(4.0)

    _, tree = traced(again)
    assert lines(tree) == [
        "root raised", "  branch raised", "    leaf raised", "      ValueError", "leaf", "  math.sqrt",
    ]  # fmt: skip


def test_recursion_and_generators():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def numbers(n):
        for k in range(n):
            yield leaf(k)

    _, tree = traced(lambda: fib(3))
    assert [depth for depth, _ in tree.nodes()] == [0, 1, 2, 2, 1]
    out, tree = traced(lambda: sum(numbers(2)))
    assert out == 1.0
    names = [line.rpartition(".")[2] if "locals" in line else line for line in lines(tree)]
    assert names == ["numbers", "sum", "  range", "  leaf", "    math.sqrt", "  leaf", "    math.sqrt"]


def test_interleaved_generators_keep_their_calls_apart():
    def numbers(n):
        for k in range(n):
            yield leaf(k)

    def program():
        a, b = numbers(2), numbers(3)
        return next(a) + next(b) + next(a) + next(b)

    _, tree = traced(program)
    assert [line for line in lines(tree) if line.strip() == "leaf"] == 4 * ["  leaf"]
    assert not any(node.raised for _, node in tree.nodes())


def test_callbacks_of_c_code_are_within_the_call():
    out, tree = traced(lambda: sorted([9.0, 4.0], key=leaf))
    assert out == [4.0, 9.0]
    assert lines(tree) == ["sorted", "  leaf", "    math.sqrt", "  leaf", "    math.sqrt"]


def test_each_thread_has_a_root():
    def program():
        threads = [threading.Thread(target=leaf, args=(4.0,), name=f"worker {k}") for k in range(3)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    _, tree = traced(program, include=("*.leaf",))
    calls = {root.name: len(root.children) for root in tree.roots}
    assert calls == {"MainThread": 0, "worker 0": 1, "worker 1": 1, "worker 2": 1}


def test_coroutines():
    async def wait(x):
        await asyncio.sleep(0)
        return leaf(x)

    async def both():
        return await asyncio.gather(wait(4.0), wait(9.0))

    out, tree = traced(lambda: asyncio.run(both()), include=("*.leaf", "math.sqrt"))
    assert out == [2.0, 3.0] and lines(tree) == ["leaf", "  math.sqrt", "leaf", "  math.sqrt"]


# -- times, sites, options -------------------------------------------------------------------------


def test_times_add_up():
    def slow():
        time.sleep(0.02)
        return leaf(4.0)

    _, tree = traced(lambda: [slow(), slow()])
    first, second = tree.roots[0].children
    assert first.total >= 20_000_000 and first.children[0].total >= 20_000_000
    assert 0 <= first.own <= first.total - first.children[0].total
    rows = {name: (calls, own, total) for name, calls, own, total in tree.summary()}
    assert rows["time.sleep"][0] == 2 and rows["time.sleep"][1] >= 40_000_000
    for root in tree.roots:
        for _, node in root.walk():
            assert node is root or node.total >= sum(child.total for child in node.children)


def test_sites_are_the_places_of_the_calls():
    _, tree = traced(root, 4.0)
    line = root.__code__.co_firstlineno + 1
    assert [child.site for child in tree.roots[0].children] == 2 * [f"{__file__}:{line}"]
    _, tree = traced(root, 4.0, sites=False)
    assert {node.site for _, node in tree.nodes()} == {""}


def test_depth_include_and_exclude():
    assert lines(traced(root, 4.0, depth=1)[1]) == ["branch", "leaf"]
    assert lines(traced(root, 4.0, include=("math.*",))[1]) == 3 * ["math.sqrt"]
    assert lines(traced(root, 4.0, exclude=("*.branch", "math.*"))[1]) == 3 * ["leaf"]


def test_merged_and_without_short_calls():
    _, tree = traced(root, 4.0, arguments=True)
    assert lines(tree.merged()) == [
        "branch(4.0) -> 6.0", "  leaf x 2", "    math.sqrt x 2", "leaf(4.0) -> 2.0",
        "  math.sqrt(4.0) -> 2.0",
    ]  # fmt: skip
    assert tree.without_short(10**12).text() == "" and tree.without_short(0) is tree


def test_json_and_back():
    _, tree = traced(careful, [4.0, -1.0], arguments=True)
    again = Tree.from_json(tree.to_json())
    assert again.text() == tree.text() and again.to_json() == tree.to_json()
    assert json.loads(tree.to_json())[0]["name"] == "MainThread"


def test_deep_trees():
    deep = Node("main")
    at = deep
    for k in range(3000):
        at.children.append(Node(f"f{k}"))
        at = at.children[0]
    tree = Tree([deep])
    assert len([*tree.nodes()]) == 3000 and tree.text(times=False).count("\n") == 2999


def test_arguments_whose_repr_raises_or_is_long():
    class Odd:
        def __repr__(self):
            raise RuntimeError

    _, tree = traced(lambda: (id(Odd()), len("x" * 500)), arguments=True)
    text = tree.text(times=False)
    assert "<Odd, whose repr raises RuntimeError>" in text and max(map(len, text.splitlines())) < 150


def test_frames_are_let_go():
    class Big:
        pass

    def holds(x):
        big = Big()
        seen.append(weakref.ref(big))
        return leaf(x)

    seen = []
    ctx = TraceContext()
    overdub(ctx, lambda: holds(4.0))
    with pytest.raises(ValueError):
        overdub(ctx, lambda: holds(-1.0))
    assert ctx.tree.text()
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_from_a_command_line(tmp_path):
    parser = ArgumentParser()
    TraceContext.add_options(parser)
    for name, start in (("text", "branch"), ("json", "["), ("html", "<!doctype html>")):
        options = parser.parse_args(["--format", name, "--depth", "2", "--merge", "--exclude", "math.*"])
        ctx = TraceContext.from_options(options)
        overdub(ctx, root, 4.0)
        assert ctx.report(options).replace(f"{__name__}.", "").startswith(start)
    path = tmp_path / "tree.json"
    options = parser.parse_args(["--format", "json", "--output", str(path), "--min-time", "1000"])
    ctx = TraceContext.from_options(options)
    overdub(ctx, root, 4.0)
    assert ctx.report(options) == f"the call tree is in {path}" and json.loads(path.read_text()) != []


# -- stacks, real programs -------------------------------------------------------------------------


def test_over_forward_mode_over_reverse_mode():
    def f(x):
        return math.sin(x) * x

    ctx = TraceContext()
    out = overdub(ctx, overdub, DualContext(), grad(f), Dual(1.0, 1.0))
    assert out.value == grad(f)(1.0) and out.partials == pytest.approx(2 * math.cos(1.0) - math.sin(1.0))
    assert {"math.sin", "math.cos"} <= {node.name for _, node in ctx.tree.nodes()}
    ctx = TraceContext()
    y, pullback = overdub(ctx, overdub, ADContext(), f, 1.0)
    assert y == f(1.0) and "math.sin" in ctx.tree.text()


def test_within_and_around_other_contexts():
    class Rooted(Context):
        pass

    @Rooted.rule(math.sqrt)
    def _(ctx, x):
        return 3.0

    inner, outer = TraceContext(), TraceContext()
    assert overdub(Rooted(), overdub, inner, root, 4.0) == 12.0
    assert overdub(outer, overdub, Rooted(), root, 4.0) == 12.0
    assert lines(inner.tree) == lines(traced(root, 4.0)[1]) and lines(outer.tree)[0] == "branch"
    both = TraceContext(), TraceContext()
    assert overdub(both[0], overdub, both[1], root, 4.0) == root(4.0)
    assert lines(both[0].tree) == lines(both[1].tree) == lines(traced(root, 4.0)[1])


@pytest.mark.parametrize("name", ["json", "difflib", "ast", "numpy"])
def test_real_programs_do_what_they_do(name):
    import ast
    import difflib

    text = open(json.__file__, encoding="utf-8").read()
    programs = {
        "json": lambda: json.dumps(json.loads('{"a": [1, 2.5, {"b": null}]}'), indent=2),
        "difflib": lambda: [*difflib.unified_diff(text.splitlines()[:60], text.splitlines()[3:50])],
        "ast": lambda: ast.unparse(ast.parse(text)),
        "numpy": lambda: np.polyfit(np.arange(5.0), np.arange(5.0) ** 2, 2).round(6).tolist(),
    }
    out, tree = traced(programs[name])
    assert out == programs[name]() and len([*tree.nodes()]) > 3


def test_a_whole_minimisation():
    optimize = pytest.importorskip("scipy.optimize")
    start = np.array([1.3, 0.7])
    out, tree = traced(lambda: optimize.minimize(optimize.rosen, start, method="BFGS"))
    plain = optimize.minimize(optimize.rosen, start, method="BFGS")
    assert np.array_equal(out.x, plain.x) and out.nfev == plain.nfev
    assert any("rosen" in node.name for _, node in tree.nodes()) and sys.getrecursionlimit() > 0
