"""`jvp`: what it takes and returns, what it refuses and how, and that it leaves everything as it was."""

import dataclasses
import functools
import math
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import Dual, DualContext, grad, jvp, overdub, stop_gradient
from ctxdispatch_contexts.reverse import DerivativeError


def product(a, b):
    return a * b


def norm(x):
    return np.sum(x * x)


# -- bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "primals, tangents, words",
    [
        ((np.ones(3),), (np.ones(2),), ["argument 0", "(2,)", "(3,)"]),
        ((np.ones(3),), (1.0,), ["argument 0", "()", "(3,)"]),
        ((np.ones(3),), (np.ones((1, 3)),), ["argument 0", "(1, 3)"]),
        ((np.ones(3),), (np.ones(3, complex),), ["argument 0", "complex128", "float64", "astype"]),
        ((np.ones(3),), (np.array(["a", "b", "c"]),), ["argument 0", "dtype"]),
        ((2.0,), (np.ones(2),), ["argument 0", "(2,)", "float"]),
        ((2.0,), ("one",), ["argument 0", "str", "float"]),
        ((2.0,), (1j,), ["argument 0", "complex", "float"]),
        ((3,), (1.0,), ["argument 0", "int", "float"]),
        ((True,), (1.0,), ["argument 0", "bool"]),
        ((np.arange(3),), (np.ones(3),), ["argument 0", "int64"]),
        (([1.0, 2.0],), ([1.0],), ["argument 0", "length 1", "length 2"]),
        (([1.0, 2.0],), (1.0,), ["argument 0", "float", "list"]),
        (({"a": 1.0},), ({"b": 1.0},), ["argument 0", "keys"]),
        (({"a": np.ones(2)},), ({"a": np.ones(3)},), ["argument 0['a']", "(3,)", "(2,)"]),
        (([np.ones(2), (1.0, 2.0)],), ([None, (1.0, np.ones(2))],), ["argument 0[1][1]", "(2,)"]),
        ((1.0,), (1.0, 1.0), ["1 primals", "2 tangents"]),
        (1.0, (1.0,), ["primals", "tuple", "float"]),
        ((1.0,), 1.0, ["tangents", "tuple", "float"]),
    ],
)
def test_tangents_that_do_not_fit(primals, tangents, words):
    with pytest.raises(DerivativeError) as caught:
        jvp(norm, primals, tangents)
    message = str(caught.value)
    assert __file__ in message
    assert not [w for w in words if w not in message], message


def test_second_argument_is_named():
    with pytest.raises(DerivativeError, match="argument 1"):
        jvp(product, (1.0, np.ones(2)), (1.0, np.ones(3)))


@pytest.mark.parametrize("what, kind", [(3.0, "float"), ("sin", "str"), (None, "NoneType"), ([sum], "list")])
def test_what_is_no_function(what, kind):
    with pytest.raises(DerivativeError, match=f"function, not a {kind}"):
        jvp(what, (1.0,), (1.0,))


def test_wrong_number_of_arguments_is_the_functions_own_error():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        jvp(product, (1.0,), (1.0,))


# -- structures ----------------------------------------------------------------------------------------------

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Ball:
    radius: float
    mass: float = 1.0

    def volume(self):
        return self.radius**3 * self.mass


class Spring:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return 0.5 * self.k * x * x


def test_tuples_lists_and_dicts_as_primals():
    f = lambda t, l, d: t[0] * l[1] + d["a"] * t[1][0]  # noqa: E731, E741
    primals = ((2.0, (3.0,)), [1.0, 4.0], {"a": 5.0, "n": 3})
    y, dy = jvp(f, primals, ((1.0, (10.0,)), [0.0, 100.0], {"a": 1000.0}))
    assert (y, dy) == (23.0, 4.0 + 200.0 + 3000.0 + 50.0)
    assert jvp(f, primals, ((1.0, None), None, {})) == (23.0, 4.0)
    assert jvp(f, primals, (None, None, None)) == (23.0, 0.0)


def test_namedtuples_dataclasses_and_objects_as_primals():
    assert jvp(lambda p: p.x * p.y, (Point(2.0, 3.0),), ((1.0, 10.0),))[1] == 23.0
    assert jvp(lambda b: b.volume(), (Ball(2.0),), (SimpleNamespace(radius=1.0),)) == (8.0, 12.0)
    assert jvp(lambda b: b.volume(), (Ball(2.0),), (SimpleNamespace(radius=1.0, mass=1.0),)) == (8.0, 20.0)
    assert jvp(lambda s, x: s(x), (Spring(3.0), 2.0), (SimpleNamespace(k=1.0), 1.0)) == (6.0, 8.0)


