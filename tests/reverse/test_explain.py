"""`explain(g)(*args)`: which tier each region of a call runs on, the line and reason of what is recorded."""

import threading
import time
import warnings

import numpy as np
import pytest

from ctxdispatch import (
    ADContext,
    broadcast,
    explain,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    overdub,
    value_and_grad,
    vjp,
)
from ctxdispatch_contexts.explain import RecordedWarning
from ctxdispatch_contexts.programs.entry import forget_all

X = np.array([1.0, 2.0])


def plain(x):
    return (x * x).sum()


def handled(x):
    try:
        return np.tanh(x).sum()
    except ValueError:
        return x.sum()


def raises(x):
    try:
        return x[5] * 1.0
    except IndexError:
        return x[0] * x[1]


def entered(x):
    with np.errstate(all="ignore"):  # here
        total = 0.0
        for i in range(10):
            total = total + x[0] * i
    return total


def outer(x):
    return plain(x) + entered(x)


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
    assert first.reason == "with has no program" and first.remedy == "enter the context manager in the caller"


@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_a_loop_of_a_recorded_run_is_a_region(mode):
    around, loop = TAKEN[mode](entered).regions
    assert around.tier == "recorded with compiled regions"
    assert (loop.tier, loop.depth) == ("compiled whole", 1)


@pytest.mark.parametrize("mode", ["grad", "jvp", "vjp"])
def test_attempts_are_told_from_those_that_raise(mode):
    (region,) = TAKEN[mode](handled).regions
    assert region.tier == "compiled as an attempt" and region.line == line_of(handled, 1)
    region = TAKEN[mode](raises).regions[0]
    assert region.tier == "recorded" and "attempt raised" in region.reason


def test_of_a_callee_without_a_program_the_call_and_its_own_line_are_named():
    region = explain(grad(outer))(X).regions[0]
    assert region.name == "outer" and region.line == line_of(outer, 1)
    assert line_of(entered, 1) in region.reason and "enter the context manager" in region.remedy


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
    assert f"{line_of(entered, 1)}: with has no program" in text and "enter the context manager" in text
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
    with np.errstate(all="ignore"):
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
    assert "recorded: with has no program; enter" in str(one.message)


def test_nothing_is_said_unasked(recwarn, monkeypatch):
    monkeypatch.delenv("CTXDISPATCH_WARN", raising=False)
    grad(lambda x: entered(np.array([x, x])))(2.0)
    assert not recwarn.list
