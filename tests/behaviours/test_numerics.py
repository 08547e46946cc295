"""Behaviours 77 to 81 and 83: results that are no real scalar, types, powers, edges, dtypes, shapes, NumPy.

78: a function that returns an int on one path and a float on another is what Julia calls type-unstable.
80: at a tie, `np.maximum` and `np.minimum` give each side half, `max` and `min` all to the one they return.
"""

import math
import operator

import numpy as np
import pytest

from ctxdispatch import check_grads, grad, value_and_grad, vjp


def central(f, x, eps=1e-6):
    return (f(x + eps) - f(x - eps)) / (2 * eps)


def central_array(f, x, eps=1e-6):
    g = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += eps
        down[i] -= eps
        g[i] = (f(up) - f(down)) / (2 * eps)
    return g


def agree(f, x, *args, rtol=1e-5, atol=1e-7):
    """grad and vjp of a scalar function of one array against central differences; returns the gradient."""
    expected = central_array(lambda v: f(v, *args), x)
    value, g = value_and_grad(f)(x, *args)
    assert value == f(x, *args)
    assert type(g) is np.ndarray and g.shape == x.shape and g.dtype == x.dtype
    np.testing.assert_allclose(g, expected, rtol=rtol, atol=atol)
    np.testing.assert_allclose(vjp(f, x, *args)[1](1.0)[0], expected, rtol=rtol, atol=atol)
    return g


# -- 77 results that are no real scalar ----------------------------------------------------------------------


def array_result(x):
    return x * 2.0


def complex_result(x):
    return x * 1j


def tuple_result(x):
    return x, x * x


def none_result(x):
    x * x


def text_result(x):
    return str(x)


@pytest.mark.parametrize(
    "f, x, words",
    [
        (array_result, np.ones((2, 3)), ("scalar", "(2, 3)", ".sum()", "vjp")),
        (complex_result, 2.0, ("real", "complex", ".real", "vjp")),
        (tuple_result, 2.0, ("scalar", "tuple", "has_aux", "vjp")),
        (none_result, 2.0, ("scalar", "NoneType")),
        (text_result, 2.0, ("scalar", "str")),
    ],
)
def test_077_gradient_of_what_is_no_real_scalar(f, x, words):
    for gradient in (grad(f), value_and_grad(f)):
        with pytest.raises(TypeError) as caught:
            gradient(x)
        message = str(caught.value)
        for word in words:
            assert word in message
        assert f"{__file__}:{f.__code__.co_firstlineno + 1} in {f.__name__}" in message


def test_077_vjp_differentiates_them():
    ones = np.ones((2, 3))
    np.testing.assert_array_equal(vjp(array_result, ones)[1](ones)[0], 2.0 * ones)
    y, pullback = vjp(complex_result, 2.0)
    assert y == 2j
    assert pullback(1.0)[0] == 0.0
    assert abs(pullback(1j)[0]) == 1.0
    assert vjp(tuple_result, 3.0)[1]((1.0, 10.0)) == (61.0,)


def zero_dimensional(x):
    return np.asarray(x.sum())


def test_077_zero_dimensional_array_is_a_scalar():
    np.testing.assert_array_equal(grad(zero_dimensional)(np.ones(3)), np.ones(3))


def with_aux(x):
    return x * x, {"half": x / 2, "text": "aux"}


def test_077_auxiliary_results():
    assert grad(with_aux, has_aux=True)(3.0) == (6.0, {"half": 1.5, "text": "aux"})
    assert value_and_grad(with_aux, has_aux=True)(3.0) == ((9.0, {"half": 1.5, "text": "aux"}), 6.0)


# -- 78 decisions on types -----------------------------------------------------------------------------------


def by_isinstance(x):
    if isinstance(x, np.ndarray):
        return (x * x).sum()
    if isinstance(x, (list, tuple)):
        return x[0] * x[1]
    return x * 3.0 if isinstance(x, float) else 0.0


def test_078_isinstance():
    assert grad(by_isinstance)(2.0) == 3.0
    np.testing.assert_array_equal(grad(by_isinstance)(np.array([1.0, 2.0])), [2.0, 4.0])
    assert grad(by_isinstance)((2.0, 3.0)) == (3.0, 2.0)
    assert grad(by_isinstance)([2.0, 3.0]) == [3.0, 2.0]


