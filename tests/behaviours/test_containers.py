"""Behaviours 32 to 35: tuples and lists.

An entry that the result does not depend on has the cotangent zero, in a tuple as in a list.
"""

import math

import numpy as np
import pytest
from behaviour_checks import check, same

from ctxdispatch import grad, value_and_grad, vjp
from ctxdispatch_contexts.reverse import MutationError

# -- 32: arguments packed and packed again -----------------------------------------------------------------


def options_only(*xs, **options):
    return options["scale"] * 2.0 if options else xs[0]


def passes_options(x, y):
    return options_only(x, scale=y) + options_only(x)


def packed_again(*xs):
    return product_of(tuple(xs)) + product_of((*xs, 1.0)) + product_of([*xs])


def product_of(xs):
    result = 1.0
    for x in xs:
        result = result * x
    return result


def tuple_of_list(xs):
    t = tuple(xs)
    u = list(t)
    return t[0] * u[-1] + tuple(u)[1]


def test_032_varargs_without_gradient_and_keywords():
    check(passes_options, 2.0, 3.0, value=8.0, grads=(1.0, 2.0))
    check(options_only, 2.0, 3, value=2.0, grads=(1.0, None))


def test_032_tuple_packed_again():
    check(packed_again, 2.0, 3.0, 4.0, value=72.0, grads=(36.0, 24.0, 18.0))
    check(tuple_of_list, [2.0, 3.0], value=9.0, grads=([3.0, 3.0],))
    check(tuple_of_list, (2.0, 3.0), value=9.0, grads=((3.0, 3.0),))
    check(tuple_of_list, np.array([2.0, 3.0]), value=9.0, grads=(np.array([3.0, 3.0]),))


# -- 33: tuples --------------------------------------------------------------------------------------------


def built_and_indexed(x, y):
    t = (x, y)
    return t[0] * t[1]


def nested_tuples(x):
    t = ((((x,),), x), x)
    return t[0][0][0][0] * 2 + t[0][1] * 3 + t[1] * 5


def nested_argument(t):
    ((a, b), c), d = t
    return a * b + c * d


def by_slices(t):
    head, tail = t[:2], t[-2:]
    return head[0] * tail[-1] + t[::-1][0] + t[1:][0]


def repeated_indices(xs):
    return sum([xs[i] for i in [0, 1, 0]])


def swapped(t):
    a, b = t
    a, b = b, a
    return a / b


def variable_index(t, i):
    return t[i] * t[i - 1]


def joined(t, u):
    v = t + u
    w = v * 2
    return v[0] * w[-1] * len(w)


def returned_pair(x):
    return x, x * x


def uses_returned_pair(x):
    a, b = returned_pair(x)
    return a * b + returned_pair(b)[1]


class Pair:
    """Unpacks in another order than its attributes'."""

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def __iter__(self):
        return iter((self.b, self.a))


def unpacks_object(x):
    a, b = Pair(x, x * x)
    return a / b


def compared(t):
    return t[0] * 2 if t > (1.0, 1.0) and t[0] in t else t[1]


def test_033_tuple_built_and_indexed():
    check(built_and_indexed, 2.0, 3.0, value=6.0, grads=(3.0, 2.0))
    check(uses_returned_pair, 2.0, value=8.0 + 16.0, grads=(12.0 + 32.0,))


def test_033_nested_tuples():
    check(nested_tuples, 2.0, value=20.0, grads=(10.0,))
    check(nested_argument, (((2.0, 3.0), 4.0), 5.0), value=26.0, grads=((((3.0, 2.0), 5.0), 4.0),))
    assert grad(nested_argument)((((2.0, 3), 4.0), 5)) == (((3.0, None), 5.0), None)


def test_033_slices_and_negative_indices():
    check(by_slices, (2.0, 3.0, 4.0), value=8.0 + 4.0 + 3.0, grads=((4.0, 1.0, 3.0),))
    check(by_slices, [2.0, 3.0, 4.0], value=8.0 + 4.0 + 3.0, grads=([4.0, 1.0, 3.0],))
    check(swapped, (2.0, 4.0), value=2.0, grads=((-1.0, 0.5),))
    for i, (a, b) in enumerate([(3.0, 1.0), (2.0, 1.0)]):
        t = (1.0, 2.0, 3.0)
        expected = [0.0, 0.0, 0.0]
        expected[i], expected[i - 1] = t[i - 1], t[i]
        check(variable_index, t, i, grads=(tuple(expected), None))


