"""Jacobians as programs: a block of tangents, or of cotangents, one for each element, and their arrangement.

    jacfwd    J = the tangents of y along the unit vectors of x          one pass, its arrays n times as long
    jacrev    J = the cotangents of x from the unit vectors of y         one sweep, its arrays m times as long

The sweep is linear in the cotangent of y, so its block form is its forward derivative. What comes out is a
graph: Jacobians stack like everything else, and `hessian` is nothing but jacfwd over jacrev.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ctxdispatch.facts import MOVES
from ctxdispatch.ir import primitives
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Graph, Op, Return, positional
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import makes_new
from ctxdispatch.passes.inline import inline_call
from ctxdispatch.passes.resolve import rests_on_held
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.forward import DualContext, ForwardMode, numeric
from ctxdispatch_contexts.forward.releasing import apart
from ctxdispatch_contexts.higher.arranging import (
    arranged,
    arranged_rows,
    bases,
    basis,
    check_result,
    own,
    size,
    sizes,
)
from ctxdispatch_contexts.higher.once import is_seen
from ctxdispatch_contexts.higher.pulling import COMPLEX, pulled_containers, pulled_rows
from ctxdispatch_contexts.programs.apart import RECORD
from ctxdispatch_contexts.programs.arguments import check_argument, check_value
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.mode import Mode, Program
from ctxdispatch_contexts.programs.operands import leaf_class
from ctxdispatch_contexts.programs.optimise import optimise
from ctxdispatch_contexts.programs.prepare import Prepared
from ctxdispatch_contexts.programs.regions import Attempt
from ctxdispatch_contexts.programs.rules import call_rule, item_of
from ctxdispatch_contexts.programs.trusting import prepare_trusting
from ctxdispatch_contexts.reverse import ADContext, ReverseMode

Source = Callable[[], Graph]


@dataclass(frozen=True)
class JacobianMode(Mode):
    """With respect to the arguments `wrt`; `single`: one Jacobian, not a tuple of them. `forward` None: what
    is cheaper, as far as the types say. `row_by_row`: in reverse mode one pullback for each element of the
    result, complex ones too, where the block of all may be larger than memory. `tier`: nothing may be
    recorded. `region`: the program may be run in vain."""

    wrt: tuple[int, ...]
    single: bool = False
    has_aux: bool = False
    forward: bool | None = True
    leading: int = 0
    row_by_row: bool = False
    tier: str | None = None
    region: Attempt | None = None

    def attempting(self) -> JacobianMode:
        return replace(self, region=self.region or Attempt())

    def after(self, k: int, n: int) -> JacobianMode:
        return replace(self, wrt=tuple(i + k for i in self.wrt), leading=self.leading + k)

    def needs(self, i: int) -> bool:
        return i in self.wrt

    def open_to(self, types: Sequence[T.Type]) -> bool:
        return all(types[i] is not T.Any for i in self.wrt)

    def check(self, names: tuple[str, ...], types: Sequence[T.Type]) -> None:
        for i in self.wrt:
            check_argument(names[i], i - self.leading, types[i])
            if leaf_class(types[i]) is not None and _is_complex(types[i]):
                raise DerivativeError(
                    f"argument {names[i]!r} (argnums {i - self.leading}) is complex; a Jacobian is "
                    "taken with "
                    "respect to real arguments: pass the real and the imaginary part",
                    user_position(),
                )
            if not numeric(types[i]):
                raise DerivativeError(
                    f"argument {names[i]!r} (argnums {i - self.leading}) is of type {types[i]}; a "
                    "Jacobian is "
                    "taken with respect to a float or an array of floats: pass the parts as arguments of "
                    "their own, with argnums=(0, 1, ...)",
                    user_position(),
                )

    def check_values(self, names: tuple[str, ...], args: Sequence[Any]) -> None:
        for i in self.wrt:
            check_value(names[i], i - self.leading, args[i])

    def recorded(self, function: Callable[..., Any], context: Any) -> Callable[..., Any] | None:
        from ctxdispatch_contexts.higher.recorded import jacobian

        return lambda *args: jacobian(function, self, args, context)

    def differentiate(
        self, source: Source, types: Sequence[T.Type], cells: Sequence[Any], context: Any
    ) -> Program:
        forward = _is_forward(self, source, types, cells) if self.forward is None else self.forward
        program = (_forward if forward else _reverse)(self, source, types, cells)
        graph = program.graph
        held = rests_on_held(program.guards)
        program.guards += optimise(graph, types, cells, program.untrusted, held)
        return self.of_region(replace(program, types=program.types[: len(types)]))


def _is_complex(type_: T.Type) -> bool:
    cls = T.cls_of(type_)
    if isinstance(type_, T.ArrayOf):
        return bool(type_.dtype.kind == "c")
    return cls is not None and issubclass(cls, (complex, np.complexfloating))


# -- forward -------------------------------------------------------------------------------------------------


def _forward(mode: JacobianMode, source: Source, types: Sequence[T.Type], cells: Sequence[Any]) -> Program:
    """(args) -> the block derivative along all unit vectors at once"""
    given, mode = mode.wrt, replace(mode, wrt=tuple(dict.fromkeys(mode.wrt)))
    alone = len(mode.wrt) == 1 and not isinstance(types[mode.wrt[0]], T.ArrayOf)
    pushed = ForwardMode(mode.wrt, block=not alone, inner=True, last=True, region=mode.region)
    tangents = [types[i] if alone else _block_type(types[i]) for i in mode.wrt]
    every = (*types, *tangents, *([] if alone else [T.Exact(int)]))
    program = pushed.differentiate(source, every, cells, DualContext)
    graph = program.graph
    n = len(types)
    params, moving = graph.params[:n], graph.params[n:]
    xs = [params[i] for i in mode.wrt]
    seeds = _before_all(graph, moving, n)
    if alone:
        seeds(
            moving, [Const(1.0 if T.cls_of(types[mode.wrt[0]]) is float else T.cls_of(types[mode.wrt[0]])(1))]
        )
    else:
        seeds(moving, xs)
    for block in graph.blocks:
        if isinstance(block.terminator, Return):
            build = Builder(graph)
            build.enter(block)
            pair = block.terminator.value
            y, dy = (_item(build, pair, i) for i in (0, 1))
            block.terminator.value = _jacobian(mode, build, y, dy, xs, alone, given)
    return program


def _block_type(type_: T.Type) -> T.Type:
    if isinstance(type_, T.ArrayOf):
        return T.ArrayOf(type_.dtype, (None, *type_.dims))
    return T.ArrayOf(np.dtype(leaf_class(type_)), (None,))


def _before_all(graph: Graph, moving: list[Value], n: int) -> Callable[[list[Value], list[Operand]], None]:
    """What writes the ops that define, at the beginning, what were parameters."""

    def write(targets: list[Value], given: list[Any]) -> None:
        build = Builder(graph)
        body, graph.entry.ops = graph.entry.ops, []
        build.enter(graph.entry)
        if len(targets) == len(given) == 1 and isinstance(given[0], Const):
            graph.entry.ops.append(Op(Const(_same), [given[0]], [targets[0]]))
        elif len(given) == 1:
            graph.entry.ops.append(Op(Const(basis), list(given), [targets[0]]))
            graph.entry.ops.append(Op(Const(size), list(given), [targets[1]]))
        else:
            found = build.call(bases, *given)
            graph.entry.ops.append(
                Op(Const(primitives.unpack), [found, Const(len(given))], targets[:-1], syntax=True)
            )
            graph.entry.ops.append(Op(Const(sizes), list(given), [targets[-1]]))
        graph.entry.ops += body

    names = graph.signature.names[:n]
    graph.signature = positional(n, names)
    del graph.entry.params[n:]
    return write


def _same(x: Any) -> Any:
    return x


def _item(build: Builder, pair: Operand, i: int) -> Operand:
    made_here = any(pair in op.results and op.fn is primitives.build_tuple for op in build.block.ops)
    if made_here:
        return item_of(build, pair, i)
    type_ = operand_type(pair)
    known = type_.items[i] if isinstance(type_, T.TupleOf) else T.Any
    return build.call(operator.getitem, pair, Const(i), syntax=True, type=known)


def _jacobian(
    mode: JacobianMode, build: Builder, y: Operand, dy: Operand, xs: Sequence[Operand], alone: bool,
    given: tuple[int, ...],
) -> Operand:  # fmt: skip
    """The block of tangents as Jacobians, each of the shape of y and then that of its argument; of those
    that were `given`, among which an argument may be twice."""
    aux: Operand | None = None
    if mode.has_aux:
        aux, y, dy = _item(build, y, 1), _item(build, y, 0), _item(build, dy, 0)
    if not numeric(operand_type(y)):
        build.call(check_result, y)
    if alone:
        known = leaf_class(operand_type(dy)) is not None
        found = [_own(build, dy) if known else build.call(apart, dy, y)]  # None is zero
    elif len(xs) == 1:
        found = [_own(build, call_rule(build, arranged, [dy, xs[0], y]))]
    else:
        found = [_own(build, _part(build, dy, y, i, xs)) for i in range(len(xs))]
    for at, i in enumerate(given):
        if i in given[:at]:
            found.insert(at, build.call(own, found[given.index(i)]))
    result: Operand = found[0] if mode.single else build.call(primitives.build_tuple, *found, syntax=True)
    return result if aux is None else build.call(primitives.build_tuple, result, aux, syntax=True)


def _part(build: Builder, dy: Operand, y: Operand, i: int, xs: Sequence[Operand]) -> Operand:
    """The Jacobian with respect to argument i of several, whose tangents come one after another."""
    if not isinstance(operand_type(dy), T.ArrayOf) or not numeric(operand_type(y)):
        return build.call(arranged_rows, dy, y, Const(i), *xs)
    before = build.call(sizes, *xs[:i], type=T.Exact(int))
    count = build.call(size, xs[i], type=T.Exact(int))
    return call_rule(build, arranged_slice, [dy, xs[i], y, before, count])


def arranged_slice(block: Any, x: Any, y: Any, before: int, count: int) -> Any:
    """`arranged`, of `count` of the tangents, `before` others come first."""
    return np.moveaxis(block[before : before + count], 0, -1).reshape(np.shape(y) + np.shape(x))


def _own(build: Builder, jacobian: Operand) -> Operand:
    """Memory of its own: the caller may change it. A view of a new array is as good as that."""
    makers = {r: op for _, op in build.graph.ops() for r in op.results}
    base, type_ = jacobian, operand_type(jacobian)
    while (maker := makers.get(base)) is not None and _is_view(maker):  # type: ignore[arg-type]
        base = maker.args[0]
    if leaf_class(type_) not in (None, np.ndarray) or (maker is not None and makes_new(maker)):
        return jacobian
    return build.call(own, jacobian, type=type_)


def _is_view(op: Op) -> bool:
    if op.fn is getattr:
        return isinstance(op.args[1], Const) and op.args[1].value == "T"
    return hashable(op.fn) and op.fn in MOVES and not makes_new(op)


# -- which mode ----------------------------------------------------------------------------------------------


def _is_forward(mode: JacobianMode, source: Source, types: Sequence[T.Type], cells: Sequence[Any]) -> bool:
    """Unless it is the gradient of a real number with respect to arrays."""
    prepared, _, _ = prepare_trusting(source, types, cells, ADContext.ad_has_rule)
    many, y_type = any(isinstance(types[i], T.ArrayOf) for i in mode.wrt), _result_type(mode, prepared)
    return not many or leaf_class(y_type) in (None, np.ndarray) or _is_complex(y_type)


def _result_type(mode: JacobianMode, prepared: Prepared) -> T.Type:
    """What is known of the function's result, without what comes with it."""
    found = prepared.return_type
    if not mode.has_aux:
        return found
    return found.items[0] if isinstance(found, T.TupleOf) and len(found.items) == 2 else T.Any


