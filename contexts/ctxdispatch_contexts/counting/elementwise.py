"""What is done element by element: operators, ufuncs and their methods, the functions of `math`.

An operator is the ufunc that it is on arrays. Whether it is floating-point arithmetic is said by the dtypes
of the ufunc's loop: of a call they are its operands' and its result's; of an operator, which is measured
before it is done, NumPy is asked for them.
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ctxdispatch.facts import COMPARISONS, INPLACE, UFUNC_OF

ELEMENTARY = 10

# -- weights ---------------------------------------------------------------------------------------

_NAMES = {
    0: "positive conjugate sign floor ceil trunc rint maximum minimum fmax fmin copysign spacing nextafter "
    "frexp ldexp modf heaviside",
    1: "add subtract multiply divide negative absolute fabs sqrt square reciprocal deg2rad rad2deg radians "
    "degrees",
    2: "floor_divide remainder fmod",
    4: "divmod",
}
WEIGHTS: dict[Any, int] = {
    getattr(np, name): weight for weight, names in _NAMES.items() for name in names.split()
}
"""Flops of ufuncs on floats; of what has truth values none; of the others `ELEMENTARY`. Comparisons, and what
looks at the bits of a number, are free."""

_OF_COMPLEX = {2: "add subtract negative", 6: "multiply square", 11: "divide"}
COMPLEX = {getattr(np, name): weight for weight, names in _OF_COMPLEX.items() for name in names.split()}
OTHER_COMPLEX = 4
"""Times what the ufunc costs on floats."""

OPERATORS: dict[Any, np.ufunc] = {
    f: ufunc for f, ufunc in UFUNC_OF.items() if f not in COMPARISONS and f is not operator.matmul
}
OPERATORS |= {inplace: OPERATORS[f] for inplace, f in INPLACE.items() if f in OPERATORS}


def each(ufunc: Any, kind: str) -> int:
    """Flops of one element, where the loop's dtypes are of this kind (`kind_of`)."""
    if kind == "c":
        return COMPLEX.get(ufunc, OTHER_COMPLEX * _weight(ufunc))
    return _weight(ufunc) if kind == "f" else 0


def _weight(ufunc: Any) -> int:
    known = WEIGHTS.get(ufunc)
    if known is None:
        return 0 if _is_predicate(ufunc) else ELEMENTARY
    return known


def _is_predicate(ufunc: Any) -> bool:
    of_floats = [types for types in ufunc.types if types[0] in "df"]
    return bool(of_floats) and all(types.endswith("?") for types in of_floats)


def kind_of(result: Any, *operands: Any) -> str:
    """Of dtypes, or of values: "c" where one is complex, else "f" where the result is of floats, else ""."""
    kinds = [_kind(v) for v in (result, *operands)]
    return "c" if "c" in kinds else "f" if kinds[0] == "f" else ""


def _kind(value: Any) -> str:
    if isinstance(value, np.dtype):
        return value.kind
    return (value if isinstance(value, np.ndarray | np.generic) else np.asarray(value)).dtype.kind


# -- operators -------------------------------------------------------------------------------------


def operator_cost(operation: Any, operands: Sequence[Any]) -> tuple[float, int]:
    """Flops, and bytes read and written."""
    ufunc = OPERATORS.get(operation)
    if ufunc is None:
        return 0, 0
    operands = operands[: ufunc.nin]
    types = {*map(type, operands)}
    if types <= {int, float}:
        return each(ufunc, "f" if float in types or ufunc is np.divide else ""), 0
    if not are_numbers(operation, operands):
        return 0, 0
    kind, width = _loop(ufunc, *map(_dtype, operands))
    shape = broadcast(*map(np.shape, operands))
    if operation in INPLACE and _is_array(operands[0]):
        width = operands[0].itemsize
    size = math.prod(shape)
    return each(ufunc, kind) * size, _nbytes(operands) + (width * size if shape else 0)


@functools.cache
def _loop(ufunc: np.ufunc, *dtypes: Any) -> tuple[str, int]:
    """The kind of what is computed, and the bytes of an element of the result."""
    resolved = ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout))
    return kind_of(resolved[-1], *resolved), resolved[-1].itemsize


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    several = {*shapes} - {()}
    return np.broadcast_shapes(*several) if len(several) > 1 else several.pop() if several else ()