def test_033_repeated_indices():
    check(repeated_indices, (5.0, 7.0, 9.0), value=17.0, grads=((2.0, 1.0, 0.0),))
    check(repeated_indices, [5.0, 7.0, 9.0], value=17.0, grads=([2.0, 1.0, 0.0],))
    check(repeated_indices, np.array([5.0, 7.0, 9.0]), value=17.0, grads=(np.array([2.0, 1.0, 0.0]),))


def test_033_repeated_fancy_indices():
    def fancy(x):
        return (x[[0, 1, 0]] * np.array([1.0, 2.0, 3.0])).sum()

    check(fancy, np.array([5.0, 7.0, 9.0]), value=34.0, grads=(np.array([4.0, 2.0, 0.0]),))


def test_033_concatenation_and_repetition():
    check(joined, (2.0,), (3.0, 4.0), value=48.0, grads=((24.0,), (0.0, 12.0)))
    check(joined, [2.0], [3.0, 4.0], value=48.0, grads=([24.0], [0.0, 12.0]))


def test_033_unpacking_an_iterable_object():
    check(unpacks_object, 3.0, value=3.0, grads=(1.0,))


def test_033_tuple_comparison():
    check(compared, (2.0, 3.0), value=4.0, grads=((2.0, 0.0),))
    check(compared, (0.0, 3.0), value=3.0, grads=((0.0, 1.0),))


def test_033_tuple_result():
    y, pullback = vjp(returned_pair, 3.0)
    assert y == (3.0, 9.0)
    same(pullback((1.0, 1.0)), (7.0,))
    same(pullback((None, 1.0)), (6.0,))
    same(pullback((1.0, None)), (1.0,))


def test_033_index_out_of_range_is_still_raised():
    for call in (grad(built_and_indexed_at), lambda *args: vjp(built_and_indexed_at, *args)):
        with pytest.raises(IndexError, match="tuple index out of range"):
            call(2.0, 5)


def built_and_indexed_at(x, i):
    return (x, x * x)[i]


# -- 34: lists and comprehensions --------------------------------------------------------------------------


def list_built(x, y):
    row = [x, y, x * y]
    return row[2] * row[0] + row[-2]


def list_of_lists(rows):
    total = 0.0
    for row in rows:
        for x in row:
            total += x * x
    return total + rows[0][0]


def squares(xs):
    return sum([x * x for x in xs])


def generator_sum(xs, w):
    return sum(w * x for x in xs)


def nested_comprehension(xs, ys):
    return sum([sum([x * y for y in ys]) for x in xs])


def flat_comprehension(xs, ys):
    return sum([x * y * y for x in xs for y in ys])


def filtered(xs, limit):
    return sum([x * x for x in xs if x > limit])


def filtered_generator(xs):
    return sum(x * x for x in xs if x > 1.5 if x < 3.5)


def comprehension_in_a_loop(x):
    a = x
    for _ in range(2):
        a = sum([a * v for v in (x, 2.0)])
    return a


def matrix_of(xs):
    m = [[x * y for y in xs] for x in xs]
    return m[0][1] * m[1][2]


def comprehension_of_calls(xs):
    return sum([math.sin(x) * i for i, x in enumerate(xs)])


def zipped(xs, ys):
    return sum([x * y for x, y in zip(xs, ys)])


def tuple_of_generator(xs):
    t = tuple(x * x for x in xs)
    return t[0] * t[-1]


def dict_comprehension(xs):
    d = {i: x * x for i, x in enumerate(xs)}
    return d[0] * d[2]


def largest_square(xs):
    return max([x * x for x in xs]) - min(x * x for x in xs)


def built_by_append(x, n):
    powers = [x]
    for _ in range(n):
        powers.append(powers[-1] * x)
    return sum(powers)


def appended_through_alias(x):
    a = []
    b = [a, a]
    b[0].append(x)
    b[1].append(x * x)
    return a[0] * a[1]


def appended_to_rows(x):
    rows = [[] for _ in range(2)]
    for i in range(4):
        rows[i % 2].append(x * i)
    return sum(rows[0]) * sum(rows[1])


def appended_in_its_own_loop(x):
    a = [x]
    for v in a:
        if len(a) < 4:
            a.append(v * x)
    return a[-1]


def arrays_in_a_list(layers, x):
    for w in layers:
        x = np.tanh(w @ x)
    return x.sum()


def starts_at(xs, start):
    return sum(xs, start)


def test_034_list_built_and_indexed():
    check(list_built, 2.0, 3.0, value=15.0, grads=(12.0, 5.0))
    check(list_of_lists, [[1.0, 2.0], [3.0]], value=15.0, grads=([[3.0, 4.0], [6.0]],))


