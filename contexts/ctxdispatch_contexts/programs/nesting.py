"""Whether a function takes derivatives itself, or a function that it calls does, as far as names tell."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.programs.assigned import is_empty
from ctxdispatch_contexts.programs.derived import makes_derivatives

MAX_FUNCTIONS = 200


def takes_derivatives(f: FunctionType) -> bool:
    """Whether `grad` or its like can be reached from `f` by global names and captured variables."""
    seen: set[Any] = set()
    work: list[Any] = [f]
    while work and len(seen) < MAX_FUNCTIONS:
        function = work.pop()
        if makes_derivatives(function):
            return True
        if type(function) is FunctionType and function not in seen and not _of_library(function):
            seen.add(function)
            work += [_function(found) for found in _mentioned(function)]
    return False


def _of_library(function: FunctionType) -> bool:
    return str(function.__globals__.get("__name__")).partition(".")[0] in (
        "numpy",
        "scipy",
        "ctxdispatch_contexts",
    )


def _function(found: Any) -> Any:
    """The Python function that a callable comes down to."""
    while True:
        if type(found) is MethodType:
            found = found.__func__
        elif hasattr(type(found), "func"):  # a partial
            found = found.func
        else:
            return found if hashable(found) else None


def _mentioned(f: FunctionType) -> Iterator[Any]:
    """The objects that `f` captured, and those its code has global names for."""
    yield from (cell.cell_contents for cell in f.__closure__ or () if not is_empty(cell))
    for code in _codes(f.__code__):
        for name in code.co_names:
            found = f.__globals__.get(name)
            if issubclass(type(found), ModuleType):
                yield from (_attribute(found, attribute) for attribute in code.co_names)
            elif found is not None:
                yield found


def _attribute(module: ModuleType, name: str) -> Any:
    if module.__name__.startswith("ctxdispatch"):  # names are loaded when first asked for
        return getattr(module, name, None)
    return vars(module).get(name)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code and that of the functions made in it."""
    yield code
    for constant in code.co_consts:
        if type(constant) is CodeType:
            yield from _codes(constant)
