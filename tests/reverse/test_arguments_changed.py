"""Containers and objects that are differentiated and that the program stores to: their gradient has the
structure of what was given, with the derivatives of that, whatever stands there in the end."""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ctxdispatch import grad, jvp, vjp
from tests.recording import RECORDED


class Held:
    def __init__(self, w, u=2.0):
        self.w, self.u = w, u


class Slotted:
    __slots__ = ("u", "w")

    def __init__(self, w):
        self.w, self.u = w, 2.0


@dataclass
class Data:
    w: Any
    u: float = 2.0
    n: int = 3


HOLDERS = {
    "dict": (lambda w: {"w": w, "u": 2.0}, "p['w']"),
    "ordered dict": (lambda w: OrderedDict(w=w, u=2.0), "p['w']"),
    "list": (lambda w: [w, 2.0], "p[0]"),
    "end of a list": (lambda w: [2.0, w], "p[-1]"),
    "deque": (lambda w: deque([w, 2.0]), "p[0]"),
    "object": (Held, "p.w"),
    "slots": (Slotted, "p.w"),
    "dataclass": (Data, "p.w"),
    "dict in a dict": (lambda w: {"a": {"w": w}, "b": 1.0}, "p['a']['w']"),
    "list in a tuple": (lambda w: (1.0, [w, 2]), "p[1][0]"),
    "object in a list": (lambda w: [Held(1.0), Held(w)], "p[1].w"),
    "dict in an object": (lambda w: Held({"w": w}), "p.w['w']"),
}
CHANGES = {
    "a sum": "{at} = np.sum({at})\nreturn {at} ** 2",
    "a float": "{at} = float(np.sum({at}))\nreturn {at} ** 2",
    "an array of more axes": "{at} = np.outer({at}, {at})\nreturn np.sum({at} ** 2)",
    "a part": "{at} = {at}[1:]\nreturn np.sum({at} ** 2)",
    "a constant": "y = np.sum({at} ** 2)\n{at} = np.ones(2)\nreturn y * np.sum({at})",
    "a whole number": "y = np.sum({at} ** 2)\n{at} = 3\nreturn y",
    "None": "y = np.sum({at} ** 2)\n{at} = None\nreturn y",
    "a list": "{at} = [np.sum({at}), {at}[0]]\nreturn {at}[0] * {at}[1]",
    "what changes": "for i in range(3):\n    {at} = np.append({at}, i * {at}[0])\nreturn np.sum({at} ** 2)",
    "sometimes": "if {at}[0] > 0.0:\n    {at} = np.sum({at})\nreturn np.sum({at} ** 2)",
    "by a function": "def change(q):\n    {at} = q\nchange(np.sum({at}))\nreturn {at} ** 2",
    "deleted": "y = np.sum({at} ** 2)\ndel {at}\nreturn y",
}
OF_DICTS = (
    "p['z'] = np.sum(p['w'])\nreturn p['z'] ** 2", "return np.sum(p.pop('w') ** 2)",
    "y = np.sum(p['w'] ** 2)\np.clear()\nreturn y", "p.update(w=np.sum(p['w']))\nreturn p['w'] ** 2",
    "return p.setdefault('z', np.sum(p['w'])) ** 2", "p |= {'w': np.sum(p['w'])}\nreturn p['w'] ** 2",
    "for k in [*p]:\n    p[k] = np.sum(p[k])\nreturn p['w'] ** p['u']",
    "return np.sum(p.popitem()[1] * p['w'])",
)  # fmt: skip
OF_LISTS = (
    "p.append(np.sum(p[0]))\nreturn p[-1] ** 2", "p.insert(0, np.sum(p[0]))\nreturn p[0] ** 2",
    "return np.sum(p.pop(0) ** 2)", "p.extend([p[0] * 2])\nreturn np.sum(p[-1] * p[0])",
    "p += [np.sum(p[0])]\nreturn p[-1] ** 2", "p.reverse()\nreturn np.sum(p[1] ** 2) * p[0]",
    "p[:] = [np.sum(p[0])]\nreturn p[0] ** 2", "p *= 2\nreturn np.sum(p[0] * p[2])",
    "p[0], p[1] = p[1], p[0]\nreturn np.sum(p[1] ** 2) * p[0]",
    "p.sort(key=np.size)\nreturn np.sum(p[1] ** 2) * p[0]",
    "for x in [*p]:\n    p.append(x * 2)\nreturn np.sum(p[2]) * p[3]",
)  # fmt: skip
OF_OBJECTS = (
    "p.z = np.sum(p.w)\nreturn p.z ** 2", "p.w, p.u = p.u, p.w\nreturn np.sum(p.u ** 2) * p.w",
    "vars(p)['w'] = np.sum(p.w)\nreturn p.w ** 2", "p.__dict__.update(w=np.sum(p.w))\nreturn p.w ** 2",
)  # fmt: skip
CASES = [
    *((h, text.format(at=HOLDERS[h][1])) for h, text in itertools.product(HOLDERS, CHANGES.values())),
    *(("dict", text) for text in OF_DICTS), *(("list", text) for text in OF_LISTS),
    *(("object", text) for text in OF_OBJECTS),
]  # fmt: skip
WITHIN = {
    "compiled": "{}", "attempted": "try:\n{}\nexcept KeyError:\n    raise", "recorded": "with RECORDED:\n{}",
}  # fmt: skip
POINT = np.array([0.7, 1.3, 0.4])


