"""Calls that are refused where they stand: arguments, tangents, cotangents."""

import threading

import numpy as np

from ctxdispatch import (
    ADContext,
    grad,
    hvp,
    jacobian,
    jacrev,
    jvp,
    overdub,
    vjp,
)
from tests.refusals.refusal_table import refused

X = np.array([1.0, 2.0])


def product(a, b):  # here
    return a * b


def doubled(a):  # here
    return a * 2.0


def pair(a):  # here
    return a, a * 2.0


def keyed(a):
    return {"a": a}


class Point:
    def __init__(self, u):
        self.u = u


def point(a):
    return Point(a)


def complex_of(a):  # here
    return a * 1j


def single(a):
    return a * 3.0  # here


# -- what is differentiated ----------------------------------------------------------------------------------


@refused("grad takes a function, not a float; write grad(f)(x)")
def grad_of_a_number():
    grad(3.0)  # here


@refused("3.0 is not callable; give a function, or an object with __call__")
def vjp_of_a_number():
    vjp(3.0, 1.0)  # here


@refused("jvp takes a function, not a float; write jvp(f, (x,), (dx,))")
def jvp_of_a_number():
    jvp(3.0, (1.0,), (1.0,))  # here


@refused("a Jacobian is that of a function, not of a float; write jacobian(f)(x)")
def jacobian_of_a_number():
    jacobian(3.0)  # here


@refused("tier='native' is none; write tier='python', or leave it out")
def another_tier():
    grad(product, tier="native")  # here


def locked(x):
    with LOCK:  # here
        return x * x


LOCK = threading.Lock()


@refused(
    "this would be recorded, which tier='python' does not allow: what can be seen from outside (by "
    "_thread.lock.__enter__) has no program; do it before or after, and use what is made here, by functions "
    "that are known",
    where=locked,
)
def what_is_recorded_with_a_tier():
    grad(locked, tier="python")(2.0)


@refused(
    "argnums 'a' must be the index of a positional argument, or a tuple of indices; write "
    "argnums=0 or argnums=(0, 1)"
)
def argnums_by_name():
    grad(product, argnums="a")  # here


@refused(
    "argnums is the index of a positional argument or a sequence of indices, and 'a' is none; "
    "write argnums=0 or argnums=(0, 1)"
)
def argnums_of_a_context_by_name():
    overdub(ADContext(argnums="a"), product, 1.0, 2.0)  # here


@refused("argnums 2 is out of range: product has 2 positional arguments; give an index from 0 to 1")
def argnums_out_of_range():
    grad(product, argnums=2)  # here


@refused(
    "nothing_to_differentiate.<locals>.<lambda> has no positional arguments to differentiate with "
    "respect to; make parameters of it positional"
)
def nothing_to_differentiate():
    grad(lambda *, k: k)(k=1.0)  # here


@refused("argument 'b' (argnums 1) was left out of the call; pass it, or leave it out of argnums")
def left_out():
    grad(lambda a, b=2.0: a * b, argnums=1)(1.0)  # here


@refused(
    "argument 'a' (argnums 0) is of type int, which has no derivative; pass a float (or an array of "
    "floats), or leave it out of argnums",
    where=product,
)
def a_whole_number():
    grad(product)(3, 2.0)


@refused(
    "argument 'a' (argnums 0) is an array of dtype int64, which has no derivative; pass it `.astype(float)`",
    where=product,
)
def an_array_of_whole_numbers():
    grad(product)(np.arange(3), 2.0)


@refused(
    "argument 0 is of type int, which has no tangent; pass a float (or an array of floats), or None "
    "for its tangent"
)
def a_tangent_for_a_whole_number():
    jvp(product, (3, 2.0), (1.0, 1.0))  # here


@refused(
    "argument 'a' (argnums 0) is complex; a Jacobian is taken with respect to real arguments: pass "
    "the real and the imaginary part",
    where=doubled,
)
def jacobian_of_a_complex_array():
    jacobian(doubled)(X * 1j)


@refused(
    "argument 'a' (argnums 0) is of type list([float]); a Jacobian is taken with respect to a float "
    "or an array of floats: pass the parts as arguments of their own, with argnums=(0, 1, ...)"
)
def jacobian_of_a_list():
    jacobian(lambda a: a[0])([1.0, 2.0])  # here


@refused(
    "a Jacobian is that of a number, an array, or a container of them, and this function returned "
    "'1.0', of type str; return floats"
)
def jacobian_of_text():
    jacobian(lambda a: f"{a}")(1.0)  # here


@refused(
    "jacrev needs a real result, and this function returned a complex array; use jacfwd", where=complex_of
)
def jacrev_of_complex_results():
    jacrev(complex_of)(X)


@refused(
    "hvp takes a tuple of primals and a tuple of as many tangents, None for data; write hvp(f, (x,), (v,))"
)
def hvp_without_tuples():
    hvp(product, 1.0, 1.0)  # here


@refused("hvp needs a tangent that is not None; give one for an argument of floats")
def hvp_without_a_tangent():
    hvp(doubled, (X,), (None,))  # here


