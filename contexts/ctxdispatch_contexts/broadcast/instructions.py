"""What kernels are made of: NumPy's ufuncs, and the few instructions that NumPy has no ufunc for.

    CANONICAL[callee]     the instruction that means the same on numbers: math.sin, np.sin -> np.sin
    SPELLED[callee]       a Python function of scalars that means the same: np.clip, math.log of two arguments

The elements of arrays are NumPy's numbers: a division by zero is an infinity, not an exception, and float32
stays float32 in `math.exp` too.
"""

from __future__ import annotations

import builtins
import math
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.facts import BITWISE, COMPARISONS, INPLACE, TO_INT, UFUNC_OF
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.values import hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch_contexts.derivatives import namespaces
from ctxdispatch_contexts.derivatives.rows import ROWS
from ctxdispatch_contexts.reverse import stopped


@dataclass(frozen=True)
class Instruction(PureFunction):
    """`name` of what NumPy has no ufunc for."""

    name: str
    arity: int

    def __repr__(self) -> str:
        return self.name

    __name__ = property(lambda self: self.name)  # type: ignore[assignment]

    def result_type(self, args: Any) -> T.Type:
        return T.Any


SELECT = Instruction("select", 3)
"""select(condition, a, b)"""

CAST = Instruction("cast", 1)
"""The operand in the dtype of the result."""

ANY = Instruction("any", 1)
"""Whether a bool is true for any of the elements that are computed together."""

STOP = Instruction("stop_gradient", 1)
"""The operand, taken for a constant by derivatives."""

SPECIAL = {
    name: Instruction(name, arity)
    for name, arity in {
        "erf": 1, "erfc": 1, "gamma": 1, "lgamma": 1, "digamma": 1, "polygamma": 2, "sinc": 1, "expit": 1,
        "erfinv": 1, "i0": 1, "fma": 3,
    }.items()
}  # fmt: skip
"""Functions of floats; `polygamma` has a whole number first."""

_UFUNC = {
    "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "pos": "positive", "neg": "negative", "abs": "absolute",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh", "ulp": "spacing",
}  # fmt: skip

NOT_LOWERED = {"ulp", "nextafter"}


def _of_row(name: str) -> Any:
    return SPECIAL.get(name) or getattr(np, _UFUNC.get(name, name), None)


def _rows() -> dict[Any, Any]:
    names = [name for name in ROWS if name not in NOT_LOWERED]
    return {callee: _of_row(name) for name in names for callee in namespaces.callees(name)}


def _same(pairs: dict[str, Any], *modules: Any) -> dict[Any, Any]:
    return {
        getattr(module, name): instruction
        for name, instruction in pairs.items()
        for module in modules
        if hasattr(module, name)
    }


