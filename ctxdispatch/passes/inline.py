"""Inlining: a call of a function whose graph is known becomes that graph.

    before   b: ...; %y = callee(%a, k=%c); rest
    after    b: ...; jump entry'(%a, default, %c)     entry' .. the callee's blocks ..: jump rest'(result)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Edge, Graph, Jump, Op, Return, Signature
from ctxdispatch.ir.rewrite import clone_into, split_block
from ctxdispatch.ir.values import Const, Operand, Value

Emit = Callable[..., Operand]
"""emit(callee, *operands) appends an op that collects surplus arguments and gives its result."""


class BindError(TypeError):
    """The arguments do not fit the signature: the call is left alone, to fail as it would."""


def bind(
    signature: Signature,
    args: Sequence[Operand],
    kwnames: tuple[str, ...],
    defaults: tuple[Any, ...] | None,
    kwdefaults: dict[str, Any] | None,
    emit: Emit,
) -> list[Operand]:
    """One operand per parameter, in `signature.names` order, for a call with these arguments. Defaults are
    values, or operands where the program computes them."""
    n = len(args) - len(kwnames)
    positional, keywords = args[:n], dict(zip(kwnames, args[n:], strict=True))
    bound: dict[str, Operand] = dict(zip(signature.names[: signature.argcount], positional, strict=False))
    surplus = positional[signature.argcount :]
    if surplus and not signature.varargs:
        raise BindError(f"takes {signature.argcount} positional arguments but {n} were given")
    _bind_keywords(signature, keywords, bound)
    _bind_defaults(signature, defaults or (), kwdefaults or {}, bound)
    plain = signature.names[: signature.argcount + signature.kwonly]
    missing = [name for name in plain if name not in bound]
    if missing:
        raise BindError(f"missing arguments: {', '.join(missing)}")
    out = [bound[name] for name in plain]
    if signature.varargs:
        out.append(emit(primitives.build_tuple, *surplus))
    if signature.varkw:
        out.append(emit(primitives.build_map, *(x for k, v in keywords.items() for x in (Const(k), v))))
    return out


def _bind_keywords(signature: Signature, keywords: dict[str, Operand], bound: dict[str, Operand]) -> None:
    names = signature.names[signature.posonly : signature.argcount + signature.kwonly]
    for name in [k for k in keywords if k in names]:
        if name in bound:
            raise BindError(f"multiple values for argument {name!r}")
        bound[name] = keywords.pop(name)
    if keywords and not signature.varkw:
        raise BindError(f"unexpected keyword argument {next(iter(keywords))!r}")


def _bind_defaults(
    signature: Signature, defaults: tuple[Any, ...], kwdefaults: dict[str, Any], bound: dict[str, Operand]
) -> None:
    first = signature.argcount - len(defaults)
    for name, value in zip(signature.names[first : signature.argcount], defaults, strict=True):
        bound.setdefault(name, value if isinstance(value, (Const, Value)) else Const(value))
    for name in signature.names[signature.argcount : signature.argcount + signature.kwonly]:
        if name in kwdefaults:
            bound.setdefault(name, Const(kwdefaults[name]))


def inline_call(
    graph: Graph,
    block: Block,
    index: int,
    callee: Graph,
    args: Sequence[Operand],
    cells: Sequence[Operand] = (),
) -> tuple[list[Block], Block]:
    """Replace op `index` of `block` by a copy of `callee`, whose parameters are `args`.

    Returns the copied blocks and the block that goes on with the rest of `block`.
    """
    call = block.ops[index]
    rest = split_block(graph, block, index + 1)
    block.ops.pop()
    rest.params = [call.result]
    copy = clone_into(graph, callee, dict(zip(callee.cells, cells, strict=True)))
    for inlined in copy.blocks:
        if isinstance(inlined.terminator, Return):
            inlined.terminator = Jump(Edge(rest, [inlined.terminator.value]), inlined.terminator.pos)
    block.terminator = Jump(Edge(copy.blocks[0], list(args)), call.pos)
    return copy.blocks, rest


def emit_before(block: Block, op: Op, *, syntax: bool = True) -> Emit:
    """An `Emit` that inserts its ops right before `op`. `syntax`: they are no calls, which contexts
    dispatch."""

    def emit(callee: Any, *operands: Operand) -> Operand:
        result = Value()
        at = next(i for i, other in enumerate(block.ops) if other is op)
        block.ops.insert(at, Op(Const(callee), list(operands), [result], (), op.pos, syntax))
        return result

    return emit
