"""Products: out[o] = sum over contracted indices of a[i] b[j] ..., all of them as contractions of labelled
axes.

An operand's elements go to the outputs whose labels agree. Zeros of an operand that is known do not count.
The only second derivatives are those of pairs (a[i], b[j]) that meet in a product.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.sparsity.arrays import Args, Kwargs, same_memory
from ctxdispatch_contexts.sparsity.calls import UFUNC_METHODS, Rule
from ctxdispatch_contexts.sparsity.movement import of
from ctxdispatch_contexts.sparsity.operands import argument, known, merged, operand, when_touched
from ctxdispatch_contexts.sparsity.values import Array, Scalar, Tracked, inexact

Labels = list[int]
LARGEST = 30_000_000
"""Products of single elements that are looked at one by one, at most."""


CONTRACTIONS: Registry[Callable[..., Any]] = Registry()
"""What the operands' axes are called, and the result's."""
FLATTENED: Registry[Callable[..., Any]] = Registry()
"""The same, of flattened operands."""


def contraction(labels: Callable[..., tuple[list[Labels], Labels]]) -> Rule:
    """The rule of a product whose `labels(*samples, *args, **kwargs)` are those of its operands and
    result."""

    def rule(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
        a, b = operand(run, args[0]), operand(run, args[1])
        known(run, f, args[2:], kwargs)
        out = run.on_samples(f, [a, b, *args[2:]], kwargs)
        x, y = (np.asarray(run.sampled(v)) for v in (a, b))
        named, to = labels(x, y, *args[2:], **kwargs)
        return contracted(run, out, [a, b], named, to)

    return rule


def contracted(run: Any, out: Any, operands: Sequence[Any], labels: list[Labels], to: Labels) -> Any:
    if not inexact(out):
        return run.dense(out, 0)
    arrays = [np.asarray(run.sampled(v)) for v in operands]
    sizes: dict[int, int] = {}
    for a, named in zip(arrays, labels):
        for n, label in zip(a.shape, named):
            sizes[label] = max(sizes.get(label, 1), n)
            if n == 0:
                sizes[label] = 0
    space = list(sizes)
    terms = [[_spread(t.reshape(a.shape), named, sizes) for t in run.terms(v)]
             for v, a, named in zip(operands, arrays, labels)]  # fmt: skip
    names = [list(dict.fromkeys(named)) for named in labels]
    fixed = [(a, named) for v, a, named in zip(operands, arrays, labels)
             if not isinstance(v, Tracked) and not np.all(a)]  # fmt: skip
    volume = int(np.prod([sizes[label] for label in space]))
    found: list[Any] = []
    for ts, named in zip(terms, names):
        if ts and fixed and volume <= LARGEST:
            found.append(_masked(run, ts, named, fixed, to, sizes, space))
        elif ts:
            found.extend(_summed(run, ts, named, to, sizes))
    result = run.made(out, [t.reshape(np.shape(out)) for t in found])
    if run.pairs is not None:
        _pairs(run, terms, names, sizes, space, volume, result)
    return result


def _spread(ids: Any, named: Labels, sizes: dict[int, int]) -> Any:
    """An operand's row numbers, in its full size, with each label once."""
    shape = [sizes[label] for label in named]
    ids = np.broadcast_to(ids, shape)
    once = list(dict.fromkeys(named))
    if len(once) == len(named):
        return ids
    return np.einsum(ids, [once.index(label) for label in named], list(range(len(once))))


def _summed(run: Any, terms: list[Any], named: Labels, to: Labels, sizes: dict[int, int]) -> list[Any]:
    kept = [label for label in to if label in named]
    gone = [label for label in named if label not in kept]
    turned = [t.transpose([named.index(label) for label in (*kept, *gone)]) for t in terms]
    if gone:
        turned = list(run.arena.reduced([merged(t, len(kept)) for t in turned]))
    shape = [sizes[label] if label in named else 1 for label in to]
    full = [sizes[label] for label in to]
    return [np.broadcast_to(t.reshape(shape), full) for t in turned]


def _masked(
    run: Any,
    terms: list[Any],
    named: Labels,
    fixed: list[Any],
    to: Labels,
    sizes: dict[int, int],
    space: Labels,
) -> Any:
    """Only where no known factor is zero."""
    mask = np.ones([sizes[label] for label in space], bool)
    for a, labels in fixed:
        mask &= _aligned(_spread(a != 0, labels, sizes), list(dict.fromkeys(labels)), space)
    at = dict(zip(space, np.nonzero(np.atleast_1d(mask))))
    shape = [sizes[label] for label in to]
    count = int(np.prod(shape))
    groups = np.ravel_multi_index([at[label] for label in to], shape) if to else np.zeros(mask.sum(), np.intp)
    ids = [t[tuple(at[label] for label in named)] for t in terms]
    ids = [np.broadcast_to(each, groups.shape) for each in ids]  # a number has one
    return run.arena.unions(np.tile(groups, len(ids)), np.concatenate(ids), count).reshape(shape)


