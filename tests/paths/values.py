"""What a plain run shows of values: their kind, the numbers that can be read from them, their state."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

FLOATS = (float, np.float64)
LARGE = 1e3


def kind(v: Any) -> str:
    """The letter of the slots that it fits."""
    if type(v) in FLOATS:
        return "N"
    if type(v) is np.ndarray:
        return "A" if v.shape == (3,) and v.dtype == float else "U"
    return {list: "L", dict: "D"}.get(type(v)) or ("O" if type(v).__name__ == "Box" else "U")


def is_tame(v: Any, depth: int = 3) -> bool:
    """Neither large nor infinite, nor something that nothing is to be done with."""
    if isinstance(v, (int, float, complex, np.number)):
        return bool(abs(v) < LARGE)
    if type(v) is np.ndarray and v.dtype.kind in "fciub":
        return v.size < 50 and bool((abs(v) < LARGE).all() if v.dtype != bool else True)
    if isinstance(v, (list, tuple, dict, set, str, bytes, bytearray)) and depth:
        items = v.values() if isinstance(v, dict) else () if isinstance(v, (str, bytes, bytearray)) else v
        return len(v) < 50 and not is_told(v) and all(is_tame(item, depth - 1) for item in items)
    return type(v).__name__ not in ("count", "cycle", "repeat", "module", "NotImplementedType", "Signature")


def is_told(v: Any) -> bool:
    """A number as text, which is a constant to derivatives."""
    return isinstance(v, str) and re.search(r"\d\.\d|0x1\.|\de-", v) is not None


def numbers(path: str, v: Any, depth: int = 3) -> Iterator[str]:
    """Expressions that read real numbers out of it, each with an effect at most on what is read there."""
    if type(v) in FLOATS:
        if math.isfinite(v):
            yield path
        return
    if depth:
        for tail, item in _parts(v):
            yield from numbers(tail.format(path), item, depth - 1)


def _parts(v: Any) -> list[tuple[str, Any]]:
    cls = type(v)
    if cls in (complex, np.complex128):
        return [("{0}.real", v.real), ("{0}.imag", v.imag)]
    if isinstance(v, np.ndarray) and not v.ndim:
        return [("{0}[()]", v[()])]
    if isinstance(v, dict):
        return [(f"{{0}}[{k!r}]", v[k]) for k in [*v][:3] if type(k) in (str, int)]
    if cls.__name__ in SEQUENCES:
        return [(f"{{0}}[{i}]", v[i]) for i in range(min(len(v), 3))]
    if cls.__name__ in ("Box", "SimpleNamespace"):
        return [(f"{{0}}.{k}", item) for k, item in [*vars(v).items()][:3]]
    if cls.__name__ == "timedelta":
        return [("{0}.total_seconds()", v.total_seconds())]
    if cls.__name__ in ("Decimal", "Fraction"):
        return [("float({0})", float(v))]
    if cls.__name__ in ("c_double", "mean"):
        return [("{0}.value", v.value)]
    return []


SEQUENCES = "list tuple deque array UserList ndarray memoryview c_double_Array_3 matrix".split()


def state(v: Any, depth: int = 4) -> Any:
    """What two runs that leave the same have in common."""
    cls = type(v)
    if cls in (int, bool, str, bytes, type(None), *FLOATS, complex):
        return v
    if cls is np.ndarray and v.dtype != object:
        return v.dtype.str, v.shape, v.tolist()
    if isinstance(v, dict):
        named = {k: item for k, item in v.items() if depth > 0 and type(k) is str}
        return cls.__name__, [(k, state(item, depth - 1)) for k, item in named.items()]
    if isinstance(v, (list, tuple)):
        return cls.__name__, [state(item, depth - 1) for item in v if depth > 0]
    if cls.__name__ == "Box":
        return "Box", state(vars(v), depth - 1)
    return cls.__name__


def same(one: Any, two: Any) -> bool:
    """Of states: numbers are close, of the same type."""
    if isinstance(one, (list, tuple)):
        return type(one) is type(two) and len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, (float, complex)):
        return type(one) is type(two) and bool(np.isclose(one, two, rtol=1e-9, atol=1e-12, equal_nan=True))
    return type(one) is type(two) and bool(one == two)


def leaves(v: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """The numbers and arrays of what is differentiated, and of its gradient."""
    if isinstance(v, (float, np.ndarray)):
        return {path: v}
    items = v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, (list, tuple)) else _fields(v)
    return {p: leaf for key, part in items for p, leaf in leaves(part, (*path, key)).items()}


def tangent(v: Any) -> Any:
    """With namespaces instead of objects, and None instead of what has no derivative."""
    if isinstance(v, dict):
        return {key: tangent(part) for key, part in v.items()}
    if isinstance(v, (list, tuple)):
        return type(v)(map(tangent, v))
    fields = {key: tangent(part) for key, part in _fields(v)}
    if fields:
        return types.SimpleNamespace(**fields)
    return v if isinstance(v, (float, np.ndarray)) else None


def _fields(v: Any) -> list[tuple[str, Any]]:
    return [*vars(v).items()] if type(v).__name__ in ("Box", "SimpleNamespace") else []
