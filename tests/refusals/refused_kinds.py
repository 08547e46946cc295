"""Kinds of values that have no derivatives, or fewer than arrays: records, array.arrays, masks, classes."""

import array
import datetime

import numpy as np

from ctxdispatch import grad, jvp, vjp
from tests.refusals import refused_elsewhere
from tests.refusals.refusal_table import BOTH, refused

RECORDS = np.array([(1.0, 2.0)], np.dtype([("u", float), ("v", float)]))


def of_one(a):  # here
    return 1.0


def of_two(a, b):  # here
    return a * 1.0


# -- arguments -----------------------------------------------------------------------------------------------


@refused(
    "argument 'a' (argnums 0) is an array of records of dtype [('u', '<f8'), ('v', '<f8')], which has no "
    "derivative; pass its fields as arrays (`x['name']`)",
    where=of_one,
)
def records():
    grad(of_one)(RECORDS)


tangents_of_records = lambda x: jvp(of_one, (RECORDS,), (RECORDS,))[1] + x  # noqa: E731  # here
refused(
    "argument 'a' is an array of records of dtype [('u', '<f8'), ('v', '<f8')], which has no derivative; "
    "pass its fields as arrays (`x['name']`)",
    "grad",
    x=1.0,
)(tangents_of_records)


@refused(
    "argument 'b' (number 1) is of type memoryview, which has no derivative; pass the array that it shows "
    "(`np.asarray(x)`)",
    where=of_two,
)
def memory_among_the_arguments():
    vjp(of_two, 1.0, memoryview(np.ones(2)))


# -- array.arrays --------------------------------------------------------------------------------------------


@refused(
    "array.array.tobytes has no derivative rule for (array.array), which shows memory as numbers; make it "
    "an array (`np.asarray(a)`), or use a list",
    *BOTH,
)
def bytes_of_an_array_array(x):
    a = array.array("d", [x[0]])
    return a.tobytes()  # here


@refused(
    "array.array.append of an array.array that depends on what is differentiated changes how "
    "long it is; use a list",
    *BOTH,
)
def a_longer_array_array(x):
    a = array.array("d", [x[0]])
    a.append(x[1])  # here
    return a[1]


@refused("add of array.arrays makes another one out of sight; use lists, or arrays (`np.concatenate`)", *BOTH)
def joined_array_arrays(x):
    return (array.array("d", [x[0]]) + array.array("d", [x[1]]))[1]  # here


# -- classes of arrays ---------------------------------------------------------------------------------------


@refused(
    "numpy.sum has no derivative rule for masked arrays; use the method of the array "
    "(`a.sum()`), or `np.ma`'s function",
    *BOTH,
)
def a_sum_of_a_masked_array(x):
    return np.sum(np.ma.array(x * 2.0, mask=[False, True]))  # here


class Counting(np.ndarray):
    def __iadd__(self, other):
        return np.ndarray.__iadd__(self, other)  # here


@refused(
    "np.ndarray's iadd, called by the class Counting, has no derivative rule; use "
    "arrays of NumPy's own class (`np.asarray(x)`)",
    *BOTH,
    where=Counting.__iadd__,
)
def what_a_class_of_arrays_calls(x):
    y = (x * 2.0).view(Counting)
    y += 1.0
    return y.sum()


@refused(
    "the shape of an array that the derivative knows is set in place; make another array, with "
    "`a = a.reshape(..)`",
    *BOTH,
)
def an_array_of_another_shape(x):
    y = x * 1.0
    y.shape = (1, y.size)  # here
    return y.sum()


@refused(
    "ndarray.resize moves an array whose elements depend on what is differentiated to other "
    "memory; use np.pad, np.concatenate or np.reshape, which make another array",
    *BOTH,
)
def an_array_that_moves(x):
    y = x * 1.0
    y.resize(3, refcheck=False)  # here
    return y.sum()


# -- methods that an object hides ----------------------------------------------------------------------------


class Energy:
    def of(self, x):
        return x * 2.0


OTHER = Energy()
OTHER.of = lambda x: x * 3.0  # type: ignore[method-assign]
LARGE = Energy()
vars(LARGE).update(vars(OTHER), **{f"level{i}": i for i in range(60)})  # more than is looked into
HIDDEN = (
    "attribute 'of' of this Energy hides the method of its class; give the attribute another name, or put "
    "the function on the class"
)


@refused(HIDDEN, *BOTH, "checkpoint")
def a_method_that_is_hidden(x):
    y = x * 1.0
    return LARGE.of(y).sum()  # here


@refused(HIDDEN, *BOTH, "checkpoint", where=refused_elsewhere.sums)
def a_method_that_is_hidden_from_another_file(x):
    return refused_elsewhere.sums(LARGE, x) * 2.0


def a_hidden_method_of_a_default(x, energy=OTHER):
    return energy.of(x).sum()


class ByName:
    def __init__(self, chosen):
        self.chosen = chosen


def a_function_under_another_name(x):
    return ByName(lambda x: x * 3.0).chosen(x).sum()


REMEDIES = [a_hidden_method_of_a_default, a_function_under_another_name]


# -- what is out of sight ------------------------------------------------------------------------------------


@refused(
    "argument 'a' (argnums 0) is of type list, which holds a timedelta: its numbers are out of sight, and "
    "have no derivative; pass a list of its items (`[*x]`), or leave it out of argnums",
    where=of_one,
)
def a_list_of_what_is_out_of_sight():
    grad(of_one)([datetime.timedelta(seconds=2)])


def of_a_step(m):
    return m["x"] * m["step"].total_seconds()  # here


@refused(
    "datetime.timedelta.total_seconds reads numbers out of a part of an argument of type timedelta, which "
    "holds them out of sight: their derivative would be lost; pass `x.total_seconds()`, or leave it out of "
    "what is differentiated (as an argument of its own)",
    where=of_a_step,
)
def a_number_out_of_a_part_of_an_argument():
    grad(of_a_step)({"x": 2.0, "step": datetime.timedelta(seconds=2)})


refused(
    "an object among (timedelta) holds numbers out of sight, whose derivative would be lost; give it numbers",
    "checkpoint",
    x={"x": 2.0, "step": datetime.timedelta(seconds=2)},
)(of_a_step)
