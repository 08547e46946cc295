"""Programs that cannot be differentiated: where and in what way they are refused."""

import numpy as np

from ctxdispatch import checkpoint
from tests.refusals import refused_elsewhere
from tests.refusals.refusal_table import BOTH, EVERY, REVERSE, refused

GIVE = "give it one with `custom_rule`, or keep its arguments out of the derivative with `stop_gradient`"

# -- functions without a rule --------------------------------------------------------------------------------


@refused(f"numpy.frombuffer has no derivative rule for (y * 2.0: ndarray); {GIVE}", *EVERY)
def in_a_function(x):
    y = np.sin(x)
    return np.frombuffer(y * 2.0).sum()  # here


@refused(f"numpy.frombuffer has no derivative rule for (y * 2.0: ndarray); {GIVE}", *BOTH)
def where_it_is_recorded(x):
    try:
        y = np.sin(x)
        return np.frombuffer(y * 2.0).sum()  # here
    finally:
        pass


in_a_lambda = lambda x: np.frombuffer(x * 2.0).sum()  # noqa: E731  # here
refused(f"numpy.frombuffer has no derivative rule for (x * 2.0: ndarray); {GIVE}", *EVERY)(in_a_lambda)


@refused(f"numpy.frombuffer has no derivative rule for (v * 1.0: ndarray); {GIVE}", *BOTH)
def in_a_comprehension(x):
    return sum([np.frombuffer(v * 1.0).sum() for v in [x, x]])  # here


@refused(f"numpy.frombuffer has no derivative rule for (v: ndarray); {GIVE}", *BOTH)
def in_a_generator_expression(x):
    return sum(np.frombuffer(v).sum() for v in [x, x])  # here


@refused(
    f"numpy.frombuffer has no derivative rule for (w: ndarray); {GIVE}", *BOTH, "checkpoint",
    where=refused_elsewhere.reads_memory,
)  # fmt: skip
def in_a_helper_of_another_file(x):
    return refused_elsewhere.reads_memory(x) * 3.0


class Model:
    def energy(self, x):
        return np.frombuffer(x).sum()  # here


refused(f"numpy.frombuffer has no derivative rule for (x: ndarray); {GIVE}", *BOTH, where=Model.energy)(
    Model().energy.__func__.__get__(Model())
)


@refused(f"numpy.ndarray.byteswap has no derivative rule for (x * 2.0: ndarray); {GIVE}", *BOTH)
def a_method_without_a_rule(x):
    return (x * 2.0).byteswap().sum()  # here


@refused(
    "eval has no derivative rule where its code has local variables, or those of its caller; give it one "
    "dict of variables, write its code out, give it a rule with `custom_rule`, or keep its arguments out of "
    "the derivative with `stop_gradient`",
    *BOTH,
)
def code_in_a_string(x):
    return eval("x * x").sum()  # here


@refused(
    "eval has no derivative rule where its code has local variables, or those of its caller; give it one "
    "dict of variables, write its code out, give it a rule with `custom_rule`, or keep its arguments out of "
    "the derivative with `stop_gradient`",
    *BOTH,
)
def code_in_a_string_of_names(x):
    return eval("v * v", {}, {"v": x}).sum()  # here


@refused(
    "numpy.full on an array of objects computes out of sight; make it an array of floats "
    "(`.astype(float)`) first",
    "hessian",
)
def an_array_of_objects(x):
    y = np.full(2, x[0], dtype=object)  # here
    return np.linalg.norm(y)


@refused(
    "an item of (bytearray) is given a value that depends on what is differentiated, which is lost "
    "there; use a list or an array of floats",
    "jvp",
)
def into_bytes(x):
    a = bytearray(2)
    a[0] = x[0]  # here
    return x.sum()


@refused(
    "setitem writes what is differentiated into an array of dtype |S8; use an array of floats",
    "jvp",
)  # fmt: skip
def into_an_array_of_text(x):
    a = np.zeros(2, "S8")
    a[0] = x[0]  # here
    return x.sum()


@refused(
    "an array is given a value that lies in its own memory and is of another dtype, or of one that cannot "
    "number the elements; give it a copy of the value (`v.copy()`)",
    *BOTH,
)
def a_complex_array_that_is_given_its_own_real_part(x):
    z = x + 1j * x[::-1]
    z[:1] = z.real[::2]  # here
    return z.real @ z.imag


