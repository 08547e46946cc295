"""How the functions that `grad`, `value_and_grad`, `vjp` and `overdub(ADContext(), ...)` make may be
called."""

import functools
import math

import numpy as np
import pytest

from ctxdispatch import grad, overdub, value_and_grad, vjp
from ctxdispatch.contexts import ADContext
from ctxdispatch_contexts.reverse import DerivativeError


def volume(x, y=2.0, *, z=1.0):
    return x * y**2 * z


def area(x, y=3.0):
    return x * y**2


def first_two(*xs):
    return xs[0] * xs[1]


def scaled(x, **options):
    return x * options["by"]


class Line:
    def __init__(self, slope):
        self.slope = slope

    def at(self, x):
        return self.slope * x * x

    def __call__(self, x):
        return self.slope * x

    @staticmethod
    def square(x):
        return x * x

    @classmethod
    def cube(cls, x):
        return x**3


@pytest.mark.parametrize(
    "argnums, expected",
    [
        (0, 4.0),
        (1, 12.0),
        (-1, 12.0),
        (-2, 4.0),
        ((0, 1), (4.0, 12.0)),
        ((1, 0), (12.0, 4.0)),
        ((0, -1), (4.0, 12.0)),
        ([0, 1], (4.0, 12.0)),
        ((0, 0), (4.0, 4.0)),
        ((1,), (12.0,)),
        ((), ()),
    ],
)
def test_argnums(argnums, expected):
    for f in (area, volume):
        assert grad(f, argnums=argnums)(3.0, 2.0) == expected
        assert value_and_grad(f, argnums=argnums)(3.0, 2.0) == (12.0, expected)


def test_argnums_out_of_range():
    with pytest.raises(DerivativeError, match="argnums 2 is out of range: area has 2 positional arguments"):
        grad(area, argnums=2)(3.0, 2.0)
    with pytest.raises(DerivativeError, match="argnums -3 is out of range"):
        grad(area, argnums=(0, -3))(3.0, 2.0)


def test_defaults_and_keywords():
    assert grad(area)(2.0) == 9.0
    assert grad(area)(2.0, y=5.0) == 25.0
    assert grad(area)(x=2.0, y=5.0) == 25.0
    assert grad(area, argnums=1)(2.0, y=5.0) == 20.0
    assert grad(volume)(3.0, z=4.0) == 16.0
    assert grad(volume)(3.0, y=1.0, z=4.0) == 4.0
    assert grad(scaled)(2.0, by=3.0) == 3.0


def test_an_argument_that_was_left_out_has_no_gradient():
    with pytest.raises(DerivativeError, match="argument 'y' .* was left out of the call; pass it"):
        grad(area, argnums=1)(2.0)


@pytest.mark.parametrize(
    "f, args, kwargs",
    [(area, (1.0, 2.0, 3.0), {}), (area, (1.0,), {"q": 2.0}), (volume, (1.0, 2.0, 3.0), {})],
)
def test_calls_that_do_not_fit_are_the_functions_own_errors(f, args, kwargs):
    with pytest.raises(TypeError) as plain:
        f(*args, **kwargs)
    for call in (grad(f), functools.partial(vjp, f)):
        with pytest.raises(TypeError) as differentiated:
            call(*args, **kwargs)
        assert str(differentiated.value) == str(plain.value)


