"""What takes the items of something else: stores to slices of lists, extensions, dicts made of pairs, views
of dicts that change meanwhile, defaults of what is taken one by one."""

import array
import collections
import itertools

import numpy as np
import pytest
from mutation_checks import both_modes, second_order

from ctxdispatch import jvp

X = np.array([0.7, 1.3, -0.4])


def weighted(items):
    return sum(item * item * (i + 1.0) for i, item in enumerate(items))


# -- slices of lists -----------------------------------------------------------------------------------------


def slice_of_array(x):
    items = [x[0], 1.0, x[1]]
    items[1:2] = x * 2.0
    return weighted(items)


def slice_of_rows(x):
    items = [0.0]
    items[:] = np.outer(x, x)
    return weighted(items[1])


def slice_of_flat(x):
    items = [1.0]
    items[0:0] = (x * x).flat
    return weighted(items)


def slice_of_array_in_list_subclass(x):
    class Items(list):
        pass

    items = Items([1.0])
    items[1:] = x * x
    list.__setitem__(items, slice(0, 1), x)
    return weighted(items)


def slice_of_keys(x):
    items = [x[0], x[1], x[2]]
    items[0:1] = {0.5: x[0], 1.5: x[1]}
    items.append(x[2])
    return weighted(items)


def slice_of_numbers(x):
    items = [x[0], x[1], x[2]]
    items[1:] = range(2)
    items[:1] = iter([4.0, 5.0])
    items.append(x[1])
    return weighted(items)


def slice_with_step(x):
    items = [x[0], x[1], x[2], 1.0]
    items[::-2] = (v for v in [9.0, x[1]])
    return weighted(items)


def slice_that_run_time_knows(x):
    items = [x[0], x[1], 2.0]
    for place, value in ((1, x[2]), (slice(0, 1), [3.0, x[0] * x[1]])):
        items[place] = value
    return weighted(items)


# -- extensions ----------------------------------------------------------------------------------------------


def extended_by_keys(x):
    items = [x[2]]
    items.extend({1.0: x[0], 2.0: x[1]})
    items += {3.0: x[0]}
    return weighted(items)


def extended_by_iterators(x):
    items, taken = [x[2]], iter([x[0], x[1]])
    items += zip([x[0]], [x[1]], strict=True)
    items.extend(taken)
    return items[0] * items[1][0] * items[1][1] * items[2] * items[3]


def extended_by_method_of_iadd(x):
    items, queue = [1.0], collections.deque([2.0])
    items.__iadd__(x * x)
    queue.__iadd__(x * 3.0)
    return weighted(items) + weighted(queue)


# -- dicts of pairs ------------------------------------------------------------------------------------------


def pairs_of_one_key(x):
    made = dict([("a", x[0]), ("b", x[1]), ("a", x[2])])
    return made["a"] * made["b"]


def zipped_pairs_of_one_key(x):
    made = dict(zip("aba", [x[0], x[1], x[2]], strict=True), c=x[0])
    return made["a"] * made["b"] + made["c"]


def more_values_than_keys(x):
    made = dict(zip("ab", [x[0], 2.0, x[2]], strict=False), b=x[1])
    return made["a"] * made["b"]


def pairs_of_a_view(x):
    kept = {}
    for i in range(3):
        kept[i] = x[i]
    view = kept.items()
    kept[0] = 5.0
    return dict(view)[0] * dict(view, c=1.0)[1]


# -- views of dicts ------------------------------------------------------------------------------------------


def filled(x):
    kept = {}
    for i in range(3):
        kept[i] = x[i]
    return kept


def view_of_what_is_replaced(x):
    kept = filled(x)
    values = kept.values()
    kept[1] = 2.0
    kept[2] = x[0] * x[1]
    return sum(values) * x[2] + weighted([*values])


def view_of_what_grows(x):
    kept = {}
    values, pairs = kept.values(), kept.items()
    for i in range(3):
        kept[i] = x[i] * 2.0
    product = 1.0
    for value in values:
        product = product * value
    for key, value in pairs:
        product = product * (value + key)
    return product


def view_of_what_changes_while_it_is_gone_through(x):
    kept = filled(x)
    items = iter(kept.values())
    first = next(items)
    kept[1] = x[2] * x[0]
    return first * next(items)


def view_that_is_unpacked(x):
    kept = filled(x)
    pairs = kept.items()
    kept[0] = 5.0
    (_, first), *others = pairs
    return first * x[0] + others[0][1] * others[1][1]


# -- defaults ------------------------------------------------------------------------------------------------


