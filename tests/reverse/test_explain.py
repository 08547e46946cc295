"""`explain(g)(*args)`: which tier each region of a call runs on, the line and reason of what is recorded."""

import threading
import time
import warnings

import numpy as np
import pytest

from ctxdispatch import (
    ADContext,
    DerivativeError,
    broadcast,
    explain,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    overdub,
    value_and_grad,
    vjp,
)
from ctxdispatch_contexts.explain import RecordedWarning
from ctxdispatch_contexts.programs.live import forget_all

X = np.array([1.0, 2.0])


def plain(x):
    return (x * x).sum()


def handled(x):
    try:
        return np.tanh(x).sum()
    except ValueError:
        return x.sum()


def quiet(x):
    with np.errstate(all="ignore"):
        return np.tanh(x).sum()


def raises(x):
    try:
        return x[5] * 1.0
    except IndexError:
        return x[0] * x[1]


LOCK = threading.Lock()
OUTSIDE = "what can be seen from outside (by _thread.lock.__enter__) has no program"
NO_WITH = "with has no program", "enter the context manager in the caller"
REMEDY = "do it before or after, and use what is made here, by functions that are known"


def entered(x):
    with LOCK:  # here
        total = 0.0
        for i in range(10):
            total = total + x[0] * i
    return total


def generated(x):
    try:
        yield x[0]
    finally:
        del x


def outer(x):
    return plain(x) + sum(generated(x))


def imported(x):
    with warnings.catch_warnings():
        return plain(x)


def tried(x):
    total = 0.0
    for i in range(5):
        seen.append(i)
        total = total + x[0] * i
    return total + sum(generated(x))


seen: list[int] = []


def line_of(f, i):
    return f"{__file__}:{f.__code__.co_firstlineno + i} in {f.__name__}"


TAKEN = {
    "grad": lambda f: explain(grad(f))(X),
    "value_and_grad": lambda f: explain(value_and_grad(f))(X),
    "jvp": lambda f: explain(jvp)(f, (X,), (X,)),
    "vjp": lambda f: explain(vjp)(f, X),
    "jacobian": lambda f: explain(jacobian(f))(X),
    "hessian": lambda f: explain(hessian(f))(X),
    "hvp": lambda f: explain(hvp)(f, (X,), (X,)),
    "overdub": lambda f: explain(overdub)(ADContext(), f, X),
}


@pytest.mark.every(1)
@pytest.mark.parametrize("mode", TAKEN)
def test_tiers_lines_and_reasons(mode):
    (region,) = TAKEN[mode](plain).regions
    assert (region.tier, region.reason, region.line, region.calls) == ("compiled whole", "", None, 1)
    assert region.name == "plain" and 0.0 < region.seconds < 1.0
    first = TAKEN[mode](entered).regions[0]
    assert first.tier.startswith("recorded") and first.line == line_of(entered, 1)
    assert (first.reason, first.remedy) == (OUTSIDE, REMEDY)


@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_a_loop_of_a_recorded_run_is_a_region(mode):
    around, loop = TAKEN[mode](entered).regions
    assert around.tier == "recorded with compiled regions"
    line = entered.__code__.co_firstlineno + 3
    assert (loop.tier, loop.depth) == ("compiled whole", 1)
    assert (loop.name, loop.place) == (f"entered, loop from line {line}", f"{__file__}:{line}")


@pytest.mark.parametrize("mode", ["grad", "jvp", "vjp"])
def test_attempts_are_told_from_those_that_raise(mode):
    (region,) = TAKEN[mode](handled).regions
    assert region.tier == "compiled as an attempt" and region.line == line_of(handled, 1)
    region = TAKEN[mode](quiet).regions[0]
    assert region.tier == "compiled as an attempt" and region.remedy == NO_WITH[1]
    region = TAKEN[mode](raises).regions[0]
    assert region.tier == "recorded" and "attempt raised" in region.reason


def test_of_a_callee_without_a_program_the_call_and_its_own_line_are_named():
    region = explain(grad(outer))(X).regions[0]
    assert region.name == "outer" and region.line == line_of(outer, 1)
    assert line_of(generated, 0) in region.reason and "build a list" in region.remedy