def test_034_list_comprehension():
    check(squares, [1.0, 2.0, 3.0], value=14.0, grads=([2.0, 4.0, 6.0],))
    check(squares, (1.0, 2.0, 3.0), value=14.0, grads=((2.0, 4.0, 6.0),))
    check(squares, np.array([1.0, 2.0, 3.0]), value=14.0, grads=(np.array([2.0, 4.0, 6.0]),))
    check(comprehension_of_calls, [0.1, 0.2, 0.3], grads=([0.0, math.cos(0.2), 2 * math.cos(0.3)],))
    check(zipped, [1.0, 2.0], [3.0, 4.0], value=11.0, grads=([3.0, 4.0], [1.0, 2.0]))


def test_034_empty_list():
    value, gradient = value_and_grad(generator_sum, (0, 1))([], 2.0)
    assert value == 0
    assert gradient == ([], 0.0)


def test_034_generator_sum():
    check(generator_sum, [1.0, 2.0, 3.0], 2.0, value=12.0, grads=([2.0, 2.0, 2.0], 6.0))
    check(starts_at, [1.0, 2.0], 3.0, value=6.0, grads=([1.0, 1.0], 1.0))


def test_034_nested_comprehensions():
    check(nested_comprehension, [1.0, 2.0], [3.0, 4.0], value=21.0, grads=([7.0, 7.0], [3.0, 3.0]))
    check(flat_comprehension, [1.0, 2.0], [3.0, 4.0], value=75.0, grads=([25.0, 25.0], [18.0, 24.0]))
    check(matrix_of, [2.0, 3.0, 5.0], value=90.0, grads=([45.0, 60.0, 18.0],))


def test_034_comprehension_in_a_loop():
    check(comprehension_in_a_loop, 3.0, value=75.0, grads=(25.0 + 2 * 3 * 5,))


def test_034_comprehension_with_filter():
    check(filtered, [1.0, 2.0, 3.0], 1.5, value=13.0, grads=([0.0, 4.0, 6.0], 0.0))
    check(filtered_generator, [1.0, 2.0, 3.0, 4.0], value=13.0, grads=([0.0, 4.0, 6.0, 0.0],))


def test_034_other_comprehensions():
    check(tuple_of_generator, [2.0, 3.0, 4.0], value=64.0, grads=([64.0, 0.0, 32.0],))
    check(dict_comprehension, [2.0, 3.0, 4.0], value=64.0, grads=([64.0, 0.0, 32.0],))
    check(largest_square, [2.0, -3.0, 1.0], value=8.0, grads=([0.0, -6.0, -2.0],))


def test_034_list_built_by_append():
    check(built_by_append, 2.0, 3, value=30.0, grads=(1 + 4 + 12 + 32.0, None))


@pytest.mark.parametrize(
    ("f", "value", "gradient"),
    [
        (appended_through_alias, 3.375, 6.75),
        (appended_to_rows, 18.0, 24.0),
        (appended_in_its_own_loop, 1.5**4, 13.5),
    ],
)
def test_034_append_through_another_name_is_right_or_refused(f, value, gradient):
    try:
        found = value_and_grad(f)(1.5)
    except MutationError as error:
        assert "test_containers.py" in str(error)
    else:
        same(found, (value, gradient))


def test_034_arrays_in_a_list():
    rng = np.random.default_rng(0)
    layers, x = [rng.standard_normal((3, 3)) for _ in range(3)], rng.standard_normal(3)
    by_hand, h = [x], x
    for w in layers:
        h = np.tanh(w @ h)
        by_hand.append(h)
    gradients, g = [], np.ones(3)
    for w, before, after in zip(reversed(layers), reversed(by_hand[:-1]), reversed(by_hand[1:])):
        g = g * (1 - after**2)
        gradients.insert(0, np.outer(g, before))
        g = w.T @ g
    check(arrays_in_a_list, layers, x, grads=(gradients, g))


# -- 35: a product over a list -----------------------------------------------------------------------------


def my_product(xs):
    s = 1
    for x in xs:
        s *= x
    return s


def product_of_builtin(xs):
    return math.prod(xs)


@pytest.mark.parametrize("f", [my_product, product_of_builtin])
def test_035_product_over_a_list(f):
    check(f, [1.0, 2.0, 3.0], value=6.0, grads=([6.0, 3.0, 2.0],))
    check(f, (1.0, 2.0, 3.0), value=6.0, grads=((6.0, 3.0, 2.0),))
    check(f, [0.0, 2.0, 3.0], value=0.0, grads=([6.0, 0.0, 0.0],))
    check(f, np.array([1.0, 2.0, 3.0]), value=6.0, grads=(np.array([6.0, 3.0, 2.0]),))
