"""Arguments that a rule gives no cotangent for are refused by name where they vary, in both modes."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.reverse import DerivativeError

CASES = {
    "nan": lambda a: np.sum(np.nan_to_num(np.ones(3) * a, nan=a)),
    "constant_values": lambda a: np.sum(np.pad(np.ones(2) * a, 1, constant_values=a)),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_by_name(name):
    message = rf"{__name__}.py:\d+ in <lambda>: .* with respect to its argument '{name}'"
    with pytest.raises(DerivativeError, match=message):
        grad(CASES[name])(0.6)
    with pytest.raises(DerivativeError, match=message):
        jvp(CASES[name], (0.6,), (1.0,))


def test_constants_there_are_no_matter():
    f = lambda a: np.sum(np.pad(np.ones(2) * a, 1, constant_values=3.0))  # noqa: E731
    assert grad(f)(0.6) == jvp(f, (0.6,), (1.0,))[1] == 2.0
