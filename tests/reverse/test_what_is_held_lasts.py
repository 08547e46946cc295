"""What is known of what arguments and variables hold is known after ordinary statements too: such that run no
code of the user's on anything there was before. What does is found to, and the run is right."""

import functools
import sys

import numpy as np
import pytest

from ctxdispatch import explain, grad, jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import DerivativeError
from tests.behaviours.mutation_checks import central

X = np.array([0.3, 0.4, -0.5])
ALONG = np.array([1.0, -2.0, 0.5])
REGISTRY = {"l1": lambda w: np.sum(np.sqrt(w * w + 0.1)), "l2": lambda w: 0.5 * np.dot(w, w)}


class Made:
    def __init__(self, a):
        self.a = a
        self.b = None

    def fit(self, x):
        self.b = x * self.a
        return self


class Loud:
    """Whoever looks at it changes what the argument holds."""

    def __init__(self, params):
        self.params = params

    def change(self, *args):
        self.params["w"] = float(np.sum(self.params["w"]))
        return True

    __eq__ = __lt__ = __contains__ = write = change

    def readline(self):
        self.change()
        return "3"

    def flush(self):
        return None

    def __str__(self):
        return f"{self.change()}"

    def __repr__(self):
        raise ValueError(self.change())

    def __format__(self, spec):
        return str(self)

    __hash__ = object.__hash__


def written(loud, y):
    with np.printoptions(formatter={"float": lambda v: str(loud)}):
        return f"{y}"


class OneError(Exception):
    """By which a caller goes."""


class OtherError(OneError):
    pass


QUIET = {
    "shapes compared": "if x.shape == y.shape: s = 2.0",
    "shapes of other lengths": "if x.shape != (3, 1): s = 2.0",
    "a shape and a list": "s = 2.0 if list(x.shape) == [3] else 1.0",
    "dtypes compared": "if x.dtype == np.float64 and x.dtype != 'f4': s = 2.0",
    "attributes asked for": "if hasattr(x, 'shape') and not hasattr(x, 'nothing'): s = 2.0",
    "reductions of what is no array": "s = 1.0 if np.any(s == 0) else 2.0",
    "tuples repeated": "s = np.sum(np.ones((2,) * 2))",
    "weighted means": "s = np.average(y, weights=np.ones(3)) + 1.0",
    "parts": "s = sum(np.sum(p) for p in np.split(y, len(y) // 3)) + 1.0",
    "cut anywhere": "s = sum([np.sum(p * p) for p in np.array_split(y, 2)]) + 1.0",
    "no two alike": "s = np.unique(y).shape[0] * 1.0",
    "draws": "s = np.random.default_rng(0).normal(0.0, 1.0, size=3).sum()",
    "one draw": "rng = np.random.default_rng(3); s = rng.uniform() + rng.integers(5)",
    "permutations": "s = y[np.random.default_rng(0).permutation(len(y))][0]",
    "objects made": "s = np.sum(Made(2.0).fit(y).b)",
    "keys looked for": "s = 2.0 if 'w' in params and 'v' not in params else 1.0",
    "messages of errors": "if s > 5.0: raise ValueError(f'{params} {y!r}')",
    "texts": "t = f'{s:.3f} {y[0]}'; s = len(t + '%d' % 3) * 0.1",
    "softmax": "s = np.sum(special.softmax(y * 2.0)[1:])",
    "logsumexp": "s = special.logsumexp(y)",
    "factorised": "s = linalg.cho_solve(linalg.cho_factor(np.eye(3) * 2.0), y)[0]",
    "solved": "s = linalg.solve(np.eye(3) * 2.0, y)[1]",
    "time": "s = 1.0 + 0.0 * time.perf_counter()",
}
"""Each, of y, an array, x, what the argument holds, and s, a number."""

CAUGHT = """\
try:
        raise {}
    except ValueError:
        s = 2.0"""

