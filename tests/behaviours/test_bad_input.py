"""Bad input: every error names where (file, line, function), what (argument or function), and a remedy."""

import copy
import math

import numpy as np
import pytest

from ctxdispatch import (
    ADContext,
    check_grads,
    custom_rule,
    grad,
    jvp,
    overdub,
    stop_gradient,
    value_and_grad,
    vjp,
)
from ctxdispatch_contexts.reverse import DerivativeError, MissingRuleError


def line_of(f, offset=1):
    """`file:line in function` of the line `offset` below the `def` of f, as errors say it."""
    return f"{__file__}:{f.__code__.co_firstlineno + offset} in {f.__qualname__}"


def refused(words, error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    message = str(caught.value)
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"
    assert "None" not in message.replace("NoneType", "")
    return message


# -- results -------------------------------------------------------------------------------------------------


def vector(x):
    return x * 2.0


def branches(x, flag):
    if flag:
        return x.sum()
    return x * 2.0


def imaginary(x):
    return x * (1.0 + 2.0j)


def pair(x):
    return x, x


def text(x):
    return f"{x}"


def nothing(x):
    math.sin(x)


def test_non_scalar_output():
    words = ["scalar", "array of shape (3,)", "float64", ".sum()", "vjp", line_of(vector)]
    refused(words, DerivativeError, grad(vector), np.ones(3))
    refused(words, DerivativeError, value_and_grad(vector), np.ones(3))


def test_non_scalar_output_on_one_path():
    assert grad(branches)(np.ones(2), True).tolist() == [1.0, 1.0]
    refused(["scalar", "(2,)", line_of(branches, 3)], DerivativeError, grad(branches), np.ones(2), False)


def test_complex_output():
    refused(["real", "complex", ".real", line_of(imaginary)], DerivativeError, grad(imaginary), 2.0)
    for f, x in ((imaginary, np.float64(2.0)), (vector, np.ones(2, complex))):
        refused(["real", "complex128", ".real", line_of(f)], DerivativeError, grad(f), x)


@pytest.mark.parametrize("f, kind", [(pair, "tuple"), (text, "str"), (nothing, "NoneType")])
def test_output_that_is_no_number(f, kind):
    refused(["scalar", kind, line_of(f), "has_aux"], DerivativeError, grad(f), 2.0)


def test_has_aux_without_a_pair():
    refused(["has_aux", "(value, aux)", "float"], TypeError, grad(vector, has_aux=True), 2.0)


# -- arguments -----------------------------------------------------------------------------------------------


def of_two(first, second):
    return first * second


@pytest.mark.parametrize(
    "value, kind",
    [(3, "int"), (True, "bool"), ("text", "str"), (None, "NoneType"), (np.int64(3), "int64"), (3 + 0j, None)],
)
def test_integer_and_other_input_names_the_argument(value, kind):
    if kind is None:
        refused(["real", "complex"], DerivativeError, grad(of_two, argnums=1), 2.0, value)
        return
    words = ["'second'", "argnums 1", kind, "float", f"{__file__}:", "of_two"]
    refused(words, DerivativeError, grad(of_two, argnums=1), 2.0, value)


def test_integer_array_names_the_argument_and_its_dtype():
    words = ["'first'", "argnums 0", "int64", "float"]
    refused(words, DerivativeError, grad(of_two), np.arange(3), 2.0)
    refused(["'first'", "bool", "float"], DerivativeError, grad(of_two), np.ones(2, bool), 2.0)


def test_the_line_of_an_argument_error_is_the_functions_or_the_callers():
    message = refused([], DerivativeError, grad(of_two), 3, 2.0)
    assert __file__ in message.split(": ")[0]


def test_input_error_is_found_again_on_the_next_call():
    g = grad(of_two)
    for _ in range(2):
        refused(["'first'"], DerivativeError, g, 3, 2.0)
    assert g(3.0, 2.0) == 2.0
    refused(["'first'"], DerivativeError, g, 3, 2.0)


def test_argnums_out_of_range():
    refused(["argnums 2", "of_two", "2 positional"], DerivativeError, grad, of_two, argnums=2)
    refused(["argnums -3", "of_two"], DerivativeError, grad, of_two, argnums=(0, -3))


def test_wrong_number_of_arguments_is_the_functions_own_error():
    with pytest.raises(TypeError, match=r"of_two\(\) missing 1 required positional argument: 'second'"):
        grad(of_two)(1.0)
    with pytest.raises(TypeError, match=r"of_two\(\) takes 2 positional arguments but 3 were given"):
        grad(of_two)(1.0, 2.0, 3.0)
    with pytest.raises(TypeError, match=r"of_two\(\) got an unexpected keyword argument 'third'"):
        grad(of_two)(1.0, 2.0, third=3.0)


# -- functions without code ----------------------------------------------------------------------------------


@pytest.mark.parametrize("what, kind", [(3.0, "float"), ("sin", "str"), (None, "NoneType"), ([sum], "list")])
def test_what_is_no_function(what, kind):
    refused(["function", kind], DerivativeError, grad, what)
    with pytest.raises(TypeError, match="callable"):
        vjp(what, 1.0)


def test_builtin_with_a_rule_is_differentiated():
    assert grad(math.sin)(0.5) == math.cos(0.5)


def test_function_without_code_and_without_rule():
    words = ["no derivative rule", "custom_rule", "stop_gradient"]
    refused(["numpy.frombuffer", *words], MissingRuleError, grad(np.frombuffer), np.ones(2))
    refused(["eval", *words, line_of(evaluated)], MissingRuleError, grad(evaluated), 2.0)


def evaluated(x):
    return eval("v * 2", {}, {"v": x})


# -- missing rules -------------------------------------------------------------------------------------------


def reads_buffer(a):
    y = np.sin(a)
    return np.frombuffer(y).sum()


def over_lines(x):
    return (
        1.0
        + np.frombuffer(x * 2.0).sum()
    )  # fmt: skip


def method_without_rule(x):
    return x.byteswap().sum()


def in_a_helper(x):
    return reads_buffer(x) * 2.0


class Reader:
    def __call__(self, x):
        return reads_buffer(x)


def test_missing_rule_is_named():
    words = ["numpy.frombuffer", "ndarray", "no derivative rule", "custom_rule", "stop_gradient"]
    words.append(line_of(reads_buffer, 2))
    refused(words, MissingRuleError, grad(reads_buffer), np.eye(2))
    refused(words, MissingRuleError, vjp, reads_buffer, np.eye(2))
    refused(words, MissingRuleError, overdub, ADContext(), reads_buffer, np.eye(2))


def test_missing_rule_in_a_helper_and_in_an_object():
    words = ["frombuffer", line_of(reads_buffer, 2)]
    refused(words, MissingRuleError, grad(in_a_helper), np.eye(2))
    refused(words, MissingRuleError, grad(Reader()), np.eye(2))


def test_missing_rule_in_an_expression_over_lines():
    refused(["frombuffer", line_of(over_lines, 3)], MissingRuleError, grad(over_lines), np.ones(2))


def test_missing_rule_of_a_method():
    words = ["byteswap", line_of(method_without_rule)]
    refused(words, MissingRuleError, grad(method_without_rule), np.ones(2))


def not_on_the_way(x, table):
    np.frombuffer(table)
    return x * np.frombuffer(table)[0] * 2.0


def stopped(x):
    return np.frombuffer(stop_gradient(x)).sum() + x.sum()


def untaken(x, flag):
    return np.frombuffer(x).sum() if flag else x.sum()


def test_missing_rule_only_matters_where_a_derivative_goes():
    assert grad(not_on_the_way)(1.0, np.eye(2)) == 2.0
    np.testing.assert_array_equal(grad(stopped)(np.eye(2)), np.ones((2, 2)))
    np.testing.assert_array_equal(grad(untaken)(np.eye(2), False), np.ones((2, 2)))
    refused(["frombuffer"], MissingRuleError, grad(untaken), np.eye(2), True)


def packed(x):
    return np.sum(np.frombuffer(np.sin(x)))


def test_the_remedy_works():
    with pytest.raises(MissingRuleError, match="frombuffer"):
        grad(packed)(np.ones(2))

    @custom_rule(np.frombuffer)
    def _(x):
        return np.array(x), lambda ybar: ybar

    np.testing.assert_allclose(grad(packed)(np.ones(2)), np.cos(np.ones(2)))
    ADContext.unrule(np.frombuffer)  # a rule is for the whole process


def test_a_rule_of_the_users_counts_where_memory_is_followed():
    def shown(x):
        return np.sum(memoryview(x * 3.0))

    np.testing.assert_allclose(grad(shown)(np.ones(2)), 3.0)

    @custom_rule(memoryview)
    def _(x):
        return np.array(x), lambda ybar: 2.0 * ybar

    np.testing.assert_allclose(grad(shown)(np.ones(2)), 6.0)
    ADContext.unrule(memoryview)


# -- mutation ------------------------------------------------------------------------------------------------


def stores(x):
    y = x * 2.0
    y[0] = x[1]
    return y.sum()


def stores_into_argument(x):
    x[0] = x[1] * 2.0
    return x.sum()


def stores_into_constant_array(x):
    y = np.zeros(2)
    for i in range(2):
        y[i] = x[i] * x[i]
    return y.sum()


def updates(x):
    y = x * 2.0
    y += x
    return y.sum()


def writes_out(x):
    y = np.empty(2)
    np.multiply(x, 2.0, out=y)
    return y.sum()


def sorts_in_place(x):
    y = x * 1.0
    y.sort()
    return y[0]


def fills(x):
    y = np.zeros(2)
    y.fill(x)
    return y.sum()


def through_a_helper(x):
    y = np.zeros(2)
    put(y, x)
    return y.sum()


def put(target, x):
    target[:] = x


MUTATIONS = [
    (stores, stores, 2, np.ones(2)), (stores_into_argument, stores_into_argument, 1, np.ones(2)),
    (stores_into_constant_array, stores_into_constant_array, 3, np.ones(2)),
    (updates, updates, 2, np.ones(2)),
    (writes_out, writes_out, 2, np.ones(2)),
    (sorts_in_place, sorts_in_place, 2, np.array([2.0, 1.0])),
    (fills, fills, 2, 3.0), (through_a_helper, put, 1, 3.0),
]  # fmt: skip


@pytest.mark.parametrize("f, where, offset, x", MUTATIONS, ids=[m[0].__name__ for m in MUTATIONS])
def test_mutation_is_followed(f, where, offset, x):
    def moved(by):
        return f(copy.deepcopy(x) + by)

    steps = [1e-6 * e for e in np.eye(x.size).reshape(-1, *x.shape)] if isinstance(x, np.ndarray) else [1e-6]
    central = [(moved(e) - moved(-e)) / 2e-6 for e in steps]
    for found in (grad(f)(copy.deepcopy(x)), vjp(f, copy.deepcopy(x))[1](1.0)[0]):
        np.testing.assert_allclose(np.ravel(found), central, rtol=1e-6, atol=1e-9)


def test_a_changed_argument_is_left_as_the_plain_call_leaves_it():
    x, plain = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    stores_into_argument(plain)
    grad(stores_into_argument)(x)
    np.testing.assert_array_equal(x, plain)


def counts_in_place(x, counts):
    counts[0] += 1
    counts[1:] = 5
    return (x * 2.0).sum()


def test_mutation_of_what_is_not_differentiated_goes_on():
    counts = np.zeros(3, int)
    np.testing.assert_array_equal(grad(counts_in_place)(np.ones(2), counts), [2.0, 2.0])
    assert counts.tolist() == [1, 5, 5]


# -- pullbacks -----------------------------------------------------------------------------------------------


def matrix_product(a, b):
    return a @ b


def scalar(x):
    return (x * x).sum() * 1.0


def number(x):
    return x * 2.0


def test_cotangent_of_the_wrong_shape():
    _, pullback = vjp(matrix_product, np.ones((2, 3)), np.ones((3, 4)))
    for wrong in (np.ones((4, 2)), np.ones(2), 1.0, np.ones((1, 2, 4)), [1.0, 2.0]):
        shape = str(np.shape(wrong))
        refused(["ybar", shape, "(2, 4)", "cotangent"], DerivativeError, pullback, wrong)
    assert pullback(np.ones((2, 4)))[0].shape == (2, 3)


def test_cotangent_of_the_wrong_kind():
    _, pullback = vjp(matrix_product, np.ones((2, 2)), np.ones((2, 2)))
    refused(["ybar", "complex128", "float64"], DerivativeError, pullback, np.ones((2, 2), complex))
    refused(["ybar", "dtype"], DerivativeError, pullback, np.array([["a", "b"], ["c", "d"]]))
    _, pullback = vjp(number, 2.0)
    refused(["ybar", "(2,)", "number"], DerivativeError, pullback, np.ones(2))
    refused(["ybar", "str", "number"], DerivativeError, pullback, "one")
    refused(["ybar", "complex", "number"], DerivativeError, pullback, 1j)


def test_cotangent_of_a_container():
    _, pullback = vjp(pair, 2.0)
    assert pullback((1.0, 10.0)) == (11.0,)
    assert pullback((1.0, None)) == (1.0,)
    refused(["ybar", "tuple"], DerivativeError, pullback, 1.0)
    refused(["ybar", "2"], DerivativeError, pullback, (1.0, 2.0, 3.0))


def test_cotangent_that_fits_is_converted():
    _, pullback = vjp(vector, np.ones(3, np.float32))
    g = pullback(np.arange(3))[0]
    assert g.dtype == np.float32
    np.testing.assert_array_equal(g, [0.0, 2.0, 4.0])
    assert vjp(number, 2.0)[1](1) == (2.0,)
    assert vjp(scalar, np.ones(2))[1](3)[0].tolist() == [6.0, 6.0]


# -- syntax and checks ---------------------------------------------------------------------------------------


def test_check_grads_reports_a_wrong_rule():
    check_grads(of_two, (1.5, 2.5))
    with pytest.raises(AssertionError, match="reverse mode gives .*central differences give"):
        check_grads(with_wrong_rule, (1.5,))
    with pytest.raises(ValueError, match="order"):
        check_grads(of_two, (1.5, 2.5), order=7)


def with_wrong_rule(x):
    return math.sin(x)


@custom_rule(with_wrong_rule)
def _(x):
    return math.sin(x), lambda ybar: ybar * 17.0


def test_errors_of_the_users_code_are_unchanged():
    with pytest.raises(ValueError, match="matmul") as plain:
        matrix_product(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="matmul") as ours:
        grad(matrix_product)(np.ones((2, 3)), np.ones((2, 3)))
    assert str(ours.value) == str(plain.value)
    with pytest.raises(ZeroDivisionError):
        grad(divides)(1.0, 0.0)


def divides(x, y):
    return x / y


def square(t):
    return t * t


def chosen(fs, w):
    for f in fs:
        if f(w) > 1.0:
            return f
    return fs[0]


def test_grad_of_a_function_that_run_time_chooses():
    f = lambda w: grad(chosen([square, math.sin], w))(w) * w  # noqa: E731
    assert grad(f)(2.0) == 8.0 and jvp(f, (2.0,), (1.0,)) == (8.0, 8.0)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(
    "f",
    [
        lambda w: vjp(chosen([square, math.sin], w), w)[1](1.0)[0],
        lambda w: jvp(chosen([square, math.sin], w), (w,), (1.0,))[1],
        lambda w: overdub(ADContext(), chosen([square, math.sin], w), w)[0],
    ],
)
def test_a_gradient_of_a_function_that_run_time_chooses(f, mode):
    found = grad(f)(2.0) if mode == "reverse" else jvp(f, (2.0,), (1.0,))[1]
    assert found == pytest.approx((f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6, rel=1e-6)
