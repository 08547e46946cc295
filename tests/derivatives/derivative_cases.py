"""What the rules are tested on: per case a callable and a strategy of (args, kwargs).

    for case in CASES: case.callee, case.arguments (a hypothesis strategy), case.name

Arrays are drawn as (shape, seed, layout), their elements spread over an interval without ties, so that
finite differences see one side of every kink. Ties and edges have tests of their own.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import importlib.util
import math
import operator
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ctxdispatch_contexts.derivatives import linear, namespaces, padding, shapes, special
from ctxdispatch_contexts.derivatives.eigenvalues import equal, free
from ctxdispatch_contexts.derivatives.linalg import cofactors
from ctxdispatch_contexts.derivatives.rows import ROWS


@dataclass
class Case:
    name: str
    callee: Any
    arguments: Any
    options: dict[str, Any] = field(default_factory=dict)


CASES: list[Case] = []


def name_of(callee: Any) -> str:
    """The same in every process: a repr without addresses."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(callee))


def case(callee, *, label="", **options):
    """Register the function below, which draws (args, kwargs), as a case of `callee`."""

    def register(draw_arguments):
        name = f"{getattr(callee, '__qualname__', getattr(callee, '__name__', repr(callee)))}"
        module = getattr(callee, "__module__", None) or getattr(
            getattr(callee, "__objclass__", None), "__name__", ""
        )
        text = f"{module}.{name}" + (f"[{label}]" if label else "")
        CASES.append(Case(text, callee, st.composite(draw_arguments)(), options))
        return draw_arguments

    return register


def each(*callees, **options):
    """Register the function below as a case of every callee."""

    def register(draw_arguments):
        for callee in callees:
            case(callee, **options)(draw_arguments)
        return draw_arguments

    return register


# -- drawing -------------------------------------------------------------------------------------------------


def elements(shape, low, high, seed):
    """One element per cell of an even grid over [low, high], in random order: never two within a step."""
    rng = np.random.default_rng(seed)
    n = max(math.prod(shape), 1)
    cells = (rng.permutation(n)[: math.prod(shape)] + rng.uniform(0.3, 0.7, math.prod(shape))) / n
    return (low + (high - low) * cells).reshape(shape)


