"""What a derivative is taken of by recording has no program to show; more calls that are refused."""

import contextlib
import copy
import functools
import itertools
import operator
import pickle
import select

import numpy as np

from ctxdispatch import DualContext, code_adjoint, custom_rule, grad, jvp, overdub, stop_gradient
from ctxdispatch_contexts.forward import Dual
from tests.refusals.refusal_table import BOTH, refused

X = np.array([1.0, 2.0])

# -- programs that there are not -----------------------------------------------------------------------------

total = 0.0


def stores_a_global(x):
    global total
    total = total + x[0]  # here
    return total * x[1]


@refused(
    "the global variable 'total' is given a value that depends on what is differentiated, and may be read "
    "again before the end; return the value, or pass `stop_gradient(...)` of it on",
    where=stores_a_global,
)
def a_program_that_stores_a_global():
    code_adjoint(stores_a_global)(X)


class Box:
    v = None


box = Box()


def stores_an_attribute(x):
    box.v = x[0]  # here
    changes_the_box()
    return box.v * x[1]


def changes_the_box():
    box.v = box.v * 2.0


@refused(
    "attribute assignment changes differentiated data (box: Box, 'v': str, float64) in place, where the "
    "derivative does not follow it; build a new value (`x = x + y`, `np.where`, `np.sort`, `sorted`, "
    "`np.concatenate`), and return what is kept for later besides (`has_aux=True`)",
    where=stores_an_attribute,
)
def a_program_that_stores_an_attribute():
    code_adjoint(stores_an_attribute)(X)


def takes_items_twice(x):
    items = iter(x)  # here
    y = first = next(items)
    for v in items:
        y = y + first * v
    return y


@refused(
    "an iterator that more than one loop or call takes items from, or one loop again and again, is not "
    "followed in reverse mode; make a list of its items, and take them by index or slice",
    where=takes_items_twice,
)
def a_program_with_a_shared_iterator():
    code_adjoint(takes_items_twice)(X)


def takes_items_by_index(x):
    items = [*x]
    y = first = items[0]
    for v in items[1:]:
        y = y + first * v
    return y


# -- items of iterators --------------------------------------------------------------------------------------


@refused(
    "select.select has no derivative rule for the items of an iterator, which depend on what is "
    "differentiated; make a list of them, and an array of that (`np.array([*items])`)",
    *BOTH,
)
def a_map_given_to_c_code(x):
    return select.select(map(np.sin, x), (), (), 0.0)[0][0] * x[0]  # here


@refused(
    "_pickle.dumps has no derivative rule for the items of an iterator, which depend on what is "
    "differentiated; make a list of them, and an array of that (`np.array([*items])`)",
    *BOTH,
)
def an_iterator_that_is_pickled(x):
    return len(pickle.dumps(iter(x))) * x[0]  # here


@refused(
    "a function is pickled within what is differentiated, of which the copy would be no part; pickle it "
    "beforehand, or afterwards",
    *BOTH,
)
def a_function_that_is_pickled(x):
    return pickle.loads(pickle.dumps(functools.partial(operator.mul, x[0])))(2.0) * x[1]  # here


def an_array_of_a_list(x):
    return np.array([*(v * x[0] for v in x)]).sum()


class Squares:
    def __init__(self, x):
        self.left = [*x]

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        return self.left.pop() ** 2

    def listed(self):
        return [v**2 for v in self.left]


class Named:
    def __init__(self, x):
        self.parts = [Squares(x), x]


BY_CODE = (
    "are given by Python code of its class (`__iter__`, `__next__`, `__getitem__`), which is not followed "
    "here; give it a method that returns a list of them, and go through that"
)


@refused(f"items of an object of the class Squares, only known at run time, {BY_CODE}", "jvp")
def items_of_an_object_in_a_list(x):
    total = 0.0
    for v in Named(x).parts[int(x[0] > 9.0)]:  # here
        total = total + v
    return total


@refused(f"items of an object among (Squares) {BY_CODE}", "checkpoint")
def a_list_of_an_object_in_a_list(x):
    return sum(list(Named(x).parts[int(x[0] > 9.0)]))  # here


def items_listed_by_a_method(x):
    total = 0.0
    for v in Named(x).parts[int(x[0] > 9.0)].listed():
        total = total + v
    return total


def _totals():
    total = 0.0
    while True:
        total = total + (yield total)


TOTALS = _totals()
next(TOTALS)


