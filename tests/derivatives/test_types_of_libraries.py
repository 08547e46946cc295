"""What functions of SciPy's return whose types samples tell."""

import numpy as np
import pytest

from ctxdispatch.passes import transfer
from ctxdispatch.passes.types import Any, Known, TupleOf, is_literal, type_of
from ctxdispatch_contexts.derivatives import libraries
from tests.passes.covering import covers

special, linalg, signal = (
    pytest.importorskip(f"scipy.{name}") for name in ("special", "linalg", "signal")
)
libraries.load(libraries.loaded())

V, W, F32 = np.array([0.5, 1.5, 0.25]), np.array([2.0]), np.array([1.0, 2.0], "f4")
M = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 5.0]])
C, ONE = M + 0.5j * (M - M.T + np.eye(3)), np.array([[2.0]])
RIGHT = [V, M, np.ones((3, 1)), np.array([1, 2, 3]), V.astype("f4"), V + 1j]

CASES = [
    *[(special.softmax, (a,), k) for a in (V, W, M, F32) for k in ({}, {"axis": 0}, {"axis": -1})],
    *[(special.log_softmax, (a,), k) for a in (V, M, F32) for k in ({}, {"axis": 0})],
    *[
        (special.logsumexp, (a,), k)
        for a in (V, M, F32)
        for k in ({}, {"axis": 0}, {"axis": 0, "keepdims": True}, {"return_sign": True})
    ],
    (special.logsumexp, (V,), {"b": V}),
    *[(special.multigammaln, (a, 2), {}) for a in (3.5, V + 2)],
    *[(linalg.cholesky, (a,), k) for a in (M, ONE, M.astype("f4")) for k in ({}, {"lower": True})],
    *[(linalg.cho_factor, (a,), k) for a in (M, ONE) for k in ({}, {"lower": True})],
    *[(linalg.cho_solve, (linalg.cho_factor(M), b), {}) for b in RIGHT],
    *[(linalg.solve, (a, b), {}) for a in (M, C) for b in RIGHT],
    (linalg.solve, (M, V), {"assume_a": "pos"}), (linalg.solve, (ONE, W), {}),
    *[(linalg.solve_triangular, (np.tril(M), b), {"lower": True}) for b in RIGHT],
    *[(f, (a,), {}) for f in (linalg.inv, linalg.det, linalg.expm) for a in (M, ONE, M.astype("f4"), C)],
    (linalg.solve_sylvester, (M, M, M), {}),
    *[
        (f, (a, b), {"mode": mode})
        for f in (signal.convolve, signal.fftconvolve, signal.correlate)
        for a in (V, M[0], F32)
        for b in (V, W)
        for mode in ("full", "same", "valid")
    ],
    (signal.oaconvolve, (V, V), {}), (signal.convolve, (M, M), {}),
]  # fmt: skip


def given(value):
    if type(value) is tuple:
        return TupleOf(tuple(map(given, value)))
    return Known(value) if is_literal(value) and type(value) is not float else type_of(value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_types_are_those_of_results(case):
    f, args, keywords = case
    found = transfer.call(f, tuple(map(given, args)), {k: given(v) for k, v in keywords.items()})
    assert covers(found, f(*args, **keywords)), found
    array = all(type(a) is not np.ndarray or a.dtype == "f8" for a in args)
    assert found is not Any or not array


def test_each_name_has_a_case():
    named = {name for _, names in libraries.TYPES.values() for name in names.split()}
    assert named == {f.__name__ for f, _, _ in CASES}
