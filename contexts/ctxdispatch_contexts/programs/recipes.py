"""How a program makes a function, for another program to make it again.

    def loss(p):
        def u(x): return net(p, x)
        def residual(x): return grad(u)(x) + u(x)
        return grad(residual)(0.2)

The program of `grad(residual)` has what `residual` captured for arguments. A function that is made right here
is none of them: the program would not know what it calls. It makes the function itself, after its recipe, and
what that captured, `p`, is the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxdispatch.bytecode.original import is_generated
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Const, Op, Operand, Value, hashable
from ctxdispatch.passes import resolve
from ctxdispatch.passes import types as T
from ctxdispatch.passes.cells import CellContents, free_stores
from ctxdispatch_contexts.programs.assigned import assigned_free
from ctxdispatch_contexts.programs.derived import is_maker
from ctxdispatch_contexts.programs.entry_keys import ById
from ctxdispatch_contexts.programs.lifting import made_at_run_time

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared


class Closure(NamedTuple):
    """A function of this code; per variable that it captured, how that is made, or None for an argument."""

    code: CodeType | ById
    namespace: ById
    defaults: ById
    captured: tuple[Recipe | None, ...]


class Derivative(NamedTuple):
    """maker(function, *options, **options), the last being those in `kwnames`."""

    maker: Any
    function: Recipe
    options: tuple[Any, ...]
    kwnames: tuple[str, ...]


class Constant(NamedTuple):
    """A function of a module."""

    value: ById


Recipe = Closure | Derivative | Constant


# -- finding -------------------------------------------------------------------------------------------------


def captured(prepared: Prepared, op: Op, making: Op, emit: Callable[..., Value]) -> Captured | None:
    """What the function that `making` makes has captured, as `op` finds it; None where its closure is not
    known. `emit` puts an op before `op`."""
    finder = _Finder(prepared, op, emit)
    cells = finder.cells(making)
    return None if cells is None else finder.together(making, cells)


class Captured(NamedTuple):
    """Per variable the recipe, and the arguments of all of them, one after the other."""

    recipes: tuple[Recipe | None, ...]
    arguments: list[Operand]


class _Finder:
    def __init__(self, prepared: Prepared, op: Op, emit: Callable[..., Value]) -> None:
        self.prepared, self.makers, self.op, self.emit = prepared, prepared.maker, op, emit
        self.contents = CellContents(prepared.graph)
        self.open: list[Op] = []
        """The functions whose variables are looked at: one that captured itself is an argument."""

    def cells(self, making: Op) -> Sequence[Operand] | None:
        """What the function was given for its variables."""
        given = making.args[5] if len(making.args) > 5 else Const(None)
        if isinstance(given, Const):
            return [Const(cell) for cell in given.value or ()]
        tuple_ = self.makers.get(given)
        return tuple_.args if tuple_ is not None and tuple_.fn is primitives.build_tuple else None

    def together(self, making: Op, cells: Sequence[Operand]) -> Captured:
        self.open.append(making)
        recipes, arguments = [], []
        for cell, name in zip(cells, _code(making).co_freevars, strict=True):
            content = self._function(cell) or self.contents.at(self.op, cell)
            if content is None:
                content = self.emit(primitives.cell_get, cell, Const(name), Const(True))
            recipe, leaves = self._content(content)
            recipes.append(recipe)
            arguments += leaves
        self.open.pop()
        return Captured(tuple(recipes), arguments)

    def _function(self, cell: Operand) -> Const | None:
        """The function that a cell of the differentiated function's own holds."""
        own = self._cell(cell)
        found = resolve.cell_contents(own) if own is not None else resolve.UNKNOWN
        if not isinstance(found.type, T.Known) or type(found.type.value) is not FunctionType:
            return None
        if any(self._assigns(op, own) for _, op in self.prepared.graph.ops()):
            return None
        assert found.guard is not None
        self.prepared.assume(found.guard)
        return Const(found.type.value)

    def _cell(self, operand: Operand) -> CellType | None:
        return operand.value if isinstance(operand, Const) else self.prepared.cells.get(operand)

    def _assigns(self, op: Op, cell: CellType | None) -> bool:
        """It sets the cell, or makes a function that does."""
        if op.fn in (primitives.cell_set, primitives.cell_delete):
            return self._cell(op.args[0]) is cell
        if op.fn is not primitives.make_function:
            return False
        cells, stored = self.cells(op), free_stores(_code(op))
        if cells is None:
            return bool(stored)
        names = zip(cells, _code(op).co_freevars, strict=True)
        return any(name in stored and self._cell(each) is cell for each, name in names)

    def _content(self, content: Operand) -> tuple[Recipe | None, list[Operand]]:
        making = self.makers.get(content)  # type: ignore[arg-type]
        found = None
        if isinstance(content, Const):
            found = self._known(content.value)
        elif making is not None and making.fn is primitives.make_function:
            found = self._closure(making)
        elif making is not None and is_maker(making.fn):
            found = self._derivative(making)
        return found or (None, [content])

    def _known(self, function: Any) -> tuple[Recipe, list[Operand]] | None:
        """A function that was made before: one that lasts as it is, else what it captured are arguments."""
        if type(function) is not FunctionType or "__overdub__" in function.__dict__:
            return None
        if not made_at_run_time(function):
            return Constant(ById(function)), []
        ruled = self.prepared.ruled is not None and self.prepared.ruled.ad_ruled(function)
        cells = [Const(cell) for cell in function.__closure__ or ()]
        none = Const(None)
        given = (function.__defaults__ or None, function.__kwdefaults__ or None)
        parts = [Const(function.__globals__), Const(function.__code__), *map(Const, given), none, none]
        making = Op(Const(primitives.make_function), list(parts), [])
        nested = any(_code(each) is function.__code__ for each in self.open)
        return None if ruled or nested else self._closure(making, cells)

    def _closure(
        self, making: Op, cells: Sequence[Operand] | None = None
    ) -> tuple[Recipe, list[Operand]] | None:
        none = Const(None)
        namespace, code, defaults, kwdefaults, *_ = (*making.args, none, none)
        if making in self.open or not isinstance(defaults, Const) or not is_none(kwdefaults):
            return None
        cells = self.cells(making) if cells is None else cells
        if cells is None or assigned_free(_code(making)) is not None:
            return None
        recipes, arguments = self.together(making, cells)
        own = ById(code.value) if is_generated(code.value) else code.value  # type: ignore[union-attr]
        return Closure(own, ById(namespace.value), ById(defaults.value), recipes), arguments  # type: ignore[union-attr]

    def _derivative(self, making: Op) -> tuple[Recipe, list[Operand]] | None:
        if not all(isinstance(a, Const) and hashable(a.value) for a in making.args[1:]):
            return None
        function, arguments = self._content(making.args[0])
        if function is None:
            return None
        options = tuple(a.value for a in making.args[1:])  # type: ignore[union-attr]
        return Derivative(making.fn, function, options, making.kwnames), arguments


