"""Arguments of SciPy's distributions and of `odeint`, for the report: see `changing_cases`, whose table this
extends."""

from __future__ import annotations

import numpy as np
import scipy.integrate as integrate
import scipy.stats as stats
from changing_cases import calls
from derivative_cases import array, flag, number
from hypothesis import strategies as st
from names import PARAGRAPHS

SHAPES: dict[str, list[tuple[float, float]]] = {
    "beta": [(1.5, 3.0), (1.5, 3.0)], "chi2": [(2.0, 5.0)], "gamma": [(1.5, 4.0)], "norm": [],
    "t": [(2.5, 6.0)],
}  # fmt: skip


def located(method, shapes):
    """The method, its place and scale by name."""

    def of(x, *parameters):
        return method(x, *parameters[:shapes], loc=parameters[-2], scale=parameters[-1])

    return of


def register_continuous(name, method):
    f = getattr(getattr(stats, name), method)
    domains = SHAPES[name]
    of = located(f, len(domains))

    @calls(f"scipy.stats.{name}.{method}", given="loc scale")
    def _(draw):
        shapes = [number(draw, *domain) for domain in domains]
        x = array(draw, (3,), 0.1, 0.8) if flag(draw) else number(draw, 0.1, 0.8)
        return of, (x, *shapes, number(draw, -0.2, 0.05), number(draw, 1.0, 1.5)), {}


for _name in SHAPES:
    for _method in PARAGRAPHS["scipy.stats"][f"scipy.stats.{_name}"].split():
        register_continuous(_name, _method)


def register_counts(method):
    f = getattr(stats.poisson, method)

    def of(k, mu, shift):
        return f(k, mu * shift)

    @calls(f"scipy.stats.poisson.{method}", given="loc")
    def _(draw):
        k = draw(st.sampled_from([2, np.array([0, 1, 3])]))
        mu = array(draw, (3,), 0.5, 3.0) if flag(draw) else number(draw, 0.5, 3.0)
        return of, (k, mu, number(draw, 1, 2)), {}


for _method in PARAGRAPHS["scipy.stats"]["scipy.stats.poisson"].split():
    register_counts(_method)


def of_covariance(f):
    def of(x, mean, root, **kwargs):
        return f(x, mean, root @ root.T + np.eye(2), **kwargs)

    return of


def register_normal(method):
    f = getattr(stats.multivariate_normal, method)
    of = of_covariance(f)

    @calls(f"scipy.stats.multivariate_normal.{method}", f, given="mean cov")
    def _(draw):
        return of, (array(draw, (2,)), array(draw, (2,)), array(draw, (2, 2))), {}


for _method in PARAGRAPHS["scipy.stats"]["scipy.stats.multivariate_normal"].split():
    register_normal(_method)


def register_dirichlet(method):
    f = getattr(stats.dirichlet, method)

    def of(x, alpha):
        return f(x / np.sum(x), alpha)

    @calls(f"scipy.stats.dirichlet.{method}", given="")
    def _(draw):
        return of, (array(draw, (3,), 0.2, 1.0), array(draw, (3,), 1.2, 3.0)), {}


for _method in PARAGRAPHS["scipy.stats"]["scipy.stats.dirichlet"].split():
    register_dirichlet(_method)


def decay(y, t, rate, force):
    return np.array([-rate * y[0], y[0] - force * y[1] + t])


def solved(y0, t, rate, force, **kwargs):
    return integrate.odeint(decay, y0, t, args=(rate, force), rtol=1e-11, atol=1e-11, **kwargs)


@calls("scipy.integrate.odeint", integrate.odeint, given="y0 t args rtol atol")
def _(draw):
    times = np.array([0.0, 0.4, 1.0])
    return solved, (array(draw, (2,)), times, number(draw, 0.5, 1.0), number(draw, 0.1, 1)), {}
