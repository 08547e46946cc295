"""Programs made of programs: what an entry generated is what the next one differentiates.

    grad(grad(f))       the source of the outer entry is the graph of the inner one's program
    grad(g)(x)          within a differentiated program: inlined, as any function's graph is

`grad` and its like are *makers*: called within a program that is differentiated, with a function that the
program knows or makes itself, they are no part of it. The call of what they made is replaced by a call of an
entry, which is inlined then.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch import overdub, recurse
from ctxdispatch.dispatch.reach import own_way
from ctxdispatch.facts import fact, rows
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op, Return, Signature
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import Guard
from ctxdispatch_contexts.programs.mode import Mode

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.entry import Entry


class DerivedSource:
    """One call of another entry's function. Preparing inlines that entry's program, for whatever types are
    asked for, or leaves the call, where the context has a better way to differentiate it."""

    cells: tuple[Any, ...] = ()

    def __init__(self, inner: Entry) -> None:
        self.inner = inner
        self.namespace = inner.namespace
        self.function = inner.function

    def call(self, *args: Any) -> Any:
        return self.function(*args)

    def changed(self, context: Any) -> bool:
        """The function below takes other arguments now, or has a rule."""
        return self.inner.changed()

    def graph(self, types: Sequence[T.Type]) -> Graph:
        graph = self.bare()
        y = Value("y")
        graph.entry.ops.append(Op(Const(self.function), list(graph.params), [y]))
        graph.entry.terminator = Return(y)
        return graph

    def guards(self, types: Sequence[T.Type]) -> list[Guard]:
        return []

    def signature(self) -> Signature:
        return self.inner.signature()

    def bare(self) -> Graph:
        """A graph with the parameters and nothing in it."""
        bare = self.inner.source.bare()
        return Graph(
            bare.name, self.signature(), namespace=self.namespace, filename=bare.filename, line=bare.line
        )


def entry_of(function: Any) -> Entry | None:
    """The entry whose function this is, or, of what closures share, one of the function's own."""
    under = own_way(function) if type(function) is FunctionType else None
    own = getattr(under, "own_entry", None)
    if own is not None:
        return own()  # type: ignore[no-any-return]
    entry = getattr(under, "__self__", None)
    return entry if getattr(entry, "function", None) is function else None  # type: ignore[return-value]


# -- gradients, as what they are of ----------------------------------------------------------------------


class Gradient(NamedTuple):
    """What a function is the gradient of, and with respect to which arguments."""

    f: Any
    wrt: tuple[int, ...]
    function: weakref.ReferenceType[Any]


def gradient(function: Any) -> Gradient | None:
    """What is known of `function`, if it is a gradient; not what `functools.wraps` copied."""
    found = getattr(function, "__dict__", {}).get(GRADIENT)
    return found if found is not None and found.function() is function else None


def mark_gradient(function: Any, f: Any, wrt: tuple[int, ...]) -> None:
    function.__dict__[GRADIENT] = Gradient(f, wrt, weakref.ref(function))


GRADIENT = "__gradient_of__"


# -- makers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Maker:
    """`mode(n, *options, **options)`: what is made of a function of n positional arguments."""

    context: Any
    mode: Callable[..., Mode]


MAKERS: dict[Any, Maker] = {}


def maker(context: Any, mode: Callable[..., Mode]) -> Callable[[Any], Any]:
    """Decorator: the function below makes an entry's function of its first argument."""

    def register(function: Any) -> Any:
        rows(fact(known=False, raises=False), [function])
        MAKERS[function] = Maker(context, mode)
        return function

    return register


Rewrite = Callable[[Any, Block, Op], bool]

SPELLED_OUT: dict[Any, Rewrite] = {}
"""Functions that users call with a function and arguments: the rewriting of such a call into a maker's and a
call of what it makes. True where it is done."""


def spelled_out(function: Any) -> Callable[[Rewrite], Rewrite]:
    """Decorator: the function below rewrites calls of `function`."""

    def register(rewrite: Rewrite) -> Rewrite:
        SPELLED_OUT[function] = rewrite
        return rewrite

    return register


OBJECTS_SPELLED_OUT: dict[type, Rewrite] = {}
"""The same for calls of objects of a class, which are known or made in the program."""


def objects_spelled_out(cls: type) -> Callable[[Rewrite], Rewrite]:
    """Decorator: the function below rewrites calls of objects of `cls`."""

    def register(rewrite: Rewrite) -> Rewrite:
        OBJECTS_SPELLED_OUT[cls] = rewrite
        return rewrite

    return register


def rewriting_of(prepared: Any, op: Op) -> Rewrite | None:
    """What rewrites this call."""
    if op.fn is not None:
        found = SPELLED_OUT.get(op.fn) if hashable(op.fn) else None
        return found or _of_objects(type(op.fn))
    made = prepared.maker.get(op.callee)
    return _of_objects(made.fn) if made is not None and issubclass(type(made.fn), type) else None


def _of_objects(cls: type) -> Rewrite | None:
    if is_spelled_out(cls):
        import_module(OBJECTS[cls])
    return OBJECTS_SPELLED_OUT.get(cls)


OBJECTS: dict[type, str] = {np.vectorize: "ctxdispatch_contexts.broadcast"}
"""The module that rewrites calls of objects of a class: it is imported when one is met."""


def is_spelled_out(cls: Any) -> bool:
    """Calls of objects of this class are rewritten: making one is not looked into."""
    return issubclass(type(cls), type) and cls in OBJECTS


OVERDUBS: dict[Any, Callable[..., bool]] = {}


WITH_FIELDS: set[type] = set()
"""Those of which the rewriting looks at the fields that one is made with."""