CANONICAL: dict[Any, Any] = {
    **_rows(),
    **{f: UFUNC_OF[f] for f in (*COMPARISONS, *BITWISE, operator.invert)},
    operator.not_: np.logical_not,
    **{getattr(np, name): getattr(np, name) for name in (
        "less less_equal greater greater_equal equal not_equal logical_and logical_or logical_xor "
        "logical_not bitwise_and bitwise_or bitwise_xor invert left_shift right_shift isnan isinf isfinite "
        "signbit"
    ).split()},
    **_same({"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}, math),
    np.where: SELECT, stopped: STOP,
    np.i0: SPECIAL["i0"],
    namespaces.div: np.divide,
    namespaces.where: SELECT,
}  # fmt: skip
"""Callee -> instruction."""

CANONICAL |= {inplace: CANONICAL[plain] for inplace, plain in INPLACE.items() if plain in CANONICAL}

CASTS: dict[Any, Any] = {
    builtins.float: float, builtins.int: int, builtins.bool: bool, np.bool_: np.dtype(bool),
    **{cls: np.dtype(cls) for cls in (
        np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
        np.uint32, np.uint64,
    )},
    operator.truth: bool,
}  # fmt: skip
"""What converts to a type: a dtype, or Python's own numbers, which take the dtype of what they meet."""

ROUNDING = {**{f: getattr(np, f.__name__) for f in TO_INT}, builtins.round: np.rint}
"""Their results are whole numbers."""


OPERATORS = {
    CANONICAL[getattr(operator, name)]: getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow neg pos lt le gt ge eq ne and_ or_ xor invert".split()
}
"""Arithmetic is written with Python's operators in scalar programs, for passes know these."""


SCIPY: dict[str, Any] = {
    **{name: SPECIAL[name] for name in "erf erfc erfinv expit gamma i0 digamma polygamma".split()},
    "gammaln": SPECIAL["lgamma"], "psi": SPECIAL["digamma"],
    **{name: getattr(np, name) for name in "cbrt exp2 expm1 log1p".split()},
}  # fmt: skip
"""Names in scipy.special -> instruction."""


def _of_scipy(callee: Any) -> Any:
    """SciPy is not imported for that: where it has not been, there is no callee of it."""
    module = sys.modules.get("scipy.special")
    if module is None or type(callee) not in (np.ufunc, FunctionType):
        return None
    name = callee.__name__
    return SCIPY.get(name) if getattr(module, name, None) is callee else None


def canonical(callee: Any) -> Any:
    """What stands for `callee` in scalar programs, None where nothing does."""
    found = instruction(callee)
    return OPERATORS.get(found, found) if found is not None else None


def instruction(callee: Any) -> Any:
    """The instruction for `callee`: a ufunc or an `Instruction`; of casts and roundings, themselves."""
    if not hashable(callee):
        return None
    if callee in CASTS or callee in ROUNDING:
        return callee
    return callee if isinstance(callee, Instruction) else CANONICAL.get(callee) or _of_scipy(callee)


# -- spelled out ---------------------------------------------------------------------------------------------


SPELLED: Registry[Callable[..., Any]] = Registry()
"""Callee -> what it means for scalars, in Python."""


@SPELLED.of(np.clip)
def clip(x: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    """np.clip of numbers."""
    low, high = a_min if min is None else min, a_max if max is None else max
    if low is not None:
        x = np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def log(x: Any, base: Any) -> Any:
    return np.log(x) / np.log(base)


@SPELLED.of(builtins.divmod, np.divmod)
def _divmod(a: Any, b: Any) -> Any:
    return a // b, a % b


@SPELLED.of(math.remainder)
def remainder(a: Any, b: Any) -> Any:
    """IEEE 754's: a - b * n, n being the whole number that is nearest to a / b."""
    return a - b * np.rint(a / b)


@SPELLED.of(math.isclose)
def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if a == b:
        return True
    if np.isinf(a) or np.isinf(b):
        return False
    far = abs(a - b)
    return far <= rel_tol * abs(a) or far <= rel_tol * abs(b) or far <= abs_tol


@SPELLED.of(math.modf, np.modf)
def modf(x: Any) -> Any:
    whole = np.trunc(x)
    return np.copysign(0.0 if np.isinf(x) else x - whole, x), whole


@SPELLED.of(math.pow, np.float_power)
def power(a: Any, b: Any) -> Any:
    """math.pow and np.float_power: of floats."""
    return float(a) ** float(b)


def larger(a: Any, b: Any) -> Any:
    """max(a, b): the first where they are equal, or cannot be compared."""
    return b if b > a else a


def smaller(a: Any, b: Any) -> Any:
    return b if b < a else a


class Fold(NamedTuple):
    """f(a, b, c) is function(function(a, b), c), beginning with `start`."""

    function: Callable[..., Any]
    takes_tuple: bool = False
    start: Any = None


FOLDED: dict[Any, Fold] = {
    builtins.max: Fold(larger, True), builtins.min: Fold(smaller, True), math.hypot: Fold(np.hypot),
    builtins.sum: Fold(operator.add, True, 0), math.fsum: Fold(operator.add, True, 0.0),
    math.prod: Fold(operator.mul, True, 1),
}  # fmt: skip
"""Callees of any number of arguments, or of a tuple."""


for _callee in (*SPELLED, *FOLDED):
    CANONICAL.pop(_callee, None)

BY_ARITY: dict[Any, Callable[..., Any]] = {math.log: log}
"""The same, where the call does not have as many arguments as the instruction."""
