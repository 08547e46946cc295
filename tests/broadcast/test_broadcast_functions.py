"""What `f` of `broadcast` may be and read, and that it means what it means in Python.

Programs are run on every element by Python itself for comparison.
"""

import functools
import math
from types import ModuleType

import numpy as np
import pytest
from broadcast_checks import BACKENDS, FIVE, INTS, by_elements, from_threads
from broadcast_checks import check_by_elements as check

from ctxdispatch_contexts.broadcast import KernelError, broadcast
from ctxdispatch_contexts.broadcast.instructions import CANONICAL

X, N = FIVE, INTS


# -- expressions ---------------------------------------------------------------------------------------------

CONVERTED = "an expression of the kernel is evaluated once, on whole arrays"

OF_FLOATS = {
    "divmod": lambda v: divmod(v, -0.7), "floordiv": lambda v: v // 0.7, "mod": lambda v: v % -0.7,
    "round": lambda v: round(v), "int": lambda v: int(v), "trunc": lambda v: math.trunc(v),
    "floor": lambda v: math.floor(v) * 2, "ceil": lambda v: math.ceil(v), "bool": lambda v: bool(v),
    "and": lambda v: v > 0 and v * 2, "or": lambda v: v > 0 or v * 2, "or_number": lambda v: v or 1.0,
    "not": lambda v: not v > 0, "chain": lambda v: 1.0 if -1 < v <= 1.9 else v,
    "int_or_float": lambda v: 1 if v > 0 else 0.5, "bool_or_int": lambda v: True if v > 0 else 2,
    "min": lambda v: min(v, 0.5), "max_of_3": lambda v: max(v, 0.5, 1),
    "max_of_tuple": lambda v: max((v, 1.0, -v)),
    "power": lambda v: v**3 + v**-2 + abs(v) ** 0.5 + v**0, "pow": lambda v: pow(v, 2),
    "walrus": lambda v: (w := v * 2) + w, "hypot": lambda v: math.hypot(v, 1, 2),
    "modf": lambda v: math.modf(v),
    "remainder": lambda v: math.remainder(v, 0.7), "log": lambda v: math.log(abs(v), 2),
    "isclose": lambda v: math.isclose(v, 1.8, rel_tol=0.1),
    "constants": lambda v: v * math.pi + math.inf * (v > 9),
    "sum": lambda v: sum((v, v, 1)), "prod": lambda v: math.prod((v, v, 2)),
    "fsum": lambda v: math.fsum((v, v)),
    "tuple": lambda v: (v, (1.0, v)[1])[1], "inner": lambda v: (lambda w: w * v)(2.0),
    "real": lambda v: v.real,
    "several": lambda v: (v, v * v), "bits": lambda v: (int(v) & 3) ^ 5 | 8,
    "copysign": lambda v: math.copysign(3, v),
    "isnan": lambda v: math.isnan(v), "isinstance": lambda v: v if isinstance(v, float) else -v,
}  # fmt: skip

