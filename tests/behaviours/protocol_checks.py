"""Derivatives in each mode, of a program as it is and where it can only be recorded, against differences."""

import numpy as np
import pytest

from ctxdispatch import grad, jacfwd, jvp
from ctxdispatch_contexts.programs.errors import DerivativeError
from tests.recording import RECORDED

X = np.array([0.8, 1.3])


def recorded(f):
    """The same function, of which there can be no program."""

    def guarded(x):
        with RECORDED:
            return f(x)

    return guarded


def pushed(f):
    return lambda x: np.array([jvp(f, (x,), (e,))[1] for e in np.eye(x.size)])


MODES = {
    "grad": grad, "jvp": pushed, "jacfwd": jacfwd,
    "grad recorded": lambda f: grad(recorded(f)), "jacfwd recorded": lambda f: jacfwd(recorded(f)),
}  # fmt: skip


def differences(f, x=X, h=1e-5):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)], float)


def check(f, x=X):
    """Every mode is right."""
    for name, derivative in MODES.items():
        np.testing.assert_allclose(
            np.asarray(derivative(f)(x), float), differences(f, x), rtol=1e-6, atol=1e-8, err_msg=name
        )


def check_refused(f, match, x=X):
    """Every mode refuses it, with a place in the file of the test."""
    for derivative in MODES.values():
        with pytest.raises(DerivativeError, match=rf"test_\w+\.py:\d+ in .*{match}"):
            derivative(f)(x)