def by_type(x, n):
    scale = 2.0 if type(n) is int else 5.0
    return x * n * scale if hasattr(x, "real") and callable(math.sin) else x


def test_078_type_and_hasattr():
    assert grad(by_type)(1.5, 3) == 6.0
    assert grad(by_type)(1.5, 3.0) == 15.0


def int_or_float(x):
    return x * x if x > 0 else 0


def int_or_float_in_a_loop(xs):
    total = 0
    for x in xs:
        total += x if x > 0 else 1
    return total * total


def test_078_result_of_unstable_type():
    assert value_and_grad(int_or_float)(3.0) == (9.0, 6.0)
    assert value_and_grad(int_or_float)(-3.0) == (0, 0.0)
    g = grad(int_or_float_in_a_loop)([1.0, -2.0, 3.0])
    assert [each or 0.0 for each in g] == [10.0, 0.0, 10.0]


def starts_as_int(x, n):
    y = 1
    for _ in range(n):
        y = y * x
    return y


def none_then_float(x):
    best = None
    for k in (1.0, 3.0, 2.0):
        if best is None or k * x > best:
            best = k * x
    return best


def test_078_variable_that_changes_its_type():
    assert value_and_grad(starts_as_int)(2.0, 3) == (8.0, 12.0)
    assert value_and_grad(starts_as_int)(2.0, 0) == (1, 0.0)
    assert value_and_grad(none_then_float)(2.0) == (6.0, 3.0)


def matches_type(x):
    if np.isscalar(x) and np.ndim(x) == 0 and not np.iscomplexobj(x):
        return x * 7.0
    return np.sum(x) * 2.0


def test_078_numpys_questions():
    assert grad(matches_type)(1.0) == 7.0
    np.testing.assert_array_equal(grad(matches_type)(np.ones(2)), [2.0, 2.0])


# -- 79 integers, booleans, powers ---------------------------------------------------------------------------


def weighted(x, n, flag, name):
    return x * n if flag and name == "on" else x


def test_079_integers_booleans_and_text_have_none():
    assert vjp(weighted, 2.0, 3, True, "on")[1](1.0) == (3.0, None, None, None)
    assert vjp(weighted, 2.0, 3, False, "on")[1](1.0) == (1.0, None, None, None)
    assert vjp(weighted, 2.0, np.int64(3), np.True_, "on")[1](1.0) == (3.0, None, None, None)


def scaled_by_index(x, index):
    return (x[index] * index).sum()


def test_079_integer_array_has_none():
    dx, dindex = vjp(scaled_by_index, np.array([1.0, 2.0, 3.0]), np.array([2, 1, 2]))[1](1.0)
    np.testing.assert_array_equal(dx, [0.0, 1.0, 4.0])
    assert dindex is None


def power(x, p):
    return x**p


def np_power(x, p):
    return np.power(x, p)


def math_pow(x, p):
    return math.pow(x, p)


def builtin_pow(x, p):
    return pow(x, p)


@pytest.mark.parametrize("f", [power, math_pow, builtin_pow])
@pytest.mark.parametrize("x", [2.0, -1.5])
@pytest.mark.parametrize("p", [3, 2, 1, 0, -1, -2])
def test_079_integer_powers(f, x, p):
    value, g = value_and_grad(f)(x, p)
    assert value == pytest.approx(x**p)
    assert g == pytest.approx(p * x ** (p - 1) if p else 0.0)
    assert vjp(f, x, p)[1](1.0)[1] is None


@pytest.mark.parametrize("f", [power, np_power, math_pow, builtin_pow])
def test_079_real_powers_and_their_exponent(f):
    for x, p in ((2.0, 0.5), (1.7, -1.3), (3.0, 2.0)):
        dx, dp = grad(f, argnums=(0, 1))(x, p)
        assert dx == pytest.approx(p * x ** (p - 1))
        assert dp == pytest.approx(math.log(x) * x**p)


def test_079_powers_of_arrays():
    x = np.array([[1.0, -2.0], [0.5, 3.0]])
    for p in (3, 2, 1, 0, -1, 2.0, np.array([2.0, 3.0])):
        agree(sum_of_powers, x, p)
    agree(sum_of_powers, np.abs(x), -0.5)
    agree(sum_of_exponentials, np.array([0.3, -1.2, 2.0]), 2.0)


