"""A label that reaches a sink is found, however the sink is called and whatever holds the label."""

import functools
import operator
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctxdispatch import overdub
from ctxdispatch.contexts import TaintContext


def sink(*args, **kwargs):
    return None


class Held:
    def __init__(self, value):
        self.value = value


class Called:
    def __call__(self, value):
        return value


called = Called()


def submitted(x):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(sink, x).result()


def assigned(x):
    box = {}
    box[1] = x


def generator(x):
    def steps():
        kept = x
        yield 1
        yield kept

    begun = steps()
    next(begun)
    sink(begun)


def raised(x):
    try:
        raise ValueError(x)
    except ValueError as error:
        sink(error)


def failed(x):
    try:
        int(x)
    except ValueError as error:
        sink(str(error))


CALLS = {
    "call": (sink, lambda x: sink(x)),
    "keyword": (sink, lambda x: sink(a=x)),
    "name of a keyword": (sink, lambda x: sink(**{x: 1})),
    "partial": (sink, lambda x: functools.partial(sink, x)()),
    "partial of a builtin": (len, lambda x: functools.partial(len)(x)),
    "submit": (sink, submitted),
    "__call__": (sink, lambda x: sink.__call__(x)),
    "__call__ in map": (sink, lambda x: [*map(sink.__call__, [x])]),
    "operator.call": (sink, lambda x: operator.call(sink, x)),
    "map": (sink, lambda x: [*map(sink, [x])]),
    "map of partial": (sink, lambda x: [*map(functools.partial(sink, x), [1])]),
    "reduce": (sink, lambda x: functools.reduce(sink, [1, x])),
    "key": (sink, lambda x: sorted([x], key=lambda v: sink(v) or 0)),
    "__init__": (Held.__init__, lambda x: Held(x)),
    "class": (Held, lambda x: Held(x)),
    "class's __call__": (Called.__call__, lambda x: called(x)),
    "object": (called, lambda x: called(x)),
    "operator": (operator.setitem, assigned),
    "method": (dict.__setitem__, lambda x: {}.__setitem__(1, x)),
    "addition": (operator.add, lambda x: x + "b"),
    "eval": (eval, lambda x: eval(x)),
    "exec": (exec, lambda x: exec(x)),
    "method caller": (str.upper, lambda x: operator.methodcaller("upper")(x)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_sink_is_a_sink_however_it_is_called(name):
    function, f = CALLS[name]
    ctx = TaintContext(sinks=[function], record=True)
    overdub(ctx, f, ctx.label("len", "x"))
    assert {found.function for found in ctx.findings} == {function}
    assert all(found.labels == {"x"} for found in ctx.findings)
    other = TaintContext(sinks=[function], record=True)
    overdub(other, f, "len")
    assert other.findings == []


HELD = {
    "list": lambda x: [x], "nested": lambda x: {"a": [(x,)]}, "keys": lambda x: {x: 1}, "set": lambda x: {x},
    "view of values": lambda x: {"a": x}.values(), "view of keys": lambda x: {x: 1}.keys(),
    "view of items": lambda x: {"a": x}.items(), "proxy": lambda x: types.MappingProxyType({"a": x}),
    "bound method": lambda x: [x].append, "bound method of a class": lambda x: Held(x).__init__,
    "iterator": lambda x: iter([x]), "of a dict": lambda x: iter({x: 1}), "reversed": lambda x: reversed([x]),
    "enumerate": lambda x: enumerate([x]), "zip": lambda x: zip([1], [x]), "map": lambda x: map(str, [x]),
    "generator": lambda x: (v for v in [x]), "partial": lambda x: functools.partial(sink, x),
    "exception": lambda x: ValueError(x), "attribute": lambda x: Held([x]),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_what_a_sink_is_given_is_looked_into(name):
    ctx = TaintContext(sinks=[sink], record=True)
    overdub(ctx, lambda x: sink(HELD[name](x)), ctx.label("a", "x"))
    assert [found.labels for found in ctx.findings] == [{"x"}]


@pytest.mark.parametrize("f", [generator, raised, failed])
def test_what_holds_a_label_since_earlier_is_looked_into(f):
    ctx = TaintContext(sinks=[sink], record=True)
    overdub(ctx, f, ctx.label("a", "x"))
    assert [found.labels for found in ctx.findings] == [{"x"}]


def test_looking_takes_nothing_from_an_iterator():
    def f(x):
        items = iter([x, 2])
        sink(items)
        return [*items]

    ctx = TaintContext(sinks=[sink], record=True)
    assert ctx.clean(overdub(ctx, f, ctx.label(1, "x"))) == [1, 2] and len(ctx.findings) == 1


def test_a_function_may_be_sink_source_and_sanitizer_and_has_its_results():
    ctx = TaintContext(sinks=[len], sources={len: "length"}, sanitizers=[len], record=True)
    out = overdub(ctx, lambda x: len(x), ctx.label("abc", "x"))
    assert ctx.untag(out) == 3 and ctx.metadata(out) == {"length"}
    assert [found.labels for found in ctx.findings] == [{"x"}]
    other = ctx.replace(sinks=[], findings=[])
    assert ctx.untag(overdub(other, lambda x: len(x), other.label("abc", "x"))) == 3 and not other.findings


def test_sinks_of_one_context_are_none_of_another():
    TaintContext(sinks=[sink])
    ctx = TaintContext(record=True)
    overdub(ctx, lambda x: sink(x), ctx.label(1, "x"))
    assert ctx.findings == [] and type(ctx) is TaintContext
