"""Formulas of SciPy's distributions that are written out here give what SciPy's give, at random."""

import numpy as np
import pytest
from scipy import stats

from ctxdispatch_contexts.derivatives import scipy_distributions as ours

DRAWN = np.random.default_rng(0)
N = 500


def shapes(k):
    return [np.exp(DRAWN.uniform(-3.0, 4.0, N)) for _ in range(k)]


def near(found, wanted, ulps=4):
    """Within so many units in the last place; what is infinite or nan is the same."""
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.asarray(found)[~finite], np.asarray(wanted)[~finite])
    off = np.abs(np.asarray(found) - wanted)[finite] / np.spacing(np.abs(wanted[finite]))
    assert np.max(off, initial=0.0) <= ulps, np.max(off)


FORMULAS = {
    "beta": (stats.beta, "_pdf", ours._beta_pdf, lambda: (DRAWN.uniform(0.0, 1.0, N), *shapes(2))),
    "cauchy": (stats.cauchy, "_pdf", ours._cauchy_pdf, lambda: (DRAWN.standard_cauchy(N),)),
    "far": (stats.cauchy, "_pdf", ours._cauchy_pdf, lambda: (np.array([1e160, -1e200, np.inf, 0.0]),)),
    "laplace": (stats.laplace, "_cdf", ours._laplace_cdf, lambda: (DRAWN.laplace(0.0, 20.0, N),)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name):
    distribution, method, formula, draw = FORMULAS[name]
    args = draw()
    with np.errstate(over="ignore"):
        near(formula(distribution, *args), getattr(distribution, method)(*args))


DISTRIBUTIONS = [
    stats.norm, stats.gamma, stats.beta, stats.cauchy, stats.laplace, stats.expon, stats.uniform, stats.t,
    stats.weibull_min, stats.lognorm, stats.logistic, stats.pareto, stats.chi2, stats.gumbel_r,
]  # fmt: skip
PUBLIC = [name for name in ours.METHODS if not name.startswith("_")]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda d: d.name)
def test_methods(distribution):
    """Around the formulas: inside the support, outside, at its ends, with parameters that are no good."""
    given = shapes(distribution.numargs)
    loc, scale = DRAWN.normal(size=N), np.exp(DRAWN.normal(size=N))
    scale[:3] = -1.0, 0.0, np.nan
    inside = distribution.rvs(*given, size=N, random_state=1)
    x = np.where(DRAWN.uniform(size=N) < 0.7, inside, DRAWN.normal(size=N)) * np.abs(scale) + loc
    q = DRAWN.uniform(-0.1, 1.1, N)
    q[5:8] = 0.0, 1.0, np.nan
    for name in PUBLIC:
        method = ours.written(name, distribution.shapes or "")
        first = q if name in ("ppf", "isf") else x
        with np.errstate(all="ignore"):
            found = method(distribution, first, *given, loc=loc, scale=scale)
            near(found, getattr(distribution, name)(first, *given, loc=loc, scale=scale))
