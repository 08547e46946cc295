"""What an entry makes of a scalar function: a program with one call of a kernel.

    f(x, y)      ->      (x, y) -> kernel(x, y, *numbers that f reads elsewhere)

Kernels are made for kinds of numbers (float, int, bool); dtypes are a matter of the back ends.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.ir import primitives
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Graph, Op, positional
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.held import only_used
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.broadcast.errors import KernelError, unsupported
from ctxdispatch_contexts.broadcast.hoist import hoist, kind_of
from ctxdispatch_contexts.broadcast.instructions import FOLDED, SPELLED, canonical
from ctxdispatch_contexts.broadcast.kernel import Kernel, Options, rename, settle
from ctxdispatch_contexts.broadcast.scalars import check_terminators, is_of_library, one_return, to_scalars
from ctxdispatch_contexts.forward import DualContext
from ctxdispatch_contexts.programs.mode import Mode, Program
from ctxdispatch_contexts.programs.prepare import Prepared
from ctxdispatch_contexts.programs.sizes import OfDevice, on_device
from ctxdispatch_contexts.programs.targets import read_method
from ctxdispatch_contexts.programs.trusting import prepare_trusting


@dataclass(frozen=True)
class BroadcastMode(Mode):
    """`options`: how the kernel runs. `out`: where the results are stored comes last. `wrt`: the result is
    (y, its partial derivatives with respect to these parameters)."""

    options: Options
    out: bool = False
    wrt: tuple[int, ...] | None = None
    leading: int = 0
    shared = True

    def open_to(self, types: Sequence[T.Type]) -> bool:
        """What is not known yet may be an array, or a number."""
        return T.Any not in types and T.Never not in types and not any(map(_says_little, types))

    def after(self, k: int, n: int) -> BroadcastMode:
        wrt = None if self.wrt is None else tuple(i + k for i in self.wrt)
        return replace(self, leading=self.leading + k, wrt=wrt)

    def parameters(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (*names, *("out",) * self.out)

    def seen(self, types: tuple[T.Type, ...], args: tuple[Any, ...]) -> tuple[T.Type, ...]:
        if on_device(args):
            types = tuple([
                OfDevice(type(a), np.dtype(a.dtype)) if on_device((a,)) else t
                for t, a in zip(types, args, strict=True)
            ])  # fmt: skip
        chosen = {i: T.Known(args[i]) for i in range(self.leading) if type(args[i]) is str}
        return tuple([chosen.get(i, t) for i, t in enumerate(types)]) if chosen else types

    def differentiate(
        self, source: Callable[[], Graph], types: Sequence[T.Type], cells: Sequence[Any], context: Any
    ) -> Program:
        """`np.vectorize` needs no kernel."""
        try:
            return self._differentiated(source, types, cells)
        except KernelError as error:
            if not self.options.python:
                raise
            graph, (what, _, remedy) = source(), error.message.partition("; ")
            raise UnsupportedSyntax(what, graph.filename, graph.line, graph.name, remedy) from error

    def _differentiated(
        self, source: Callable[[], Graph], types: Sequence[T.Type], cells: Sequence[Any]
    ) -> Program:
        n = len(types) - self.out
        structs = {i: t.dtype for i, t in enumerate(types[:n]) if is_structured(t)}
        try:
            elements = self._elements(source().signature.names, types[:n])
            prepared, own_types, _ = prepare_trusting(source, elements, cells, Language().has_rule)
        except UnsupportedSyntax as error:
            raise unsupported(error) from error
        used = [only_used(own, prepared.read) for own in own_types]
        shown = [t if e is not t else u for t, e, u in zip(types[:n], elements, used, strict=True)]
        graph = _program(prepared, self, structs, dict(zip(prepared.graph.cells, cells, strict=True)))
        for param, type_ in zip(graph.params, types, strict=True):
            param.type = type_
        return Program(graph, (*shown, *types[n:]), prepared.settled(), prepared.untrusted, prepared.changes)

    def _elements(self, names: Sequence[str], types: Sequence[T.Type]) -> list[T.Type]:
        """What f is called with."""
        return [
            t if i < self.leading and is_array(t) else element_type(t, name)
            for i, (t, name) in enumerate(zip(types, names, strict=False))
        ]


def _says_little(type_: T.Type) -> bool:
    """An object, or an array, of which nothing but the class is known."""
    if type_ == T.Exact(np.ndarray):
        return True
    if not isinstance(type_, T.Exact) or type_.cls.__getattribute__ is not object.__getattribute__:
        return False
    return bool(type_.cls.__dictoffset__)


_PRIMITIVES = frozenset(f for f in vars(primitives).values() if type(f) is FunctionType)


class Language:
    """What preparing asks of a context: which calls it leaves alone. Elements that are int have any dtype.
    No kernel is recorded."""

    wraps = True
    records = False

    def has_rule(self, callee: Any) -> bool:
        return False

    def ad_ruled(self, callee: Any) -> bool:
        return False

    def ad_keeps(self, callee: Any) -> bool:
        """Kernels know what calls of `callee` mean."""
        if canonical(callee) is not None or is_of_library(callee) or callee is read_method:
            return True
        if hashable(callee) and DualContext.ad_ruled(callee):
            return True  # refused: `hoist.py`
        return hashable(callee) and (callee in SPELLED or callee in FOLDED or callee in _PRIMITIVES)


def element_type(type_: T.Type, name: str) -> T.Type:
    """The type of an element of an operand; what is no array is one itself."""
    if is_structured(type_):
        return T.Any
    if isinstance(type_, (T.ArrayOf, OfDevice)):
        return T.Exact(_kind(type_.dtype, name))
    cls = T.cls_of(type_)
    if cls is not None and issubclass(cls, np.ndarray):
        raise KernelError(
            f"operand {name!r} is a {cls.__name__}; pass a plain array (np.asarray, or its .filled())"
        )
    if cls is not None and issubclass(cls, np.generic):
        return T.Exact(_kind(np.dtype(cls), name))
    return type_


def _kind(dtype: np.dtype[Any], name: str) -> type:
    if dtype.kind in "fiub" and dtype.itemsize <= 8:
        return {"f": float, "b": bool}.get(dtype.kind, int)
    raise KernelError(
        f"operand {name!r} has dtype {dtype}; a kernel computes with real numbers of at most 64 bits"
    )


def is_array(type_: T.Type) -> bool:
    """Of at least one axis."""
    return isinstance(type_, T.ArrayOf) and bool(type_.dims)


def is_structured(type_: T.Type) -> bool:
    """An array whose elements have fields."""
    return isinstance(type_, T.ArrayOf) and type_.dtype.names is not None


def _program(
    prepared: Prepared, mode: BroadcastMode, structs: Mapping[int, np.dtype[Any]], cells: Mapping[Value, Any]
) -> Graph:
    """The host's program: what is read first, then the kernel."""
    graph = prepared.graph
    params, name = list(graph.params), graph.name
    fields = {params[i]: dtype for i, dtype in structs.items()}
    given = params[: mode.leading]
    substitute(graph, {p: Const(p.type.value) for p in given if isinstance(p.type, T.Known)})
    kernel, reads, operands = make_kernel(prepared, mode.options, fields, cells)
    host = Graph(
        name, graph.signature, cellnames=graph.cellnames, namespace=graph.namespace, code=None,
        filename=graph.filename, line=graph.line,
    )  # fmt: skip
    host.cells = list(graph.cells)
    host.entry.params = params
    host.entry.ops = reads
    if mode.out:
        out = Value("out")
        host.entry.params.append(out)
        host.signature = positional(len(host.params), tuple(p.name for p in host.params))
        operands = [out, *operands]
    build = Builder(host)
    if mode.wrt is None:
        y = build.call(kernel.into if mode.out else kernel, *operands)
    else:
        y = _with_partials(build, kernel, operands, [params[i] for i in mode.wrt])
    build.ret(y)
    return host