OTHER = {"w": np.ones(2)}
BESIDES = "OTHER['w'] = np.ones(2); {}; s = 2.0 if isinstance(OTHER['w'], float) else 1.0"
LOUD = {
    "comparison": "Loud(params) == 3; s = 2.0",
    "what prints": BESIDES.format("sys.stdout = Loud(OTHER); print('t', 1)"),
    "what reads": BESIDES.format("sys.stdin = Loud(OTHER); input()"),
    "a formatter": BESIDES.format("written(Loud(OTHER), y)"),
    "of tuples": "s = 2.0 if (Loud(params), 1) == (2, 1) else 1.0",
    "of lists": "s = 2.0 if [Loud(params)] != [2] else 1.0",
    "order": "s = 2.0 if (Loud(params),) < (2,) else 1.0",
    "key": "s = 2.0 if Loud(params) in {1: 2, 'w': 3} else 1.0",
    "text": "s = len(f'{Loud(params)}') * 1.0",
    "text by %": "s = len('%s' % (Loud(params),)) * 1.0",
    "a message": CAUGHT.format("ValueError(f'{Loud(params)}')"),
    "an error of a message": CAUGHT.format("KeyError(f'{Loud(params)!r}')"),
    "container": "s = 2.0 if 3 in Loud(params) else 1.0",
}
"""Most leave another type in `params`. Some are refused: a comparison by C code, say."""

PROGRAM = """\
def f(params, y):
    x, s = params["w"], np.sum(y)
    {statement}
    total = 0.0
    for name, strength in (("l1", 0.5), ("l2", 0.25)):
        total = total + strength * REGISTRY[name](params["w"] * s)
    return total + np.sum(params["w"]) * s
"""


def made(statement):
    special, linalg = (pytest.importorskip(f"scipy.{name}") for name in ("special", "linalg"))
    import time

    given = {**globals(), "special": special, "linalg": linalg, "time": time}
    exec(PROGRAM.format(statement=statement), given)
    return given["f"]


def plain(f, x):
    return f({"w": x.copy()}, X * X + 0.2)


@pytest.mark.parametrize("statement", LOUD)
def test_derivatives_of_what_changes(statement):
    f = made(LOUD[statement])
    try:
        grad(f)({"w": X.copy()}, X * X + 0.2)
    except DerivativeError as error:
        assert "Loud" in str(error)
        return
    check(f)


@pytest.mark.parametrize("statement", QUIET)
def test_derivatives(statement):
    check(made(QUIET[statement]))


def check(f):
    expected = central(functools.partial(plain, f), X)
    for _ in range(3):
        value, found = value_and_grad(f)({"w": X.copy()}, X * X + 0.2)
        assert value == pytest.approx(plain(f, X))
        np.testing.assert_allclose(found["w"], expected, rtol=1e-5, atol=1e-7)
        along = jvp(f, ({"w": X.copy()}, X * X + 0.2), ({"w": ALONG}, np.zeros(3)))
        assert along[1] == pytest.approx(expected @ ALONG, rel=1e-5)


@pytest.mark.parametrize("statement", QUIET)
def test_programs(statement):
    """Whatever stands between, functions that a dict holds are known where they are called."""
    g = grad(made(QUIET[statement]))
    tiers = {r.tier for r in explain(g)({"w": X.copy()}, X * X + 0.2).regions}
    told = "raise" in QUIET[statement]
    assert tiers == {"compiled whole"} or (told and tiers == {"compiled as an attempt"})


@pytest.mark.parametrize("statement", LOUD)
def test_what_is_left(statement):
    f, expected = made(LOUD[statement]), {"w": X.copy()}
    f(expected, X * X + 0.2)
    for _ in range(3):
        params = {"w": X.copy()}
        try:
            grad(f)(params, X * X + 0.2)
        except DerivativeError:
            continue
        assert type(params["w"]) is type(expected["w"])
        np.testing.assert_array_equal(params["w"], expected["w"])


@pytest.fixture(autouse=True)
def streams(monkeypatch):
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(sys, name, getattr(sys, name))


def by_class(params, y):
    text = f"{Loud(params)}"
    if isinstance(params["w"], float):
        raise OtherError(text)
    raise OneError(text)


def by_message(params, y):
    text = str(Loud(params))
    raise OneError(f"{text} {isinstance(params['w'], float)} {type(params['w'])}")


def by_state(params, y):
    text = f"{Loud(params)}"
    y.append("float" if isinstance(params["w"], float) else "other")
    raise OneError(text)


@pytest.mark.parametrize("f", [by_class, by_message, by_state])
def test_what_is_raised_after_code_that_changes_something(f):
    def run(derive):
        y = []
        with pytest.raises(OneError) as caught:
            derive({"w": X.copy()}, y)
        return type(caught.value), str(caught.value), y

    for derive in (grad(f), value_and_grad(f), lambda p, y: jvp(f, (p, y), (p, []))):
        assert run(derive) == run(f)
