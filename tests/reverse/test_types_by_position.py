"""Lists in arguments, of which the types are known item by item, or one for all: slices, stars and copies of
them; and what changes such a list meanwhile, under whatever name."""

import numpy as np
import pytest

from ctxdispatch import grad
from ctxdispatch.passes import types as T
from ctxdispatch.passes.held import guardable, held_type, only_used
from ctxdispatch_contexts.recording import api
from tests.reverse.test_guards import emitted

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 4))
LAYERS = [(RNG.standard_normal((4, 4)), RNG.standard_normal(4)) for _ in range(3)]
FLAT = [part for layer in LAYERS[:2] for part in layer]
V = np.linspace(0.1, 1.0, 4)


# -- alike: of any length ------------------------------------------------------------------------------------


def all_but_the_last(p):
    h = X
    for w, b in p[:-1]:
        h = np.tanh(h @ w + b)
    w, b = p[-1]
    return np.sum(h @ w + b)


def a_star(p):
    *hidden, last = p
    h = X
    for w, b in hidden:
        h = np.tanh(h @ w + b)
    w, b = last
    return np.sum(h @ w + b)


def a_copy(p):
    h = X
    for w, b in list(p)[1:]:
        h = np.tanh(h @ w + b)
    return h.sum()


def a_copy_by_its_method(p):
    h = X
    for w, b in p.copy():
        h = np.tanh(h @ w + b)
    return h.sum()


def a_tuple(p):
    h = X
    for w, b in tuple(p)[:2]:
        h = np.tanh(h @ w + b)
    return h.sum()


def backwards(p):
    h = X
    for w, b in p[::-1]:
        h = np.tanh(h @ w + b)
    return h.sum()


ALIKE = [all_but_the_last, a_star, a_copy, a_copy_by_its_method, a_tuple, backwards]


# -- each of a type of its own -------------------------------------------------------------------------------


def unpacked(p):
    w, b, u, c = p
    return np.sum(np.tanh(X @ w + b) @ u + c)


def halves(p):
    (w, b), (u, c) = p[:2], p[2:]
    return np.sum(np.tanh(X @ w + b) @ u + c)


def a_star_in_the_midst(p):
    w, *between, c = p
    b, u = between
    return np.sum(np.tanh(X @ w + b) @ u + c)


def every_other(p):
    h = X
    for w, b in zip(p[::2], p[1::2]):
        h = np.tanh(h @ w + b)
    return h.sum()


def from_the_end(p):
    return np.sum(np.tanh(X @ p[-4] + p[-3]) @ p[len(p) - 2] + p[len(p) - 1])


BY_POSITION = [unpacked, halves, a_star_in_the_midst, every_other, from_the_end]


def leaves(tree):
    return [tree] if isinstance(tree, np.ndarray) else [leaf for each in tree for leaf in leaves(each)]