def _with_partials(build: Builder, kernel: Kernel, operands: list[Value], wrt: list[Value]) -> Value:
    """(y, partials): of several results, each is a tuple. None for a derivative that is zero."""
    at = [operands.index(p) for p in wrt if p in operands]
    found = build.call(kernel.partials(at), *operands)
    n, moving = len(kernel.outputs), iter(kernel.moving(at))
    items = (build.call(operator.getitem, found, Const(i), syntax=True) for i in itertools.count())
    ys = [next(items) for _ in range(n)]
    partials = []
    for param in wrt:
        moves = next(moving) if param in operands else [False] * n
        each = [next(items) if m else Const(None) for m in moves]
        partials.append(_joined(build, each, kernel.several))
    return build.call(
        primitives.build_tuple, _joined(build, ys, kernel.several),
        build.call(primitives.build_tuple, *partials, syntax=True), syntax=True,
    )  # fmt: skip


def _joined(build: Builder, parts: Sequence[Operand], several: bool) -> Operand:
    return build.call(primitives.build_tuple, *parts, syntax=True) if several else parts[0]


def make_kernel(
    prepared: Prepared, options: Options, structs: Mapping[Value, np.dtype[Any]] | None = None,
    cells: Mapping[Value, Any] | None = None,
) -> tuple[Kernel, list[Op], list[Value]]:  # fmt: skip
    """The kernel, the ops that give some of its operands, and the operands. `structs`: the parameters that
    are structured arrays. `cells`: what the variables of functions around it are."""
    graph = prepared.graph
    to_scalars(graph, prepared.assume, cells)
    check_terminators(graph)
    several = one_return(graph)
    prune(graph)
    hoisted = hoist(graph, structs or {}, cells or {})
    kinds = [kind_of(operand_type(v)) for v in hoisted.operands]
    scalar = _apart(graph, hoisted.operands)
    settle(scalar, kinds)
    name = graph.name.rpartition(".")[2]
    return Kernel(scalar, kinds, several, name, options), hoisted.ops, hoisted.operands


def _apart(graph: Graph, operands: Sequence[Value]) -> Graph:
    """The blocks of `graph` as a graph of their own, which takes the operands."""
    scalar = Graph(graph.name, positional(len(operands)), filename=graph.filename, line=graph.line)
    fresh = [Value(v.name or "c") for v in operands]
    substitute(graph, dict(zip(operands, fresh, strict=True)))
    scalar.blocks = graph.blocks
    scalar.entry.params = fresh
    rename(scalar)
    return scalar
