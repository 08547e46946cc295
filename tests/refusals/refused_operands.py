"""What `broadcast` does not take: operands, options, arrays for results."""

import numpy as np
import wrapt

from ctxdispatch import broadcast
from tests.refusals.refusal_table import refused

X = np.array([0.5, 1.5])


def doubled(v):  # here
    return v * 2.0


@refused(
    "broadcast takes a function and arrays, not a ndarray first; write broadcast(f, x)",
)
def no_function():
    broadcast(X, doubled)  # here


class Scale:
    @wrapt.decorator
    def trebled(wrapped, instance, args, kwargs):  # noqa: N805
        return 3.0 * wrapped(*args, **kwargs)

    @trebled
    def of(self, v):
        return v * 2.0


@refused(
    "what of, which `wrapt` decorates, calls is decided when it is called; write broadcast(lambda x: "
    "obj.method(x), x) of a method, and decorate without `enabled`",
)
def a_decorated_method():
    broadcast(Scale().of, X)  # here


@refused(
    "no array can be made of operand 'v', a list: setting an array element with a sequence. The "
    "requested array has an inhomogeneous shape after 1 dimensions. The detected shape was (2,) + "
    "inhomogeneous part.; pass an array of numbers",
)
def a_list_of_two_lengths():
    broadcast(doubled, [[1.0], [1.0, 2.0]])  # here


@refused(
    "operand 'v' is a whole number of more than 64 bits: 1000000000000000000000000000000; pass it as a float",
    where=doubled,
)
def a_large_number():
    broadcast(doubled, 10**30)


@refused(
    "the operands of <lambda> do not broadcast: a (2,), b (3,); give shapes that do (x[:, None])",
)
def operands_of_two_shapes():
    broadcast(lambda a, b: a * b, np.ones(2), np.ones(3))  # here


@refused(
    "a kernel computes with numbers, and 'v' is a object; pass an array of numbers, or a number",
    where=doubled,
)
def an_operand_of_no_array():
    broadcast(doubled, object())


@refused(
    "a kernel computes with numbers, and 'v' is a str; pass an array of numbers, or a number", where=doubled
)
def an_operand_of_text():
    broadcast(doubled, "text")


@refused(
    "operand 'v' has dtype complex128; a kernel computes with real numbers of at most 64 bits", where=doubled
)
def a_complex_operand():
    broadcast(doubled, X * 1j)


@refused("operand 'v' is a MaskedArray; pass a plain array (np.asarray, or its .filled())", where=doubled)
def a_masked_operand():
    broadcast(doubled, np.ma.array(X, mask=[True, False]))


@refused("out must be a numpy.ndarray, not a list; give one of that kind", where=doubled)
def out_of_another_kind():
    broadcast(doubled, X, out=[0.0, 0.0])


@refused("out has shape (3,), the result of doubled (2,); give an array of that shape", where=doubled)
def out_of_another_shape():
    broadcast(doubled, X, out=np.zeros(3))


@refused("out has dtype int64, the result of doubled float64; give an array of that dtype", where=doubled)
def out_of_another_dtype():
    broadcast(doubled, X, out=np.zeros(2, int))


@refused(
    "<lambda> has 2 results, and out has 1 arrays; give one per result",
)
def too_many_outs():
    broadcast(lambda x: (x, x), X, out=(np.zeros(2),))  # here


@refused(
    "threads is a whole number from 1 on, or None, not 0; leave it out for as many as there are cores",
)
def threads_that_are_none():
    broadcast(doubled, X, threads=0)  # here


@refused(
    "backend is one of 'auto', 'compiled', 'reference', not 'fast'; choose one of these",
)
def a_backend_that_there_is_not():
    broadcast(doubled, X, backend="fast")  # here
