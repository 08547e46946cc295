"""From pieces of symbolic code to the instructions and tables of one code object.

Pieces are placed in the order of their blocks; the code of an edge goes where nothing falls into it, just
before its target if that can be. Then names, constants and slots become indices, and pairs that a version
has one instruction for are fused. Invariant: constants are distinct by identity (`1`, `1.0` and `True`
never merge), so any object can be one."""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence, Set
from typing import Any

from ctxdispatch.bytecode import sites
from ctxdispatch.bytecode.assemble import NOWHERE, Handler, Instr, Pos
from ctxdispatch.bytecode.pool import Held
from ctxdispatch.bytecode.slots import Piece, Slots, SymbolicAt
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.ir.values import UNDEF, UNREAD, Value, hashable

OPCODE = dis.opmap

SWAPPED = {"TRUE": "FALSE", "FALSE": "TRUE", "NONE": "NOT_NONE", "NOT_NONE": "NONE"}
CONDITIONAL_BACKWARD = bool(EMIT.backward)


# -- placing ---------------------------------------------------------------------------------------


def place(blocks: Sequence[Piece]) -> list[Piece]:
    """The order of all pieces, those of edges among the blocks'."""
    order: list[Piece] = []
    pending: list[Piece] = []
    main = set(blocks)
    for k, piece in enumerate(blocks):
        if pending and not _falls(order[-1], piece):
            pending = _flush(order, pending, piece, blocks, k)
        order.append(piece)
        extra = [s for s in piece.successors if s not in main]
        following = blocks[k + 1] if k + 1 < len(blocks) else None
        if extra and extra[0] is piece.successors[0] and following not in piece.successors:
            order.append(extra.pop(0))
        pending += extra
    return order + pending


def _falls(piece: Piece, following: Piece) -> bool:
    return following in piece.successors


def _flush(
    order: list[Piece], pending: list[Piece], following: Piece, blocks: Sequence[Piece], k: int
) -> list[Piece]:
    """Place what is pending before `following`, into which nothing falls. What fits better later waits."""
    waiting, last = [], []
    for piece in pending:
        target = piece.successors[0]
        if target is following:
            last.append(piece)
        elif _later(target, blocks, k):
            waiting.append(piece)
        else:
            order.append(piece)
    order += last
    return waiting


def _later(target: Piece, blocks: Sequence[Piece], k: int) -> bool:
    """Whether `target` comes after block k, and the block before it does not fall into it."""
    at = target.place
    return at > k and not _falls(blocks[at - 1], target)


# -- slots, names, constants -----------------------------------------------------------------------


