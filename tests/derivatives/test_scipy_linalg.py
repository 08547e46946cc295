"""scipy.linalg and scipy.signal beyond their cases: functions together, further derivatives, edges."""

from __future__ import annotations

import numpy as np
import pytest

linalg = pytest.importorskip("scipy.linalg")
signal = pytest.importorskip("scipy.signal")

from ctxdispatch import check_grads, grad, jvp, vjp  # noqa: E402

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3)) + 4.0 * np.eye(3)
S = A @ A.T
B = RNG.normal(size=3)
D, E = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))


def differences(f, a, d, h=1e-3):
    """Of f along d, of fourth order."""
    points = [np.asarray(f(a + s * h * d)) for s in (1, -1, 2, -2)]
    return (8 * (points[0] - points[1]) - (points[2] - points[3])) / (12 * h)


# -- factors that are used -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lower", [False, True])
def test_a_system_by_its_cholesky_factor(lower):
    def f(a):
        return np.sum(B * linalg.cho_solve(linalg.cho_factor(a, lower=lower), B))

    found = grad(f)(S)
    x = np.linalg.solve(S, B)
    full = -np.outer(x, x)
    whole = np.tril(2 * full, -1) + np.diag(np.diag(full))
    np.testing.assert_allclose(found, whole if lower else whole.T, rtol=1e-10)


def test_of_a_matrix_of_which_one_triangle_is_stored():
    """The gradient is that of the numbers that are stored, and 0 for those that are not read."""
    half = np.tril(S)
    for f in (
        lambda a: np.sum(linalg.solve(a, B, assume_a="pos", lower=True) ** 2),
        lambda a: np.sum(linalg.cholesky(a, lower=True) ** 3),
        lambda a: np.sum(linalg.inv(a, assume_a="sym", lower=True) ** 2),
    ):
        assert np.sum(grad(f)(half) * D) == pytest.approx(float(differences(f, half, D)), rel=1e-7)
        assert not np.any(np.triu(grad(f)(half), 1))


def test_bands_are_the_matrix():
    ab = np.array([[0.0, 1.0, -0.5, 0.25], [4.0, 5.0, 4.5, 6.0], [1.5, 0.5, -1.0, 0.0]])
    b = np.arange(4.0)

    def dense(ab):
        return np.linalg.solve(np.diag(ab[1]) + np.diag(ab[0, 1:], 1) + np.diag(ab[2, :-1], -1), b)

    found = grad(lambda ab: np.sum(linalg.solve_banded((1, 1), ab, b) ** 2))(ab)
    np.testing.assert_allclose(found, grad(lambda ab: np.sum(dense(ab) ** 2))(ab), rtol=1e-12, atol=1e-15)
    assert found[0, 0] == found[2, 3] == 0.0


# -- further derivatives -------------------------------------------------------------------------------------

