"""What an entry differentiates, as IR.

Source          a function's own graph, with its own signature
CallSource      one call of anything, with literals in the place of some arguments
ClosureSource   one call of any closure of a code object: what it captured are leading arguments
DerivedSource   the program of another entry: `derived.py`
PartSource      a part of a program that is recorded: `regions.py`
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op, Return, Signature, positional
from ctxdispatch.ir.names import own_name
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import CodeIs, DefaultsAre, Guard
from ctxdispatch_contexts.programs.derived import DerivedSource
from ctxdispatch_contexts.programs.entry_keys import HOLE
from ctxdispatch_contexts.programs.lifting import lifted, lifted_code
from ctxdispatch_contexts.programs.recipes import Recipe, argument_names, constants, made, make, write

NAMESPACE: dict[str, Any] = {"__name__": __name__, "__builtins__": builtins}
"""The globals of generated code that is nobody's. C code looks for `__builtins__` there when it imports."""


class Source:
    """What is differentiated: `graph()` gives a fresh copy of its IR, `guards` what that copy takes for
    granted."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.cells = function.__closure__ or ()
        self.namespace = function.__globals__
        self._signature = self.signature()

    def changed(self, context: Any) -> bool:
        """It takes other arguments now, or the context has a rule for it."""
        return self.signature() != self._signature or bool(context.ad_ruled(self.function))

    def call(self, *args: Any) -> Any:
        return self.function(*args)

    def filled(self, args: Sequence[Any]) -> tuple[Any, list[Any], dict[str, Any]]:
        """What is called with `args`, and the arguments of that."""
        return self.function, [*args], {}

    def graph(self, types: Sequence[T.Type] = ()) -> Graph:
        return clone(lifted(self.function))

    def guards(self, types: Sequence[T.Type] = ()) -> list[Guard]:
        f = self.function
        defaults: list[Guard] = [DefaultsAre(f, f.__defaults__, None)] if f.__defaults__ else []
        return [CodeIs(f, f.__code__), *defaults]

    def default(self, i: int) -> Any:
        """The default of parameter i, as it is now."""
        defaults = self.function.__defaults__ or ()
        at = i - self.function.__code__.co_argcount
        if at < -len(defaults):
            name = self.signature().names[i]
            raise TypeError(
                f"{self.function.__qualname__}() missing 1 required positional argument: {name!r}"
            )
        return defaults[at]

    def signature(self) -> Signature:
        return Signature.of(self.function.__code__)

    def bare(self) -> Graph:
        """A graph with the parameters and nothing in it."""
        code = self.function.__code__
        return placed_like(code, code.co_qualname, self.signature(), self.namespace, code.co_freevars)


def placed_like(
    code: CodeType, name: str, signature: Signature, namespace: dict[str, Any],
    cellnames: tuple[str, ...] = (),
) -> Graph:  # fmt: skip
    """A graph with nothing in it that stands in the file of this code: a frame of it knows lines of that file
    alone, and refusals are placed where frames are."""
    return Graph(
        name, signature, cellnames=cellnames, namespace=namespace,
        filename=code.co_filename, line=code.co_firstlineno,
    )  # fmt: skip


class CallSource:
    """One call of `callee`. `template` has a literal or HOLE per argument; the last len(kwnames) go by
    keyword."""

    cells = ()
    namespace = NAMESPACE

    def __init__(self, callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...] = ()) -> None:
        self.callee, self.template, self.kwnames = callee, template, kwnames

    def signature(self) -> Signature:
        names = [*_own_names(self.callee, len(self.template) - len(self.kwnames)), *self.kwnames]
        taken = tuple(name for name, given in zip(names, self.template, strict=True) if given is HOLE)
        return positional(len(taken), taken)

    def bare(self) -> Graph:
        name = own_name(self.callee, "call")
        code = getattr(getattr(self.callee, "__func__", self.callee), "__code__", None)
        if type(code) is CodeType:
            return placed_like(code, name, self.signature(), self.namespace)
        return Graph(name, self.signature(), namespace=self.namespace)

    def call(self, *args: Any) -> Any:
        callee, filled, named = self.filled(args)
        return callee(*filled, **named)

    def filled(self, args: Sequence[Any]) -> tuple[Any, list[Any], dict[str, Any]]:
        given = iter(args)
        filled = [next(given) if t is HOLE else t for t in self.template]
        n = len(filled) - len(self.kwnames)
        return self.callee, filled[:n], dict(zip(self.kwnames, filled[n:], strict=True))

    def graph(self, types: Sequence[T.Type] = ()) -> Graph:
        graph = self.bare()
        params = iter(graph.params)
        args: list[Operand] = [next(params) if t is HOLE else Const(t) for t in self.template]
        y = Value("y")
        graph.entry.ops.append(Op(Const(self.callee), args, [y], self.kwnames))
        graph.entry.terminator = Return(y)
        return graph

    def guards(self, types: Sequence[T.Type] = ()) -> list[Guard]:
        return []


def _own_names(callee: Any, n: int) -> list[str]:
    """The names of the first n parameters; those of a Python function are its own."""
    code = callee.__code__ if type(callee) is FunctionType else None
    own = code.co_varnames[: min(n, code.co_argcount)] if code is not None else ()
    return [*own, *(f"a{i}" for i in range(len(own), n))]


class ClosureSource:
    """(*contents, *args) -> f(*args) for an f of this code that has captured `contents`.

    The program makes cells of the contents and a function of the code, and calls it: inlining leaves nothing
    of both. Nothing of the closure itself is kept: one program serves all closures of the code.
    """

    cells = ()

    def __init__(
        self, code: CodeType, namespace: dict[str, Any], n: int, kwnames: tuple[str, ...],
        defaults: Any = None, kwdefaults: Any = None, captured: tuple[Recipe | None, ...] = (),
    ) -> None:  # fmt: skip
        """`captured`: how what the closure captured is made, where it is no argument."""
        self.code, self.namespace = code, namespace
        self.captured = captured or (None,) * len(code.co_freevars)
        self.n, self.kwnames = n, kwnames
        self.defaults, self.kwdefaults = defaults, kwdefaults

    def signature(self) -> Signature:
        own = self.code.co_varnames[: min(self.n, self.code.co_argcount)]
        names = (
            *(f"captured {name}" for name in self._captured_names()),
            *own,
            *(f"a{i}" for i in range(len(own), self.n)),
            *self.kwnames,
        )
        return Signature(names, len(names))

    def call(self, *args: Any) -> Any:
        callee, filled, named = self.filled(args)
        return callee(*filled, **named)

    def filled(self, args: Sequence[Any]) -> tuple[Any, list[Any], dict[str, Any]]:
        given = iter(args)
        cells = tuple([CellType(made(each, given)) for each in self.captured])
        defaults = self.defaults
        function = FunctionType(self.code, self.namespace, None, defaults, cells)
        function.__kwdefaults__ = self.kwdefaults
        rest = list(given)
        n = len(rest) - len(self.kwnames)
        return function, rest[:n], dict(zip(self.kwnames, rest[n:], strict=True))

    def lasting(self) -> list[Any]:
        """What the function has, whichever closure it is: functions of modules that it captured, defaults."""
        named = (self.kwdefaults or {}).values()
        return [*constants(self.captured), *(self.defaults or ()), *named]

    def _captured_names(self) -> list[str]:
        pairs = zip(self.code.co_freevars, self.captured, strict=True)
        return [name for free, each in pairs for name in argument_names(free, each)]

    def bare(self) -> Graph:
        return placed_like(self.code, self.code.co_qualname, self.signature(), self.namespace)

    def graph(self, types: Sequence[T.Type] = ()) -> Graph:
        graph = self.bare()
        params = iter(graph.params)
        ops = graph.entry.ops
        cells = [write(ops, primitives.make_cell, make(ops, each, params)) for each in self.captured]
        closure = write(ops, primitives.build_tuple, *cells)
        function = write(
            ops, primitives.make_function, Const(self.namespace), Const(self.code),
            Const(self.defaults), Const(self.kwdefaults), Const(None), closure,
        )  # fmt: skip
        y = Value("y")
        ops.append(Op(function, list(params), [y], self.kwnames))
        graph.entry.terminator = Return(y)
        return graph

    def guards(self, types: Sequence[T.Type] = ()) -> list[Guard]:
        lifted_code(self.code, self.namespace)  # fails here, not later, where it cannot be lifted
        return []


AnySource = Source | CallSource | ClosureSource | DerivedSource
