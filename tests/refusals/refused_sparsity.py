"""What has no sparsity pattern, and what sparse derivatives do not take."""

import array
import collections
import copy
import heapq
import itertools
import queue

import numpy as np

from ctxdispatch import (
    jacobian_sparsity,
)
from tests.refusals.refusal_table import refused

# -- shapes and values ---------------------------------------------------------------------------------------


@refused(
    "the shape of this selection depends on the inputs' values, so there is no pattern for all of them;"
    ' mode="local" takes the values at hand, np.where keeps the shape',
    "sparsity",
)
def a_selection(x):
    return x[x > 0.0]  # here


@refused(
    "the shape of what numpy.unique returns depends on the inputs' values, so there is no pattern for "
    'all of them; mode="local" takes the values at hand, np.where keeps the shape',
    "sparsity",
)
def distinct_values(x):
    return np.unique(x)  # here


@refused(
    "after a branch or loop on a value that depends on the inputs, a list holds one number of items or "
    'another; mode="local" takes the values at hand, np.where keeps the shape',
    "sparsity",
)
def a_list_of_one_length_or_another(x):
    found = []
    if x[0] > 0.0:  # here
        found.append(x[1])
    return np.array(found)


def of_one_shape_or_another(x):
    return np.zeros(3) * x[0] if x[0] > 0.0 else np.zeros(4) * x[0]


@refused(
    "of what tests.refusals.refused_sparsity.of_one_shape_or_another returns: this is one thing or "
    "another (an array of float64[3] or an array of float64[4]), after a branch or loop on a value that"
    ' depends on the inputs, and cannot be followed; mode="local" takes the values at hand, np.where '
    "keeps the shape",
)
def one_shape_or_another():
    jacobian_sparsity(of_one_shape_or_another, np.array([1.0, 2.0]))  # here


@refused(
    'a parameter of numpy.roll depends on the inputs\' values; mode="local" takes the values at hand, '
    "np.where keeps the shape",
    "sparsity",
)
def a_shift_that_varies(x):
    return np.roll(x, int(x[0]))  # here


@refused(
    'an index or key of a dict depends on the inputs\' values; mode="local" takes the values at hand, '
    "np.where keeps the shape",
    "sparsity",
)
def a_key_that_varies(x):
    return {1: x[0], 2: x[1]}[int(x[0])]  # here


@refused("an index into an empty list; test its length before", "sparsity")
def an_index_into_an_empty_list(x):
    return [][int(x[0])] * x[0]  # here


@refused(
    "a count is advanced in a branch or loop on a value that depends on the inputs, and cannot be set "
    'back; iterate over a list, or mode="local" takes the values at hand, np.where keeps the shape',
    "sparsity",
)
def a_counter_in_a_loop(x):
    total = x[0]
    for _ in itertools.count():  # here
        if total > 100.0:
            break
        total = total + x[1]
    return total


@refused(
    "an operation fails in a branch that depends on the inputs (IndexError: index 7 is out of bounds "
    "for axis 0 with size 2); only `raise` and `assert` end a path",
    "sparsity",
)
def a_failure_in_a_branch(x):
    if x[0] > 3.0:
        return x[7]  # here
    return x[0]


@refused(
    "an iterator is read after a branch on a value that depends on the inputs, in which it was advanced"
    ' on one side only; iterate over a list anew, or mode="local" takes the values at hand, np.where '
    "keeps the shape",
    "sparsity",
)
def an_iterator_in_a_branch(x):
    items = iter([x[0], x[1]])
    first = next(items) if x[0] > 3.0 else x[0]
    return first * next(items)  # here


@refused(
    "a count is advanced in a branch or loop on a value that depends on the inputs, and cannot be set "
    'back; iterate over a list, or mode="local" takes the values at hand, np.where keeps the shape',
    "sparsity",
)
def a_counter_in_a_branch(x):
    counter = itertools.count()
    n = next(counter) if x[0] > 3.0 else 5  # here
    return x[0] * n


# -- what is not followed ------------------------------------------------------------------------------------


@refused(
    "a value that depends on the inputs is passed to array.append, whose object holds plain numbers "
    "only; use a list or an array",
    "sparsity",
)
def bytes_of_numbers(x):
    a = array.array("d")
    a.append(x[0])  # here
    return a[0]


@refused("a number is called; call a function", "sparsity")
def a_number_that_is_called(x):
    return x[0](1.0)  # here


@refused("memoryview of an array that depends on the inputs; index the array itself", "sparsity")
def the_memory(x):
    return memoryview(x)[0]  # here


@refused("`flat` of an array that depends on the inputs is advanced; iterate over a.ravel()", "sparsity")
def flat_that_is_advanced(x):
    items = x.flat
    return next(items)  # here


@refused("overwrite_input of numpy.median is not supported; leave it out", "sparsity")
def a_median_in_place(x):
    return np.median(x, overwrite_input=True)  # here


@refused("an array of an iterator; make a list of it", "sparsity")
def an_array_of_an_iterator(x):
    return np.array(iter([x[0], x[1]]))  # here


@refused(
    "einsum with lists of axes and an ellipsis is not supported; write the subscripts as text",
    "sparsity",
)
def an_einsum_of_lists(x):
    return np.einsum(np.outer(x, x), [0, Ellipsis], [Ellipsis])  # here


@refused("a MaskedArray that depends on the inputs; use plain arrays", "sparsity")
def a_masked_array(x):
    return np.ma.array(x, mask=[True, False]).sum()  # here