def test_structures_as_results():
    def f(x):
        return {"a": x, "b": [x * x, (3, "text")]}, Point(x, 2.0 * x)

    y, dy = jvp(f, (3.0,), (1.0,))
    assert y == ({"a": 3.0, "b": [9.0, (3, "text")]}, Point(3.0, 6.0))
    assert dy[0]["a"] == 1.0 and dy[0]["b"][0] == 6.0 and dy[0]["b"][1] == (None, None)
    assert tuple(dy[1]) == (1.0, 2.0)


def test_none_tangents_and_constant_results():
    assert jvp(product, (2.0, 3.0), (1.0, None)) == (6.0, 3.0)
    assert jvp(product, (2.0, 3), (1.0, None)) == (6.0, 3.0)
    assert jvp(lambda x: 5.0, (2.0,), (1.0,)) == (5.0, 0.0)
    assert jvp(lambda x: "text", (2.0,), (1.0,)) == ("text", None)
    y, dy = jvp(lambda x: np.ones(2), (2.0,), (1.0,))
    assert dy.tolist() == [0.0, 0.0]


def test_has_aux():
    assert jvp(lambda x: (x * x, "aux"), (3.0,), (1.0,), has_aux=True) == (9.0, 6.0, "aux")
    with pytest.raises(DerivativeError, match="has_aux=True needs a function that returns a pair"):
        jvp(lambda x: x, (3.0,), (1.0,), has_aux=True)


# -- dtypes and memory ---------------------------------------------------------------------------------------


def test_float32_stays():
    y, dy = jvp(lambda x: np.sin(x) * 2.0, (np.ones(3, np.float32),), (np.ones(3),))
    assert y.dtype == dy.dtype == np.float32
    y, dy = jvp(lambda x: x * x, (np.float32(2.0),), (1.0,))
    assert type(y) is type(dy) is np.float32


@pytest.mark.parametrize(
    "f", [lambda x: x, lambda x: x[:2], lambda x: x.T, lambda x: [x, x], lambda x: np.ravel(x)]
)
def test_results_own_their_memory(f):
    x, dx = np.arange(4.0), np.ones(4)
    _, dy = jvp(f, (x,), (dx,))
    for part in dy if isinstance(dy, list) else [dy]:
        assert not np.shares_memory(part, dx)
        part[...] = 7.0
    assert dx.tolist() == [1.0] * 4 and x.tolist() == [0.0, 1.0, 2.0, 3.0]
    if isinstance(dy, list):
        assert not np.shares_memory(dy[0], dy[1])


def test_arguments_stay_as_they_were():
    xs, dxs = [1.0, 2.0], [1.0, 0.0]
    assert jvp(lambda l: sum([v * v for v in l]), (xs,), (dxs,)) == (5.0, 2.0)  # noqa: E741
    assert (xs, dxs) == ([1.0, 2.0], [1.0, 0.0])


def test_called_again_with_other_types():
    for x, dx, expected in (
        (2.0, 1.0, 4.0), (np.float32(2), 1.0, 4.0), (np.ones(2), np.ones(2), [2.0, 2.0]), (2.0, 3, 12.0),
        (np.ones((2, 1)), np.ones((2, 1)), [[2.0], [2.0]]), (1j, 1.0, 2j), (2.0, 1.0, 4.0),
    ):  # fmt: skip
        dy = jvp(lambda x: x * x, (x,), (dx,))[1]
        np.testing.assert_array_equal(dy, expected)
        assert type(dy) is type(x)


# -- callables -----------------------------------------------------------------------------------------------


def recursive(x, n):
    return x if n == 0 else math.sin(recursive(x, n - 1))


def test_recursion():
    expected = math.cos(0.5) * math.cos(math.sin(0.5))
    assert jvp(recursive, (0.5, 2), (1.0, None))[1] == pytest.approx(expected)