def overdub_of(
    context: type, *, fields: bool = False
) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Decorator: the function below rewrites overdub(context, f, *args), within a program. `fields`: also
    where one is made with fields, at which it looks."""

    def register(rewrite: Callable[..., bool]) -> Callable[..., bool]:
        OVERDUBS[context] = rewrite
        WITH_FIELDS.update([context] * fields)
        return rewrite

    return register


_of_any: list[Rewrite] = []


def overdub_of_any(rewrite: Rewrite) -> Rewrite:
    """Decorator: the function below rewrites overdub(context, f, *args) of contexts that have no rewriting of
    their own."""
    _of_any.append(rewrite)
    return rewrite


@spelled_out(overdub)
def _overdub(prepared: Any, block: Block, op: Op) -> bool:
    if len(op.args) < 2:
        return False
    context, f, *args = op.args
    rewrite = OVERDUBS.get(_class_of(prepared, context))
    if rewrite is None:
        return any(own(prepared, block, op) for own in _of_any)
    known = context.value if isinstance(context, Const) else None
    return not op.kwnames and rewrite(prepared, block, op, f, args, known)


def _class_of(prepared: Any, context: Operand) -> Any:
    """That of a context which is known, or made without fields that matter."""
    if isinstance(context, Const):
        return type(context.value)
    made = prepared.maker.get(context)
    plain = made is not None and hashable(made.fn) and (not made.args or made.fn in WITH_FIELDS)
    return made.fn if plain else None


def is_known(f: Operand, prepared: Any) -> bool:
    """A function that the program knows or makes itself, or a method of an object of known class."""
    if isinstance(f, Const):
        return callable(f.value)
    making = prepared.maker.get(f)
    if making is None:
        return False
    if making.fn is primitives.make_function or (reads_attribute(making) and prepared.method(making)):
        return True
    return chain_of(f, prepared.maker) is not None


def is_maker(fn: Any) -> bool:
    return hashable(fn) and fn in MAKERS


def takes_function(fn: Any) -> bool:
    """`grad` and its like, `jvp` and its like."""
    return hashable(fn) and (fn in MAKERS or fn in SPELLED_OUT)


def makes_derivatives(fn: Any) -> bool:
    """A gradient, or what makes one: no part of a program."""
    if type(fn) is not FunctionType:
        return False
    return own_way(fn) is not None or fn in (overdub, recurse) or takes_function(fn)


def is_found_at_run_time(fn: Any) -> bool:
    """It takes a function that may be met at run time, and is spelled out then."""
    return type(fn) is FunctionType and "__written_out__" in fn.__dict__ and own_way(fn) is not None


def make_known(op: Op) -> Any:
    """What a maker makes of a function that is known, or None."""
    if not is_maker(op.fn) or not op.args or not all(isinstance(a, Const) for a in op.args):
        return None
    n = len(op.args) - len(op.kwnames)
    values = [a.value for a in op.args]  # type: ignore[union-attr]
    if not callable(values[0]):
        return None
    return op.fn(*values[:n], **dict(zip(op.kwnames, values[n:], strict=True)))


@dataclass
class Chain:
    """maker(maker(... function)), the function being made in this program by `making`, or read off an object
    by it."""

    making: Op
    makers: list[Op]


def chain_of(callee: Operand, makers: dict[Value, Op]) -> Chain | None:
    """How `callee` came about, where makers made it of a function that this program makes."""
    found: list[Op] = []
    while isinstance(callee, Value) and callee in makers:
        op = makers[callee]
        if (op.fn is primitives.make_function or reads_attribute(op)) and found:
            return Chain(op, found[::-1])
        if not is_maker(op.fn) or not all(isinstance(a, Const) for a in op.args[1:]):
            return None
        found.append(op)
        callee = op.args[0]
    return None


def reads_attribute(op: Op) -> bool:
    return op.fn is getattr and len(op.args) == 2


class Made(NamedTuple):
    """What makers make of a function of n arguments: it takes `after` more after them."""

    function: Any
    n: int
    after: int


def apply_makers(entry_function: Callable[..., Any], chain: Chain, k: int, n: int, given: int) -> Made:
    """The function of the outermost entry, for a function of n arguments, k others before them; `given`: so
    many it is called with. `entry_function(maker, mode, inner)` makes an entry of the inner one (None: of the
    function)."""
    function, count = None, n
    for op in chain.makers:
        made = MAKERS[op.fn]
        positional = len(op.args) - len(op.kwnames)
        values = [a.value for a in op.args[1:]]  # type: ignore[union-attr]
        options = dict(zip(op.kwnames, values[positional - 1 :], strict=True))
        mode = made.mode(count, *values[: positional - 1], **options).after(k, count)
        if op is chain.makers[-1]:
            mode = mode.pulling(k, given)
        function = entry_function(made, mode, function)
        count = len(mode.parameters(("",) * (k + count))) - k
    return Made(function, n, count - n)


def with_defaults(args: Sequence[Operand], made: Made, defaults: Sequence[Operand]) -> list[Operand] | None:
    """The arguments, and those that were left out, for which `defaults` are. None where they do not fit."""
    given = len(args) - made.after
    missing = made.n - given
    if not 0 <= missing <= len(defaults):
        return None
    return [*args[:given], *defaults[len(defaults) - missing :], *args[given:]]


# -- along a direction ---------------------------------------------------------------------------------------


def along(entry: Entry, active: tuple[int, ...]) -> Any:
    """(*args, *directions) -> the gradient of a gradient entry's function with respect to the arguments
    `active`, as a tuple, and its derivative along the directions, one per argument of the entry's own."""
    forward = import_module("ctxdispatch_contexts.forward")
    mode: Any = entry.mode
    whole = replace(mode, wrt=active, value=False, single=False)
    return forward.pushforward(entry.sibling(whole).function, mode.wrt)