def laid_out(a, layout):
    if a.ndim == 0 or layout == "C":
        return a
    if layout == "F":
        return np.asfortranarray(a)
    if layout == "reversed":
        return np.ascontiguousarray(a[::-1])[::-1]
    wide = np.full((*a.shape[:-1], 2 * a.shape[-1]), np.nan, a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def array(draw, shape, low=-2.0, high=2.0, complex_=False):
    """A float array of `shape`, in any memory layout; with complex_ sometimes a complex one."""
    seed = draw(st.integers(0, 2**20))
    a = elements(shape, low, high, seed)
    if complex_ and draw(st.booleans()):
        a = np.asarray(a + 1j * elements(shape, -1.0, 1.5, seed + 1))
    return laid_out(a, draw(st.sampled_from(["C", "F", "reversed", "strided"])))


def number(draw, low=-2.0, high=2.0):
    return draw(st.floats(low, high, exclude_min=True, exclude_max=True).map(lambda x: round(x, 3) + 1.23e-3))


def shape_of(draw, low=0, high=3, smallest=1):
    return tuple(draw(st.lists(st.integers(smallest, 3), min_size=low, max_size=high)))


def axis_of(draw, ndim, none=True, tuples=False):
    choices = list(range(-ndim, ndim)) + ([None] if none else [])
    if tuples and ndim > 1:
        choices += [(0, 1), (-1, 0), tuple(range(ndim))]
    return draw(st.sampled_from(choices))


def flag(draw):
    return draw(st.booleans())


def broadcastable(draw, n):
    """n shapes that broadcast together; the first may be smaller than the result."""
    full = shape_of(draw, 0, 3, 0)
    shapes = []
    for _ in range(n):
        start = draw(st.integers(0, len(full)))
        shapes.append(tuple(1 if flag(draw) and k else k for k in full[start:]))
    return shapes


# -- elementwise rows ----------------------------------------------------------------------------------------

DOMAINS = {
    "sqrt": [(0.1, 3)], "log": [(0.1, 3)], "log2": [(0.1, 3)], "log10": [(0.1, 3)], "log1p": [(-0.8, 3)],
    "cbrt": [(0.2, 3)], "asin": [(-0.9, 0.9)], "acos": [(-0.9, 0.9)], "atanh": [(-0.9, 0.9)],
    "acosh": [(1.1, 3)],
    "tan": [(-1.2, 1.2)], "reciprocal": [(0.3, 3)], "truediv": [(-2, 2), (0.4, 2)], "floordiv": [(0.01,
    0.38), (0.4, 2)], "atan2": [(0.1, 2), (-2, 2)],
    "mod": [(0.01, 0.38), (0.4, 2)], "fmod": [(-0.19, 0.19), (0.4, 2)], "pow": [(0.2, 2), (-2, 3)],
    "abs": [(0.1, 2)], "fabs": [(-2, -0.1)], "copysign": [(0.1, 2), (-2, -0.1)], "gamma": [(0.2, 4)],
    "lgamma": [(0.2, 20)], "digamma": [(0.2, 9)], "floor": [(0.1, 0.9)], "ceil": [(0.1, 0.9)],
    "trunc": [(0.1, 0.9)], "rint": [(0.6, 1.4)], "sign": [(0.1, 2)], "maximum": [(-2, 2), (-2.02, 2.3)],
    "minimum": [(-2, 2), (-2.02, 2.3)], "fmax": [(-2, 2), (-2.02, 2.3)], "fmin": [(-2, 2), (-2.02, 2.3)],
    "heaviside": [(0.1, 2), (-2, 2)],
}  # fmt: skip
NOT_HERE = {"ulp", "nextafter", "ldexp", "polygamma"}
HOLOMORPHIC = set(
    "add sub mul truediv square sin cos exp tan sinh cosh tanh asinh log sqrt neg pos reciprocal".split()
)


def domain(name, i):
    domains = DOMAINS.get(name, [(-2.0, 2.0)])
    return domains[min(i, len(domains) - 1)]


def elementwise_case(name, callee, kind):
    params = ROWS[name].params

    def draw_arguments(draw):
        if kind == "number":
            return tuple(number(draw, *domain(name, i)) for i in range(len(params))), {}
        if kind == "complex":
            return tuple(
                number(draw, *domain(name, i)) + 1j * number(draw, 0.1, 0.9) for i in range(len(params))
            ), {}
        shapes = broadcastable(draw, len(params))
        return tuple(array(draw, s, *domain(name, i), name in HOLOMORPHIC) for i, s in enumerate(shapes)), {}

    module = "np" if isinstance(callee, np.ufunc) else getattr(callee, "__module__", "")
    label = f"row {name}: {module} {kind}"
    CASES.append(Case(label, callee, st.composite(draw_arguments)()))


for _name in sorted(ROWS.keys() - NOT_HERE):
    for _callee in namespaces.callees(_name):
        if getattr(_callee, "__module__", "") == "cmath":
            elementwise_case(_name, _callee, "complex")
            continue
        if not isinstance(_callee, np.ufunc) and _callee is not np.sinc:
            elementwise_case(_name, _callee, "number")
        if getattr(_callee, "__module__", "") not in ("math", special.__name__):
            elementwise_case(_name, _callee, "array")


@case(math.ldexp)
def _(draw):
    return (number(draw), draw(st.integers(-3, 3))), {}


@case(np.ldexp)
def _(draw):
    return (array(draw, shape_of(draw)), draw(st.integers(-3, 3))), {}


@case(special.polygamma)
def _(draw):
    return (draw(st.integers(0, 4)), number(draw, 0.3, 9)), {}


@each(operator.pow, np.power, label="whole exponent")
def _(draw):
    return (array(draw, shape_of(draw), 0.3, 2), draw(st.integers(-2, 4))), {}


@each(operator.mul, np.maximum, operator.sub, label="with a number")
def _(draw):
    return (array(draw, shape_of(draw, smallest=0), 0.1, 2), number(draw)), {}


# -- reductions ----------------------------------------------------------------------------------------------


def reduction(draw, low=-2.0, high=2.0, complex_=False, smallest=0, where=True, tuples=True, **kwargs):
    shape = shape_of(draw, 0, 3, smallest)
    kwargs.update(axis=axis_of(draw, len(shape), tuples=tuples), keepdims=flag(draw))
    if where and flag(draw):
        kwargs["where"] = draw(
            st.sampled_from(
                [True, np.arange(shape[-1] if shape else 1)[: shape[-1] if shape else 1] % 3 != 1]
            )
        )
        if not shape:
            kwargs["where"] = True
    return (array(draw, shape, low, high, complex_),), kwargs


@each(np.sum, np.ndarray.sum, np.nansum, np.add.reduce)
def _(draw):
    return reduction(draw, complex_=True)


@each(np.mean, np.ndarray.mean, np.nanmean)
def _(draw):
    return reduction(draw, smallest=1, complex_=True, where=False)


@case(np.mean, label="where")
def _(draw):
    a = array(draw, (2, 4))
    return (a,), {
        "axis": axis_of(draw, 2),
        "where": np.array([[True, False, True, True], [True, True, False, True]]),
    }


@each(np.var, np.std, np.ndarray.var, np.ndarray.std, np.nanvar, np.nanstd)
def _(draw):
    shape = (*shape_of(draw, 0, 2), 3)
    kwargs = {
        "axis": draw(st.sampled_from([None, -1, len(shape) - 1])),
        "keepdims": flag(draw),
        "ddof": draw(st.integers(0, 1)),
    }
    if flag(draw):
        kwargs["where"] = np.array([True, False, True])
    return (array(draw, shape, complex_=True),), kwargs


@each(np.max, np.min, np.ndarray.max, np.ndarray.min, np.nanmax, np.nanmin)
def _(draw):
    return reduction(draw, where=False, smallest=1)


@each(np.max, np.min, label="where, initial")
def _(draw):
    kwargs = {"axis": axis_of(draw, 2, tuples=True), "keepdims": flag(draw)}
    callee_initial = draw(st.sampled_from([0.0]))
    return (array(draw, (2, 3)),), {
        **kwargs,
        "initial": callee_initial,
        "where": np.array([True, False, True]),
    }


@each(np.maximum.reduce, np.minimum.reduce, np.logaddexp.reduce, np.multiply.reduce, np.fmax.reduce)
def _(draw):
    shape = shape_of(draw, 1, 3)
    return (array(draw, shape),), {"axis": axis_of(draw, len(shape)), "keepdims": flag(draw)}


@each(np.prod, np.ndarray.prod, np.nanprod)
def _(draw):
    return reduction(draw, complex_=True)


@case(np.prod, label="with zeros")
def _(draw):
    shape = (*shape_of(draw, 0, 2), 3)
    a = array(draw, shape).copy()
    a.flat[draw(st.integers(0, a.size - 1))] = 0.0
    a.flat[draw(st.integers(0, a.size - 1))] = 0.0
    return (a,), {"axis": axis_of(draw, len(shape), tuples=True), "keepdims": flag(draw)}


@each(np.cumsum, np.ndarray.cumsum, np.cumprod, np.ndarray.cumprod)
def _(draw):
    shape = shape_of(draw, 1, 3)
    return (array(draw, shape),), {"axis": axis_of(draw, len(shape))}


@case(np.cumprod, label="with zeros")
def _(draw):
    a = array(draw, (2, 4)).copy()
    a.flat[draw(st.integers(0, 7))] = 0.0
    return (a,), {"axis": axis_of(draw, 2)}


@each(np.add.accumulate, np.multiply.accumulate, np.maximum.accumulate, np.minimum.accumulate)
def _(draw):
    shape = shape_of(draw, 1, 3)
    return (array(draw, shape),), {"axis": axis_of(draw, len(shape), none=False)}


@each(np.trace, np.ndarray.trace)
def _(draw):
    ndim = draw(st.integers(2, 3))
    axes = draw(st.permutations(range(ndim)))
    return (array(draw, (3, 2, 4)[:ndim]), draw(st.integers(-1, 1)), axes[0], axes[1]), {}


# -- products ------------------------------------------------------------------------------------------------


@each(np.matmul, operator.matmul)
def _(draw):
    batch = draw(
        st.sampled_from([((), ()), ((2,), ()), ((), (2,)), ((2,), (2,)), ((3, 1), (2,)), ((1,), (3,))])
    )
    m, k, n = (draw(st.integers(0, 3)) for _ in range(3))
    k = max(k, 1)
    left, right = draw(st.sampled_from([((m, k), (k, n)), ((k,), (k, n)), ((m, k), (k,)), ((k,), (k,))]))
    left = batch[0] + left if len(left) == 2 else left
    right = batch[1] + right if len(right) == 2 else right
    return (array(draw, left, complex_=True), array(draw, right, complex_=True)), {}


@each(np.dot, np.ndarray.dot)
def _(draw):
    left, right = draw(st.sampled_from([
        ((), ()), ((), (2, 3)), ((2,), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)),
        ((2, 3), (2, 3, 2)), ((4, 2, 3), (3,)), ((3,), (2, 3, 4)), ((2, 2, 3), (3, 2)),
    ]))  # fmt: skip
    return (array(draw, left, complex_=True), array(draw, right)), {}