def is_none(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.value is None


def _code(making: Op) -> CodeType:
    return making.args[1].value  # type: ignore[union-attr, no-any-return]


# -- following -----------------------------------------------------------------------------------------------


def make(ops: list[Op], recipe: Recipe | None, arguments: Iterator[Operand]) -> Operand:
    """Append what makes a captured value, of the next of the arguments."""
    match recipe:
        case None:
            return next(arguments)
        case Closure(code, namespace, defaults, inner):
            cells = [write(ops, primitives.make_cell, make(ops, each, arguments)) for each in inner]
            code = code.value if isinstance(code, ById) else code
            given = map(Const, (namespace.value, code, defaults.value, None, None))
            closure = write(ops, primitives.build_tuple, *cells)
            return write(ops, primitives.make_function, *given, closure)
        case Constant(value):
            return Const(value.value)
        case Derivative(maker, function, options, kwnames):
            made = write(ops, maker, make(ops, function, arguments), *map(Const, options))
            ops[-1].kwnames, ops[-1].syntax = kwnames, False
            return made


def write(ops: list[Op], fn: object, *args: Operand) -> Value:
    result = Value()
    ops.append(Op(Const(fn), list(args), [result], syntax=True))
    return result


def argument_names(name: str, recipe: Recipe | None) -> Iterator[str]:
    """Of the arguments that a captured variable comes to."""
    match recipe:
        case None:
            yield name
        case Constant(_):
            return
        case Derivative(_, function, _, _):
            yield from argument_names(name, function)
        case Closure(code, _, _, inner):
            code = code.value if isinstance(code, ById) else code
            for free, each in zip(code.co_freevars, inner, strict=True):
                yield from argument_names(f"{name}.{free}", each)
