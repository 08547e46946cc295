"""A cell that is set once is what it holds, wherever that has been set.

    %c = make_cell(%x); %v = cell_get(%c, 'x')                      ->      %v is %x
    %c = make_cell(); cell_set(%c, %f); ... %v = cell_get(%c, 'f')  ->      %v is %f

Functions that are made here may have the cell as well, as long as their code does not assign to the variable.
A cell that nobody reads any more goes; so nothing is left of one whose functions have been inlined.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator, Mapping
from types import CodeType

from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.analysis import dominators
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.rewrite import substitute, uses
from ctxdispatch.ir.values import UNDEF, Const, Operand, Value


def open_cells(graph: Graph) -> None:
    """In place."""
    contents = CellContents(graph)
    replaced: dict[Value, Operand] = {}
    gone: set[Op] = set()
    for cell in contents.cells:
        found = contents.set_once(cell)
        if found is None:
            continue
        content, setter = found
        users = contents.users(cell)
        reads = [op for op in users if op.fn is prim.cell_get and contents.before(setter, op)]
        replaced.update((op.result, content) for op in reads)
        gone.update(reads)
        if all(op in gone or op is setter for op in users):
            gone.update((contents.makers[cell], setter))
    for block in graph.blocks if gone else ():
        block.ops = [op for op in block.ops if op not in gone]
    substitute(graph, replaced)  # a cell may hold what another one held


class CellContents:
    """What the cells hold that a graph makes, as far as it is the same at all times. `makers`: what makes
    each value."""

    def __init__(self, graph: Graph) -> None:
        self.cells = [op.result for _, op in graph.ops() if op.fn is prim.make_cell]
        self.makers = {r: op for _, op in graph.ops() for r in op.results}
        self._used = uses(graph) if self.cells else {}
        self._tree = dominators(graph) if self.cells else None
        self._at = {op: (block, i) for block in graph.blocks for i, op in enumerate(block.ops)}

    def users(self, cell: Value) -> list[Op]:
        return [use.user for use in self._used[cell] if isinstance(use.user, Op)]

    def of(self, cell: Operand) -> tuple[Operand, Op] | None:
        """What a cell holds, and the op that sets it to that: the only one. None where there are others,
        where somebody else may set it, and where it holds a function that reads it, which calls itself."""
        found = self.set_once(cell)
        return None if found is None or cell in self._captured(found[0]) else found

    def _captured(self, content: Operand) -> set[Operand]:
        """The cells of a function that is made here, and of the functions in them."""
        found: set[Operand] = set()
        work = [content]
        while work:
            maker = self.makers.get(work.pop())  # type: ignore[arg-type]
            closure = maker.args[CLOSURE] if maker is not None and _has_closure(maker) else None
            items = items_of(closure, self.makers) if closure is not None else None
            for cell in set(items or ()) - found:
                found.add(cell)
                held = self.set_once(cell)
                work += [held[0]] if held is not None else []
        return found

    def set_once(self, cell: Operand) -> tuple[Operand, Op] | None:
        maker = self.makers.get(cell)  # type: ignore[arg-type]
        if not isinstance(cell, Value) or maker is None or maker.fn is not prim.make_cell:
            return None
        if not all(self._is_known(use.user, cell) for use in self._used[cell]):
            return None
        sets = [(op.args[1], op) for op in self.users(cell) if op.fn is prim.cell_set]
        if maker.args and maker.args[0] is not UNDEF:
            sets.append((maker.args[0], maker))
        return sets[0] if len(sets) == 1 else None

    def at(self, op: Op, cell: Operand) -> Operand | None:
        """What the cell holds whenever `op` runs; None where that is not known."""
        found = self.of(cell)
        return found[0] if found is not None and self.before(found[1], op) else None

    def before(self, first: Op, then: Op) -> bool:
        """`first` has run whenever `then` does."""
        (block, i), (other, j) = self._at[first], self._at[then]
        if block is other:
            return i < j
        tree = self._tree
        return tree is not None and block in tree and other in tree and tree.dominates(block, other)

    def _is_known(self, op: object, cell: Value) -> bool:
        """A use that reads the cell, sets it, or gives it to a function that reads it."""
        if not isinstance(op, Op):
            return False
        if op.fn is prim.cell_get or op.fn is prim.cell_set:
            return op.args[0] is cell and cell not in op.args[1:]
        if op.fn is not prim.build_tuple:
            return False
        readers = self._used[op.result]
        return bool(readers) and all(_only_reads(reader.user, op, cell) for reader in readers)


def items_of(operand: Operand, makers: Mapping[Value, Op]) -> list[Operand] | None:
    """The items of a tuple operand (or of None, which is none), where it is constant or made by an op."""
    if isinstance(operand, Const):
        return [Const(item) for item in operand.value or ()]
    making = makers.get(operand)
    return list(making.args) if making is not None and making.fn is prim.build_tuple else None


CLOSURE = 5
"""Which argument of `make_function` the closure is: the last."""


def _has_closure(maker: Op) -> bool:
    return maker.fn is prim.make_function and len(maker.args) > CLOSURE


def _only_reads(maker: object, closure: Op, cell: Value) -> bool:
    """A function that is made with this closure, and does not assign to the variable."""
    if not isinstance(maker, Op) or maker.fn is not prim.make_function or closure.result in maker.args[:-1]:
        return False
    code = maker.args[1]
    if not _has_closure(maker) or not isinstance(code, Const):
        return False
    names = zip(closure.args, code.value.co_freevars, strict=True)
    return not any(c is cell and name in free_stores(code.value) for c, name in names)


def free_stores(code: CodeType) -> frozenset[str]:
    """The variables of enclosing functions that this code, or a function in it, assigns to."""
    return _stores(code, ("STORE_DEREF", "DELETE_DEREF")) & frozenset(code.co_freevars)


def global_stores(code: CodeType) -> frozenset[str]:
    """The global variables that this code, or a function in it, assigns to."""
    return _stores(code, ("STORE_GLOBAL", "DELETE_GLOBAL"))


def _stores(code: CodeType, opnames: tuple[str, str]) -> frozenset[str]:
    try:
        return _known_stores(code, opnames)
    except TypeError:  # generated code, with constants that have no hash
        return _known_stores.__wrapped__(code, opnames)


@functools.lru_cache(maxsize=4096)
def _known_stores(code: CodeType, opnames: tuple[str, str]) -> frozenset[str]:
    inner = [name for c in inner_codes(code) for name in _stores(c, opnames)]
    return frozenset((*_arguments(code, opnames), *inner))


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    """Of the functions and classes in it."""
    return (c for c in code.co_consts if type(c) is CodeType)


def _arguments(code: CodeType, opnames: tuple[str, str]) -> Iterator[str]:
    if {dis.opmap[name] for name in opnames}.isdisjoint(code.co_code[::2]):
        return iter(())
    return (str(i.argval) for i in dis.get_instructions(code) if i.opname in opnames)
