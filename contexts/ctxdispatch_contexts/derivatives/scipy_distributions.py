"""The continuous distributions of scipy.stats: what their public methods do around the formulas.

    pdf(x, *shapes, loc, scale)       _pdf(y, *shapes) / scale     y = (x - loc) / scale
    cdf sf logcdf logsf               _cdf(y, *shapes), ..
    ppf isf                           _ppf(q, *shapes) * scale + loc

The formulas are methods of the distribution's class, written in functions of NumPy and scipy.special, and are
read as any other code: whoever replaces one is heard. As in SciPy they see the elements alone that lie within
the support, one after the other, with parameters that are valid; the others have a constant.

This is for distributions of SciPy's own classes; somebody's subclass is his code. Loaded where a program has
imported scipy.stats (see `libraries.py`).
"""

from __future__ import annotations

import functools

import numpy as np
import scipy.special as special
from scipy.special import _ufuncs
from scipy.stats import _continuous_distns
from scipy.stats._covariance import Covariance
from scipy.stats._distn_infrastructure import rv_continuous
from scipy.stats._multivariate import multivariate_normal, multivariate_normal_gen

from ctxdispatch.passes import numpy_types
from ctxdispatch_contexts.derivatives.linear import unbroadcast
from ctxdispatch_contexts.derivatives.registry import LASTING, of, read_as, vjp

# -- the public methods, with their parameters by name as SciPy has them -------------------------------------

HEAD = """
def {name}(self, x, {args}loc=0, scale=1):
    x, loc, scale = np.asarray(x), np.asarray(loc), np.asarray(scale)
    {arrays}
    valid = np.not_equal(self._argcheck({args}), 0) & (scale > 0)
"""

OF_X = """
    x = standardized(x, loc, scale)
    inside = valid & self.{mask}(x, {args})
    rest = outside(valid, x, {beyond}, float(self.badvalue))
    if not np.any(inside):
        return rest
    return joined(inside, self._{name}({within}){scaled}, rest)
"""

OF_Q = """
    ends = self._get_support({args})
    valid = valid & (loc == loc)
    inside = valid & (0 < x) & (x < 1)
    at_end = np.where(x == {first}, end(ends[0], loc, scale), end(ends[1], loc, scale))
    rest = number(np.where(valid & ((x == 0) | (x == 1)), at_end, float(self.badvalue)))
    if not np.any(inside):
        return rest
    return joined(inside, self._{name}({within}) * within(inside, scale) + within(inside, loc), rest)
"""

MASK = """
def {name}(self, x, {args}):
    ends = self._get_support({args})
    return (ends[0] {less} x) & (x {less} ends[1])
"""

FORMULA = """
def {name}(self, {first}{args}):
    return {formula}
"""

SPLIT = """
def {name}(self, x, {args}):
    at = everywhere(x {side} self._ppf(0.5, {args}), (x, {args}))
    first = quiet_log(self.{near}({elements}))
    at, before = ~at, at
    return np.where(before, placed(first, before), placed(np.log1p(-self.{far}({elements})), at))
"""

OPEN = {"mask": "_open_support_mask", "scaled": ""}
METHODS = {
    "pdf": (HEAD + OF_X, {"mask": "_support_mask", "beyond": "0.0", "scaled": " / within(inside, scale)"}),
    "logpdf": (
        HEAD + OF_X,
        {"mask": "_support_mask", "beyond": "-np.inf", "scaled": " - np.log(within(inside, scale))"},
    ),
    "cdf": (HEAD + OF_X, OPEN | {"beyond": "np.where(x >= self._get_support({args})[1], 1.0, 0.0)"}),
    "sf": (HEAD + OF_X, OPEN | {"beyond": "np.where(x <= self._get_support({args})[0], 1.0, 0.0)"}),
    "logcdf": (HEAD + OF_X, OPEN | {"beyond": "np.where(x >= self._get_support({args})[1], 0.0, -np.inf)"}),
    "logsf": (HEAD + OF_X, OPEN | {"beyond": "np.where(x <= self._get_support({args})[0], 0.0, -np.inf)"}),
    "ppf": (HEAD + OF_Q, {"first": "0"}),
    "isf": (HEAD + OF_Q, {"first": "1"}),
    "_argcheck": (FORMULA, {"first": "", "formula": "{positive}"}),
    "_logpdf": (FORMULA, {"formula": "quiet_log(self._pdf(x, {args}))"}),
    "_sf": (FORMULA, {"formula": "1.0 - self._cdf(x, {args})"}),
    "_isf": (FORMULA, {"formula": "self._ppf(1.0 - x, {args})"}),
    "_logcdf": (SPLIT, {"side": "<", "near": "_cdf", "far": "_sf"}),
    "_logsf": (SPLIT, {"side": ">", "near": "_sf", "far": "_cdf"}),
    "_get_support": ("def {name}(self, {args}):\n    return float(self.a), float(self.b)", {}),
    "_support_mask": (MASK, {"less": "<="}),
    "_open_support_mask": (MASK, {"less": "<"}),
}