@refused(
    "the generator '_totals' was not made by the function that is differentiated: its code is not followed, "
    "but what it is given or holds depends on what is differentiated; make it in the function",
    *BOTH,
)
def sent_to_a_generator_of_the_module(x):
    return TOTALS.send(x[0])  # here


def sent_to_a_generator_made_here(x):
    totals = _totals()
    next(totals)
    return totals.send(x[0])


# -- calls ---------------------------------------------------------------------------------------------------


@refused("custom_rule('nothing') names no function; write package.module:function or package.module.function")
def a_rule_for_nothing():
    custom_rule("nothing")(lambda x: (x, lambda g: g))  # here


def product(a, b):
    return a * b


@refused("blocks of 2 and 3 tangents; give the same number for each argument")
def blocks_of_different_lengths():
    overdub(DualContext(), product, Dual(2.0, np.zeros(2)), Dual(3.0, np.zeros(3)))  # here


@refused("the tangents of argument 1, a number, have shape (); give a vector")
def a_number_beside_a_block():
    overdub(DualContext(), product, Dual(2.0, np.zeros(2)), Dual(3.0, 1.0))  # here


def stores_into_one(a, b):
    a[0] = a[1] * b[0]  # here
    return (a * b).sum()


@refused(
    "two arguments share memory, and one of the two is changed in place; give one of them as a copy "
    "(`x.copy()`)",
    where=stores_into_one,
)
def arguments_in_one_memory():
    base = np.arange(4.0)
    grad(stores_into_one)(base[:3], base[1:])


SHUFFLED = np.arange(4.0)


def has_an_argument_shuffled(x):
    with contextlib.suppress(ValueError):
        np.random.default_rng(0).shuffle(SHUFFLED)  # here
    return (x * x).sum()


@refused(
    "numpy.random._generator.Generator.shuffle changed an array that is an argument, which it was given by "
    "another name; give the argument as a copy (`x.copy()`)",
    where=has_an_argument_shuffled,
)
def an_argument_that_is_changed_out_of_sight():
    grad(has_an_argument_shuffled)(SHUFFLED)


def stores_into_what_is_stopped(x):
    with contextlib.suppress(ValueError):
        fixed = stop_gradient(x)
        fixed[0] = x[1] * 2.0  # here
    return (fixed * x).sum()


@refused(
    "`stop_gradient` or a rule returned its argument, and one of the two is changed in place; give it a copy "
    "(`x.copy()`)",
    where=stores_into_what_is_stopped,
)
def an_argument_that_is_returned():
    grad(stores_into_what_is_stopped)(np.arange(4.0))


# -- what changes meanwhile ----------------------------------------------------------------------------------


class Power:
    def of(self, v):
        return v * v


def of_three(self, v):
    return v**3


POWER = Power()


def of_two(self, v):
    return v * v


def changes_a_class(x):  # here
    before = POWER.of(x)
    type.__setattr__(Power, "of", of_three)
    return before + 10.0 * POWER.of(x)


@refused(
    "the attribute 'of' of tests.refusals.refused_further.Power changed while the function ran, and its "
    "derivative does not follow; change it before or after the call, or pass what changes as an argument",
    where=changes_a_class,
)
def a_class_that_changes():
    Power.of = of_two
    grad(changes_a_class)(3.0)


def a_function_that_is_passed(x, of=of_three):
    return (POWER.of(x) + 10.0 * of(POWER, x)).sum()


# -- functions that are called out of sight ------------------------------------------------------------------


@refused(
    "_functools.cmp_to_key has no derivative rule, and calls tests.refusals.refused_further.by_comparison."
    "<locals>.<lambda>, whose result depends on what is differentiated; give it one with `custom_rule`, or "
    "have the function return `stop_gradient`",
    *BOTH,
)
def by_comparison(x):
    key = functools.cmp_to_key(lambda a, b: (a - b) * x[0])
    return sorted([2.0, 1.0], key=key)[0] * x[1]  # here


def by_comparison_that_is_stopped(x):
    key = functools.cmp_to_key(lambda a, b: stop_gradient((a - b) * x[0]))
    return sorted([2.0, 1.0], key=key)[0] * x[1]


# -- arguments that a rule is not for ------------------------------------------------------------------------


@refused(
    "numpy.linalg.pinv has no derivative with respect to its argument 'rcond' (x[0] * 0.001: float64); keep "
    "that one out of the derivative with `stop_gradient`, or give the function a rule with `custom_rule`",
    *BOTH,
)
def a_threshold_that_varies(x):
    return np.linalg.pinv(np.eye(2) * x[1], rcond=x[0] * 0.001).sum()  # here