def sum_of_powers(x, p):
    return (x**p).sum()


def sum_of_exponentials(p, base):
    return (base**p).sum()


def square_by_power(x):
    return x**2


def third_by_product(x):
    return x * x * x


def test_079_powers_at_zero():
    assert grad(square_by_power)(0.0) == 0.0
    assert grad(power)(0.0, 1) == 1.0
    assert grad(power)(0.0, 0) == 0.0
    assert grad(power)(0.0, 3) == 0.0
    assert grad(third_by_product)(0.0) == 0.0
    np.testing.assert_array_equal(grad(sum_of_powers)(np.zeros(2), 2), [0.0, 0.0])
    np.testing.assert_array_equal(grad(sum_of_powers)(np.zeros(2), 1), [1.0, 1.0])
    np.testing.assert_array_equal(grad(sum_of_powers)(np.zeros(2), 0), [0.0, 0.0])


def root_of_square(x):
    return math.sqrt(x**2)


def norm_of(x):
    return np.linalg.norm(x)


def test_079_root_of_a_square():
    assert grad(root_of_square)(-3.0) == -1.0
    np.testing.assert_allclose(grad(norm_of)(np.array([3.0, -4.0])), [0.6, -0.8])


def test_079_norm_at_zero():
    np.testing.assert_array_equal(grad(norm_of)(np.zeros(2)), [0.0, 0.0])


def test_079_root_of_a_square_at_zero():
    assert grad(root_of_square)(0.0) == 0.0


