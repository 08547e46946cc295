"""The cotangent of the result: 1.0 for `grad`, what the caller gives for a pullback. Both are checked."""

from __future__ import annotations

from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch.reach import natively
from ctxdispatch.dispatch.tags import bare
from ctxdispatch_contexts.programs.errors import DerivativeError, caller_position, user_position

_REAL = (float, np.floating)


def misfit(message: str) -> DerivativeError:
    """Of a cotangent that does not fit, where the pullback was called with it."""
    return DerivativeError(message, caller_position())


@natively
def scalar_seed(y: Any) -> Any:
    """1.0 for a real scalar result; None for one whose derivative is zero by rule (int, bool); else an
    error."""
    if isinstance(y, _REAL):
        return 1.0
    if isinstance(y, np.ndarray) and y.shape == () and y.dtype.kind == "f":
        return np.ones((), y.dtype)
    if isinstance(y, (int, bool, np.integer, np.bool_)):
        return None
    raise DerivativeError(_not_scalar(y), user_position())


def _not_scalar(y: Any) -> str:
    if isinstance(y, (complex, np.complexfloating)) or getattr(y, "dtype", np.dtype(float)).kind == "c":
        return (
            f"grad needs a real result, and this function returned {_shown(y)}; differentiate a real "
            "function of it (`.real`, `abs(...) ** 2`), or use `vjp`"
        )
    if isinstance(y, np.ndarray):
        return (
            f"grad needs a scalar result, and this function returned {_shown(y)}; reduce it (`.sum()`), "
            "use `vjp` with a cotangent of that shape, or `jacfwd` for its Jacobian"
        )
    return (
        f"grad needs a real scalar result, and this function returned {_shown(y)}; return the number alone, "
        "or (number, other results) with has_aux=True, or use `vjp`"
    )


def _shown(y: Any) -> str:
    if isinstance(y, np.ndarray):
        return f"an array of shape {y.shape} and dtype {y.dtype}"
    return f"a {type(y).__name__}"


class ArrayLike(NamedTuple):
    """An array or NumPy number: what a cotangent of it has to be like."""

    shape: tuple[int, ...]
    dtype: Any


class Items(NamedTuple):
    """A tuple or list, item by item."""

    cls: type
    items: tuple[Any, ...]


class Entries(NamedTuple):
    """A dict, entry by entry."""

    entries: dict[Any, Any]


@natively
def signature_of(y: Any) -> Any:
    """What `check_cotangent` needs to know of the result: not the result itself, which may be large."""
    y = bare(y)
    if isinstance(y, np.ndarray):
        return ArrayLike(y.shape, y.dtype)
    if isinstance(y, (tuple, list)):
        return Items(type(y), tuple(map(signature_of, y)))
    if isinstance(y, dict):
        return Entries({key: signature_of(item) for key, item in y.items()})
    return type(y)


@natively
def no_more(given: Any) -> None:
    """Of what stands between the cotangent and the residuals: an ellipsis where the caller gave nothing."""
    if given is not Ellipsis:
        raise TypeError("a pullback takes one argument: the cotangent of the result")


@natively
def check_cotangent(g: Any, signature: Any) -> Any:
    """`g` as the cotangent of a result of that signature; an error where it does not fit."""
    if isinstance(signature, ArrayLike):
        return _check_array(g, *signature)
    if isinstance(signature, Items):
        return _check_items(g, *signature)
    if isinstance(signature, Entries):
        return _check_entries(g, signature.entries)
    if issubclass(signature, (float, np.floating, complex, np.complexfloating)):
        return _check_number(g, signature)
    return _check_object(g, signature)


def converted(g: Any, checked: Any) -> Any:
    """`checked`, which `check_cotangent` made of `g`, made again by operations that have derivatives: numbers
    and arrays of another class or dtype than the result's are converted."""
    if g is checked:
        return g
    if isinstance(checked, dict):
        return {key: converted(g[key], item) for key, item in checked.items()}
    if isinstance(checked, list):
        return [converted(given, item) for given, item in zip(g, checked, strict=True)]
    if isinstance(checked, np.ndarray):
        return np.asarray(g, checked.dtype)
    return type(checked)(g) if isinstance(checked, (float, complex, np.inexact)) else checked


