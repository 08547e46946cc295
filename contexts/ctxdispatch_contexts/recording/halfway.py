"""Stores that raise. What NumPy has written by then (`np.put` up to an index that is none, a ufunc under
`np.errstate` all of it), the derivative does not know: it is there, as it is plainly, and a program that goes
on all the same is refused when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.errors import MutationError, Refused, described, user_position
from ctxdispatch_contexts.recording.memory import differ
from ctxdispatch_contexts.recording.record import Record

Array = np.ndarray[Any, Any]

_BEFORE_WRITING = (TypeError, ValueError, IndexError)
"""What ufuncs and stores of arrays raise, of casts, shapes and indices."""


def interrupted(record: Record, callee: Any, error: Exception) -> None:
    """A store of an array, or of what a ufunc makes of arrays, raised `error`."""
    if not issubclass(type(error), (Refused, *_BEFORE_WRITING)):
        _note(record, callee, error)


def as_plain(
    record: Record, callee: Any, places: Sequence[Array], store: Callable[[], Any], run: Callable[[], Any]
) -> Any:
    """store(), which writes into `places` as run() does, and writes that down. Where it raises, what was
    there is put back, and run() raises in its place: it knows how much is written by then."""
    before = [place.copy() for place in places]
    try:
        return store()
    except Refused:
        raise
    except Exception:
        _put_back(places, before)
        _raise(record, callee, places, before, run)
        raise


def _put_back(places: Sequence[Array], before: Sequence[Array]) -> None:
    for place, old in zip(places, before, strict=True):
        if place.flags.writeable:
            place[...] = old


def _raise(
    record: Record, callee: Any, places: Sequence[Array], before: Sequence[Array], run: Callable[[], Any]
) -> None:
    try:
        run()
    except Exception as error:
        if any(differ(place, old) for place, old in zip(places, before, strict=True)):
            _note(record, callee, error)
        raise


def _note(record: Record, callee: Any, error: Exception) -> None:
    record.refuse(
        MutationError(
            f"{described(callee)} raised a {type(error).__name__} when it had stored some of what depends on "
            "what is differentiated, and the program goes on; store it where nothing is raised",
            user_position(),
        ),
        error,
    )
