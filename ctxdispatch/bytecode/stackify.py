"""Code of one block: expression trees on the VM stack, the rest through slots.

Blocks are written backwards, from the terminator to the first op. `work` holds what is still to be pushed
below what has been written; an operand whose op is the one right before is written in its place,
everything else is loaded. Invariant: ops run in the order in which they stand in the block. So an op may
be an operand's tree only if no other op stands between, or if those are written as whole statements above
the operand, on the stack where it waits.

A value with several uses is stored and loaded again at its first one, unless something on the left of
that use, which will be pushed earlier, needs it too."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ctxdispatch.bytecode.assemble import NOWHERE, Pos
from ctxdispatch.bytecode.layout import Base, Layout, is_check
from ctxdispatch.bytecode.spelling import (
    COMPARISONS,
    EXACT,
    IS,
    NULL,
    STORED,
    Callee,
    Push,
    compare,
    head,
    is_name,
    spell,
)
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.bytecode.threads import Threads
from ctxdispatch.ir.graph import (
    UNDEF,
    Block,
    Branch,
    Const,
    Edge,
    Iterate,
    Jump,
    Op,
    Operand,
    Position,
    Raise,
    Return,
    Value,
)

SymbolicAt = tuple[str, Any, Pos]
"""An instruction whose argument is what it means. `MOVES` is a parallel copy: [(parameter, source), ...]."""

Work = tuple[Push | None, Pos]
"""None: the op before is a statement."""

TRUTH = {id(bool), id(operator.not_)}
SWAPPED = {"TRUE": "FALSE", "FALSE": "TRUE", "NONE": "NOT_NONE", "NOT_NONE": "NONE"}


class Stackifier:
    """Writes the blocks of one graph, successors before predecessors (loops apart)."""

    def __init__(self, layout: Layout, namespace: Any, filename: str, line: int) -> None:
        self.layout = layout
        self.namespace = namespace
        self.filename = filename
        self.tops: dict[Block, Value] = {}  # the parameter that a block finds on the stack
        self._threads = Threads(layout)
        self.test = "TRUE"  # under which the branch of the last block takes `then`
        self._pos: Pos = (line, line, 0, 0)  # until an op says where it is
        self._base: Base = ()
        self._ops: list[Op] = []
        self._cursor = 0  # ops before it are not written yet
        self._index: dict[Value, int] = {}
        self._out: list[SymbolicAt] = []
        self._work: list[Work] = []

    def block(self, block: Block) -> list[SymbolicAt]:
        self._ops, self._cursor = self._threads.ops(block), len(block.ops)
        self._index = {op.results[0]: k for k, op in enumerate(self._ops) if len(op.results) == 1}
        self._base, self._out, self._work = self.layout.base[block], [], []
        self._terminator(block)
        self._drain()
        while self._cursor:
            self._work.append((None, NOWHERE))
            self._drain()
        code = self._out
        code.reverse()
        self._take_top(block, code)
        return code

    # -- positions ---------------------------------------------------------------------------------

    def position(self, pos: Position | None) -> Pos:
        """What has no place in this file is where its surroundings are."""
        if pos is not None and pos.filename == self.filename and pos.line is not None:
            self._pos = (pos.line, pos.end_line, pos.column, pos.end_column)
        return self._pos

    # -- terminators -------------------------------------------------------------------------------

    def _terminator(self, block: Block) -> None:
        end = block.terminator
        pos = self.position(end.pos if end else None)
        match end:
            case Jump():
                self._jump(block, end.edge, pos)
            case Branch():
                self._condition(end.cond, pos)
            case Iterate():
                if not self.layout.resident_iterator(block):
                    self._work.append((end.iterator, pos))
            case Return():
                self._return(self._threads.now.get(end.value, end.value), len(self.layout.base[block]), pos)
            case Raise():
                self._out.append(("RAISE_VARARGS", len(end.operands()), pos))
                self._work += [(v, pos) for v in end.operands()]

    def _return(self, value: Operand, below: int, pos: Pos) -> None:
        """With `below` values left under the result."""
        if isinstance(value, Const) and EMIT.return_const:
            self._out.append(("RETURN_CONST", value.value, pos))
            self._out += [("POP_TOP", None, pos)] * below
            return
        self._out.append(("RETURN_VALUE", 0, pos))
        if isinstance(value, Value) and self._index.get(value, -1) >= 0:
            self._out += [("POP_TOP", None, pos), ("SWAP", 2, pos)] * below
            self._work.append((value, pos))
        else:
            self._load(value, pos)
            self._out += [("POP_TOP", None, pos)] * below

    def _condition(self, cond: Operand, pos: Pos) -> None:
        """Sets `test`: the jump decides by itself what `bool`, `not` and `is None` would."""
        self.test, exact = "TRUE", True
        while (op := self.peek(cond)) and op.syntax and id(op.fn) in TRUTH and len(op.args) == 1:
            exact, cond, pos = False, op.args[0], self.position(op.pos)
            self.test = SWAPPED[self.test] if op.fn is operator.not_ else self.test
            self.skip()
        if op and op.syntax and id(op.fn) in IS and _is_none(op.args[1]):
            self.test = "NONE" if (op.fn is operator.is_) == (self.test == "TRUE") else "NOT_NONE"
            self.skip()
            self._work.append((op.args[0], self.position(op.pos)))
        elif op and op.syntax and id(op.fn) in COMPARISONS and EMIT.compare[1]:
            self.skip()
            self._spelled(op.args, (compare(op.fn, to_bool=True),), self.position(op.pos))
        else:
            bare = exact or (op is not None and op.syntax and id(op.fn) in EXACT)
            self._spelled([cond], () if bare else EMIT.truth, pos)

    def _jump(self, block: Block, edge: Edge, pos: Pos) -> None:
        """Push what the target's base adds, its top parameter, arguments made right here; then copy."""
        keep: list[Operand] = [*self.layout.entering(block, edge.target)]
        top = self.tops.get(edge.target)
        pairs = [(p, self._threads.now.get(a, a)) for p, a in self.pairs(edge)]
        keep += [a for p, a in pairs if p is top]
        bound = max((self._index.get(v, -1) for v in keep if isinstance(v, Value)), default=-1)
        trees = [(p, a) for p, a in pairs if p is not top and self._is_tree(a, bound)]
        trees.sort(key=lambda pair: self._index[pair[1]])  # type: ignore[index]
        made = {p for p, _ in trees}
        self._out += [("STORE_FAST", p, pos) for p, _ in trees]
        self._moves([(p, a) for p, a in pairs if p is not top and p not in made], pos)
        self._work += [(v, pos) for v in keep]
        self._work += [(a, pos) for _, a in trees]

    def _is_tree(self, value: Operand, bound: int) -> bool:
        if not isinstance(value, Value) or self.layout.uses[value] != 1:
            return False
        return self._index.get(value, -1) > bound

    # -- edges -------------------------------------------------------------------------------------

    def pairs(self, edge: Edge) -> list[tuple[Value, Operand]]:
        """The parameters that anything reads, with their arguments. The item of a loop has none."""
        params = edge.target.params
        args = edge.args
        found = zip(params[len(params) - len(args) :], args, strict=True)
        return [(p, self._source(a)) for p, a in found if self.layout.uses[p]]

    def _source(self, operand: Operand) -> Operand:
        return self.layout.aliases.get(operand, operand) if isinstance(operand, Value) else operand

    def edge(self, block: Block, edge: Edge) -> list[SymbolicAt]:
        """What is done on an edge of a branch or a loop."""
        pos = self.position(block.terminator.pos if block.terminator else None)
        self._out = []
        top = self.tops.get(edge.target)
        pairs = self.pairs(edge)
        for argument in [a for p, a in pairs if p is top]:
            self._load(argument, pos)
        for value in self.layout.entering(block, edge.target)[::-1]:
            self._load(value, pos)
        self._out += [("POP_TOP", v, pos) for v in self.layout.leaving(block, edge)[::-1]]
        self._item(block, edge, pos)
        self._moves([(p, a) for p, a in pairs if p is not top], pos)
        self._iterator(block, edge, pos)
        self._out.reverse()
        return self._out

    def _item(self, block: Block, edge: Edge, pos: Pos) -> None:
        """It lies on top; a target that others lead to finds it in its slot."""
        if len(edge.target.params) > len(edge.args) and edge.target not in self.tops:
            self._drop(edge.target.params[0], pos)

    def _iterator(self, block: Block, edge: Edge, pos: Pos) -> None:
        """Where FOR_ITER leaves it: below the item, or nowhere, which newer versions mark."""
        end = block.terminator
        if not isinstance(end, Iterate):
            return
        if edge is end.exit:
            self._out += [(name, arg, pos) for name, arg in EMIT.exhausted[::-1]]
        elif not self.layout.resident_iterator(block) and block not in self.layout.held:
            self._out += [("POP_TOP", None, pos), ("SWAP", 2, pos)]

    def _moves(self, pairs: list[tuple[Value, Operand]], pos: Pos) -> None:
        found = [(p, a) for p, a in pairs if p is not a]
        if found:
            self._out.append(("MOVES", found, pos))

    def _take_top(self, block: Block, code: list[SymbolicAt]) -> None:
        """A parameter that is loaded first of all, and never again, may stay on the stack."""
        if self._item_only(block):
            item = block.params[0]
            if not self._opens_with(code, item):
                code.insert(0, self._dropped(item, code[0][2] if code else NOWHERE))
            self.tops[block] = item
            return
        at, param = self._first_load(block, code)
        if param is not None and self._may_be_top(block, param):
            self.tops[block] = param
            code[at : at + 1] = [("SWAP", 2, code[at][2])] * at

    def _first_load(self, block: Block, code: list[SymbolicAt]) -> tuple[int, Value | None]:
        """The load of a parameter that is the first instruction, or the second after another load."""
        for at, (name, arg, _) in enumerate(code[:2]):
            if name == "LOAD_FAST" and arg in block.params:
                return at, arg if self.layout.uses[arg] == 1 else None
            if name not in ("LOAD_FAST", "LOAD_CONST"):
                break
        return 0, None

    def _may_be_top(self, block: Block, param: Value) -> bool:
        """Not where a branch passes what is in a slot already, nor around a loop."""
        number, numbers = self.layout.numbers[block], self.layout.numbers
        preds = self.layout.incoming[block]
        return bool(preds) and all(
            numbers[p] < number and (isinstance(p.terminator, Jump) or self._passes_const(p, block, param))
            for p in preds
        )

    def _passes_const(self, pred: Block, block: Block, param: Value) -> bool:
        """Every edge from `pred`, a branch."""
        edges = [e for e in pred.edges() if e.target is block]
        at = block.params.index(param)
        return isinstance(pred.terminator, Branch) and all(
            isinstance(e.args[at], Const) and e.args[at] is not UNDEF for e in edges
        )

    def _opens_with(self, code: list[SymbolicAt], value: Value) -> bool:
        if not (code and code[0][0] == "LOAD_FAST" and code[0][1] is value and self.layout.uses[value] == 1):
            return False
        del code[0]
        return True

    def _item_only(self, block: Block) -> bool:
        preds = self.layout.incoming[block]
        if len(preds) != 1 or block is preds[0]:
            return False
        end = preds[0].terminator
        return isinstance(end, Iterate) and end.body.target is block

    # -- ops ---------------------------------------------------------------------------------------

    def peek(self, operand: Operand) -> Op | None:
        if isinstance(operand, Value) and self._adjacent(operand) and self.layout.uses[operand] == 1:
            return self._ops[self._cursor - 1]
        return None

    def skip(self) -> None:
        self._cursor -= 1

    def is_threaded(self, op: Op) -> bool:
        return op in self._threads.made

    def lies_below(self, operand: Operand, depth: int) -> bool:
        """Whether it is what will be pushed so far below what is pushed next."""
        if len(self._work) < depth or self._work[-depth][0] is not operand:
            return False
        if isinstance(operand, Value):
            self.layout.uses[operand] -= 1
        return True

    def resident(self, operand: Operand) -> int:
        """Only for statements: their base, and operands that wait below them."""
        base = self._base
        if operand not in base:
            return 0
        waiting = sum(_pushed(item) for item, _ in self._work)
        return len(base) - base.index(operand) + waiting

    def _adjacent(self, value: Value) -> bool:
        return self._cursor > 0 and self._index.get(value, -1) == self._cursor - 1

    def _drain(self) -> None:
        work, out = self._work, self._out
        while work:
            item, pos = work.pop()
            if isinstance(item, Value):
                self._value(item, pos)
            elif isinstance(item, Const):
                out.append(("LOAD_CONST", item.value, pos))
            elif item is None:
                self._statement()
            elif isinstance(item, Callee):
                self._callee(item.operand, pos)
            else:
                out.append((*item, pos))

    def _value(self, value: Value, pos: Pos) -> None:
        at = self._index.get(value, -1)
        if at < 0 or at >= self._cursor:
            self._load(value, pos)
        elif at == self._cursor - 1:
            self._last(value, pos)
        elif self.layout.uses[value] == 1 and self._may_wait(at):
            self._work += [(value, pos), (None, NOWHERE)]
        else:
            self._load(value, pos)

    def _last(self, value: Value, pos: Pos) -> None:
        """The op right before makes it."""
        op = self._ops[self._cursor - 1]
        work = self._work
        if self.layout.uses[value] == 1:
            self._nest(op)
        elif work and work[-1][0] is value and self.layout.uses[value] == 2:
            self._out.append(("COPY", 1, pos))
            work.pop()
            self._nest(op)
        elif not self._waited_for(value):
            if not is_check(op):
                self._out += [("LOAD_FAST", value, pos), ("STORE_FAST", value, self.position(op.pos))]
            self._nest(op)
        else:
            self._load(value, pos)

    def _waited_for(self, value: Value) -> bool:
        return any(v is value or (isinstance(v, Callee) and v.operand is value) for v, _ in self._work)

    def _may_wait(self, at: int) -> bool:
        """Whether what is made at `at` may lie on the stack while the ops after it run: nothing that is
        pushed below it comes from them."""
        if len(self._work) > 50:
            return False
        for item, _ in self._work:
            value = item.operand if isinstance(item, Callee) else item
            if isinstance(value, Value) and at <= self._index.get(value, -1) < self._cursor:
                return False
        return True

    def _nest(self, op: Op) -> None:
        """Write `op`, which leaves its result on the stack."""
        self.skip()
        pos = self.position(op.pos)
        if is_check(op):
            self._check(op, pos)
            return
        spelling = spell(op, self)
        if spelling.results == STORED:
            self._out.append(("LOAD_FAST", op.result, pos))
        elif spelling.results == 0:
            self._out.append(("LOAD_CONST", None, pos))
        self._spelled(spelling.pushes, spelling.code, pos)

    def _statement(self) -> None:
        op = self._ops[self._cursor - 1]
        self.skip()
        pos = self.position(op.pos)
        if is_check(op):
            if op.args[0] not in self.layout.aliases:
                self._out.append(("POP_TOP", op.result, pos))
                self._check(op, pos)
            return
        spelling = spell(op, self)
        if spelling.results > 0:
            for result in op.results[::-1]:
                self._drop(result, pos)
            if not op.results:
                self._out.append(("POP_TOP", None, pos))
        elif spelling.results == 0 and op.results and self.layout.uses[op.result]:
            self._out += [("STORE_FAST", op.result, pos), ("LOAD_CONST", None, pos)]
        self._spelled(spelling.pushes, spelling.code, pos)

    def _spelled(self, pushes: Iterable[Push], code: Iterable[tuple[str, Any]], pos: Pos) -> None:
        aliases = self.layout.aliases
        for name, arg in reversed([*code]):
            self._out.append((name, aliases.get(arg, arg) if isinstance(arg, Value) else arg, pos))
        self._work += [(push, pos) for push in pushes]

    def _callee(self, callee: Operand, pos: Pos) -> None:
        """An attribute that only this call wants is a method."""
        op = self.peek(callee)
        if op and op.syntax and op.fn is getattr and len(op.args) == 2 and is_name(op.args[1]):
            self.skip()
            at = self.position(op.pos)
            self._out.append(("LOAD_METHOD", op.args[1].value, at))  # type: ignore[union-attr]
            self._work.append((op.args[0], at))
        else:
            self._work += [(push, pos) for push in head(callee)]

    # -- slots -------------------------------------------------------------------------------------

    def _load(self, operand: Operand, pos: Pos) -> None:
        if isinstance(operand, Const):
            self._out.append(("LOAD_CONST", operand.value, pos))
        else:
            self._out.append(("LOAD_FAST", self._source(operand), pos))

    def _check(self, op: Op, pos: Pos) -> None:
        """What was checked once is bound."""
        if op.args[0] in self.layout.aliases:
            self._load(op.result, pos)
        else:
            self._out.append(("CHECK", (op.args[0], op.args[1].value), pos))  # type: ignore[union-attr]

    def _drop(self, value: Value, pos: Pos) -> None:
        self._out.append(self._dropped(value, pos))

    def _dropped(self, value: Value, pos: Pos) -> SymbolicAt:
        return ("STORE_FAST", value, pos) if self.layout.uses[value] else ("POP_TOP", None, pos)


def _is_none(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.value is None


def _pushed(item: Push | None) -> int:
    """How many places it takes on the stack."""
    if isinstance(item, Callee):
        return 2
    return int(item is NULL or isinstance(item, (Value, Const)))
