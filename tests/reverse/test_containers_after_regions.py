"""Lists and dicts that a loop of a recorded run goes through, and that the program changes afterwards: the
way back has what they were."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp

X = np.array([0.7, 1.2, 0.4])
MADE = {
    "a list": (lambda x: [x[0], x[1] * x[2]], lambda d: enumerate(d)),
    "a dict": (lambda x: {"a": x[0], "b": x[1] * x[2]}, lambda d: d.items()),
    "lists in a list": (lambda x: [[x[0]], [x[1], x[2]]], lambda d: ((0, v) for row in d for v in row)),
    "lists in a dict": (lambda x: {"a": [x[0]], "b": [x[2]]}, lambda d: [(k, v[0]) for k, v in d.items()]),
    "arrays in a list": (lambda x: [x[:1], x[1:]], lambda d: [(i, np.sum(a)) for i, a in enumerate(d)]),
}  # fmt: skip


def emptied(d):
    d.clear()


def last_taken(d):
    d.pop() if type(d) is list else d.popitem()


def replaced(d):
    for k in list(d) if type(d) is dict else range(len(d)):
        d[k] = 5.0


def turned(d):
    d.reverse() if type(d) is list else d.update([*d.items()][::-1])


def grown(d):
    d.append(7.0) if type(d) is list else d.update(z=7.0)


def inner_changed(d):
    for inner in d if type(d) is list else d.values():
        if type(inner) is list:
            inner.append(3.0)


@pytest.mark.every(3)
@pytest.mark.parametrize("change", [emptied, last_taken, replaced, turned, grown, inner_changed])
@pytest.mark.parametrize("made", MADE)
def test_what_it_was(made, change):
    make, through = MADE[made]

    def f(x):
        d, s = make(x), x[1] * 0.5
        for _, v in through(d):
            s = s + v * v
        for _ in range(2):
            s = s + sum(v for _, v in through(d))
        change(d)
        return s * x[0]

    wanted = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(grad(f)(X), wanted, rtol=1e-6)
    np.testing.assert_allclose([jvp(f, (X,), (e,))[1] for e in np.eye(3)], wanted, rtol=1e-6)


def test_one_list_stays_one():
    """Under two names, within what the loop is given."""

    def f(x):
        rows = [[x[0]], [x[1]]]
        best, s = rows[0], 0.0
        for row in rows:
            s = s + (3.0 * row[0] if row is best else row[0] * row[0])
        rows.pop().clear()
        return s + 0.0 * len(rows)

    np.testing.assert_allclose(grad(f)(X), [3.0, 2.0 * X[1], 0.0])
