"""Tagging: classes derived from builtin ones, with methods of their own, do with tags what they always do."""

import bisect
import collections
import heapq
import itertools
import operator

import numpy as np
import pytest

from ctxdispatch.dispatch import Tagging, overdub


class Labels(Tagging):
    def combine(self, f, metadata, out):
        return frozenset().union(*metadata)


class Vector(collections.namedtuple("Vector", "x y")):
    __slots__ = ()

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__


class Path(list):
    def __add__(self, other):
        return "+"

    def __radd__(self, other):
        return "r+"

    def __iadd__(self, other):
        return "+="

    def __mul__(self, k):
        return "*"


class Twice(list):
    def __iter__(self):
        return iter([*list.__iter__(self)] * 2)


class Layered(dict):
    def __iter__(self):
        return iter("k")

    def keys(self):
        return ["k"]

    def items(self):
        return [("i", 1)]

    def __getitem__(self, key):
        return key * 2

    def __or__(self, other):
        return "|"

    def __ror__(self, other):
        return "r|"


class Renamed(dict):
    """C code copies it, whatever it says of its items."""

    def items(self):
        return [("i", 1)]


class Bag(set):
    def __or__(self, other):
        return "|"

    def __ror__(self, other):
        return "r|"


class Adding:
    def __radd__(self, other):
        return "r+"

    def __iter__(self):
        return iter((1, 2))


MADE = {
    "Vector": lambda: Vector(1, 2), "Path": lambda: Path([1, 2]), "Twice": lambda: Twice([1, 2]),
    "Layered": lambda: Layered(a=1), "Renamed": lambda: Renamed(a=1), "Bag": lambda: Bag([1]),
    "Adding": Adding, "list": lambda: [3], "tuple": lambda: (4,), "dict": lambda: {"a": 2},
    "set": lambda: {5}, "deque": lambda: collections.deque([6]), "array": lambda: np.array([1, 2]),
    "ordered": lambda: collections.OrderedDict(z=1), "counter": lambda: collections.Counter("aab"),
    "two": lambda: 2, "true": lambda: True, "text": lambda: "ab",
}  # fmt: skip


def add_to(a, b):
    a += b
    return a


def multiply_by(a, b):
    a *= b
    return a


def merge_into(a, b):
    a |= b
    return a


BINARY = {
    "+": operator.add, "*": operator.mul, "|": operator.or_, "+=": add_to, "*=": multiply_by,
    "|=": merge_into, "class of a + b": lambda a, b: type(a + b), "{**a}": lambda a, b: {**a},
    "dict(a)": lambda a, b: dict(a), "list(a)": lambda a, b: list(a), "[*a]": lambda a, b: [*a],
    "max(a)": lambda a, b: max(a), "zip(a, a)": lambda a, b: [*zip(a, a)], "f(**a)": lambda a, b: named(**a),
    "a.update(b)": lambda a, b: (a.update(b), a)[1], "sum": lambda a, b: sum([b], a),
}  # fmt: skip


def named(**kwargs):
    return kwargs


def outcome(run):
    try:
        out = run()
    except Exception as error:
        return type(error)
    return type(out), sorted(map(repr, out)) if isinstance(out, set) else repr(out)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("tagged", ["left", "right", "both"])
def test_an_operation_on_tagged_containers_is_that_of_their_class(name, tagged):
    f, differs = BINARY[name], []
    for left, right in itertools.product(MADE, MADE):
        ctx = Labels()
        a, b = MADE[left](), MADE[right]()
        plain = outcome(lambda a=a, b=b: f(a, b))
        a = ctx.tag(MADE[left](), {"a"}) if tagged != "right" else MADE[left]()
        b = ctx.tag(MADE[right](), {"b"}) if tagged != "left" else MADE[right]()
        found = outcome(lambda ctx=ctx, a=a, b=b: bare(ctx, overdub(ctx, f, a, b)))
        if found != plain:
            differs.append((left, right, plain, found))
    assert not differs


