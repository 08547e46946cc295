"""How each call of the IR is spelled: what is pushed, in which order, and the instructions that follow.

Invariant: a `Spelling` does what calling the op's callee does, to the exception. What has no row is a
call. Rows are keyed by the identity of the callee, since a constant callee need not be hashable."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from ctxdispatch.bytecode import rows
from ctxdispatch.bytecode.rows import Callee, Row, Site, Spelling
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.ir import matching, primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.operators import COMPARISONS
from ctxdispatch.ir.values import Const


def spell(op: Op, site: Site) -> Spelling:
    callee = op.callee
    if isinstance(callee, Const) and not op.kwnames:
        row = ROWS.get(id(callee.value)) if op.syntax else ALWAYS.get(id(callee.value))
        found = row(op, site) if row else None
        if found is not None:
            return found
    return _call(op)


def _call(op: Op) -> Spelling:
    code = EMIT.call(len(op.args), op.kwnames)
    if len(op.results) > 1:
        code += (("UNPACK_SEQUENCE", len(op.results)),)
    return Spelling([Callee(op.callee), *op.args], code, len(op.results) or 1)


# -- the table -------------------------------------------------------------------------------------

TABLE: list[tuple[Any, Row]] = [
    *((getattr(operator, n), rows.fixed(2, ("BINARY_OP", k))) for k, n in enumerate(rows.NUMBERS)),
    *((f, rows.fixed(2, rows.compare(f))) for f in COMPARISONS),
    (operator.is_, rows.fixed(2, ("IS_OP", 0))),
    (operator.is_not, rows.fixed(2, ("IS_OP", 1))),
    (operator.contains, rows.fixed(2, ("CONTAINS_OP", 0), order=(1, 0))),
    (primitives.not_contains, rows.fixed(2, ("CONTAINS_OP", 1), order=(1, 0))),
    (operator.neg, rows.fixed(1, ("UNARY_NEGATIVE", 0))),
    (operator.pos, rows.fixed(1, EMIT.positive)),
    (operator.invert, rows.fixed(1, ("UNARY_INVERT", 0))),
    (operator.not_, rows.fixed(1, *EMIT.truth, ("UNARY_NOT", 0))),
    (builtins.bool, rows.truth),
    (operator.getitem, rows.getitem),
    (operator.setitem, rows.setitem),
    (operator.delitem, rows.fixed(2, ("DELETE_SUBSCR", 0), results=0)),
    (builtins.slice, rows.slice_),
    (builtins.iter, rows.fixed(1, ("GET_ITER", 0))),
    (builtins.getattr, rows.attribute("LOAD_ATTR", 2, (0,))),
    (builtins.setattr, rows.attribute("STORE_ATTR", 3, (2, 0), 0)),
    (builtins.delattr, rows.attribute("DELETE_ATTR", 2, (0,), 0)),
    (primitives.load_global, rows.in_namespace("LOAD_GLOBAL", 2)),
    (primitives.store_global, rows.in_namespace("STORE_GLOBAL", 3, (2,), 0)),
    (primitives.delete_global, rows.in_namespace("DELETE_GLOBAL", 2, (), 0)),
    (primitives.import_name, rows.in_namespace("IMPORT_NAME", 4, (3, 2))),
    (primitives.import_from, rows.import_from),
    (primitives.make_cell, rows.make_cell),
    (primitives.cell_get, rows.cell("LOAD_DEREF")),
    (primitives.cell_set, rows.cell("STORE_DEREF", (1,), 0)),
    (primitives.cell_delete, rows.cell("DELETE_DEREF", (), 0)),
    (primitives.make_function, rows.make_function),
    (primitives.build_tuple, rows.display("BUILD_TUPLE")),
    (primitives.build_list, rows.display("BUILD_LIST")),
    (primitives.build_set, rows.display("BUILD_SET")),
    (primitives.build_map, rows.build_map),
    (primitives.build_string, rows.display("BUILD_STRING")),
    (primitives.format_value, rows.format_value),
    *((f, rows.convert(f)) for f in rows.CONVERSIONS if f),
    (primitives.list_append, rows.grow("LIST_APPEND")),
    (primitives.set_add, rows.grow("SET_ADD")),
    (primitives.map_add, rows.grow("MAP_ADD")),
    (primitives.list_extend, rows.grow("LIST_EXTEND")),
    (primitives.set_update, rows.grow("SET_UPDATE")),
    (primitives.dict_update, rows.grow("DICT_UPDATE")),
    (primitives.dict_merge, rows.dict_merge),
    (builtins.len, rows.looks_at(1, "GET_LEN")),
    (matching.match_sequence, rows.looks_at(1, "MATCH_SEQUENCE")),
    (matching.match_mapping, rows.looks_at(1, "MATCH_MAPPING")),
    (matching.match_keys, rows.looks_at(2, "MATCH_KEYS")),
    (matching.match_class, rows.match_class),
    (primitives.list_to_tuple, rows.fixed(1, EMIT.to_tuple)),
]

#: A call of these is never one that the source wrote.
ALWAYS: dict[int, Row] = {
    id(primitives.call_ex): rows.call_ex,
    id(primitives.unpack): rows.unpack,
    id(primitives.unpack_ex): rows.unpack_ex,
}

ROWS: dict[int, Row] = {id(function): row for function, row in TABLE} | ALWAYS
