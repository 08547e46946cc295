"""Mixes of modes through every way of building, changing and walking containers, closures and objects give
what the polynomial that the program computes gives. Innermost mode first.

Some are refused where the first derivative calls something that only run time knows. No pair is, where no
user has registered a rule: second gradients are then taken forward, and need not sweep the sweep.
"""

import functools
from types import SimpleNamespace

import pytest
from numpy.polynomial import Polynomial

from ctxdispatch import grad, jvp


def displayed(x):
    a, (b, c) = x, (x * x, 3.0)
    return a * b + c * b


def unpacked_with_star(x):
    first, *rest, last = [x, x * x, 2.0, x + 1.0]
    return first * rest[0] + rest[1] * last


def listed(x):
    items = []
    for i in range(3):
        items.append(x * (i + 1))
    items.extend([x * x, 1.0])
    return items[0] * items[1] * items[-3] + items[3] * items[4]


def comprehended(x):
    return sum([a * b for a, b in zip([x, x * x], [x + 1.0, 2.0])])


def enumerated(x):
    total = 0.0
    for i, a in enumerate((x, x * x, 2.0)):
        total = total + (i + 1) * a * x
    return total


def walked_backwards(x):
    total = x
    for a in reversed([x, 2.0, x + 1.0]):
        total = total * a
    return total


def concatenated(x):
    items = [x, 2.0] + [x * x] + [x] * 2
    return items[0] * items[2] + items[1] * items[4] * items[3]


def sliced(x):
    items = [x, x * x, 3.0, x + 2.0]
    a, b = items[1:3]
    return a * b * items[::-1][0]


def keyed(x):
    d = {"a": x, "b": x * x}
    d = {**d, "c": 2.0 * d["a"]}
    return d["a"] * d["b"] + d.get("c") * d.get("e", x)


def walked_dict(x):
    d = dict(a=x, b=x * x, c=2.0)
    total = 0.0
    for key, value in d.items():
        total = total + (value * x if key != "b" else value)
    for value in d.values():
        total = total * value
    return total


class Point:
    def __init__(self, u, v):
        self.u = u
        self.v = v

    def scaled(self, by):
        return Point(self.u * by, self.v)

    @property
    def area(self):
        return self.u * self.v


def with_objects(x):
    p = Point(x, x + 1.0).scaled(x)
    return p.area * p.u


def with_namespace(x):
    s = SimpleNamespace(a=x, b=2.0)
    return s.a * s.a * s.b * x


def with_closures(x):
    scale = x * x

    def times(y, by=x):
        return scale * y * by

    return times(x) + times(2.0, by=x)


def with_partial(x):
    def times(a, b, c):
        return a * b * c

    return functools.partial(times, x, c=x + 1.0)(x)


def with_star_arguments(x):
    def total(*args, **named):
        return args[0] * args[1] + named["c"] * args[0]

    return total(*[x, x * x], **{"c": x})


def of_functions_in_a_list(x):
    total = x
    for f in [lambda a: a * x, lambda a: a * a]:
        total = f(total)
    return total


FUNCTIONS = [
    displayed, unpacked_with_star, listed, comprehended, enumerated, walked_backwards, concatenated, sliced,
    keyed, walked_dict, with_objects, with_namespace, with_closures, with_partial, with_star_arguments,
    of_functions_in_a_list,
]  # fmt: skip

MIXES = ["rr", "rf", "fr", "ff", "rfr", "frf"]


def forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


pytestmark = pytest.mark.usefixtures("with_a_rule")


@pytest.mark.every(40)
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_mix(f, mix):
    derivative = f
    for mode in mix:
        derivative = grad(derivative) if mode == "r" else forward(derivative)
    expected = f(Polynomial([0.0, 1.0])).deriv(len(mix))(1.3)
    assert derivative(1.3) == pytest.approx(expected, rel=1e-12)