@refused(
    "numpy.divmod writes two results into arrays that share memory; give each an array of its own", *BOTH
)
def two_results_in_one_place(x):
    a = x * 2.0
    np.divmod(x, 0.3, out=(a[::-1], a))  # here
    return a.sum()


@refused(
    "np.concatenate(.., axis=None, out=a) of parts of `a` itself has no derivative; give it copies "
    "(`v.copy()`)",
    *BOTH,
)
def parts_of_an_array_joined_in_it(x):
    a = x * 2.0
    np.concatenate([a[1:], a[:1]], axis=None, out=a)  # here
    return a[0]


@refused(
    "an array that lies in the memory of (bytearray) is given a value that depends on what is "
    "differentiated, which would be lost there; use an array of floats of its own (`np.array(...)`)",
    *BOTH,
)
def over_foreign_memory(x):
    a = np.frombuffer(bytearray(16))
    a[0] = x[0]  # here
    return a.sum()


class Part:
    def __init__(self, a):
        self.__array_interface__ = a.__array_interface__


@refused(
    "an array shares memory, by its address and not as a view, with another one that depends on what is "
    "differentiated; use one of the two",
    *BOTH,
)
def memory_by_its_address(x):
    a = np.zeros(4)
    b = np.asarray(Part(a[1:3]))
    b[:] = x[:2]
    a[0] = x[0]  # here
    return a.sum()


@refused(
    "np.multiply.at on an array whose elements share memory, or with its own elements as values, "
    "has no derivative; give it a copy",
    *BOTH,
)
def at_with_itself(x):
    y = x * 1.0
    np.multiply.at(y, [0, 1], y)  # here
    return y.sum()


def a_generator_is_returned(x):  # here
    return (v for v in x)


refused(
    "the function returned a generator, which makes its items later; return a list of them", "vjp", "jvp"
)(a_generator_is_returned)


# -- rules that are not for these arguments ------------------------------------------------------------------


@refused(
    "there is no derivative of the vectors beyond those of the matrix, which are chosen freely in "
    "`np.linalg.qr(w, mode='complete')`; ask for mode='reduced'",
    *REVERSE,
    "checkpoint",
    where=refused_elsewhere.factorizes,
)
def a_factorization_in_another_file(x):
    return refused_elsewhere.factorizes(x) * 2.0


@refused(
    "there is no derivative of a transform of one axis twice in `np.fft.fftn(np.outer(x, x), "
    "axes=(0, 0))`; transform it once more",
    *REVERSE,
)
def one_axis_twice(x):
    return np.fft.fftn(np.outer(x, x), axes=(0, 0)).real.sum()  # here


@refused(
    "there is no derivative of qr with mode='raw' of a column that is zero below the diagonal, from where "
    "its reflection jumps in `np.linalg.qr(np.diag(x), mode='raw')`; ask for mode='reduced'",
    *BOTH,
)
def qr_raw(x):
    return np.linalg.qr(np.diag(x), mode="raw")[0].sum()  # here


@refused(
    "there is no derivative of the vectors beyond those of the matrix, which are chosen freely in "
    "`np.linalg.svd(np.outer(x, np.ones(3)))`; ask for full_matrices=False",
    *REVERSE,
)
def vectors_of_no_singular_value(x):
    return np.linalg.svd(np.outer(x, np.ones(3)))[2].sum()  # here


class Border:
    def __call__(self, row, width, axis, options):
        row[: width[0]] = 1.0


@refused(
    "there is no derivative of pad with an object as mode in `np.pad(x, 1, Border())`; give it a function, "
    "`mode=obj.__call__`",
    *BOTH,
)
def pad_by_an_object(x):
    return np.pad(x, 1, Border()).sum()  # here


# -- more of NumPy's, and of Python's ------------------------------------------------------------------------


@refused(
    "tests.refusals.refused_programs._counting is checkpointed, and gave another result when it was "
    "run again: it changes its arguments, or reads what has changed since; take the checkpoint "
    "away, or pass it all that it reads",
    "vjp",
)
def another_result_next_time(x):
    return checkpoint(_counting)(x)  # here


_calls = [0.0]


def _counting(x):
    _calls[0] += 1.0
    return x * _calls[0]
