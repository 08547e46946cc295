"""NumPy under `Tagging`: what functions do to the metadata of elements.

    a[k], a[k] = x        the same to the shadows
    add(a, b)             `combine` for each element
    reshape(a)            reshape of the shadow
    everything else       all that the arrays have, for the whole result

A shadow is an object array of `shadows.Held` and None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch.dispatch.shadows import Held, boxed, cells
from ctxdispatch.dispatch.strip import Strip
from ctxdispatch.facts import ELEMENTWISE, INPLACE, JOINS, MOVES, SAME_PLACES
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

# -- items -----------------------------------------------------------------------------------------


def read(call: Any, array: Any, given: Any, index: Any) -> Any:
    """given[index], where `array` is `given` without its tag."""
    strip = Strip(call)
    bare = strip.value(index)
    out = call.native(array, bare)
    metadata = [*call.held(given), *strip.metadata]
    shadow = call.ctx._shadows.of(array)
    if shadow is not None:
        if not isinstance(out, np.ndarray):
            out = moved(call, out, shadow[bare])
        elif not np.may_share_memory(out, array):
            call.ctx._shadows.write(out, ..., shadow[bare])
    return call.give(out, metadata)


def moved(call: Any, out: Any, box: Any) -> Any:
    """`out`, an element that has `box`: nothing was done to it, so it has the tag that was put there."""
    metadata = _of(box)
    return call.ctx.tag(out, metadata[0]) if len(metadata) == 1 else call.give(out, [*metadata])


def _of(box: Any) -> Any:
    box = box[()] if isinstance(box, np.ndarray) else box
    return () if box is None else box.metadata


def write(call: Any, array: Any, index: Any, value: Any) -> None:
    at, what = Strip(call), Strip(call)
    bare_index, bare_value = at.value(index), what.value(value)
    call.native(array, bare_index, bare_value)
    shadows = call.ctx._shadows
    boxes = shadow_of(call, value, np.shape(bare_value)) if what.metadata else None
    if array.dtype.names is not None:
        array, bare_index = array[bare_index] if isinstance(bare_index, str | list) else array, ...
    shadows.write(array, bare_index, _fitting(boxes, array, bare_index))
    if at.metadata:
        made = call.combined([*at.metadata, *shadows.metadata(array)], array)
        if made is not None:
            shadows.fill(array, made)


def _fitting(boxes: Any, array: Any, index: Any) -> Any:
    """Leading axes of length one may be left out."""
    while boxes is not None and boxes.ndim > 1 and boxes.shape[0] == 1:
        boxes = boxes[0]
    return boxes


def shadow_of(call: Any, value: Any, shape: Any) -> Any:
    """The shadow of any operand that NumPy takes for an array of `shape`."""
    held, bare = call.held(value), call.bare(value)
    if isinstance(bare, np.ndarray):
        found = call.ctx._shadows.of(bare)
        shadow = np.full(bare.shape, None, dtype=object) if found is None else found.copy()
    elif isinstance(bare, list | tuple) and shape and len(bare) == shape[0]:
        shadow = np.full(shape, None, dtype=object)
        for k, item in enumerate(bare):
            shadow[k] = cells(shadow_of(call, item, shape[1:]))
    else:
        shadow = np.full((), None, dtype=object)
    return _with(shadow, held)


def _with(shadow: Any, metadata: list[Any]) -> Any:
    if not metadata:
        return shadow
    if shadow.size == 1 and shadow.flat[0] is None:
        return np.broadcast_to(boxed(*metadata), shadow.shape).copy()
    for index, box in enumerate(shadow.flat):
        shadow.flat[index] = Held(*(() if box is None else box.metadata), *metadata)
    return shadow


# -- functions -------------------------------------------------------------------------------------


def elementwise(result: Any, out: Any) -> tuple[bool, Any]:
    """Whether the shadows of `out`, a result of a call with arrays that have some, were made here."""
    f = result.callee
    if f.__hash__ is None:
        return False, out
    if not result.strip.shadowed:
        parts = f is np.where or any(isinstance(a, list | tuple) for a in result.args)
        return _moved(result, out) if parts and f in SHUFFLES else (False, out)
    if f in OPERATORS or (type(f) is np.ufunc and f.signature is None):
        return True, _broadcast(result, out)
    if f in SHUFFLES:
        return _moved(result, out)
    return False, out


def _broadcast(result: Any, out: Any) -> Any:
    call = result.call
    outs = out if isinstance(out, tuple) else (out,)
    operands = [*result.args[: getattr(result.callee, "nin", 2)], *_masks(result.kwargs)]
    bare = [Strip(call).value(a) for a in operands]
    shadows = [shadow_of(call, a, np.shape(b)) for a, b in zip(operands, bare)]
    join = np.frompyfunc(lambda *each: _joined(call, each), len(shadows), 1)
    boxes = np.asarray(join(*shadows), dtype=object)
    made = [_put(call, each, boxes) for each in outs]
    return tuple(made) if isinstance(out, tuple) else made[0]


def _masks(kwargs: Any) -> list[Any]:
    return [kwargs["where"]] if "where" in kwargs else []


def _joined(call: Any, boxes: Any) -> Any:
    metadata = [m for box in boxes if box is not None for m in box.metadata]
    made = call.combined(metadata) if metadata else None
    return None if made is None else Held(made)


def _put(call: Any, out: Any, boxes: Any) -> Any:
    if isinstance(out, np.ndarray):
        call.ctx._shadows.write(out, ..., boxes)
        return out
    return call.give(out, [*_of(boxes)])


OPERATORS = frozenset({*ELEMENTWISE, *(f for f, plain in INPLACE.items() if plain in ELEMENTWISE)})


def _moved(result: Any, out: Any) -> tuple[bool, Any]:
    """The same function of the shadows."""
    call = result.call
    if not isinstance(out, np.ndarray):
        return False, out
    if any(isinstance(a, np.ndarray) and np.may_share_memory(out, a) for a in result.given[:1]):
        return True, call.give(out, call.held(*result.args))
    if result.callee is np.where:
        boxes = _where(call, *result.args)
    elif result.callee in SAME_PLACES:
        boxes = shadow_of(call, result.args[0], out.shape)
    else:
        boxes = _of_shadows(result)
    if boxes.shape != out.shape:
        return False, out
    call.ctx._shadows.write(out, ..., boxes)
    return True, call.give(out, [*call.held(*result.args[1:])])


def _where(call: Any, condition: Any, *choices: Any) -> Any:
    """What is chosen, and what the choice depends on."""
    bare = [Strip(call).value(a) for a in (condition, *choices)]
    asked, *shadows = [shadow_of(call, a, np.shape(b)) for a, b in zip((condition, *choices), bare)]
    chosen = np.where(bare[0], *shadows)
    join = np.frompyfunc(lambda a, b: b if a is None else _joined(call, (a, b)) or b, 2, 1)
    return np.asarray(join(asked, chosen), dtype=object)


def _of_shadows(result: Any) -> Any:
    call = result.call
    args = [_as_shadow(call, a, position, result.callee) for position, a in enumerate(result.args)]
    kwargs = {k: v for k, v in result.kwargs.items() if k not in ("dtype", "casting", "out")}
    named = {k: Strip(call).value(v) for k, v in kwargs.items()}
    return np.asarray(result.callee(*args, **named), dtype=object)  # of one element it may be that itself


def _as_shadow(call: Any, value: Any, position: int, f: Any) -> Any:
    bare = Strip(call).value(value)
    if isinstance(bare, list | tuple) and any(np.ndim(each) for each in bare):
        return [_as_shadow(call, each, 0, f) for each in call.bare(value)]
    if position and f is not np.append:
        return bare
    return shadow_of(call, value, np.shape(bare))


SHUFFLES = MOVES | JOINS | SAME_PLACES | {np.where, np.append, np.ndarray.view}
"""What moves elements and does nothing else."""
