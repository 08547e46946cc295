"""What has no sparsity pattern: values that are of one kind or another, and what runs in C."""

import array
import collections
import datetime
import pickle

import numpy as np

from tests.refusals.refusal_table import refused


@refused("the attribute '__length_hint__' of an iterator; take its items, with `for` or `next`", "sparsity")
def a_method_of_an_iterator(x):
    return zip(x, x).__length_hint__() * x  # here


@refused(
    "an iterator is read while another one goes through it; take its items as a list first, and go "
    "through that",
    "sparsity",
)
def an_iterator_that_another_goes_through(x):
    items = iter([x, x * x])
    next(zip(items))
    return next(items, 0.0)  # here


@refused("an array of dtype object of values that depend on the inputs; use arrays of numbers", "sparsity")
def beside_objects(x):
    return np.array([1.0, 2.0], object) * x  # here


@refused(
    'this `for` loop did not end within 5000 iterations; mode="local" takes the values at hand, '
    "np.where keeps the shape",
    "sparsity",
)
def a_long_loop(x):
    total = x[0]
    for i in range(10**6):
        if total > 1e9:  # here
            break
        total = total + x[1] * i
    return total


class Holder:
    def __init__(self, v):
        self.v = v


@refused(
    "_pickle.dumps is not looked into (it is C code without a rule), and takes an object that holds "
    "values that depend on the inputs; pass it arrays and numbers",
    "sparsity",
)
def an_object_for_c(x):
    return len(pickle.dumps(Holder(x))) * x[0]  # here


@refused(
    'an integer argument of numpy.fft.fft depends on the inputs\' values; mode="local" takes the values '
    "at hand, np.where keeps the shape",
    "sparsity",
)
def a_length_that_varies(x):
    return np.fft.fft(x, int(x[0])).real  # here


@refused(
    "this is one thing or another (an array of float64[2, 2] or None), after a branch or loop on a "
    'value that depends on the inputs, and cannot be followed; mode="local" takes the values at hand, '
    "np.where keeps the shape",
    "sparsity",
)
def a_power_that_varies(x):
    return np.linalg.matrix_power(np.outer(x, x), int(x[0]))  # here


@refused(
    'whether something is in a tuple depends on the inputs\' values; mode="local" takes the values at '
    "hand, np.where keeps the shape",
    "sparsity",
)
def a_pair_in_a_list(x):
    return x[0] if (x[0],) in [(1.0,), (2.0,)] else x[1]  # here


@refused(
    "a value that depends on the inputs is stored into a array, which holds none; store into the array "
    "itself",
    "sparsity",
)
def an_item_of_an_array_array(x):
    a = array.array("d", [0.0])
    a[0] = x[0]  # here
    return a[0]


@refused(
    'the type of a number that depends on the inputs\' values is asked for: float64 or int; mode="local"'
    " takes the values at hand, np.where keeps the shape",
    "sparsity",
)
def the_type_of_one_number_or_another(x):
    y = 1 if x[0] > 0.0 else x[1]
    return type(y)(2.0) * x[0]  # here


@refused(
    "this is an array or a number, after a branch or loop on a value that depends on the inputs, and "
    'its type or shape is asked for; give both sides one shape, or mode="local" takes the values at '
    "hand, np.where keeps the shape",
    "sparsity",
)
def an_array_or_a_number(x):
    y = x if x[0] > 0.0 else x[0]
    return x * len(np.shape(y))  # here


@refused(
    "this is an array or a number, after a branch or loop on a value that depends on the inputs, and "
    'its type or shape is asked for; give both sides one shape, or mode="local" takes the values at '
    "hand, np.where keeps the shape",
    "sparsity",
)
def an_array_or_a_number_by_attribute(x):
    y = x * 2.0 if x[0] > 0.0 else x[0] * 2.0
    return x * y.ndim  # here


