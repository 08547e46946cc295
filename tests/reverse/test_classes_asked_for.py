"""Programs that ask what lists in their arguments are: no code that might change them, unless it is."""

import numpy as np
import pytest

from ctxdispatch import grad
from tests.reverse.test_types_by_position import FLAT, V, agrees, compiled, unpacked

__all__ = ["compiled"]


class Pretending:
    """Says that it is another, and does something meanwhile."""

    def __init__(self, parts):
        self.parts = parts

    @property
    def __class__(self):
        self.parts.reverse()
        return list


class Hooked(type):
    asked: list = []  # noqa: RUF012

    def __instancecheck__(cls, obj):
        for each in cls.asked:
            each.reverse()
        return False


class Asking(metaclass=Hooked):
    pass


def asks_for_builtins(p):
    if isinstance(p, (list, tuple)) and not isinstance(p[0], dict | Pretending):
        return unpacked(p)
    return 0.0


def asks_what_pretends(o, x):
    p = o.parts
    y = np.sum(p[0] * x)
    known = isinstance(o, list)
    return y + (np.sum(p[0] * x**2) if known else 0.0)


def asks_a_hook(p, x):
    y = np.sum(p[0] * x)
    known = isinstance(p, (Asking, list))
    return y + (np.sum(p[0] * x**2) if known else 0.0)


def test_classes_are_asked_for(compiled):
    g = grad(asks_for_builtins)
    agrees(g, asks_for_builtins, FLAT)
    agrees(g, asks_for_builtins, tuple(FLAT))


@pytest.mark.parametrize("f", [asks_what_pretends, asks_a_hook], ids=lambda f: f.__name__)
def test_who_is_asked_may_change_a_list(f, monkeypatch):
    def arguments():
        parts = [V, np.ones((4, 4))]
        monkeypatch.setattr(Hooked, "asked", [parts])
        return Pretending(parts) if f is asks_what_pretends else parts

    found = []
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-6
        found.append((f(arguments(), V + step) - f(arguments(), V - step)) / 2e-6)
    np.testing.assert_allclose(grad(f, 1)(arguments(), V), found, rtol=1e-5, atol=1e-7)
