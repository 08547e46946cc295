"""Objects that hold what varies, with protocol methods, and what C code of each namespace makes of them."""

import builtins
import cmath
import math
import operator
import types
import warnings

import numpy as np

from ctxdispatch import jvp
from ctxdispatch_contexts.programs.errors import DerivativeError

X = np.array([0.7, 1.3])
DIRECTION = np.array([0.6, -0.9])


class Held:
    def __init__(self, v):
        self.v = v


def _binary(f):
    return lambda self, other: f(self.v, other.v if isinstance(other, Held) else other)


def _reflected(f):
    return lambda self, other: f(other, self.v)


_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_ARITHMETIC = {
    **{f"__{name}__": _binary(getattr(operator, name)) for name in _OPERATORS},
    **{f"__r{name}__": _reflected(getattr(operator, name)) for name in _OPERATORS},
    **{f"__{name}__": _binary(getattr(operator, name)) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "__neg__": lambda self: -self.v, "__pos__": lambda self: +self.v, "__abs__": lambda self: abs(self.v),
    "__hash__": lambda self: 1, "__divmod__": lambda self, other: (self.v * 2.0, 1),
    "__bool__": lambda self: True,
}  # fmt: skip
_NUMERIC = {
    "__float__": lambda self: float(self.v), "__complex__": lambda self: complex(self.v, self.v),
    "__round__": lambda self, n=None: self.v * 3.0, "__floor__": lambda self: self.v * 4.0,
    "__ceil__": lambda self: self.v * 5.0, "__trunc__": lambda self: self.v * 6.0,
    "__call__": lambda self, *args: self.v * 7.0,
    **{f.__name__: (lambda f: lambda self: f(self.v))(f) for f in (np.sin, np.exp, np.sqrt, np.floor)},
    "conjugate": lambda self: self.v * 1.0,
}  # fmt: skip


def _asked(self, ufunc, method, *inputs, out=(), **kwargs):
    if out:
        kwargs["out"] = tuple([o.v if isinstance(o, Held) else o for o in out])
    return getattr(ufunc, method)(*[i.v if isinstance(i, Held) else i for i in inputs], **kwargs)


def _called(self, function, classes, args, kwargs):
    return function(*map(_opened, args), **kwargs)


def _opened(value):
    if isinstance(value, (list, tuple)):
        return type(value)([_opened(item) for item in value])
    return value.v if isinstance(value, Held) else value


def _shown(self, dtype=None, copy=None):
    return np.asarray(self.v)


CLASSES = {
    "number": (0, type("Number", (Held,), {**_ARITHMETIC, **_NUMERIC})),
    "bare": (0, type("Bare", (Held,), {"__float__": _NUMERIC["__float__"], "__index__": lambda self: 1})),
    "array": (slice(None), type("Array", (Held,), {"__array__": _shown, **_ARITHMETIC})),
    "shown": (slice(None), type("Shown", (Held,), {"__array__": _shown})),
    "asked": (slice(None), type("Asked", (Held,), {
        "__array_ufunc__": _asked, "__array_function__": _called,
    })),
    "sequence": (slice(None), type("Sequence", (Held,), {
        "__len__": lambda self: len(self.v), "__getitem__": lambda self, i: self.v[i] * 2.0,
    })),
}  # fmt: skip
"""What of x is held, and the class of what holds it."""

CALLS = {
    "one": lambda f, o, x: f(o),
    "two": lambda f, o, x: f(o, o),
    "first": lambda f, o, x: f(o, 1.5),
    "second": lambda f, o, x: f(1.5, o),
    "array first": lambda f, o, x: f(np.ones(2), o),
    "x first": lambda f, o, x: f(x, o),
    "list": lambda f, o, x: f([o, o]),
    "lists": lambda f, o, x: f([o, 1.0], [2.0, o]),
    "dtype": lambda f, o, x: f([o], dtype=float),
}

_OUTSIDE = {
    "input", "print", "breakpoint", "exec", "eval", "compile", "open", "help", "exit", "quit", "copyright",
    "credits", "license", "__import__", "__build_class__", "test", "show_config", "show_runtime", "info",
    "getbufsize", "setbufsize", "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "fromfile",
    "seterr", "seterrcall", "seterrobj", "set_printoptions", "memmap", "genfromtxt", "fromregex",
    "fromstring", "frombuffer", "from_dlpack", "setattr", "delattr", "vars", "dir", "get_include",
    "byte_bounds", "empty_like", "getlimits", "busday_count", "nested_iters", "nditer", "einsum_path", "bmat",
}  # fmt: skip


_IMPRECISE = {"single", "float32", "half", "float16", "csingle", "complex64"}
"""Differences say nothing of what is rounded like that."""


def functions():
    """(name, function) of C code, or that stands for it."""
    for module in (builtins, math, cmath, operator, np):
        for name, f in sorted(vars(module).items()):
            if callable(f) and name not in _OUTSIDE | _IMPRECISE and not isinstance(f, types.FunctionType):
                if not (isinstance(f, type) and issubclass(f, (BaseException, np.dtype))):
                    yield f"{module.__name__}.{name}", f


def total(y):
    """The sum of the numbers in a result."""
    if isinstance(y, Held):
        return total(y.v)
    if isinstance(y, (list, tuple)):
        return sum([total(item) for item in y])
    if isinstance(y, dict):
        return total([*y.values()])
    if isinstance(y, np.ndarray):
        if y.dtype == object:
            return total([*y.flat])
        return (y.real.sum() + y.imag.sum()) * 1.0 if y.dtype.kind in "fc" else 0.0
    if isinstance(y, (float, complex, np.inexact)):
        return (y.real + y.imag) * 1.0
    return 0.0


CALL: dict = {}
"""What `called` calls, so that one function is recorded, and no program is made of it."""


def called(x):
    held, cls = CLASSES[CALL["class"]]
    try:
        return 0.0 * x[0] + total(CALLS[CALL["call"]](CALL["f"], cls(x[held]), x))
    except ZeroDivisionError:
        return 0.0 * x[0]


def derivative():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return float(jvp(called, (X.copy(),), (DIRECTION.copy(),))[1])


def difference():
    """The derivative by differences; None where there is none to compare with."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            at = [float(called(X + h * DIRECTION)) for h in (-2e-4, -1e-4, 1e-4, 2e-4)]
        except Exception:
            return None
    slopes = (at[2] - at[1]) / 2e-4, (at[3] - at[0]) / 4e-4
    return slopes[0] if np.isfinite(slopes[0]) and np.allclose(*slopes, rtol=1e-3, atol=1e-6) else None


def verdict(f, cls, call):
    """right, refused, wrong, or what was raised; None where there is nothing to compare with."""
    CALL.update({"f": f, "class": cls, "call": call})
    expected = difference()
    if expected is None:
        return None
    try:
        found = derivative()
    except DerivativeError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "right" if np.isclose(found, expected, rtol=1e-4, atol=1e-6) else f"wrong: {found}, not {expected}"
