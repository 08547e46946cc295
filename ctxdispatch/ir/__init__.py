"""The IR: data model, builder, analyses, rewriting, printing, checking, interpreting."""

from ctxdispatch.ir.analysis import (
    DominatorTree,
    IrreducibleError,
    Liveness,
    Loop,
    LoopForest,
    dominators,
    liveness,
    loops,
    postdominators,
    reverse_postorder,
)
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import (
    Block,
    Branch,
    Edge,
    Graph,
    Iterate,
    Jump,
    Op,
    Raise,
    Return,
    Signature,
    Terminator,
    positional,
)
from ctxdispatch.ir.interpret import interpret
from ctxdispatch.ir.printer import print_graph
from ctxdispatch.ir.rewrite import Copy, Use, clone, clone_into, copy_blocks, split_block, substitute, uses
from ctxdispatch.ir.source import Source, to_python, to_source
from ctxdispatch.ir.values import UNDEF, Const, Operand, Position, Value
from ctxdispatch.ir.verify import VerificationError, verify

__all__ = [
    "UNDEF",
    "Block",
    "Branch",
    "Const",
    "Edge",
    "Graph",
    "Iterate",
    "Jump",
    "Op",
    "Operand",
    "Position",
    "Raise",
    "Return",
    "Signature",
    "Terminator",
    "Value",
    "positional",
    "Builder",
    "Copy",
    "Use",
    "clone",
    "clone_into",
    "copy_blocks",
    "split_block",
    "substitute",
    "uses",
    "DominatorTree",
    "IrreducibleError",
    "Liveness",
    "Loop",
    "LoopForest",
    "dominators",
    "liveness",
    "loops",
    "postdominators",
    "reverse_postorder",
    "VerificationError",
    "verify",
    "interpret",
    "print_graph",
    "Source",
    "to_python",
    "to_source",
]
