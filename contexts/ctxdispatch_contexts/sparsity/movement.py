"""Functions that move elements: the function itself, applied to row numbers, says where they come from.

np.array and its like take nested lists of numbers and arrays; the others take arrays, or sequences of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ctxdispatch.facts import CONVERTS
from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.sparsity.arrays import Args, Kwargs, moved, refuse_shape
from ctxdispatch_contexts.sparsity.calls import Rule
from ctxdispatch_contexts.sparsity.operands import argument, dense, known, operand
from ctxdispatch_contexts.sparsity.values import Array, Scalar, Tracked, laid_out


def of(owner: Any, names: str) -> list[Any]:
    return [getattr(owner, n) for n in names.split() if hasattr(owner, n)]


MOVEMENT: Registry[Rule] = Registry()

NO_IDS = frozenset({"dtype", "casting", "copy", "like", "subok", "constant_values"})
"""Keywords that are not for row numbers."""

MOVES = """
    reshape ravel expand_dims squeeze atleast_1d atleast_2d atleast_3d broadcast_to transpose matrix_transpose
    swapaxes moveaxis rollaxis flip flipud fliplr rot90 roll repeat tile resize diagonal diag diagflat tril
    triu concatenate stack vstack row_stack hstack dstack column_stack append block split array_split hsplit
    vsplit dsplit unstack take delete pad broadcast_arrays
"""
METHOD_MOVES = "reshape ravel flatten squeeze transpose swapaxes repeat diagonal take item"
LISTS = frozenset("concatenate stack vstack row_stack hstack dstack column_stack block".split())
ORDERED = frozenset("ravel reshape flatten".split())
"""With order "K" or "A" they go by where elements are in memory."""
SEVERAL = frozenset("atleast_1d atleast_2d atleast_3d broadcast_arrays".split())


@MOVEMENT.of(
    sliding_window_view, *of(np, MOVES), *of(np.ndarray, METHOD_MOVES),
    *of(np.linalg, "diagonal matrix_transpose"),
)  # fmt: skip
def move(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    name = f.__name__
    if name in LISTS:
        return join(run, f, args, kwargs)
    count = len(args) if name in SEVERAL else 2 if name == "append" else 1
    data, rest = [operand(run, a) for a in args[:count]], args[count:]
    if not data:
        (keyword,) = (k for k in kwargs if k in ("a", "arr", "ary", "m", "v", "array", "x"))
        return move(run, f, [kwargs[keyword]], {k: v for k, v in kwargs.items() if k != keyword})
    if name == "take" and run.touched(rest, kwargs):
        return dense(run, f, args, kwargs)
    if name == "pad" and callable(argument(rest, kwargs, 1, "mode")):
        return run.call(f._implementation, args, kwargs)
    if name == "pad" and not _only_moves(run, rest, kwargs):
        return dense(run, f, args, kwargs)
    if count > 1 and name in SEVERAL:
        return _one_by_one(run, f, data, kwargs)
    known(run, f, rest, kwargs)
    out = run.on_samples(f, [*data, *rest], kwargs)
    named = {k: v for k, v in kwargs.items() if k not in NO_IDS}
    if name in ORDERED:
        sample = run.sampled(data[0])
        return moved(run, out, data, lambda ids: f(laid_out(ids, sample), *rest, **named))
    return moved(run, out, data, lambda *ids: f(*ids, *rest, **named))


def _one_by_one(run: Any, f: Any, data: Args, kwargs: Kwargs) -> Any:
    """What comes of an operand depends on that one alone, and may be the operand itself."""
    made = f(*map(run.sampled, data), **kwargs)
    if f is not np.broadcast_arrays:
        return type(made)([run.call(f, [a], kwargs) for a in data])
    shape = made[0].shape
    same = [isinstance(a, (Array, np.ndarray)) and run.sampled(a).shape == shape for a in data]
    each = [
        a if own else run.call(np.broadcast_to, [a, shape], kwargs) for a, own in zip(data, same, strict=True)
    ]
    return type(made)(each)


def _only_moves(run: Any, rest: Args, kwargs: Kwargs) -> bool:
    """np.pad: what is put around is elements as they are, or constants."""
    odd = kwargs.get("reflect_type", "even") != "even"
    mode = argument(rest, kwargs, 1, "mode", "constant")
    return mode in PAD_MODES and not odd and not run.touched(kwargs.get("constant_values"))


PAD_MODES = ("constant", "edge", "wrap", "reflect", "symmetric", "empty")


def join(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Of a sequence of arrays, nested for `block`."""
    known(run, f, args[1:], kwargs)
    sequence = run.lifted(args[0])
    if isinstance(sequence, Array):
        sequence = list(run.iterator(sequence))
    leaves: list[Any] = []
    shape = _skeleton(run, sequence, leaves, nested=f is np.block)
    rest, named = args[1:], {k: v for k, v in kwargs.items() if k not in NO_IDS}
    out = f(_filled(shape, [run.sampled(v) for v in leaves]), *rest, **kwargs)
    return moved(run, out, leaves, lambda *ids: f(_filled(shape, ids), *rest, **named))


def _skeleton(run: Any, v: Any, leaves: list[Any], nested: bool, depth: int = 0) -> Any:
    """Nested lists with the number of a leaf in the place of each array."""
    if isinstance(v, (list, tuple)) and (depth == 0 or nested):
        return [_skeleton(run, x, leaves, nested, depth + 1) for x in v]
    leaves.append(operand(run, v))
    return len(leaves) - 1


