"""Memory that objects of C code show, and results that an earlier call left."""

import ctypes
import io
import pickle

import numpy as np

from ctxdispatch import grad
from tests.refusals.refusal_table import BOTH, refused

SHOWN = (
    "an object of C code (numpy.broadcast) may give numbers out of memory into which a value that depends on "
    "what is differentiated has been stored, where that is not followed; read the array itself, or make the "
    "object of a copy (`a.copy()`)"
)


@refused(SHOWN, *BOTH)
def what_is_shown_since_before_the_store(x):
    a = np.zeros(3)
    shown = np.broadcast(a, 1.0)
    a[0] = x[0]
    return next(shown)[0] * x[1]  # here


@refused(
    "an object of C code (numpy.nditer) stores into memory that the run has read, where that is not "
    "followed; read the array itself, or make the object of a copy (`a.copy()`)",
    *BOTH,
)
def a_store_by_way_of_an_iterator(x):
    a = np.zeros(3)
    shown = np.nditer(a, op_flags=["readwrite"])
    a[0] = x[0]
    shown[0] = 5.0  # here
    return a[0] * x[1]


@refused(
    "numpy.nditer goes through copies of its operands, where derivatives are not followed; convert them "
    "before (`.astype`), and leave out the flag 'buffered'",
    *BOTH,
)
def an_iterator_over_copies(x):
    for v in np.nditer(x, flags=["buffered"]):  # here
        return v * 1.0


@refused(
    "(memoryview) shows memory of floats that depend on what is differentiated as numbers of another kind; "
    "read the array itself",
    *BOTH,
)
def bytes_one_by_one(x):
    return memoryview(x).cast("B")[7] * x[0]  # here


@refused(
    "(ctypes.c_double) stores what depends on what is differentiated to an address, and which array has that "
    "is not known; store it into the array itself",
    *BOTH,
)
def a_store_to_an_address(x):
    ctypes.c_double.from_address(ADDRESS).value = x[0]  # here
    return elsewhere[0] * x[1]


elsewhere = np.zeros(3)
ADDRESS = elsewhere.ctypes.data


@refused(
    "ctypes.memmove moves memory that may hold what depends on what is differentiated, and which floats "
    "these are is not known; store into the array itself (`a[:] = b`)",
    *BOTH,
)
def a_part_of_a_float_that_is_moved(x):
    a = np.zeros(3)
    ctypes.memmove(a.ctypes.data, x.ctypes.data, 12)  # here
    return a[1]


@refused(
    "an object of C code (memoryview) may show what depends on the inputs and was stored into an array; read "
    "the array itself, or make the object of a copy",
    "sparsity",
)
def an_older_view(x):
    table[0] = x[0]
    return shown_table[0] * x[1]  # here


table = np.zeros(3)
shown_table = memoryview(table)


class Memo:
    last = np.array([1.0, 2.0])
    value = 5.0


@refused(
    "what is differentiated equals what an earlier call has kept, and the result depends on numbers that "
    "were computed then, whose derivatives are not known; differentiate the function that computes them, or "
    "have it forget what it keeps before",
    *BOTH,
)
def a_result_that_was_kept(x):
    if np.array_equal(x, Memo.last):  # here
        return Memo.value
    return np.sum(x**2)


kept = []


def keeps_a_sine(x):
    if not kept:
        kept.append(np.sin(x))  # here
    return 2.0 * kept[0]


@refused(
    "the result depends on what an earlier run has left here, which is no constant and whose derivatives are "
    "not known any more; compute it in each run, give it as an argument, or read it by `stop_gradient(...)`",
    where=keeps_a_sine,
)
def what_an_earlier_run_has_left():
    kept.clear()
    grad(keeps_a_sine)(1.0)
    grad(keeps_a_sine)(1.0)


# -- C code of which nothing is known ------------------------------------------------------------------------

_GIVEN = "which reach what is differentiated, "
_REMEDY = "; give it a rule with `custom_rule`, or `stop_gradient` of its arguments"
_NO_RULE = "_pickle.dumps has no derivative rule for "


@refused(
    f"{_NO_RULE}([x[0]]: list), {_GIVEN}and what it returns may hold numbers made of that{_REMEDY}", *BOTH
)
def bytes_of_what_a_list_holds(x):
    read = pickle.loads(pickle.dumps([x[0]]))  # here
    return read[0] * x[1]


@refused(
    "_pickle.Pickler.dump has no derivative rule for (pickler: Pickler, [x[0]]: list), "
    f"{_GIVEN}and may keep that out of sight{_REMEDY}",
    *BOTH,
)
def what_an_object_of_c_may_keep(x):
    written = io.BytesIO()
    pickler = pickle.Pickler(written)
    pickler.dump([x[0]])  # here
    return pickle.loads(written.getvalue())[0] * x[1]


class Doubles:
    def __init__(self, v):
        self.v = v

    def __reduce__(self):
        self.v = self.v * 2.0
        return Doubles, (0.0,)


@refused(f"{_NO_RULE}([held]: list), {_GIVEN}and what that holds has changed{_REMEDY}", *BOTH)
def what_changes_out_of_sight(x):
    held = Doubles(x[0])
    pickle.dumps([held])  # here
    return held.v * x[1]
