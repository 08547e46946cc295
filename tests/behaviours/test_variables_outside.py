"""Variables of the function around, of the program itself and of the module, as closures share them: what a
program assigns to them, before, in and after its loops, is there afterwards, for the next call, too."""

import contextlib
import itertools

import numpy as np
import pytest

from ctxdispatch import DerivativeError, grad, jacfwd, jvp, value_and_grad

X = np.array([0.7, -1.3])
STORES = {
    "count": "n += 1", "constant": "n = 5", "value": "n = n + s",
    "flag": "n = n if s > 9.0 else n + 1", "several": "n, m = m + 1, n",
    "text": "m = m * 2; n += len(m * 'a')",
    "closure": "bump()", "handled": "\ntry: n += 1 // m\nexcept ZeroDivisionError: n += 2",
    "best": "n = max(n, k)", "inside": "\ndef up():\n    nonlocal n\n    n += 1\nup()",
    "deeper": "\ndef up(by=1):\n    nonlocal n\n    def deeper():\n        nonlocal n\n        n += by\n"
    "    deeper()\nif s < 9.0: up(2)",
}  # fmt: skip
PLACES = {
    "before": "s, k = 0.0, 1\n{store}\nfor k in range(2):\n    s = s + v[k] * v[k]\n",
    "in_for": "s = 0.0\nfor k in range(2):\n    s = s + v[k] * v[k]\n    {store}\n",
    "in_while": "s, k = 0.0, 0\nwhile k < 2:\n    s = s + v[k] * v[k]\n    {store}\n    k += 1\n",
    "after": "s = 0.0\nfor k, t in enumerate(v):\n    s = s + t * t\n{store}\n",
    "nested": "s = 0.0\nfor j in range(2):\n"
    "    for k in range(2):\n        s = s + v[k] * v[j]\n        {store}\n",
    "until": "s = 0.0\nfor k in range(2):\n    s = s + v[k] * v[k]\n"
    "    if k == 1:\n        {store}\n        break\n",
}  # fmt: skip
AROUND = {"plain": "{body}", "try": "try: pass\nfinally: pass\n{body}", "with": "with still():\n{inner}"}
ENDS = {"unread": "return s", "read": "return s * n"}
CELLS = {
    "around": "def make(n, m):\n    def bump():\n        nonlocal n\n        n += 1\n"
    "    def f(v):\n        nonlocal n, m\n{body}\n    return f, lambda: (n, m)\n",
    "method": "def make(n, m):\n    def bump():\n        nonlocal n\n        n += 1\n"
    "    class F:\n        def __call__(self, v):\n            nonlocal n, m\n{deeper}\n"
    "    return F(), lambda: (n, m)\n",
    "module": "def make(a, b):\n    global n, m\n    n, m = a, b\n    return f, lambda: (n, m)\n"
    "def bump():\n    global n\n    n += 1\ndef f(v):\n    global n, m\n{body}\n",
    "own": "def make(a, b):\n    kept = [(a, b)]\n    def f(v):\n        n, m = kept[0]\n        k = 0\n"
    "        def bump():\n            nonlocal n\n            n += 1\n"
    "        def note(): kept[0] = n, m\n{body}\n    return f, lambda: kept[0]\n",
}  # fmt: skip
MODES = {
    "grad": lambda f: (None, grad(f)(X)), "value_and_grad": lambda f: value_and_grad(f)(X),
    "jvp": lambda f: jvp(f, (X,), (np.array([1.0, 0.0]),)), "jacfwd": lambda f: (None, jacfwd(f)(X)),
    "twice": lambda f: (None, grad(lambda v: (grad(f)(v) * v).sum())(X) / 2),
}  # fmt: skip


def indented(text, depth):
    return "\n".join(" " * depth + line for line in text.splitlines())


def maker(store, place, around, end, cell):
    lines = STORES[store].replace("; ", "\n")
    at = PLACES[place].partition("{store}")[0].rpartition("\n")[2]
    body = PLACES[place].format(store=lines.strip("\n").replace("\n", "\n" + at)) + ENDS[end]
    if cell == "own":
        body = body.replace("return", "note()\nreturn")
    body = AROUND[around].format(body=body, inner=indented(body, 4))
    if cell == "module":
        body = body.replace("nonlocal", "global")
    text = CELLS[cell].format(body=indented(body, 8 if cell != "module" else 4), deeper=indented(body, 12))
    space = {"__name__": __name__, "still": contextlib.nullcontext}
    exec(text, space)
    return space["make"]


def slope(make, state):
    """By central differences, from the state that a call finds."""
    found = []
    for d in np.eye(2) * 1e-6:
        ahead, behind = make(*state)[0](X + d), make(*state)[0](X - d)
        found.append((ahead - behind) / 2e-6)
    return np.array(found)


@pytest.mark.every(60)
@pytest.mark.parametrize(
    "store, place, around, end, cell, mode", itertools.product(STORES, PLACES, AROUND, ENDS, CELLS, MODES)
)
def test_what_is_assigned_is_there(store, place, around, end, cell, mode):
    if (store, end, mode) == ("value", "read", "twice"):
        return  # that is not of second degree, as the others are
    make = maker(store, place, around, end, cell)
    states, values = [(1, 2)], []
    for _ in range(3):
        f, get = make(*states[-1])
        values.append(f(X))
        states.append(get())
    slopes = [slope(make, state) for state in states[:-1]]
    f, get = make(*states[0])
    for value, at, after in zip(values, slopes, states[1:]):
        try:
            y, found = MODES[mode](f)
        except DerivativeError:
            return
        assert y is None or y == value
        np.testing.assert_allclose(found, at[0] if mode == "jvp" else at, rtol=1e-6, atol=1e-8)
        assert get() == after


def counted(depth):
    n = 0

    def power(x, k):
        nonlocal n
        n += 1
        return x if k == 0 else x * power(x, k - 1)

    return (lambda x: power(x, depth)), lambda: n


@pytest.mark.parametrize("mode", [grad, jacfwd, lambda f: lambda x: value_and_grad(f)(x)[1]])
def test_recursive_functions_that_count(mode):
    f, get = counted(3)
    for times in (1, 2, 3):
        assert mode(f)(0.5) == pytest.approx(4 * 0.5**3)
        assert get() == 4 * times
