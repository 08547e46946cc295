"""The kinds of rows that `spelling.TABLE` has: from an op to what is pushed and the instructions that follow.

A row gives None where the op's operands are not what the instruction takes; the op is then a call."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple, Protocol

from ctxdispatch.bytecode.dialect import Symbolic
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.ir import matching, primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.operators import COMPARISONS
from ctxdispatch.ir.values import UNDEF, Const, Operand, Value

NULL: Symbolic = ("PUSH_NULL", None)

STORED = -1
"""Of `Spelling.results`: the instructions have put the result into its slot."""


class Callee(NamedTuple):
    """The operand that a call calls, with the NULL that goes with it; an attribute becomes a method."""

    operand: Operand


Push = Operand | Symbolic | Callee


class Spelling(NamedTuple):
    pushes: list[Push]
    code: tuple[Symbolic, ...]
    results: int = 1


class Site(Protocol):
    """Where an op is spelled. The ops before it are not written yet."""

    namespace: Any

    def peek(self, operand: Operand) -> Op | None:
        """The op right before, if `operand` is its result and is used here only."""

    def skip(self) -> None:
        """Take over the op that `peek` gave."""

    def is_threaded(self, op: Op) -> bool:
        """Whether the result of what grows a container is that container."""

    def lies_below(self, operand: Operand, depth: int) -> bool:
        """Whether `operand` is what is pushed `depth` places below the op's own operands. If so it is one use
        less."""

    def resident(self, operand: Operand) -> int:
        """How deep `operand` lies on the stack below what is pushed here; 0 where it does not."""


Row = Callable[[Op, Site], Spelling | None]


def head(callee: Operand) -> list[Push]:
    """A callable that is no method."""
    return [NULL, callee] if EMIT.null_first else [callee, NULL]


# -- rows of a fixed number of operands ------------------------------------------------------------


def fixed(count: int, *code: Symbolic, order: tuple[int, ...] = (), results: int = 1) -> Row:
    """Push the operands in `order`, then `code`."""

    def row(op: Op, site: Site) -> Spelling | None:
        if len(op.args) != count:
            return None
        return Spelling([op.args[k] for k in order] if order else [*op.args], code, results)

    return row


def display(name: str) -> Row:
    return lambda op, site: Spelling([*op.args], ((name, len(op.args)),))


ORDER = {id(f): k for k, f in enumerate(COMPARISONS)}
MASKS = (2, 10, 8, 7, 4, 12)  # of the outcomes unordered 1, less 2, greater 4, equal 8


def compare(function: Any, to_bool: bool = False) -> Symbolic:
    index = ORDER[id(function)]
    shift, bit = EMIT.compare
    return ("COMPARE_OP", index << shift | (MASKS[index] * EMIT.compare_mask) | bit * to_bool)


# In the order of BINARY_OP's argument.
NUMBERS = "add and_ floordiv lshift matmul mul mod or_ pow rshift sub truediv xor".split()
NUMBERS += "iadd iand ifloordiv ilshift imatmul imul imod ior ipow irshift isub itruediv ixor".split()


# -- truth -----------------------------------------------------------------------------------------

IS = {id(operator.is_), id(operator.is_not)}
EXACT = IS | {
    id(f)
    for f in (
        operator.contains,
        primitives.not_contains,
        operator.not_,
        matching.match_sequence,
        matching.match_mapping,
    )
}
"""Whose instructions leave an exact bool."""


def truth(op: Op, site: Site) -> Spelling | None:
    if len(op.args) != 1:
        return None
    inner = site.peek(op.args[0])
    if inner is not None and inner.syntax and EMIT.compare[1] and id(inner.fn) in ORDER:
        site.skip()
        return Spelling([*inner.args], (compare(inner.fn, to_bool=True),))
    return Spelling([*op.args], EMIT.truth or (("UNARY_NOT", 0), ("UNARY_NOT", 0)))


# -- subscripts ------------------------------------------------------------------------------------


def _slice_bounds(operand: Operand, site: Site) -> list[Operand] | None:
    """The bounds, where `operand` is a slice without a step that nothing else wants."""
    op = site.peek(operand)
    if not (EMIT.slices and op and op.syntax and op.fn is slice):
        return None
    if len(op.args) not in (2, 3) or (len(op.args) == 3 and not is_none(op.args[2])):
        return None
    site.skip()
    return op.args[:2]


def is_none(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.value is None


def getitem(op: Op, site: Site) -> Spelling | None:
    if len(op.args) != 2:
        return None
    container, index = op.args
    bounds = _slice_bounds(index, site)
    if bounds:
        return Spelling([container, *bounds], (("BINARY_SLICE", 0),))
    return Spelling([container, index], (EMIT.subscript,))


def setitem(op: Op, site: Site) -> Spelling | None:
    if len(op.args) != 3:
        return None
    container, index, value = op.args
    bounds = _slice_bounds(index, site)
    if bounds:
        return Spelling([value, container, *bounds], (("STORE_SLICE", 0),), 0)
    return Spelling([value, container, index], (("STORE_SUBSCR", 0),), 0)


def slice_(op: Op, site: Site) -> Spelling | None:
    count = len(op.args)
    return Spelling([*op.args], (("BUILD_SLICE", count),)) if 2 <= count <= 3 else None


# -- names -----------------------------------------------------------------------------------------


def attribute(name: str, count: int, pushed: tuple[int, ...], results: int = 1) -> Row:
    """getattr, setattr, delattr of a constant name."""

    def row(op: Op, site: Site) -> Spelling | None:
        if len(op.args) != count or not is_name(op.args[1]):
            return None
        return Spelling([op.args[k] for k in pushed], ((name, _value(op.args[1])),), results)

    return row


def is_name(operand: Operand) -> bool:
    return isinstance(operand, Const) and type(operand.value) is str


def _value(operand: Operand) -> Any:
    assert isinstance(operand, Const)
    return operand.value


def in_namespace(name: str, count: int, pushed: tuple[int, ...] = (), results: int = 1) -> Row:
    """What names a global, if the namespace is the function's own."""

    def row(op: Op, site: Site) -> Spelling | None:
        if len(op.args) != count or not _own(op.args[0], site) or not is_name(op.args[1]):
            return None
        return Spelling([op.args[k] for k in pushed], ((name, _value(op.args[1])),), results)

    return row