class Linker:
    """Writes instructions. `names` and `consts` are the code object's."""

    def __init__(self, slots: Slots, graph: Graph, doc: str | None) -> None:
        self.slots = slots
        self._pool, self._pool_cell = graph.pool, graph.pool_cell
        self.consts: list[Any] = [doc]
        self.names: list[str] = []
        self.instrs: list[Instr] = []
        count = len(slots.names)
        self._slot = slots.index | {cell: count + k for k, cell in enumerate(graph.cells)}
        self._name_index: dict[str, int] = {}
        self._const_index: dict[int, int] = {id(doc): 0}
        self._fusable = False
        self._patches: list[tuple[int, Piece]] = []
        self._starts: dict[Piece, int] = {}

    def code(self, order: Sequence[Piece]) -> list[Instr]:
        for piece, following in zip(order, [*order[1:], None], strict=True):
            self._starts[piece] = len(self.instrs)
            self._fusable = False
            for instruction in piece.code:
                self.instruction(*instruction)
            self._go_on(piece, following)
        starts = self._starts
        for at, target in self._patches:
            opcode, _, pos = self.instrs[at]
            self.instrs[at] = (opcode, starts[target], pos)
        return self.instrs

    def trap(self, order: Sequence[Piece], guarded: Set[Piece], target: Piece) -> list[Handler]:
        """Append what drops an exception and goes on at `target`. The pieces that it is for."""
        ends = [*[self._starts[piece] for piece in order[1:]], len(self.instrs)]
        at = len(self.instrs)
        handlers = [
            Handler(self._starts[piece], end, at, 0)
            for piece, end in zip(order, ends, strict=True)
            if piece in guarded and self._starts[piece] < end
        ]
        test = EMIT.forward.get("POP_JUMP_IF_FALSE", "POP_JUMP_IF_FALSE")
        self._add("PUSH_EXC_INFO", 0, NOWHERE)
        self._const("LOAD_CONST", Exception, NOWHERE)
        self._add("CHECK_EXC_MATCH", 0, NOWHERE)
        self._add(test, at + 7, NOWHERE)  # to the SWAP: not an Exception
        self._add("POP_TOP", 0, NOWHERE)
        self._add("POP_EXCEPT", 0, NOWHERE)
        self._add("JUMP_BACKWARD", self._starts[target], NOWHERE)
        self._add("SWAP", 2, NOWHERE)
        self._add("POP_EXCEPT", 0, NOWHERE)
        self._add("RERAISE", 0, NOWHERE)
        return handlers

    # -- instructions ------------------------------------------------------------------------------

    def instruction(self, name: str, arg: Any, pos: Pos) -> None:
        kind = KINDS.get(name)
        if kind is not None:
            kind(self, name, arg, pos)
        elif isinstance(arg, Value):
            self._add(name, 0 if name == "POP_TOP" else self._slot[arg], pos)
        else:
            self._add(name, arg or 0, pos)

    def _add(self, name: str, arg: int, pos: Pos) -> None:
        self._fusable = True
        self.instrs.append((OPCODE[name], arg, pos))

    def slot(self, name: str, arg: Value, pos: Pos) -> None:
        """LOAD_FAST, STORE_FAST: with the one before, where the version has the pair."""
        index = self._slot[arg]
        if self._fusable and index < 16 and self.instrs:
            opcode, before, at = self.instrs[-1]
            pair = FUSED.get((opcode, name))
            if pair is not None and before < 16 and self._may_fuse(before, at, index, pos):
                self.instrs[-1] = (pair, before << 4 | index, at)
                return
        self._add(name, index, pos)

    def _may_fuse(self, before: int, at: Pos, index: int, pos: Pos) -> bool:
        """Whether what uses slot `before` at `at` may be one instruction with what uses `index` at `pos`."""
        return at[0] == pos[0]

    def const(self, name: str, value: Any, pos: Pos) -> None:
        value = None if value is UNREAD.value else value
        if self._pool is not None and not (is_leaf(value) and hashable(value)):
            self._from_pool(value, pos)
        elif not hashable(value):
            self._const("LOAD_CONST", Held(value), pos)
            self.name("LOAD_BOUND", "value", pos)
        else:
            self._const(name, value, pos)
            return
        if name == "RETURN_CONST":
            self._add("RETURN_VALUE", 0, pos)

    def _from_pool(self, value: Any, pos: Pos) -> None:
        assert self._pool_cell is not None
        self._add("LOAD_DEREF", self._slot[self._pool_cell], pos)
        self._const("LOAD_CONST", self._pool.index(value), pos)
        self._add(*EMIT.subscript, pos)

    def _const(self, name: str, value: Any, pos: Pos) -> None:
        if type(value) is int and 0 <= value < EMIT.small_ints:
            self._add("LOAD_SMALL_INT", value, pos)
            return
        index = self._const_index.setdefault(id(value), len(self.consts))
        if index == len(self.consts):
            self.consts.append(value)
        self._add(name, index, pos)

    def name(self, name: str, arg: str, pos: Pos) -> None:
        index = self._name(arg)
        shift, method = EMIT.attribute
        if name == "LOAD_METHOD" and method:
            self._add("LOAD_ATTR", index << shift | method, pos)
        elif name == "LOAD_BOUND":
            self._add("LOAD_ATTR", index << shift, pos)
        else:
            self._add(name, index << shift if name == "LOAD_ATTR" else index, pos)

    def _name(self, name: str) -> int:
        index = self._name_index.setdefault(name, len(self.names))
        if index == len(self.names):
            self.names.append(name)
        return index

    def load_global(self, name: str, arg: str, pos: Pos) -> None:
        null = EMIT.null_first and self._fusable and self.instrs[-1][0] == OPCODE["PUSH_NULL"]
        if null:
            self.instrs.pop()
        self._add(name, self._name(arg) << 1 | null, pos)

    def push_null(self, name: str, arg: None, pos: Pos) -> None:
        if not EMIT.null_first and self._fusable and self.instrs[-1][0] == OPCODE["LOAD_GLOBAL"]:
            opcode, index, at = self.instrs[-1]
            self.instrs[-1] = (opcode, index | 1, at)
        else:
            self._add(name, 0, pos)

    def check(self, name: str, arg: tuple[Value, str], pos: Pos) -> None:
        value, variable = arg
        if value not in self.slots.sentinels:
            self._add(EMIT.load_check, self._slot[value], pos)
            return
        callee: list[SymbolicAt] = [("LOAD_CONST", primitives.check_bound, pos)]
        null: list[SymbolicAt] = [("PUSH_NULL", None, pos)]
        for instruction in null + callee if EMIT.null_first else callee + null:
            self.instruction(*instruction)
        self.slot("LOAD_FAST", value, pos)
        self.const("LOAD_CONST", variable, pos)
        for call, count in EMIT.call(2, ()):
            self._add(call, count, pos)

    def moves(self, name: str, pairs: list[tuple[Value, Any]], pos: Pos) -> None:
        """All sources are pushed before any parameter is stored: cycles need no care."""
        moved = [(p, a) for p, a in pairs if not self.slots.is_free(p, a)]
        for param, source in moved:
            if source is UNDEF and param in self.slots.sentinels:
                self.const("LOAD_CONST", UNDEF.value, pos)
            else:
                self._push(source, pos)
        for param, _ in reversed(moved):
            self.slot("STORE_FAST", param, pos)

    def _push(self, source: Any, pos: Pos) -> None:
        if isinstance(source, Value):
            self.slot("LOAD_FAST", source, pos)
        elif source is UNDEF:
            self._add("PUSH_NULL", 0, pos)
        else:
            self.const("LOAD_CONST", source.value, pos)

    # -- jumps -------------------------------------------------------------------------------------

    def _go_on(self, piece: Piece, following: Piece | None) -> None:
        successors = piece.successors
        if not successors:
            return
        if piece.test is None:
            if piece.spelled and successors[0] is following:
                self._add("NOP", 0, piece.pos)
            self._jump(successors[0], following, piece.pos, piece.quiet)
        elif piece.test in GOES_ON:
            self._patch(GOES_ON[piece.test], successors[1], piece.pos)
            self._jump(successors[0], following, piece.pos)
        else:
            self._branch(piece.test, successors[0], successors[1], following, piece.pos)

    def _branch(self, test: str, then: Piece, orelse: Piece, following: Piece | None, pos: Pos) -> None:
        """Fall through, or jump, to one of the two; the other is the target of the conditional jump."""
        swap = orelse is following
        if not CONDITIONAL_BACKWARD and (self._behind(then) or self._behind(orelse)):
            if self._behind(then) and self._behind(orelse):
                self._over(test, then, orelse, pos)
                return
            swap = self._behind(orelse)
        if swap:
            then, orelse, test = orelse, then, SWAPPED[test]
        name = f"POP_JUMP_IF_{SWAPPED[test]}"
        table = EMIT.backward if self._behind(orelse) else EMIT.forward
        self._patch(table.get(name, name), orelse, pos)
        self._jump(then, following, pos)

    def _over(self, test: str, then: Piece, orelse: Piece, pos: Pos) -> None:
        """Both targets are behind: jump over a jump."""
        after = Piece([])
        self._patch(f"POP_JUMP_IF_{test}", after, pos)
        self._patch("JUMP_BACKWARD", orelse, pos)
        self._starts[after] = len(self.instrs)
        self._patch("JUMP_BACKWARD", then, pos)

    def _behind(self, piece: Piece) -> bool:
        return piece in self._starts

    def _jump(self, target: Piece, following: Piece | None, pos: Pos, quiet: bool = False) -> None:
        if target is not following:
            backward = "JUMP_BACKWARD_NO_INTERRUPT" if quiet else "JUMP_BACKWARD"
            self._patch(backward if self._behind(target) else "JUMP_FORWARD", target, pos)

    def _patch(self, name: str, target: Piece, pos: Pos) -> None:
        self._patches.append((len(self.instrs), target))
        self._add(name, 0, pos)


