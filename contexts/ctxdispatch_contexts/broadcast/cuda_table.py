"""What the instructions of kernels are in CUDA C: an expression per instruction and kind of operand.

    "remainder": {"f": "{remainder}({0}, {1})", ...}

    {0} {1}      the operands, each a name or a literal
    {T} {U}      the result's C type, and the unsigned integer in which it wraps around
    {A}          the C type of the first operand
    {f} {inf}    the suffix of the functions of this float: f of float32's; its infinity
    {word}       a helper of `cuda_helpers.py`, for the type of the first operand

Kinds are NumPy's: b(ool), i(nt), u(nsigned), f(loat). Signed integers overflow in C as they please, in NumPy
they wrap around: so their arithmetic is unsigned, of at least the width of int.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch_contexts.broadcast.instructions import CAST, SELECT

C_TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int",
    "uint64": "unsigned long long", "float16": "float", "float32": "float", "float64": "double",
}  # fmt: skip
"""float16 is computed with in float32, and rounded where it is stored."""


def c_type(dtype: np.dtype[Any]) -> str:
    return C_TYPES[dtype.name]


def fields(dtype: np.dtype[Any]) -> dict[str, str]:
    """What the capital and single letters of templates stand for."""
    wide = dtype.itemsize == 8
    return {
        "T": c_type(dtype),
        "A": c_type(dtype),
        "U": "unsigned long long" if wide else "unsigned int",
        "f": "" if wide else "f",
        "inf": literal(np.float64(np.inf) if wide else np.float32(np.inf)),
    }


# -- the table -----------------------------------------------------------------------------------------------


def _arithmetic(operator: str, **more: str) -> dict[str, str]:
    floats = f"{{0}} {operator} {{1}}"
    return {"f": floats, "iu": f"({{T}})(({{U}}){{0}} {operator} ({{U}}){{1}})", **more}


def _all(template: str) -> dict[str, str]:
    return {"biuf": template}


def _whole(template: str, **more: str) -> dict[str, str]:
    return {"biu": template, **more}


def _function(name: str, arity: int = 1) -> dict[str, str]:
    """A function of CUDA's for floats."""
    return {"f": f"{name}{{f}}({', '.join(f'{{{i}}}' for i in range(arity))})"}


def _helper(name: str, arity: int = 1) -> dict[str, str]:
    return {"f": f"{{{name}}}({', '.join(f'{{{i}}}' for i in range(arity))})"}


_FUNCTIONS = {
    name: _function(known)
    for name, known in {
        **{same: same for same in (
            "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh erf erfc lgamma fabs"
        ).split()},
        "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
        "arctanh": "atanh", "gamma": "tgamma", "rint": "rint", "erfinv": "erfinv", "i0": "cyl_bessel_i0",
    }.items()
}  # fmt: skip

_COMPARED = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip

_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}

