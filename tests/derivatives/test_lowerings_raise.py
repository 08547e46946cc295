"""Where a function raises, what it is read as raises too: of operands too short, too long, of another rank or
empty, of axes and modes that there are not, of too few arguments."""

import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")

from subjects import subjects

from ctxdispatch_contexts.derivatives import table

NAMES = [name for name, s in subjects().items() if s.function is not None and table.lowering(s.function)]
UNTYPED = {"scipy.special.ive", "scipy.special.psi", "scipy.special.digamma"}
"""Read so for complex numbers alone."""


def spoiled(args, kwargs, owner):
    """(what is wrong, args, kwargs); the object whose method it is stays."""
    for i, a in enumerate(args[owner:], owner):
        for what, other in others(a):
            yield f"{what} at {i}", (*args[:i], other, *args[i + 1 :]), kwargs
    for name, a in kwargs.items():
        for what, other in others(a):
            yield f"{what} as {name}", args, {**kwargs, name: other}
    for name in {"axis", "ord", "mode", "method", "indexing"} - {*kwargs}:
        yield f"a {name}", args, {**kwargs, name: "nix"}
        yield f"a {name}", args, {**kwargs, name: 97}
    yield "one missing", args[:-1], kwargs


def others(a):
    if isinstance(a, np.ndarray) and a.ndim and a.shape[-1] > 1:
        yield "a shorter one", a[..., :-1]
        yield "fewer rows", a[:-1]
        yield "an empty one", a[..., :0]
        yield "its first", a[0]
        yield "a longer one", np.concatenate([a, a], axis=-1)
        yield "a stack", a[None]
    if type(a) is int:
        yield "half a one", a + 0.5
    if isinstance(a, np.ndarray):
        yield "zeros", np.zeros_like(a)
        yield "less than zeros", -np.abs(a)
    if type(a) in (int, float):
        yield "a large one", a + 97
        yield "a small one", a - 97
    if isinstance(a, tuple):
        yield "twice", a + a
        yield "large ones", (0, 97)
    if isinstance(a, str):
        yield "a text", "nix"


@pytest.mark.every(2)
@pytest.mark.parametrize("name", sorted({*NAMES} - UNTYPED))
def test_it_raises_where_the_function_does(name):
    function, silent = subjects()[name].function, []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for calls in subjects()[name].calls(2):
            for call in (c for c in calls if c.callee is function):
                owner = int(hasattr(function, "__objclass__"))
                for what, args, kwargs in spoiled(call.args, call.kwargs, owner):
                    lowering = table.lowering(function, tuple(kwargs))
                    if lowering and raised(function, args, kwargs) and not raised(lowering, args, kwargs):
                        silent.append((what, raised(function, args, kwargs)))
    assert not silent


def raised(f, args, kwargs):
    try:
        f(*args, **kwargs)
    except Exception as error:
        return error