def agrees(g, f, p):
    found, given = leaves(g(p)), leaves(p)
    assert [leaf.shape for leaf in found] == [leaf.shape for leaf in given]
    rng = np.random.default_rng(1)
    for leaf, bar in zip(given, found):
        along = rng.standard_normal(leaf.shape)
        leaf += 1e-6 * along
        more = f(p)
        leaf -= 2e-6 * along
        less = f(p)
        leaf += 1e-6 * along
        assert np.sum(bar * along) == pytest.approx((more - less) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.fixture
def compiled(monkeypatch):
    def refuse(function, *args):
        raise AssertionError(f"{function} was recorded")

    monkeypatch.setattr(api, "joint", refuse)


@pytest.mark.parametrize("f", ALIKE, ids=lambda f: f.__name__)
def test_alike(f, compiled):
    g = grad(f)
    agrees(g, f, LAYERS)
    agrees(g, f, LAYERS[:2])
    if f is not a_copy_by_its_method:
        agrees(g, f, tuple(LAYERS))
    assert type(g(LAYERS)) is list and type(g(LAYERS)[0]) is tuple


@pytest.mark.parametrize("f", BY_POSITION, ids=lambda f: f.__name__)
def test_by_position(f, compiled):
    g = grad(f)
    agrees(g, f, FLAT)
    agrees(g, f, [part.reshape(-1, 4) for part in FLAT])
    assert type(g(FLAT)) is list


def test_functions_by_position(compiled):
    def f(v, fs):
        first, second, *rest = fs
        return np.sum(first(v) * second(v) + rest[0](v))

    g, fs = grad(f), [np.sin, np.exp, np.tanh, None]
    np.testing.assert_allclose(g(V, fs), (np.cos(V) + np.sin(V)) * np.exp(V) + 1.0 - np.tanh(V) ** 2)
    fs[1] = np.cos
    np.testing.assert_allclose(g(V, fs), np.cos(2.0 * V) + 1.0 - np.tanh(V) ** 2)


class Doubled(list):
    """Gives other items than it has."""

    def __getitem__(self, i):
        return super().__getitem__(i) * 2.0

    def __iter__(self):
        return iter([3.0 * each for each in super().__iter__()])


def test_a_subclass_is_asked_itself():
    def f(v, p):
        a, b = p
        return np.sum(v * a * p[0]) + b

    p = [V, 2.0]
    assert grad(f)(V, p).tolist() == pytest.approx((V * V).tolist())
    assert grad(f)(V, Doubled(p)).tolist() == pytest.approx((6.0 * V * V).tolist())


def test_what_is_unpacked_does_not_fit():
    g = grad(unpacked)
    agrees(g, unpacked, FLAT)
    for wrong in (FLAT[:3], [*FLAT, FLAT[0]]):
        with pytest.raises(ValueError, match="values to unpack"):
            g(wrong)
    with pytest.raises(ValueError, match="values to unpack"):
        grad(a_star_in_the_midst)(FLAT[:1])
    agrees(g, unpacked, FLAT)


# -- what changes the list meanwhile -------------------------------------------------------------------------


def either(p, r, c):
    return p if c > 0 else r


def appended(p, r, c, x):
    either(p, r, c).append(2.0)
    return np.sum(p[-1] * x)


def turned_round(p, r, c, x):
    p.reverse()
    return np.sum(p[-1] * x)


def turned_round_by_another_name(p, r, c, x):
    q = p if c > 0 else r
    q.reverse()
    return np.sum(p[-1] * x)


def turned_round_in_a_loop(p, r, c, x):
    for each in [p, r]:
        each.reverse()
    return np.sum(p[-1] * x)


def turned_round_by_its_method(p, r, c, x):
    for turn in [p.reverse, r.reverse]:
        turn()
    return np.sum(p[-1] * x)


def one_less(p, r, c, x):
    p.pop()
    return np.sum(p[-1] * x) * len(p)


def one_less_after_its_length(p, r, c, x):
    n = len(p)
    (p if c > 0 else r).pop()
    return np.sum(x * x) * (n + 3 * len(p))


def one_less_at_each_step(p, r, c, x):
    s = 0.0
    for _ in range(2):
        s = np.sum(p[0] * x) * len(p)
        either(p, r, c).pop(0)
    return s


def one_less_of_a_tuple(p, r, c, x):
    (either(p, r, c), 1.0)[0].pop(0)
    return np.sum(p[0] * x)


def one_less_of_a_list(p, r, c, x):
    lists = []
    lists.append(p)
    lists.append(r)
    lists[int(c < 0)].pop(0)
    return np.sum(p[0] * x)


def one_less_by_name(p, r, c, x):
    del either(p, r, c)[0]
    return np.sum(p[0] * x)


def cleared(p, r, c, x):
    {"p": p}["p"].clear()
    p.append(2.0 * x)
    return np.sum(p[-1] * x) * len(p)


def twice_as_long(p, r, c, x):
    q = p if c > 0 else r
    q *= 2
    return np.sum(p[0] * x) * len(p)


def longer(p, r, c, x):
    p += r
    return np.sum(p[-1] * x) * len(p)


def sorted_in_place(p, r, c, x):
    p.sort(key=lambda v: -np.sum(v))
    return np.sum(p[-1] * x)


def swapped(p, r, c, x):
    p[0], p[-1] = p[-1], p[0]
    return np.sum(p[-1] * x)


def sliced_into(p, r, c, x):
    p[:] = p[::-1]
    return np.sum(p[-1] * x)


def by_code_that_is_not_seen(p, r, c, x):
    exec("p.reverse()", {"p": p})
    return np.sum(p[-1] * x)


def a_slice_is_another_list(p, r, c, x):
    q = p[1:]
    q.reverse()
    q.append(3.0)
    return np.sum(p[-1] * x) * len(q) + np.sum(q[0] * x)


CHANGED = [
    appended, turned_round, turned_round_by_another_name, turned_round_in_a_loop, turned_round_by_its_method,
    one_less, one_less_after_its_length, one_less_at_each_step, one_less_of_a_tuple, one_less_of_a_list,
    one_less_by_name, cleared, twice_as_long, longer, sorted_in_place, swapped, sliced_into,
    by_code_that_is_not_seen, a_slice_is_another_list,
]  # fmt: skip

LISTS = {
    "two shapes": lambda: ([3.0 * np.ones(4), np.ones((4, 4))], [1.0]),
    "one shape": lambda: ([3.0 * np.ones(4), 2.0 * np.ones(4)], [1.0, 2.0]),
    "a number and arrays": lambda: ([3.0, np.ones((4, 4)), np.arange(4.0)], [np.ones(4)]),
    "with another of all kinds": lambda: (
        [3.0, np.ones((4, 4)), np.arange(4.0)],
        [None, np.arange(4.0), 2.0],
    ),
}


@pytest.mark.every(1)
@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("f", CHANGED, ids=lambda f: f.__name__)
def test_changed_meanwhile(f, make):
    """The same derivative, or the same error."""
    found = []
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-6
        try:
            found.append((f(*make(), 1.0, V + step) - f(*make(), 1.0, V - step)) / 2e-6)
        except (TypeError, IndexError) as error:
            with pytest.raises(type(error)):
                grad(f, 3)(*make(), 1.0, V)
            return
    for wrt in (3, (0, 3)) if f is not by_code_that_is_not_seen else (3,):
        bars = grad(f, wrt)(*make(), 1.0, V)
        np.testing.assert_allclose(bars if wrt == 3 else bars[1], found, rtol=1e-5, atol=1e-7)


# -- types, and the test at the entry ------------------------------------------------------------------------


def test_types():
    assert held_type([V, V, V]).item == held_type(V)
    assert held_type([V, np.ones(1)]).item == T.ArrayOf(np.dtype(float), (None,))
    assert held_type([1, 2.0, True]).item is not None  # joined: numbers of one kind or another
    mixed = held_type([V, X, np.sin])
    assert mixed.by_position and [t for _, t in mixed.fields] == [held_type(V), held_type(X), T.Known(np.sin)]
    assert held_type([V, X] * 10).by_position is False


def test_the_guard():
    type_ = guardable(held_type([V, X, np.sin]))
    test = emitted(type_)
    assert test([V, X, np.sin]) and not test((V, X, np.sin))
    assert not test([V, X]) and not test([V, X, np.cos]) and not test([V, X, np.sin, 1.0])
    loose = emitted(only_used(type_, {1}))
    assert loose([None, X, None]) and not loose([None, V, None]) and not loose([None, X])
    assert only_used(type_, {"x"}) == T.Exact(list)