@case(np.inner)
def _(draw):
    left, right = draw(
        st.sampled_from(
            [
                ((), ()),
                ((2,), ()),
                ((3,), (3,)),
                ((2, 3), (3,)),
                ((3,), (2, 3)),
                ((2, 3), (4, 3)),
                ((2, 2, 3), (3,)),
            ]
        )
    )
    return (array(draw, left), array(draw, right, complex_=True)), {}


@each(np.outer, np.multiply.outer)
def _(draw):
    return (array(draw, shape_of(draw, 1, 2)), array(draw, shape_of(draw, 1, 2), complex_=True)), {}


@case(np.vdot)
def _(draw):
    n = draw(st.integers(1, 4))
    return (array(draw, (n,), complex_=True), array(draw, (n,), complex_=True)), {}


@case(np.tensordot)
def _(draw):
    left, right, axes = draw(st.sampled_from([
        ((2, 3), (3, 4), 1), ((2, 3), (2, 3), 2), ((2,), (3,), 0), ((2, 3, 4), (3, 4, 2), 2), ((2, 3, 4),
        (4, 3), ([1, 2], [1, 0])),
        ((2, 3, 4), (4, 2, 5), ([0, 2], [1, 0])), ((2, 3), (4, 3), (1, 1)), ((2, 3), (4, 3), (-1, -1)),
        ((3, 2), (3, 2), ([1, 0], [1, 0])),
    ]))  # fmt: skip
    return (array(draw, left, complex_=True), array(draw, right)), {"axes": axes}


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ij->", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)), ("i,i->", (3,), (3,)), ("i,j->ij", (2,), (3,)), ("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    ("...i->...", (2, 3)), ("...ij,...jk", (2, 2, 3), (2, 3, 2)), ("ij,jk,kl->il", (2, 3), (3, 2), (2, 2)),
    ("ij,ij,ij->i", (2, 3), (2, 3), (2, 3)), ("iij->ij", (2, 2, 3)), ("iij,j->i", (2, 2, 3), (3,)),
    ("ij,kl->", (2, 3), (1, 2)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("ij,j->i", (2, 3), (1,)), ("ba", (2, 3)), ("i...,i...->...",
    (2, 3), (2, 3)),
    ("i,->i", (3,), ()), ("ijk,j->ik", (2, 0, 3), (0,)), ("ij...,jk...->ik...", (2, 3, 2), (3, 2, 1)),
]  # fmt: skip


@case(np.einsum)
def _(draw):
    subscripts, *shapes = draw(st.sampled_from(EINSUMS))
    return (subscripts, *[array(draw, shape) for shape in shapes]), {"optimize": flag(draw)}


@case(np.einsum, label="subscripts as lists")
def _(draw):
    output = draw(st.sampled_from([([0, 2],), ()]))
    return (array(draw, (2, 3)), [0, 1], array(draw, (3, 4)), [1, 2], *output), {}


@case(np.cross)
def _(draw):
    left, right, kwargs = draw(st.sampled_from([
        ((3,), (3,), {}), ((2, 3), (3,), {}), ((3,), (2, 3), {}), ((3, 2), (3, 2), {"axis": 0}), ((3, 2),
        (2, 3), {"axisa": 0, "axisc": 0}),
    ]))  # fmt: skip
    return (array(draw, left), array(draw, right)), kwargs


@case(np.convolve)
def _(draw):
    return (array(draw, (draw(st.integers(1, 5)),)), array(draw, (draw(st.integers(1, 5)),))), {
        "mode": draw(st.sampled_from(["full", "same", "valid"]))
    }


# -- shapes --------------------------------------------------------------------------------------------------


@each(np.reshape, np.ndarray.reshape)
def _(draw):
    shape, new = draw(
        st.sampled_from(
            [((2, 3), (3, 2)), ((2, 3), -1), ((), (1, 1)), ((1,), ()), ((0, 3), (3, 0)), ((2, 1, 3), (6,))]
        )
    )
    return (array(draw, shape), new), {"order": draw(st.sampled_from("CFA"))}


@case(np.ndarray.reshape, label="varargs")
def _(draw):
    return (array(draw, (2, 3)), 3, 2), {}


@each(np.ravel, np.ndarray.ravel, np.ndarray.flatten)
def _(draw):
    return (array(draw, shape_of(draw, 0, 3)),), {"order": draw(st.sampled_from("CFAK"))}


@case(np.transpose)
def _(draw):
    shape = shape_of(draw, 0, 4)
    axes = draw(
        st.one_of(
            st.none(), st.permutations(range(len(shape))).map(tuple), st.permutations(range(-len(shape), 0))
        )
    )
    return (array(draw, shape), axes), {}


@case(np.ndarray.transpose)
def _(draw):
    shape = shape_of(draw, 0, 4)
    axes = draw(st.permutations(range(len(shape))))
    return (array(draw, shape), *draw(st.sampled_from([(), (None,), (tuple(axes),), tuple(axes)]))), {}


@case(np.swapaxes)
def _(draw):
    shape = shape_of(draw, 1, 3)
    return (array(draw, shape), axis_of(draw, len(shape), False), axis_of(draw, len(shape), False)), {}


@case(np.moveaxis)
def _(draw):
    source, destination = draw(
        st.sampled_from([(0, 1), (-1, 0), (2, 2), ((0, 1), (2, 0)), ((-1, 1), (0, 1))])
    )
    return (array(draw, (2, 3, 4)), source, destination), {}