def test_what_a_library_does_is_told_of_the_function_that_calls_it():
    region = explain(grad(imported))(X).regions[0]
    assert region.line == line_of(imported, 0) and "warnings.py:" in region.reason


def test_of_a_part_that_is_none_the_reason_is_told_and_operations_are_no_regions():
    around, *parts = explain(grad(tried))(X).regions
    assert around.tier == "recorded" and len(parts) == 2
    assert {part.tier for part in parts} == {"recorded"} and {part.seconds for part in parts} == {0.0}
    assert parts[1].line == line_of(tried, 3) and "list.append" in parts[1].reason


def test_kernels_and_what_is_called_more_than_once():
    (region,) = explain(broadcast)(lambda t: t * t, X).regions
    assert region.tier == "kernel"
    gradient = grad(plain)
    (region,) = explain(lambda n: [gradient(X) for _ in range(n)])(3).regions
    assert region.calls == 3
    assert not explain(plain)(X).regions and str(explain(plain)(X)) == "no derivative was called"


def test_it_leaves_programs_as_they_were():
    gradient = grad(plain)
    gradient(X)
    code = gradient.__code__
    explain(gradient)(X)
    assert gradient.__code__ is code
    explain(gradient)(np.float32([[1.0]]))  # another program, which goes before it
    code = gradient.__code__
    assert gradient(X).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError):
        explain(gradient)(3)
    assert gradient.__code__ is code
    new = grad(handled)
    explain(new)(X)
    np.testing.assert_allclose(new(X), 1 - np.tanh(X) ** 2)


def test_what_is_forgotten_meanwhile_does_not_come_back():
    gradient = grad(plain)
    gradient(X)

    def called():
        gradient(X)
        forget_all()

    stale = gradient.__code__
    explain(called)()
    assert gradient.__code__ is not stale
    assert gradient(X).tolist() == [2.0, 4.0]


def test_other_threads_go_on():
    gradient, found = grad(plain), []

    def worker():
        for _ in range(200):
            found.append(gradient(X).tolist())

    def asked():
        thread = threading.Thread(target=worker)
        thread.start()
        thread.join()

    assert not explain(asked)().regions
    assert found == [[2.0, 4.0]] * 200


def test_text_and_notebook():
    report = explain(grad(entered))(X)
    text = str(report)
    assert "entered" in text and "(reverse): recorded with compiled regions" in text
    assert f"{line_of(entered, 1)}: {OUTSIDE}\n    instead: {REMEDY}" in text
    page = report._repr_html_()
    assert page.startswith("<table>") and page.count("<tr>") == 1 + len(report.regions)
    assert "&lt;lambda&gt;" in explain(grad(lambda x: x * x))(2.0)._repr_html_()


def test_making_programs_is_no_part_of_what_calls_cost():
    start = time.perf_counter()
    report = explain(grad(lambda x: np.sin(np.cos(x)).sum()))(X)
    assert 0.0 < report.making <= time.perf_counter() - start
    assert report.regions[0].seconds < report.making


# -- the warning ---------------------------------------------------------------------------------------------


def written_for_the_warning(x):
    with LOCK:
        return x * x


def test_it_warns_once_per_line(monkeypatch):
    monkeypatch.setenv("CTXDISPATCH_WARN", "recorded")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        grad(written_for_the_warning)(2.0)
        value_and_grad(written_for_the_warning)(2.0)
        jvp(written_for_the_warning, (2.0,), (1.0,))
    (one,) = caught
    assert one.category is RecordedWarning and one.filename == __file__
    assert one.lineno == written_for_the_warning.__code__.co_firstlineno + 1
    assert str(one.message) == f"recorded: {OUTSIDE}; {REMEDY}"


def test_nothing_is_said_unasked(recwarn, monkeypatch):
    monkeypatch.delenv("CTXDISPATCH_WARN", raising=False)
    grad(lambda x: entered(np.array([x, x])))(2.0)
    assert not recwarn.list


