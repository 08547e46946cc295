"""An array that is an argument, and that the function reaches by another name too: a global, a captured
variable, an attribute, another argument. By the other name it is a constant, in compiled and in recorded
runs, in both modes; from a store by one of the two names on it is the argument.
"""

import contextlib

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jacrev, jvp, vjp
from ctxdispatch_contexts.reverse import MutationError
from tests.recording import recorded

GIVEN = np.array([1.0, 2.0, 3.0])
ROW = np.arange(1.0, 9.0)
HIGH = 100.0


class Model:
    def __init__(self, weights):
        self.weights = weights
        self.last = None

    def near(self, w):
        """Its distance from where it stands."""
        return ((w - self.weights) ** 2 * w).sum()

    def remember(self, w):
        self.last = w
        return (w * self.last).sum()


@pytest.fixture(autouse=True)
def as_they_were():
    GIVEN[:], ROW[:] = [1.0, 2.0, 3.0], np.arange(1.0, 9.0)


@pytest.fixture(params=[lambda f: f, recorded], ids=["compiled", "recorded"])
def way(request):
    return request.param


def times_global(x):
    return (x * x * GIVEN).sum()


def times_item(x):
    return x[0] * GIVEN[0] + x[1] * GIVEN[1] ** 2


def times_captured():
    c = GIVEN
    return lambda x: (x * x * c).sum()


def times_default(x, c=GIVEN):
    return (x * x * c).sum()


def times_view(x):
    return (x[:2] * x[1:] * GIVEN[1:]).sum()


@pytest.mark.parametrize("f", [times_global, times_item, times_captured(), times_default, times_view])
def test_it_is_a_constant(f, way):
    run, found = way(f), grad(way(f))(GIVEN)
    assert np.allclose(found, grad(f)(GIVEN.copy()))
    assert np.allclose(jacfwd(run)(GIVEN), found)
    assert np.allclose(hessian(run)(GIVEN), hessian(f)(GIVEN.copy()))
    direction = np.array([1.0, -0.5, 2.0])
    assert np.allclose(jvp(run, (GIVEN,), (direction,))[1], found @ direction)
    assert np.allclose(jvp(grad(run), (GIVEN,), (direction,))[1], hessian(f)(GIVEN.copy()) @ direction)


def test_attributes(way):
    model = Model(GIVEN)
    assert np.allclose(grad(way(model.near))(GIVEN), 0.0)
    assert np.allclose(hessian(way(model.near))(GIVEN), np.diag(2.0 * GIVEN))


def test_what_a_run_kept_of_its_argument_is_the_argument_in_that_run_alone(way):
    model = Model(GIVEN)
    for _ in range(3):
        assert np.allclose(grad(way(model.remember))(GIVEN), 2.0 * GIVEN)
        assert np.shares_memory(model.last, GIVEN)
        assert np.allclose(grad(way(lambda w: (w * model.last).sum()))(GIVEN), GIVEN)


def test_runs_of_what_the_last_run_kept():
    model = Model(GIVEN)
    grad(recorded(model.remember))(GIVEN)
    for _ in range(40):
        assert np.allclose(grad(recorded(model.remember))(model.last), 2.0 * GIVEN)
    assert np.allclose(grad(recorded(times_global))(model.last), 2.0 * GIVEN**2)


def test_gradients_inside(way):
    def outer(y):
        return grad(way(lambda x: (x * x * y).sum()))(y).sum()  # 2 x y at x = y

    assert np.allclose(grad(way(outer))(GIVEN), 4.0 * GIVEN)
    assert np.allclose(jacfwd(way(outer))(GIVEN), 4.0 * GIVEN)


def test_two_arguments_of_one_memory(way):
    def f(a, b):
        return (a * a * b).sum()

    found = grad(way(f), argnums=(0, 1))(GIVEN, GIVEN)
    assert np.allclose(found[0], 2.0 * GIVEN**2) and np.allclose(found[1], GIVEN**2)
    assert np.allclose(grad(way(f), argnums=1)(GIVEN, GIVEN), GIVEN**2)


def stored(a, b):
    a[0] = a[1] * b[0]
    return (a * b).sum()


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_parts_of_one_array_that_lie_apart_may_be_stored_to(argnums):
    found = grad(recorded(stored), argnums=argnums)(ROW[:3], ROW[4:7])
    expected = grad(recorded(stored), argnums=argnums)(np.arange(1.0, 4.0), np.arange(5.0, 8.0))
    assert np.allclose(found, expected)
    assert np.allclose(ROW[0], 2.0 * 5.0)


def test_stores_elsewhere_in_the_array_of_an_argument():
    def f(x):
        with contextlib.suppress(ValueError):
            ROW[6] = x[0]
        return (x * x * ROW[6]).sum()

    assert np.allclose(grad(f)(ROW[:3]), [14.0 + 2.0, 4.0, 6.0])
    ROW[:] = np.arange(1.0, 9.0)
    assert np.allclose(jacfwd(f)(ROW[:3]), [14.0 + 2.0, 4.0, 6.0])


# -- stored into: from then on the two are one ---------------------------------------------------------------


def argument_changed(x, other):
    x[0] = x[1] * 2.0
    return (x * other).sum()


def argument_doubled(x, other):
    x *= 2.0
    return (x * other).sum()