@case(np.rollaxis)
def _(draw):
    return (array(draw, (2, 3, 4)), draw(st.integers(-3, 2)), draw(st.integers(-3, 3))), {}


@case(np.lib.stride_tricks.sliding_window_view)
def _(draw):
    windows = [((2, 3),), (2, 0), (3, -1), ((2, 2), (0, 0)), ((1, 4), (1, 0)), ((4, 5), None)]
    return (array(draw, (4, 5)), *draw(st.sampled_from(windows))), {}


@case(np.expand_dims)
def _(draw):
    return (array(draw, shape_of(draw, 1, 2)), draw(st.sampled_from([0, -1, 1, (0, 1), (0, -1)]))), {}


@each(np.squeeze, np.ndarray.squeeze)
def _(draw):
    return (array(draw, draw(st.sampled_from([(1, 2), (1,), (1, 1), (2, 1, 3)]))),), {}


@each(np.atleast_1d, np.atleast_2d, np.atleast_3d)
def _(draw):
    return (array(draw, shape_of(draw)),), {}


@each(np.atleast_1d, np.atleast_2d, np.atleast_3d, label="several")
def _(draw):
    return (array(draw, shape_of(draw)), array(draw, shape_of(draw))), {}


@case(np.broadcast_to)
def _(draw):
    shape, full = draw(
        st.sampled_from(
            [((), ()), ((), (2, 3)), ((1,), (4,)), ((2, 1), (3, 2, 2)), ((1,), (0,)), ((2,), (2,))]
        )
    )
    return (array(draw, shape), full), {}


@case(np.broadcast_arrays)
def _(draw):
    return tuple(array(draw, s) for s in [(2, 1), (3,), ()]), {}


@each(np.flip)
def _(draw):
    shape = shape_of(draw, 1, 3)
    return (array(draw, shape), axis_of(draw, len(shape), tuples=True)), {}


@each(np.flipud, np.fliplr, np.rot90)
def _(draw):
    return (array(draw, shape_of(draw, 2, 3)),), {}


@case(np.rot90, label="k")
def _(draw):
    return (
        array(draw, (2, 3, 4)),
        draw(st.integers(-3, 5)),
        draw(st.sampled_from([(0, 1), (2, 0), (-1, 1)])),
    ), {}


@case(np.roll)
def _(draw):
    shift, axis = draw(
        st.sampled_from([(1, None), (-2, 0), (1, -1), ((1, 2), (0, 1)), ((1, -1), (0, 0)), (2, (0, 1))])
    )
    return (array(draw, (3, 4)), shift, axis), {}


@each(np.repeat, np.ndarray.repeat)
def _(draw):
    repeats, axis = draw(
        st.sampled_from(
            [
                (2, None),
                (3, 0),
                (2, -1),
                ([1, 0, 2], 1),
                ([2, 1], 0),
                (0, 1),
                ([1, 2, 0, 1, 3, 1], None),
                ([2], 0),
            ]
        )
    )
    return (array(draw, (2, 3)), repeats, axis), {}


@case(np.tile)
def _(draw):
    return (array(draw, shape_of(draw, 0, 3)), draw(st.sampled_from([2, (2, 3), (1, 2, 1, 2), 0, ()]))), {}


@case(np.resize)
def _(draw):
    return (array(draw, (2, 3)), draw(st.sampled_from([(4,), (3, 5), (2, 3)]))), {}