_SCALARS = {int: int, float: float, complex: complex, bool: np.dtype(bool)}
"""As what `resolve_dtypes` takes them: Python's numbers do not widen an array."""


def _dtype(operand: Any) -> Any:
    scalar = _SCALARS.get(type(operand))
    return np.asarray(operand).dtype if scalar is None else scalar


def are_numbers(operation: Any, operands: Sequence[Any]) -> bool:
    """Whether they are Python's or NumPy's, and none has an operator of its own: what that does is counted
    where it is written. A list is an array beside one."""
    beside = any(map(_is_array, operands))
    return all(
        type(o) in _SCALARS
        or isinstance(o, np.generic)
        or (_is_array(o) and _is_plain(type(o), operation))
        or (beside and type(o) in (list, tuple))
        for o in operands
    )


def _is_plain(kind: type, operation: Any) -> bool:
    name = operation.__name__.strip("_")
    bare = name.removeprefix("i") if operation in INPLACE else name
    names = (f"__{bare}__", f"__r{bare}__", f"__i{bare}__")
    return all(getattr(kind, each, None) is getattr(np.ndarray, each, None) for each in names)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _nbytes(operands: Sequence[Any]) -> int:
    return sum(o.nbytes for o in operands if isinstance(o, np.ndarray))


# -- ufuncs ----------------------------------------------------------------------------------------


def ufunc_flops(ufunc: np.ufunc, out: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> float:
    """Of a call. `where` chooses elements; what has a signature is no elementwise function."""
    if ufunc.signature is not None:
        return 0
    result = out[0] if isinstance(out, tuple) else out
    size = chosen(np.shape(result), kwargs.get("where", True))
    return each(ufunc, kind_of(result, *args[: ufunc.nin])) * size


def chosen(shape: tuple[int, ...], where: Any) -> int:
    """How many elements `where` leaves."""
    return math.prod(shape) if where is True else int(np.count_nonzero(np.broadcast_to(where, shape)))


def reduction(ufunc: np.ufunc, out: Any, a: Any, where: Any = True) -> float:
    """A step for each element, as if it began with the ufunc's identity."""
    return each(ufunc, kind_of(out, np.asarray(a))) * chosen(np.shape(a), where)


def method_flops(f: Any, out: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> float:
    """Of `f`, a method of a ufunc."""
    ufunc, name = f.__self__, f.__name__
    if name in ("reduce", "accumulate"):
        where = kwargs.get("where", args[6] if len(args) > 6 else True)
        return reduction(ufunc, out, args[0], where)
    if name == "outer":
        return each(ufunc, kind_of(out, *args)) * np.size(out)
    if name == "reduceat":
        return each(ufunc, kind_of(out, args[0])) * _in_segments(out, *args[:3], **kwargs)
    a, indices = args[:2]  # at
    return each(ufunc, kind_of(a)) * np.broadcast_to(0, np.shape(a))[indices].size


def _in_segments(result: Any, a: Any, indices: Any, axis: int = 0, **_: Any) -> int:
    length = np.shape(a)[axis]
    starts = np.asarray(indices)
    lengths = np.maximum(np.append(starts[1:], length) - starts, 1)
    return int(lengths.sum()) * (np.size(a) // max(1, length))


# -- Python's own functions ------------------------------------------------------------------------

_ONLY_OF_MATH = {"ulp": 0, "fma": 1}
_OF_MATH = {
    f: _ONLY_OF_MATH.get(name, WEIGHTS.get(getattr(np, name, None), ELEMENTARY))
    for module in (math, cmath)
    for name, f in vars(module).items()
    if callable(f)
}
"""What NumPy's ufunc of the same name costs; results that are no floats cost nothing."""
_PER_ITEM = {"fsum": 1, "prod": 1, "sumprod": 2, "dist": 3}
"""Of functions of `math` that take lists."""


def math_flops(f: Any, out: Any, args: Sequence[Any]) -> float | None:
    """None where `f` is none of them."""
    weight = _OF_MATH.get(f)
    if weight is None:
        return None
    per_item = _PER_ITEM.get(f.__name__)
    if per_item is not None:
        return per_item * len(args[0]) if type(out) is float else 0
    numbers = out if type(out) is tuple else (out,)
    return weight * (OTHER_COMPLEX if f in _OF_CMATH else 1) if type(numbers[0]) in (float, complex) else 0


_OF_CMATH = {f for f in vars(cmath).values() if callable(f)}
