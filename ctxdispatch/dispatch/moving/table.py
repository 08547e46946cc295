"""Which row a function has: one of `HANDLED`, or what its fact says."""

from __future__ import annotations

import operator
import types
import warnings
from collections.abc import Iterator
from typing import Any

from ctxdispatch.dispatch.instructions import PATTERNS
from ctxdispatch.dispatch.moving.choosing import arrange, choose
from ctxdispatch.dispatch.moving.plain import HANDLED, Row, as_it_is
from ctxdispatch.dispatch.moving.reading import items
from ctxdispatch.dispatch.moving.through import (
    accumulate,
    backwards,
    keywords,
    of_each,
    spreading_of,
    to_dict,
)
from ctxdispatch.dispatch.moving.writing import of_method
from ctxdispatch.dispatch.protocols import HANDLERS
from ctxdispatch.dispatch.protocols.callbacks import CALLING, PYTHON
from ctxdispatch.dispatch.protocols.iteration import ITERABLES, iterables_of
from ctxdispatch.facts import RUNS_TEXT, with_rows
from ctxdispatch.ir import primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def _found() -> Iterator[tuple[Any, Row | None]]:
    for f, row in with_rows():
        if f in ITERABLES or f in CALLING:
            yield f, spreading_of(f, iterables_of(f, row).operands, row)
        yield f, of_method(f, row)


ROWS: dict[int, Row] = {id(f): row for f, row in (*_found(), *HANDLED.items()) if row is not None}

_SPREAD = (choose, arrange, of_each, to_dict, keywords, accumulate, backwards)
SPREADING: frozenset[Row] = frozenset(row for row in ROWS.values() if row in _SPREAD or row.__name__ == "row")
"""Those that go through operands."""

_BY_TYPE: dict[type, Row] = {operator.itemgetter: items}
"""The same by the type of the callee."""


def row_of(callee: Any) -> Row | None:
    """That of the function itself, of its type, or of what its Python code hands on; None: there is none."""
    found = ROWS.get(id(callee)) or _BY_TYPE.get(type(callee))
    if found is None and type(callee) is types.FunctionType:
        hands_on = (callee.__module__, callee.__qualname__) in PYTHON
        return as_it_is if hands_on else None
    return found


RULED: list[Any] = [
    *HANDLERS, primitives.build_set, primitives.build_map, primitives.set_add, primitives.map_add,
    primitives.build_string, *RUNS_TEXT, warnings.warn, *PATTERNS.values(),
]  # fmt: skip
"""What does not reach `fallback` with the operands that the program gave."""
