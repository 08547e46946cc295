"""For every keyword argument that a function documents: a value, to see how its derivative does with it.

`variants(f, args, kwargs)` gives (keyword, function of the arguments) for those that `kwargs` leaves out and
that have a value here; `documented(f)` names all.
"""

from __future__ import annotations

import inspect

import numpy as np

UFUNC = ("out", "where", "casting", "order", "dtype", "subok")
NOT_OF_THE_VALUE = frozenset({"like", "device", "signature"})
"""Where the result is made, or by whom."""


def documented(f):
    """The keyword arguments of a function, those after its first parameter."""
    if isinstance(f, np.ufunc):
        return list(UFUNC)
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters[1:] if p.kind in named and p.name not in NOT_OF_THE_VALUE]


def variants(f, args, kwargs):
    """(keyword, g): g(*args, **kwargs) is f with that keyword too. Only such as `f` takes here."""
    given = set(kwargs) | set(positional(f, args))
    for name in documented(f):
        if name in given:
            continue
        for value in VALUES.get(name, ()):
            g = _with(f, name, value, f(*args, **kwargs), args)
            if g is not None and _runs(g, args, kwargs):
                yield name, g
                break


def positional(f, args):
    """Names of the parameters that `args` are for, by position; those of `*args` have none."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in by_position][: len(args)]


def _runs(g, args, kwargs):
    try:
        g(*args, **kwargs)
    except (TypeError, ValueError, np.exceptions.AxisError, NotImplementedError, AttributeError, IndexError):
        return False
    return True


def _with(f, name, value, y, args):
    if name == "out":
        if not isinstance(y, (np.ndarray, np.generic)):
            return None
        return lambda *a, **k: f(*a, **k, out=np.empty(np.shape(y), y.dtype))
    if name == "where" and isinstance(f, np.ufunc):
        if not isinstance(y, (np.ndarray, np.generic)):
            return None
        mask = _mask(np.shape(y))
        return lambda *a, **k: f(*a, **k, where=mask, out=np.full(np.shape(y), 0.3, y.dtype))
    if name == "where":
        mask = _mask(np.shape(args[0]))
        return lambda *a, **k: f(*a, **k, where=mask)
    if name == "dtype":
        dtype = np.result_type(y) if isinstance(y, (np.ndarray, np.generic)) else float
        return lambda *a, **k: f(*a, **k, dtype=dtype)
    return lambda *a, **k: f(*a, **{**k, name: value})


def _mask(shape):
    n = int(np.prod(shape))
    return (np.arange(n) % 3 > 0).reshape(shape)


VALUES = {
    "out": [None], "where": [None], "dtype": [None], "casting": ["same_kind"], "order": ["C", 2],
    "subok": [False], "keepdims": [True], "axis": [0, -1, (0,)], "axes": [(0, 1), (0,)], "initial": [0.7],
    "ddof": [1], "overwrite_input": [False], "copy": [True], "kind": ["stable", "linear"], "stable": [True],
    "offset": [1], "axis1": [0], "axis2": [1], "k": [1], "n": [1, 4], "norm": ["ortho", "forward"],
    "s": [(4, 4), (4,)], "mode": ["clip", "full", "same"], "method": ["midpoint", "direct", "fft"],
    "weights": [np.array([0.2, 0.5, 0.3])], "returned": [True], "bias": [True], "rowvar": [False],
    "prepend": [0.5], "append": [0.5], "period": [2.0], "left": [0.1], "right": [0.2], "nan": [0.0],
    "posinf": [1.0], "neginf": [-1.0], "deg": [True], "ord": [None, 1], "rcond": [1e-12], "rtol": [1e-12],
    "hermitian": [False], "full_matrices": [False], "compute_uv": [True], "UPLO": ["L"], "upper": [True],
    "base": [2.0], "num": [5], "endpoint": [False], "retstep": [False], "dx": [0.5],
    "x": [np.array([0.0, 0.3, 0.9])], "edge_order": [1], "varargs": [0.5], "shape": [(2, 3)], "shift": [1],
    "sorted": [True], "equal_nan": [True], "return_index": [False], "return_inverse": [False],
    "return_counts": [False], "trim": ["f"], "increasing": [True], "N": [4], "optimize": [True],
    "a_min": [-0.5], "a_max": [0.5], "min": [-0.5], "max": [0.5], "ndmin": [2], "strict": [False],
    "to_begin": [0.5], "to_end": [0.5], "indexing": ["ij"], "sparse": [True], "correction": [1],
    "minlength": [6], "m": [1, 3], "discont": [3.0], "interpolation": [None], "lower": [True], "trans": [1],
    "unit_diagonal": [True], "overwrite_b": [False], "overwrite_ab": [False], "overwrite_a": [False],
    "check_finite": [False], "b": [None], "return_sign": [False], "keep_dims": [True], "ndim": [2],
    "disp": [None], "blocksize": [64], "ind": [1], "optional": [None],
}  # fmt: skip


__all__ = ["documented", "positional", "variants"]
