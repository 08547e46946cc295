"""Arguments that a rule gives no cotangent for are refused by name where they vary, in both modes."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.reverse import DerivativeError

CASES = {
    "rcond": lambda a: np.sum(np.linalg.pinv(np.eye(2) * a, rcond=a / 10)),
    "tol": lambda a: np.sum(np.real_if_close(np.ones(2) * a, tol=a)),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_by_name(name):
    message = rf"{__name__}.py:\d+ in <lambda>: .* with respect to its argument '{name}'"
    with pytest.raises(DerivativeError, match=message):
        grad(CASES[name])(0.6)
    with pytest.raises(DerivativeError, match=message):
        jvp(CASES[name], (0.6,), (1.0,))


def test_constants_there_are_no_matter():
    f = lambda a: np.sum(np.linalg.pinv(np.eye(2) / a, rcond=0.1))  # noqa: E731
    assert grad(f)(0.6) == jvp(f, (0.6,), (1.0,))[1] == pytest.approx(2.0)
