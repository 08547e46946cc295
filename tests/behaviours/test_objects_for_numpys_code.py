"""NumPy's functions that are Python code ask what their operands are: objects that become arrays are given to
them as they are, and what they return is of the class that it is of in a plain run."""

import numpy as np
import pytest

from ctxdispatch import Refused, grad, jvp
from tests.behaviours.mutation_checks import central

X = np.array([1.37, 0.61, 2.23])


class Sampled:
    """An array by its method."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values * 2.0

    def __len__(self):
        return len(self.values)


class Sequence:
    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i] * 2.0


CLASSES = {"poly1d": np.poly1d, "array": Sampled, "sequence": Sequence}
IN_PYTHON = sorted(
    name
    for name in dir(np)
    if hasattr(getattr(np, name), "_implementation") and not name.startswith(("save", "array", "bincount"))
)
OPERANDS = {
    "alone": lambda x: [],
    "another": lambda x: [np.array([0.4, 1.9, 1.1])],
    "number": lambda x: [1],
    "itself": lambda x: [x],
}


def number(y):
    """A number made of all that is returned."""
    if isinstance(y, (tuple, list)):
        return sum(map(number, y))
    if type(y) is np.poly1d:
        return y(0.5)
    return np.sum(np.asarray(y).real * 1.0)


@pytest.mark.every(20)
@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("name", IN_PYTHON)
def test_as_plain(name, cls, operands):
    function, made, seen = getattr(np, name), CLASSES[cls], []

    def f(x):
        given = made(x * 1.0)  # some store into it
        y = function(given, *OPERANDS[operands](given))
        seen.append(type(y))
        return number(y)

    try:
        wanted = central(f, X)
    except Exception:
        pytest.skip("no such call")
    for derivative in (lambda: grad(f)(X), lambda: jvp(f, (X,), (np.ones(3),))[1]):
        try:
            found = derivative()
        except Refused:
            continue
        assert seen[-1] is seen[0]
        np.testing.assert_allclose(np.sum(found), np.sum(wanted), rtol=1e-4, atol=1e-6)