def program(text, within="compiled"):
    text = text if within == "compiled" else indented(text)
    given = {"np": np, "RECORDED": RECORDED}
    exec(f"def f(p):\n{indented(WITHIN[within].format(text))}", given)
    return given["f"]


def indented(text):
    return "\n".join("    " + line for line in text.split("\n"))


def items(v):
    if isinstance(v, dict):
        return [*v.items()]
    if isinstance(v, (list, tuple, deque)):
        return [*enumerate(v)]
    names = getattr(v, "__slots__", None) or getattr(v, "__dict__", ())
    return [(name, getattr(v, name)) for name in names]


def leaves(v, path=()):
    if isinstance(v, (float, np.ndarray)):
        return {path: v}
    return {p: leaf for key, part in items(v) for p, leaf in leaves(part, (*path, key)).items()}


def zeros(v):
    """A tangent."""
    if isinstance(v, (float, np.ndarray)):
        return v * 0.0
    if isinstance(v, (list, tuple, deque)):
        return type(v)(map(zeros, v))
    made = {key: zeros(part) for key, part in items(v)}
    return made if isinstance(v, dict) else SimpleNamespace(**made) if made else None


def differences(f, make):
    units = 1e-5 * np.eye(3)
    return np.array([(f(make(POINT + e)) - f(make(POINT - e))) / 2e-5 for e in units])


def of_point(gradient, make):
    """Of the array, which is the only one there; and the structure is that of what was given."""
    given, found = leaves(make(POINT.copy())), leaves(gradient)
    assert [(p, np.shape(v)) for p, v in found.items()] == [(p, np.shape(v)) for p, v in given.items()]
    return next(v for v in found.values() if np.ndim(v))


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize(("holder", "text"), CASES)
def test_gradients_have_the_structure_of_what_was_given(holder, text, within):
    make = HOLDERS[holder][0]
    f = program(text, within)
    want = differences(f, make)
    gradient = grad(f)
    for _ in range(3):  # by then types may have been noted
        np.testing.assert_allclose(of_point(gradient(make(POINT.copy())), make), want, rtol=1e-6)
    _, pullback = vjp(f, make(POINT.copy()))
    np.testing.assert_allclose(of_point(pullback(1.0)[0], make), want, rtol=1e-6)


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize(("holder", "text"), CASES)
def test_tangents_of_what_was_given(holder, text, within):
    make = HOLDERS[holder][0]
    f = program(text, within)
    direction = zeros(make(POINT.copy()))
    next(v for v in leaves(direction).values() if np.ndim(v))[:] = 0.3, -1.0, 0.9
    for _ in range(2):
        _, tangent = jvp(f, (make(POINT.copy()),), (direction,))
        np.testing.assert_allclose(tangent, differences(f, make) @ [0.3, -1.0, 0.9], rtol=1e-6)


class Float(float):
    pass


class Array(np.ndarray):
    pass


def storing(p):
    y = np.sum(p["w"] ** 2)
    p["z"] = y
    return y


def test_what_was_not_read_has_zeros_of_its_class():
    for _ in range(3):
        nested = {"m": [1.0, "a", np.float32(2.0)]}
        p = {"w": POINT, "f": Float(2.0), "a": np.ones(2).view(Array), "n": nested}
        found = grad(storing)(p)
        assert [*found] == ["w", "f", "a", "n"] and found["f"] == 0.0
        assert type(found["a"]) is Array and not found["a"].any()
        assert found["n"] == {"m": [0.0, None, 0.0]} and type(found["n"]["m"][2]) is np.float32


def test_what_holds_itself():
    def f(p):
        y = np.sum(p["me"]["w"] * 2.0) * p["me"]["l"][0]
        p["z"] = 1
        return y

    for _ in range(3):
        p = {"w": POINT, "l": [2.0, 3.0]}
        p["me"] = p
        found = grad(f)(p)
        assert [*found] == ["w", "l", "me"]
        inner = found["me"] if found["me"] else found
        np.testing.assert_allclose(inner["w"], 4.0)
        np.testing.assert_allclose(inner["l"], [2.0 * POINT.sum(), 0.0])


def test_long_chains():
    def f(p):
        y = np.sum(p.w**2)
        p.u = 3.0
        return y

    for _ in range(3):
        chain = None
        for _ in range(100):
            chain = Held(1.0, chain)
        chain.w = POINT
        np.testing.assert_allclose(grad(f)(chain).w, 2 * POINT)


def test_what_the_class_has_is_no_part():
    class WithDefault:
        k = 2.0

        def __init__(self):
            self.w = POINT

    def read(p):
        return np.sum(p.w**2) * p.k

    def hides(p):
        y = read(p)
        p.k = 3.0
        return y * p.k

    for f, times in ((read, 4.0), (hides, 12.0)):
        for _ in range(3):
            found = grad(f)(WithDefault())
            assert [*vars(found)] == ["w"]
            np.testing.assert_allclose(found.w, times * POINT)
