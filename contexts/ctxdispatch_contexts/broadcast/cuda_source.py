"""A lowered kernel as CUDA C: one device function, which a thread calls for its element.

    __device__ __forceinline__ void kernel(float x_0, float &result0)
    {
        float v1, y_2;                      every value and every parameter of a block, at the top
        v1 = expf(x_0);
        y_2 = v1; goto b1;                  an edge: its arguments, then the jump
    b1:
        result0 = y_2;
    }

No declaration is jumped over, as C++ wants it, and the compiler makes SSA of it again.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ctxdispatch.ir.analysis import reverse_postorder
from ctxdispatch.ir.graph import Block, Branch, Edge, Jump, Op
from ctxdispatch.ir.values import Operand, Value
from ctxdispatch_contexts.broadcast.cuda_helpers import Helpers, Names
from ctxdispatch_contexts.broadcast.cuda_table import c_type, fields, literal, template
from ctxdispatch_contexts.broadcast.errors import refuse
from ctxdispatch_contexts.broadcast.lowering import Lowered
from ctxdispatch_contexts.programs.errors import described


def device_function(lowered: Lowered, name: str) -> str:
    """`void name(inputs, outputs)`, after the helpers that it calls. Inputs are passed by value, outputs by
    reference; float16 are floats. KernelError where an instruction has no CUDA code for its types."""
    source = Source()
    source.add(lowered, name)
    return source.text()


class Source:
    """Device functions that share their helpers."""

    def __init__(self) -> None:
        self.helpers = Helpers()
        self.functions: list[str] = []

    def add(self, lowered: Lowered, name: str) -> None:
        self.functions.append(_Function(lowered, name, self.helpers).text())

    def text(self) -> str:
        return "\n\n".join([*self.helpers.texts.values(), *self.functions]) + "\n"


class _Function:
    def __init__(self, lowered: Lowered, name: str, helpers: Helpers) -> None:
        self.lowered, self.name, self.helpers = lowered, name, helpers
        self.blocks = reverse_postorder(lowered.graph)
        self.labels = {block: f"b{i}" for i, block in enumerate(self.blocks)}
        self.names = _names(self.blocks)

    # -- the function ----------------------------------------------------------------------------------------

    def text(self) -> str:
        lines = [f"    {line}" for line in self._declarations()]
        targets = {edge.target for block in self.blocks for edge in block.edges()}
        for block in self.blocks:
            lines += [f"{self.labels[block]}:"] * (block in targets)
            lines += [f"    {line}" for line in self._block(block)]
        return "\n".join([self._head(), "{", *lines, "}"])

    def _head(self) -> str:
        inputs = [f"{c_type(p.type)} {self.names[p]}" for p in self.lowered.graph.params]
        outputs = [f"{c_type(d)} &result{i}" for i, d in enumerate(self.lowered.results)]
        return f"__device__ __forceinline__ void {self.name}({', '.join([*inputs, *outputs])})"

    def _declarations(self) -> Iterator[str]:
        """One line per type."""
        by_type: dict[str, list[str]] = {}
        given = set(self.lowered.graph.params)
        for value, name in self.names.items():
            if value not in given:
                by_type.setdefault(c_type(value.type), []).append(name)
        for type_, names in by_type.items():
            yield f"{type_} {', '.join(names)};"

    def _block(self, block: Block) -> Iterator[str]:
        for op in block.ops:
            yield f"{self.names[op.result]} = {self.expression(op)};"
        terminator = block.terminator
        if isinstance(terminator, Jump):
            yield from self._edge(terminator.edge)
        elif isinstance(terminator, Branch):
            yield f"if ({self.operand(terminator.cond)}) {{ {' '.join(self._edge(terminator.then))} }}"
            yield from self._edge(terminator.orelse)
        else:
            yield from (f"result{i} = {self.operand(y)};" for i, y in enumerate(self.lowered.outputs))
            yield "return;"

    # -- what is in it ---------------------------------------------------------------------------------------

    def operand(self, operand: Operand) -> str:
        if isinstance(operand, Value):
            return self.names.get(operand, "0")  # never read: no path defines it
        return literal(operand.value)

    def expression(self, op: Op) -> str:
        dtypes = tuple(_dtype(a) for a in op.args)
        found = template(op.fn.__name__, dtypes, op.result.type)
        if found is None:
            names = ", ".join(d.name for d in dtypes)
            raise refuse(
                op,
                f"{described(op.fn)} of ({names}) cannot be part of a kernel that runs "
                "on a GPU; run it on arrays of NumPy",
            )
        known = {**fields(dtypes[0]), "T": c_type(op.result.type)}
        words = Names(self.helpers, dtypes[0], known)
        return string.Formatter().vformat(found, [self.operand(a) for a in op.args], words)

    def _edge(self, edge: Edge) -> Iterator[str]:
        """All parameters are set at once: what is read after it was set is saved first."""
        pairs = zip(edge.target.params, edge.args, strict=True)
        moves = [(p, a) for p, a in pairs if p is not a and p in self.names]
        lost = {p for p, _ in moves}
        saved = {a: f"old{i}" for i, a in enumerate(dict.fromkeys(a for _, a in moves if a in lost))}
        copies = [f"{c_type(a.type)} {name} = {self.operand(a)};" for a, name in saved.items()]
        copies += [f"{self.names[p]} = {saved.get(a) or self.operand(a)};" for p, a in moves]
        if saved:
            copies = ["{", *copies, "}"]
        yield from copies
        yield f"goto {self.labels[edge.target]};"


def _dtype(operand: Operand) -> np.dtype[Any]:
    return operand.type if isinstance(operand, Value) else operand.value.dtype


def _names(blocks: Sequence[Block]) -> dict[Value, str]:
    """The user's names, numbered. What has no dtype never gets a value."""
    values = [v for block in blocks for v in (*block.params, *(op.result for op in block.ops))]
    typed = [v for v in values if isinstance(v.type, np.dtype)]
    return {v: f"{v.name}_{i}" if _plain(v.name) else f"v{i}" for i, v in enumerate(typed)}


def _plain(name: str) -> bool:
    return name.isidentifier() and name.isascii()
