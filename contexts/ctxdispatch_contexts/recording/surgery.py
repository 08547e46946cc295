"""What a program says of its own derivative, in recorded runs: what is a constant, and where nothing is
written down.

Where a run *pauses* (`no_grad`), operations are as in the plain run and depend on nothing. What is stored
is written down all the same, as a constant: the way back has to undo it.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.facts import canonical
from ctxdispatch_contexts.programs.containers import rebuild, with_attributes
from ctxdispatch_contexts.programs.errors import user_frame
from ctxdispatch_contexts.programs.opaque_values import fields
from ctxdispatch_contexts.recording import stores
from ctxdispatch_contexts.recording.callees import look_at, moves
from ctxdispatch_contexts.recording.leaves import another, is_number, leaves
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.recording.spellings import spelled
from ctxdispatch_contexts.reverse.inserting import Insertion, skip
from ctxdispatch_contexts.reverse.source_of_blocks import block_function
from ctxdispatch_contexts.reverse.stopping import no_grad, stopped

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

# -- constants -----------------------------------------------------------------------------------------------


def detached(record: Record, out: Any) -> Any:
    """`out`, which depends on nothing."""
    if is_number(out):
        return another(out) if record.is_active(out) else out
    if issubclass(type(out), np.ndarray):
        if out.dtype == object:
            return _items_detached(record, out)
        return record.apart(out) if record.is_active(out) else out
    if issubclass(type(out), (tuple, list)):
        parts = [detached(record, part) for part in out]
        return out if all(a is b for a, b in zip(parts, out, strict=True)) else rebuild(out, parts)
    if issubclass(type(out), dict):
        found = {key: detached(record, part) for key, part in out.items()}
        return out if all(part is out[key] for key, part in found.items()) else found
    return _object_detached(record, out)


def _items_detached(record: Record, array: Any) -> Any:
    """Of an array of objects."""
    parts = {at: detached(record, array[at]) for at in np.ndindex(array.shape)}
    if all(part is array[at] for at, part in parts.items()):
        return array
    made = array.copy()
    for at, part in parts.items():
        made[at] = part
    return made


def _object_detached(record: Record, out: Any) -> Any:
    if issubclass(type(out), (type, types.FunctionType, types.ModuleType)):
        return out
    parts = fields(out)
    apart = {name: detached(record, part) for name, part in parts.items()}
    if all(part is parts[name] for name, part in apart.items()):
        return out
    return with_attributes(out, apart)


def _stopped(ctx: Any, x: Any) -> Any:
    """For a run around this one, too, to which what is made here would lead back to `x`."""
    record: Record = ctx.record
    if record.ended:
        return x
    made = detached(record, x)
    out = stopped(made)
    if out is not made:
        record.copies += [a for a in leaves(out) if issubclass(type(a), np.ndarray)]
    return out


# -- pauses --------------------------------------------------------------------------------------------------


def paused(ctx: Any, f: Any, run: Any, args: Args, kwargs: Kwargs) -> Any:
    """f(*args, **kwargs) while the run pauses."""
    record: Record = ctx.record
    callee, bound = canonical(f)
    if not (bound and type(bound[0]) is np.ufunc and f.__name__ != "at"):
        args, run = (*bound, *args), callee if run is f and bound else run
    else:
        callee = f
    callee = spelled(callee)
    if moves(look_at(callee), callee, args):
        return run(*args, **kwargs)
    store = stores.find(callee, args, kwargs)
    with resumed():
        if store is None:
            return stores.constant(ctx, callee, args, kwargs, functools.partial(_paused, run))
        stores.check_alias(ctx, callee, args, kwargs)
        args = (args[0], *[_constant(record, a) for a in args[1:]])
        return stores.done(store, ctx, callee, args, kwargs, functools.partial(_paused, run))


def _paused(run: Any, /, *args: Any, **kwargs: Any) -> Any:
    with no_grad():
        return run(*args, **kwargs)


def _constant(record: Record, value: Any) -> Any:
    """What is stored is looked at again on the way back, when the run does not pause."""
    return stopped(np.array(value) if issubclass(type(value), np.ndarray) else detached(record, value))


def _called(ctx: Any, pause: no_grad, /, *args: Any, **kwargs: Any) -> Any:
    _entered(ctx, pause)
    try:
        out = resolve(ctx, pause.function)(*args, **kwargs)
    finally:
        _left(ctx, pause)
    return _stopped(ctx, out)


def _entered(ctx: Any, pause: no_grad) -> no_grad:
    """A run around this one pauses too."""
    ctx.record.pause()
    return pause.__enter__()


def _left(ctx: Any, pause: no_grad, /, *exception: Any) -> None:
    pause.__exit__(*exception)
    ctx.record.resume()


class resumed:  # noqa: N801
    """Within a pause: what is written down here is seen by the run around this one."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        pass


def _resumed(ctx: Any, block: resumed) -> None:
    record: Record = ctx.record
    record.paused.append(record.still)
    record.still = 0
    record.settle()


def _paused_again(ctx: Any, block: resumed, /, *exception: Any) -> None:
    record: Record = ctx.record
    record.still = record.paused.pop()
    record.settle()


# -- blocks on the way back ----------------------------------------------------------------------------------


def _begun(ctx: Any, insertion: Insertion) -> None:
    """The block is written down, and skipped."""
    record: Record = ctx.record
    frame = user_frame()
    if not record.closed and record.sweeps and record.any_active((insertion.x,)):
        assert frame is not None
        function, given = block_function(frame)
        record.note(given)
        record.block(insertion.x, function, given)
    skip(insertion.skipped, frame)


RULES: dict[Any, Any] = {
    stopped: _stopped,
    Insertion.__enter__: _begun,
    no_grad.__call__: _called,
    no_grad.__enter__: _entered,
    no_grad.__exit__: _left,
    resumed.__enter__: _resumed,
    resumed.__exit__: _paused_again,
}