def test_closures_methods_and_partials():
    k = 3.0
    assert jvp(lambda x: k * x, (2.0,), (1.0,)) == (6.0, 3.0)
    assert jvp(Spring(3.0).__call__, (2.0,), (1.0,)) == (6.0, 6.0)
    assert jvp(Spring(3.0), (2.0,), (1.0,)) == (6.0, 6.0)
    assert jvp(functools.partial(product, b=4.0), (2.0,), (1.0,)) == (8.0, 4.0)
    assert jvp(math.sin, (0.0,), (1.0,)) == (0.0, 1.0)
    assert jvp(np.sin, (np.zeros(1),), (np.ones(1),))[1].tolist() == [1.0]


def test_fresh_closures_again_and_again():
    for k in range(20):
        assert jvp(lambda x, y=2.0: k * x * y, (3.0,), (1.0,)) == (6.0 * k, 2.0 * k)  # noqa: B023
        assert jvp(lambda x: k * x, (3.0,), (1.0,)) == (3.0 * k, k)  # noqa: B023


def pick(functions, i):
    for j, function in enumerate(functions):
        if j == i:
            return function
    return None


def with_defaults(x):
    def scaled(y, a=x * x, *, b=3.0 * x):
        return y * a * b

    chosen = pick([scaled, scaled], 1)
    return chosen(x) + chosen(x, 2.0) + chosen(x, b=x)  # 3 x^4 + 6 x^2 + x^4


def test_defaults_that_vary_of_a_function_chosen_at_run_time():
    """In both modes: the default of a function is where it was made."""
    expected = 16 * 0.6**3 + 12 * 0.6
    assert jvp(with_defaults, (0.6,), (1.0,))[1] == pytest.approx(expected)
    assert grad(with_defaults)(0.6) == pytest.approx(expected)


def generating(x):
    yield x
    yield x * x


def test_generators_are_refused():
    with pytest.raises(DerivativeError, match="generator"):
        jvp(generating, (2.0,), (1.0,))
    assert jvp(lambda x: sum(v * x for v in (1.0, 2.0)), (2.0,), (1.0,)) == (6.0, 3.0)


# -- as the plain call ---------------------------------------------------------------------------------------


def shouting(x):
    print("x is", x)
    if x < 0:
        raise ValueError("negative")
    return x / (x - 1.0)


def test_prints_once_and_raises_as_the_plain_call(capsys):
    jvp(shouting, (3.0,), (1.0,))
    assert capsys.readouterr().out == "x is 3.0\n"
    with pytest.raises(ValueError, match="^negative$"):
        jvp(shouting, (-1.0,), (1.0,))
    with pytest.raises(ZeroDivisionError):
        jvp(shouting, (1.0,), (1.0,))


def test_stop_gradient():
    assert jvp(lambda x: stop_gradient(x) * x, (3.0,), (1.0,)) == (9.0, 3.0)


def test_missing_rule_is_named():
    with pytest.raises(DerivativeError, match="frombuffer.*no derivative rule"):
        jvp(lambda x: np.frombuffer(x).sum(), (np.ones(2),), (np.ones(2),))


def of_sign(x):
    return np.sign(np.exp(1j * x) * x).real


def test_sign_of_a_complex_number_is_its_direction():
    slope = (of_sign(0.5 + 1e-6) - of_sign(0.5 - 1e-6)) / 2e-6
    assert slope == pytest.approx(-np.sin(0.5))
    assert jvp(of_sign, (0.5,), (1.0,))[1] == pytest.approx(slope)
    assert grad(of_sign)(0.5) == pytest.approx(slope)
    assert jvp(np.sign, (0.5,), (1.0,))[1] == 0.0


def test_overdub_is_the_same():
    y, dy = overdub(DualContext(), product, Dual(2.0, 1.0), 3.0)
    assert (y, dy) == jvp(product, (2.0, 3.0), (1.0, None))


@pytest.mark.parametrize("f, args", [
    (np.divmod, (np.array([5.3]), np.array([2.0]))),
    (np.linalg.lstsq, (np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]]), np.array([1.0, 0.5, -2.0]))),
])  # fmt: skip
def test_tangents_of_several_arguments_add_up_in_each_of_several_results(f, args):
    tangents = tuple(0.5 + np.arange(float(a.size)).reshape(a.shape) for a in args)
    whole = jvp(lambda a, b: f(a, b), args, tangents)[1]
    first = jvp(lambda a, b: f(a, b), args, (tangents[0], None))[1]
    second = jvp(lambda a, b: f(a, b), args, (None, tangents[1]))[1]
    assert len(whole) == len(first)
    for total, x, y in zip(whole, first, second, strict=True):
        assert total is None or np.allclose(total, x + y, rtol=1e-12)
