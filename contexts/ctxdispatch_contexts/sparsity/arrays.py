"""What operations on arrays do to index sets.

moved         elements go elsewhere: the function itself, applied to row numbers
elementwise   unions of the operands' sets; classified by the row in the table of derivatives
getitem, setitem, in place, where (`out=` is seen to before there is a rule: `Calls.into`)
zero          piecewise constant: unknown values without sets
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ctxdispatch.facts import INPLACE, VALUE_FREE, VALUE_SHAPED, fact_of
from ctxdispatch_contexts.derivatives.table import Elementwise
from ctxdispatch_contexts.programs.overlapping import runs_over
from ctxdispatch_contexts.sparsity.conversions import TO_NUMBERS, converted, converts, protocol_of
from ctxdispatch_contexts.sparsity.errors import REMEDY, TEXT, described
from ctxdispatch_contexts.sparsity.indexsets import distinct_terms
from ctxdispatch_contexts.sparsity.values import (
    NUMBERS,
    Array,
    Either,
    Flat,
    Scalar,
    Tracked,
    inexact,
    root_of,
)

Args = list[Any]
Kwargs = dict[str, Any]

# -- results -------------------------------------------------------------------------------------------------


def same_memory(run: Any, out: Any, operands: Sequence[Any]) -> Any:
    """`out` as a view of an operand's memory, or None where it is not one."""
    if not isinstance(out, np.ndarray):
        return None
    root = None
    for v in operands:
        if isinstance(v, Array):
            if out is v.sample:
                return v
            root = root_of(out) if root is None else root
            if root is root_of(v.sample):
                return Array(out, v.memory)
    return None


def moved(run: Any, out: Any, operands: Sequence[Any], move: Callable[..., Any]) -> Any:
    """The value of sample `out`, whose elements are those of `operands`: move(*row numbers) says which."""
    view = same_memory(run, out, operands)
    if view is not None:
        return view
    if not isinstance(out, (tuple, list)) and not inexact(out):
        return run.dense(out, 0)
    terms = [run.terms(v) for v in operands]
    shapes = [np.shape(v.sample if isinstance(v, Tracked) else v) for v in operands]
    layers = []
    for k in range(max(map(len, terms), default=0)):
        ids = [t[k] if k < len(t) else np.zeros(s, np.int32) for t, s in zip(terms, shapes)]
        layers.append(move(*ids))
    if isinstance(out, (tuple, list)):
        made = [_part(run, x, [layer[i] for layer in layers], operands) for i, x in enumerate(out)]
        return type(out)(made)
    return run.made(out, [_int32(layer, out) for layer in layers])


def _part(run: Any, out: Any, layers: list[Any], operands: Sequence[Any]) -> Any:
    view = same_memory(run, out, operands)
    return view if view is not None else run.made(out, [_int32(layer, out) for layer in layers])


def _int32(ids: Any, out: Any) -> Any:
    ids = np.asarray(ids, np.int32)
    assert ids.shape == np.shape(out), (ids.shape, np.shape(out))
    return ids


# -- elementwise ---------------------------------------------------------------------------------------------


def numeric(run: Any, args: Sequence[Any]) -> bool:
    return all(isinstance(a, NUMBERS) for a in args)


