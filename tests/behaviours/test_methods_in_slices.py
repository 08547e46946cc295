"""Slices of what gives an index by a method of the user's, which may store: they are no plain values."""

import numpy as np
import pytest

from ctxdispatch import DerivativeError, grad, jvp

X = np.array([0.7, 1.3, 0.45, 1.1])


class Tripling:
    """Its index triples an element of the array that it holds."""

    def __init__(self, v):
        self.v = v

    def __index__(self):
        self.v[1] = self.v[1] * 3
        return 1


USES = {
    "array": "X[:t]", "list": "[1, 2][:t]", "tuple": "(1, 2)[t:]", "text": "'abc'[t:]", "bytes": "b'abc'[t:]",
    "step": "[1, 2, 3][0:3:t]", "range": "range(5)[:t]", "two": "np.ones((2, 2))[t, :t]",
    "in a tuple": "X[(t,)]", "made": "X[slice(None, t)]",
    "stored": "y = x * 1.0; y[:t] = 1.0; a[2] = y[0]", "number": "y = x * 1.0; y[t] = 1.0; a[2] = y[0]",
    "deleted": "c = [1, 2]; del c[:t]", "stored in a list": "c = [1, 2]; c[:t] = [3]",
    "kept": "s = slice(t); X[s]", "object of another": "X[:[t][0]]", "call": "X.__getitem__(slice(t))",
    "updated": "y = x * 1.0; y[:t] += 1.0; a[2] = y[0]",
}  # fmt: skip


def program(use, handled):
    body = f"try:\n        {use}\n    except KeyError:\n        pass" if handled else use
    space = dict(globals())
    lines = f"def f(x):\n    a = x * 2.0\n    t = Tripling(a)\n    {body}\n    return (a * a).sum()\n"
    exec(compile(lines, f"<{use}>", "exec"), space)
    return space["f"]


@pytest.mark.parametrize("handled", [False, True])
@pytest.mark.parametrize("use", USES)
def test_what_an_index_stores_is_seen_or_refused(use, handled):
    f = program(USES[use], handled)
    expected = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    for mode in (lambda: grad(f)(X.copy()), lambda: [jvp(f, (X.copy(),), (e,))[1] for e in np.eye(4)]):
        try:
            found = mode()
        except DerivativeError as error:
            assert "differentiated" in str(error) or "derivative" in str(error)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