TABLE: dict[str, dict[str, str]] = {
    **_FUNCTIONS,
    **{name: _all(f"{{0}} {operator} {{1}}") for name, operator in _COMPARED.items()},
    **{name: _whole(f"({{T}})({{0}} {operator} {{1}})") for name, operator in _BITS.items()},

    # -- arithmetic ------------------------------------------------------------------------------------------
    "add": _arithmetic("+", b="{0} || {1}"),
    "subtract": _arithmetic("-"),
    "multiply": _arithmetic("*", b="{0} && {1}"),
    "divide": {"f": "{0} / {1}"},
    "floor_divide": {**_helper("floor_divide", 2), "i": "{whole_divide}({0}, {1})",
                     "u": "({T})({1} ? {0} / {1} : 0)"},
    "remainder": {**_helper("remainder", 2), "i": "{whole_remainder}({0}, {1})",
                  "u": "({T})({1} ? {0} % {1} : 0)"},
    "fmod": {**_function("fmod", 2), "i": "({T})({1} == 0 || {1} == -1 ? 0 : {0} % {1})",
             "u": "({T})({1} ? {0} % {1} : 0)"},
    "power": {**_function("pow", 2), "iu": "{whole_power}({0}, {1})"},
    "positive": {"iuf": "{0}"},
    "negative": {"f": "-{0}", "iu": "({T})(0 - ({U}){0})"},
    "absolute": {**_function("fabs"), "i": "{0} < 0 ? ({T})(0 - ({U}){0}) : {0}", "bu": "{0}"},
    "square": {"f": "{0} * {0}", "iu": "({T})(({U}){0} * ({U}){0})"},
    "reciprocal": {"f": "1 / {0}", "i": "({T})({0} == 1 || {0} == -1 ? {0} : 0)", "u": "({T})({0} == 1)"},
    "fma": _function("fma", 3),

    # -- size, order, rounding -------------------------------------------------------------------------------
    "sign": {"f": "{0} != {0} ? {0} : ({T})(({0} > 0) - ({0} < 0))",
             "i": "({T})(({0} > 0) - ({0} < 0))",
             "u": "({T})({0} != 0)"},
    "copysign": _function("copysign", 2),
    "maximum": {"f": "{0} >= {1} || {0} != {0} ? {0} : {1}", "biu": "{0} > {1} ? {0} : {1}"},
    "minimum": {"f": "{0} <= {1} || {0} != {0} ? {0} : {1}", "biu": "{0} < {1} ? {0} : {1}"},
    "fmax": {**_function("fmax", 2), "biu": "{0} > {1} ? {0} : {1}"},
    "fmin": {**_function("fmin", 2), "biu": "{0} < {1} ? {0} : {1}"},
    "heaviside": {"f": "{0} == 0 ? {1} : {0} != {0} ? {0} : ({T})({0} > 0)"},
    "floor": _whole("{0}", **_function("floor")),
    "ceil": _whole("{0}", **_function("ceil")),
    "trunc": _whole("{0}", **_function("trunc")),
    "ldexp": {"f": "ldexp{f}({0}, (int)({1} > 99999 ? 99999 : {1} < -99999 ? -99999 : {1}))"},

    # -- exponentials, circular functions, special functions -------------------------------------------------
    "hypot": _function("hypot", 2),
    "logaddexp": _helper("logaddexp", 2),
    "logaddexp2": _helper("logaddexp2", 2),
    "arctan2": _function("atan2", 2),
    "degrees": {"f": "{0} * ({T})57.29577951308232"},
    "radians": {"f": "{0} * ({T})0.017453292519943295"},
    "sinc": _helper("sinc"),
    "expit": _helper("expit"),

    # -- truth, bits -----------------------------------------------------------------------------------------
    "isnan": _whole("false", f="{0} != {0}"),
    "isinf": _whole("false", f="fabs{f}({0}) == {inf}"),
    "isfinite": _whole("true", f="fabs{f}({0}) < {inf}"),
    "signbit": {"f": "copysign{f}(({A})1, {0}) < 0"},
    "logical_and": _all("{0} && {1}"),
    "logical_or": _all("{0} || {1}"),
    "logical_xor": _all("(bool){0} != (bool){1}"),
    "logical_not": _all("!{0}"),
    "invert": {"iu": "({T})~{0}", "b": "!{0}"},
    "left_shift": {"iu": "({U}){1} < 8 * sizeof({T}) ? ({T})(({U}){0} << {1}) : ({T})0"},
    "right_shift": {"i": "({T})({0} >> (({U}){1} < 8 * sizeof({T}) ? ({U}){1} : 8 * sizeof({T}) - 1))",
                    "u": "({U}){1} < 8 * sizeof({T}) ? ({T})({0} >> {1}) : ({T})0"},

    # -- what NumPy has no ufunc for -------------------------------------------------------------------------
    SELECT.name: _all("{0} ? {1} : {2}"),
    CAST.name: _all("({T}){0}"),
}  # fmt: skip


MIXED = {name: f"{{compare}}({{0}}, {{1}}) {operator} 0" for name, operator in _COMPARED.items()}
"""Comparisons of int64 with uint64, which C would compare as unsigned."""


def template(name: str, dtypes: tuple[np.dtype[Any], ...], to: np.dtype[Any]) -> str | None:
    """The expression for the instruction on operands of these dtypes, with a result of dtype `to`; None where
    there is none."""
    kinds = "".join(d.kind for d in dtypes)
    if name == CAST.name and kinds == "f" and to.kind in "iu":
        return _whole_of_float(dtypes[0], to)
    if name in MIXED and kinds in ("iu", "ui"):
        return MIXED[name]
    return next((t for of, t in TABLE.get(name, {}).items() if kinds[0] in of), None)


def _whole_of_float(of: np.dtype[Any], to: np.dtype[Any]) -> str:
    """What does not fit becomes the nearest number that does, nan becomes 0: C says nothing of it, and CUDA
    something else for every width."""
    info = np.iinfo(to)
    above = literal((np.float64 if of.itemsize == 8 else np.float32)(info.max + 1))
    least, most = literal(to.type(info.min)), literal(to.type(info.max))
    return f"{{0}} >= {above} ? {most} : {{0}} >= {least} ? ({{T}}){{0}} : {{0}} == {{0}} ? {least} : 0"


# -- literals ------------------------------------------------------------------------------------------------

_SUFFIXES = {"uint32": "U", "int64": "LL", "uint64": "ULL"}

_SPECIAL = {4: "__int_as_float(0x{:08x})", 8: "__longlong_as_double(0x{:016x}LL)"}
"""By their bits: the runtime compiler of CUDA has no header that names them."""


def literal(value: np.generic) -> str:
    """A NumPy scalar in C, exactly. The shortest digits that mean a float64 also mean the float32 that is
    that number, and compilers of every standard read them; hexadecimal floats came with C++17."""
    dtype = value.dtype
    if dtype.kind == "b":
        return "true" if value else "false"
    text = _float(value) if dtype.kind == "f" else _whole_number(value)
    return f"({text})" if text.startswith("-") else text


def _float(value: Any) -> str:
    single = value.dtype.itemsize < 8
    if np.isfinite(value):
        return repr(float(value)) + "f" * single
    bits = np.float32(value).view(np.uint32) if single else value.view(np.uint64)
    return _SPECIAL[4 if single else 8].format(int(bits))


def _whole_number(value: Any) -> str:
    end = _SUFFIXES.get(value.dtype.name, "")
    if value.dtype.kind == "i" and value == np.iinfo(value.dtype).min:
        return f"({int(value) + 1}{end} - 1)"  # -2147483648 is the negative of what is no int
    return f"{int(value)}{end}"