def _check_object(g: Any, cls: type) -> Any:
    """Cotangents of an object's attributes: in a namespace, or in an object of its class."""
    if g is None or isinstance(g, SimpleNamespace) or not _has_attributes(cls):
        return g
    if isinstance(g, cls):
        names = [*getattr(g, "__dict__", ()), *_slots(cls)]
        return SimpleNamespace(**{name: getattr(g, name) for name in names if hasattr(g, name)})
    raise misfit(
        f"the pullback's argument ybar is a {type(g).__name__}, the function's result a {cls.__name__}; "
        "give a types.SimpleNamespace with the cotangents of its attributes"
    )


def _slots(cls: type) -> list[str]:
    declared = [vars(c).get("__slots__", ()) for c in cls.__mro__]
    return [name for names in declared for name in ((names,) if isinstance(names, str) else names)]


def _has_attributes(cls: type) -> bool:
    plain = cls.__module__ not in ("builtins", "types") and not issubclass(cls, (np.generic, FunctionType))
    return plain and (bool(cls.__dictoffset__) or bool(_slots(cls)))


def _check_entries(g: Any, entries: dict[Any, Any]) -> Any:
    if g is None:
        return None
    wrong = [key for key in g if key not in entries] if isinstance(g, dict) else [type(g).__name__]
    if wrong:
        raise misfit(
            f"the pullback's argument ybar has {wrong[0]!r}, the function's result is a dict with the keys "
            f"{', '.join(map(repr, entries))}; give a dict with cotangents under some of these keys"
        )
    return {key: None if c is None else check_cotangent(c, entries[key]) for key, c in g.items()}


def _check_items(g: Any, cls: type, items: tuple[Any, ...]) -> Any:
    if g is None:
        return None
    if not isinstance(g, (tuple, list)) or len(g) != len(items):
        given = (
            f"a {type(g).__name__} of length {len(g)}"
            if isinstance(g, (tuple, list))
            else f"a {type(g).__name__}"
        )
        raise misfit(
            f"the pullback's argument ybar is {given}, the function's result is a {cls.__name__} of length "
            f"{len(items)}; give a {cls.__name__} with one cotangent per item"
        )
    return [None if c is None else check_cotangent(c, s) for c, s in zip(g, items, strict=True)]


@natively
def value_of_pair(y: Any) -> Any:
    """The value of a function that returns (value, aux)."""
    if not isinstance(y, tuple) or len(y) != 2:
        raise DerivativeError(
            "has_aux=True needs a function that returns a pair (value, aux), and this one returned "
            f"{_shown(y)}; return such a pair, or leave has_aux out",
            user_position(),
        )
    return y[0]


def _check_array(g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    given = np.asarray(g)
    if given.shape != shape:
        raise misfit(
            f"the pullback's argument ybar has shape {given.shape}, the function's result has shape {shape}; "
            "give a cotangent of the result's shape"
        )
    if given.dtype.kind not in "biuf" + ("c" if dtype.kind == "c" else ""):
        raise misfit(
            f"the pullback's argument ybar has dtype {given.dtype}, the function's result has dtype {dtype}; "
            f"convert it with .astype({dtype})"
        )
    return given if given.dtype == dtype or dtype.kind not in "fc" else given.astype(dtype)


def _check_number(g: Any, cls: type) -> Any:
    if type(g) is cls:
        return g
    if isinstance(g, np.ndarray) and g.shape != ():
        raise misfit(
            f"the pullback's argument ybar has shape {g.shape}, the function's result is a {cls.__name__}; "
            "give a number"
        )
    try:
        if isinstance(g, (str, bytes)):
            raise TypeError
        return cls(g)
    except (TypeError, ValueError):
        raise misfit(
            f"the pullback's argument ybar is a {type(g).__name__}, the function's result is a "
            f"{cls.__name__}; give a number"
        ) from None