@refused("a matrix that depends on the inputs; use plain arrays", "sparsity")
def a_matrix(x):
    return np.matrix(x).sum()  # here


@refused(
    "attribute 'data' of an array that depends on the inputs is not supported; use a function of NumPy's",
    "sparsity",
)
def the_buffer(x):
    return x.data[0]  # here


@refused(
    "attribute 'shape' of an array that depends on the inputs is set; use reshape or a store",
    "sparsity",
)
def the_shape_is_set(x):
    y = x * 1.0
    y.shape = (2, 1)  # here
    return y


@refused(
    "attribute 'imag' of an array is set to values that depend on the inputs; store them by index: "
    "a[...] = v, a.real[...] = v",
    "sparsity",
)
def imaginary_parts_of_real_numbers(x):
    y = np.zeros(2)
    y.imag = x  # here
    return y


@refused(
    "places in `flat` (np.ndenumerate) of an array that depends on the inputs; use np.ndindex",
    "sparsity",
)
def places_in_flat(x):
    return sum(v * x[0] for _, v in np.ndenumerate(x))  # here


@refused("`flat` of an array that is not contiguous is iterated over; iterate over a.ravel()", "sparsity")
def flat_across_memory(x):
    return [v * 2.0 for v in np.outer(x, x).T.flat][1]  # here


class Settings:
    factor = 1.0


@refused(
    "a value that depends on the inputs becomes attribute 'factor' of a class or module; return it",
    "sparsity",
)
def an_attribute_of_a_class(x):
    Settings.factor = x[0]  # here
    return x


@refused(
    "a value that depends on the inputs cannot be a key: its hash is not known; use an index or a string",
    "sparsity",
)
def a_key(x):
    return {x[0]: 1.0}[1.0] * x[1]  # here


@refused(
    "the shape of this selection depends on the inputs' values, so there is no pattern for all of them;"
    ' mode="local" takes the values at hand, np.where keeps the shape',
    "sparsity",
)
def numbers_in_text(x):
    return np.array(["a", "b"], "U1")[x > 0] == "a"  # here


@refused("an array of dtype object of values that depend on the inputs; use arrays of numbers", "sparsity")
def values_of_dtype_object(x):
    return np.array([x[0], None], object)  # here


@refused(
    "_collections._count_elements is not looked into (it is C code without a rule), and changes an "
    "object or container that it can reach; return what it computes instead",
    "sparsity",
)
def sorted_in_c(x):
    return collections.Counter([x[0], x[1]]).most_common(1)[0][0]  # here


@refused(
    "a value that depends on the inputs was compared in C code; write the comparison out in Python",
    "sparsity",
)
def kept_by_c(x):
    h = [x[0]]
    heapq.heappush(h, x[1])  # here
    return h[0]


@refused(
    "a compress that was made of values that depend on the inputs is used; what is in it cannot be followed: "
    "use numbers, arrays, or lists of them",
    "sparsity",
)
def tested_in_c(x):
    return x[0] * float(any(itertools.compress([1.0, 2.0], [x[0], x[1]])))  # here


@refused(
    "a text that was made of values that depend on the inputs is used as more than a message; compute with "
    "the numbers that it was made of",
    "sparsity",
)
def text_of_numbers(x):
    return float(f"{x[0]:.3f}") * x[1]  # here


# -- what would keep a value out of sight --------------------------------------------------------------------


@refused(
    "a value that depends on the inputs is stored into an array of dtype object; use an array of floats, "
    "or a list",
    "sparsity",
)
def an_array_of_objects(x):
    found = np.empty(2, object)
    found[0] = x[0]  # here
    return found[0]


@refused(
    "an item of a structured array that depends on the inputs; index its field first",
    "sparsity",
)
def an_item_of_a_structured_array(x):
    found = np.zeros(2, [("a", float)])
    found["a"][0] = x[0]
    return found[0]["a"]  # here


@refused(
    "a value that depends on the inputs is passed to SimpleQueue.put, whose object may keep it out of sight; "
    "use a list or an array",
    "sparsity",
)
def a_queue(x):
    found = queue.SimpleQueue()
    found.put(x[0])  # here
    return found.get()


@refused("an array of a deque that depends on the inputs; make a list of it", "sparsity")
def an_array_of_a_deque(x):
    return np.array(collections.deque(x))  # here


@refused(
    "a dict that was made of values that depend on the inputs is used; what is in it cannot be followed: "
    "use numbers, arrays, or lists of them",
    "sparsity",
)
def keys(x):
    return sum(dict.fromkeys([x[0], x[1]]).keys())  # here


@refused(
    "resize of an array that depends on the inputs changes it in place; use np.resize",
    "sparsity",
)
def resized_in_place(x):
    y = x * 2.0
    y.resize(1)  # here
    return y


@refused("a memo of copy.deepcopy is not supported; leave it out", "sparsity")
def copied_with_a_memo(x):
    return copy.deepcopy([x[0]], {})[0]  # here


class CopiedInItsOwnWay:
    def __init__(self, value):
        self.value = value

    def __deepcopy__(self, memo):
        return CopiedInItsOwnWay(0.0)


@refused(
    "`__deepcopy__` of a CopiedInItsOwnWay that holds values that depend on the inputs is not followed; "
    "copy what it holds",
    "sparsity",
)
def copied_in_its_own_way(x):
    return copy.deepcopy(CopiedInItsOwnWay(x[0])).value  # here


@refused(
    "eval reads the variables of the function by name, which is not followed; write the code out", "sparsity"
)
def evaluated(x):
    return eval("x[0] * 2.0")  # here
