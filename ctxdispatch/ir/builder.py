"""Builds graphs: append calls, end blocks, and let SSA form come about by itself.

Variables (any hashable key: a local's name, a stack slot, "the cotangent of %x") are written and read per
block; `read` finds the reaching definition and adds block parameters where several meet (Braun et al. 2013,
"Simple and Efficient Construction of Static Single Assignment Form"). A block is *sealed* when all its
predecessors are known. Superfluous parameters are left to `prune`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op, Raise, Return, Terminator
from ctxdispatch.ir.values import UNDEF, Const, Operand, Position, Value


class Builder:
    """Writes into `graph`; `block` is where the next op goes, `pos` the position that ops get."""

    def __init__(
        self, graph: Graph, *, default: Callable[[Hashable], Operand] = lambda variable: UNDEF
    ) -> None:
        self.graph = graph
        self.block = graph.entry
        self.pos: Position | None = None
        self._default = default  # what a variable reads as that was never written
        self._defs: dict[Block, dict[Hashable, Operand]] = {graph.entry: {}}
        self._preds: dict[Block, list[tuple[Block, Edge]]] = {graph.entry: []}
        self._sealed: set[Block] = {graph.entry}
        self._incomplete: dict[Block, dict[Hashable, Value]] = {}
        self.variable_of: dict[Value, Hashable] = {}  # which variable a block parameter was made for
        self._adopt(graph)

    def _adopt(self, graph: Graph) -> None:
        """Blocks that are there already are finished: their predecessors are known."""
        for block in graph.blocks[1:]:
            self._defs[block] = {}
            self._sealed.add(block)
        for block, preds in graph.predecessors().items():
            self._preds[block] = preds

    # -- ops -------------------------------------------------------------------------------------------------

    def call(
        self,
        callee: Any,
        *args: Operand,
        kwnames: tuple[str, ...] = (),
        syntax: bool = False,
        name: str = "",
        type: Any = None,
        pos: Position | None = None,
    ) -> Value:
        """Append a call with one result. A callee that is no operand is wrapped in a Const."""
        result = Value(name, type)
        self.op(callee, list(args), [result], kwnames, syntax, pos)
        return result

    def op(
        self,
        callee: Any,
        args: list[Operand],
        results: list[Value],
        kwnames: tuple[str, ...] = (),
        syntax: bool = False,
        pos: Position | None = None,
    ) -> Op:
        """Append a call with any number of results."""
        if not isinstance(callee, (Value, Const)):
            callee = Const(callee)
        op = Op(callee, args, results, kwnames, pos or self.pos, syntax)
        self.block.ops.append(op)
        return op

    # -- blocks ----------------------------------------------------------------------------------------------

    def new_block(self, *, sealed: bool = False) -> Block:
        """An empty block, the last one. `sealed`: its predecessors are known, none so far."""
        block = self.graph.new_block()
        self._defs[block] = {}
        self._preds[block] = []
        if sealed:
            self._sealed.add(block)
        return block

    def enter(self, block: Block) -> None:
        """Ops go to `block` from now on."""
        self.block = block

    def jump(self, target: Block, args: Sequence[Operand] = ()) -> None:
        """End the current block: go to `target`, whose first parameters get `args`."""
        self.terminate(Jump(Edge(target, list(args)), self.pos))

    def branch(self, cond: Operand, then: Block, orelse: Block) -> None:
        """End the current block: go to `then` where `cond`, an exact bool, is true, else to `orelse`."""
        self.terminate(Branch(cond, Edge(then), Edge(orelse), self.pos))

    def iterate(self, iterator: Operand, body: Block, exit: Block, name: str = "") -> Value:
        """The item: the first parameter of `body`, which must have no other predecessor."""
        item = Value(name)
        body.params.insert(0, item)
        self.terminate(Iterate(iterator, Edge(body), Edge(exit), self.pos))
        return item

    def ret(self, value: Operand) -> None:
        """End the current block: the function returns `value`."""
        self.terminate(Return(value, self.pos))

    def raise_(self, exc: Operand | None, cause: Operand | None = None) -> None:
        """End the current block: `raise exc from cause`; without `exc`, the bare `raise`."""
        self.terminate(Raise(exc, cause, self.pos))

    def terminate(self, terminator: Terminator) -> None:
        """End the current block. Parameters that the targets have by variables get their arguments now."""
        assert self.block.terminator is None, f"{self.block} has ended already"
        self.block.terminator = terminator
        for edge in terminator.edges():
            assert edge.target not in self._sealed or edge.target is self.graph.entry, (
                "edge into a sealed block"
            )
            self._preds[edge.target].append((self.block, edge))

    # -- variables -------------------------------------------------------------------------------------------

    def write(self, variable: Hashable, value: Operand, block: Block | None = None) -> None:
        """The variable is `value` from here on, in the current block or the given one."""
        self._defs[block or self.block][variable] = value

    def read(self, variable: Hashable, block: Block | None = None) -> Operand:
        """What the variable is at the end of the current block or the given one: the definition that reaches
        it, a new block parameter where several do, the builder's default where none does."""
        block = block or self.block
        chain: list[Block] = []
        while True:  # straight chains without recursion: long programs are long chains
            found = self._defs[block].get(variable)
            if found is not None:
                break
            if block not in self._sealed:
                found = self._param(block, variable)
                self._incomplete.setdefault(block, {})[variable] = found
                break
            preds = self._preds[block]
            if len(preds) != 1:
                found = self._merge(block, variable)
                break
            chain.append(block)
            block = preds[0][0]
        for seen in chain:
            self._defs[seen][variable] = found
        return found

    def start_variables(self, block: Block, default: Callable[[Hashable], Operand | None]) -> None:
        """Before `block` a variable for which `default` gives a value was never written: it reads as that
        value."""
        self._defs[block] = _Defaults(default, self._defs[block])

    def seal(self, block: Block) -> None:
        """No predecessor of `block` will be added any more."""
        self._sealed.add(block)
        for variable, param in self._incomplete.pop(block, {}).items():
            self._connect(block, variable, param)

    def _merge(self, block: Block, variable: Hashable) -> Operand:
        if not self._preds[block]:
            value = self._default(variable)
            self._defs[block][variable] = value
            return value
        param = self._param(block, variable)
        self._connect(block, variable, param)
        return param

    def _param(self, block: Block, variable: Hashable) -> Value:
        param = Value(variable if isinstance(variable, str) else "")
        block.params.append(param)
        self.variable_of[param] = variable
        self._defs[block][variable] = param
        return param

    def _connect(self, block: Block, variable: Hashable, param: Value) -> None:
        for pred, edge in self._preds[block]:
            edge.args.append(self.read(variable, pred))


class _Defaults(dict[Hashable, Operand]):
    """Definitions of a block at which some variables begin."""

    def __init__(self, default: Callable[[Hashable], Operand | None], known: dict[Hashable, Operand]) -> None:
        super().__init__(known)
        self._default = default

    def get(self, key: Hashable, default: Any = None) -> Any:
        found = super().get(key)
        return self._default(key) if found is None else found
