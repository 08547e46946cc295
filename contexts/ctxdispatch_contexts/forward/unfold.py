"""What is behind a callable: a function, and where each of its arguments is.

    obj.method(x)            Class.method(obj, x)         (callee).__self__, argument 0
    partial(f, a, k=b)(x)    f(a, x, k=b)                 (callee).args[0], argument 0, (callee).keywords["k"]
    closure(x)               code(captured, x, default)   (callee).cells[0], argument 0, (callee).defaults[0]

A place is a path from the callee or an argument; it is the same in the value and in its tangent
(`places.py`).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from ctxdispatch.bytecode.original import is_generated
from ctxdispatch.ir.wrappers import called
from ctxdispatch_contexts.forward.places import Path, Step
from ctxdispatch_contexts.programs.closures import bind_defaults
from ctxdispatch_contexts.programs.entry_table import BUILTIN_METHODS, function_of_class
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.lifting import made_at_run_time
from ctxdispatch_contexts.programs.primitive import Primitive


@dataclass(frozen=True)
class Unfolded:
    """`function` takes what is at `paths`, the last of them by the names `kwnames`. `captured`: so many of
    the first are what it captured, None where it is a function that stays. `bound`: no argument is left to
    its default. `generated`: a function of a program."""

    function: Any
    paths: tuple[Path, ...]
    kwnames: tuple[str, ...]
    captured: int | None = None
    bound: bool = False
    generated: bool = False


def unfold(has_rule: Callable[[Any], bool], callee: Any, n: int, kwnames: tuple[str, ...]) -> Unfolded:
    """What callee(*n arguments, the last by these names) comes down to."""
    paths: tuple[Path, ...] = tuple([(i + 1, ()) for i in range(n)])
    at: tuple[Step, ...] = ()
    while True:
        first, keywords, step, function = _open(has_rule, callee)
        if function is None:
            break
        more = tuple([name for name in keywords if name not in kwnames])
        paths = (
            *((0, (*at, s)) for s in first), *paths, *((0, (*at, ("keywords", name))) for name in more),
        )  # fmt: skip
        kwnames, callee, at = (*kwnames, *more), function, (*at, step)
    if made_at_run_time(callee):
        return _closure(callee, at, paths, kwnames)
    return Unfolded(callee, paths, kwnames)


def _open(
    has_rule: Callable[[Any], bool], callee: Any
) -> tuple[tuple[Step, ...], tuple[str, ...], Step, Any]:
    """One step: the arguments that are bound to the callee, the names of those bound by keyword, the step to
    the function, and the function; None where there is no more."""
    if type(callee) is types.MethodType:
        return (("self", None),), (), ("code", None), callee.__func__
    if type(callee) in BUILTIN_METHODS and not has_rule(callee) and function_of_class(callee) is not None:
        return (("self", None),), (), ("code", None), function_of_class(callee)
    if type(callee) is functools.partial:
        first = tuple([("args", i) for i in range(len(callee.args))])
        return first, tuple(callee.keywords), ("func", None), callee.func
    call = None if isinstance(callee, Primitive) else called(type(callee))
    if call is not None and not issubclass(type(callee), type):
        return (("code", None),), (), ("none", None), call
    return (), (), ("none", None), None


def _closure(
    f: FunctionType, at: tuple[Step, ...], paths: tuple[Path, ...], kwnames: tuple[str, ...]
) -> Unfolded:
    """What the function captured goes first, its defaults where they are missing."""
    generated = is_generated(f.__code__)
    free = () if generated else f.__code__.co_freevars
    captured = tuple([(0, (*at, ("cells", named))) for named in enumerate(free)])
    places = bind_defaults(f, tuple(range(len(paths))), kwnames)
    if places is None:
        return Unfolded(f, (*captured, *paths), kwnames, len(free), False, generated)
    full = _with_defaults(f, at, paths, places[2], len(places[0]))
    return Unfolded(f, (*captured, *full), places[1], len(free), True, generated)


def _with_defaults(
    f: FunctionType, at: tuple[Step, ...], paths: tuple[Path, ...], places: tuple[int, ...], n: int
) -> tuple[Path, ...]:
    """The place of every parameter's value: an argument's, or a default's."""
    count, defaults = f.__code__.co_argcount, f.__defaults__ or ()
    found: list[Path | None] = [None] * n
    for i in range(len(defaults)):
        found[count - len(defaults) + i] = (0, (*at, ("defaults", i)))
    for name in f.__kwdefaults__ or ():
        found[f.__code__.co_varnames.index(name)] = (0, (*at, ("kwdefaults", name)))
    for place, path in zip(places, paths, strict=True):
        found[place] = path
    return tuple([path for path in found if path is not None])


def refuse_defaults(f: FunctionType) -> DerivativeError:
    return DerivativeError(
        f"{f.__qualname__} has star parameters and defaults that vary; pass what varies as arguments",
        user_position(),
    )
