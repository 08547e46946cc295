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


@refused(f"numpy.ndarray.getfield has no derivative rule for (x * 2.0: ndarray, float: type); {GIVE}", *BOTH)
def a_method_without_a_rule(x):
    return (x * 2.0).getfield(float).sum()  # here


@refused(
    "the attribute 'data' of an array shows its memory, where derivatives are not followed; use the array "
    "itself", *BOTH,
)  # fmt: skip
def the_memory(x):
    return x.data[0]  # here


@refused(
    "eval has no derivative rule: it runs code that is compiled for itself, where nothing is "
    "differentiated; write its code out, give it a rule with `custom_rule`, or keep its arguments "
    "out of the derivative with `stop_gradient`",
    *BOTH,
)
def code_in_a_string(x):
    return eval("x * x").sum()  # here


@refused(
    "eval has no derivative rule: it runs code that is compiled for itself, where nothing is "
    "differentiated; write its code out, give it a rule with `custom_rule`, or keep its arguments "
    "out of the derivative with `stop_gradient`",
    *BOTH,
)
def code_in_a_string_of_names(x):
    return eval("v * v", {"v": x}).sum()  # here


@refused(
    "numpy.array on an array of objects computes out of sight; make it an array of floats "
    "(`.astype(float)`) first",
    "hessian",
)
def an_array_of_objects(x):
    y = np.array([x[0], x[1]], dtype=object)  # here
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
    "an array that lies in the memory of (bytearray) is given a value that depends on what is "
    "differentiated, which would be lost there; use an array of floats of its own (`np.array(...)`)",
    *BOTH,
)
def over_foreign_memory(x):
    a = np.frombuffer(bytearray(16))
    a[0] = x[0]  # here
    return a.sum()


@refused(
    "numpy.modf with several outputs, or with `where`, writes into arrays that are differentiated; "
    "store its results instead",
    "jvp",
)
def two_outputs(x):
    a, b = np.empty(2), np.empty(2)
    np.modf(x, out=(a, b))  # here
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


# -- iterators, closures, globals ----------------------------------------------------------------------------


# -- rules that are not for these arguments ------------------------------------------------------------------

W = "in `"


@refused(
    "there is no derivative of unique but for its values in `np.unique(v * 2.0, "
    "return_counts=True)`; ask for the indices apart",
    *REVERSE,
    "checkpoint",
    where=refused_elsewhere.counts,
)
def unique_with_counts_in_another_file(x):
    return refused_elsewhere.counts(x) * 2.0


@refused(
    "there is no derivative of quantile but with method='linear' and without weights in "
    "`np.quantile(w, 0.3, method='lower')`; leave method and weights out",
    *BOTH,
    "checkpoint",
    where=refused_elsewhere.takes_a_quantile,
)
def a_quantile_in_another_file(x):
    return refused_elsewhere.takes_a_quantile(x) * 2.0


@refused(
    "there is no derivative of quantile but with method='linear' and without weights in "
    "`np.quantile(x, 0.3, method='lower')`; leave method and weights out",
    *BOTH,
    "vjp",
    "jacrev",
    "jacfwd",
    "checkpoint",
    "overdub",
)
def quantile_lower(x):
    return np.quantile(x, 0.3, method="lower")  # here


@refused(
    "there is no derivative of unique but for its values in `np.unique(x, return_index=True)`; ask "
    "for the indices apart",
    *REVERSE,
)
def unique_with_indices(x):
    return np.unique(x, return_index=True)[0].sum()  # here


@refused(
    "there is no derivative of unique but for its values in `np.unique(x, return_index=True)`; ask "
    "for the indices apart",
    *REVERSE,
)
def unique_recorded(x):
    try:
        return np.unique(x, return_index=True)[0].sum()  # here
    finally:
        pass


@refused(
    "there is no derivative of cross for vectors of length 2 in `np.cross(x, x[::-1] * 2.0)`; "
    "append a zero to them",
    *REVERSE,
)
def cross_of_two(x):
    return np.cross(x, x[::-1] * 2.0).sum()  # here


