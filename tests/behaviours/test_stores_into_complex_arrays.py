"""Arrays of complex numbers that are stored to: right in every mode, and compiled."""

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, jacfwd, jvp
from tests.behaviours.mutation_checks import central, written

P = np.array([1.2, 0.7, 2.1, 1.6])

PROGRAMS = {
    "real items": "z = np.zeros(4, dtype=complex); z[1] = p[0]; z[2:] = p[2:] ** 2",
    "complex items": "z = np.zeros(4, dtype=complex); z[0] = p[0] + 1j * p[1]; z[1:] = p[1:] * (2 - 1j)",
    "lists": "z = np.zeros((4, 4), complex); z[[0, 1, 2], [1, 2, 3]] = [p[0], p[1] * 2.0, p[2]]",
    "added": "z = p * (1 + 2j); z += p; z -= 1j * p ** 2; z[1] += 3.0 * p[2]",
    "scaled": "z = p * (1 + 2j); z *= p; z /= 1j + p; z[0] *= p[1]",
    "scaled by complex": "z = p * (1 + 2j); z *= np.exp(1j * p); z[:2] *= 1j * p[2:]",
    "by itself": "z = np.exp(1j * p); z[0] = z[1] * z[2]; z[1:3] = z[:2] * z[0]",
    "conjugate": "z = np.zeros((4, 4), dtype=complex); z[0] = p * 1j; z[1, 2] = p[0]; z += z.conj().T",
    "diagonal": "z = np.outer(p, p) * 1j; np.fill_diagonal(z, p * (1 - 1j)); z[1:, 0] = 0.0",
    "loop": "z = 0j * p\n    for i in range(4):\n        z[i] = z[i - 1] * 0.5 + np.exp(1j * i * p[i])",
    "spectrum": "z = np.fft.fft(p); z[2:] = 0.0; z[1] *= 2.0",
    "real part": "z = p * (1 + 1j); x = z.real; x[0] = p[1] * p[2]",
    "single": "z = np.zeros(4, np.complex64); z[:] = p; z[0] = z[1] * p[2]",
    "mask": "z = p * (1 + 2j); z[p > 1.3] = 0.5j; z[p < 1.0] *= p[0]",
    "imaginary part": "z = np.zeros(4, complex); z.real = p; z.imag = p ** 2",
    "out": "z = np.empty(4, complex); np.multiply(p, 1j, out=z); z[0] = p[0]",
}
ENDS = {
    "modulus": "np.sum(np.abs(z) ** 2 * np.arange(1.0, 1.0 + z.size).reshape(z.shape))",
    "parts": "np.sum(z.real ** 3 + 2.0 * z.imag * z.real)",
    "inverse": "np.sum(np.fft.ifft(z, axis=0).real ** 2) + np.sum(np.angle(z + 9.0))",
}


def made(name, end):
    text = f"def f(p):\n    {PROGRAMS[name]}\n    return {ENDS[end]}\n"
    return written(text, f"<{name}, {end}>")


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_in_every_mode(name, end):
    f = made(name, end)
    single = name == "single"
    close = {"rtol": 1e-3, "atol": 1e-2} if single else {"rtol": 1e-5, "atol": 1e-6}
    expected = central(f, P, 1e-2 if single else 1e-6)
    for _ in range(3):
        np.testing.assert_allclose(grad(f)(P), expected, **close)
    np.testing.assert_allclose(jacfwd(f)(P), expected, **close)
    np.testing.assert_allclose(jvp(f, (P,), (np.ones(4),))[1], expected.sum(), **close)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("single", "real part")])
def test_twice(name):
    f = made(name, "modulus")
    expected = np.array([(grad(f)(P + s) - grad(f)(P - s)) / 2e-5 for s in np.eye(4) * 1e-5])
    np.testing.assert_allclose(hessian(f)(P), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("imaginary part", "out", "real part")])
def test_compiled(name):
    f = made(name, "modulus")
    grad(f)(P)
    assert "compiled whole" in str(explain(grad(f))(P))