def default_that_is_the_item(x):
    first = x[0] * 2.0
    items = iter([first, x[1], x[2]])
    total = next(items, first)
    for item in items:
        total = total * item
    return total


def default_that_was_there(x):
    items = iter([None, x[1]])
    next(items, None)
    return next(items, None) * x[0]


def default_of_what_is_taken_out(x):
    kept = {}
    for i in range(3):
        kept[i] = 1.0
    kept[2] = x[0]
    return kept.pop(0, x[0]) * kept.pop(2, x[1]) * kept.pop(2, x[2])


def extended_in_place_by_flat(x):
    items = [1.0]
    items += (x * x).flat
    items += array.array("d", x)
    return weighted(items)


def arrays_of_the_standard_library(x):
    numbers, squares = array.array("d", x), array.array("d", (value * value for value in x))
    later = array.array("d", [0.0, 0.0])
    items = iter(later)
    later[1] = x[2]
    kept = [0.0]
    kept[:] = squares
    return sum(numbers) * next(reversed(squares)) + weighted(kept) + sum(items)


SLICES = [
    extended_in_place_by_flat, arrays_of_the_standard_library,
    slice_of_array, slice_of_rows, slice_of_flat, slice_of_array_in_list_subclass, slice_of_keys,
    slice_of_numbers, slice_with_step, slice_that_run_time_knows, extended_by_keys,
    extended_by_iterators, extended_by_method_of_iadd,
]  # fmt: skip
DICTS = [
    pairs_of_one_key, zipped_pairs_of_one_key, more_values_than_keys, pairs_of_a_view,
    view_of_what_is_replaced, view_of_what_grows, view_of_what_changes_while_it_is_gone_through,
    view_that_is_unpacked,
]  # fmt: skip
DEFAULTS = [default_that_is_the_item, default_that_was_there, default_of_what_is_taken_out]


@pytest.mark.parametrize("f", SLICES + DICTS + DEFAULTS)
def test_derivatives_are_those_of_differences(f):
    both_modes(f, X.copy())


@pytest.mark.night("slice_of_keys")
@pytest.mark.parametrize("f", [slice_of_keys, zipped_pairs_of_one_key, view_of_what_grows, *DEFAULTS[:1]])
def test_second_derivatives_too(f):
    second_order(f, X.copy())


def test_a_default_that_is_the_same_object_as_the_item_has_a_tangent_of_its_own():
    def f(x, y):
        return next(iter([x]), y), next(iter([]), y)

    x = 3.5
    assert jvp(f, (x, x), (1.0, 2.0)) == ((x, x), (1.0, 2.0))


def test_views_that_are_returned():
    y, dy = jvp(lambda x: filled(x).values(), (X,), (np.ones(3),))
    assert (list(y), list(dy)) == (list(X), [1.0, 1.0, 1.0])


# -- arrays that are stored to while they are gone through ---------------------------------------------------


def stored_to_while_enumerated(x):
    buffer, total = np.zeros(3), 0.0
    for i, value in enumerate(buffer):
        total = total + value * value
        if i < 2:
            buffer[i + 1] = x[i] * 2.0
    return total


def stored_to_before_the_first_item(x):
    buffer = np.zeros(3)
    items, squares = iter(buffer), map(lambda value: value * value, buffer)
    buffer[:] = x
    return next(items) * next(items) + sum(squares)


def stored_to_before_it_is_gone_through_backwards(x):
    buffer = np.zeros(3)
    items = reversed(buffer)
    buffer[:] = x
    return next(items) ** 2 + next(items)


def generator_over_what_is_stored_to(x):
    buffer = np.zeros(3)
    squares = (value * value for value in buffer)
    buffer[:] = x
    return sum(squares)


def arrays_gone_through_in_their_turn(x):
    buffer = np.zeros(3)
    items = itertools.chain.from_iterable([x * x, buffer])
    buffer[:] = x * 2.0
    return weighted(items) + sum(itertools.starmap(lambda a, b, c: a * b + c, [x, buffer]))


STORED_TO = [
    arrays_gone_through_in_their_turn,
    stored_to_while_enumerated, stored_to_before_the_first_item,
    stored_to_before_it_is_gone_through_backwards, generator_over_what_is_stored_to,
]  # fmt: skip


@pytest.mark.every(8)
@pytest.mark.parametrize("f", STORED_TO)
def test_items_of_arrays_are_read_when_they_are_taken(f):
    both_modes(f, X.copy())
    second_order(f, X.copy())
