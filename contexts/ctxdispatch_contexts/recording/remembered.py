"""Results that an earlier call left, and that a run returns in place of computing them.

    if np.array_equal(p, self.last): return self.value          if key in memo: return memo[key]

Nothing in the run computes `self.value`, which is no constant all the same. So where what is differentiated
is found equal to what is a constant, the run *suspects* the numbers that an earlier call may have put where
it finds them (`places.py`), of a dict the entry that was found. They are followed as arguments are. Where the
result turns out to depend on one, it is refused: at the line where the two were found equal. So it is where
the result depends on other numbers that were there before, and on no argument: something else may have put
them there.

In forward mode the tangent of a suspect is nan, that of such others 0.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import natively
from ctxdispatch.dispatch.where import position
from ctxdispatch_contexts.programs.errors import user_frame
from ctxdispatch_contexts.programs.remembered import UNEQUAL, remembered, says_equal
from ctxdispatch_contexts.recording import arms, left, places
from ctxdispatch_contexts.recording.leaves import leaves
from ctxdispatch_contexts.recording.memory import has_shadow, owner
from ctxdispatch_contexts.recording.suspects import Suspect


def seen(record: Any, callee: Any, known: Any, args: tuple[Any, ...], out: Any) -> Any:
    """`out`, which callee(*args) gives and which has no derivative."""
    if known.compares:
        compared(record, callee, args, out)
    if callee is hash or (type(out) in _OF_TEXT and (known.texts or _is_text(args))):
        texts(record, args, out)
    return out


@natively
def compared(record: Any, callee: Any, args: tuple[Any, ...], out: Any) -> None:
    """callee(*args) is `out`, a comparison."""
    if len(args) < 2 or not says_equal(callee, out):
        return
    first, second = (_depends(record, value) for value in args[:2])
    if first is not second and _has_numbers(args[first is True]):
        _equal(record, args[first is True], callee not in UNEQUAL)


_TEXT = frozenset({str, bytes})
_OF_TEXT = _TEXT | {list, tuple}


def _is_text(args: Sequence[Any]) -> bool:
    return bool(args) and type(args[0]) in _TEXT


@natively
def texts(record: Any, args: Sequence[Any], out: Any) -> None:
    """`out`, or what is in it, is made of `args`: the key, it may be, that a result is kept by."""
    every = out if type(out) in (list, tuple) and _is_text(args) else (out,)
    made = [each for each in every if _is_own(each) and not any(each is arg for arg in args)]
    if made and any(_depends(record, arg) for arg in args):
        record.suspects.texts.update({id(each): each for each in made})


def _is_own(value: Any) -> bool:
    """A text or hash that is no other's object: short ones are shared."""
    cls = type(value)
    return (issubclass(cls, (str, bytes)) and len(value) > 1) or (cls is int and abs(value) > 256)


def _depends(record: Any, value: Any) -> bool:
    if record.any_active((value,)):
        return True
    texts = record.suspects.texts
    parts = value if issubclass(type(value), (tuple, list)) and texts else (value,)
    return any(id(part) in texts for part in parts)


def _has_numbers(value: Any) -> bool:
    return issubclass(type(value), (str, bytes)) or any(
        not issubclass(type(leaf), np.ndarray) or has_shadow(leaf) for leaf in leaves(value)
    )


@natively
def near(record: Any, distance: Any, out: bool) -> None:
    """A test says `out`, by which `distance` is small: that of a point to one that an earlier call has kept,
    it may be."""
    frame = user_frame() if record.any_active((distance,)) else None
    if frame is not None and record.suspects.is_first(frame):
        names = _only_read(record, frame, out)
        search = places.search(places.frames_of_run(frame)) if names else None
        _suspect(record, search.under(names) if search else (), frame)


def _only_read(record: Any, frame: types.FrameType, truth: bool) -> frozenset[str]:
    """The names that only the arm of the test reads, if that computes with nothing that depends on what is
    differentiated."""
    outside, local = arms.arm(places.original(frame.f_code), position(frame), truth)
    depends = any(record.any_active((frame.f_locals.get(name),)) for name in local)
    return frozenset() if depends else outside


