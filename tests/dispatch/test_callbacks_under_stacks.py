"""Functions handed to C code within several contexts: each context sees each of their calls once."""

import collections
import functools
import itertools
import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctxdispatch import Context, overdub


class Hooked(Context):
    log: list

    def prehook(self, f, args, kwargs):
        self.log.append(getattr(f, "__name__", ""))


class Ruled(Context):
    log: list


@Ruled.rule(math.sqrt)
def _(ctx, x):
    ctx.log.append("sqrt")
    return x**0.5


class Idle(Context):
    """A rule for something that these programs do not call."""

    log: list


Idle.rule(collections.ChainMap.new_child)(lambda ctx, *args: None)


class Value:
    def __init__(self, x):
        self.x = x

    def __lt__(self, other):
        return math.sqrt(self.x) < math.sqrt(other.x)

    def __iter__(self):
        yield math.sqrt(self.x)

    def __call__(self, x):
        return math.sqrt(x)


def in_a_thread():
    out = []
    thread = threading.Thread(target=lambda: out.append(math.sqrt(4.0)))
    thread.start()
    thread.join()
    return out


def in_a_pool():
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(math.sqrt, 4.0).result()


PROGRAMS = {
    "map": lambda: list(map(math.sqrt, [4.0])),
    "map of an object": lambda: list(map(Value(1), [4.0])),
    "map of a partial": lambda: list(map(functools.partial(lambda x: math.sqrt(x)), [4.0])),
    "filter": lambda: list(filter(lambda x: math.sqrt(x) > 1, [4.0])),
    "reduce": lambda: functools.reduce(lambda a, b: a + math.sqrt(b), [0.0, 4.0]),
    "accumulate": lambda: list(itertools.accumulate([1.0, 4.0], lambda a, b: math.sqrt(b))),
    "groupby": lambda: [key for key, _ in itertools.groupby([4.0], key=math.sqrt)],
    "re.sub": lambda: re.compile("a").sub(lambda m: str(math.sqrt(4.0)), "a"),
    "sorted by a builtin": lambda: sorted([1.0, 4.0], key=math.sqrt),
    "sorted by a lambda": lambda: sorted([1.0, 4.0], key=lambda x: -math.sqrt(x)),
    "sorted objects": lambda: [value.x for value in sorted([Value(4), Value(1)])],
    "max of objects": lambda: max(Value(4), Value(1)).x,
    "cmp_to_key": lambda: sorted([2, 1], key=functools.cmp_to_key(lambda a, b: math.sqrt(a) - math.sqrt(b))),
    "iter": lambda: list(iter(lambda: math.sqrt(4.0), 2.0)),
    "list": lambda: list(Value(4)),
    "sum": lambda: sum(map(math.sqrt, [1.0, 4.0])),
    "any": lambda: any(map(math.sqrt, [0.0, 4.0])),
    "thread": in_a_thread,
    "pool": in_a_pool,
}  # fmt: skip


CLASSES = Hooked, Ruled, Idle
STACKS = [*itertools.product(CLASSES, repeat=2), *itertools.permutations(CLASSES), (Hooked,) * 3]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_context_sees_every_call_once(name):
    f = PROGRAMS[name]
    alone = {}
    for cls in CLASSES:
        ctx = cls([])
        assert overdub(ctx, f) == f()
        alone[cls] = ctx.log.count("sqrt")
    assert alone[Hooked] == alone[Ruled] > 0
    for classes in STACKS:
        stack = [cls([]) for cls in classes]
        run = [arg for ctx in stack[1:] for arg in (overdub, ctx)]
        assert overdub(stack[0], *run, f) == f(), classes
        for k, ctx in enumerate(stack):
            if Ruled not in classes[k + 1 :]:  # else it sees the rule
                assert ctx.log.count("sqrt") == alone[type(ctx)], (classes, k)
