"""Errors show the user's frames: ours are cut from the traceback, and nothing else is changed."""

import os
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest

from ctxdispatch import (
    ADContext,
    Context,
    DerivativeError,
    broadcast,
    check_grads,
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

X = np.array([1.0, 2.0])
LOCK = threading.Lock()
ERROR = KeyError("the user's own")


class Counted(Context):
    pass


def helper(x):
    if x[0] > 0.0:
        raise ERROR
    return x


def compiled(x):
    return (x * helper(x)).sum()


def recorded(x):
    with LOCK:
        return (x * helper(x)).sum()


def attempted(x):
    try:
        return (x * helper(x)).sum()
    finally:
        pass


class Model:
    def __init__(self):
        self.scale = 2.0

    def method(self, x):
        with LOCK:
            return (self.scale * helper(x)).sum()

    __call__ = method


CALLS = {
    "grad": lambda f: grad(f)(X),
    "value_and_grad": lambda f: value_and_grad(f)(X),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "vjp": lambda f: vjp(f, X),
    "hvp": lambda f: hvp(f, (X,), (X,)),
    "jacobian": lambda f: jacobian(f)(X),
    "jacfwd": lambda f: jacfwd(f)(X),
    "jacrev": lambda f: jacrev(f)(X),
    "hessian": lambda f: hessian(f)(X),
    "overdub": lambda f: overdub(ADContext(), f, X),
    "another context": lambda f: overdub(Counted(), f, X),
    "explain": lambda f: explain(grad(f))(X),
}
FUNCTIONS = {"compiled": compiled, "recorded": recorded, "attempted": attempted}
BOUND = {"method": Model().method, "object": Model()}


def lines(error):
    return [(entry.filename, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)]


def raised(call, *args):
    ERROR.__traceback__ = ERROR.__context__ = None
    with pytest.raises(Exception) as caught:
        call(*args)
    return caught.value


@pytest.mark.every(3)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", CALLS)
def test_only_the_users_frames_are_shown(mode, name):
    for _ in range(3):  # where it is made, where it is found, where an attempt is left out
        error = raised(CALLS[mode], FUNCTIONS[name])
        assert error is ERROR and error.__cause__ is None and error.__context__ is None
        found = lines(error)
        assert {filename for filename, _ in found} == {__file__}
        assert found[-1] == (__file__, helper.__code__.co_firstlineno + 2)


@pytest.mark.parametrize("name", BOUND)
@pytest.mark.parametrize("mode", ["grad", "jvp", "jacobian", "overdub"])
def test_of_methods_and_objects(mode, name):
    error = raised(CALLS[mode], BOUND[name])
    assert error is ERROR and {filename for filename, _ in lines(error)} == {__file__}


def test_frames_of_the_user_are_those_of_the_plain_run():
    plain = [line for line in lines(raised(recorded, X)) if line[1] < CALLS["grad"].__code__.co_firstlineno]
    found = lines(raised(CALLS["grad"], recorded))
    assert found[-len(plain) :] == plain and len(plain) == 2


def test_all_stay_where_the_environment_asks_for_them(monkeypatch):
    monkeypatch.setenv("CTXDISPATCH_TRACEBACK", "full")
    files = {os.path.basename(filename) for filename, _ in lines(raised(CALLS["grad"], recorded))}
    assert {"entry.py", "overdub.py"} <= files


def chained(x):
    with LOCK:
        try:
            return helper(x)
        except KeyError as error:
            raise ValueError("from it") from error


def test_of_what_an_error_came_of_too():
    error = raised(CALLS["grad"], chained)
    assert type(error) is ValueError and error.__cause__ is error.__context__ is ERROR
    assert {filename for filename, _ in lines(error) + lines(ERROR)} == {__file__}
    assert lines(ERROR)[-1][1] == helper.__code__.co_firstlineno + 2


def test_of_what_is_handled_meanwhile_nothing_is_lost():
    try:
        raise OSError("around")
    except OSError as around:
        before = around.__traceback__
        error = raised(CALLS["grad"], recorded)
        assert error.__context__ is around and around.__traceback__ is before


def refused(x):
    with LOCK:
        return np.array(x).tobytes()[0] * x.sum()


@pytest.mark.parametrize("mode", ["grad", "jvp", "vjp", "jacobian", "hessian"])
def test_a_refusal_ends_at_its_line(mode):
    error = raised(CALLS[mode], refused)
    found = lines(error)
    assert isinstance(error, DerivativeError) and {filename for filename, _ in found} == {__file__}
    assert found[-1][1] == refused.__code__.co_firstlineno + 2


def test_a_kernel_and_a_pullback():
    assert {filename for filename, _ in lines(raised(broadcast, recorded, X))} <= {__file__}

    def squared(x):
        with LOCK:
            return x * x

    _, pullback = vjp(squared, X)
    assert {filename for filename, _ in lines(raised(pullback, np.ones(7)))} == {__file__}


def test_a_program_that_catches_it_sees_the_same():
    found = []

    def outer(x):
        try:
            return grad(recorded)(x).sum()
        except KeyError as error:
            found.extend(lines(error))
            return x.sum()

    ERROR.__traceback__ = ERROR.__context__ = None
    assert grad(outer)(X).tolist() == [1.0, 1.0]
    assert {filename for filename, _ in found} == {__file__}


def test_a_run_around_the_run_sees_what_is_differentiated():
    def squared(x):
        with LOCK:
            return (x * x * x).sum()

    def pulled(x):
        return vjp(squared, x)[1](1.0)[0].sum()

    for derivative in (grad(pulled), jacobian(pulled), lambda x: np.diag(hessian(squared)(x))):
        np.testing.assert_allclose(derivative(X), 6.0 * X)
    np.testing.assert_allclose(jvp(pulled, (X,), (np.ones(2),))[1], 18.0)
    np.testing.assert_allclose(hvp(squared, (X,), (np.ones(2),)), 6.0 * X)
    _, pullback = vjp(lambda x: jvp(squared, (x,), (np.ones(2),))[1], X)
    np.testing.assert_allclose(pullback(1.0)[0], 6.0 * X)


def test_check_grads():
    for f, args, how in ((compiled, X, {}), (compiled, X, {"order": 2}), (compiled, [1], {})):
        with pytest.raises((KeyError, ValueError)) as caught:
            check_grads(f, (args,), **how)
        assert {entry.filename for entry in traceback.extract_tb(caught.value.__traceback__)} == {__file__}


PROGRAM = """
import numpy as np, threading
from ctxdispatch import grad

def f(x):
    with threading.Lock():
        return x[7]

grad(f)(np.ones(2))
"""


def test_what_python_prints(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    files = [line.split('"')[1] for line in done.stderr.splitlines() if line.startswith('  File "')]
    assert set(files) == {str(path)} and done.stderr.splitlines()[-1].startswith("IndexError: index 7")
