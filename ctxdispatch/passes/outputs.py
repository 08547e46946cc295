"""Where NumPy's functions take an array to write into: the parameter `out`, by position or by keyword.

Read from NumPy's own signatures, of a function when it is first asked for; `_OUT_AT` where it gives none.
"""

from __future__ import annotations

import inspect
import types as pytypes
from collections.abc import Sequence
from functools import cache
from typing import Any as Anything
from typing import NamedTuple

import numpy as np

from ctxdispatch.ir.values import hashable


class Out(NamedTuple):
    """The parameter `out` of a function of NumPy's."""

    at: int | None
    """Its position, the array itself counted; None: by keyword only."""
    after: tuple[str, ...] = ()
    """The parameters after it that may be given by position too."""


_OUT_AT: dict[str, int] = {
    **dict.fromkeys("sum prod mean std var cumsum cumprod clip take compress".split(), 3),
    **dict.fromkeys("max min amax amin any all ptp argmax argmin median round around dot outer".split(), 2),
    **dict.fromkeys("concatenate concat stack choose".split(), 2),
    "trace": 5,
}
"""Where NumPy gives no signature, as older ones do for C functions."""

_AFTER_OUT: dict[str, tuple[str, ...]] = {"take": ("mode",), "choose": ("mode",)}
_REDUCE_AFTER = ("keepdims", "initial", "where")
_UFUNC_METHODS = {
    "reduce": Out(3, _REDUCE_AFTER),
    "accumulate": Out(3),
    "reduceat": Out(4),
    "outer": Out(None),
}
LAYOUT = {"shape": "a.reshape(..)", "dtype": "a.view(..)", "strides": "a.copy()"}
"""Attributes of an array `a` that say what its memory is read as, and can be set; what gives another array
that has another one."""

_ANY_OR_ALL = Out(3, ("keepdims",))
"""Of the methods `any` and `all`: a dtype stands before `out`, which NumPy does not tell."""

_MODULES = ("numpy", "numpy.linalg", "numpy.fft")
_KINDS = (pytypes.FunctionType, pytypes.BuiltinFunctionType, type(np.sum))


def ignores_out(function: Anything) -> bool:
    """Some of NumPy's Fourier transforms (hfft, ifft2, irfft2) take `out` and hand it on to nobody: their
    result is another array."""
    known = issubclass(type(function), _KINDS) and hashable(function) and function.__module__ in _MODULES
    return known and _leaves_out_alone(function)


def out_at(function: Anything) -> int | None:
    """Which positional argument of `function`, the array itself counted, is one to write into; of a ufunc,
    the first such. None where there is none."""
    if type(function) is np.ufunc:
        return int(function.nin)
    out = _out_of(function)
    return None if out is None else out.at


def may_overwrite(function: Anything, positional: int, kwnames: Sequence[str]) -> bool:
    """A call with so many positional arguments, and these keywords, may write its result into its first
    argument: np.nan_to_num(a, copy=False)."""
    return function is np.nan_to_num and (positional > 1 or "copy" in kwnames)


def takes_out(function: Anything) -> bool:
    """It is NumPy's, and has a parameter `out`, by keyword at least."""
    return type(function) is np.ufunc or _out_of(function) is not None


def of_ufunc(function: Anything) -> Anything:
    """`ndarray.conj`, whose `out` is by position only, as the ufunc that it is."""
    if type(function) is not pytypes.MethodDescriptorType:
        return function
    namesake = getattr(np, function.__name__, None) if function.__objclass__ is np.ndarray else None
    return namesake if type(namesake) is np.ufunc else function


def out_by_name(
    function: Anything, args: Sequence[Anything], kwargs: dict[str, Anything]
) -> tuple[list[Anything], dict[str, Anything]]:
    """The arguments of a call with `out` as a keyword, and the arguments after it too. Of a ufunc, all the
    arrays to write into, as a tuple."""
    at = out_at(function)
    if at is None or len(args) <= at:
        return list(args), kwargs
    if type(function) is np.ufunc:
        return list(args[:at]), {**kwargs, "out": tuple(args[at:])}
    out = _out_of(function)
    after = () if out is None else out.after
    if len(args) > at + 1 + len(after) or "out" in kwargs:
        return list(args), kwargs  # NumPy's own error
    return list(args[:at]), {**kwargs, "out": args[at], **dict(zip(after, args[at + 1 :]))}


def _out_of(function: Anything) -> Out | None:
    """Of a function of NumPy's, a method of its arrays, or a bound method of a ufunc."""
    if type(function) is pytypes.BuiltinMethodType and type(function.__self__) is np.ufunc:
        return _UFUNC_METHODS.get(function.__name__)
    if type(function) is pytypes.MethodDescriptorType:
        if function.__objclass__ not in (np.ndarray, np.generic):
            return None
        if function.__name__ in ("any", "all"):
            return _ANY_OR_ALL
        function = getattr(np, function.__name__, None)
        if type(function) is np.ufunc:
            return Out(function.nin)  # a.conj(out)
    if issubclass(type(function), _KINDS) and hashable(function) and function.__module__ in _MODULES:
        return _read(function)
    return None


@cache
def _leaves_out_alone(function: Anything) -> bool:
    if function.__module__ != "numpy.fft" or "out" not in inspect.signature(function).parameters:
        return False
    x = np.ones((2, 2))
    out = np.empty_like(function(x))
    return function(x, out=out) is not out


@cache
def _read(function: Anything) -> Out | None:
    """NumPy's functions only are kept: they live as long as the process."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        name = function.__name__
        known = function is getattr(np, name, None) and name in _OUT_AT
        return Out(_OUT_AT[name], _AFTER_OUT.get(name, ())) if known else None
    for at, parameter in enumerate(parameters):
        if parameter.name == "out" and not _leaves_out_alone(function):
            after = [p.name for p in parameters[at + 1 :] if p.kind is p.POSITIONAL_OR_KEYWORD]
            by_position = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            return Out(at, tuple(after)) if by_position else Out(None)
    return None
