"""Patterns of `a.flat = v` and `a.flat[index] = v`: one element after the other, in C order whatever the
memory is, from the beginning of v again where it ends, and read when its turn comes where v lies in `a`."""

import numpy as np
import pytest
from sparsity_checks import jacobian_by_differences

from ctxdispatch import jacobian_sparsity

X = np.array([0.3, 0.7, 1.1, 0.4, 0.5, 0.6])

EXACT = """
    b.flat = x[::-1]
    b.flat = x[:4]
    b.flat = np.concatenate([x[3:], x])
    b.flat = x[1]
    b.flat = [x[0], x[1] * x[2], 3.0]
    b.flat = []
    b.flat = x[:0]
    b.flat = 3.0
    b.flat = G
    setattr(b, 'flat', x[::-1])
    A.flat = x
    A.flat = m.T.flat
    A[1:4].flat = x
    M.T.flat = x[:4]
    FM.flat = x
    FM[:, ::2].flat = x
    G.flat = x
    I.flat = x
    m.T.flat = x
    m.T.flat = m
    m.flat = m.T
    m[:, 1:].flat = m[:, :-1]
    m[:, ::2].flat = m[:, 1]
    b.flat = b[::-1]
    b[1:].flat = b[:-1]
    b[:-1].flat = b[1:]
    b[::2].flat = b[:3]
    b[1::2].flat = b[::-2]
    b.flat[2] = x[5]
    b.flat[-1] = x[0]
    b.flat[0:4] = [x[5], x[4]]
    b.flat[[1, 1, 2]] = x[3:]
    b.flat[np.array([True, False, True, True, False, True])] = x[:3]
    b.flat[...] = x[::-1]
    b.flat[1:] = b[:-1]
    b.flat[:-1] = b[1:]
    b.flat[[1, 3, 2]] = b[1:4]
    b.flat.__setitem__(slice(1, None), b)
    q = b.flat; q[1:] = b[:-1]
    q = A.flat; A[0] = x[0]; q[1:] = A[:-1]
    m.T.flat[2:5] = x[:2]
    m.T.flat[2] = x[1] * x[0]
    M.T.flat[1:] = x[0]
    A[:3] = m.T.flat[::2]
    A[:] = m.T.flat
    A[0] = m.T.flat[2] * len(b.flat)
    A[:] = [v for v in b.flat]
    A[:] = list(m.flat)
""".strip().splitlines()


def program(store, single):
    text = (
        "def f(x):\n    b = x * x + 1.0; m = b.reshape(2, 3); A = np.zeros(6); M = np.zeros((2, 3))\n"
        f"    FM = np.zeros((2, 3), order='F'); G = np.zeros(6, {single}); I = np.zeros(6, int)\n"
        f"    {store}\n    return np.concatenate([b, A, M.ravel(), FM.ravel(), G, I * 1.0])\n"
    )
    scope = {"np": np}
    exec(compile(text, "test_stores_through_flat.py", "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("mode", ["global", "local"])
@pytest.mark.parametrize("store", [line.strip() for line in EXACT])
def test_exact_patterns(store, mode):
    found = jacobian_sparsity(program(store, "np.float32"), X, mode=mode).toarray()
    in_double = program(store, "float")
    np.testing.assert_array_equal(found, jacobian_by_differences(in_double, X) != 0.0)


@pytest.mark.parametrize("store", ["C.real.flat = x", "C.imag.flat[1:] = x[:2]", "C.flat = x * 1j"])
def test_no_input_is_missing_of_parts_of_complex_numbers(store):
    scope = {"np": np}
    text = (
        f"def f(x):\n    C = np.zeros(6, complex)\n    {store}\n    return np.concatenate([C.real, C.imag])\n"
    )
    exec(compile(text, "test_stores_through_flat.py", "exec"), scope)
    slopes = jacobian_by_differences(scope["f"], X)
    assert not np.any((slopes != 0.0) & ~jacobian_sparsity(scope["f"], X).toarray())


def test_in_a_branch_what_was_there_may_still_be():
    def f(x):
        b = x * x
        if x[0] > 0.0:
            b.flat[1:] = b[:-1]
        return b

    want = np.eye(6, dtype=bool)
    want[:, 0] = True
    np.testing.assert_array_equal(jacobian_sparsity(f, X).toarray(), want)


def test_at_a_place_that_is_not_known_any_element_may_change():
    def f(x):
        m = (x * x).reshape(2, 3)
        m.T.flat[np.argmax(x)] = x[3]
        return m.ravel()

    want = np.eye(6, dtype=bool)
    want[:, 3] = True
    np.testing.assert_array_equal(jacobian_sparsity(f, X).toarray(), want)


@pytest.mark.parametrize("store, error", [
    ("b.flat[6] = x[0]", IndexError), ("b.flat['a'] = x[0]", IndexError), ("b.flat = 'a'", ValueError),
    ("b.flat[0] = x", ValueError), ("b.flat[True, False] = x", IndexError),
])  # fmt: skip
def test_errors_are_numpys(store, error):
    f = program(store, "float")
    with pytest.raises(error) as plain:
        f(X)
    with pytest.raises(error) as found:
        jacobian_sparsity(f, X)
    assert str(found.value) == str(plain.value)