@refused(
    "an operation fails in a branch that depends on the inputs (ValueError: invalid literal for int() "
    "with base 10: 'a'); only `raise` and `assert` end a path",
    "sparsity",
)
def a_number_of_text_in_a_branch(x):
    if x[0] > 3.0:
        return x[0] * int("a")  # here
    return x[0]


@refused(
    "after a branch or loop on a value that depends on the inputs, a list holds one number of items or "
    'another; mode="local" takes the values at hand, np.where keeps the shape',
    "sparsity",
)
def items_that_are_chosen(x):
    return x[0] * len([*filter(None, [x[0], x[1]])])  # here


@refused(
    "a value that depends on the inputs was compared in C code; write the comparison out in Python",
    "sparsity",
)
def found_in_a_list(x):
    return [x[0], 2.0].index(x[1]) * x[0]  # here


@refused(
    "a value that depends on the inputs was compared in C code; write the comparison out in Python",
    "sparsity",
)
def found_in_a_deque(x):
    return x[0] * collections.deque([x[0], 3.0]).count(x[1])  # here


@refused(
    "a value that depends on the inputs was compared in C code; write the comparison out in Python",
    "sparsity",
)
def removed_from_a_list(x):
    items = [x[0], x[1]]
    items.remove(x[1])  # here
    return items[0]


@refused("what is raised here depends on the inputs; raise an exception made of plain values", "sparsity")
def one_error_or_another(x):
    error = ValueError("a") if x[0] > 0.0 else KeyError("b")
    raise error  # here


FOREIGN = np.frombuffer(bytearray(16))


@refused("a store into an array that is no contiguous memory of its own; copy it first", "sparsity")
def into_foreign_memory(x):
    FOREIGN[0] = x[0]  # here
    return FOREIGN * 1.0


@refused("mul of timedelta, float64 is not supported; use arrays of numbers", "sparsity")
def a_span_of_time(x):
    return (datetime.timedelta(1) * x[0]).total_seconds()  # here


@refused("numpy.add with extra is not supported here; leave it out", "sparsity")
def a_signature_of_an_operation(x):
    return np.add(x, x, extra=1)  # here


@refused(
    "numpy.ndarray.reshape fails on the values at hand in a branch that these do not take (ValueError: "
    'cannot reshape array of size 2 into shape (3,)); give other arguments, or mode="local"',
    "sparsity",
)
def a_shape_that_fails_in_a_branch(x):
    if x[0] > 3.0:
        return x.reshape(3)[0]  # here
    return x[0]


@refused(
    "add fails on the values at hand in a branch that these do not take (ValueError: operands could not"
    ' be broadcast together with shapes (2,) (3,) ); give other arguments, or mode="local"',
    "sparsity",
)
def shapes_that_fail_in_a_branch(x):
    if x[0] > 3.0:
        return (x + np.ones(3)).sum()  # here
    return x[0]


class Registered:
    def __init_subclass__(cls, v):
        cls.v = v * 2.0


@refused(
    "making a class runs a special method of the class Registered, which may store values that depend on "
    "the inputs, where that is not followed; have the method store nothing, or call it beforehand and give "
    "what it returns",
    "sparsity",
)
def a_class_that_stores_as_it_is_made(x):
    return type("C", (Registered,), {}, v=x[0]).v  # here


SHARED = np.zeros(3)
BY_ADDRESS = np.from_dlpack(SHARED)


@refused(
    "an array that shares memory with another one by its address, and not as a view of it, depends on the "
    "inputs; use one of the two",
    "sparsity",
)
def memory_by_its_address(x):
    SHARED[0] = x[0]
    return BY_ADDRESS * x  # here


# -- code that is not followed -------------------------------------------------------------------------------

STEPS = iter([1.0, 2.0, 3.0])


def next_step(x):
    try:
        return x * next(STEPS)
    finally:
        pass


@refused(
    "tests.refusals.refused_by_sparsity.next_step is not looked into, and could advance a list_iterator, "
    "which cannot be set back; pass it a list",
    "sparsity",
)
def an_iterator_that_is_advanced_unseen(x):
    return next_step(x)  # here
