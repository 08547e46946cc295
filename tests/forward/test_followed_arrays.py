"""Stores into arrays in forward mode, and in derivatives of gradients: compiled (`forward/arrays.py`)."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ctxdispatch import grad, hessian, hvp, jacfwd, jvp, linearize
from ctxdispatch_contexts.higher import recorded as higher
from ctxdispatch_contexts.recording import api, left
from ctxdispatch_contexts.reverse import DerivativeError
from tests.behaviours import followed_programs, mutating_programs
from tests.behaviours.followed_programs import FOLLOWED, NOT_FOLLOWED, X, differences
from tests.behaviours.mutating_programs import compiled as compiled_source
from tests.behaviours.mutating_programs import point
from tests.behaviours.storing_programs import Followed

ROOT = Path(__file__).parent.parent.parent
ALONG = np.array([0.3, -1.0, 0.2, 0.5])
RUNS = ("joint", "split", "pushed")


@pytest.fixture
def compiled(monkeypatch):
    """No program may be recorded instead."""

    def refuse(function, *args):
        raise AssertionError(f"{function} was recorded")

    for module in (api, higher):
        for name in RUNS:
            monkeypatch.setattr(module, name, refuse, raising=module is api)


@pytest.fixture
def recorded(monkeypatch):
    """How often a program was pushed by recording its run."""
    runs = []
    plain = api.pushed

    def count(*args):
        runs.append(args)
        return plain(*args)

    monkeypatch.setattr(api, "pushed", count)
    return runs


@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_tangents(f, compiled):
    x, along = X.copy(), ALONG.copy()
    y, dy = jvp(f, (x,), (along,))
    assert y == pytest.approx(f(X), rel=1e-14)
    assert dy == pytest.approx(differences(f, X) @ ALONG, rel=1e-6, abs=1e-8)
    assert np.array_equal(x, X) and np.array_equal(along, ALONG)


@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_blocks_of_tangents(f, compiled):
    assert jacfwd(f)(X) == pytest.approx(differences(f, X), rel=1e-6, abs=1e-8)
    assert jacfwd(f)(X) @ ALONG == pytest.approx(jvp(f, (X,), (ALONG,))[1], rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_single_precision(f):
    dy = jvp(f, (X.astype(np.float32),), (ALONG.astype(np.float32),))[1]
    assert dy == pytest.approx(differences(f, X) @ ALONG, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("f", NOT_FOLLOWED, ids=lambda f: f.__name__)
def test_seen_by_another_name(f, recorded):
    assert jvp(f, (X,), (ALONG,))[1] == pytest.approx(differences(f, X) @ ALONG, rel=1e-6, abs=1e-8)
    # the compiler sees through a cell, a tuple, and a list that is the function's own
    assert len(recorded) == (f.__name__ not in ("in_a_closure", "held", "in_a_list"))


TWICE = [f for f in FOLLOWED if f.__name__ not in ("scatter", "positions", "in_inner_loops")]
"""Those whose sweeps say of what type everything is."""


@pytest.mark.parametrize("f", TWICE, ids=lambda f: f.__name__)
def test_derivatives_of_gradients(f, compiled):
    expected = (grad(f)(X + 1e-6 * ALONG) - grad(f)(X - 1e-6 * ALONG)) / 2e-6
    close = pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert hvp(f, (X,), (ALONG,)) == close
    assert hessian(f)(X) @ ALONG == close
    assert hessian(f)(X) @ ALONG == close  # what is kept between calls is not stored to
    assert grad(lambda x: grad(f)(x) @ ALONG)(X) == close


# -- whose memory a tangent is -------------------------------------------------------------------------------


def moved_before(x):
    """y's tangent is a's own, as it was."""
    a = x * 2.0
    y = a + 1.0
    a[0] = 5.0
    return y * y + a


def made_of_the_argument(x):
    a = x + 1.0
    a[1:] = 0.0
    return a * x


def element_before(x):
    a = x * x
    first = a[0]
    a[0] = 3.0
    return first * a


def views_before(x):
    a = x * x
    t = a[::-1] + 0.0
    s = np.reshape(a, (2, 2)) - 1.0
    a *= x
    return t * a + s.sum()


def on_either_way(x):
    a = x + 1.0 if x[0] > 0.0 else np.ones(4)
    a[2] *= x[3]
    return a * x


def through_a_loop(x):
    a = x + 0.0
    kept = a + 0.0
    for i in range(3):
        before = a - 1.0
        a[i] = a[i + 1] * before[i]
        kept = kept + before
    return kept * a


MEMORY = [moved_before, made_of_the_argument, element_before, views_before, on_either_way, through_a_loop]


@pytest.mark.parametrize("f", MEMORY, ids=lambda f: f.__name__)
def test_what_is_stored_to_is_no_other_tangent(f, compiled):
    expected = np.array([(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]).T
    along = ALONG.copy()
    assert jvp(f, (X.copy(),), (along,))[1] == pytest.approx(expected @ ALONG, rel=1e-6, abs=1e-8)
    assert np.array_equal(along, ALONG)
    assert jacfwd(f)(X.copy()) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_the_tangent_that_is_returned_is_the_callers(compiled):
    def f(x):
        a = np.zeros(4)
        a[1:] = x[:3]
        return a[1:], a

    (part, whole) = jvp(f, (X,), (ALONG,))[1]
    part[:] = 7.0
    assert np.array_equal(whole, [0.0, *ALONG[:3]])


# -- arguments -----------------------------------------------------------------------------------------------


def relaxed(u, f):
    for i in range(1, 3):
        u[i] = 0.5 * (u[i - 1] + u[i + 1] - f[i])
    return np.sum(u * u)


def test_an_argument_is_stored_to_and_its_tangent_is_not(compiled):
    u, f, du, df = X.copy(), X**2, ALONG.copy(), ALONG**2
    h = 1e-6
    expected = (relaxed(X + h * ALONG, f + h * df) - relaxed(X - h * ALONG, f - h * df)) / (2 * h)
    assert jvp(relaxed, (u, f), (du, df))[1] == pytest.approx(expected, rel=1e-8)
    assert np.array_equal(du, ALONG)
    after = X.copy()
    relaxed(after, f)
    assert np.array_equal(u, after)
    assert jvp(relaxed, (X.copy(), f), (None, df))[1] == pytest.approx(
        (relaxed(X.copy(), f + h * df) - relaxed(X.copy(), f - h * df)) / (2 * h), rel=1e-8
    )


def added(u, f):
    u[1:] += f[:3]
    u *= f
    return np.sum(u * f)


def test_arguments_that_share_memory_are_recorded(recorded):
    jvp(added, (X.copy(), X[::-1].copy()), (ALONG, ALONG[::-1]))
    assert not recorded
    both = X.copy()
    with pytest.raises(DerivativeError, match="share memory"):
        jvp(added, (both, both[::-1]), (ALONG, ALONG[::-1]))
    assert len(recorded) == 1


def test_a_tangent_that_shares_memory_with_what_is_stored_to(recorded):
    """It is what it was when the call began."""
    both = X.copy()
    found = jvp(added, (both, X.copy()), (None, both))[1]
    np.testing.assert_allclose(found, jvp(added, (X.copy(), X.copy()), (None, X.copy()))[1], rtol=1e-14)
    assert len(recorded) == 1


def into(out, x):
    out[0] = x[0]
    out[1:] = np.sin(x[1:]) * x[0]


def test_an_argument_without_a_tangent_is_stored_to(compiled):
    def f(x):
        out = np.zeros(4)
        into(out, x)
        return out

    def written(out, x):
        into(out, x)
        return out * x

    expected = np.array([(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]).T
    out = np.zeros(4)
    _, moved = jvp(written, (out, X), (None, ALONG))
    assert moved == pytest.approx(expected @ ALONG * X + f(X) * ALONG, rel=1e-6)
    assert np.array_equal(out, f(X))


def test_linearize_may_be_called_again(compiled):
    _, pushed = linearize(followed_programs.overwritten, X)
    assert pushed(ALONG) == pytest.approx(pushed(2.0 * ALONG) / 2.0, rel=1e-14)


# -- indices of blocks ---------------------------------------------------------------------------------------


ROWS = np.array([0, 1])


def apart_in_an_index(x):
    m = np.stack([np.outer(x, x), np.outer(x, x) * x[0]])
    m[0, :, ROWS] = x * x[1]
    m[1, 1:3, ROWS] *= x[:2, None] + 2.0
    m[ROWS, 0] = x[2]
    return m


def more_axes_than_the_part(x):
    m = np.zeros((3, 4))
    m[1] = (x * x)[None, :]
    m[2, 1] = x[0]
    m[:, None, 3] = x[1]
    m[ROWS] = x
    return m


def added_at(x):
    m = np.outer(x, x)
    np.add.at(m, [0, 0, 2], x[:3, None])
    np.add.at(m, (ROWS, slice(1, 3)), x[0])
    m[0] = m[1] * m[2]
    return m


def a_list_of_numbers(x):
    m = np.zeros((3, 4))
    m[1] = [x[0], x[1] * x[2], 1.0, x[3]]
    return m * x


@pytest.mark.parametrize("f", [apart_in_an_index, more_axes_than_the_part, added_at, a_list_of_numbers])
def test_blocks_are_stored_where_single_tangents_are(f):
    single = [jvp(f, (X,), (e,))[1] for e in np.eye(4)]
    assert np.array(single) == pytest.approx(
        np.array([(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]), rel=1e-6, abs=1e-8
    )
    assert jacfwd(f)(X) == pytest.approx(np.stack(single, -1), rel=1e-14)


# -- both modes twice ----------------------------------------------------------------------------------------


def a_number_in_an_array(x):
    """An array of no axes; its sine is called one tangent at a time."""
    y = np.array(x[0])
    y *= x[1]
    y[()] += 3.0
    r = y * x
    return np.sum(np.sin(r * 0.7) * r)


def axes_of_one_dropped(x):
    m = np.ones((2, 4))
    m[1, :] = x.reshape(1, 4)
    m[0] = (x[0] * x[1]).reshape(1, 1)
    m.T[0] = x[None, None, :2]  # by another name: recorded
    return np.sum(m * m * x)


def rows_of_nothing_varied(x):
    z = 0.0
    for row in np.ones((3, 4)):
        row += x
        z = z + np.sum(row * row)
    return z


def rows_that_are_read_as_the_array(x):
    m = np.ones((3, 4))
    for row in m:
        row[0] = x[0] * x[1]
    return np.sum(m * x)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "f",
    [a_number_in_an_array, axes_of_one_dropped, rows_of_nothing_varied, rows_that_are_read_as_the_array],
)
def test_every_order_of_modes(f):
    slope = differences(f, X)
    assert grad(f)(X) == pytest.approx(slope, rel=1e-6, abs=1e-8)
    curved = differences(grad(f), X) @ ALONG
    assert jacfwd(lambda x: jvp(f, (x,), (ALONG,))[1])(X) == pytest.approx(curved, rel=1e-6, abs=1e-8)
    assert hessian(f)(X) @ ALONG == pytest.approx(curved, rel=1e-6, abs=1e-8)
    assert grad(lambda x: grad(f)(x) @ ALONG)(X) == pytest.approx(curved, rel=1e-6, abs=1e-8)


def positions_that_change(x):
    i = np.array([1, 2])
    y = x * 1.0
    y[i] *= x[0]
    np.add.at(y, i, y[i] * x[i])
    z = y[i] * y[i]
    i[0] = 3
    return np.sum(z) + np.sum(y[i] * x[i])


def test_positions_are_those_of_the_store():
    slope = differences(positions_that_change, X)
    assert grad(positions_that_change)(X) == pytest.approx(slope, rel=1e-6, abs=1e-8)
    assert jvp(positions_that_change, (X,), (ALONG,))[1] == pytest.approx(slope @ ALONG, rel=1e-6)


# -- at random -----------------------------------------------------------------------------------------------


def derived(seed):
    """Tangents, blocks, gradients and differences agree; False where the program has no derivative."""
    f = compiled_source(Followed(random.Random(seed)).program(), f"<program {seed}>")
    x, along = point(seed), np.array([0.3, -1.0, 0.7])
    try:
        one, two = (mutating_programs.differences(f, x, step) for step in (1e-5, 3e-6))
    except (ArithmeticError, LookupError, ValueError):
        return False
    if not np.allclose(one, two, rtol=1e-4, atol=1e-6) or np.abs(one).max() > 1e5:
        return False
    left.forget()  # what runs before have left in arrays that are garbage, and not collected yet
    tangent, gradient = jvp(f, (x.copy(),), (along,))[1], grad(f)(x.copy())
    scale = max(1.0, np.abs(one).max())
    assert tangent == pytest.approx(one @ along, rel=1e-4, abs=1e-5 * scale), seed
    assert gradient @ along == pytest.approx(tangent, rel=1e-9, abs=1e-9 * scale), seed
    assert jacfwd(f)(x.copy()) == pytest.approx(gradient, rel=1e-9, abs=1e-9 * scale), seed
    return True


SEEDS = range(10)


def test_random_programs():
    assert sum(map(derived, SEEDS)) >= 5


COUNTED = """
import tests.forward.test_followed_arrays as tests

runs = []
plain = tests.api.pushed
tests.api.pushed = lambda *args: runs.append(args) or plain(*args)
compiled = [seed for seed in tests.SEEDS if not runs.clear() and tests.derived(seed) and not runs]
print(len(compiled))
"""


@pytest.mark.night
def test_most_random_programs_are_compiled():
    """In a process where nothing has been tried, left, or set before."""
    ended = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0 and int(ended.stdout) >= 5, (ended.stdout, ended.stderr[-2000:])