@case(np.pad)
def _(draw):
    mode = draw(st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
    width = draw(st.sampled_from([1, (1, 2), ((1, 0), (0, 2)), ((2,), (1,)), ((0, 0), (0, 0))]))
    return (array(draw, (3, 4)), width), {"mode": mode}


@each(np.diagonal, np.ndarray.diagonal)
def _(draw):
    ndim = draw(st.integers(2, 3))
    axes = draw(st.permutations(range(ndim)))
    return (array(draw, (3, 2, 4)[:ndim]), draw(st.integers(-1, 1)), axes[0], axes[1]), {}


@each(np.diag, np.tril, np.triu)
def _(draw):
    return (array(draw, shape_of(draw, 1, 2)), draw(st.integers(-1, 1))), {}


@case(np.diagflat)
def _(draw):
    return (array(draw, shape_of(draw, 0, 2)), draw(st.integers(-1, 1))), {}


@each(
    np.copy,
    np.ndarray.copy,
    np.array,
    np.asarray,
    np.ascontiguousarray,
    np.nan_to_num,
    np.real,
    np.imag,
    np.conj,
    np.angle,
    np.ndarray.conj,
)
def _(draw):
    return (array(draw, shape_of(draw), 0.2, 2, complex_=True),), {}


@each(np.ndarray.astype)
def _(draw):
    return (array(draw, shape_of(draw)), draw(st.sampled_from([float, np.complex128]))), {}


@case(np.array, label="of lists")
def _(draw):
    if flag(draw):
        return ([number(draw), number(draw)],), {"ndmin": draw(st.integers(0, 3))}
    return ([[number(draw), 1], (array(draw, ()), number(draw))],), {}


@case(np.array, label="of arrays")
def _(draw):
    return ([array(draw, (2,)), array(draw, (2,))],), {}


@case(np.array, label="of a number")
def _(draw):
    return (number(draw),), {"ndmin": draw(st.integers(0, 2))}


@case(np.full)
def _(draw):
    return ((2, 3), draw(st.sampled_from([1.5, np.float64(2.5), np.arange(3.0)]))), {}


@case(np.full_like, active=[1])
def _(draw):
    return (array(draw, (2, 3)), number(draw)), {}


@case(np.linspace)
def _(draw):
    args = (number(draw), number(draw)) if flag(draw) else (array(draw, (2,)), array(draw, (3, 1)))
    return (*args, draw(st.integers(1, 5))), {"endpoint": flag(draw)}


# -- stacking ------------------------------------------------------------------------------------------------


@case(np.concatenate)
def _(draw):
    axis, shapes = draw(
        st.sampled_from(
            [
                (0, [(2, 3), (1, 3)]),
                (1, [(2, 3), (2, 0)]),
                (-1, [(2, 2), (2, 1), (2, 3)]),
                (None, [(2, 3), (1,), ()]),
                (0, [(3,)]),
            ]
        )
    )
    arrays = [array(draw, s) for s in shapes]
    return (arrays if flag(draw) else tuple(arrays), axis), {}


@case(np.stack)
def _(draw):
    shape = shape_of(draw, 0, 2)
    return (
        [array(draw, shape) for _ in range(draw(st.integers(1, 3)))],
        draw(st.integers(-len(shape) - 1, len(shape))),
    ), {}


@each(np.concatenate, np.stack, np.vstack, np.hstack, label="an array")
def _(draw):
    return (array(draw, (2, 3, 2)),), {}


@each(np.vstack, np.hstack, np.dstack, np.column_stack)
def _(draw):
    shapes = draw(st.sampled_from([[(3,), (3,)], [(2, 3), (2, 3)], [(2, 3, 2), (2, 3, 2)], [(3,)]]))
    return ([array(draw, s) for s in shapes],), {}


@each(np.hstack, label="numbers")
def _(draw):
    return ([number(draw), array(draw, (2,)), [number(draw), 2]],), {}


@case(np.append)
def _(draw):
    if flag(draw):
        return (array(draw, (2, 3)), array(draw, (1, 3)), 0), {}
    return (array(draw, (2, 3)), draw(st.sampled_from([1.5, np.arange(2.0)]))), {}


@case(np.block)
def _(draw):
    a, b, c, d = (array(draw, s) for s in [(2, 2), (2, 1), (1, 2), (1, 1)])
    return (
        draw(
            st.sampled_from(
                [
                    [[a, b], [c, d]],
                    [a, b],
                    a,
                    [[a], [c]],
                    [1.5, 2.5],
                    [[a, b], [np.ones((1, 3))]],
                    [1.0, np.arange(2.0)],
                ]
            )
        ),
    ), {}


@each(np.split, np.array_split)
def _(draw):
    sections, axis = draw(st.sampled_from([(2, 0), ([1, 3], 0), ([1, 2], 1), (3, -1), ([0, 9], 0)]))
    return (array(draw, (4, 3)), sections, axis), {}


@each(np.hsplit, np.vsplit, np.dsplit)
def _(draw):
    return (array(draw, (2, 2, 2)), 2), {}


@case(np.hsplit, label="vector")
def _(draw):
    return (array(draw, (4,)), [1, 2]), {}


if hasattr(np, "unstack"):

    @case(np.unstack)
    def _(draw):
        return (array(draw, (2, 3)),), {"axis": axis_of(draw, 2, False)}


# -- indexing ------------------------------------------------------------------------------------------------

INDICES = [
    0, -1, slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2), Ellipsis, None, (0,
    1), (slice(None), 1),
    (Ellipsis, 1), (None, 0), (0, Ellipsis, None), np.array([0, 0, 2]), [1, 1], (np.array([0, 0]),
    np.array([1, 1])),
    (np.array([[0], [2]]), np.array([1, 0])), (slice(None), [3, 3, 0]), (0, [1, 1]), np.array([True,
    False, True]),
    np.arange(12).reshape(3, 4) % 5 == 0, (np.array([True, False, True]), 1), (np.array([True, False,
    True]), slice(1, 3)), slice(0, 0),
    ([0, 0], slice(None)), (np.int64(1), np.int64(2)), np.array([], int), (True,), np.array(False),
]  # fmt: skip


@case(operator.getitem)
def _(draw):
    return (array(draw, (3, 4)), draw(st.sampled_from(INDICES))), {}


@each(np.take, np.ndarray.take)
def _(draw):
    indices = draw(st.sampled_from([0, -1, [0, 0, 2], np.array([[1, 1], [0, 2]]), np.array([], int)]))
    return (array(draw, (3, 4, 3)), indices, axis_of(draw, 3)), {}


@case(np.take, label="mode")
def _(draw):
    return (array(draw, (3, 4)), [5, -7, 1], axis_of(draw, 2)), {
        "mode": draw(st.sampled_from(["clip", "wrap"]))
    }


@case(np.take_along_axis)
def _(draw):
    indices, axis = draw(
        st.sampled_from(
            [
                (np.array([[0, 0, 1, 0]]), 0),
                (np.array([[3, 3], [0, 1], [2, 2]]), 1),
                (np.array([[1], [0], [0]]), -1),
                (np.array([0, 5, 5]), None),
                (np.array([[2, 0, 0]]), 1),
                (np.array([[1], [1]]), 0),
            ]
        )
    )
    return (array(draw, (3, 4)), indices, axis), {}


@each(np.compress)
def _(draw):
    return ([True, False, True], array(draw, (3, 4)), axis_of(draw, 2)), {}


@case(np.ndarray.compress)
def _(draw):
    return (array(draw, (3, 4)), [False, True, True]), {"axis": axis_of(draw, 2)}


@case(np.extract)
def _(draw):
    return (np.arange(6).reshape(2, 3) % 2 == 0, array(draw, (2, 3))), {}


@case(np.delete)
def _(draw):
    return (array(draw, (3, 4)), draw(st.sampled_from([1, [0, 2], slice(1, 3)])), axis_of(draw, 2)), {}


@case(np.unique)
def _(draw):
    return (array(draw, shape_of(draw)),), {}


@case(np.where)
def _(draw):
    c, a, b = broadcastable(draw, 3)
    return (array(draw, c) > 0, array(draw, a), array(draw, b, complex_=True)), {}


@case(np.where, label="numbers")
def _(draw):
    return (array(draw, (2, 3)) > 0, number(draw), 0.0), {}


@each(np.choose)
def _(draw):
    return (np.array([0, 1, 1]), [array(draw, (3,)), array(draw, (2, 1))]), {}


@case(np.select)
def _(draw):
    a = array(draw, (4,))
    return ([a > 0.5, a > -0.5], [array(draw, (4,)), array(draw, (4,))], number(draw)), {}


# -- sorting -------------------------------------------------------------------------------------------------


@case(np.sort)
def _(draw):
    shape = shape_of(draw, 1, 3)
    return (array(draw, shape), axis_of(draw, len(shape))), {}


@case(np.partition)
def _(draw):
    return (array(draw, (4, 5)), draw(st.integers(0, 3)), axis_of(draw, 2)), {}


# -- linear algebra ------------------------------------------------------------------------------------------


def regular(draw, n, batch=(), complex_=False):
    return array(draw, (*batch, n, n), -1, 1, complex_) + 2.5 * np.eye(n)