def test_star_arguments():
    assert grad(first_two)(2.0, 3.0) == 3.0
    assert grad(first_two, argnums=-1)(2.0, 3.0) == 2.0
    assert grad(first_two, argnums=(0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert grad(first_two, argnums=2)(2.0, 3.0, 4.0) == 0.0


def test_methods_objects_and_partials():
    line = Line(3.0)
    assert grad(line.at)(2.0) == 12.0
    assert grad(line)(2.0) == 3.0
    assert grad(Line.square)(2.0) == 4.0
    assert grad(Line.cube)(2.0) == 12.0
    owner, x = grad(Line.at, argnums=(0, 1))(line, 2.0)
    assert (owner.slope, x) == (4.0, 12.0)
    assert grad(functools.partial(volume, z=3.0))(3.0) == 12.0
    assert grad(functools.partial(volume, 3.0))(2.0) == 12.0


def test_builtins_and_ufuncs():
    assert grad(math.sin)(0.0) == 1.0
    assert grad(np.sin)(0.0) == 1.0
    np.testing.assert_array_equal(grad(np.sum)(np.ones(3)), np.ones(3))


def test_functions_made_in_a_loop_have_gradients_of_their_own():
    assert [grad(lambda x, k=k: x * k)(1.0) for k in (1.0, 2.0)] == [1.0, 2.0]
    assert [grad((lambda k: lambda x: x * k)(k))(1.0) for k in (1.0, 2.0)] == [1.0, 2.0]


def test_the_gradient_is_called_like_the_function():
    assert grad(area).__name__ == "area"
    assert grad(area) is grad(area)


@pytest.mark.parametrize("x", [3.0, np.float64(3.0), np.float32(3.0), np.array(3.0), 3.0 + 1.0j])
def test_the_gradient_is_of_the_arguments_class(x):
    found = grad(lambda v: abs(v) ** 2)(x)
    assert type(found) is type(x)
    if isinstance(x, (np.ndarray, np.generic)):
        assert found.dtype == x.dtype and found.shape == x.shape


# has_aux


def with_aux(x, y=1.0):
    return x * x * y, {"seen": x, "what": "square"}


def with_aux_of_a_branch(x):
    if x > 0:
        return x * x, "above"
    return -x, "below"


def test_has_aux():
    aux = {"seen": 3.0, "what": "square"}
    assert grad(with_aux, has_aux=True)(3.0) == (6.0, aux)
    assert value_and_grad(with_aux, has_aux=True)(3.0) == ((9.0, aux), 6.0)
    assert grad(with_aux, argnums=(1, 0), has_aux=True)(3.0, 2.0) == ((9.0, 12.0), aux)
    assert value_and_grad(with_aux, argnums=-1, has_aux=True)(3.0, y=2.0) == ((18.0, aux), 9.0)


def test_has_aux_on_either_side_of_a_branch():
    f = grad(with_aux_of_a_branch, has_aux=True)
    assert (f(3.0), f(-3.0)) == ((6.0, "above"), (-1.0, "below"))


def test_aux_is_the_very_object():
    kept = []
    _, aux = grad(lambda x: (x * x, kept), has_aux=True)(3.0)
    assert aux is kept


def test_aux_has_no_derivative():
    assert grad(lambda x: (x, x * 100.0), has_aux=True)(3.0) == (1.0, 300.0)


# vjp and ADContext


def test_vjp_has_one_cotangent_per_positional_argument():
    y, pullback = vjp(area, 2.0, 3.0)
    assert (y, pullback(1.0), pullback(10.0)) == (18.0, (9.0, 12.0), (90.0, 120.0))
    assert vjp(area, 2.0)[1](1.0) == (9.0,)
    assert vjp(area, 2.0, y=3.0)[1](1.0) == (9.0,)
    assert vjp(volume, 3.0, 2.0, z=2.0)[1](1.0) == (8.0, 24.0)


def test_vjp_of_results_that_are_no_numbers():
    y, pullback = vjp(lambda x: {"double": 2.0 * x, "parts": (x, 3)}, 5.0)
    assert y == {"double": 10.0, "parts": (5.0, 3)}
    assert pullback({"double": 1.0, "parts": (1.0, None)}) == (3.0,)
    assert pullback({"double": None, "parts": (1.0, None)}) == (1.0,)


def test_the_context_by_its_plugin_name():
    y, pullback = overdub(ADContext(), area, 2.0, 3.0)
    assert (y, pullback(1.0)) == (18.0, (9.0, 12.0))
    assert overdub(ADContext(argnums=1), area, 2.0, 3.0)[1](1.0)[1] == 12.0


def test_the_gradient_follows_another_type_of_argument():
    f = grad(area)
    assert type(f(2.0)) is float
    assert f(np.float32(2.0)).dtype == np.float32
    np.testing.assert_array_equal(vjp(area, np.array([1.0, 2.0]), 3.0)[1](np.ones(2))[0], [9.0, 9.0])
    assert f(2.0) == 9.0


def newton(a, x):
    """The cube root of a."""
    for _ in range(50):
        step = x**3 - a
        if abs(step) < 1e-13:
            return x
        x -= step / (3 * x**2)
    return -1.0


def newton_else(a, x):
    for _ in range(50):
        step = x**3 - a
        if abs(step) < 1e-13:
            break
        x -= step / (3 * x**2)
    else:
        return -1.0
    return x


@pytest.mark.parametrize("f", [newton, newton_else])
def test_a_loop_that_returns_early(f):
    assert grad(f)(5.0, 2.0) == pytest.approx(5.0 ** (-2 / 3) / 3)
    assert grad(f)(np.float64(5.0), 2.0) == pytest.approx(5.0 ** (-2 / 3) / 3)


def test_vjp_with_aux():
    y, pullback, aux = vjp(lambda x: (x * x, {"seen": x}), 3.0, has_aux=True)
    assert (y, pullback(2.0), aux) == (9.0, (12.0,), {"seen": 3.0})
    with pytest.raises(TypeError, match="pair"):
        vjp(lambda x: x, 3.0, has_aux=True)


@pytest.mark.parametrize("argnums", [1.0, None, "0", np.float64(0)])
def test_argnums_of_other_types(argnums):
    with pytest.raises(TypeError, match="must be the index of a positional argument"):
        grad(area, argnums)


def test_argnums_of_a_context_out_of_range():
    with pytest.raises(TypeError, match="argnums 5 is out of range: area has 2 positional arguments"):
        overdub(ADContext(argnums=5), area, 1.0, 2.0)


def test_no_repr_of_what_is_called():
    class Silent:
        def __call__(self, x):
            return x * x

        def __repr__(self):
            raise AssertionError("shown")

    assert grad(Silent())(3.0) == 6.0