def bare(ctx, value):
    value = ctx.untag(value)
    if type(value) in (list, tuple, set):
        return type(value)(bare(ctx, item) for item in value)
    return {bare(ctx, k): bare(ctx, v) for k, v in value.items()} if type(value) is dict else value


def test_the_result_of_an_operator_of_its_own_has_both_tags():
    ctx = Labels()
    out = overdub(ctx, operator.add, ctx.tag(Vector(1, 2), {"a"}), ctx.tag(Vector(3, 4), {"b"}))
    assert ctx.untag(out) == Vector(4, 6) and type(ctx.untag(out)) is Vector
    assert ctx.metadata(out) == {"a", "b"}


# -- wrong operands --------------------------------------------------------------------------------

NOTHING = [
    sorted, max, min, next, iter, setattr, delattr, operator.add, operator.or_, operator.delitem,
    list.__delitem__, itertools.accumulate, itertools.starmap, heapq.heapify, list.append, dict.get,
]  # fmt: skip


@pytest.mark.parametrize("f", NOTHING)
def test_called_with_nothing_it_refuses_as_without_a_context(f):
    def calls():
        return f()

    assert outcome(lambda: overdub(Labels(), calls)) == outcome(calls) == TypeError


@pytest.mark.parametrize("f", [heapq.heapify, heapq.heappop])
@pytest.mark.parametrize("heap", [(2, 1), "ab", {1: 2}, iter([2, 1]), np.array([2, 1])])
def test_a_heap_is_a_list(f, heap):
    ctx = Labels()
    with pytest.raises(TypeError):
        overdub(ctx, lambda heap: f(heap), ctx.tag(heap, {"a"}))


def test_what_is_sorted_into_need_not_be_a_list():
    ctx, items = Labels(), collections.deque([1, 3])
    out = overdub(ctx, lambda xs: (bisect.insort(xs, 2), xs)[1], ctx.tag(items, {"a"}))
    assert ctx.untag(out) is items and [*map(ctx.untag, items)] == [1, 2, 3]


def test_a_tagged_name_sets_an_attribute_of_a_mapping():
    class Record(dict):
        pass

    ctx, record = Labels(), Record()
    overdub(ctx, setattr, record, ctx.tag("width", {"a"}), 3)
    assert record.width == 3


def test_a_function_in_a_tagged_array_is_that_function():
    def one():
        return 1

    ctx = Labels()
    held = overdub(ctx, lambda f: np.append(np.array([None], dtype=object), f), one)
    assert held[1] is one
    assert overdub(ctx, lambda f, x: np.full_like(x, f), one, held)[0] is one


def test_accumulate_takes_its_operands_by_name():
    def running(xs):
        return [*itertools.accumulate(iterable=xs, func=operator.mul)], [*itertools.accumulate(xs)]

    ctx = Labels()
    out = overdub(ctx, running, ctx.tag([1, 2, 3], {"a"}))
    assert [[*map(ctx.untag, each)] for each in out] == [[1, 2, 6], [1, 3, 6]]
    assert {"a"} == ctx.metadata(out[0][2]) == ctx.metadata(out[1][0])
    with pytest.raises(TypeError):
        overdub(ctx, lambda xs: itertools.accumulate(xs, None, 1), [1])


# -- what is printed -------------------------------------------------------------------------------


class Point:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        return f"Point({self.x!r})"


def test_what_c_code_prints_of_tagged_attributes_is_what_it_prints_without():
    ctx = Labels()
    printed = overdub(
        ctx, lambda p: (repr([p]), f"{[p]}", "%s" % [p], "{}".format(p)), Point(ctx.tag(1, {"a"}))
    )
    assert (*map(ctx.untag, printed),) == ("[Point(1)]", "[Point(1)]", "[Point(1)]", "Point(1)")


def test_an_iterator_that_is_printed_is_the_one_that_the_program_has():
    ctx, iterator = Labels(), iter([1, 2])
    text, hint = overdub(ctx, lambda it: (repr(it), operator.length_hint(it)), ctx.tag(iterator, {"a"}))
    assert (ctx.untag(text), ctx.untag(hint)) == (repr(iterator), 2)