for _name in ("cdf", "sf") if "_logcdf" not in vars(rv_continuous) else ():  # before SciPy 1.15
    METHODS[f"_log{_name}"] = FORMULA, {"formula": f"quiet_log(self._{_name}(x, {{args}}))"}


@functools.cache
def written(name, shapes):
    """The method of that name of distributions with these shape parameters."""
    names = shapes.split(", ") if shapes else []
    body, words = METHODS[name]
    words = {"first": "x, "} | words | {
        "name": name,
        "args": "".join([f"{n}, " for n in names]),
        "arrays": "; ".join([f"{n} = np.asarray({n})" for n in names]),
        "positive": " & ".join([f"({n} > 0)" for n in names]) or "True",
        "elements": ", ".join([f"elements(at, {n})" for n in ("x", *names)]),
        "within": ", ".join([f"within(inside, {n})" for n in ("x", *names)]),
    }
    words = {key: word.format(**words) for key, word in words.items()}
    exec(compile(body.format(**words), __file__, "exec"), globals(), space := {})
    return space[name]


# -- what they are made of -----------------------------------------------------------------------------------


def standardized(x, loc, scale):
    y = (x - loc) / scale
    return y if y.dtype.char == "d" else np.asarray(y, dtype=np.promote_types(x.dtype, np.float64))


def outside(valid, x, beyond, bad):
    return number(np.where(valid & ~np.isnan(x), beyond, bad))


def within(inside, a):
    """The elements where the condition holds, one after the other; of a number, one."""
    return np.reshape(a, 1) if np.ndim(a) == 0 else np.broadcast_to(a, np.shape(inside))[inside]


def joined(inside, values, rest):
    return number(np.where(inside, placed(values, inside), rest))


def number(a):
    return a if np.ndim(a) else a[()]


def placed(values, at):
    """An array with the values, one after the other, where the condition holds, and 0 elsewhere."""
    made = np.zeros(np.shape(at), values.dtype)
    made[at] = values
    return made


@vjp(placed, linear=(0,), picks=True)
def placed_vjp(g, y, values, at):
    return (unbroadcast(g[at], values.shape),)


def end(a, loc, scale):
    """a scale + loc; what is infinite does not vary with the scale."""
    finite = np.isfinite(a)
    return np.where(finite, np.where(finite, a, 0.0) * scale, a) + loc


# In the place of functions of which SciPy silences the warnings: `with` has no program.


def quiet_log(x):
    with np.errstate(divide="ignore"):
        return np.log(x)


@vjp(quiet_log)
def quiet_log_vjp(g, y, x):
    return (g / x,)


def quiet_square(x):
    with np.errstate(over="ignore"):
        return x * x


@vjp(quiet_square)
def quiet_square_vjp(g, y, x):
    return (2.0 * g * x,)


def quiet_beta(x, a, b):
    with np.errstate(over="ignore"):
        return _ufuncs._beta_pdf(x, a, b)


@vjp(quiet_beta, arrays=3)
def quiet_beta_vjp(g, y, x, a, b):
    g = g * y
    return (
        unbroadcast(g * ((a - 1.0) / x - (b - 1.0) / (1.0 - x)), x.shape),
        unbroadcast(g * (np.log(x) - special.psi(a) + special.psi(a + b)), a.shape),
        unbroadcast(g * (np.log1p(-x) - special.psi(b) + special.psi(a + b)), b.shape),
    )


for _quiet in (quiet_log, quiet_square, quiet_beta):
    numpy_types.RULES[_quiet] = numpy_types.elementwise


@read_as(*of(_continuous_distns.beta_gen, "_pdf") if hasattr(_ufuncs, "_beta_pdf") else ())
def _beta_pdf(self, x, a, b):
    return quiet_beta(x, a, b)


@read_as(_continuous_distns.cauchy_gen._pdf)
def _cauchy_pdf(self, x):
    return 1.0 / np.pi / (1.0 + quiet_square(x))


@read_as(_continuous_distns.laplace_gen._cdf)
def _laplace_cdf(self, x):
    above = x > 0
    half = 0.5 * np.exp(np.where(above, -x, x))
    return np.where(above, 1.0 - half, half)


@read_as(*of(getattr(_continuous_distns, "xpx", None), "apply_where"))
def apply_where(cond, args, f1, f2=None, /, *, fill_value=None, xp=None):
    """Of up to four arrays of NumPy's; of more `f1` and `f2` are found at run time."""
    if not isinstance(args, tuple):
        args = (args,)
    at = everywhere(cond, args)
    first = placed(np.asarray(called(f1, at, args)), at)
    if f2 is None:
        return np.where(at, first, fill_value)
    return np.where(at, first, placed(np.asarray(called(f2, ~at, args)), ~at))