def other_changed(x, other):
    other[0] = x[1] * x[2]
    return (x * x).sum()


def other_set(x, other):
    other[1] = 5.0
    return (x * x * other).sum()


def other_copied_to(x, other):
    np.copyto(other, 5.0, where=[True, False, True])
    return (x * x).sum()


def others_items_changed(x, other):
    other[2] = x[2] * 2.0
    for i in range(2):
        other[i] = other[i] * x[i + 1]
    return (x * other).sum()


CHANGES = [
    argument_changed, argument_doubled, other_changed, other_set, other_copied_to, others_items_changed,
]  # fmt: skip


@pytest.mark.parametrize("f", CHANGES)
def test_after_a_store_it_is_the_argument(f, way):
    by_global = way(lambda x: f(x, GIVEN))
    expected = jacfwd(recorded(lambda x: f(x, x)))(GIVEN.copy())
    for derivative in (grad, jacfwd, jacrev):
        GIVEN[:] = [1.0, 2.0, 3.0]
        assert np.allclose(derivative(by_global)(GIVEN), expected)
        plain = np.array([1.0, 2.0, 3.0])
        f(plain, plain)
        assert np.allclose(GIVEN, plain)


def test_a_result_that_is_the_other_name():
    def f(x):
        x[0] = x[1] ** 2
        return GIVEN

    expected = [[0.0, 4.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    for derivative in (jacrev, jacfwd):
        GIVEN[:] = [1.0, 2.0, 3.0]
        assert np.allclose(derivative(recorded(f))(GIVEN), expected)


def read_and_changed(x):
    rows = np.stack([x, GIVEN])  # a constant beside the argument
    kept = np.zeros(3)
    kept += GIVEN
    y = x * GIVEN
    x[:] = x * x
    return (rows[0] * rows[1] * y * kept * x).sum()  # c^3 x^4


def test_what_was_read_before_the_store_stays_a_constant():
    expected = 4.0 * GIVEN**6
    for derivative in (grad, jacfwd, jacrev):
        GIVEN[:] = [1.0, 2.0, 3.0]
        assert np.allclose(derivative(recorded(read_and_changed))(GIVEN), expected)
        assert np.allclose(GIVEN, [1.0, 4.0, 9.0])


def test_pullbacks_go_back_as_often_as_they_are_called():
    def f(x):
        y = x * GIVEN
        x[0] = x[1] * x[2]
        return np.concatenate([y, x * GIVEN])

    _, pullback = vjp(recorded(f), GIVEN)
    first = [pullback(row)[0] for row in np.eye(6)]
    again = [pullback(row)[0] for row in np.eye(6)]
    GIVEN[:] = [1.0, 2.0, 3.0]
    assert np.array_equal(first, again) and np.allclose(first, jacfwd(recorded(f))(GIVEN))
    assert np.allclose(first[:3], np.diag([1.0, 2.0, 3.0]))
    assert np.allclose(first[3:], [[0.0, 36.0, 24.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]])


@pytest.mark.parametrize("derivative", [grad, jacfwd], ids=["grad", "jacfwd"])
def test_code_that_changes_it_out_of_sight_is_refused(derivative):
    def f(x):
        np.random.default_rng(0).shuffle(GIVEN)
        return (x * x).sum()

    with pytest.raises(MutationError, match=r"\.f: .*shuffle.* changed an array that is an argument.*copy"):
        derivative(recorded(f))(GIVEN)


@pytest.mark.parametrize("derivative", [grad, jacfwd], ids=["grad", "jacfwd"])
def test_two_arguments_that_overlap_stay_two(derivative):
    for argnums in (0, 1, (0, 1)):
        with pytest.raises(MutationError, match="in stored: two arguments share memory"):
            derivative(recorded(stored), argnums)(ROW[:3], ROW[2:5])


# -- the other name is as good an array ----------------------------------------------------------------------

KINDS = {
    "strided": lambda: ROW[::2],
    "backwards": lambda: ROW[::-1],
    "float32": lambda: ROW.astype("f4").reshape(2, 4),
    "of columns": lambda: np.asfortranarray(ROW.reshape(2, 4)),
    "complex": lambda: ROW + 1j,
    "of another byte order": lambda: ROW.astype(">f8"),
    "empty": lambda: np.zeros((0, 3)),
    "of one number": lambda: np.array(3.0),
    "np.matrix": lambda: np.asmatrix(ROW.reshape(2, 4)),
}


def form(x):
    return type(x), x.dtype, x.shape, x.strides if x.size else (), x.flags.writeable, x.flags.forc


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_arrays(kind):
    given = KINDS[kind]()
    seen = []

    def f(x):
        with contextlib.suppress(ValueError):
            seen.append(form(x))
            y = np.abs(np.asarray(x) * np.asarray(given)).sum()
        return y

    found = grad(f)(given)
    assert seen == [form(given)]
    z = np.asarray(given)
    assert np.allclose(found, np.conj(z * z) / np.abs(z * z) * z if z.dtype.kind == "c" else np.abs(z))


def test_what_a_pullback_gives_is_no_part_of_the_argument():
    y, pullback = vjp(recorded(lambda x: x), GIVEN)
    assert np.shares_memory(y, GIVEN)
    (bar,) = pullback(np.ones(3))
    assert not np.shares_memory(bar, GIVEN)
