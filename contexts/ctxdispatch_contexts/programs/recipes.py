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
from itertools import repeat
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxdispatch.dispatch import rules
from ctxdispatch.dispatch.reach import own_way
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import resolve
from ctxdispatch.passes import types as T
from ctxdispatch.passes.cells import CellContents, items_of
from ctxdispatch.passes.guards import CodeIs, DefaultsAre
from ctxdispatch_contexts.programs.assigned import assigned_free, is_empty
from ctxdispatch_contexts.programs.derived import is_maker
from ctxdispatch_contexts.programs.entry_keys import ById, CodeKey, code_key, code_of, literal_key
from ctxdispatch_contexts.programs.lifting import made_at_run_time
from ctxdispatch_contexts.programs.owned import ATTRIBUTE, Bounded

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared


class Closure(NamedTuple):
    """A function of this code; per variable that it captured, how that is made, or None for an argument."""

    code: CodeKey
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


class Literal(NamedTuple):
    """A text, True, False or None, which more often say what is done than they are data."""

    value: Any


Recipe = Closure | Derivative | Constant | Literal
Recipes = tuple[Recipe | None, ...]
"""Per variable that a function captured; None for an argument."""


# -- finding -------------------------------------------------------------------------------------------------


def captured(prepared: Prepared, op: Op, making: Op, emit: Callable[..., Value]) -> Captured | None:
    """What the function that `making` makes has captured, as `op` finds it; None where its closure is not
    known. `emit` puts an op before `op`."""
    finder, parts = _Finder(prepared, op, emit), parts_of(making)
    cells = items_of(parts.closure, prepared.maker)
    return None if cells is None else finder.together(making, parts.code, cells)


class Captured(NamedTuple):
    """Per variable the recipe, and the arguments of all of them, one after the other."""

    recipes: tuple[Recipe | None, ...]
    arguments: list[Operand]


class _Finder:
    def __init__(self, prepared: Prepared, op: Op, emit: Callable[..., Value]) -> None:
        self.prepared, self.makers, self.op, self.emit = prepared, prepared.maker, op, emit
        self.contents = CellContents(prepared.graph)
        self.open: list[Op | FunctionType] = []
        """The functions whose variables are looked at: one that captured itself is an argument."""

    def together(self, of: Op | FunctionType, code: CodeType, cells: Sequence[Operand]) -> Captured:
        self.open.append(of)
        recipes, arguments = [], []
        for cell, name in zip(cells, code.co_freevars, strict=True):
            content = self._function(cell) or self.contents.at(self.op, cell)
            if content is None:
                content = self.emit(primitives.cell_get, cell, Const(name), Const(True))
            recipe, leaves = self._content(content)
            recipes.append(recipe)
            arguments += leaves
        self.open.pop()
        return Captured(tuple(recipes), arguments)

    def _content(self, content: Operand) -> tuple[Recipe | None, list[Operand]]:
        making = self.makers.get(content)  # type: ignore[arg-type]
        found = None
        if isinstance(content, Const):
            found = self._known(content.value)
        elif making is not None and making.fn is primitives.make_function:
            found = self._closure(making, parts_of(making))
        elif making is not None and is_maker(making.fn):
            found = self._derivative(making)
        return found or (None, [content])

    def _closure(self, of: Op | FunctionType, parts: Parts) -> tuple[Recipe, list[Operand]] | None:
        code, cells = parts.code, items_of(parts.closure, self.makers)
        plain = isinstance(parts.defaults, Const) and is_none(parts.kwdefaults)
        if of in self.open or len(self.open) > MAX_DEPTH or not plain or cells is None:
            return None
        if assigned_free(code) is not None:
            return None
        recipes, arguments = self.together(of, code, cells)
        fixed = ById(parts.namespace), ById(parts.defaults.value)  # type: ignore[union-attr]
        return Closure(code_key(code), *fixed, recipes), arguments

    def _derivative(self, making: Op) -> tuple[Recipe, list[Operand]] | None:
        if not all(isinstance(a, Const) and hashable(a.value) for a in making.args[1:]):
            return None
        function, arguments = self._content(making.args[0])
        if function is None:
            return None
        options = tuple(a.value for a in making.args[1:])  # type: ignore[union-attr]
        return Derivative(making.fn, function, options, making.kwnames), arguments

    # -- what was made before

    def _function(self, cell: Operand) -> Const | None:
        """The function that a cell of the differentiated function's own holds."""
        own = cell.value if isinstance(cell, Const) else self.prepared.cells.get(cell)
        if own is None or id(own) in self.prepared.untrusted:
            return None
        found = resolve.cell_contents(own)
        if not isinstance(found.type, T.Known) or type(found.type.value) is not FunctionType:
            return None
        self.prepared.assume(found.guard)
        return Const(found.type.value)

    def _known(self, function: Any) -> tuple[Recipe, list[Operand]] | None:
        """One that lasts as it is; of another one, what it captured are arguments."""
        if type(function) in _SAYING:
            return Literal(function), []
        if type(function) is not FunctionType or own_way(function) is not None:
            return None
        if not made_at_run_time(function):
            return Constant(ById(function)), []
        if self.prepared.ruled is not None and self.prepared.ruled.ad_ruled(function):
            return None
        if not _says_nothing_else(function):
            return None
        code, defaults, kwdefaults = function.__code__, function.__defaults__, function.__kwdefaults__
        self.prepared.assume(CodeIs(function, code))
        self.prepared.assume(DefaultsAre(function, defaults, dict(kwdefaults or {})))
        given = map(Const, (defaults, kwdefaults or None, None, function.__closure__))
        return self._closure(function, Parts(function.__globals__, code, *given))


