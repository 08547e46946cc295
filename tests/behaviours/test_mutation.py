"""Behaviours 30, 36, 39, 42, 43 and 47 to 55: what is changed in place, under whatever name.

Every program's value, gradient, tangent and what it leaves behind are compared with the plain call and with
central differences. 53: a list of the module that is changed is right here, not loud: within one run what it
holds has its derivative, and of an earlier run it is a constant, as for the plain call.
"""

import array
import collections
import copy
from types import SimpleNamespace

import numpy as np
import pytest
from mutation_checks import both_modes, second_order

from ctxdispatch import ADContext, grad, jacfwd, jacrev, jvp, overdub, value_and_grad
from ctxdispatch_contexts.reverse import DerivativeError, MutationError

X = np.array([1.0, 2.0, 3.0])
M = np.arange(6.0).reshape(2, 3) + 1.0


def each(*programs):
    return pytest.mark.parametrize("f", programs, ids=lambda f: f.__name__)


# -- 30: globals ---------------------------------------------------------------------------------------------

total = 0.0


def pow_global(x):
    global total
    total = 1.0
    for _ in range(3):
        total = total * x
    return total


@each(pow_global)
def test_030_a_global_accumulator(f):
    assert both_modes(f, 2.0) == pytest.approx(12.0)


# -- 36: dicts -----------------------------------------------------------------------------------------------


def dict_get_and_default(x):
    d = {}
    d["x"] = x
    return x * d["x"] + d.get("y", x) * d.setdefault("z", x * 2)


def dict_changed_in_a_loop(x):
    d = {"a": x, "b": x * x}
    total = 0.0
    for key, value in d.items():
        d[key] = value * 2
    for value in d.values():
        total += value
    return total


def dict_copied_and_updated(x):
    d = {"a": x, "b": [x * x]}
    e = copy.deepcopy(d)
    e.update(c=x * e["b"][0])
    e |= {"d": x}
    d["b"][0] = 0.0
    return e.pop("a") * e["c"] + e["d"] * len(d)


def f760(x):
    d = {"x": x}
    for i in range(3):
        d["x"] = d["x"] ** 2 + i
        d[i] = d["x"] * x
    return sum(d.values())


def counted(x):
    d = collections.defaultdict(float)
    for key in "abca":
        d[key] += x * x
    del d["b"]
    return d["a"] * d["c"]


@pytest.mark.every(12)
@each(dict_get_and_default, dict_changed_in_a_loop, dict_copied_and_updated, f760, counted)
def test_036_dicts_that_are_changed(f):
    both_modes(f, 1.3)
    second_order(f, 1.3)


# -- 42, 43: cycles, aliases ---------------------------------------------------------------------------------


def list_in_itself(x):
    items = [x]
    items.append(items)
    return items[1][1][0] * x


class Linked:
    def __init__(self, value):
        self.value, self.me = value, self


def object_in_itself(x):
    node = Linked(x)
    node.me.me.value *= x
    return node.value


@each(list_in_itself, object_in_itself)
def test_042_cycles(f):
    assert both_modes(f, 2.0) == pytest.approx(4.0)


def two_names(x):
    a = x * 1.0
    b = a
    a[0] = 5.0
    b *= a
    return b.sum()


def output_is_input(x):
    def same(v):
        v += 1.0
        return v

    y = same(x)
    y *= x
    return y.sum()


@each(two_names, output_is_input)
def test_043_one_array_under_two_names(f):
    both_modes(f, X)
    second_order(f, X)


def test_043_one_array_as_two_arguments():
    x = X.copy()
    found = grad(lambda a, b: sum(v for v in a) * (b * b).sum(), (0, 1))(x, x)
    np.testing.assert_allclose(found[0], [14.0] * 3)
    np.testing.assert_allclose(found[1], 6.0 * 2 * X)

    def changes(a, b):
        a *= 2.0
        return (a * b).sum()

    with pytest.raises(MutationError, match=r"test_mutation.py:\d+ in .*share memory.*copy"):
        grad(changes, (0, 1))(x, x)
    assert [g.tolist() for g in grad(changes, (0, 1))(x, X.copy())] == [[2.0, 4.0, 6.0], [2.0, 4.0, 6.0]]


