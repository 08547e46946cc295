"""`from m import name` where the name is a local, is captured, or global, and what stores it is dispatched:
the instruction finds the module where it lies."""

import functools
import itertools
from typing import Any, ClassVar

import pytest

from ctxdispatch import Context, overdub
from ctxdispatch.ir import primitives


def local(x):
    from math import sqrt

    return sqrt(x)


def captured(x):
    from math import sqrt

    return [sqrt(x) for _ in range(2)], (lambda: sqrt(x))()


def some_captured(x):
    from math import pi, sqrt, tau

    return pi, [sqrt(x * tau) for _ in range(2)]


def captured_arguments(a, x, b):
    from math import sqrt as root

    return [(a, root(each), b) for each in x]


def globally(x):
    global _root
    from math import sqrt as _root

    return _root(x)


def in_a_loop(x):
    found = []
    for _ in range(2):
        from math import cos, sqrt

        found.append(lambda: sqrt(x) + cos(x))
    return [f() for f in found]


def in_a_class(x):
    class Roots:
        from math import cos, sqrt

        of = [each(x) for each in (sqrt, cos)]

    return Roots.of


PROGRAMS = {
    local: (4.0,), captured: (4.0,), some_captured: (4.0,), captured_arguments: (1, [4.0, 9.0], 2),
    globally: (4.0,), in_a_loop: (4.0,), in_a_class: (4.0,),
}  # fmt: skip
DISPATCHED = [
    primitives.store_global, primitives.cell_set, primitives.import_name, primitives.import_from,
    primitives.cell_get, "call",
]  # fmt: skip
SOME = [some for n in (1, 2, len(DISPATCHED)) for some in itertools.combinations(DISPATCHED, n)]


def seen(dispatched, ruled):
    class Seen(Context):
        rules_are_shortcuts: ClassVar[bool] = ruled
        intercepts: ClassVar[Any] = dispatched

        def fallback(self, f, args, kwargs):
            return f(*args, **kwargs)

    for each in dispatched:
        if ruled and each != "call":
            Seen.rule(each)(functools.partial(as_it_is, each))
    return Seen()


def as_it_is(f, ctx, *args):
    return f(*args)


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_program_is_the_plain_one(program, ruled):
    for dispatched in SOME:
        found = overdub(seen(dispatched, ruled), program, *PROGRAMS[program])
        assert found == program(*PROGRAMS[program]), dispatched
