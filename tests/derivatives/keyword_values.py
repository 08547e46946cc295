"""For every keyword argument that a function documents: a value, to see how its derivative does with it.

`variants(f, args, kwargs, y)` gives the keywords that a call leaves out, each with values to try;
`documented(f)` names all.
"""

from __future__ import annotations

import inspect

import numpy as np
from derivative_checker import leaves
from report_examples import Fresh

UFUNC = ("out", "where", "casting", "order", "dtype", "subok")
OF_CORES = ("out", "casting", "order", "dtype", "subok", "axes")
OF_ONE_CORE = (*OF_CORES, "axis", "keepdims")
"""Of those that go along one axis, as vecdot."""

OF_METHODS = {"reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
              "accumulate": ("axis", "dtype", "out"), "outer": UFUNC}  # fmt: skip
NOT_OF_THE_VALUE = frozenset({"like", "device", "signature"})
"""Where the result is made, or by whom."""


def documented(f):
    """The keyword arguments of a function, those after its first parameter."""
    if isinstance(f, np.ufunc):
        names = UFUNC if f.signature is None else OF_ONE_CORE if f.signature == "(n),(n)->()" else OF_CORES
        return [name for name in names if _survives(f, name)]
    if isinstance(getattr(f, "__self__", None), np.ufunc):
        return list(OF_METHODS.get(f.__name__, ()))
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters[1:] if p.kind in named and p.name not in NOT_OF_THE_VALUE]


def _survives(f, name):
    """A mask has the ufuncs of SciPy 1.17 write past the end of what is allocated, without any derivative."""
    return name != "where" or getattr(np, f.__name__, None) is f


def variants(f, args, kwargs, y):
    """(keyword, values): what a call that returns y may be given besides, by the first that it takes."""
    for name in documented(f):
        if name not in kwargs and name not in positional(f, args):
            values = [v(args) if callable(v) else v for v in VALUES.get(name, ())]
            yield name, [more for value in values for more in _with(f, name, value, y, args)]


def positional(f, args):
    """Names of the parameters that `args` are for, by position; those of `*args` have none."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in by_position][: len(args)]


def _with(f, name, value, y, args):
    """The keywords, one or two, that say `name=value`."""
    if name == "out":
        return [{"out": out} for out in _made("np.empty({}, {})", y)]
    if name == "where" and (isinstance(f, np.ufunc) or getattr(f, "__name__", "") == "outer"):
        shape = np.shape(y[0] if isinstance(y, tuple) else y)
        return [{"where": _mask(shape), "out": out} for out in _made("np.full({}, 0.3, {})", y)]
    if name == "where":
        masks = [_mask(np.shape(args[0])), _but_one(np.shape(args[0]))] if args else [True]
        more = [{}, {"initial": 0.7}] if "initial" in documented(f) else [{}]
        return [{"where": mask, **initial} for mask in masks for initial in more]
    if name == "weights" and "method" in documented(f):
        return [{"weights": value, "method": "inverted_cdf"}]
    if name == "dtype" and isinstance(y, (np.ndarray, np.generic)):
        return [{"dtype": dtype} for dtype in (np.result_type(y, *leaves(args)), y.dtype, bool)]
    return [{name: value}]


def _made(text, y):
    """What `out=` takes for a result: an array, or a tuple of them."""
    if isinstance(y, tuple):
        each = [made.text for part in y for made in _made(text, part)]
        return [Fresh(f"({', '.join(each)})")] if len(each) == len(y) else []
    if not isinstance(y, (np.ndarray, np.generic)):
        return []
    return [Fresh(text.format(np.shape(y), f"np.dtype({y.dtype.str!r})"))]


def _mask(shape):
    n = int(np.prod(shape))
    return (np.arange(n) % 3 > 0).reshape(shape)


def _but_one(shape):
    return (np.arange(int(np.prod(shape))) != 1).reshape(shape)


def _like_first(args):
    """Of its shape; nothing where it has none."""
    return np.cos(np.arange(1.0, np.size(args[0]) + 1.0)).reshape(np.shape(args[0]))


def _positive_like_first(args):
    return 1.5 + _like_first(args)


def _of_observations(args):
    return np.arange(1, np.shape(args[0])[-1] + 1)


def _of_first_axis(args):
    return np.arange(1.0, len(args[0]) + 1.0)


def _order(args):
    return np.argsort(args[0])


VALUES = {
    "out": [None], "where": [None], "dtype": [None], "casting": ["same_kind"], "order": ["C", 2, None],
    "subok": [False], "keepdims": [True], "axis": [0, -1, (0,)], "initial": [0.7],
    "axes": [(0, 1), (0,), [(-2, -1)] * 3, [(-1,), (-1,), ()], [(-2, -1), (-1,), (-1,)],
             [(-1,), (-2, -1), (-1,)]],
    "ddof": [1], "overwrite_input": [False], "copy": [True], "stable": [True],
    "kind": ["stable", "introselect", "linear"], "decimals": [1],
    "offset": [1], "axis1": [0], "axis2": [1], "k": [1], "n": [1, 4], "norm": ["ortho", "forward"],
    "s": [(4, 4), (4,)], "mode": ["clip", "full", "same"], "method": ["midpoint", "direct", "fft"],
    "weights": [np.array([0.2, 0.5, 0.3]), _like_first, _of_first_axis, _positive_like_first],
    "returned": [True],
    "bias": [True], "rowvar": [False],
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
    "y": [_like_first], "fweights": [_of_observations], "aweights": [_of_observations], "w": [_of_first_axis],
    "full": [False], "cov": [False], "side": ["right"], "sorter": [_order], "allow_singular": [False],
    "disp": [False], "blocksize": [64], "ind": [1, 2], "optional": [None],
    "tol": [100], "atol": [1e-8], "abs_tol": [1e-9], "rel_tol": [1e-9], "ndmax": [3], "start": [2.0],
    "maxpts": [10000], "abseps": [1e-5], "releps": [1e-5], "rng": [None], "lower_limit": [None],
    "Dfun": [None], "col_deriv": [False], "full_output": [False], "tfirst": [False], "printmessg": [False],
    "ixpr": [False], "tcrit": [np.array([0.5])], "ml": [None], "mu": [None], "h0": [0.01], "hmax": [0.5],
    "mean": [0.3], "axisa": [0, -1], "axisb": [0, -1], "axisc": [0, -1],
    "hmin": [1e-9], "mxstep": [5000], "mxhnil": [1], "mxordn": [12], "mxords": [5],
}  # fmt: skip


__all__ = ["documented", "positional", "variants"]
