"""What cannot be a kernel."""

import math

import numpy as np

from ctxdispatch import broadcast, custom_rule
from tests.refusals.refusal_table import BOTH, KERNEL, refused

X = np.array([0.5, 1.5])
RECORDS = np.array([(1.0, 2.0)], np.dtype([("u", float), ("v", float)]))


def doubled(v):
    return v * 2.0


# -- statements ----------------------------------------------------------------------------------------------


@refused("a kernel cannot raise; return nan there, or check the arrays before", *KERNEL)
def raises(x):
    if x < 0:
        raise ValueError("no")  # here
    return x


@refused("a kernel computes with numbers, and None is none; use a number", *KERNEL)
def falls_through(x):
    if x > 1:  # here
        return x


def returns_nothing(x):  # here
    x * 2.0


refused("a kernel must return numbers on every path; return nan where there is none", *KERNEL)(
    returns_nothing
)


@refused("'k' may be unbound here; give it a value on every path before", *KERNEL)
def may_be_unbound(x):
    if x > 1:
        k = 2.0
    return k  # here


@refused("'k' may be unbound here; give it a value on every path before", *KERNEL)
def unbound_after_a_loop(x):
    for k in range(int(x)):
        pass
    return k  # here


def wave(v):
    return math.sin(v) + v * v + 1


def waves(v):
    return wave(wave(wave(wave(v))))  # here


def sixteen(v):
    return waves(waves(waves(waves(v))))


def many(v):
    return sixteen(sixteen(sixteen(sixteen(sixteen(sixteen(sixteen(sixteen(v))))))))


def thousands(v):
    return many(many(many(many(many(many(many(many(many(many(many(many(v))))))))))))


@refused(f"with {__name__}.wave the kernel is too large; call it before or after", *KERNEL, where=waves)
def too_many_operations(x):
    return thousands(thousands(thousands(thousands(x))))


def factorial(n):
    return 1.0 if n < 1 else n * factorial(n - 1)  # here


refused(
    "tests.refusals.refused_kernels.factorial calls itself; a kernel has no recursion: write it as a loop",
    *KERNEL,
    where=factorial,
)(factorial)


def generates(x):  # here
    yield x


refused("generator function cannot be part of a kernel; build a list and return it", *KERNEL)(generates)


@refused(
    "try/except cannot be part of a kernel; test for the condition with `if`, or keep the `try` in "
    "the caller",
    *KERNEL,
)
def tries(x):
    try:  # here
        return 1 / x
    except ZeroDivisionError:
        return 0.0


@refused(
    "print cannot be part of a kernel, which computes with numbers; do it before or after, on the arrays",
    *KERNEL,
)
def prints(x):
    print("hi")  # here
    return x


@refused(
    "an item of this cannot be part of a kernel, which computes with numbers; do it before or after, "
    "on the arrays",
    *KERNEL,
)
def an_unknown_function(x):
    f = [math.sin, math.cos][int(x)]  # here
    return f(x)


@refused("a kernel calls functions that are known before it runs; this one is not", *KERNEL)
def a_function_that_a_branch_chooses(x):
    f = math.sin if x > 1.0 else math.cos
    return f(x)  # here


def goes_on_for_ever(x):  # here
    while True:
        x = x + 1.0


refused("a kernel must return a number; return nan where there is none", *KERNEL)(goes_on_for_ever)


# -- loops ---------------------------------------------------------------------------------------------------


@refused(
    "the step of a range in a kernel is a whole number that is written out, not 0; write range(0, n, 2)",
    *KERNEL,
)
def a_step_that_varies(x):
    s = 0
    for k in range(0, 10, int(x)):  # here
        s += k
    return s


@refused("a kernel loops over range(...), or over a tuple of numbers; write the loop so", *KERNEL)
def a_long_tuple(x):
    for c in (1.0,) * 1000:  # here
        x = x + c
    return x


@refused("a range goes over whole numbers; write range(int(n))", *KERNEL)
def a_range_of_floats(x):
    s = 0.0
    for k in range(x):  # here
        s += k
    return s


@refused("items of an iterator go to several loops, or runs of one; make one for each", *KERNEL)
def an_iterator_of_two_loops(x):
    items = iter((1.0, 2.0))  # here
    for c in items:
        x = x + c
        break
    for c in items:
        x = x * c
    return x


@refused("a loop over a tuple in a kernel cannot be left by break or return; loop over range(...)", *KERNEL)
def a_tuple_that_is_left(x):
    for c in (1.0, 2.0):  # here
        if x > c:
            break
    return x * c