PROGRAMS = {
    "expm": lambda a: exponential(a),
    "sqrtm": lambda a: np.sum(E * linalg.sqrtm(a)),
    "inv": lambda a: np.sum(E * linalg.inv(a)),
    "det": lambda a: linalg.det(a),
    "solve": lambda a: np.sum(linalg.solve(a, B) ** 2),
    "solve_triangular": lambda a: np.sum(linalg.solve_triangular(a, B, lower=True) ** 2),
    "cholesky": lambda a: np.sum(E * linalg.cholesky(a @ a.T)),
    "solve_sylvester": lambda a: np.sum(linalg.solve_sylvester(a, a, E) ** 2),
    "solve_banded": lambda a: np.sum(linalg.solve_banded((1, 1), a, B) ** 2),
    "convolve": lambda a: np.sum(signal.convolve(a, a, "same") ** 2),
    "correlate": lambda a: np.sum(signal.correlate(a, E, "valid") ** 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives(name):
    f = PROGRAMS[name]
    a = np.array([[0.0, 1, 1], [4, 5, 6], [1, 0.5, 0]]) if name == "solve_banded" else A
    _, found = jvp(grad(f), (a,), (D,))
    expected = differences(grad(f), a, D)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.max(np.abs(expected)))


def exponential(a):
    return np.sum(E * linalg.expm(0.3 * a))


def second(a):
    return jvp(grad(exponential), (a,), (D,))[1]


@pytest.mark.night
def test_third_derivatives_of_the_exponential():
    found = jvp(second, (A,), (E,))[1]
    np.testing.assert_allclose(found, differences(second, A, E), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_directions_of_any_length_are_as_accurate(size):
    _, pullback = vjp(lambda a: linalg.expm(a), 1e-3 * A)
    exact = pullback(E)[0]
    np.testing.assert_allclose(pullback(size * E)[0], size * exact, rtol=1e-12)
    assert not np.any(pullback(np.zeros((3, 3)))[0])


# -- edges ---------------------------------------------------------------------------------------------------


def test_empty_matrices():
    empty = np.zeros((0, 0))
    for f in (linalg.inv, linalg.expm, linalg.sqrtm, linalg.cholesky):
        y, pullback = vjp(lambda a, f=f: f(a), empty)
        assert pullback(y)[0].shape == (0, 0)


def test_numbers_are_matrices_of_one_element():
    for f in (linalg.expm, linalg.sqrtm):
        y, pullback = vjp(lambda x, f=f: f(x), np.array([[0.5]]))
        slope = y[0, 0] if f is linalg.expm else 0.5 / y[0, 0]
        assert pullback(np.ones((1, 1)))[0].tolist() == [[pytest.approx(slope)]]


def test_the_root_of_a_number_is_refused():
    """SciPy 1.17 returns its exponential."""
    with pytest.raises(NotImplementedError, match=r"np\.atleast_2d"):
        vjp(lambda x: linalg.sqrtm(x), np.array([0.5]))[1](np.ones((1, 1)))


def test_a_singular_determinant():
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_allclose(grad(lambda a: linalg.det(a))(a), [[4.0, -2.0], [-2.0, 1.0]], rtol=1e-12)


@pytest.mark.parametrize("f", [
    lambda a: np.sum(linalg.inv(a, overwrite_a=True)), lambda a: linalg.det(a, overwrite_a=True),
    lambda a: np.sum(linalg.cholesky(a, overwrite_a=True)),
    lambda a: np.sum(linalg.solve(a, B, overwrite_a=True)),
    lambda a: np.sum(linalg.solve_triangular(a, a, overwrite_b=True)),
])  # fmt: skip
def test_what_is_overwritten_is_refused(f):
    with pytest.raises(NotImplementedError, match="overwrite"):
        grad(f)(S.copy())
    with pytest.raises(NotImplementedError, match="overwrite"):
        jvp(f, (S.copy(),), (D,))


# -- whole numbers, lists and names --------------------------------------------------------------------------

WHOLE = np.array([[4, 1, 0], [1, 5, 2], [0, 2, 6]])
BANDS = np.array([[0, 1, 2], [4, 5, 6], [1, 2, 0]])
SPELLED = {
    "lstsq": lambda b: np.sum(np.linalg.lstsq(WHOLE, b)[0] ** 2),
    "lstsq with a cutoff": lambda b: np.sum(np.linalg.lstsq(WHOLE, b, rcond=-1)[0] ** 2),
    "solve": lambda b: np.sum(linalg.solve(WHOLE, b) ** 2),
    "solve by position": lambda b: np.sum(linalg.solve(WHOLE, b, False, False, False, True) ** 2),
    "solve by name": lambda b: np.sum(linalg.solve(a=WHOLE, b=b, assume_a="pos") ** 2),
    "solve of lists": lambda b: np.sum(linalg.solve([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]], b) ** 2),
    "solve_triangular": lambda b: np.sum(linalg.solve_triangular(WHOLE, b) ** 2),
    "solve_banded": lambda b: np.sum(linalg.solve_banded((1, 1), BANDS, b) ** 2),
    "cho_solve": lambda b: np.sum(linalg.cho_solve(linalg.cho_factor(WHOLE), b) ** 2),
    "solve_sylvester": lambda b: np.sum(linalg.solve_sylvester(WHOLE, WHOLE, np.outer(b, b)) ** 2),
    "expm by name": lambda b: np.sum(linalg.expm(A=np.outer(b, b))),
    "convolve": lambda b: np.sum(signal.convolve(b, np.array([1, 2])) ** 2),
    "fftconvolve of a list": lambda b: np.sum(signal.fftconvolve(b, [1.0, 2.0]) ** 2),
}


@pytest.mark.parametrize("name", SPELLED)
def test_as_users_spell_it(name):
    check_grads(SPELLED[name], (B,))