# -- results -------------------------------------------------------------------------------------------------


@refused(
    "grad needs a scalar result, and this function returned an array of shape (2,) and dtype "
    "float64; reduce it (`.sum()`), use `vjp` with a cotangent of that shape, or `jacfwd` for its "
    "Jacobian",
    "grad",
    x=X,
)
def an_array(x):
    return x * 2.0  # here


@refused(
    "grad needs a real result, and this function returned a complex128; differentiate a real "
    "function of it (`.real`, `abs(...) ** 2`), or use `vjp`",
    "grad",
    x=X,
)
def a_complex_number(x):
    return x[0] * 1j  # here


@refused(
    "grad needs a real scalar result, and this function returned a tuple; return the number alone, "
    "or (number, other results) with has_aux=True, or use `vjp`",
    "grad",
    x=X,
)
def two_numbers(x):
    return x[0], x[1]  # here


@refused(
    "has_aux=True needs a function that returns a pair (value, aux), and this one returned a float; "
    "return such a pair, or leave has_aux out",
    where=single,
)
def no_pair():
    grad(single, has_aux=True)(1.0)


@refused(
    "has_aux=True needs a function that returns a pair (value, aux), not a float; return such a "
    "pair, or leave has_aux out"
)
def no_pair_forward():
    jvp(doubled, (1.0,), (1.0,), has_aux=True)  # here


# -- tangents ------------------------------------------------------------------------------------------------


@refused("primals must be a tuple with one entry per argument, not a float; write (x,)")
def primals_without_a_tuple():
    jvp(doubled, 1.0, (1.0,))  # here


@refused("there are 2 primals and 1 tangents; give one tangent per primal")
def too_few_tangents():
    jvp(product, (1.0, 2.0), (1.0,))  # here


@refused("the tangent of argument 0 has shape (3,), its value (2,); give a tangent of the value's shape")
def a_tangent_of_another_shape():
    jvp(doubled, (X,), (np.ones(3),))  # here


@refused(
    "the tangent of argument 0 has dtype complex128, its value float64; convert it with .astype(float64)"
)
def a_complex_tangent():
    jvp(doubled, (X,), (X * 1j,))  # here


@refused("the tangent of argument 0 has shape (2,), its value is a float; give a number")
def an_array_for_a_number():
    jvp(doubled, (1.0,), (X,))  # here


@refused("the tangent of argument 0 is a str, its value a float; give a number")
def text_for_a_number():
    jvp(doubled, (1.0,), ("1",))  # here


@refused(
    "the tangent of argument 0 is a list of length 1, its value a list of length 2; give one "
    "tangent per item, None where there is none"
)
def a_shorter_list():
    jvp(lambda a: a[0] * a[1], ([1.0, 2.0],), ([1.0],))  # here


@refused(
    "the tangent of argument 0 is no dict of some of its keys; give tangents under the value's keys",
)  # fmt: skip
def keys_that_are_not_there():
    jvp(lambda a: a["u"] * 2.0, ({"u": 1.0},), ({"v": 1.0},))  # here


@refused(
    "argument 0 is of type str, which has no tangent; pass a float (or an array of floats), or None "
    "for its tangent"
)
def a_tangent_of_text():
    jvp(lambda a, b: b, ("text", 1.0), (1.0, 1.0))  # here


# -- cotangents ----------------------------------------------------------------------------------------------


@refused(
    "the pullback's argument ybar has shape (3,), the function's result has shape (2,); give a "
    "cotangent of the result's shape"
)
def a_cotangent_of_another_shape():
    vjp(doubled, X)[1](np.ones(3))  # here


@refused(
    "the pullback's argument ybar has dtype complex128, the function's result has dtype float64; "
    "convert it with .astype(float64)"
)
def a_complex_cotangent():
    vjp(doubled, X)[1](X * 1j)  # here


@refused("the pullback's argument ybar has shape (2,), the function's result is a float; give a number")
def a_vector_for_a_number():
    vjp(doubled, 1.0)[1](X)  # here


@refused("the pullback's argument ybar is a str, the function's result is a float; give a number")
def text_as_a_cotangent():
    vjp(doubled, 1.0)[1]("1")  # here


@refused(
    "the pullback's argument ybar is a tuple of length 3, the function's result is a tuple of "
    "length 2; give a tuple with one cotangent per item"
)
def three_cotangents_for_a_pair():
    vjp(pair, 1.0)[1]((1.0, 2.0, 3.0))  # here


@refused(
    "the pullback's argument ybar has 'b', the function's result is a dict with the keys 'a'; give "
    "a dict with cotangents under some of these keys"
)
def a_cotangent_under_another_key():
    vjp(keyed, 1.0)[1]({"b": 1.0})  # here


@refused(
    "the pullback's argument ybar is a float, the function's result a Point; give a "
    "types.SimpleNamespace with the cotangents of its attributes"
)
def a_number_for_an_object():
    vjp(point, 1.0)[1](1.0)  # here