def _aligned(t: Any, named: Labels, space: Labels) -> Any:
    """With the axes of `space`, of length 1 where it has none."""
    order = [label for label in space if label in named]
    turned = t.transpose([named.index(label) for label in order])
    sizes = dict(zip(order, turned.shape))
    return turned.reshape([sizes.get(label, 1) for label in space])


def _pairs(
    run: Any,
    terms: list[Any],
    names: list[Labels],
    sizes: dict[int, int],
    space: Labels,
    volume: int,
    result: Any,
) -> None:
    varying = [(ts, named) for ts, named in zip(terms, names) if ts]
    if len(varying) > 1 and volume > LARGEST:
        run.pairs.cliques(run, run.terms(result))
        return
    for k, (ts, named) in enumerate(varying):
        for us, other in varying[k + 1 :]:
            for t in ts:
                for u in us:
                    run.pairs.cross(
                        run, *np.broadcast_arrays(_aligned(t, named, space), _aligned(u, other, space))
                    )


# -- labels --------------------------------------------------------------------------------------------------


@CONTRACTIONS.of(operator.matmul, np.matmul, *of(np.linalg, "matmul"))
def matmul(x: Any, y: Any, **_: Any) -> tuple[list[Labels], Labels]:
    """Axes i k and k j, all others aligned from the right."""
    i, k, j = -1, -2, -3
    batch = [list(range(max(v.ndim - 2, 0), 0, -1)) for v in (x, y)]
    left = [k] if x.ndim == 1 else [*batch[0], i, k]
    right = [k] if y.ndim == 1 else [*batch[1], k, j]
    longest = max(batch, key=len)
    return [left, right], [*longest, *([i] if x.ndim > 1 else []), *([j] if y.ndim > 1 else [])]


@CONTRACTIONS.of(np.dot, np.ndarray.dot)
def dot(x: Any, y: Any, **_: Any) -> tuple[list[Labels], Labels]:
    if x.ndim == 0 or y.ndim == 0:
        return outer_product(x, y)
    left, right = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    right[-2 if y.ndim > 1 else -1] = left[-1]
    return [left, right], [*left[:-1], *(label for label in right if label != left[-1])]


@FLATTENED.of(np.vdot)
@CONTRACTIONS.of(np.inner)
def inner(x: Any, y: Any) -> tuple[list[Labels], Labels]:
    if x.ndim == 0 or y.ndim == 0:
        return outer_product(x, y)
    left, right = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    right[-1] = left[-1]
    return [left, right], [*left[:-1], *right[:-1]]


@FLATTENED.of(np.outer, *of(np.linalg, "outer"))
def outer_product(x: Any, y: Any, **_: Any) -> tuple[list[Labels], Labels]:
    """Each axis for itself."""
    left, right = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    return [left, right], [*left, *right]


@CONTRACTIONS.of(np.tensordot, *of(np.linalg, "tensordot"))
def tensordot(x: Any, y: Any, axes: Any = 2) -> tuple[list[Labels], Labels]:
    left, right = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    if isinstance(axes, int):
        axes = (range(x.ndim - axes, x.ndim), range(axes))
    gone = [left[i] for i in np.atleast_1d(np.array(axes[0], int))]
    for label, i in zip(gone, np.atleast_1d(np.array(axes[1], int))):
        right[i] = label
    return [left, right], [label for label in (*left, *right) if label not in gone]