def _equal(record: Any, constant: Any, truth: bool = True) -> None:
    """What is differentiated equals a constant: one that stands in the program is not kept."""
    frame = user_frame()
    if frame is None or any(constant is each for each in frame.f_code.co_consts):
        return
    if record.suspects.is_first(frame):
        search = places.search(places.frames_of_run(frame))
        _suspect(record, search.under(_only_read(record, frame, truth)), frame)
        _suspect(record, search.stored(), frame)
        _suspect(record, search.everything(), frame, stored=False)


def _suspect(record: Any, values: Iterable[Any], frame: types.FrameType, stored: bool = True) -> None:
    at = position(frame)
    for value in values:
        value = owner(value) if issubclass(type(value), np.ndarray) else value
        if id(value) not in record.suspects.found and not record.is_active(value) and _is_followed(value):
            record.suspects.found[id(value)] = Suspect(value, at, stored)
            record.suspect(value, stored)


def _is_followed(value: Any) -> bool:
    return not issubclass(type(value), np.ndarray) or (value.dtype.kind in "fc" and bool(value.size))


def _has_hash(key: Any) -> bool:
    """Which is not asked for here: it may be code of the user's."""
    return type(key).__hash__ is not None


def _has(container: Any, key: Any) -> bool:
    try:
        return key in container
    except TypeError:  # a tuple of what has no hash: where that is looked for here, the program raises it
        return False


@natively
def looked_up(record: Any, args: tuple[Any, ...]) -> None:
    """args[0][args[1]] is asked for, or whether it is there."""
    if len(args) < 2:
        return
    if issubclass(type(args[0]), (set, frozenset, np.ndarray)):
        return  # a set holds no arrays, and an array no lists
    turned = issubclass(type(args[1]), dict) or not issubclass(type(args[0]), (dict, list, tuple))
    container, key = args[1::-1] if turned else args[:2]
    if issubclass(type(container), (list, tuple)) and _depends(record, key) and key in container:
        _equal(record, container)
    is_dict = issubclass(type(container), dict)
    if is_dict and _has_hash(key) and _depends(record, key) and _has(container, key):
        frame = user_frame()
        if frame is not None:
            _suspect(record, leaves(container[key]), frame)


@natively
def check_bars(tape: Any, bars: Any) -> None:
    """After the sweep: what has arrived at suspects, and at the arguments?"""
    for each in tape.suspects.left.values():
        of_bytes = issubclass(type(each.value), np.ndarray) and each.value.dtype == np.uint8
        bar = tape.memory.arrived(each.value) if of_bytes else tape.bar(each.value)
        if _varies(bar[each.elements] if issubclass(type(bar), np.ndarray) else bar):
            raise left.error(each)
    arrived = [s for s in tape.suspects.found.values() if _varies(tape.bar(s.value))]
    found = next((s for s in arrived if s.stored), None)
    if found is None and arrived and not _varies(bars):
        found = arrived[0]
    if found is not None:
        raise remembered(found.at)


def _varies(derivative: Any) -> bool:
    if issubclass(type(derivative), SimpleNamespace):
        derivative = vars(derivative)
    if issubclass(type(derivative), dict):
        derivative = [*derivative.values()]
    if issubclass(type(derivative), (list, tuple, deque)):
        return any(map(_varies, derivative))
    return derivative is not None and bool(np.any(derivative))


@natively
def check_tangent(record: Any, y: Any, tangent: Any) -> None:
    """After a run in forward mode."""
    found = [*record.suspects.found.values()]
    depends = any(np.isnan(t).any() for t in leaves(tangent))
    if depends and (read := record.left_read()) is not None:
        raise left.error(read)
    if found and (depends or (not _varies(tangent) and record.any_active((y,)))):
        raise remembered(found[0].at)