# -- 47: arrays ----------------------------------------------------------------------------------------------


def stores_an_item(x):
    x = x.copy()
    x[0] = np.sin(x[1])
    return x.sum()


def doubles_in_place(x):
    y = x.copy()
    y *= 2
    return (y * y).sum()


def doubles_the_argument(x):
    x *= 2
    return (x * x).sum()


def all_kinds_of_index(x):
    y = np.zeros((3, 3))
    y[0] = x
    y[:, 1] = x[::-1]
    y[1, ...] += x * x
    y[[0, 2], [1, 2]] *= x[:2]
    y[y > 4.0] = x[0]
    y[-1, None, 1:] = x[1:]
    y[np.array([True, False, True])] += x
    y[2, 2] = y[0, 0]
    y[[0, 0]] = np.stack([x, x * 2])
    return (y**2).sum()


def by_every_operator(x):
    y = x * 1.0
    y += x
    y -= 0.5
    y *= x
    y /= 2.0 + x
    y **= 2
    y[:] = y % 3.0
    y[1:] //= 1.0
    m = np.outer(x, x)
    m @= np.eye(3) * 2.0
    return y.sum() + m.sum()


def overlapping(x):
    y = x * 1.0
    y[1:] += y[:-1]
    y[:-1] = y[1:]
    return (y * y).sum()


def broadcast_stores(x):
    y = np.ones((2, 3))
    y[:] = x
    y += x[0]
    y[:, :1] = x[1]
    return (y**2).sum()


def complex_parts(x):
    z = np.zeros(3, complex)
    z[:] = x * 1j
    z.real += x
    z *= z
    z.imag[0] = x[1]
    return np.abs(z).sum() + z.imag.sum()


def rounded_into_integers(x):
    counts = np.zeros(3, int)
    counts[:] = x
    return (counts * x).sum()


def record_fields(x):
    points = np.zeros(3, dtype=[("x", float), ("y", float)])
    points["x"] = x
    points["y"][1:] = x[1:] * x[:-1]
    points["x"] *= points["y"]
    return points["x"].sum()


@each(stores_an_item, doubles_in_place, doubles_the_argument, all_kinds_of_index, by_every_operator,
      overlapping, broadcast_stores, complex_parts, rounded_into_integers, record_fields)  # fmt: skip
def test_047_stores_into_arrays(f):
    both_modes(f, X + 0.1)