def _own(namespace: Operand, site: Site) -> bool:
    return isinstance(namespace, Const) and namespace.value is site.namespace


def looks_at(count: int, name: str) -> Row:
    """What leaves its operands below its result."""
    pops: tuple[Symbolic, ...] = (("SWAP", count + 1), *[("POP_TOP", None)] * count)
    return fixed(count, (name, 0), *pops)


def match_class(op: Op, site: Site) -> Spelling | None:
    subject, cls, count, names = op.args
    if not isinstance(count, Const):
        return None
    return Spelling([subject, cls, names], (("MATCH_CLASS", count.value),))


def import_from(op: Op, site: Site) -> Spelling | None:
    if len(op.args) != 2 or not is_name(op.args[1]):
        return None
    popped = op.args[0] if isinstance(op.args[0], Value) else None
    code = (("IMPORT_FROM", _value(op.args[1])), ("SWAP", 2), ("POP_TOP", popped))
    return Spelling([op.args[0]], code)


# -- cells and functions ---------------------------------------------------------------------------


def make_cell(op: Op, site: Site) -> Spelling | None:
    content = op.args[0] if op.args else UNDEF
    pushed: Push = NULL if content is UNDEF else content
    return Spelling([pushed], (("STORE_FAST", op.result), ("MAKE_CELL", op.result)), STORED)


def cell(name: str, pushed: tuple[int, ...] = (), results: int = 1) -> Row:
    """The cell is read in its slot. A constant one is put into a slot first."""

    def row(op: Op, site: Site) -> Spelling | None:
        target = op.args[0]
        pushes: list[Push] = [op.args[k] for k in pushed]
        code: tuple[Symbolic, ...] = ((name, target),)
        if isinstance(target, Const):
            slot = Value("cell")
            code = (("LOAD_CONST", target.value), ("STORE_FAST", slot), (name, slot))
        return Spelling(pushes, code, results)

    return row


FLAGS = {1: 2, 2: 3, 4: 4, 16: 6, 8: 5}
"""Per flag of MAKE_FUNCTION the operand of `primitives.make_function` that it is."""