def everywhere(cond, args):
    """The condition, as large as what it goes together with."""
    n = len(args)
    if n == 1:
        return cond | none(args[0])
    if n == 2:
        return cond | none(args[0]) | none(args[1])
    if n == 3:
        return cond | none(args[0]) | none(args[1]) | none(args[2])
    return cond | none(sum(args))


def none(a):
    return np.zeros(np.shape(a), np.bool_)


def elements(at, a):
    return np.broadcast_to(a, np.shape(at))[at]


def called(f, at, args):
    """With known arguments one by one: then `f` is read."""
    n = len(args)
    if n == 1:
        return f(elements(at, args[0]))
    if n == 2:
        return f(elements(at, args[0]), elements(at, args[1]))
    if n == 3:
        return f(elements(at, args[0]), elements(at, args[1]), elements(at, args[2]))
    return f(*[elements(at, a) for a in args])


# -- the normal distribution of several variables ------------------------------------------------------------


def normal_logpdf(self, x, mean=None, cov=1, allow_singular=False):
    if (
        type(self)._logpdf is not LOGPDF
        or type(self)._process_parameters is not PARAMETERS
        or allow_singular
        or isinstance(cov, Covariance)
    ):
        return multivariate_normal_gen.logpdf(self, x, mean, cov, allow_singular)
    x, cov = np.asarray(x, dtype=float), np.asarray(cov, dtype=float)
    mean = np.zeros(np.shape(cov)[0] if np.ndim(cov) == 2 else 1) if mean is None else mean
    return density(x, np.asarray(mean, dtype=float), cov)


def normal_pdf(self, x, mean=None, cov=1, allow_singular=False):
    if type(self).logpdf is not DENSITY or allow_singular or isinstance(cov, Covariance):
        return multivariate_normal_gen.pdf(self, x, mean, cov, allow_singular)
    return np.exp(self.logpdf(x, mean, cov))


LOGPDF, PARAMETERS = multivariate_normal_gen._logpdf, multivariate_normal_gen._process_parameters
DENSITY = multivariate_normal_gen.logpdf


def density(x, mean, cov):
    """As SciPy has it, by the eigenvectors of the covariance."""
    return multivariate_normal.logpdf(x, mean, cov)


@vjp(density, arrays=3)
def density_vjp(g, y, x, mean, cov):
    """Of y = -(d' P d + log det C) / 2, P = C^-1, d = x - mean: dy/dd = -P d, dy/dC = (P d d' P - P) / 2
    (Petersen and Pedersen, "The Matrix Cookbook", 2012, 8.1.1). SciPy reads the lower triangle of C."""
    n = np.size(mean)
    inverse = np.linalg.inv(whole(cov, n))
    d = np.reshape(x, (-1, n)) - np.reshape(mean, n)
    w = d @ inverse
    g = np.reshape(g, (-1, 1))
    of_cov = 0.5 * ((g * w).T @ w - np.sum(g) * inverse)
    return (
        np.reshape(-g * w, np.shape(x)),
        np.reshape(np.sum(g * w, axis=0), np.shape(mean)),
        of_triangle(of_cov, np.shape(cov)),
    )


def whole(cov, n):
    if np.ndim(cov) == 0:
        return cov * np.eye(n)
    if np.ndim(cov) == 1:
        return np.diag(cov)
    return np.tril(cov) + np.tril(cov, -1).T


def of_triangle(of_cov, shape):
    if len(shape) == 0:
        return np.trace(of_cov)
    if len(shape) == 1:
        return np.diagonal(of_cov)
    return np.tril(of_cov) + np.tril(of_cov, -1)


# -- whose methods they are ----------------------------------------------------------------------------------


@functools.cache
def shapes_of():
    """The names of the shape parameters, by class: SciPy finds them out for each object."""
    found = vars(_continuous_distns).values()
    return {type(d): d.shapes for d in found if isinstance(d, rv_continuous)}


def method_for(name, cls):
    return written(name, shapes_of()[cls]) if cls in shapes_of() else None


LASTING.update([*shapes_of(), multivariate_normal_gen])
for _name in METHODS:
    read_as(getattr(rv_continuous, _name), of_class=True)(functools.partial(method_for, _name))
read_as(DENSITY, of_class=True)(lambda cls: normal_logpdf if cls is multivariate_normal_gen else None)
read_as(multivariate_normal_gen.pdf, of_class=True)(
    lambda cls: normal_pdf if cls is multivariate_normal_gen else None
)