@each(stores_an_item, doubles_the_argument, overlapping, broadcast_stores)
def test_047_stores_have_second_derivatives(f):
    second_order(f, X + 0.1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_047_dtypes_are_kept(dtype):
    x = X.astype(dtype)
    value, slope = value_and_grad(doubles_in_place)(x)
    assert slope.dtype == x.dtype == value.dtype


def in_place_rate(du, u):
    du[0] = u[1] * u[0]
    du[1:] = -u[1:] * u[:-1]


def test_047_jacobians_of_what_is_written_in_place():
    def rate(u):
        du = np.empty_like(u)
        in_place_rate(du, u)
        return du

    expected = np.array([[2.0, 1.0, 0.0], [-2.0, -1.0, 0.0], [0.0, -3.0, -2.0]])
    np.testing.assert_allclose(jacfwd(rate)(X), expected)
    np.testing.assert_allclose(jacrev(rate)(X), expected)


# -- 48, 49 --------------------------------------------------------------------------------------------------


def naive_matmul(x):
    out = np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            for k in range(3):
                out[i, j] += x[i, k] * x[j, k]
    return (out * out).sum()


def matmul_into(x):
    out = np.empty((2, 2))
    np.matmul(x, x.T, out=out)
    np.add(out, out, out=out)
    return (out * out).sum()


@each(naive_matmul, matmul_into)
def test_048_a_product_into_an_array(f):
    both_modes(f, M)
    second_order(f, M)


def mapped_into_a_list(x):
    out = [0.0] * 3
    for i in range(3):
        out[i] = -(x[i] ** 2)
    return sum(out)


def mapped_into_an_array(x):
    out = np.empty_like(x)
    for i, v in enumerate(x):
        out[i] = v**2
    return (out * x).sum()


@each(mapped_into_a_list, mapped_into_an_array)
def test_049_maps_into_what_is_there(f):
    both_modes(f, X)
    second_order(f, X)


# -- 50: lists -----------------------------------------------------------------------------------------------


def every_list_method(x):
    items = []
    items.append(x)
    items.append(x * x)
    items.extend([x, 1.0])
    items.insert(0, x * 3)
    y = items.pop()
    z = items.pop(0)
    del items[0]
    items.reverse()
    items[0] = items[1] * 2
    items += [x * 5]
    items[1:2] = [x, x * 2]
    items.sort(key=lambda v: -v)
    other = items.copy()
    items.clear()
    other *= 2
    other.remove(other[0])
    return sum(other) + y * z + len(items)


def stacked_rows(x):
    rows = []
    for i in range(3):
        rows.append(x[i] * np.ones(2))
    rows[1] = rows[1] * x[0]
    return (np.vstack(rows) ** 2).sum()


def queue(x):
    items = collections.deque([x], maxlen=3)
    for _ in range(4):
        items.append(items[-1] * x)
        items.rotate(1)
    items.appendleft(x)
    return items.popleft() * items.pop()


@pytest.mark.every(12)
@each(every_list_method, queue)
def test_050_lists_that_grow_and_shrink(f):
    both_modes(f, 1.3)
    second_order(f, 1.3)


def test_050_rows_that_are_collected():
    both_modes(stacked_rows, X)


# -- 51, 52: in callees --------------------------------------------------------------------------------------


class Model:
    value = 0.0


def square_into(model, x):
    model.value = x.sum() ** 2


def by_a_callee(x):
    model = Model()
    square_into(model, x)
    return model.value * x[0]


def into_an_item(x):
    kept = [0.0]

    def put(v):
        kept[0] = v.sum() ** 2

    put(x)
    return kept[0]


def into_an_element(x):
    kept = np.zeros(2)

    def put(target, v):
        target[1] = v.sum() ** 2

    put(kept, x)
    return kept[1] * kept.sum()


@each(by_a_callee, into_an_item, into_an_element)
def test_051_a_callee_that_returns_nothing(f):
    both_modes(f, X)
    second_order(f, X)


def twice(x):
    y = x * 1.0

    def square(v):
        v *= v

    square(y)
    square(y)
    return y.sum()


@each(twice)
def test_052_the_same_array_twice(f):
    np.testing.assert_allclose(both_modes(f, X), 4 * X**3, rtol=1e-6)


# -- 53: what outlives the run -------------------------------------------------------------------------------

LOG = []


def logs(x):
    LOG.append(x * x)
    return sum(LOG)


def test_053_a_list_of_the_module():
    LOG[:] = [7.0]  # what was there is a constant
    assert grad(logs)(2.0) == 4.0 and LOG == [7.0, 4.0]
    with pytest.raises(DerivativeError, match="an earlier run has left"):  # and what a run computed is none
        grad(logs)(3.0)
    LOG[:] = [7.0]
    assert jvp(logs, (1.0,), (1.0,)) == (8.0, 2.0)
    assert all(type(value) is float for value in LOG)
    LOG.clear()


def test_053_a_default():
    def f(x, kept=[]):  # noqa: B006
        kept.append(x)
        return kept[0] * kept[-1]

    assert grad(f)(3.0) == 6.0
    assert grad(f)(5.0) == 3.0  # of 3 * x


# -- 54: what the derivative remembers -----------------------------------------------------------------------


def closed_over(x):
    y = x * 2

    def dot():
        return (y * x).sum()

    before = dot()
    y[0] = x[1]
    return before + dot()


def constant_that_changes(x):
    buffer = np.ones(3)
    y = x * buffer
    buffer[0] = 5.0
    np.multiply(buffer, 2.0, out=buffer)
    return (y * buffer).sum()


def result_that_changes(x):
    y = np.exp(x)
    z = y.sum()
    y.fill(0.0)
    return z + y.sum()


def view_of_a_view(x):
    y = x * x
    v = y[1:].reshape(2, 1)[::-1].T
    z = (v * v).sum()
    v[0, 0] *= 3.0
    y.T[0] = z
    return (y * x).sum()


@each(closed_over, constant_that_changes, result_that_changes, view_of_a_view)
def test_054_changed_after_use(f):
    both_modes(f, X)
    second_order(f, X)


def test_054_the_result_may_be_changed():
    y, pullback = overdub(ADContext(), lambda x: _exp_in_place(x), X.copy())
    y[:] = 0.0
    np.testing.assert_allclose(pullback(np.ones(3))[0], np.exp(X))
    np.testing.assert_array_equal(y, 0.0)


def _exp_in_place(x):
    y = np.empty_like(x)
    np.exp(x, out=y)
    return y


# -- other ways to change an array ---------------------------------------------------------------------------


def copyto(x):
    y = np.zeros(3)
    np.copyto(y, x * x)
    np.copyto(y, x[0], where=y > 5.0)
    return (y * x).sum()


def put_and_place(x):
    y = x * 1.0
    np.put(y, [0, -1], [x[1], 7.0])
    np.place(y, y > 1.5, x[:1] * 2)
    np.putmask(y, y < 3.0, x * x)
    y.put(1, x[2])
    return (y * y).sum()


def added_at(x):
    y = np.zeros(2)
    np.add.at(y, [0, 0, 1], x * x)
    np.subtract.at(y, np.array([1]), x[0])
    return (y * y).sum()


def sorted_in_place(x):
    y = -x * x
    y.sort()
    return (y * np.arange(3)).sum()


def filled(x):
    y = x * 1.0
    z = y * y
    y.fill(x[0])
    np.fill_diagonal(m := np.outer(x, x), x[1])
    return (z * y).sum() + m.sum()


def flipped_views(x):
    y = x * 1.0
    np.flip(y)[0] = x[0]
    y.reshape(3, 1)[:, 0] *= 2.0
    np.transpose(y[None])[1] = y[0]
    np.split(y, 3)[2][:] = x[1]
    return (y * y).sum()


def many_outs(x):
    y = np.zeros(3)
    np.cumsum(x, out=y)
    np.clip(y, 0.0, 5.0, out=y)
    np.add.reduce(np.outer(x, x), 0, None, y)
    return (y * x).sum()


@each(copyto, put_and_place, added_at, sorted_in_place, filled, flipped_views, many_outs)
def test_047_other_ways_to_change_an_array(f):
    both_modes(f, X)


def read_before_a_store(x):
    a = x * 2.0
    first = a[1]
    a[1] = 0.0
    return np.array([first * first, a[0]])


def read_before_a_store_in_a_loop(x):
    a = x * 1.0
    found = np.zeros(3)
    for i in range(3):
        found[i] = a[i] * a[i - 1]
        a[i] = 0.3
    return found


@pytest.mark.parametrize("f", [read_before_a_store, read_before_a_store_in_a_loop], ids=lambda f: f.__name__)
def test_047_jacobians_of_what_was_read_before_a_store(f):
    x = np.array([0.7, -0.4, 1.3])
    expected = np.stack([(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)], axis=1)
    np.testing.assert_allclose(jacfwd(f)(x), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(jacrev(f)(x), expected, rtol=1e-7, atol=1e-9)


def item_of_a_dict_in_place(x):
    d = {"a": np.zeros(3)}
    t = d["a"]
    t += x * x
    return d["a"]


def view_of_an_array_from_a_list_in_place(x):
    d = np.array([0.0] * 3)
    t = d[1:]
    t += x[1:]
    t *= x[0]
    return d


def attribute_in_place(x):
    box = SimpleNamespace(a=np.ones(3))
    t = box.a
    t -= x
    return t * box.a


@pytest.mark.parametrize(
    "f",
    [item_of_a_dict_in_place, view_of_an_array_from_a_list_in_place, attribute_in_place],
    ids=lambda f: f.__name__,
)
def test_047_in_place_operators_on_what_a_container_holds(f):
    x = np.array([0.7, -0.4, 1.3])
    expected = np.stack([(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)], axis=1)
    pushed = np.stack([jvp(f, (x,), (e,))[1] for e in np.eye(3)], axis=1)
    for found in (jacfwd(f)(x), jacrev(f)(x), pushed):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    gradient = grad(lambda x: np.sum(f(x) * x))(x)
    np.testing.assert_allclose(gradient, expected.T @ x + f(x), rtol=1e-7, atol=1e-9)


def test_055_stores_that_have_no_derivative_are_refused_at_the_line_with_a_remedy():
    def product_of_its_own_at(x):
        y = x * 1.0
        np.multiply.at(y, [0], y[1:2])
        return y.sum()

    def longer_bytes(x):
        numbers = array.array("d", [x[0]])
        numbers.append(x[1])
        return numbers[1]

    def bytes_that_a_generator_makes_longer(x):
        numbers = array.array("d", [1.0])
        numbers.extend(2.0 for _ in x)
        numbers.extend(v * v for v in x)
        return numbers[3]

    def added_bytes(x):
        return (array.array("d", [x[0]]) + array.array("d", [x[1]]))[1]

    def array_over_bytes(x):
        numbers = array.array("d", [0.0])
        np.frombuffer(numbers)[0] = x[0]
        return numbers[0] * x[1]

    def arrays_over_bytes(x):
        numbers = array.array("d", [0.0])
        np.asarray(numbers)[:] = x[:1]
        return numbers[0] * x[1]

    bytes_changed = (array_over_bytes, arrays_over_bytes)
    longer = (longer_bytes, bytes_that_a_generator_makes_longer)
    for f in (product_of_its_own_at, *longer, added_bytes, *bytes_changed):
        for derivative in (lambda f=f: grad(f)(X.copy()), lambda f=f: jvp(f, (X.copy(),), (X.copy(),))):
            with pytest.raises(DerivativeError, match=rf"test_mutation.py:\d+ in .*{f.__name__}: .*;"):
                derivative()


def test_043_an_argument_that_is_held_fixed_is_not_the_other_one():
    def f(a, b):
        rows = [a]
        rows[0] = rows[0] * b
        return rows[0].sum()

    x = X.copy()
    np.testing.assert_array_equal(grad(f)(x, x), X)
    pair = (X.copy(), 2.0)

    def g(s, t):
        rows = [s[0]]
        rows[0] = rows[0] * t[0] * t[1]
        return rows[0].sum()

    found = grad(g, (0, 1))(pair, pair)
    np.testing.assert_array_equal(found[0][0], 2 * X)
    np.testing.assert_array_equal(found[1][0], 2 * X)
    assert found[0][1] == 0.0 and found[1][1] == 14.0

    def h(s, t):
        s[0] = s[0] * t[1]
        return s[0]

    items = [2.0, 3.0]
    with pytest.raises(DerivativeError, match="the same list is given as two arguments.*copy"):
        grad(h)(items, items)
    assert grad(h)(items, [2.0, 3.0]) == [3.0, 0.0]