# -- values --------------------------------------------------------------------------------------------------


def text(x):  # here
    return "a"


refused("a kernel must return numbers on every path; return nan where there is none", *KERNEL)(text)


@refused("the attribute 'foo' cannot be read in a kernel; read it before", *KERNEL)
def an_attribute(x):
    return x.foo  # here


@refused("an f-string cannot be part of a kernel, which computes with numbers; use variables", *KERNEL)
def an_f_string(x):
    return float(f"{x}")  # here


@refused(
    "numpy.sum cannot be part of a kernel, which computes with numbers; do it before or after, on the arrays",
    *KERNEL,
)
def a_sum_of_arrays(x):
    return np.sum(x)  # here


def complex_numbers(x):  # here
    return abs(x * 1j)


refused("a kernel must return numbers on every path; return nan where there is none", *KERNEL)(
    complex_numbers
)


@refused("numpy.sin of (float, float) cannot be part of a kernel; convert them, or do it before", *KERNEL)
def too_many_arguments(x):
    return math.sin(x, x)  # here


@refused(
    "tests.refusals.refused_kernels.doubled takes 1 positional arguments but 2 were given; call it "
    "with the arguments that it takes",
    *KERNEL,
)
def too_many_arguments_of_a_function(x):
    return doubled(x, x)  # here


@refused("index 2 is out of range for a tuple of 2; use a smaller index", *KERNEL)
def an_index_out_of_range(x):
    return (x, 1.0)[2]  # here


@refused(
    "100000000000000000000 does not fit into int64; give the arrays a larger dtype", *KERNEL, x=np.arange(3)
)
def a_number_that_is_too_large(n):
    return n * 10**20  # here


@refused(
    "a whole number to the power of a whole number may be a fraction; write float(n) ** k",
    *KERNEL,
    x=np.arange(3),
)
def a_power_of_whole_numbers(n):
    return 2**n  # here


@refused("a tuple cannot be part of a kernel, which computes with numbers; use variables", *KERNEL)
def tuples_of_two_lengths(x):
    return (x, x) if x > 1 else (x,)  # here


@refused(
    "a kernel returns one number, or a tuple of numbers of one length, on all of its paths; return as"
    " many everywhere",
    *KERNEL,
)
def results_of_two_lengths(x):
    if x > 1:
        return x, x
    return (x,)  # here


@refused("a kernel returns numbers, not tuples within a tuple; return one flat tuple", *KERNEL)
def a_tuple_in_a_tuple(x):
    return (x, (x, x))  # here


def a_record(x):  # here
    return x * 2.0


refused(
    "'x' has dtype [('u', '<f8'), ('v', '<f8')], and a kernel computes with numbers; read its fields,"
    " as in x['u']",
    *KERNEL,
    x=RECORDS,
)(a_record)


@refused("an element has the fields u, v, and 'w' is none; read one of these", *KERNEL, x=RECORDS)
def a_field_that_there_is_not(x):
    return x["w"]  # here


class Factors:
    pass


FACTORS = Factors()
FACTORS.of = np.array([1.0, 2.0])


@refused(
    "an item of an array that may not be there is read on some paths only; read it into a variable before",
    *KERNEL,
)
def an_item_on_one_path(x):
    return FACTORS.of[5] * x if x > 9.0 else x  # here


@refused(
    "a kernel computes with numbers, and is a ndarray; pass it as an argument of broadcast, or "
    "compute with it before",
    *KERNEL,
)
def an_array_in_a_product(x):
    return X * x  # here


@refused(
    "np.vectorize makes an array of the class of the first result, and results are of several; return"
    " numbers of one class, or use broadcast",
    "checkpoint",
)
def results_of_two_classes(x):
    return np.vectorize(lambda v: 0 if v < 1.0 else v * v)(x).sum()  # here


@refused("the name 'undefined' is not defined, or is no number, array or function", *KERNEL)
def an_unknown_name(x):
    return undefined * x  # noqa: F821  # here


def ruled(x):
    return x * 2.0


custom_rule(ruled)(lambda x: (x * 2.0, lambda g: g * 2.0))


@refused(
    "tests.refusals.refused_kernels.ruled has a derivative rule of its own, which kernels do not "
    "follow; call it on the arrays, before or after",
    *BOTH,
)
def a_function_with_a_rule(v):
    return np.sum(broadcast(lambda x: ruled(x), v))  # here


@refused(
    "i0 has no derivative in a kernel; call it on the arrays, before or after",
    *BOTH,
)
def a_function_without_a_derivative(v):
    return np.sum(broadcast(lambda x: np.i0(x), v))  # here