def batch_of(draw):
    return draw(st.sampled_from([(), (), (2,), (2, 1)]))


@case(np.linalg.solve)
def _(draw):
    n, batch = draw(st.integers(1, 3)), batch_of(draw)
    right = draw(st.sampled_from([(n,), (n, 2), (*batch, n, 1)]))
    return (regular(draw, n, batch, True), array(draw, right, complex_=True)), {}


@each(np.linalg.inv, np.linalg.det, cofactors)
def _(draw):
    return (regular(draw, draw(st.integers(1, 3)), batch_of(draw), True),), {}


@case(equal)
def _(draw):
    return (array(draw, (draw(st.integers(1, 3)),)),), {}


@case(free, active={0})
def _(draw):
    n = draw(st.integers(1, 3))
    return (array(draw, (n, n), complex_=True), np.zeros(n, bool)), {}


@case(np.linalg.eigvals)
def _(draw):
    n = draw(st.integers(1, 3))
    return (regular(draw, n, batch_of(draw)) + np.diag(np.arange(n) * 4.0),), {}


@case(np.linalg.eigvals, label="complex pairs")
def _(draw):
    return (array(draw, (2, 2), -0.5, 0.5) + np.array([[1.0, 2.0], [-2.0, 1.0]]),), {}


@case(np.linalg.slogdet)
def _(draw):
    return (regular(draw, draw(st.integers(1, 3)), batch_of(draw), True),), {}


@case(np.linalg.det, label="singular")
def _(draw):
    a = regular(draw, 3).copy()
    a[2] = a[0] - a[1] if flag(draw) else 0.0
    return (a,), {}


# What reads one triangle is given matrices that are not symmetric.


@case(np.linalg.cholesky)
def _(draw):
    n = draw(st.integers(1, 3))
    kwargs = {"upper": True} if flag(draw) else {}
    return (regular(draw, n, batch_of(draw), True) + 2.0 * np.eye(n),), kwargs


def triangle(draw):
    return draw(st.sampled_from([{}, {"UPLO": "U"}, {"UPLO": "l"}]))


@each(np.linalg.eigvalsh, np.linalg.eigh)
def _(draw):
    n = draw(st.integers(1, 3))
    return (regular(draw, n, batch_of(draw)) + np.diag(np.arange(n) * 4.0),), triangle(draw)


@case(np.linalg.eigvalsh, label="complex")
def _(draw):
    n = draw(st.integers(1, 3))
    return (regular(draw, n, batch_of(draw), True) + np.diag(np.arange(n) * 4.0),), triangle(draw)


@case(np.linalg.svd, label="hermitian")
def _(draw):
    a = array(draw, (*batch_of(draw), 3, 3), -1, 1) + np.diag([8.0, -4.0, 12.0])
    return (a,), {"hermitian": True}


@case(np.linalg.svd, label="values, hermitian")
def _(draw):
    a = array(draw, (*batch_of(draw), 3, 3), -1, 1, True) + np.diag([8.0, -4.0, 12.0])
    return (a,), {"hermitian": True, "compute_uv": False}


@case(np.linalg.pinv, label="hermitian")
def _(draw):
    return (regular(draw, draw(st.integers(1, 3)), batch_of(draw), True),), {"hermitian": True}


@case(np.linalg.pinv)
def _(draw):
    shape = draw(st.sampled_from([(2, 3), (3, 2), (3, 3), (2, 4, 2)]))
    return (array(draw, shape, complex_=True) + 9 * np.eye(*shape[-2:]),), {}


@case(np.linalg.qr)
def _(draw):
    m, n = draw(st.sampled_from([(2, 2), (3, 2), (4, 1)]))
    return (array(draw, (m, n)) + 3 * np.eye(m, n),), {}


@case(np.linalg.svd)
def _(draw):
    m, n = draw(st.sampled_from([(2, 2), (3, 2), (2, 3), (3, 3)]))
    return (array(draw, (m, n)) + np.diag([8.0, 4.0, 2.0])[:m, :n], False), {}


@case(np.linalg.svd, label="values")
def _(draw):
    m, n = draw(st.sampled_from([(2, 2), (3, 2), (2, 3)]))
    return (array(draw, (m, n), complex_=True) + np.diag([8.0, 4.0, 2.0])[:m, :n],), {"compute_uv": False}


# -- the linear operations of the rules ---------------------------------------------------------------------


@case(linear.spread)
def _(draw):
    return (array(draw, (2, 1)), (3, 2, 4), np.dtype(float)), {}


PADDINGS = ["constant", "linear_ramp"]


@case(padding.of_values)
def _(draw):
    shape = draw(st.sampled_from([(2, 2), (2,), (1, 2), (2, 1), ()]))
    return (array(draw, (5, 7)), shape, (2, 3), ((1, 2), (3, 1)), draw(st.sampled_from(PADDINGS))), {}


@case(padding.around)
def _(draw):
    shape = draw(st.sampled_from([(2, 2), (2,), (1, 2), (2, 1), ()]))
    return (array(draw, shape), (2, 3), ((1, 2), (3, 1)), draw(st.sampled_from(PADDINGS))), {}


@case(linear.unbroadcast)
def _(draw):
    return (array(draw, (3, 2, 4)), draw(st.sampled_from([(), (2, 1), (1, 4), (3, 2, 4)]))), {}


@case(linear.scatter)
def _(draw):
    index, shape = draw(
        st.sampled_from([(0, (4,)), (np.array([0, 0, 2]), (3, 4)), ((slice(None), [3, 3]), (3, 2))])
    )
    return (array(draw, shape), index, (3, 4), np.dtype(float)), {}


@case(linear.place)
def _(draw):
    return (array(draw, (2, 4)), slice(1, 3), (3, 4), np.dtype(float)), {}


@case(linear.scatter_along)
def _(draw):
    return (array(draw, (3, 2)), np.array([[0, 0], [1, 3], [2, 2]]), 1, (3, 4), np.dtype(float)), {}


@case(linear.pieces)
def _(draw):
    return (array(draw, (3, 4)), (1, 0, 3), 1), {}


@case(linear.layers)
def _(draw):
    return (array(draw, (3, 4)), axis_of(draw, 2, False)), {}


@case(shapes.onto_diagonal)
def _(draw):
    return (array(draw, (2, 3)), (2, 4, 3), 1, 2, 1), {}