def _filled(shape: Any, leaves: Sequence[Any]) -> Any:
    return [_filled(s, leaves) for s in shape] if isinstance(shape, list) else leaves[shape]


@MOVEMENT.of(*CONVERTS)
def as_array(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """np.array and its like: of nested lists of numbers and arrays."""
    data, rest = args[0], args[1:]
    known(run, f, rest, kwargs)
    data = run.lifted(data)
    if isinstance(data, Tracked):
        out = f(data.sample, *rest, **kwargs)
        named = {k: v for k, v in kwargs.items() if k in ("ndmin",)}
        return moved(run, out, [data], lambda ids: np.array(ids, **named))
    leaves: list[Any] = []
    shape = _array_skeleton(run, data, leaves)
    out = f(_filled(shape, [run.sampled(v) for v in leaves]), *rest, **kwargs)
    if out.dtype == object:  # which of the leaves are its elements, and which are in these, it does not say
        return run.made(out)
    if all(not isinstance(v, Array) for v in leaves):
        return run.made(out, _scalar_ids(run, out, leaves))
    return moved(run, out, leaves, lambda *ids: np.array(_filled(shape, ids)).reshape(out.shape))


def _scalar_ids(run: Any, out: Any, leaves: list[Any]) -> list[Any]:
    arena = run.arena
    ids = [arena.row(v.bits) if isinstance(v, Scalar) else 0 for v in leaves if not isinstance(v, np.ndarray)]
    if len(ids) < len(leaves):
        flat = [np.full(np.size(v), arena.row(run.bits(v)), np.int32) for v in leaves]
        return [np.concatenate(flat).reshape(out.shape)]
    return [np.array(ids, np.int32).reshape(out.shape)]


def _array_skeleton(run: Any, v: Any, leaves: list[Any]) -> Any:
    if isinstance(v, (list, tuple)):
        return [_array_skeleton(run, x, leaves) for x in v]
    if hasattr(v, "__next__"):
        run.refuse("an array of an iterator; make a list of it")
    if not isinstance(v, (Tracked, np.ndarray)) and run.touched(v):
        run.refuse(f"an array of a {type(v).__name__} that depends on the inputs; make a list of it")
    leaves.append(run.lifted(v))
    return len(leaves) - 1


@MOVEMENT.of(*of(np, "copy astype real imag conjugate nan_to_num real_if_close unwrap"))
@MOVEMENT.of(*of(np.ndarray, "astype copy __copy__ conj conjugate"))
@MOVEMENT.of(*of(np.generic, "astype copy conj conjugate"))
def same(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Element by element what it was."""
    a = operand(run, args[0])
    if f is np.nan_to_num and run.touched(args[1:], kwargs):
        return dense(run, f, args, kwargs)
    known(run, f, args[1:], kwargs)
    return moved(run, run.on_samples(f, [a, *args[1:]], kwargs), [a], lambda ids: ids)


@MOVEMENT.of(np.full, np.full_like)
def fill(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """np.full and np.full_like."""
    shape, value = args[0], operand(run, argument(args, kwargs, 1, "fill_value"))
    if f is np.full:
        known(run, f, shape)
    named = {k: v for k, v in kwargs.items() if k != "fill_value"}
    return run.made(f(run.sampled(shape), run.sampled(value), *args[2:], **named), run.terms(value))


@MOVEMENT.of(np.arange)
def arange(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """start + step * i: where it stops tells how many there are, which must be known."""
    refuse_shape(run, f)
    out = f(*[run.sampled(a) for a in args], **{k: run.sampled(v) for k, v in kwargs.items()})
    ends = [argument(args, kwargs, k, name) for k, name in enumerate(("start", "stop", "step"))]
    start = ends[0] if ends[1] is not None else None
    return run.dense(out, run.bits(start) | run.bits(ends[2]))


@MOVEMENT.of(np.ndarray.resize)
def resize_in_place(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    run.refuse("resize of an array that depends on the inputs changes it in place; use np.resize")


@MOVEMENT.of(np.compress, np.extract)
def selection(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """np.compress(condition, a), np.extract(condition, a)"""
    if run.touched(args[0]):
        refuse_shape(run, f)
    condition, a, rest = run.sampled(args[0]), operand(run, args[1]), args[2:]
    out = f(condition, run.sampled(a), *rest, **kwargs)
    return moved(run, out, [a], lambda ids: f(condition, ids, *rest, **kwargs))


@MOVEMENT.of(np.ndarray.tolist, np.generic.tolist)
def to_list(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    a = run.lifted(args[0])
    return _listed(run, run.call(np.asarray, [a], {})) if isinstance(a, Array) else a


def _listed(run: Any, a: Any) -> Any:
    if a.sample.ndim == 0:
        return run.scalar(a.sample.item(), run.bits(a))
    rows = [run.lifted(x) for x in run.iterator(a)]
    return run.born([_listed(run, x) if isinstance(x, Array) else _item(run, x) for x in rows])


def _item(run: Any, x: Any) -> Any:
    """Of a number or known array Python's own."""
    return run.scalar(x.sample.item(), x.bits) if isinstance(x, Scalar) else x.tolist()