def integer_division(x, n):
    return (x // n) * 10.0 + x % n


def test_079_floor_division_and_remainder():
    assert grad(integer_division)(7.5, 2) == 1.0
    assert grad(integer_division)(-7.5, 2.0) == 1.0
    assert grad(integer_division, argnums=1)(7.5, 2.0) == -3.0


# -- 80 nan, inf, ties, steps --------------------------------------------------------------------------------


def absolute(x):
    return abs(x)


def fabs(x):
    return math.fabs(x)


def np_abs(x):
    return np.abs(x)


@pytest.mark.parametrize("f", [absolute, fabs, np_abs])
def test_080_absolute_value_and_its_kink(f):
    assert [grad(f)(x) for x in (2.0, -2.0, 0.0, math.inf, -math.inf)] == [1.0, -1.0, 0.0, 1.0, -1.0]


def larger(a, b):
    return max(a, b)


def smaller(a, b):
    return min(a, b)


def np_larger(a, b):
    return np.maximum(a, b)


def np_smaller(a, b):
    return np.minimum(a, b)


@pytest.mark.parametrize("f, wins", [(larger, 1), (np_larger, 1), (smaller, 0), (np_smaller, 0)])
def test_080_max_and_min(f, wins):
    expected = (0.0, 1.0) if wins else (1.0, 0.0)
    assert grad(f, argnums=(0, 1))(2.0, 3.0) == expected
    assert grad(f, argnums=(0, 1))(3.0, 2.0) == expected[::-1]


@pytest.mark.parametrize("f", [larger, smaller, np_larger, np_smaller])
def test_080_ties_share_one(f):
    da, db = grad(f, argnums=(0, 1))(2.0, 2.0)
    assert da + db == 1.0
    assert min(da, db) >= 0.0


def test_080_ties_by_convention():
    assert grad(np_larger, argnums=(0, 1))(2.0, 2.0) == (0.5, 0.5)
    assert grad(larger, argnums=(0, 1))(2.0, 2.0) == (1.0, 0.0)


def max_of_array(x):
    return x.max()


def test_080_tie_in_a_reduction():
    g = grad(max_of_array)(np.array([1.0, 3.0, 3.0]))
    assert g[0] == 0.0
    assert g.sum() == 1.0 and g.min() >= 0.0


def relu_by_max(x):
    return np.maximum(x, 0).sum()


def clamp(x):
    return np.clip(x, -1.0, 1.0).sum()


def clamp_number(x):
    return max(-1.0, min(1.0, x))


def test_080_clamp():
    x = np.array([-2.0, -0.5, 0.5, 2.0])
    np.testing.assert_array_equal(grad(clamp)(x), [0.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(grad(relu_by_max)(x), [0.0, 0.0, 1.0, 1.0])
    assert [grad(clamp_number)(float(each)) for each in x] == [0.0, 1.0, 1.0, 0.0]


def steps(x):
    return math.floor(x) + math.ceil(x) + round(x) + math.trunc(x) + int(x) + x * 2.0


def array_steps(x):
    rounded = np.floor(x) + np.ceil(x) + np.round(x) + np.trunc(x) + np.sign(x) + np.rint(x)
    return (rounded + 2.0 * x).sum()


def only_steps(x):
    return float(math.floor(x)) * 3.0


def test_080_rounding_is_zero():
    assert grad(steps)(1.3) == 2.0
    assert grad(only_steps)(1.3) == 0.0
    np.testing.assert_array_equal(grad(array_steps)(np.array([1.3, -0.4])), [2.0, 2.0])


def copy_sign(x, y):
    return math.copysign(x, y)


def np_copy_sign(x, y):
    return np.copysign(x, y)


@pytest.mark.parametrize("f", [copy_sign, np_copy_sign])
@pytest.mark.parametrize("x, y", [(2.0, 3.0), (2.0, -3.0), (-2.0, 3.0), (-2.0, -3.0)])
def test_080_copysign_is_sign_times_sign(f, x, y):
    assert grad(f, argnums=(0, 1))(x, y) == (math.copysign(1.0, x) * math.copysign(1.0, y), 0.0)


def avoids_nan(x):
    return np.log(x[x > 0]).sum()


def where_with_nan_inside(x):
    safe = np.where(x > 0, x, 1.0)
    return np.where(x > 0, np.log(safe), 0.0).sum()


def test_080_values_left_out_do_not_poison():
    x = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_array_equal(grad(avoids_nan)(x), [0.0, 0.0, 0.5])
    np.testing.assert_array_equal(grad(where_with_nan_inside)(x), [0.0, 0.0, 0.5])


def product_of_first_two(x):
    return x[0] * x[1]


def test_080_nan_and_inf_pass_through():
    assert math.isnan(grad(third_by_product)(math.nan))
    assert grad(square_by_power)(math.inf) == math.inf
    g = grad(product_of_first_two)(np.array([2.0, 3.0, math.nan]))
    np.testing.assert_array_equal(g, [3.0, 2.0, 0.0])


def logistic(x):
    return math.exp(-x) / (1.0 + math.exp(-x))


def nan_to_num(x):
    return (np.nan_to_num(x) * 3.0).sum()


def nan_functions(x):
    return np.nansum(x * x)


def test_080_functions_that_replace_nan():
    x = np.array([1.0, math.nan, 2.0])
    np.testing.assert_array_equal(grad(nan_to_num)(x), [3.0, 0.0, 3.0])
    np.testing.assert_array_equal(grad(nan_functions)(x)[[0, 2]], [2.0, 4.0])


# -- 81 dtypes and shapes ------------------------------------------------------------------------------------


def mixed_precision(x, w):
    return (np.tanh(x * 2.0) @ w + x.mean() ** 2 + 1).sum()


def test_081_float32_stays_float32():
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    w = np.ones((3, 2), np.float32)
    value, (dx, dw) = value_and_grad(mixed_precision, argnums=(0, 1))(x, w)
    assert value.dtype == np.float32
    assert dx.dtype == dw.dtype == np.float32
    assert dx.shape == x.shape and dw.shape == w.shape
    wide = grad(mixed_precision, argnums=(0, 1))(x.astype(float), w.astype(float))
    np.testing.assert_allclose(dx, wide[0], rtol=1e-5)
    np.testing.assert_allclose(dw, wide[1], rtol=1e-5)


def times_double(x, y):
    return (x * y).sum()


def test_081_cotangent_has_its_primals_precision():
    single, double = np.ones(3, np.float32), np.arange(3.0)
    dsingle, ddouble = grad(times_double, argnums=(0, 1))(single, double)
    assert (dsingle.dtype, ddouble.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(dsingle, double)
    dhalf = grad(times_double)(np.ones(3, np.float16), double)
    assert dhalf.dtype == np.float16


def test_081_numpy_scalars_keep_their_type():
    for cls in (np.float32, np.float64):
        g = grad(square_by_power)(cls(3.0))
        assert g == 6.0 and type(g) is cls
    assert type(grad(square_by_power)(3.0)) is float


def real_of_complex(x, z):
    return (x * z).real.sum()


def test_081_real_arguments_have_real_gradients():
    z = np.array([1 + 2j, 3 - 1j])
    g = grad(real_of_complex)(np.array([1.0, 2.0]), z)
    assert g.dtype == np.float64
    np.testing.assert_array_equal(g, [1.0, 3.0])
    gz = grad(real_of_complex, argnums=1)(np.array([1.0, 2.0]), z)
    assert gz.dtype == np.complex128
    np.testing.assert_array_equal(gz, [1.0, 2.0])
    assert grad(abs_squared)(3.0) == pytest.approx(2.0 * 3.0 * 5.0)
    assert type(grad(abs_squared)(3.0)) is float


def abs_squared(x):
    return abs(x * (1 + 2j)) ** 2


SHAPES = [((3,), (2, 3)), ((2, 1), (1, 3)), ((), (2, 3)), ((1, 1), (2, 3)), ((2, 3), (2, 3)), ((1,), ())]


@pytest.mark.parametrize("a, b", SHAPES)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "truediv"])
def test_081_broadcast_operands_get_their_own_shape(a, b, op):
    rng = np.random.default_rng(1)
    x, y = rng.uniform(1, 2, a), rng.uniform(1, 2, b)
    f = OPERATIONS[op]
    dx, dy = grad(f, argnums=(0, 1))(x, y)
    assert np.shape(dx) == a and np.shape(dy) == b
    np.testing.assert_allclose(dx, central_array(lambda v: f(v, y), np.asarray(x)), rtol=1e-6)
    np.testing.assert_allclose(dy, central_array(lambda v: f(x, v), np.asarray(y)), rtol=1e-6)


def added(x, y):
    return ((x + y) ** 2).sum()


def subtracted(x, y):
    return ((x - y) ** 2).sum()


def multiplied(x, y):
    return np.sin(x * y).sum()


def divided(x, y):
    return np.exp(x / y).sum()


OPERATIONS = {"add": added, "sub": subtracted, "mul": multiplied, "truediv": divided}


def number_times_array(k, x):
    return (k * x).sum()


def test_081_number_times_array():
    dk, dx = grad(number_times_array, argnums=(0, 1))(2.0, np.array([1.0, 4.0]))
    assert type(dk) is float and dk == 5.0
    np.testing.assert_array_equal(dx, [2.0, 2.0])


def three(a, b, c):
    return a * b + c


def splatted(x):
    return three(*x)


def test_081_splatted_array_has_an_array():
    g = grad(splatted)(np.array([2.0, 3.0, 4.0]))
    assert type(g) is np.ndarray
    np.testing.assert_array_equal(g, [3.0, 2.0, 1.0])
    assert grad(splatted)((2.0, 3.0, 4.0)) == (3.0, 2.0, 1.0)
    assert grad(splatted)([2.0, 3.0, 4.0]) == [3.0, 2.0, 1.0]


def test_081_shape_of_a_constant_derivative():
    np.testing.assert_array_equal(grad(plain_sum)(np.ones((2, 3), np.float32)), np.ones((2, 3)))
    np.testing.assert_array_equal(grad(ignores)(np.ones((2, 3)), 1.0), np.zeros((2, 3)))
    g = grad(plain_sum)(np.ones((2, 3)))
    g += 1.0  # an array of its own, not a broadcast view
    assert g.flags.owndata or g.base is not None and g.flags.writeable


def plain_sum(x):
    return x.sum()


def ignores(x, y):
    return y * 2.0


def test_081_empty_arrays():
    g = grad(plain_sum)(np.zeros((0, 3)))
    assert g.shape == (0, 3)
    assert grad(added)(np.zeros((0,)), 1.0).shape == (0,)


# -- 83 NumPy ------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(3)
MATRIX = RNG.uniform(0.5, 1.5, (3, 4))
CUBE = RNG.uniform(0.5, 1.5, (2, 3, 4))
VECTOR = RNG.uniform(0.5, 1.5, 5)


def row_and_column(x):
    return (x[1] * x[2]).sum() + (x[:, 0] ** 2).sum() + x[0, 1] * x[-1, -1]


def slices(x):
    return (x[1:, ::2] * x[:-1, 1::2]).sum() + x[::-1].ravel()[3] * x[..., -1].sum()


def fancy(x):
    return (x[[0, 2, 2]] ** 2).sum() + x[[0, 1], [3, 3]].prod() + (x[:, [1, 1]] * x[:, None, 0]).sum()


def masked(x):
    return (x[x > 1.0] ** 3).sum()


def new_axes(x):
    return (x[:, None, :] * x[None, :, :]).sum() + (x[np.newaxis, ..., 0]).sum()


def views(x):
    flat = x.reshape(-1)
    part = flat[2:8].reshape(2, 3)
    return (part.T @ part).sum() + flat[::3].sum() * part[0, 0]


def reshapes(x):
    return (x.reshape(2, 6) @ x.T.reshape(6, 2)).sum() + (x.ravel() * x.flatten()[::-1]).sum()


def squeezes(x):
    y = np.expand_dims(x, 1)
    return (np.squeeze(y, axis=1) * x).sum() + y.squeeze().sum()


def transposes(x):
    y = np.swapaxes(x, 0, 1)[2, 2] * np.moveaxis(x, 0, -1)[1, 0]
    return (x.T @ x).sum() + np.transpose(x)[0, 1] ** 2 + y


def stacks(x):
    s = np.stack([x, 2.0 * x, x * x])
    c = np.concatenate([x, x[:1] ** 2], axis=0)
    return (s[2] * s[0]).sum() + (c[-1] * c[0]).sum() + np.vstack((x, x)).sum() * np.hstack([x, x])[0, 0]


def splits(x):
    left, right = np.split(x, 2, axis=1)
    return (left * right).sum() + sum([p.prod() for p in np.split(x, 3)])


def products(x):
    return (x @ x.T).sum() + np.dot(x[0], x[1]) + np.matmul(x.T, x).trace() + np.outer(x[0], x[1]).max()


def inner_products(x):
    return np.inner(x, x).sum() + np.vdot(x, x) + np.tensordot(x, x, axes=([1], [1])).sum()


def einsums(x):
    return np.einsum("ij,kj->ik", x, x).sum() + np.einsum("ij->", x) ** 2 + np.einsum("ij,ij->i", x, x).prod()


def reductions(x):
    return (
        (x.sum(axis=0) ** 2).sum() + x.mean() * x.sum(axis=1, keepdims=True).prod() + x.std(axis=1).sum()
        + x.var() + np.prod(x, axis=0).sum() + x.max(axis=1).sum() * x.min()
    )  # fmt: skip


def selections(x):
    return np.where(x > 1.0, x**2, -x).sum() + np.where(x[0] > x[1], x[0], x[1]).prod()


def cumulations(x):
    y = np.cumsum(x)[4] * x.cumsum(axis=0)[1, 1]
    return (np.cumsum(x, axis=1) ** 2).sum() + y + np.diff(x, axis=1)[0, 0] ** 2


def sorts(x):
    y = (np.sort(x, axis=1) * np.arange(4.0)).sum()
    return y + np.sort(x, axis=None)[2] ** 2 + (np.sort(x, 0)[0] ** 2).sum()


def taken(x):
    order = np.argsort(x, axis=1)
    return np.take(x, [0, 2], axis=1).prod() + np.take_along_axis(x, order, axis=1)[0, -1] ** 2


def repeats(x):
    y = np.repeat(x, 2, axis=0)[1].prod()
    return (np.tile(x, (2, 1)) ** 2).sum() + y + np.roll(x, 1, axis=1)[0, 0] * x[0, 0]


def broadcasts(x):
    return (np.broadcast_to(x[0], (5, 4)) ** 2).sum() + (x - x.mean(axis=0)).ravel()[1] ** 2


def triangles(x):
    return np.tril(x @ x.T).sum() + np.triu(x).prod() + np.diag(x @ x.T).sum() + x.diagonal().prod()


def iterated(x):
    total = 0.0
    for row in x:
        for value in row:
            total = total + value * row[0]
    return total


FUNCTIONS = [
    row_and_column, slices, fancy, masked, new_axes, views, reshapes, squeezes, transposes, stacks, splits,
    products, inner_products, einsums, reductions, selections, cumulations, sorts, taken, repeats, broadcasts,
    triangles, iterated,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=operator.attrgetter("__name__"))
def test_083_functions_of_a_matrix(f):
    agree(f, MATRIX)


@pytest.mark.parametrize("f", FUNCTIONS, ids=operator.attrgetter("__name__"))
def test_083_functions_of_a_strided_view(f):
    wide = np.zeros((6, 8))
    wide[::2, ::-2] = MATRIX
    before = wide.copy()
    g = grad(f)(wide[::2, ::-2])
    assert g.shape == MATRIX.shape
    np.testing.assert_allclose(g, central_array(f, MATRIX), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(wide, before)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_083_matmul_of_all_strides(order, transposed, step):
    a = np.asarray(RNG.standard_normal((4, 6)), order=order)[:, ::step]
    b = np.asarray(RNG.standard_normal((a.shape[1], 3) if not transposed else (3, a.shape[1])), order=order)
    b = b.T if transposed else b
    da, db = grad(squared_product, argnums=(0, 1))(a, b)
    np.testing.assert_allclose(da, 2.0 * (a @ b) @ b.T)
    np.testing.assert_allclose(db, 2.0 * a.T @ (a @ b))


def squared_product(a, b):
    return ((a @ b) ** 2).sum()


SHAPES_OF_PRODUCTS = [
    ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 3)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
]  # fmt: skip


@pytest.mark.parametrize("a, b", SHAPES_OF_PRODUCTS)
def test_083_matmul_of_all_ranks(a, b):
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal(a), rng.standard_normal(b)
    dx, dy = grad(squared_product, argnums=(0, 1))(x, y)
    np.testing.assert_allclose(dx, central_array(lambda v: squared_product(v, y), x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dy, central_array(lambda v: squared_product(x, v), y), rtol=1e-5, atol=1e-6)


def einsum_of_two(a, b):
    return (np.einsum("bij,bjk->bik", a, b) ** 2).sum()


def einsum_with_ellipsis(a, b):
    return (np.einsum("...ij,jk->...ik", a, b[0].T @ b[0]) ** 2).sum()


@pytest.mark.parametrize("f", [einsum_of_two, einsum_with_ellipsis])
def test_083_batched_einsum(f):
    rng = np.random.default_rng(6)
    check_grads(f, (rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 4, 4))))


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, (0, 2), (1,)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "var", "std"])
def test_083_reductions_with_axis(name, axis, keepdims):
    def f(x):
        return (getattr(np, name)(x, axis=axis, keepdims=keepdims) ** 2).sum()

    agree(f, CUBE)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_083_cumsum_and_sort_with_axis(axis):
    def cumulated(x):
        return (np.cumsum(x, axis=axis) ** 2).sum()

    def in_order(x):
        y = np.sort(x, axis=axis)
        return (y * y * np.arange(y.size).reshape(y.shape)).sum()

    agree(cumulated, CUBE)
    agree(in_order, CUBE)


def linear_algebra(x):
    a = x.T @ x + 3.0 * np.eye(4)
    sign, logdet = np.linalg.slogdet(a)
    y = np.linalg.solve(a, x[0]).sum() + np.linalg.inv(a)[0, 1]
    return y + sign * logdet + np.linalg.cholesky(a)[2, 1]


def test_083_linear_algebra():
    agree(linear_algebra, MATRIX)


def softmax_cross_entropy(w, x, labels):
    logits = x @ w
    logits = logits - logits.max(axis=1, keepdims=True)
    logp = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -logp[np.arange(len(labels)), labels].mean()


def test_083_softmax_cross_entropy_closed_form():
    rng = np.random.default_rng(7)
    x, w, labels = rng.standard_normal((6, 4)), rng.standard_normal((4, 3)), np.array([0, 2, 1, 1, 0, 2])
    g = agree(softmax_cross_entropy, w, x, labels)
    p = np.exp(x @ w)
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(6), labels] -= 1.0
    np.testing.assert_allclose(g, x.T @ p / 6.0)
