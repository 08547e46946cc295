"""What numbers are while they are computed with, and casts from one dtype to another.

Floats out of the range of whole numbers become the nearest one, and nan becomes 0. What LLVM would call a
function of a compiler's runtime for, which no Python has, is written out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from ctxdispatch_contexts.broadcast.elementary.values import Value, constant, declared, mangled


def register_type(dtype: np.dtype[Any]) -> ir.Type:
    """What a number is while it is computed with."""
    if dtype.kind == "f":
        return {2: ir.HalfType(), 4: ir.FloatType(), 8: ir.DoubleType()}[dtype.itemsize]
    return ir.IntType(1 if dtype.kind == "b" else 8 * dtype.itemsize)


def cast(build: ir.IRBuilder, value: Any, now: np.dtype[Any], to: np.dtype[Any]) -> Any:
    """The number in another dtype."""
    target = Value(build, value).shaped(register_type(to))
    if to.kind == "b":
        compare = build.fcmp_unordered if now.kind == "f" else build.icmp_signed
        return compare("!=", value, constant(value.type, 0))
    if to.kind == "f":
        return _to_float(build, value, now, to, target)
    if now.kind == "f":
        if now.itemsize == 2:  # exact, and processors that compute in float16 make other numbers of nan
            value = build.fpext(value, ir.FloatType())
        name = f"llvm.fpto{'s' if to.kind == 'i' else 'u'}i.sat"
        name = f"{name}.{mangled(target)}.{mangled(value.type)}"
        return build.call(declared(build.module, name, target, [value.type]), [value])
    if register_type(to).width <= register_type(now).width:
        return value if target == value.type else build.trunc(value, target)
    return build.sext(value, target) if now.kind == "i" else build.zext(value, target)


def _to_float(
    build: ir.IRBuilder, value: Any, now: np.dtype[Any], to: np.dtype[Any], target: ir.Type
) -> Any:
    if now.kind != "f":
        return build.sitofp(value, target) if now.kind == "i" else build.uitofp(value, target)
    if now == to:
        return value
    if now.itemsize < to.itemsize:
        return build.fpext(value, target)
    if now.itemsize == 8 and to.itemsize == 2:
        value = _single_to_odd(Value(build, value)).ir
    return build.fptrunc(value, target)


LOST = (1 << (52 - 23)) - 1
"""The bits of a float64 that a float32 has not."""


def _single_to_odd(x: Value) -> Value:
    """The float32 of a float64, its last bit set where any bit was lost: no tie arises that there was not, so
    that rounding it to a float16 rounds x (Boldo & Melquiond, "Emulation of FMA and correctly rounded sums:
    proved algorithms using rounding to odd", 2008). In bits that float32 has, so that nothing else rounds;
    what is too large or too small for a float32 rounds to what it is as a float16."""
    bits = x.bits()
    return ((bits | ((bits & LOST) + LOST)) & ~LOST).as_float().single()