# -- tier ----------------------------------------------------------------------------------------------------


PYTHON = {"tier": "python"}
WITH_TIER = {
    "grad": lambda f: grad(f, **PYTHON)(X),
    "value_and_grad": lambda f: value_and_grad(f, **PYTHON)(X),
    "jvp": lambda f: jvp(f, (X,), (X,), **PYTHON),
    "hvp": lambda f: hvp(f, (X,), (X,), **PYTHON),
    "jacobian": lambda f: jacobian(f, **PYTHON)(X),
    "jacfwd": lambda f: jacfwd(f, **PYTHON)(X),
    "jacrev": lambda f: jacrev(f, **PYTHON)(X),
    "hessian": lambda f: hessian(f, **PYTHON)(X),
}


class Model:
    def energy(self, x):
        return plain(x) + entered(x)


@pytest.mark.every(1)
@pytest.mark.parametrize("mode", WITH_TIER)
def test_with_a_tier_what_would_be_recorded_is_refused_at_its_line(mode):
    run = WITH_TIER[mode]
    run(plain)
    run(lambda x: plain(x))
    for _ in range(2):
        with pytest.raises(DerivativeError, match="would be recorded.*tier='python'.*; ") as caught:
            run(entered)
        assert caught.value.position == line_of(entered, 1)
    with pytest.raises(DerivativeError, match="would be recorded"):
        run(Model().energy)
    TAKEN.get(mode, TAKEN["grad"])(entered)  # without it, as before


@pytest.mark.parametrize("mode", ["grad", "jvp", "hvp"])
def test_with_a_tier_an_attempt_is_refused_where_it_raises_and_only_there(mode):
    def tried(x):
        try:
            return x[int(x[0])] * x[1] if x[0] < 2.0 else x[7]
        except IndexError:
            return x[0] * x[1]

    run = {
        "grad": lambda x: grad(tried, **PYTHON)(x), "jvp": lambda x: jvp(tried, (x,), (x,), **PYTHON),
        "hvp": lambda x: hvp(tried, (x,), (x,), **PYTHON),
    }[mode]  # fmt: skip
    plainly = {
        "grad": grad(tried), "jvp": lambda x: jvp(tried, (x,), (x,)), "hvp": lambda x: hvp(tried, (x,), (x,))
    }[mode]  # fmt: skip
    for x in (X, X + 2.0, X, X):
        if x[0] > 2.0:
            with pytest.raises(DerivativeError, match="attempt raised") as caught:
                run(x)
            assert caught.value.position == line_of(tried, 1).replace("tried", tried.__qualname__)
        else:
            np.testing.assert_array_equal(np.hstack(run(x)), np.hstack(plainly(x)))


def test_with_a_tier_arguments_that_share_memory_are_refused():
    def stored(x, y):
        x[0] = 3.0 * y[1]
        return (x * y).sum()

    gradient = grad(stored, **PYTHON)
    assert gradient(X.copy(), X.copy()).tolist() == [0.0, 2.0]
    shared = X.copy()
    with pytest.raises(DerivativeError, match="share memory.*; pass copies"):
        gradient(shared, shared)
    assert shared.tolist() == X.tolist()


def test_a_derivative_within_is_refused_and_one_with_no_tier_is_not():
    with pytest.raises(DerivativeError, match="would be recorded"):
        grad(lambda x: grad(entered, **PYTHON)(x).sum())(X)
    assert grad(lambda x: grad(plain, **PYTHON)(x).sum())(X).tolist() == [2.0, 2.0]
    assert grad(lambda x: (grad(plain, 0, False, False, "python")(x) ** 2).sum(), **PYTHON)(X).tolist() == [
        8.0, 16.0,
    ]  # fmt: skip
    with pytest.raises(DerivativeError, match="leave out debug=True"):
        grad(plain, debug=True, **PYTHON)(X)
    with pytest.raises(DerivativeError, match="subclass of np.ndarray"):
        grad(plain, **PYTHON)(X.view(type("Own", (np.ndarray,), {})))
