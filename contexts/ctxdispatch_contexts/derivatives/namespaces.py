"""What the names in the rows mean, for Python floats, complex numbers and arrays; and whom the rows are for.

A row's expression is compiled with one of these dictionaries as its globals. They are frozen once built.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from ctxdispatch.ir.leaves import is_ours
from ctxdispatch_contexts.derivatives import special

# -- for Python floats ---------------------------------------------------------------------------------------


def div(a: float, b: float) -> float:
    """a / b as IEEE has it, where Python raises."""
    return a / b if b else a * math.copysign(math.inf, b)


def nonzero(y: float) -> float:
    """y, inf for 0: where a root of squares is zero it has a minimum, slope x / nonzero(y) = 0."""
    return y or math.inf


def unit(x: float) -> float:
    """The sign of x, 0 at 0: the derivative of abs."""
    return math.copysign(1.0, x) if x else 0.0


def share(a: float, b: float, y: float) -> float:
    """How much of max(a, b) is a: all, nothing, or half of it at a tie."""
    return 1.0 if a > b else 0.5 if a == b else 0.0


def power_base(a: float, b: float) -> float:
    """d(a ** b)/da, 0 for b = 0 at every a."""
    if b == 0:
        return 0.0
    if b == 1:
        return 1.0
    if b == 2:
        return 2.0 * a
    if b < 1 and a == 0.0:
        return b * math.inf
    return b * a ** (b - 1)


def power_exponent(a: float, b: float, y: float) -> float:
    """d(a ** b)/db; at a = 0 its limit for b > 0; nan for a < 0, where only integers b have a real power."""
    if a > 0:
        return y * math.log(a)
    return 0.0 if a == 0 else math.nan


def where(condition: object, a: float, b: float) -> float:
    return a if condition else b


def sinc_slope(x: float, y: float) -> float:
    """d(sin(pi x) / (pi x))/dx, by its series where the closed form would cancel."""
    t = (math.pi * x) ** 2
    if t < 0.025:
        return -(math.pi**2) * x * (1 / 3 - t * (1 / 30 - t * (1 / 840 - t / 45360)))
    return (math.cos(math.pi * x) - y) / x


# -- for complex numbers -------------------------------------------------------------------------------------


def complex_unit(x: complex) -> complex:
    """d|x| = Re(unit(x) dx)"""
    return x.conjugate() / abs(x) if x else 0j


def complex_power_base(a: complex, b: complex) -> complex:
    if b == 0:
        return 0.0
    if b == 1:
        return 1.0
    return b * a ** (b - 1)


def complex_power_exponent(a: complex, b: complex, y: complex) -> complex:
    return y * cmath.log(a) if a else 0j


# -- for arrays and NumPy scalars ----------------------------------------------------------------------------


def array_nonzero(y: Any) -> Any:
    return np.where(y == 0, np.inf, y)


def array_unit(x: Any) -> Any:
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "c":
        return np.conj(x) / array_nonzero(np.abs(x))
    return np.sign(x)


def array_share(a: Any, b: Any, y: Any) -> Any:
    """How much of maximum(a, b) is a. Without ties a plain mask, by which a product keeps its dtype."""
    more = a > b
    tie = a == b
    if np.count_nonzero(tie):
        return np.add(more, np.multiply(tie, 0.5, dtype=y.dtype), dtype=y.dtype)
    return more


def array_power_base(a: Any, b: Any) -> Any:
    """d(a ** b)/da, without the powers that a known exponent spares."""
    if isinstance(b, (int, float)):
        if b == 0:
            return 0.0
        if b == 1:
            return 1.0
        if b == 2:
            return 2.0 * a
        return b * a ** (b - 1)
    # Where b = 0 any finite power will do: the factor b makes it 0.
    return b * a ** np.where(b == 0, b, b - 1)


def array_power_exponent(a: Any, b: Any, y: Any) -> Any:
    if isinstance(a, (int, float)):
        return y * power_exponent(a, 1.0, 1.0)
    return y * np.log(np.where(a == 0, a + 1, a))


def array_sinc_slope(x: Any, y: Any) -> Any:
    t = np.square(np.pi * x)
    small = t < 0.025
    series = -(np.pi**2) * x * (1 / 3 - t * (1 / 30 - t * (1 / 840 - t / 45360)))
    return np.where(small, series, (np.cos(np.pi * x) - y) / np.where(small, 1.0, x))


# -- the namespaces ------------------------------------------------------------------------------------------


def _public(module: ModuleType) -> dict[str, Any]:
    return {
        name: value for name, value in vars(module).items() if not name.startswith("_") and callable(value)
    }


_SCALAR: dict[str, Any] = {
    "div": div, "nonzero": nonzero, "unit": unit, "share": share, "where": where, "rint": round,
    "sinc_slope": sinc_slope,
    "power_base": power_base, "power_exponent": power_exponent,
    "digamma": special.digamma, "polygamma": special.polygamma, "inf": math.inf,
}  # fmt: skip

MATH: dict[str, Any] = {"__name__": "derivatives of floats", **_public(math), **_SCALAR}

CMATH: dict[str, Any] = {
    "__name__": "derivatives of complex numbers", **_public(cmath),
    "div": operator.truediv, "unit": complex_unit, "where": where,
    "power_base": complex_power_base, "power_exponent": complex_power_exponent,
}  # fmt: skip

NUMPY: dict[str, Any] = {
    "__name__": "derivatives of arrays",
    **{name: value for name, value in vars(np).items() if type(value) is np.ufunc},
    "div": np.divide, "nonzero": array_nonzero, "unit": array_unit, "share": array_share,
    "where": np.where, "sinc_slope": array_sinc_slope,
    "power_base": array_power_base, "power_exponent": array_power_exponent, "inf": math.inf,
    "digamma": special.digamma, "polygamma": special.polygamma,
}  # fmt: skip
"""The last two are for numbers of NumPy's that `math.gamma` and `math.lgamma` are given."""


# -- whom a row is for ---------------------------------------------------------------------------------------

_MODULES = {
    "math": math, "cmath": cmath, "np": np, "operator": operator, "builtins": builtins, "special": special,
}  # fmt: skip

_ALSO = {
    "sub": "np.subtract", "mul": "np.multiply", "truediv": "np.divide", "floordiv": "np.floor_divide",
    "neg": "np.negative", "pos": "np.positive", "fmod": "math.remainder",
    "pow": "np.power np.float_power builtins.pow",
    "abs": "builtins.abs np.absolute", "degrees": "np.rad2deg", "radians": "np.deg2rad", "ulp": "np.spacing",
}  # fmt: skip
"""Callees of a row besides those that bear its name in `math`, `cmath`, `numpy` and `operator`."""


def callees(name: str) -> Iterator[Callable[..., Any]]:
    """The functions that row `name` differentiates, of those that this Python and this NumPy have."""
    spelled = [f"{module}.{name}" for module in ("math", "cmath", "np", "operator", "special")]
    for path in (*spelled, *_ALSO.get(name, "").split()):
        module, attribute = path.split(".")
        if hasattr(_MODULES[module], attribute):
            yield getattr(_MODULES[module], attribute)


def is_of_ours(namespace: dict[str, Any]) -> bool:
    """Names in it do not change: of a module of ours, or where derivatives stand."""
    name = namespace.get("__name__", "")
    return is_ours(name) or str(name).startswith("derivatives of")
