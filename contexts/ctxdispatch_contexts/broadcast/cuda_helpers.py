"""Functions that kernels need and CUDA has not, in CUDA C: written per type, in kernels that call them.

    $name            the function's name for this type
    $T $U $f         the type, the type it wraps around in, the suffix of functions of it (`cuda_table.py`)
    $word            another helper, for the same type; $word_float64 for that one

Their meaning is NumPy's, which for quotients and remainders is Python's: rounded down, with the sign of the
divisor. A division of integers by zero is 0.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from ctxdispatch_contexts.broadcast.cuda_table import C_TYPES, fields

HELPERS: dict[str, str] = {
    # -- quotients -------------------------------------------------------------------------------------------
    "remainder": """
$T $name($T a, $T b) {
    $T r = fmod$f(a, b);
    if (r == 0) return copysign$f(r, b);
    return (r < 0) != (b < 0) ? r + b : r;
}""",
    "floor_divide": """
$T $name($T a, $T b) {
    if (b == 0) return a / b;
    $T r = fmod$f(a, b);
    $T q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) q -= 1;
    if (q == 0) return copysign$f(q, a / b);
    $T whole = floor$f(q);
    return q - whole > ($T)0.5 ? whole + 1 : whole;
}""",
    "whole_divide": """
$T $name($T a, $T b) {
    if (b == 0) return 0;
    if (b == -1) return ($T)(0 - ($U)a);
    return ($T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}""",
    "whole_remainder": """
$T $name($T a, $T b) {
    if (b == 0 || b == -1) return 0;
    $T r = ($T)(a % b);
    return r != 0 && (r < 0) != (b < 0) ? ($T)(r + b) : r;
}""",
    "whole_power": """
$T $name($T a, $T n) {
    $U power = 1, square = ($U)a;
    for (; n > 0; n = ($T)(n / 2)) {
        if (n % 2) power *= square;
        square *= square;
    }
    return ($T)power;
}""",
    # -- of floats -------------------------------------------------------------------------------------------
    "logaddexp": """
$T $name($T a, $T b) {
    if (a == b) return a + ($T)0.6931471805599453;
    $T d = a - b;
    return d > 0 ? a + log1p$f(exp$f(-d)) : d <= 0 ? b + log1p$f(exp$f(d)) : d;
}""",
    "logaddexp2": """
$T $name($T a, $T b) {
    if (a == b) return a + 1;
    $T d = a - b;
    if (d != d) return d;
    $T small = log1p$f(exp2$f(d > 0 ? -d : d)) * ($T)1.4426950408889634;
    return (d > 0 ? a : b) + small;
}""",
    "sinc": """
$T $name($T x) {
    $T t = ($T)3.141592653589793 * x;
    return t == 0 ? 1 : sin$f(t) / t;
}""",
    "expit": """
$T $name($T x) {
    $T small = exp$f(-fabs$f(x));
    return (x >= 0 ? 1 : small) / (1 + small);
}""",
    # -- the sign of a - b -----------------------------------------------------------------------------------
    "compare": """
int $name(long long a, unsigned long long b) {
    return a < 0 || (unsigned long long)a < b ? -1 : (unsigned long long)a > b;
}
__device__ inline int $name(unsigned long long a, long long b) {
    return -$name(b, a);
}""",
}


class Helpers:
    """Those that some source calls, each once, after those that it calls itself."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def name(self, helper: str, dtype: np.dtype[Any]) -> str:
        """What the helper is called for this type; it is written if it was not yet."""
        name = f"element_{helper}_{dtype.name}"
        if name not in self.texts:
            self.texts[name] = "__device__ inline " + self._written(helper, name, dtype)
        return name

    def _written(self, helper: str, name: str, dtype: np.dtype[Any]) -> str:
        known = {**fields(dtype), "name": name}
        return string.Template(HELPERS[helper].strip()).substitute(Names(self, dtype, known))


class Names(dict[str, str]):
    """What the words of a template stand for: `known`, else helpers."""

    def __init__(self, helpers: Helpers, dtype: np.dtype[Any], known: dict[str, str]) -> None:
        super().__init__(known)
        self.helpers, self.dtype = helpers, dtype

    def __missing__(self, word: str) -> str:
        helper, _, other = word.rpartition("_")
        if other in C_TYPES:
            return self.helpers.name(helper, np.dtype(other))
        return self.helpers.name(word, self.dtype)
