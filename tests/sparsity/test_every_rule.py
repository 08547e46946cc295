"""Every function that the table of derivatives knows: no nonzero of its Jacobian is missing from its
pattern."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from sparsity_checks import jacobian_by_differences

from ctxdispatch import jacobian_sparsity
from ctxdispatch_contexts.sparsity import SparsityError

sys.path.insert(0, str(Path(__file__).parent.parent / "derivatives"))
from derivative_cases import CASES  # noqa: E402

REFUSED = {
    "numpy.unique", "numpy.trim_zeros", "builtins.filter",  # shapes that follow from values
    # complex results
    "numpy.linalg.eigvals", "numpy.linalg.eigvals[complex pairs]", "builtins.complex", "cmath.rect",
    "ndarray.ndarray.astype",
    *(f"numpy.fft.{name}" for name in "fft ifft rfft ihfft fft2 ifft2 rfft2 fftn ifftn rfftn".split()),
    "numpy.roots",
    "builtins.map",  # an iterator is no output
    "ctxdispatch_contexts.derivatives.scipy_distributions.density",  # SciPy's own code, with handlers
}  # fmt: skip


def is_leaf(v):
    """Numbers that are not finite choose: the order of a norm."""
    if isinstance(v, (float, complex)):
        return bool(np.isfinite(v))
    return isinstance(v, (np.ndarray, np.generic)) and v.dtype.kind in "fc"


def leaves(v):
    if is_leaf(v):
        return [v]
    return [leaf for item in v for leaf in leaves(item)] if isinstance(v, (list, tuple)) else []


def filled(v, values):
    """`v` with its leaves taken from the list `values`."""
    if is_leaf(v):
        return values.pop(0)
    if isinstance(v, (list, tuple)):
        return type(v)([filled(item, values) for item in v])
    return v


def flat(y):
    """All numbers of a result, as a vector."""
    if isinstance(y, (list, tuple)):
        return np.concatenate([np.zeros(0), *map(flat, y)])
    return np.ravel(np.asarray(y, float))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_nonzero_is_missing(case):
    @settings(max_examples=3, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(case.arguments)
    def check(drawn):
        args, kwargs = drawn
        inputs = leaves(args)
        if any(np.iscomplexobj(v) for v in inputs):
            return  # patterns are for real inputs

        def f(*values):
            return case.callee(*filled(args, list(values)), **kwargs)

        try:
            with np.errstate(all="ignore"):
                compare(f, [v if isinstance(v, float) else np.asarray(v, float) for v in inputs])
        except SparsityError:
            assert case.name in REFUSED

    check()


def like(values, v):
    """In memory as `v` is: order="A" goes by that."""
    made = np.empty_like(v)
    made[...] = values
    return made


def compare(f, inputs):
    pattern = jacobian_sparsity(f, *inputs, argnums=range(len(inputs)))
    ends = np.cumsum([np.size(v) for v in inputs])

    def of_vector(x):
        parts = np.split(x, ends[:-1]) if inputs else []
        parts = [like(p.reshape(np.shape(v)), v) for p, v in zip(parts, inputs)]
        return flat(f(*[float(p) if isinstance(v, float) else p for p, v in zip(parts, inputs)]))

    x = np.concatenate([np.zeros(0), *map(np.ravel, inputs)])
    if x.size:
        try:
            jacobian = jacobian_by_differences(of_vector, x, h=1e-6)
        except ValueError:
            return  # a step leaves the domain: quantiles are in [0, 1]
        assert jacobian.shape == pattern.shape
        assert not (jacobian != 0)[~pattern.toarray()].any()