def elementwise(row: Elementwise) -> Any:
    """The rule of a callee with this row."""
    active = [kind != "zero" for kind in row.kinds]

    def rule(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
        args = [run.lifted(a) for a in args]
        if not any(isinstance(a, Tracked) for a in args):
            return without_tracked(run, f, args, kwargs)
        if kwargs:
            return with_options(run, f, args, kwargs, lambda plain: rule(run, f, plain, {}))
        if not numeric(run, args):
            return mixed(run, f, args)
        out = run.on_samples(f, args, {})
        return united(run, row, out, args, active)

    return rule


def zero_of_real(row: Elementwise) -> Any:
    """The rule of a callee whose derivative is zero for real arguments, and of whose row nothing holds for
    complex ones (np.sign: z / |z|)."""
    turned = elementwise(replace(row, expressions=("y",) * len(row.params)))  # partials vary with all

    def rule(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
        turns = any(np.iscomplexobj(run.sampled(a)) for a in args)
        return (turned if turns else zero)(run, f, args, kwargs)

    return rule


def mixed(run: Any, f: Any, args: Args) -> Any:
    """A tracked operand, and one that is no number: lists become arrays where NumPy does so."""
    if any(isinstance(a, str) for a in args):
        return Either(TEXT)
    for a in args:
        if isinstance(a, Either):
            run.refuse(a.what)
    if converts(f, [run.sampled(a) for a in args if isinstance(a, Tracked)]):
        plain = [_one_operand(run, a, protocol_of(f)) for a in args]
        if numeric(run, plain):
            return run.call(f, plain, {})
    run.on_samples(f, args, {})  # Python's own error, if it is one
    return run.refuse(
        f"{described(f)} of {', '.join(type(run.sampled(a)).__name__ for a in args)} is not "
        "supported; use arrays of numbers"
    )


def _one_operand(run: Any, v: Any, protocol: Any) -> Any:
    """As `converted`; beside a tracked operand NumPy makes an array of a list of known numbers too."""
    if protocol is not TO_NUMBERS and isinstance(v, (list, tuple)):
        return run.call(np.array, [v], {})
    return converted(run, v, protocol)


def without_tracked(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """No operand is tracked itself; a list may hold something that is, and `out` may."""
    if numeric(run, args) and not kwargs:
        return run.born(f(*args))
    if any(isinstance(a, Either) for a in args):
        run.refuse(next(a for a in args if isinstance(a, Either)).what)
    if not run.touched(args, kwargs):
        return run.run_natively(f, args, kwargs) if type(f).__module__ == "numpy" else f(*args, **kwargs)
    if not converts(f, args):
        return f(*args, **kwargs)
    plain = [converted(run, a, protocol_of(f)) for a in args]
    if not any(isinstance(a, Tracked) for a in plain) and not run.touched(kwargs):
        return run.on_samples(f, plain, kwargs)  # refused
    if kwargs:
        return with_options(run, f, plain, kwargs, lambda plain: run.call(f, plain, {}))
    return run.call(f, plain, {})


def united(run: Any, row: Elementwise, out: Any, args: Args, active: list[bool]) -> Any:
    if not inexact(out):
        return run.dense(out, 0)
    if run.pairs is not None:
        run.pairs.elementwise(run, row, out, args)
    if not isinstance(out, np.ndarray):
        bits = 0
        for a, enters in zip(args, active):
            if enters and isinstance(a, Tracked):
                bits |= run.bits(a)
        return run.scalar(out, bits)
    terms: list[Any] = []
    for a, enters in zip(args, active):
        if enters:
            terms.extend(run.terms(a))
    result = run.array(out, distinct_terms(terms) if len(terms) > 1 else terms)
    if run.mixed and isinstance(result, Array):
        result.memory.mixed = stays_mixed(args)
    return result


def stays_mixed(args: Args) -> bool:
    """No operand is certain to be an array."""
    arrays = [a for a in args if isinstance(a, Array) and a.sample.ndim]
    known = any(isinstance(a, np.ndarray) and a.ndim for a in args)
    return not known and all(a.memory.mixed for a in arrays)


def with_options(run: Any, f: Any, args: Args, kwargs: Kwargs, compute: Callable[[Args], Any]) -> Any:
    """f(*args, where=, dtype=, casting=): what is computed, wherever that is."""
    unknown = set(kwargs) - {"dtype", "casting", "order", "subok", "where", "signature", "sig"}
    if unknown or run.touched({k: v for k, v in kwargs.items() if k != "where"}):
        run.refuse(
            f"{described(f)} with {', '.join(sorted(unknown or kwargs))} is not supported here; leave it out"
        )
    value = compute([run.lifted(a) for a in args])
    laid = {k: kwargs[k] for k in ("dtype", "order") if kwargs.get(k) not in (None, "K")}
    return run.call(np.asarray, [value], laid) if laid else value


def inplace(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """a += b: into the memory of an array, else what `+` does."""
    target, value = run.lifted(args[0]), run.lifted(args[1])
    sample = run.sampled(target) if isinstance(target, (Tracked, np.ndarray)) else None
    if isinstance(target, Either) or isinstance(value, Either):
        run.refuse((target if isinstance(target, Either) else value).what)
    if isinstance(sample, np.ndarray):
        value = _one_array(run, value)
        if not isinstance(target, Tracked) and not isinstance(value, Tracked):
            run.touch(args[0])
            return f(args[0], args[1])
        out = run.call(INPLACE[f], [target, value], {})
        run.about_to_store(args[0])
        run.on_samples(f, [target, value], {})
        run.store(target, Ellipsis, out)
        return args[0] if isinstance(args[0], np.ndarray) else target
    if isinstance(target, (Scalar, int, float, complex, str, tuple, np.generic)):
        return run.call(INPLACE[f], args, {})
    run.touch(args[0])
    if isinstance(value, Array):
        value = list(run.iterator(value))
    return f(args[0], value)


# -- zero by rule --------------------------------------------------------------------------------------------

def _takes_lengths(f: Any) -> bool:
    row = fact_of(f)
    return f is np.ix_ or (row is not None and bool(row.lengths))


def refuse_shape(run: Any, f: Any) -> None:
    if not run.local:
        run.refuse(
            f"the shape of what {described(f)} returns depends on the inputs' values, so there is no pattern "
            f"for all of them; {REMEDY}"
        )


def of_numbers_or_sets(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """`|` and its like: of numbers zero; of containers what they hold is moved."""
    moves = not any(isinstance(run.lifted(a), (*NUMBERS, Either)) for a in args)
    return run.born(f(*args, **kwargs)) if moves else zero(run, f, args, kwargs)


def zero(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if not run.touched(args, kwargs):
        return run.run_natively(f, args, kwargs) if kwargs else run.born(f(*args))
    if f in VALUE_SHAPED or _takes_lengths(f):
        refuse_shape(run, f)
    if f in VALUE_FREE and args:
        run.check_mixed(run.lifted(args[0]))
    out = run.attempt(f, *run.samples(args, kwargs))
    return out if f in VALUE_FREE else run.dense(out, 0)


# -- items ---------------------------------------------------------------------------------------------------


def getitem(run: Any, owner: Any, index: Any) -> Any:
    if not isinstance(owner, Tracked) and not run.touched(index):
        return owner[index]
    if not run.touched(index):
        out = owner.sample[index]
        return moved(run, out, [owner], lambda ids: ids[index])
    plain = run.sampled(index)
    if not run.local:
        refuse_unknown_shape(run, plain, index)
    out = run.on_samples(operator.getitem, [owner, index], {})
    if run.local:
        return moved(run, out, [owner], lambda ids: ids[plain])
    return run.dense(np.array(out) if isinstance(out, np.ndarray) else out, run.bits(owner))


def refuse_unknown_shape(run: Any, plain: Any, index: Any) -> None:
    """Masks and slices decide about shapes; integers that are not known do not."""
    items = list(zip(plain, index)) if isinstance(plain, tuple) else [(plain, index)]
    for value, item in items:
        if run.touched(item) and (isinstance(value, slice) or np.asarray(value).dtype.kind == "b"):
            run.refuse(
                "the shape of this selection depends on the inputs' values, so there is no pattern for all "
                "of "
                f"them; {REMEDY}"
            )


def setitem(run: Any, owner: Any, index: Any, value: Any) -> None:
    lifted, value, unknown = run.lifted(owner), _one_array(run, value), run.touched(index)
    if not unknown and not isinstance(lifted, Tracked) and not isinstance(value, Tracked):
        run.touch(owner)
        owner[index] = value
        return
    run.about_to_store(owner)
    plain = run.sampled(index)
    if unknown and not run.local:
        _store_somewhere(run, lifted, plain, index, value)
        return
    stored = settled(run, lifted, plain, value)
    run.sampled(lifted)[plain] = run.sampled(value)
    run.store(lifted, plain, stored)


def set_flat(run: Any, flat: Any, index: Any, value: Any) -> None:
    """flat[index] = value, of a.flat."""
    array = flat.array if isinstance(flat, Flat) else flat.base
    if not run.touched(index) or run.local:
        plain = run.sampled(index)
        return store_in_order(run, array, value, lambda a, v: operator.setitem(a.flat, plain, v))
    run.about_to_store(array)
    return _store_somewhere(run, array, run.sampled(index), index, _one_array(run, value), flat)


def store_in_order(run: Any, owner: Any, value: Any, store: Callable[[Any, Any], None]) -> None:
    """store(owner, value), which stores one element after the other, beginning again where the value ends."""
    lifted, value = run.lifted(owner), _one_array(run, value)
    if isinstance(lifted, Tracked) or isinstance(value, Tracked):
        run.about_to_store(owner)
        store(run.sampled(lifted), run.sampled(value))
        run.store_moved(lifted, value, store)
    else:
        run.touch(owner)
        store(owner, value)


def _one_array(run: Any, value: Any) -> Any:
    """What is stored: a list with something tracked in it as an array."""
    value = converted(run, value)
    if isinstance(value, Either):
        run.refuse(value.what)
    return value


def settled(run: Any, array: Any, index: Any, value: Any) -> Any:
    """What array[index] = value stores. Of a value in its own memory NumPy may read elements that it has
    written: each may then be any of them."""
    if not runs_over(run.sampled(array), index, run.sampled(value)):
        return value
    return run.scalar(0.0, run.bits(value))


def _store_somewhere(run: Any, owner: Any, plain: Any, index: Any, value: Any, through: Any = None) -> None:
    """An index that is not known: any element may have the value. With a mask in it, the value must broadcast
    to whatever is selected. `through`: owner.flat, where that is stored to."""
    masks = [p for p in (plain if isinstance(plain, tuple) else (plain,)) if np.asarray(p).dtype.kind == "b"]
    if masks and np.size(run.sampled(value)) != 1:
        refuse_unknown_shape(run, plain, index)
    run.on_samples(operator.setitem, [owner if through is None else through, index, value], {})
    bits = run.bits(value)
    run.store(owner, Ellipsis, run.scalar(0.0, bits) if bits else 0.0, weak=True)


# -- where ---------------------------------------------------------------------------------------------------


def where(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Of a condition that is known, the one or the other; else either."""
    args = [run.lifted(a) for a in args]
    if len(args) == 1:
        return zero(run, np.nonzero, args, kwargs)
    args = [
        run.call(np.array, [a], {}) if isinstance(a, (list, tuple)) and run.touched(a) else a for a in args
    ]
    if not run.touched(args):
        return f(*args, **kwargs)
    out = run.on_samples(f, args, kwargs)
    if not inexact(out):
        return run.dense(out, 0)
    terms: list[Any] = []
    known = not isinstance(args[0], Tracked)
    for k, branch in enumerate(args[1:]):
        for t in run.terms(branch):
            arms = (t, np.int32(0)) if k == 0 else (np.int32(0), t)
            terms += [np.asarray(f(args[0], *arms) if known else t, np.int32)]
    return run.made(out, terms)