@refused(
    "there is no derivative of var or std with mean= in `np.var(x, mean=x.mean(keepdims=True))`; "
    "leave the argument out",
    *BOTH,
)
def variance_about(x):
    return np.var(x, mean=x.mean(keepdims=True))  # here


@refused(
    "there is no derivative of correlate with the shorter sequence first in `np.correlate(x, "
    "np.ones(3), 'same')`; exchange the two",
    *REVERSE,
)
def correlate_short_first(x):
    return np.correlate(x, np.ones(3), "same").sum()  # here


@refused(
    "there is no derivative of average with returned=True in `np.average(x, returned=True)`; sum "
    "the weights apart",
    *BOTH,
)
def average_returned(x):
    return np.average(x, returned=True)[0]  # here


@refused(
    "there is no derivative of cov with weights in `np.cov(np.outer(x, x), aweights=[1.0, 2.0])`; "
    "scale the centred observations by the roots of the weights",
    *BOTH,
)
def weighted_covariance(x):
    return np.cov(np.outer(x, x), aweights=[1.0, 2.0]).sum()  # here


@refused(
    "there is no derivative of pad with mode='linear_ramp' and {} in `np.pad(x, 1, "
    "mode='linear_ramp')`; use mode='constant' or 'edge'",
    *REVERSE,
)
def pad_ramp(x):
    return np.pad(x, 1, mode="linear_ramp").sum()  # here


@refused(
    "there is no derivative of linspace with retstep=True in `np.linspace(x[0], x[1], 5, "
    "retstep=True)`; compute the step from the points",
    *REVERSE,
)
def linspace_step(x):
    return np.linspace(x[0], x[1], 5, retstep=True)[0].sum()  # here


@refused(
    "there is no derivative of a transform of one axis twice in `np.fft.fftn(np.outer(x, x), "
    "axes=(0, 0))`; transform it once more",
    *REVERSE,
)
def one_axis_twice(x):
    return np.fft.fftn(np.outer(x, x), axes=(0, 0)).real.sum()  # here


@refused(
    "there is no derivative of trim_zeros but for vectors in `np.trim_zeros(np.outer(x, x))`; take "
    "the slice by hand",
    "hessian",
)
def trims_a_matrix(x):
    return np.trim_zeros(np.outer(x, x)).sum()  # here


@refused(
    "there is no derivative of the sign that slogdet returns of a complex matrix in "
    "`np.linalg.slogdet(np.outer(x, x) + 1j * np.eye(2))`; take det(a) / abs(det(a))",
    *REVERSE,
)
def sign_of_a_determinant(x):
    return np.linalg.slogdet(np.outer(x, x) + 1j * np.eye(2))[0].real  # here


@refused(
    "there is no derivative of qr but with mode='reduced' and at least as many rows as columns in "
    "`np.linalg.qr(np.outer(x, np.ones(3)), mode='complete')`; leave mode out, and factorise the "
    "leading square part of a matrix with more columns",
    *REVERSE,
)
def qr_complete(x):
    return np.linalg.qr(np.outer(x, np.ones(3)), mode="complete")[0].sum()  # here


@refused(
    "there is no derivative of svd of an oblong matrix with full_matrices=True in "
    "`np.linalg.svd(np.outer(x, np.ones(3)))`; ask for False",
    *REVERSE,
)
def svd_full(x):
    return np.linalg.svd(np.outer(x, np.ones(3)))[0].sum()  # here


@refused(
    "there is no derivative of interp with period= in `np.interp(x, [0.0, 1.0], [1.0, 2.0], "
    "period=3.0)`; wrap the points and x by hand",
    *BOTH,
)
def periodic(x):
    return np.interp(x, [0.0, 1.0], [1.0, 2.0], period=3.0).sum()  # here


@refused(
    "there is no derivative of gradient with edge_order=2 in `np.gradient(np.append(x, 3.0), "
    "edge_order=2)`; leave edge_order out, and write the differences at the ends by hand",
    *BOTH,
)
def edges_of_second_order(x):
    return np.gradient(np.append(x, 3.0), edge_order=2).sum()  # here


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