# -- reverse -------------------------------------------------------------------------------------------------


def _reverse(mode: JacobianMode, source: Source, types: Sequence[T.Type], cells: Sequence[Any]) -> Program:
    """A gradient, where the result is a number; else the sweep over all unit vectors at once."""
    prepared, settled, _ = prepare_trusting(source, types, cells, ADContext.ad_has_rule)
    y_type = _result_type(mode, prepared)
    contained = issubclass(T.cls_of(y_type) or object, (tuple, list, dict))
    of_any_rank = issubclass(T.cls_of(y_type) or object, np.ndarray) and not isinstance(y_type, T.ArrayOf)
    if not mode.has_aux and (contained or y_type is T.Any or of_any_rank or mode.row_by_row):
        rows = pulled_containers if contained else pulled_rows
        return _reverse_at_run_time(mode, source, types, cells, rows)
    if not of_any_rank and (not isinstance(y_type, T.ArrayOf) or not y_type.dims):
        gradient = ReverseMode(
            wrt=mode.wrt, split=False, single=mode.single, has_aux=mode.has_aux, leading=mode.leading,
            region=mode.region,
        )  # fmt: skip
        return gradient.differentiate(source, types, cells, ADContext)
    if mode.has_aux:
        raise DerivativeError("jacrev has no has_aux for arrays; use jacfwd", user_position())
    if is_seen(prepared.graph):
        return _reverse_at_run_time(mode, source, types, cells, pulled_rows)
    if y_type.dtype.kind == "c":
        raise DerivativeError(COMPLEX, user_position())
    swept = ReverseMode(wrt=mode.wrt, split=False, seeded=True, inner=True, leading=mode.leading)
    sweep = swept.differentiate(_with_parameter(source, "ybar"), (*types, y_type), cells, ADContext)
    pushed = ForwardMode((len(types),), block=True, inner=True)
    block_types = (*types, y_type, _block_type(y_type), T.Exact(int))
    block = pushed.differentiate(lambda: clone(sweep.graph), block_types, cells, DualContext)
    primal_guards = prepared.settled()
    graph = prepared.graph
    _append_sweep(graph, block.graph, mode)
    guards = [*primal_guards, *sweep.guards, *block.guards]
    untrusted = prepared.untrusted | sweep.untrusted | block.untrusted
    foreign = prepared.changes or sweep.foreign or block.foreign
    return Program(graph, tuple(settled), guards, untrusted, foreign)