def make_function(op: Op, site: Site) -> Spelling | None:
    code = op.args[1]
    if not _own(op.args[0], site) or not (isinstance(code, Const) and type(code.value) is CodeType):
        return None
    parts = {flag: op.args[k] for flag, k in FLAGS.items() if k < len(op.args) and not is_none(op.args[k])}
    return Spelling([*parts.values(), code], EMIT.function(sum(parts)))


# -- calls, containers, strings --------------------------------------------------------------------


def call_ex(op: Op, site: Site) -> Spelling | None:
    if not 2 <= len(op.args) <= 3:
        return None
    arguments = op.args[1 : 2 if is_none(op.args[-1]) else 3]
    return Spelling([*head(op.args[0]), *arguments], EMIT.call_ex[len(arguments) - 1])


def grow(name: str) -> Row:
    """What adds to the container that the first operand is, and leaves it on the stack."""

    def row(op: Op, site: Site) -> Spelling | None:
        target, *items = op.args
        if site.is_threaded(op):
            return Spelling([*op.args], ((name, 1),))
        depth = site.resident(target)
        if depth:
            return Spelling([*items], ((name, depth),), 0)
        return Spelling([*op.args], ((name, 1), ("POP_TOP", target)), 0)

    return row


def dict_merge(op: Op, site: Site) -> Spelling | None:
    """DICT_MERGE looks for the function below the dict, for its messages: what lies between are
    placeholders."""
    if len(op.args) != 3:
        return None
    target, other, function = op.args
    threaded, merge = site.is_threaded(op), ("DICT_MERGE", 1)
    if threaded and site.lies_below(function, EMIT.merge_below + 1):
        return Spelling([target, other], (merge,))
    below: list[Push] = [Const(None)] * EMIT.merge_below
    pops: tuple[Symbolic, ...] = (("POP_TOP", None),) * (1 + EMIT.merge_below)
    pushes = [function, *below, target, other]
    if threaded:
        return Spelling(pushes, (merge, ("SWAP", 2 + EMIT.merge_below), *pops))
    return Spelling(pushes, (merge, ("POP_TOP", target), *pops), 0)


def build_map(op: Op, site: Site) -> Spelling | None:
    keys = op.args[::2]
    if not EMIT.const_keys or len(keys) < 2 or not all(isinstance(key, Const) for key in keys):
        return Spelling([*op.args], (("BUILD_MAP", len(keys)),))
    names = Const(tuple(_value(key) for key in keys))
    return Spelling([*op.args[1::2], names], (("BUILD_CONST_KEY_MAP", len(keys)),))


CONVERSIONS = (None, str, repr, ascii)


def format_value(op: Op, site: Site) -> Spelling | None:
    """FORMAT_VALUE and its like, for a constant conversion."""
    defaults: list[Operand] = [Const(None), Const("")]
    value, conversion, spec = [*op.args, *defaults[len(op.args) - 1 :]]
    if not isinstance(conversion, Const):
        return None
    kind = next((k for k, f in enumerate(CONVERSIONS) if f is conversion.value), None)
    if kind is None:
        return None
    wanted = not (isinstance(spec, Const) and isinstance(spec.value, str) and not spec.value)
    after_value, last = EMIT.format(kind, wanted)
    return Spelling([value, *after_value, *([spec] if wanted else [])], last)


def convert(function: Any) -> Row:
    """The conversion of a format alone, where the version has an instruction for it."""
    code, _ = EMIT.format(CONVERSIONS.index(function), False)
    return lambda op, site: Spelling([*op.args], code) if code and len(op.args) == 1 else None


def unpack(op: Op, site: Site) -> Spelling | None:
    return Spelling([op.args[0]], (("UNPACK_SEQUENCE", len(op.results)),), len(op.results))


def unpack_ex(op: Op, site: Site) -> Spelling | None:
    before, after = _value(op.args[1]), _value(op.args[2])
    return Spelling([op.args[0]], (("UNPACK_EX", before | after << 8),), len(op.results))


# -- groups of callees -----------------------------------------------------------------------------

APPENDS = {id(f) for f in (primitives.list_append, primitives.set_add, primitives.map_add)}
"""Whose first operand may stay on the stack for the length of a loop."""

UPDATES = (primitives.list_extend, primitives.set_update, primitives.dict_update, primitives.dict_merge)
GROWS = APPENDS | {id(f) for f in UPDATES}
"""What leaves its first operand on the stack."""
