"""What C code runs of the user's for its own ends, as it makes classes and texts: refused where that may
store, and is given what depends on the inputs."""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import of_class
from ctxdispatch_contexts.programs.reading import hooks, may_store
from ctxdispatch_contexts.sparsity.calls import ENGINE
from ctxdispatch_contexts.sparsity.errors import described
from ctxdispatch_contexts.sparsity.iterables import PYTHON
from ctxdispatch_contexts.sparsity.values import Array

Args = list[Any]
Kwargs = dict[str, Any]


@PYTHON.of(type.__new__)
def class_made(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """type(name, bases, namespace), type.__new__(..)"""
    found = hooks(tuple(args)) if run.touched(args, kwargs) else []
    if found:
        _refuse_methods(run, "making a class", found[0])
    return f(*args, **kwargs)


@PYTHON.of(builtins.__build_class__)
def class_built(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """A class statement: what its keywords give runs in C, and is not sampled."""
    return run.born(f(*args, **kwargs)) if run.touched(kwargs) else run.native(f, args, kwargs)


@PYTHON.of(type.__call__)
def instance_made(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """type.__call__(cls, ..), as the `__call__` of a metaclass calls it."""
    made = of_class(ENGINE, run, args[0]) if args and issubclass(type(args[0]), type) else None
    return run.native(f, args, kwargs) if made is None else run.born(made(*args[1:], **kwargs))


def _refuse_methods(run: Any, what: str, cls: type) -> None:
    run.refuse(
        f"{what} runs a special method of the class {cls.__name__}, which may store values that depend on "
        "the inputs, where that is not followed; have the method store nothing, or call it beforehand and "
        "give what it returns"
    )


def is_shown(run: Any, f: Any, args: Args, kwargs: Kwargs) -> bool:
    """What depends on the inputs is made text, by methods that store nothing."""
    touched = bool(run.touched(args, kwargs))
    acting = [type(v) for v in run.reachable(args, kwargs) if may_store(type(v))] if touched else []
    if acting:
        _refuse_methods(run, described(f), acting[0])
    return touched


@PYTHON.of(np.from_dlpack)
def from_dlpack(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Of an array, a view."""
    if isinstance(args[0], (Array, np.ndarray)) and len(args) == 1 and not kwargs:
        return run.call(operator.getitem, [args[0], ...], {})
    return run.native(f, args, kwargs)
