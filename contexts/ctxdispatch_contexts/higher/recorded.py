"""Jacobians of runs that are recorded: see `recording`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctxdispatch_contexts.forward.context import DualContext
from ctxdispatch_contexts.forward.program import ForwardMode
from ctxdispatch_contexts.higher.arranging import arranged_rows, bases, check_result, numbers, own, sizes
from ctxdispatch_contexts.higher.pulling import pulled_containers, pulled_rows
from ctxdispatch_contexts.recording.api import pushed, split
from ctxdispatch_contexts.reverse.program import ReverseMode


def jacobian(f: Any, mode: Any, args: Sequence[Any], context: Any) -> Any:
    """What a program for the JacobianMode `mode` returns."""
    xs = [args[i] for i in mode.wrt]
    if mode.forward is False and not mode.has_aux:
        return _by_pulling(f, mode, args, xs, context)
    wrt = tuple(dict.fromkeys(mode.wrt))
    of = [args[i] for i in wrt]
    shapes = [x if not hasattr(x, "copy") else x.copy() for x in of]  # the program may change them
    forward = ForwardMode(wrt, block=True, leading=mode.leading)
    y, dy = pushed(f, forward, (*args, *bases(*of), sizes(*of)), DualContext)
    aux = None
    if mode.has_aux:
        (y, aux), dy = y, dy[0]
    check_result(y)
    found = [own(arranged_rows(dy, y, wrt.index(i), *shapes)) for i in mode.wrt]
    if len(wrt) == 1 and not isinstance(of[0], np.ndarray):
        found = [numbers(each, y) for each in found]
    result = found[0] if mode.single else tuple(found)
    return (result, aux) if mode.has_aux else result


def _by_pulling(f: Any, mode: Any, args: Sequence[Any], xs: Sequence[Any], context: Any) -> Any:
    pair = split(f, ReverseMode(wrt=mode.wrt, leading=mode.leading), args, context)
    rows = pulled_containers if isinstance(pair[0], (tuple, list, dict)) else pulled_rows
    found = rows(pair, mode.wrt, mode.row_by_row, *xs)
    return found[0] if mode.single else found
