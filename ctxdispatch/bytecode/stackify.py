"""The code of blocks and of the edges between them; ops are `trees`' part.

A jump pushes what its target wants on the stack, then arguments that are made right there, and copies the
rest. A branch's condition is folded into the jump. Invariant: where an edge ends, the stack holds the
target's base, then its top parameter if it has one; every other parameter is in its slot."""

from __future__ import annotations

import operator
from typing import Any

from ctxdispatch.bytecode.assemble import NOWHERE, Pos
from ctxdispatch.bytecode.layout import Layout
from ctxdispatch.bytecode.rows import EXACT, IS, ORDER, compare, is_none
from ctxdispatch.bytecode.slots import SymbolicAt
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.bytecode.trees import Trees
from ctxdispatch.ir.graph import Block, Branch, Edge, Iterate, Jump, Raise, Return
from ctxdispatch.ir.values import UNDEF, Const, Operand, Value

TRUTH = {id(bool), id(operator.not_)}
SWAPPED = {"TRUE": "FALSE", "FALSE": "TRUE", "NONE": "NOT_NONE", "NOT_NONE": "NONE"}


class Stackifier(Trees):
    """Writes the blocks of one graph, successors before predecessors (loops apart)."""

    def __init__(self, layout: Layout, namespace: Any, filename: str, line: int) -> None:
        super().__init__(layout, namespace, filename, line)
        self.tops: dict[Block, Value] = {}  # the parameter that a block finds on the stack
        self.test = "TRUE"  # under which the branch of the last block takes `then`

    def block(self, block: Block) -> list[SymbolicAt]:
        self._begin(block)
        self._terminator(block)
        self._write_ops()
        code = self._out
        code.reverse()
        self._take_top(block, code)
        return code

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
        if op and op.syntax and id(op.fn) in IS and is_none(op.args[1]):
            self.test = "NONE" if (op.fn is operator.is_) == (self.test == "TRUE") else "NOT_NONE"
            self.skip()
            self._work.append((op.args[0], self.position(op.pos)))
        elif op and op.syntax and id(op.fn) in ORDER and EMIT.compare[1]:
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
