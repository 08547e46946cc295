"""What is recorded elsewhere, and refused where there must be a program: under a checkpoint.
Beside some stands the program as its refusal says that it is to be written."""

import numpy as np

from ctxdispatch import grad
from tests.refusals.refusal_table import refused

GIVE = "give it one with `custom_rule`, or keep its arguments out of the derivative with `stop_gradient`"
X = np.array([1.0, 2.0])

REMEDIES = []


def remedy(program):
    REMEDIES.append(program)
    return program


# -- functions within functions ------------------------------------------------------------------------------


@refused(
    "assigns_to_a_variable_around.<locals>.add assigns to 'total', a variable of the function around it "
    "(`nonlocal`); return the new value instead",
    "checkpoint",
)
def assigns_to_a_variable_around(x):
    total = 0.0

    def add(v):
        nonlocal total
        total = total + v * v
        return v

    f = {True: add, False: np.sin}[bool(x[0] > 0.5)]
    f(x[0])  # here
    return total * x[1]


@remedy
def returns_the_new_value(x):
    def add(total, v):
        return total + v * v

    f = add if x[0] > 0.5 else np.add
    return f(0.0, x[0]) * x[1]


@refused(
    "a closure with a variable that is not bound yet was called; assign it before the call", "checkpoint"
)
def reads_what_comes_later(x):
    def scaled(v):
        return v * scale if v < 0.0 else v

    f = {True: scaled, False: np.sin}[bool(x[0] > 0.5)]
    y = f(x[0])  # here
    scale = 2.0
    return y * scale * x[1]


@remedy
def reads_what_came_before(x):
    def scaled(v):
        return v * scale if v < 0.0 else v

    f, scale = scaled if x[0] > 0.5 else np.sin, 2.0
    return f(x[0]) * scale * x[1]


VARIABLE_AROUND = (
    "a variable that an inner function reads, and that depends on what is differentiated, is assigned where "
    "the derivative does not follow it (a function that calls itself, or one kept in a list); give the inner "
    "function what it needs as arguments, or make it a function of the module"
)


@refused(VARIABLE_AROUND, "checkpoint")
def a_variable_of_a_function_that_calls_itself(x):
    y = x[0]  # here

    def multiply(n):
        nonlocal y
        y = y * x[1]
        if n > 0:
            multiply(n - 1)

    multiply(2)
    return y


@remedy
def an_argument_of_a_function_that_calls_itself(x):
    def multiply(y, factor, n):
        return multiply(y * factor, factor, n - 1) if n > 0 else y * factor

    return multiply(x[0], x[1], 2)


@refused(
    "a function with star parameters, and defaults that depend on what is differentiated, is made here and "
    "called; pass what varies as arguments",
    "checkpoint",
)
def a_default_beside_star_parameters(x):
    def scaled(v, scale=x[1], *rest):  # here
        return v * scale + sum(rest)

    f = {True: scaled, False: np.sin}[bool(x[0] > 0.5)]
    return f(x[0])


@refused(
    "a function with star parameters, and defaults that depend on what is differentiated, is made here and "
    "called; pass what varies as arguments",
    "checkpoint",
)
def a_keyword_default_beside_star_parameters(x):
    def scaled(v, *rest, scale=x[1]):  # here
        return v * scale + sum(rest)

    f = {True: scaled, False: np.sin}[bool(x[0] > 0.5)]
    return f(x[0])


@remedy
def an_argument_beside_star_parameters(x):
    def scaled(v, scale, *rest):
        return v * scale + sum(rest)

    f = scaled if x[0] > 0.5 else np.add
    return f(x[0], x[1])


# -- names ---------------------------------------------------------------------------------------------------


class Settings:
    factor = None


