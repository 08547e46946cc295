"""Programs that take too long to make: the run is recorded, then traced; with no other way they are made."""

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, jvp
from ctxdispatch_contexts.programs import budget, tiers


def tower(x):
    def inner(v, n):
        return v if n == 0 else inner(np.sin(v) * v, n - 1)

    return inner(x[0], 3) * x[1]


@pytest.mark.parametrize("mode", ["grad", "jvp", "hessian"])
def test_what_takes_too_long_is_recorded_and_traced(mode, monkeypatch):
    x, along = np.array([0.7, 1.3]), np.array([1.0, -2.0])
    take = {"grad": grad, "jvp": lambda f: lambda x: jvp(f, (x,), (along,))[1], "hessian": hessian}[mode]
    expected = take(lambda x: tower(x))(x)
    derivative = take(tower)
    monkeypatch.setattr(budget, "SECONDS", 0.0)
    first = explain(derivative)(x).regions[0]
    monkeypatch.undo()
    later = [explain(derivative)(x).regions[0].tier for _ in range(2)]
    np.testing.assert_allclose(derivative(x), expected)
    if mode == "grad":
        assert (first.tier, first.reason) == ("recorded", tiers.TOO_LONG.what)
        assert later == ["compiled as a trace"] * 2


def test_where_there_is_no_other_way_it_takes_its_time():
    assert budget.in_time(-1.0, lambda: [*budget.steps(3)]) is None
    assert budget.in_time(None, lambda: [*budget.steps(3)]) == [0, 1, 2]


def untraced(x):
    return np.sin(x[0]) * x[1] + 0.0 * np.random.random()


CASES = [(lambda x: np.sin(x[0]) * x[1], "compiled as a trace"), (untraced, "compiled whole")]


@pytest.mark.parametrize("f, later", CASES)
def test_where_there_may_be_a_trace_it_gets_less_time_at_first(f, later, monkeypatch):
    """And all of it where there is none."""
    x = np.array([0.7, 1.3])
    monkeypatch.setattr(budget, "SHORTLY", -1.0)
    derivative = grad(f)
    assert [explain(derivative)(x).regions[0].tier for _ in range(2)] == ["recorded", later]
    np.testing.assert_allclose(derivative(x), [np.cos(0.7) * 1.3, np.sin(0.7)])
