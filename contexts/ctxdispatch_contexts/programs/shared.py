"""Functions made anew and given to `grad` and its like, again and again: they share one program.

    for x, y in batches:
        w -= grad(lambda w: loss(w, x, y))(w)

The first function of a code object gets a program of its own. From the second one on they get the program of
their code (`closures.py`): what they have captured are its arguments, but for functions, which it makes
itself, after their recipes (`recipes.py`), and so knows. Where that leaves no program, a few more get one
each; where a function cannot be made again, what it has captured is an argument in the end, too.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.dispatch import recurse
from ctxdispatch.dispatch.reach import natively
from ctxdispatch.ir import primitives
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Graph, Signature
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes.buffers import emit
from ctxdispatch_contexts.programs.arguments import Default, as_gradient, left_out, lie_apart
from ctxdispatch_contexts.programs.assigned import Holder, assigned_out_of_sight, is_empty
from ctxdispatch_contexts.programs.closures import bind_defaults, code_entry, contents
from ctxdispatch_contexts.programs.derived import entry_of
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.entry_keys import ById
from ctxdispatch_contexts.programs.mode import Mode
from ctxdispatch_contexts.programs.nesting import takes_derivatives
from ctxdispatch_contexts.programs.owned import Bounded, for_code
from ctxdispatch_contexts.programs.recipes import Recipes, Taking, arguments_in, recipes_of
from ctxdispatch_contexts.programs.sources import Source
from ctxdispatch_contexts.programs.specialised import Recorder

OWN = 8
"""So many functions of one code object get programs of their own, where the one of their code is none."""

_with_own: WeakKeyDictionary[CodeType, int] = WeakKeyDictionary()

Again = Callable[..., Any]
Made = TypeVar("Made", bound="_Shared")


class Sharing(NamedTuple):
    """How a function is taken apart that shares; `recipes` is None where it has a program of its own."""

    recipes: Recipes | None


@natively
def sharing(f: FunctionType, mode: Mode, context: Any, at_once: bool = False) -> Sharing:
    """Whether a function that has no program yet shares one. Those that do not are counted. `at_once`: all
    do that may."""
    count = _with_own.get(f.__code__, 0)
    recipes = None
    if (count or at_once) and not any(map(is_empty, f.__closure__ or ())) and not _changes(f):
        if not mode.shared:
            recipes = _recipes(f, context, count < OWN)
        if recipes is None and (count >= OWN or at_once) and not takes_derivatives(f):
            recipes = (None,) * len(f.__code__.co_freevars)
        elif recipes is not None and count < OWN and _is_recorded(f, mode, context, recipes):
            recipes = None
    if recipes is None:
        _with_own[f.__code__] = count + 1
    return Sharing(recipes)


def _recipes(f: FunctionType, context: Any, literals: bool = True) -> Recipes | None:
    return recipes_of(f, lambda g: bool(context.ad_ruled(g)) or _changes(g), literals)


def _is_recorded(f: FunctionType, mode: Mode, context: Any, recipes: Recipes) -> bool:
    return _records(_entry(f, mode, context, recipes, f.__code__.co_argcount))


def _records(entry: Entry) -> bool:
    return any(type(made) is Recorder for same in entry.specialised.values() for made in same)


def _entry(f: FunctionType, mode: Mode, context: Any, recipes: Recipes, n: int) -> Entry:
    """Of the code of `f`, for calls with all of its arguments, of which the mode is about the first n."""
    code = f.__code__
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    shifted = mode.after(arguments_in(recipes), n)
    fixed = recipes if any(recipes) else ()
    return code_entry(context, shifted, code, f.__globals__, code.co_argcount, named, captured=fixed)


def _changes(f: FunctionType) -> bool:
    """What the functions of this code have captured may change while they run: arguments would be copies. It
    is found out once, for the functions made beside it are of the same codes each time."""
    if f.__code__ not in _changing:
        cells = {id(cell): cell for cell in f.__closure__ or ()}
        holder = Holder(f.__code__, f.__globals__, f.__closure__ or ())
        _changing[f.__code__] = bool(assigned_out_of_sight(cells, [holder]))
    return _changing[f.__code__]


_changing: WeakKeyDictionary[CodeType, bool] = WeakKeyDictionary()


def shared_function(
    f: FunctionType, mode: Mode, context: Any, again: Again, recipes: Recipes
) -> FunctionType:
    """What `grad` and its like return for `f`: it hands what `f` captured to the entry of f's code.
    `again(f, mode, context, *args)` is called where `f` has changed since."""
    key = _key(f, mode, context)
    return _shared(f, key, recipes, lambda: _Passing(f, mode, context, again, recipes)).function_for(f)


def shared_call(
    f: FunctionType, mode: Mode, context: Any, n: int, own: Callable[[], Callable[..., Any]], recipes: Recipes
) -> Callable[..., Any]:
    """The same for calls of `f` with n arguments by position, others by keyword. `own()` is what has a
    program of its own."""
    key = _key(f, mode, context, n)
    return _shared(f, key, recipes, lambda: _Calling(f, mode, context, n, recipes)).function_for(f, own)


def _shared(f: FunctionType, key: Any, recipes: Recipes, make: Callable[[], Made]) -> Made:
    """What functions like `f` share. To make it takes as long as to make a program of its own."""

    def made() -> Made:
        _with_own[f.__code__] = _with_own.get(f.__code__, 0) + 1
        return make()

    found: Made = _made.get_or_make((key, recipes), made)
    _latest.put(key, found)
    return found


def known_sharing(f: FunctionType, mode: Mode, context: Any, n: int | None = None) -> Any:
    """What gives either, at once, where functions of that code share already, and `f` is like them; else
    None."""
    found = _latest.get(_key(f, mode, context, n))
    if found is None or _records(found.entry) or found.captured(f) is None:
        return None
    return found


def _key(f: FunctionType, mode: Mode, context: Any, n: int | None = None) -> tuple[Any, ...]:
    return context, mode, ById(f.__code__), ById(f.__globals__), len(f.__defaults__ or ()), n


_made, _latest = Bounded(1024), Bounded(1024)
"""By what tells functions and their recipes apart; the last of them, whatever the recipes."""


def _call(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


class _Shared:
    """What functions of one code share. `taking` takes apart what they have captured."""

    def __init__(self, f: FunctionType, mode: Mode, context: Any, n: int, recipes: Recipes) -> None:
        self.mode, self.context = mode, context
        self.taking = Taking(recipes, lambda g: bool(context.ad_ruled(g)))
        self.entry = _entry(f, mode, context, recipes, n)

    def captured(self, f: FunctionType) -> list[Any] | None:
        cells = f.__closure__ or ()
        return None if any(map(is_empty, cells)) else self.taking(*[cell.cell_contents for cell in cells])


class _Calling(_Shared):
    """Calls with some of their arguments, defaults in the place of others."""

    def __init__(self, f: FunctionType, mode: Mode, context: Any, n: int, recipes: Recipes) -> None:
        super().__init__(f, mode, context, n, recipes)
        self._n = n

    def function_for(self, f: FunctionType, own: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        def by(run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
            found = self._arguments(f, args, kwargs)
            if found is None:
                return run(own(), *args, **kwargs)
            y = run(self.entry.function, *found)
            return cut(y, self.taking.arguments, self._n) if self.mode.split else y

        def call(*args: Any, **kwargs: Any) -> Any:
            return by(_call, args, kwargs)

        call.__overdub__ = _UnderCall(by, own)  # type: ignore[attr-defined]
        return call

    def _arguments(self, f: FunctionType, args: Any, kwargs: Any) -> list[Any] | None:
        captured = self.captured(f)
        bound = bind_defaults(f, (*args, *kwargs.values()), (*kwargs,))
        if captured is None or bound is None:
            return None
        values, _, places = bound
        defaults = [value for i, value in enumerate(values) if i not in places]
        return [*captured, *values] if lie_apart(defaults, args) else None


class _Passing(_Shared):
    """Functions that pass on what functions of the code have captured."""

    def __init__(self, f: FunctionType, mode: Mode, context: Any, again: Again, recipes: Recipes) -> None:
        super().__init__(f, mode, context, f.__code__.co_argcount, recipes)
        self.again = again
        self._pool = Pool()
        self._code = emit(self._graph(f), self._pool)

    def function_for(self, f: FunctionType) -> FunctionType:
        closure = (*(f.__closure__ or ()), CellType(f), self._pool.cell)
        function = FunctionType(self._code, f.__globals__, f.__name__, None, closure)
        as_gradient(function, f)
        function.__overdub__ = _Under(f, self)  # type: ignore[attr-defined]
        return function

    def _graph(self, f: FunctionType) -> Graph:
        """(*args): return function(*contents of the cells, taken apart, *args)"""
        code, mode = f.__code__, self.mode
        free = code.co_freevars
        graph = Graph(
            f.__qualname__, _signature(code, mode), cellnames=(*free, "wrapped"), namespace=f.__globals__,
            filename=code.co_filename, line=code.co_firstlineno,
        )  # fmt: skip
        build = Builder(graph)
        wrapped = _content(build, graph.cells[-1], "wrapped")
        self._unless_changed(build, f, wrapped)
        if f.__defaults__:
            own = graph.params[: code.co_argcount]
            self._or_own(build, wrapped, build.call(_defaults_lie_apart, wrapped, *own))
        captured = [_content(build, cell, name) for cell, name in zip(graph.cells, free)]
        if any(self.taking.recipes):
            captured = self._taken_apart(build, wrapped, captured)
        y = build.call(self.entry.function, *captured, *_arguments(build, f, mode, wrapped))
        build.ret(build.call(cut, y, Const(len(captured)), Const(code.co_argcount)) if mode.split else y)
        return graph

    def _unless_changed(self, build: Builder, f: FunctionType, wrapped: Value) -> None:
        """Go on where the code of `wrapped`, and the number of its defaults, are those of `f`."""
        code = build.call(getattr, wrapped, Const("__code__"), syntax=True)
        same = build.call(operator.is_, code, Const(f.__code__), syntax=True)
        passed, replaced = build.new_block(), build.new_block()
        if f.__defaults__:
            counted = build.new_block()
            build.branch(same, counted, replaced)
            build.enter(counted)
            same = build.call(_has_defaults, wrapped, Const(len(f.__defaults__)))
        build.branch(same, passed, replaced)
        build.enter(replaced)
        build.ret(build.call(self.again, wrapped, Const(self.mode), Const(self.context), *build.graph.params))
        build.enter(passed)

    def _taken_apart(self, build: Builder, wrapped: Value, contents: list[Value]) -> list[Value]:
        """Go on where the contents are made after the recipes, with the arguments that these come to."""
        found = build.call(self.taking, *contents)
        self._or_own(
            build, wrapped, build.call(operator.is_not, found, Const(None), syntax=True), self.taken_anew
        )
        values = [Value() for _ in range(self.taking.arguments)]
        build.op(primitives.unpack, [found, Const(len(values))], [*values], (), True)
        return values

    def _or_own(
        self, build: Builder, wrapped: Value, fits: Value, otherwise: Callable[..., Any] | None = None
    ) -> None:
        """Go on where it fits."""
        passed, replaced = build.new_block(), build.new_block()
        build.branch(fits, passed, replaced)
        build.enter(replaced)
        build.ret(build.call(otherwise or self.by_own, wrapped, *build.graph.params))
        build.enter(passed)

    @natively
    def by_own(self, f: FunctionType, *args: Any) -> Any:
        """By a program of its own: what it has for a default is given as well, say."""
        key = (self.context, self.mode)
        own = for_code(f, key, lambda: Entry(Source(f), self.mode, self.context, self.again))
        return own.function(*args)

    @natively
    def taken_anew(self, f: FunctionType, *args: Any) -> Any:
        """What it captured are other functions now, or have rules."""
        recipes = _recipes(f, self.context)
        if recipes is not None:
            return shared_function(f, self.mode, self.context, self.again, recipes)(*args)
        return self.by_own(f, *args)


def _signature(code: CodeType, mode: Mode) -> Signature:
    """The parameters of the code, and those that the mode adds."""
    own = Signature.of(code)
    names = mode.parameters(own.names)
    return own if names == own.names else Signature(names, len(names))


def _has_defaults(f: FunctionType, n: int) -> bool:
    return len(f.__defaults__ or ()) == n


def _content(build: Builder, cell: Value, name: str) -> Value:
    return build.call(primitives.cell_get, cell, Const(name), Const(True), syntax=True)


def _arguments(build: Builder, f: FunctionType, mode: Mode, wrapped: Value) -> list[Operand]:
    """The arguments, those that were left out filled in; not those to differentiate with respect to."""
    params, n = build.graph.params, f.__code__.co_argcount
    first = n - len(f.__defaults__ or ())
    found: list[Operand] = list(params[:first])
    for i, param in enumerate(params[first:n], first):
        if mode.needs(i):
            found.append(build.call(_given, param, Const(param.name), Const(i)))
        else:
            found.append(build.call(_or_default, param, wrapped, Const(i - first)))
    return [*found, *params[n:]]


def _or_default(value: Any, f: FunctionType, i: int) -> Any:
    return (f.__defaults__ or ())[i] if value is Default else value


def _defaults_lie_apart(f: FunctionType, *given: Any) -> bool:
    """None of those that are used is given as well."""
    defaults = f.__defaults__ or ()
    last = given[len(given) - len(defaults) :]
    return lie_apart([d for d, value in zip(defaults, last, strict=True) if value is Default], given)


def _given(value: Any, name: str, i: int) -> Any:
    if value is Default:
        raise left_out(name, i)
    return value


def cut(pair: Any, first: int, n: int) -> Any:
    """(y, pullback), of the cotangents only n from the first-th."""
    y, pullback = pair
    return y, lambda ybar: pullback(ybar)[first : first + n]


class _UnderCall:
    """The same for calls."""

    def __init__(self, by: Callable[..., Any], own: Callable[[], Any]) -> None:
        self.by, self.own = by, own

    def __call__(self, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        return self.by(functools.partial(recurse, ctx), args, kwargs)

    def own_entry(self) -> Entry | None:
        return entry_of(self.own())


class _Under:
    """What another context runs in place of a function that passes on: the program of the code."""

    def __init__(self, f: FunctionType, passing: _Passing) -> None:
        self.f, self.passing = f, passing
        self._own: Entry | None = None

    def __call__(self, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        captured = self.passing.taking(*map(contents, self.f.__closure__ or ()))
        if captured is None:
            return recurse(ctx, self.own_entry().function, *args, **kwargs)
        given = args
        if len(args) <= self.f.__code__.co_argcount:  # else those that the mode adds are among them
            bound = inspect.signature(self.f).bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.args
        y = recurse(ctx, self.passing.entry.function, *captured, *given)
        return cut(y, len(captured), len(given)) if self.passing.mode.split else y

    def own_entry(self) -> Entry:
        """What is differentiated once more knows the functions that it captured."""
        if self._own is None:
            of = self.passing
            self._own = Entry(Source(self.f), of.mode, of.context, of.again)
        return self._own