def flattened(labels: Callable[..., Any]) -> Rule:
    """Of the operands as vectors: np.outer, np.vdot."""
    rule = contraction(labels)

    def run_rule(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
        a, b = (run.call(np.ravel, [operand(run, v)], {}) for v in args[:2])
        return rule(run, f, [a, b, *args[2:]], kwargs)

    return run_rule


def einsum(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    known(run, f, kwargs)
    if isinstance(args[0], str):
        text, operands = args[0], [operand(run, v) for v in args[1:]]
        samples = [np.asarray(run.sampled(v)) for v in operands]
        labels, to = _parsed(text.replace(" ", ""), [v.ndim for v in samples])
    else:
        operands = [operand(run, v) for v in args[: len(args) // 2 * 2 : 2]]
        labels = [list(v) for v in args[1 : len(args) // 2 * 2 : 2]]
        everything = [label for named in labels for label in named]
        to = list(args[-1]) if len(args) % 2 else sorted({v for v in everything if everything.count(v) == 1})
        if not all(isinstance(label, int) for label in everything):
            run.refuse(
                "einsum with lists of axes and an ellipsis is not supported; write the subscripts as text"
            )
    out = run.on_samples(f, args, kwargs)
    view = same_memory(run, out, operands)  # of one operand, without sums
    return contracted(run, np.array(out), operands, labels, to) if view is None else view


def _parsed(text: str, ranks: list[int]) -> tuple[list[Labels], Labels]:
    """Labels are code points; those of an ellipsis count from the right, below zero."""
    inputs, arrow, output = text.partition("->")
    parts = inputs.split(",")
    labels = [_labels(part, rank - len(part.replace("...", ""))) for part, rank in zip(parts, ranks)]
    longest = max((rank - len(part.replace("...", "")) for part, rank in zip(parts, ranks)), default=0)
    if arrow:
        return labels, _labels(output, longest if "..." in output else 0)
    everything = inputs.replace(",", "").replace(".", "")
    single = sorted({c for c in everything if everything.count(c) == 1})
    return labels, [*range(-longest, 0), *map(ord, single)]


def _labels(part: str, extra: int) -> Labels:
    before, dots, after = part.partition("...")
    middle = list(range(-extra, 0)) if dots else []
    return [*map(ord, before), *middle, *map(ord, after)]


# -- convolutions --------------------------------------------------------------------------------------------


def convolution(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """out[n] = sum_k a[k] v[n - k], of which `mode` keeps the middle; correlate has v the other way round."""
    a, v = operand(run, args[0]), operand(run, args[1])
    known(run, f, args[2:], kwargs)
    out = run.on_samples(f, [a, v, *args[2:]], kwargs)
    x, y = (np.asarray(run.sampled(w)).reshape(-1) for w in (a, v))
    i, j = (g.reshape(-1) for g in np.indices((x.size, y.size)))
    mode = argument(args, kwargs, 2, "mode", "full" if f is np.convolve else "valid")
    reach = i + (j if f is np.convolve else y.size - 1 - j)
    at = reach - {"full": 0, "same": (min(x.size, y.size) - 1) // 2, "valid": min(x.size, y.size) - 1}[mode]
    if mode == "same" and f is np.correlate:
        at = reach - (x.size + y.size - 1 - out.size + (1 if x.size >= y.size else 0)) // 2
    kept = _inside(at, out.size, slack=1 if mode == "same" else 0)
    for w, s in ((a, x), (v, y)):
        if not isinstance(w, Tracked):
            kept &= (s != 0)[i if s is x else j]
    ids = [t.reshape(-1)[i][kept] for t in run.terms(a)] + [t.reshape(-1)[j][kept] for t in run.terms(v)]
    groups = [np.clip(at[kept], 0, out.size - 1)] * len(ids)
    if mode == "same":  # whichever way the odd element falls
        for shift in (-1, 1):
            groups += [np.clip(at[kept] + shift, 0, out.size - 1)] * len(ids)
        ids = ids * 3
    found = [run.arena.unions(np.concatenate(groups), np.concatenate(ids), out.size)] if ids else []
    result = run.made(out, found)
    if run.pairs is not None and isinstance(a, (Array, Scalar)) and isinstance(v, (Array, Scalar)):
        for t in run.terms(a):
            for u in run.terms(v):
                run.pairs.cross(run, t.reshape(-1)[i], u.reshape(-1)[j])
    return result


def _inside(at: Any, size: int, slack: int) -> Any:
    return (at >= -slack) & (at < size + slack)


def ufunc_outer(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """f.outer(a, b): elementwise on all pairs."""
    a, b = (operand(run, v) for v in args[:2])
    x, y = np.ndim(run.sampled(a)), np.ndim(run.sampled(b))
    left = run.call(np.reshape, [a, (*np.shape(run.sampled(a)), *(1,) * y)], {}) if x else a
    return run.call(f.__self__, [left, b], kwargs)


def sparse_product(run: Any, matrix: Any, x: Any, out: Any) -> Any:
    """A SciPy sparse matrix times an array: its own pattern."""
    found, coo = [], matrix.tocoo()
    rows, columns = coo.row[coo.data != 0], coo.col[coo.data != 0]
    width = x.sample.shape[1] if x.sample.ndim > 1 else 1
    groups = (rows.astype(np.int64)[:, None] * width + np.arange(width)).reshape(-1)
    for t in run.terms(x):
        ids = t.reshape(-1, width)[columns].reshape(-1)
        found.append(run.arena.unions(groups, ids, out.size).reshape(out.shape))
    return run.made(out, found)


def product_rules() -> dict[Any, Rule]:
    found = {f: contraction(labels) for f, labels in CONTRACTIONS.items()}
    found |= {f: flattened(labels) for f, labels in FLATTENED.items()} | {np.einsum: einsum}
    found |= dict.fromkeys((np.convolve, np.correlate), convolution)
    return {f: when_touched(rule) for f, rule in found.items()}


UFUNC_METHODS["outer"] = when_touched(ufunc_outer)