GOES_ON = {
    "ITER": "FOR_ITER",
    "SEND": "SEND",
    "TRUE_OR_POP": "JUMP_IF_TRUE_OR_POP",
    "FALSE_OR_POP": "JUMP_IF_FALSE_OR_POP",
}
"""Instructions that go on, or jump forward with something else on the stack."""

FUSED = {(OPCODE[first], second): OPCODE[pair] for (first, second), pair in EMIT.fused.items()}

KINDS: dict[str, Callable[[Linker, str, Any, Pos], None]] = {
    **dict.fromkeys(("LOAD_FAST", "LOAD_FAST_BORROW", "STORE_FAST"), Linker.slot),
    **dict.fromkeys(("LOAD_CONST", "RETURN_CONST", "KW_NAMES"), Linker.const),
    **dict.fromkeys(
        (
            "LOAD_ATTR",
            "LOAD_BOUND",
            "LOAD_METHOD",
            "STORE_ATTR",
            "DELETE_ATTR",
            "STORE_GLOBAL",
            "DELETE_GLOBAL",
            "IMPORT_NAME",
            "IMPORT_FROM",
            "LOAD_NAME",
            "STORE_NAME",
            "DELETE_NAME",
            "LOAD_FROM_DICT_OR_GLOBALS",
        ),
        Linker.name,
    ),
    "LOAD_GLOBAL": Linker.load_global,
    "PUSH_NULL": Linker.push_null,
    "CHECK": Linker.check,
    "MOVES": Linker.moves,
    "SITE": sites.write,
}