OF_INTS = {
    "floordiv": lambda n: n // -2, "mod": lambda n: n % 3, "divmod": lambda n: divmod(n, -2),
    "power": lambda n: n**3,
    "shift": lambda n: (n << 2) + (n >> 1), "truediv": lambda n: n / 2, "invert": lambda n: ~n,
    "abs": lambda n: abs(n),
    "or": lambda n: n or 5, "and": lambda n: n and 5.5, "float": lambda n: float(n),
    "max": lambda n: max(n, 0.5),
    "isnan": lambda n: math.isnan(n) or math.isinf(n), "isfinite": lambda n: np.isfinite(n),
    "round": lambda n: round(n), "2.0 ** n": lambda n: 2.0**n, "clip": lambda n: int(np.clip(n, -1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OF_FLOATS)
def test_expressions_of_floats(name, backend):
    check(OF_FLOATS[name], X, backend)


@pytest.mark.parametrize("name", OF_INTS)
def test_expressions_of_ints(name):
    check(OF_INTS[name], N)


def function_of(callee, n):
    """(*operands) -> callee(*operands), with the callee a global name."""
    names = "ab"[:n]
    source = f"lambda {', '.join(names)}: callee({', '.join(names)})"
    return eval(source, {"callee": callee, "__name__": __name__})


def is_users(callee):
    return isinstance(callee, np.ufunc) or getattr(callee, "__module__", "") == "math"


@pytest.mark.parametrize("callee", [c for c in CANONICAL if is_users(c)], ids=lambda c: c.__name__)
def test_functions_of_the_table(callee):
    """All of math's and NumPy's, on floats and ints, as far as they take them. Whatever the back end."""
    floats = 0.3 + np.array([0.1, 0.2]) + (0.8 if callee.__name__ in ("acosh", "arccosh") else 0.0)
    ints = np.array([2, 3])
    for args in ((floats,), (floats, floats[::-1]), (ints,), (ints, ints)):
        try:
            with np.errstate(all="ignore"):
                wanted = np.array([callee(*each) for each in zip(*(a.tolist() for a in args))])
        except (TypeError, ValueError):
            continue
        if callee in (np.ldexp, math.ldexp) or (callee in (np.power, math.pow) and wanted.dtype.kind == "i"):
            continue  # refused
        f = function_of(callee, len(args))
        for backend in BACKENDS if args[0] is floats else ["reference"]:
            np.testing.assert_allclose(broadcast(f, *args, backend=backend), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda v: v - np.sum(v), lambda v: v - np.mean(v), lambda v: v - np.max(v), lambda v: np.prod(v),
        lambda v: v * np.size(v), lambda v: np.dot(v, v), lambda v: np.flip(v),
        lambda v: float(len(repr(v))), lambda v: float(len(f"{v}")), lambda v: np.cumsum(v)[0],
        lambda v: v.is_integer(), lambda v: v in (1.0, 0.3), lambda v: hash(v) * 1.0,
    ],
)  # fmt: skip
def test_functions_of_elements_are_not_functions_of_arrays(f):
    """Right or refused."""
    try:
        found = broadcast(f, X)
    except KernelError:
        return
    np.testing.assert_allclose(found, by_elements(f, X))


@pytest.mark.parametrize(
    "f",
    [
        lambda n: math.factorial(n), lambda n: math.isqrt(n), lambda n: math.gcd(n, 6),
        lambda n: math.comb(5, n),
        lambda n: len(bin(n)),
    ],
)  # fmt: skip
def test_whole_functions(f):
    """Right or refused."""
    try:
        found = broadcast(f, N[3:])
    except KernelError:
        return
    np.testing.assert_array_equal(found, by_elements(f, N[3:]))


def test_hypot_of_one():
    check(lambda v: math.hypot(v), X)


def test_equal_to_none():
    check(lambda v: 1.0 if v == None else v, X)  # noqa: E711


def test_round_to_digits():
    try:
        found = broadcast(lambda v: round(v, 1), X)
    except KernelError:
        return
    np.testing.assert_allclose(found, np.round(X, 1))


# -- functions -----------------------------------------------------------------------------------------------


class Layer:
    rate = 3.0

    def __init__(self, scale):
        self.scale = scale

    def act(self, x):
        return math.tanh(self.scale * x)

    def twice(self, x):
        return self.act(x) + self.doubled(x)

    def by_property(self, x):
        return self.half * x

    @property
    def half(self):
        return self.scale / 2

    @staticmethod
    def doubled(x):
        return 2 * x

    @classmethod
    def rated(cls, x):
        return cls.rate * x

    def __call__(self, x):
        return math.exp(-self.scale * x)


LAYER = Layer(0.5)


def decorated(f):
    @functools.wraps(f)
    def wrapped(*args):
        return f(*args) + 1

    return wrapped


def keywords(x, *, b=1.0, c=3.0):
    return x * b + c


def star(*values):
    return values[0] + values[1] * values[-1]


CALLABLES = {
    "method": LAYER.act, "object": LAYER, "static": LAYER.doubled, "property": LAYER.by_property,
    "partial": functools.partial(lambda a, x: a * x, 2.0),
    "partial_keyword": functools.partial(lambda x, a: a * x, a=2.0),
    "partial_partial": functools.partial(functools.partial(lambda a, b, x: a * x + b, 2.0), 1),
    "default": lambda x, k=2.5: x * k, "keyword_only": lambda x, *, k=3: x * k,
    "decorated": decorated(lambda x: 2 * x),
    "keywords": lambda x: keywords(x, c=x) + keywords(c=1.0, x=x), "star": lambda x: star(x, 2.0, x),
    "builtin": abs, "ufunc": np.cos, "math": math.sin, "type": int,
    "lambda_in_lambda": lambda x: (lambda: x * 2)(),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLABLES)
def test_callables(name):
    check(CALLABLES[name], X)
    check(CALLABLES[name], X)  # as found the second time


@pytest.mark.parametrize(
    "f",
    [LAYER.twice, Layer.rated, lambda x: LAYER.act(x), lambda x: LAYER.scale * x],
)
def test_objects_within(f):
    check(f, X)


def test_attributes_may_change():
    layer = Layer(0.5)
    for scale in (0.5, 2.0, 1, np.float64(0.25), np.float32(0.5), True):
        layer.scale = scale
        np.testing.assert_allclose(broadcast(layer.act, X), np.tanh(scale * X), rtol=1e-12)


def test_functions_made_in_loops():
    for k in range(3):
        for f in (lambda x: x * k, lambda x, k=k: x * k):
            np.testing.assert_array_equal(broadcast(f, X), X * k)


def test_captured_numbers_keep_their_kind():
    for k in (1, 2.5, True, np.float32(2), np.float64(2), np.int8(3)):
        found = broadcast(lambda x: x * k, X.astype("f4"))
        wanted = X.astype("f4") * k
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def helper(x):
    return 2 * x


def helper_with_default(x, k=2.0):
    return x * k


def calls_helpers(x):
    return helper(x) + helper_with_default(x) + GLOBAL * x


GLOBAL = 1.0


def test_what_functions_read_may_change(monkeypatch):
    def expect(k):
        np.testing.assert_allclose(broadcast(calls_helpers, X), k * X)

    expect(5)
    for value, k in ((2.0, 6), (3, 7), (np.float64(4.0), 8), (np.float64(5.0), 9), (True, 5)):
        monkeypatch.setitem(globals(), "GLOBAL", value)
        expect(k)
    monkeypatch.setattr(helper_with_default, "__defaults__", (5.0,))
    expect(8)
    monkeypatch.setitem(globals(), "helper", lambda x: 3 * x)
    expect(9)
    monkeypatch.setattr(helper_with_default, "__code__", (lambda x, k=2.0: x * k * 2).__code__)
    expect(14)


def test_modules_may_change():
    module.c, module.f = 2.0, lambda x: x + 1

    def f(x):
        return module.f(x) * module.c

    np.testing.assert_allclose(broadcast(f, X), (X + 1) * 2)
    module.c = 3
    np.testing.assert_allclose(broadcast(f, X), (X + 1) * 3)
    module.f = lambda x: x
    np.testing.assert_allclose(broadcast(f, X), X * 3)


module = ModuleType("constants_of_a_user")


def test_captured_modules():
    import math as captured

    check(lambda x: captured.sin(x) * captured.pi, X)


def applied(f):
    return lambda x: f(x) + f(2.0)


@pytest.mark.parametrize("f", [math.sin, np.cos, lambda v: v * v, helper, LAYER.act, abs])
def test_captured_functions(f):
    check(applied(f), X)


@pytest.mark.parametrize("mode", ["a", "b", None])
def test_captured_choices(mode):
    check(lambda x: x if mode == "a" else -x, X)


@pytest.mark.parametrize("items", [(1.0, 2.0), (3.0,), (), (1.0, 2, True)])
def test_captured_tuples(items):
    def f(x):
        r = x * 0.0
        for c in items:
            r = r * x + c
        return r

    check(f, X)


def test_globals_that_choose(monkeypatch):
    def f(x):
        return x if MODE == "a" else -x

    for value, sign in (("a", 1), ("b", -1), (None, -1), ("a", 1)):
        monkeypatch.setitem(globals(), "MODE", value)
        np.testing.assert_array_equal(broadcast(f, X), sign * X)


MODE = "a"


def test_first_call_from_many_threads():
    def f(x):
        n = 0
        while x < 100 and n < 50:
            x, n = x * x + 1, n + 1
        return x, n

    x = np.linspace(0, 1, 1000)
    found = from_threads(lambda: broadcast(f, x))
    for each in found:
        assert all(np.array_equal(a, b) for a, b in zip(each, found[0]))
