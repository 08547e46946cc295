"""The graphs that are executed, with what the executor asks about their shape. Kept as long as their code."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any

from ctxdispatch.bytecode.lift import lift, lift_generator
from ctxdispatch.ir.analysis import Loop, liveness, loops, postdominators
from ctxdispatch.ir.graph import Block, Graph, Iterate, Return
from ctxdispatch.ir.watching import tell_apart
from ctxdispatch.passes.generators import as_list


class Program:
    """A graph, with what is asked of its shape; `eager`: it stands for a generator expression."""

    def __init__(self, graph: Graph, eager: bool = False) -> None:
        self.graph, self.eager = graph, eager

    @cached_property
    def _postdominators(self) -> Any:
        return postdominators(self.graph)

    @cached_property
    def _forest(self) -> Any:
        return loops(self.graph)

    @cached_property
    def _live(self) -> Any:
        return liveness(self.graph).live_in

    def meeting(self, block: Block) -> Block | None:
        """Where all paths from `block` meet first; None: at the end."""
        found: Block | None = self._postdominators.idom.get(block)
        return found

    @cached_property
    def _returning(self) -> set[Block]:
        """The blocks from which the function may still return; from others it can only raise."""
        callers = self.graph.predecessors()
        found = {b for b in self.graph.blocks if isinstance(b.terminator, Return)}
        work = list(found)
        while work:
            for block, _ in callers[work.pop()]:
                if block not in found:
                    found.add(block)
                    work.append(block)
        return found

    def returns(self, block: Block) -> bool:
        return block in self._returning

    def loops_around(self, block: Block) -> list[Loop]:
        """The innermost first."""
        found, loop = [], self._forest.loop_of.get(block)
        while loop is not None:
            found.append(loop)
            loop = loop.parent
        return found

    def live(self, block: Block | None) -> list[Any]:
        """What is read at or after the start of `block`: of the end, the function's result."""
        return [None] if block is None else [*self._live[block], *block.params]

    def leaving(self, loop: Loop) -> Block | None:
        """Where all paths that leave the loop meet."""
        block: Block | None = loop.header
        while block is not None and block in loop.blocks:
            block = self.meeting(block)
        return block


def counted(loop: Loop) -> bool:
    """A `for` loop: as long as its iterator."""
    return isinstance(loop.header.terminator, Iterate)


class ByCode:
    """What is known of code objects, as long as they live. By identity: code that was rewritten may have no
    hash."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[weakref.ref[types.CodeType], Any]] = {}

    def get(self, code: types.CodeType) -> Any:
        return self._found.get(id(code), (None, None))[1]

    def put(self, code: types.CodeType, value: Any) -> None:
        key = id(code)
        self._found[key] = weakref.ref(code, lambda _: self._found.pop(key, None)), value


_programs = ByCode()


def program(function: types.FunctionType) -> Program:
    """Of a generator expression, the program that returns the list of its items. Raises UnsupportedSyntax."""
    code, namespace = function.__code__, function.__globals__
    found = _programs.get(code)
    if found is None or found[0] is not namespace:
        found = namespace, _program(function)
        _programs.put(code, found)
    return found[1]  # type: ignore[no-any-return]


def _program(function: types.FunctionType) -> Program:
    code = function.__code__
    if code.co_name == "<genexpr>":
        return Program(as_list(lift_generator(code, function.__globals__)), eager=True)
    graph = lift(function)
    tell_apart(graph)
    return Program(graph)


# -- binding arguments ---------------------------------------------------------------------------------------

_binders = ByCode()


def bound(function: types.FunctionType, args: Any, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The values of the function's parameters, in the order of `co_varnames`; TypeError as a call has it."""
    code = function.__code__
    if not kwargs and len(args) == code.co_argcount and not code.co_kwonlyargcount and not code.co_flags & 12:
        return tuple(args)
    if _binders.get(code) is None:
        _binders.put(code, _binder(code))
    made = types.FunctionType(_binders.get(code), {}, function.__name__, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    found: tuple[Any, ...] = made(*args, **kwargs)
    return found


def _binder(code: types.CodeType) -> types.CodeType:
    """def f(a, b, /, *args, c, **kwargs): return a, b, c, args, kwargs"""
    names = [f"_{i}" if not name.isidentifier() else name for i, name in enumerate(code.co_varnames)]
    total, only = code.co_argcount, code.co_kwonlyargcount
    positional, keywords = names[:total], names[total : total + only]
    rest = names[total + only :]
    star = rest.pop(0) if code.co_flags & 4 else None
    stars = rest.pop(0) if code.co_flags & 8 else None
    parts = positional[: code.co_posonlyargcount] + ["/"] * bool(code.co_posonlyargcount)
    parts += positional[code.co_posonlyargcount :]
    parts += [f"*{star}"] if star else ["*"] * bool(keywords)
    parts += keywords + ([f"**{stars}"] if stars else [])
    results = [*positional, *keywords, *filter(None, (star, stars))]
    scope: dict[str, Callable[..., Any]] = {}
    exec(f"def f({', '.join(parts)}): return ({''.join(r + ', ' for r in results)})", {}, scope)
    made: types.CodeType = scope["f"].__code__
    return made.replace(co_name=code.co_name, co_qualname=code.co_qualname)


__all__ = ["Program", "bound", "counted", "program"]