# -- numbers -------------------------------------------------------------------------------------------------


@each(float, np.float64, label="number")
def _(draw):
    return (number(draw),), {}


@case(complex)
def _(draw):
    return (number(draw), number(draw)), {}


@case(math.hypot, label="several")
def _(draw):
    return tuple(number(draw, 0.1, 2) for _ in range(draw(st.integers(1, 5)))), {}


@case(math.dist)
def _(draw):
    return ([number(draw), number(draw)], (number(draw, 3, 4), number(draw))), {}


@case(math.fsum)
def _(draw):
    return ([number(draw) for _ in range(3)],), {}


if hasattr(math, "sumprod"):

    @case(math.sumprod)
    def _(draw):
        return ([number(draw), number(draw)], [number(draw), number(draw)]), {}


@each(math.modf, np.modf, math.frexp, np.frexp, label="number")
def _(draw):
    return (number(draw, 1.1, 1.9),), {}


@each(np.modf, np.frexp)
def _(draw):
    return (array(draw, shape_of(draw), 1.1, 1.9),), {}


@case(np.divmod)
def _(draw):
    a, b = broadcastable(draw, 2)
    return (array(draw, a, 0.01, 0.38), array(draw, b, 0.4, 2)), {}


@case(np.ndarray.item)
def _(draw):
    return draw(
        st.sampled_from(
            [
                (np.array([1.5]),),
                (np.arange(4.0).reshape(2, 2), 3),
                (np.arange(4.0).reshape(2, 2), 1, 0),
                (np.array(2.5),),
            ]
        )
    ), {}


@case(np.ndarray.tolist)
def _(draw):
    return (array(draw, shape_of(draw)),), {}


@each(cmath.phase, cmath.polar)
def _(draw):
    return (complex(number(draw, 0.1, 2), number(draw)),), {}


@case(cmath.rect)
def _(draw):
    return (number(draw), number(draw)), {}


@case(np.correlate)
def _(draw):
    n = draw(st.integers(3, 5))
    return (array(draw, (n,)), array(draw, (3,))), {"mode": draw(st.sampled_from(["full", "same", "valid"]))}


@each(np.real_if_close, np.unwrap)
def _(draw):
    return (array(draw, shape_of(draw, 1, 2), -20, 20),), {}


@case(np.bincount)
def _(draw):
    return (np.array([0, 2, 2, 1]), array(draw, (4,))), {}


@case(np.trim_zeros)
def _(draw):
    return (array(draw, (5,), 0.5, 1.0), draw(st.sampled_from(["fb", "f"]))), {}


# -- lowerings -----------------------------------------------------------------------------------------------


def numbers(draw, smallest=1):
    """No two of one size, so that there are no ties under any key."""
    n = draw(st.integers(smallest, 4))
    sizes = elements((n,), 0.1, 2.0, draw(st.integers(0, 2**20))).tolist()
    return [size if flag(draw) else -size for size in sizes]


@each(builtins.sum, math.prod)
def _(draw):
    return (numbers(draw, 0),), {}


@each(builtins.max, builtins.min)
def _(draw):
    if flag(draw):
        return tuple(numbers(draw, 2)), draw(st.sampled_from([{}, {"key": abs}]))
    return (numbers(draw),), draw(st.sampled_from([{}, {"default": 0.0}, {"key": math.cos}]))


@case(builtins.map)
def _(draw):
    return draw(st.sampled_from([(math.sin, [1.0, 2.0]), (operator.add, [1.0, 2.0], [3.0, 4.0, 5.0])])), {}


@case(builtins.filter)
def _(draw):
    return (draw(st.sampled_from([None, bool, lambda x: x > 0])), numbers(draw)), {}


@case(functools.reduce)
def _(draw):
    return (operator.mul, numbers(draw), *draw(st.sampled_from([(), (2.0,)]))), {}


@case(builtins.sorted)
def _(draw):
    return ([*numbers(draw), 2.5],), {"reverse": flag(draw), "key": draw(st.sampled_from([None, abs]))}


@case(builtins.divmod)
def _(draw):
    return (number(draw), number(draw, 0.3, 2)), {}


@case(math.log)
def _(draw):
    return (number(draw, 0.1, 3), number(draw, 1.1, 9)), {}


@each(np.clip, np.ndarray.clip)
def _(draw):
    return (
        array(draw, shape_of(draw, 0, 2)),
        *draw(st.sampled_from([(-0.5, 0.5), (None, 0.5), (0.1, None)])),
    ), {}


@each(np.ndarray.clip)
def _(draw):
    return (array(draw, shape_of(draw, 0, 2)), 0.1), {}


@each(np.median, np.ptp, np.nanmedian)
def _(draw):
    shape = shape_of(draw, 1, 3)
    return (array(draw, shape),), {"axis": axis_of(draw, len(shape), tuples=True), "keepdims": flag(draw)}


@case(np.average)
def _(draw):
    axis, weights = draw(
        st.sampled_from(
            [
                (None, None),
                (0, [1.0, 2.0]),
                (1, [1.0, 2.0, 4.0]),
                (None, np.arange(6.0).reshape(2, 3)),
                (-1, np.arange(1, 7.0).reshape(2, 3)),
            ]
        )
    )
    return (array(draw, (2, 3)),), {"axis": axis, "weights": weights, "keepdims": flag(draw)}


@each(np.quantile, active=[0])
def _(draw):
    shape = shape_of(draw, 1, 3)
    q = draw(st.sampled_from([0.3, 0.0, 1.0, [0.25, 0.75]]))
    return (array(draw, shape), q), {
        "axis": axis_of(draw, len(shape)),
        "keepdims": flag(draw) and isinstance(q, float),
    }


@each(np.percentile, active=[0])
def _(draw):
    return (array(draw, (4, 3)), draw(st.sampled_from([30, 50.0, [10, 90]])), axis_of(draw, 2)), {}


@case(np.diff)
def _(draw):
    kwargs = draw(st.sampled_from([{}, {"prepend": 0.0}, {"append": 1.5, "prepend": 2.0}]))
    return (array(draw, (3, 4)), draw(st.integers(0, 2)), axis_of(draw, 2, False)), kwargs


@case(np.ediff1d)
def _(draw):
    return (array(draw, (2, 3)),), draw(st.sampled_from([{}, {"to_begin": 1.0}, {"to_end": [1.0, 2.0]}]))


