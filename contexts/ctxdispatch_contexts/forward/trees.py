"""Tangents as users give them: checked against their values, leaf by leaf."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.dispatch.tags import bare
from ctxdispatch_contexts.forward.dual import Dual
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.kinds import is_floats, out_of_sight, remedy, remedy_for


def check_tangent(value: Any, tangent: Any, at: Any, block: bool = False) -> Any:
    """`tangent` as programs take it: every leaf of the dtype of its value, None or zeros where it says
    nothing. DerivativeError where a leaf has another shape, or a dtype that does not fit. `at`: which
    argument, for the message."""
    value = bare(value)
    if isinstance(value, np.ndarray):
        return _array(value, tangent, at, block)
    if isinstance(value, (float, complex, np.inexact)):
        return _number(value, tangent, at, block)
    if is_floats(value):
        return _array(np.frombuffer(value, value.typecode), tangent, at, block)
    if isinstance(value, (tuple, list, deque)):
        return _sequence(value, tangent, at, block)
    if remedy_for(type(value)) is not None:
        return _none(value, tangent, at)
    if isinstance(value, dict):
        return _mapping(value, tangent, at, block)
    if isinstance(value, Dual) and isinstance(tangent, Dual):
        return SimpleNamespace(
            value=check_tangent(value.value, tangent.value, f"{at}.value", block),
            partials=check_tangent(value.partials, tangent.partials, f"{at}.partials", block),
        )
    if isinstance(tangent, SimpleNamespace) or (hasattr(tangent, "__dict__") and hasattr(value, "__dict__")):
        return SimpleNamespace(**{
            k: check_tangent(getattr(value, k), d, f"{at}.{k}", block) for k, d in vars(tangent).items()
        })  # fmt: skip
    return _none(value, tangent, at)


def _array(value: Any, tangent: Any, at: Any, block: bool) -> Any:
    if value.dtype.kind not in "fc":
        return _none(value, tangent, at)
    if tangent is None and not block:
        return np.zeros_like(value)
    given = np.asarray(tangent)
    want = (given.shape[:1] if block else ()) + value.shape
    if given.shape != want or given.ndim != value.ndim + block:
        more = " and one axis before" if block else ""
        raise DerivativeError(
            f"the tangent of argument {at} has shape {given.shape}, its value {value.shape}; give a "
            "tangent of "
            f"the value's shape{more}",
            user_position(),
        )
    return _cast(value, given, at, value.dtype)


def _cast(value: Any, given: Any, at: Any, dtype: Any) -> Any:
    if given.dtype.kind not in ("biufc" if dtype.kind == "c" else "biuf"):
        raise DerivativeError(
            f"the tangent of argument {at} has dtype {given.dtype}, its value {dtype}; convert it with "
            f".astype({dtype})",
            user_position(),
        )
    return given if given.dtype == dtype else given.astype(dtype)


def _number(value: Any, tangent: Any, at: Any, block: bool) -> Any:
    if block:
        dtype = np.result_type(value)
        given = np.asarray(tangent)
        if given.ndim != 1:
            raise DerivativeError(
                f"the tangents of argument {at}, a number, have shape {given.shape}; give a vector",
                user_position(),
            )
        return _cast(value, given, at, dtype)
    if tangent is None:
        return type(value)(0)
    if isinstance(tangent, np.ndarray) and tangent.shape != ():
        raise DerivativeError(
            f"the tangent of argument {at} has shape {tangent.shape}, its value is a {type(value).__name__}; "
            "give a number",
            user_position(),
        )
    try:
        if isinstance(tangent, (str, bytes)):
            raise TypeError
        return tangent if type(tangent) is type(value) else type(value)(tangent)
    except (TypeError, ValueError):
        raise DerivativeError(
            f"the tangent of argument {at} is a {type(tangent).__name__}, its value a "
            f"{type(value).__name__}; "
            "give a number",
            user_position(),
        ) from None


def _sequence(value: Any, tangent: Any, at: Any, block: bool) -> Any:
    if tangent is None:
        return _empty(value)
    if not isinstance(tangent, (tuple, list, deque)) or len(tangent) != len(value):
        size = f" of length {len(tangent)}" if isinstance(tangent, (tuple, list, deque)) else ""
        raise DerivativeError(
            f"the tangent of argument {at} is a {type(tangent).__name__}{size}, its value a "
            f"{type(value).__name__} of length {len(value)}; give one tangent per item, None where "
            "there is none",
            user_position(),
        )
    items = [
        check_tangent(v, d, f"{at}[{i}]", block) for i, (v, d) in enumerate(zip(value, tangent, strict=True))
    ]
    return tuple(items) if isinstance(value, tuple) else items


def _mapping(value: Any, tangent: Any, at: Any, block: bool) -> Any:
    if tangent is None:
        return {}
    if not isinstance(tangent, dict) or not tangent.keys() <= value.keys():
        raise DerivativeError(
            f"the tangent of argument {at} is no dict of some of its keys; give tangents under the "
            "value's keys",
            user_position(),
        )
    return {k: check_tangent(value[k], d, f"{at}[{k!r}]", block) for k, d in tangent.items()}


def _empty(value: Any) -> Any:
    return (None,) * len(value) if isinstance(value, tuple) else [None] * len(value)


def _none(value: Any, tangent: Any, at: Any) -> None:
    zero = tangent is None or (isinstance(tangent, (int, float)) and tangent == 0)
    if (
        not zero
        and type(tangent).__name__ != "float0"
        and getattr(getattr(tangent, "dtype", None), "name", "") != "bool"
    ):
        sealed = remedy(type(value)) if out_of_sight(value) is not None else None
        raise DerivativeError(
            f"argument {at} is of type {_kind(value)}, which has no tangent; "
            f"{remedy_for(type(value)) or sealed or _OTHERWISE}",
            user_position(),
        )


_OTHERWISE = "pass a float (or an array of floats), or None for its tangent"


def _kind(value: Any) -> str:
    return f"array of dtype {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


def is_block(value: Any, tangent: Any) -> bool:
    """Leaves of `tangent` have one axis more than those of `value`."""
    if tangent is None:
        return False
    if isinstance(value, (tuple, list)) and isinstance(tangent, (tuple, list)):
        return any(map(is_block, value, tangent))
    if isinstance(value, dict) and isinstance(tangent, dict):
        return any(is_block(value.get(k), d) for k, d in tangent.items())
    if isinstance(value, (float, complex, np.inexact, np.ndarray)):
        return np.ndim(tangent) == np.ndim(value) + 1
    if isinstance(value, Dual) and isinstance(tangent, Dual):
        return is_block(value.value, tangent.value) or is_block(value.partials, tangent.partials)
    parts = vars(tangent) if isinstance(tangent, SimpleNamespace) else {}
    return any(is_block(getattr(value, k, None), d) for k, d in parts.items())


def length_of(tangents: Any) -> int:
    """How many tangents there are in a block: the same number in every leaf. DerivativeError where not."""
    found = set(_lengths(tangents))
    if len(found) > 1:
        raise DerivativeError(
            f"blocks of {' and '.join(map(str, sorted(found)))} tangents; give the same number for each "
            "argument",
            user_position(),
        )
    return found.pop() if found else 0


def _lengths(tangents: Any) -> list[int]:
    if isinstance(tangents, np.ndarray):
        return [len(tangents)]
    if isinstance(tangents, SimpleNamespace):
        return _lengths(list(vars(tangents).values()))
    parts = tangents.values() if isinstance(tangents, dict) else tangents
    return [n for part in parts for n in _lengths(part)] if isinstance(tangents, (tuple, list, dict)) else []