def _reverse_at_run_time(
    mode: JacobianMode, source: Source, types: Sequence[T.Type], cells: Sequence[Any],
    rows: Callable[..., Any],
) -> Program:  # fmt: skip
    """Where only run time knows what the result is, or what is in it: one pullback for each element."""
    pulled = ReverseMode(wrt=mode.wrt, leading=mode.leading)
    program = pulled.differentiate(source, types, cells, ADContext)
    for block in program.graph.blocks:
        recorded = any(op.fn is RECORD for op in block.ops)  # which gives the Jacobians
        if isinstance(block.terminator, Return) and not recorded:
            build = Builder(program.graph)
            build.enter(block)
            xs = [program.graph.params[i] for i in mode.wrt]
            found = build.call(rows, block.terminator.value, Const(mode.wrt), Const(mode.row_by_row), *xs)
            block.terminator.value = _item(build, found, 0) if mode.single else found
    return program


def _with_parameter(source: Source, name: str) -> Source:
    def make() -> Graph:
        graph = source()
        names = (*graph.signature.names, name)
        graph.signature = positional(len(names), names)
        graph.entry.params.append(Value(name))
        return graph

    return make


def _append_sweep(graph: Graph, sweep: Graph, mode: JacobianMode) -> None:
    """After the primal's result y: the sweep along y's unit vectors, arranged."""
    args = list(graph.params)
    for block in [b for b in graph.blocks if isinstance(b.terminator, Return)]:
        terminator = block.terminator
        assert isinstance(terminator, Return)
        y = terminator.value
        build = Builder(graph)
        build.enter(block)
        seeds, k = build.call(basis, y), build.call(size, y, type=T.Exact(int))
        pair = build.call(_same, y)
        cells = graph.cells if len(graph.cells) == len(sweep.cells) else ()
        _, rest = inline_call(graph, block, len(block.ops) - 1, clone(sweep), [*args, y, seeds, k], cells)
        build.enter(rest)
        found = [
            _own(build, call_rule(build, arranged_of_y, [_cotangent(build, pair, j), args[i], y]))
            for j, i in enumerate(mode.wrt)
        ]
        result: Operand = found[0] if mode.single else build.call(primitives.build_tuple, *found, syntax=True)
        terminator.value = result
        rest.terminator = terminator


def arranged_of_y(block: Any, x: Any, y: Any) -> Any:
    """A block of cotangents of x, one for each element of y; None for zeros."""
    if block is None:
        return np.zeros(y.shape + np.shape(x), np.result_type(x))
    return block.reshape(y.shape + np.shape(x))


def _cotangent(build: Builder, pair: Operand, j: int) -> Operand:
    """That of the argument `j` of those in `wrt`."""
    every = _item(build, pair, 1)
    if isinstance(operand_type(every), T.TupleOf):
        return _item(build, every, j)
    return build.call(cotangent_of, every, Const(j))


def cotangent_of(cotangents: Any, j: int) -> Any:
    return None if cotangents is None else cotangents[j]
