"""Arrays out of a result of several, which are read and then stored to: the derivative is of what was."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd
from tests.behaviours.mutation_checks import central, written

P = np.array([0.41993, 1.63153, 2.42183, 1.11503])

SOURCES = {
    "eigh": "np.linalg.eigh(np.diag([1.0, 2.0, 3.0, 4.0]))[0]",
    "of the eigenvalues": "np.linalg.eigh(np.diag(p))[0]",
    "by name": "np.linalg.eigh(np.eye(4) * p[0]).eigenvalues",
    "svd": "np.linalg.svd(np.outer(p, p) + 1.5 * np.eye(4))[1]",
    "modf": "np.modf(p)[0]", "divmod": "np.divmod(p, 0.4)[1]", "frexp": "np.frexp(p)[0]",
    "nonzero": "np.nonzero(p > 0.0)[0]",
    "where": "np.where(p > 0.0)[0]",
    "inverse": "np.unique(p, return_inverse=True)[1]",
    "triangle": "np.tril_indices(4)[1][:4]", "linspace": "np.linspace(0.0, p[1], 4, retstep=True)[0]",
    "histogram": "np.histogram(np.arange(8.0), 4)[1][:4]",
    "least squares": "np.linalg.lstsq(np.eye(4), p * p, rcond=None)[0]",
    "unraveled": "np.unravel_index(np.arange(4), (2, 2))[1]",
    "unpacked": "(lambda i: i)(*np.nonzero(p > 0.0))",
}  # fmt: skip
READS = {
    "factor": "np.sum(p * w)",
    "index": "np.sum(p[w if w.dtype.kind == 'i' else w.astype(int) % 4] ** 2)",
    "both": "np.sum(np.sin(p * w) * w)",
    "kept": "np.sum([w][0] * p) + np.sum({'w': w}['w'] ** 2)",
}  # fmt: skip
STORES = ["w[0] = 3", "v = w[1:]; v[:] = 2", "w *= 0", "w.fill(1)", "w[::2] += 1", "np.copyto(w, 1)"]


def made(source, read, store):
    lines = [f"w = {SOURCES[source]}", f"y = {READS[read]}", store, "return y + np.sum(w * p) * 0.1"]
    text = "def f(p):\n    " + "\n    ".join(lines)
    return written(text, f"<{source}, {read}, {store}>")


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("source", SOURCES)
def test_read_before_a_store(source, read, store):
    f = made(source, read, store)
    gradient, expected = grad(f), central(f, P)
    for _ in range(3):
        np.testing.assert_allclose(gradient(P), expected, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(jacfwd(f)(P), expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("source", ["modf", "nonzero", "linspace", "eigh"])
def test_twice(source):
    f = made(source, "both", "w[0] = 3")
    gradient = grad(f)
    expected = [(gradient(P + s) - gradient(P - s)) / 2e-5 for s in np.eye(4) * 1e-5]
    np.testing.assert_allclose(hessian(f)(P), expected, rtol=1e-4, atol=1e-5)