MAX_DEPTH = 16
"""Functions that captured functions that captured functions, and so on."""


class Parts(NamedTuple):
    """What `primitives.make_function` makes a function of."""

    namespace: dict[str, Any]
    code: CodeType
    defaults: Operand
    kwdefaults: Operand
    annotations: Operand
    closure: Operand


def parts_of(making: Op) -> Parts:
    namespace, code, *rest = making.args
    rest += [Const(None)] * (4 - len(rest))
    return Parts(namespace.value, code.value, *rest[:4])  # type: ignore[union-attr]


def is_none(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.value is None


# -- following -----------------------------------------------------------------------------------------------


def make(ops: list[Op], recipe: Recipe | None, arguments: Iterator[Operand]) -> Operand:
    """Append what makes a captured value, of the next of the arguments."""
    match recipe:
        case None:
            return next(arguments)
        case Closure(code, namespace, defaults, inner):
            cells = [write(ops, primitives.make_cell, make(ops, each, arguments)) for each in inner]
            given = map(Const, (namespace.value, code_of(code), defaults.value, None, None))
            closure = write(ops, primitives.build_tuple, *cells)
            return write(ops, primitives.make_function, *given, closure)
        case Constant(value):
            return Const(value.value)
        case Literal(value):
            return Const(value)
        case Derivative(maker, function, options, kwnames):
            made = write(ops, maker, make(ops, function, arguments), *map(Const, options))
            ops[-1].kwnames, ops[-1].syntax = kwnames, False
            return made


def constants(recipes: Sequence[Recipe | None]) -> Iterator[Any]:
    """The functions of modules, and defaults, at any depth."""
    for recipe in recipes:
        if isinstance(recipe, Closure):
            yield from (recipe.defaults.value or (), *constants(recipe.captured))
        elif isinstance(recipe, Derivative):
            yield from constants((recipe.function,))
        elif isinstance(recipe, Constant):
            yield recipe.value.value


def made(recipe: Recipe | None, arguments: Iterator[Any]) -> Any:
    """The captured value itself, of the next of the arguments."""
    match recipe:
        case None:
            return next(arguments)
        case Closure(code, namespace, defaults, inner):
            cells = tuple([CellType(made(each, arguments)) for each in inner])
            return FunctionType(code_of(code), namespace.value, None, defaults.value, cells)
        case Constant(value):
            return value.value
        case Literal(value):
            return value
        case Derivative(maker, function, options, kwnames):
            n = len(options) - len(kwnames)
            named = dict(zip(kwnames, options[n:], strict=True))
            return maker(made(function, arguments), *options[:n], **named)


# -- of functions that there are -----------------------------------------------------------------------------


def recipes_of(
    f: FunctionType, unfit: Callable[[FunctionType], bool], literals: bool = True
) -> Recipes | None:
    """How functions are made that `f` has captured; None where one of them cannot be made again: it is
    `unfit`, has attributes, is a derivative, captured itself or an iterator, or its defaults are more than
    numbers and texts. `literals`: such a value is no argument."""
    try:
        found = _of_cells(f, unfit, (f,))
        return found if literals else tuple([None if isinstance(r, Literal) else r for r in found])
    except _NotAgain:
        return None


class _NotAgain(Exception):
    """One of the functions cannot be made again."""


Unfit = Callable[[FunctionType], bool]


def _of_cells(f: FunctionType, unfit: Unfit, within: tuple[FunctionType, ...]) -> Recipes:
    cells = f.__closure__ or ()
    if any(map(is_empty, cells)):
        raise _NotAgain
    return tuple([_of_content(cell.cell_contents, unfit, within) for cell in cells])


def _of_content(value: Any, unfit: Unfit, within: tuple[FunctionType, ...]) -> Recipe | None:
    if hasattr(type(value), "__next__"):  # what others take items from is no argument
        raise _NotAgain
    if type(value) in _SAYING:
        return Literal(value)
    if type(value) is not FunctionType:
        return None
    if own_way(value) is not None:
        raise _NotAgain
    if not made_at_run_time(value):
        return Constant(ById(value))
    again = len(within) <= MAX_DEPTH and not any(value.__code__ is each.__code__ for each in within)
    if not (again and _is_plain(value)) or assigned_free(value.__code__) is not None or unfit(value):
        raise _NotAgain
    defaults = value.__defaults__
    if defaults is not None:
        key = literal_key(defaults)
        defaults = _DEFAULTS.get_or_make(key, lambda: value.__defaults__)  # one for all: they are keys
    inner = _of_cells(value, unfit, (*within, value))
    return Closure(code_key(value.__code__), ById(value.__globals__), ById(defaults), inner)


_SAYING = (str, bool, type(None))
_LITERALS = (int, float, bool, str, bytes, type(None))
_DEFAULTS = Bounded(1024)


def _is_plain(f: FunctionType) -> bool:
    """It has nothing but its code, what it captured, and defaults that are numbers and texts."""
    plain = all(type(value) in _LITERALS for value in f.__defaults__ or ())
    return plain and not f.__kwdefaults__ and _says_nothing_else(f)


def _says_nothing_else(f: FunctionType) -> bool:
    """One that is made of its code again has the same names, and attributes."""
    code = f.__code__
    named = f.__name__ == code.co_name and f.__qualname__ == code.co_qualname
    return named and f.__dict__.keys() <= {ATTRIBUTE}


class Taking:
    """Called with what a function captured: the arguments that this comes to, after the recipes; None where
    other functions were captured, or one that is `ruled` by now."""

    __name__ = "taking"

    def __init__(self, recipes: Recipes, ruled: Unfit) -> None:
        self.recipes, self.ruled, self.version = recipes, ruled, rules.version()
        self.arguments = arguments_in(recipes)

    def __call__(self, *contents: Any) -> list[Any] | None:
        found: list[Any] = []
        if not all(map(_takes_apart, self.recipes, contents, repeat(found))):
            return None
        if self.version != rules.version() and any(map(self._is_ruled, self.recipes, contents)):
            return None
        return found

    def _is_ruled(self, recipe: Recipe | None, value: Any) -> bool:
        if not isinstance(recipe, Closure):
            return False
        inner = [cell.cell_contents for cell in value.__closure__ or ()]
        return self.ruled(value) or any(map(self._is_ruled, recipe.captured, inner))


def _takes_apart(recipe: Recipe | None, value: Any, found: list[Any]) -> bool:
    if recipe is None:
        found.append(value)
        return type(value) is not FunctionType
    if isinstance(recipe, Constant):
        return value is recipe.value.value
    if isinstance(recipe, Literal):
        return type(value) is type(recipe.value) and bool(value == recipe.value)
    if type(value) is not FunctionType or isinstance(recipe, Derivative):
        return False
    defaults, known = value.__defaults__, recipe.defaults.value
    if defaults is not known and (known is None or literal_key(defaults or ()) != literal_key(known)):
        return False
    same = value.__code__ is code_of(recipe.code) and value.__globals__ is recipe.namespace.value
    if not (same and _is_plain(value)):
        return False
    cells = value.__closure__ or ()
    if any(map(is_empty, cells)):
        return False
    return all(_takes_apart(each, cell.cell_contents, found) for each, cell in zip(recipe.captured, cells))


def arguments_in(recipes: Recipes) -> int:
    """How many arguments they take."""
    return sum(1 for each in recipes for _ in argument_names("", each))


def write(ops: list[Op], fn: object, *args: Operand) -> Value:
    result = Value()
    ops.append(Op(Const(fn), list(args), [result], syntax=True))
    return result


def argument_names(name: str, recipe: Recipe | None) -> Iterator[str]:
    """Of the arguments that a captured variable comes to."""
    match recipe:
        case None:
            yield name
        case Constant(_) | Literal(_):
            return
        case Derivative(_, function, _, _):
            yield from argument_names(name, function)
        case Closure(code, _, _, inner):
            for free, each in zip(code_of(code).co_freevars, inner, strict=True):
                yield from argument_names(f"{name}.{free}", each)