@case(np.trapezoid)
def _(draw):
    return (array(draw, (3, 4)), *draw(st.sampled_from([(), (np.arange(4.0) ** 2,)]))), {}


@case(np.interp)
def _(draw):
    return (array(draw, shape_of(draw), -1, 4), np.array([0.0, 1.0, 2.5]), array(draw, (3,))), draw(
        st.sampled_from([{}, {"left": 0.5, "right": -1.0}])
    )


@case(np.polyval)
def _(draw):
    return (array(draw, (3,)), array(draw, shape_of(draw))), {}


@case(np.polyadd)
@case(np.polysub)
def _(draw):
    n = draw(st.integers(1, 4))
    return (array(draw, (3,)), array(draw, (n,))), {}


@case(np.polymul)
def _(draw):
    return (array(draw, (3,), 0.5, 2), array(draw, (2,), 0.5, 2)), {}


@case(np.polyder)
def _(draw):
    return (array(draw, (4,)),), draw(st.sampled_from([{}, {"m": 0}, {"m": 2}, {"m": 5}]))


@case(np.polyint)
def _(draw):
    k = draw(st.sampled_from([{}, {"m": 2, "k": 1.5}, {"k": [0.5]}, {"m": 2, "k": np.array([1.0, 2.0])}]))
    return (array(draw, (3,)),), k


@case(np.gradient)
def _(draw):
    steps = [
        ((3, 4), ()), ((3, 4), (0.5,)), ((4,), (np.array([0.0, 1.0, 1.5, 3.0]),)), ((2, 3), (2.0,
        np.array([0.0, 1.0, 3.0]))),
    ]  # fmt: skip
    shape, varargs = draw(st.sampled_from(steps))
    return (array(draw, shape), *varargs), {}


@case(np.vander)
def _(draw):
    return (array(draw, (3,)),), draw(st.sampled_from([{}, {"N": 2}, {"increasing": True}]))


@case(np.cov)
def _(draw):
    kwargs = draw(st.sampled_from([{}, {"bias": True}, {"ddof": 2}]))
    return (array(draw, (3, 4)), *draw(st.sampled_from([(), (np.arange(4.0),)]))), kwargs


@case(np.corrcoef)
def _(draw):
    return (array(draw, (3, 4)),), {}


@case(np.geomspace)
def _(draw):
    return (number(draw, 1, 2), number(draw, 3, 9), 4), {}


@case(np.meshgrid)
def _(draw):
    return tuple(array(draw, (n,)) for n in (2, 3, 4)[: draw(st.integers(1, 3))]), {
        "indexing": draw(st.sampled_from(["xy", "ij"])),
        "sparse": flag(draw),
    }


@case(np.logspace)
def _(draw):
    return (number(draw), number(draw), 4), {}


@each(
    np.add.outer,
    np.subtract.outer,
    np.divide.outer,
    np.power.outer,
    np.maximum.outer,
    np.minimum.outer,
    np.kron,
)
def _(draw):
    return (array(draw, shape_of(draw), 0.1, 2), array(draw, shape_of(draw), 0.1, 2)), {}


VECTOR_ORDERS = [None, 1, 2, 3, 0, -1, math.inf, -math.inf]
MATRIX_ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf]


@case(np.linalg.norm)
def _(draw):
    if flag(draw):
        return (
            array(draw, (3, 4), complex_=True),
            draw(st.sampled_from(VECTOR_ORDERS)),
            axis_of(draw, 2, False),
            flag(draw),
        ), {}
    return (
        array(draw, (3, 4), complex_=True),
        draw(st.sampled_from(MATRIX_ORDERS)),
        draw(st.sampled_from([None, (0, 1), (1, 0), (-1, -2)])),
        flag(draw),
    ), {}


@case(np.linalg.norm, label="whole")
def _(draw):
    return (array(draw, shape_of(draw, 1, 3)),), {"keepdims": flag(draw)}


@case(np.linalg.vector_norm)
def _(draw):
    return (array(draw, (2, 3)),), {
        "axis": axis_of(draw, 2, tuples=True),
        "keepdims": flag(draw),
        "ord": draw(st.sampled_from(VECTOR_ORDERS[1:])),
    }


@case(np.linalg.matrix_norm)
def _(draw):
    return (array(draw, (2, 2, 3)),), {
        "keepdims": flag(draw),
        "ord": draw(st.sampled_from(MATRIX_ORDERS[1:])),
    }


@case(np.linalg.multi_dot)
def _(draw):
    return ([array(draw, (2, 3)), array(draw, (3, 4)), array(draw, (4, 1))],), {}


@case(np.linalg.matrix_power)
def _(draw):
    return (regular(draw, 2, batch_of(draw)), draw(st.integers(-3, 5))), {}


@case(np.linalg.cond)
def _(draw):
    return (regular(draw, 2, batch_of(draw)), draw(st.sampled_from([None, 1, 2, -2, "fro", math.inf]))), {}


@case(np.linalg.tensorsolve)
def _(draw):
    return (regular(draw, 6).reshape(2, 3, 6), array(draw, (2, 3))), {}


@case(np.linalg.tensorsolve, label="axes")
def _(draw):
    """The axes of what is solved for go to the end, in that order."""
    axes, shape = draw(st.sampled_from([((1,), (2, 6, 3)), ((2, 0), (3, 6, 2)), ((0,), (6, 2, 3))]))
    return (regular(draw, 6).reshape(shape), array(draw, (6,) if len(axes) > 1 else (2, 3))), {"axes": axes}


@case(np.linalg.tensorinv)
def _(draw):
    return (regular(draw, 6).reshape(2, 3, 6),), {}


if hasattr(np, "vecdot"):

    @case(np.vecdot)
    def _(draw):
        return (array(draw, (2, 3), complex_=True), array(draw, (3,))), {}


if hasattr(np, "matvec"):

    @case(np.matvec)
    def _(draw):
        return (array(draw, (2, 4, 3)), array(draw, (3,))), {}

    @case(np.vecmat)
    def _(draw):
        return (array(draw, (4,), complex_=True), array(draw, (2, 4, 3))), {}


import library_cases  # noqa: E402, F401 (which registers its cases with those above)

if importlib.util.find_spec("scipy"):
    import scipy_cases  # noqa: F401
