"""Labels in structures: deep ones, keys that are structures, objects that hold contexts; JSON of objects."""

import json

import pytest

from ctxdispatch import Context, overdub
from ctxdispatch.contexts import CountContext, TaintContext
from ctxdispatch_contexts.tainting import taints

DEPTH = 5000


class Node:
    def __init__(self, value, after):
        self.value, self.after = value, after


def chain():
    node = None
    for k in range(DEPTH):
        node = Node(k, node)
    return node


def length(node):
    count = 0
    while node is not None:
        count, node = count + 1, node.after
    return count


@pytest.mark.parametrize("granular", [False, True])
def test_chains_are_as_deep_as_they_are(granular):
    first = chain()
    assert taints(length, first, granular=granular).result == DEPTH
    ctx = TaintContext()
    assert ctx.clean(ctx.label(first, "x", granular=True)) is first and first.value == DEPTH - 1


def test_lists_within_lists_reach_a_sink_at_any_depth():
    def nest(x):
        for _ in range(DEPTH):
            x = [x]
        return len(x)

    ctx = TaintContext(sinks=[len], record=True)
    overdub(ctx, nest, ctx.label(1, "x"))
    assert [f.labels for f in ctx.findings] == [{"x"}]


def test_keys_may_be_structures():
    found = taints(lambda a, b: {(a, 2): b, frozenset({b}): 1, ((a,), 3): 2}, 1, "k").labels
    assert found == {(1, 2): {"a", "b"}, frozenset({"k"}): {"b"}, ((1,), 3): {"a", "b"}}


class Holder:
    def __init__(self, ctx):
        self.ctx, self.x = ctx, 1


@pytest.mark.parametrize("make", [CountContext, TaintContext])
def test_a_context_is_no_data(make):
    assert taints(lambda h: h.x, Holder(make()), granular=True) == (1, {"h.x"})
    ctx = TaintContext()
    held = Holder(ctx)
    assert ctx.clean(ctx.label(held, "h", granular=True)) is held and type(held.x) is int


def test_an_iterator_that_a_result_holds_is_the_program_s():
    import numpy as np

    ctx, items = TaintContext(), iter([1, 2])
    made = ctx.clean(overdub(ctx, lambda it: np.array(it, dtype=object), ctx.label(items, "x")))
    assert made[()] is items


# -- json ------------------------------------------------------------------------------------------


def as_list(point):
    return [point.value, len(str(point.after))]


class Encoder(json.JSONEncoder):
    def default(self, o):
        return as_list(o)


WAYS = {
    "default": lambda x: json.dumps({"a": [x]}, default=as_list),
    "class": lambda x: json.dumps({"a": [x]}, cls=Encoder),
    "indented": lambda x: json.dumps([x], default=as_list, indent=1),
}


@pytest.mark.parametrize("name", WAYS)
def test_what_json_asks_for_objects_runs_under_the_context(name):
    class Calls(Context):
        seen: list

        def prehook(self, f, args, kwargs):
            self.seen.append(f)

    plain, ctx = WAYS[name](Node(1, 22)), Calls([])
    assert overdub(ctx, WAYS[name], Node(1, 22)) == plain and len in ctx.seen


@pytest.mark.parametrize("name", WAYS)
def test_json_of_objects_with_labelled_attributes_is_json(name):
    ctx = TaintContext()
    text = overdub(ctx, WAYS[name], ctx.label(Node(1, 22), "x", granular=True))
    assert ctx.untag(text) == WAYS[name](Node(1, 22))