def a_threshold_that_is_stopped(x):
    return np.linalg.pinv(np.eye(2) * x[1], rcond=stop_gradient(x[0] * 0.001)).sum()


@refused(
    "the tangent of argument 'a' has 2 dimensions and dtype float64, the argument 1 and float64; a tangent "
    "has shape and dtype of its value",
    *BOTH,
)
def a_tangent_of_two_dimensions(x):
    return jvp(lambda a: a * a, (x,), (np.ones((2, 2)),))[1].sum()  # here


def a_tangent_of_one_dimension(x):
    return jvp(lambda a: a * a, (x,), (np.ones(2),))[1].sum()


@refused(
    "the tangent of argument 'a' has length 1 where the argument is longer, and would be broadcast; a "
    "tangent has the shape of its value",
    *BOTH,
)
def a_tangent_of_length_one(x):
    return jvp(lambda a: a * a, (x,), (np.ones(1),))[1].sum()  # here


def after(n, f, v):
    return f(v) if n <= 0 else after(n - 1, f, v)  # here


@refused(
    "a_default_beside_stars.<locals>.scaled has star parameters and defaults that vary; pass what varies as "
    "arguments",
    "jvp", "jacfwd",
    where=after,
)  # fmt: skip
def a_default_beside_stars(x):
    def scaled(*values, factor=x[0]):
        return values[0] * factor

    return after(3, scaled, x[1])


@refused(
    "a list is extended by a list_iterator, whose items are gone afterwards; make a list of them first "
    "(`xs.extend(list(items))`)",
    "grad",
)
def a_list_extended_by_one_iterator_or_list_of_several(x):
    total = 0.0
    for items in [iter([x[0]]), [x[1]]] * 1:
        kept = [x[0]]
        kept.extend(items)  # here
        total = total + kept[0] * kept[1]
    return total


def a_list_extended_by_lists_of_several(x):
    total = 0.0
    for items in [iter([x[0]]), [x[1]]]:
        kept = [x[0]]
        kept.extend(list(items))
        total = total + kept[0] * kept[1]
    return total


REMEDIES = [
    takes_items_by_index, an_array_of_a_list, items_listed_by_a_method, sent_to_a_generator_made_here,
    a_function_that_is_passed,
    by_comparison_that_is_stopped, a_threshold_that_is_stopped, a_tangent_of_one_dimension,
    a_list_extended_by_lists_of_several,
]  # fmt: skip
"""Programs as the refusals of their neighbours say that they are to be written."""


class Doubling(np.ndarray):
    def __array_wrap__(self, out, context=None, return_scalar=False):
        return np.asarray(out) * 2.0


@refused(
    "numpy.exp has no derivative rule for (x.view(Doubling): Doubling), of which the class makes something "
    "else than of arrays; use `np.asarray` of them",
    *BOTH,
)
def results_that_a_class_makes_others_of(x):
    return np.exp(x.view(Doubling))[0]  # here


# -- derivatives that raise where the value does not ---------------------------------------------------------


def divided_by_what_is_false(x):
    with contextlib.suppress(ZeroDivisionError), np.errstate(all="ignore"), np.printoptions():
        return np.float64(2.0) * x / (x > 1.0)  # here
    return x


@refused(
    "the derivative of truediv raises ZeroDivisionError here, where the value does not: division by zero; "
    "keep away from this point, or give the function a derivative with `custom_rule`",
    where=divided_by_what_is_false,
)
def a_partial_that_divides_by_zero():
    jvp(divided_by_what_is_false, (0.5,), (1.0,))


# -- iterators that are copied -------------------------------------------------------------------------------

COPIED = (
    "an iterator over what is differentiated is copied or pickled, which its run is no part of; copy what it "
    "goes through, and go through that again"
)


@refused(COPIED, *BOTH)
def a_copy_of_an_iterator(x):
    with np.errstate(all="ignore"), np.printoptions():
        items = iter(x)
        other = copy.copy(items)  # here
    return next(items) * next(other)


@refused(COPIED, *BOTH)
def a_deep_copy_of_an_iterator(x):
    with np.errstate(all="ignore"), np.printoptions():
        items = itertools.islice(x, 2)
        other = copy.deepcopy(items)  # here
    return next(items) * next(other)