@refused(
    "the attribute 'factor' of tests.refusals.refused_in_checkpoints.Settings is given a value that depends "
    "on what is differentiated, and may be read again before the end; return the value, or assign "
    "`stop_gradient(...)` of it",
    "checkpoint",
)
def an_attribute_of_a_class(x):
    Settings.factor = x * 2.0  # here
    return Settings.factor.sum()


@refused(
    f"locals has no derivative rule: it reads variables by name, out of sight; write its code out, or {GIVE}",
    "checkpoint",
)
def variables_by_name(x):
    y = x * 2.0
    return (locals()["y"] * y).sum()  # here


# -- what only run time knows --------------------------------------------------------------------------------


class Length:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return Length(self.v + other.v)


class Scale(Length):
    def __radd__(self, other):
        return Length(self.v * other.v)


LENGTHS = [Length(X), Scale(X)] * 9  # more than are told apart


@refused(
    "an operator of Length is decided by Scale, its right operand; write the call of the method out",
    "checkpoint",
)
def an_operator_that_the_right_one_decides(x):
    a = Length(x)
    return sum([(a + b).v.sum() for b in LENGTHS])  # here


@remedy
def the_method_that_the_right_one_has(x):
    a = Length(x)
    return a.__add__(Length(X)).v.sum() + Scale(X).__radd__(a).v.sum()


@refused(
    "a call of what only run time knows may change data (f: ufunc, y: ndarray) in place that the derivative "
    "of line <here> still needs as it was; write the calls out one by one, of functions "
    "that the program knows",
    "checkpoint",
)
def functions_in_a_list(x):
    y = x * 2.0
    for f in [np.sin, np.cos] * 9:
        y = f(y)  # here
    return y.sum()


@remedy
def functions_by_name(x):
    y = np.sin(x * 2.0)
    y = np.cos(y)
    return y.sum()


@refused(
    "item assignment changes data (ndarray, ellipsis, float) in place that the derivative of line <before> "
    "still needs as it was; store into a copy (`x = x.copy()`) made before",
    "checkpoint",
)
def a_default_that_is_stored_to(x, buffer=np.ones(2)):  # noqa: B008
    y = x * buffer
    buffer.fill(3.0)  # here
    return y.sum()


@remedy
def a_copy_that_is_stored_to(x, buffer=np.ones(2)):  # noqa: B008
    buffer = buffer.copy()
    y = x * buffer
    buffer.fill(3.0)
    return y.sum()


@refused(
    f"iter of (function, float) has no derivative rule; {GIVE}",
    "checkpoint",
)
def an_iterator_of_calls(x):
    return next(iter(lambda: x[0] * 2.0, 5.0))  # here


def by_a_frame(x):
    return (locals()["x"] ** 3).sum()


RECORDED = (
    "a derivative of by_a_frame is taken by recording its run (it changes things in place, or calls what "
    "only run time knows), and is to be differentiated once more by a program, at run time; call it from the "
    "function that is differentiated itself"
)


@refused(RECORDED, "checkpoint")
def a_recorded_derivative(x):
    return grad(by_a_frame)(x).sum()  # here


@remedy
def a_derivative_of_a_program(x):
    return grad(lambda v: (v**3).sum())(x).sum()


@refused(
    "ctxdispatch_contexts.reverse.api.grad is given a function, or an option, that is not known before run "
    "time; make it where it is given, or give a function of the module, and write options out",
    "checkpoint",
)
def the_gradient_of_a_chosen_function(x):
    f = [lambda v: v * x[1], lambda v: v * v * x[0]][len(x) - 1]
    return grad(f)(x[0])  # here


@remedy
def the_gradient_of_a_written_function(x):
    return grad(lambda v: v * v * x[0])(x[0])


@refused(
    "there is no derivative of r_ and c_ where they make a matrix in `np.r_['r', x, x]`; join arrays instead",
    "checkpoint",
)
def a_matrix_of_pieces(x):
    return np.r_["r", x, x].sum()  # here


@remedy
def an_array_of_pieces(x):
    return np.r_[x, x].sum()
