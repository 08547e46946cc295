"""Whether what a context watches with asks which frames there are, as far as names tell."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from ctxdispatch.dispatch.hooks import LOOKS_AROUND

FRAMES = LOOKS_AROUND - {"vars", "dir"} | {"where", "caller", "user_frame", "extract_stack", "format_stack"}
"""Names by which a function comes to the frames of its callers."""

HOOKS = ("prehook", "posthook", "fallback")
MAX_FUNCTIONS = 100


def looks_at_frames(cls: Any) -> bool:
    """The hooks of a context class, what its passes put into programs, or a function that these call."""
    return _looks(cls, cls._version)


@lru_cache(maxsize=256)
def _looks(cls: Any, version: int) -> bool:
    from ctxdispatch.dispatch.context import Context

    names = [n for n in (*HOOKS, "transform") if getattr(cls, n) is not getattr(Context, n)]
    work = [f for n in names if type(f := getattr(cls, n)) is FunctionType]
    if len(work) < len(names):
        return True  # of no Python function it is not known
    seen: set[Any] = set()
    while work and len(seen) < MAX_FUNCTIONS:
        f = work.pop()
        if f in seen:
            continue
        seen.add(f)
        mentioned = {name for code in _codes(f.__code__) for name in code.co_names}
        if not FRAMES.isdisjoint(mentioned):
            return True
        work += _called(cls, f, mentioned)
    return False


def _called(cls: Any, f: FunctionType, names: set[str]) -> Iterator[FunctionType]:
    for name in names:
        for found in (f.__globals__.get(name), getattr(cls, name, None)):
            if type(found) is FunctionType and not _of_engine(found):
                yield found


def _of_engine(f: FunctionType) -> bool:
    return (f.__module__ or "").startswith("ctxdispatch.")


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if type(constant) is CodeType:
            yield from _codes(constant)
