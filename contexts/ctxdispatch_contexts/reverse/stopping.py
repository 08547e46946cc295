"""What is taken for a constant: a value or parts of a tree (`stop_gradient`), a call or block (`no_grad`).

    stop_gradient(x)                       all of it
    stop_gradient(model, "encoder.w")      one part, by its path
    stop_gradient(model, {"b", "w.0"})     several
    stop_gradient(model, frozen)           those for which frozen(path, leaf) is true
    stop_gradient(model, {"w": True})      those that a tree of the same form, a mask, has True for

Parts are stopped leaf by leaf, by Python code that builds the containers anew: so every mode follows it as it
follows the user's, and `stopped` is all that any of them knows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ctxdispatch.facts import says
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.containers import rebuild, with_attributes
from ctxdispatch_contexts.programs.errors import DerivativeError, Refusing, user_position

Path = tuple[Any, ...]


@says(result="itself 0")
def stopped(x: Any) -> Any:
    """`x`, a constant."""
    return x


ZERO_BY_RULE.add(stopped)


def stop_gradient(x: Any, parts: Any = None) -> Any:
    """`x`, taken for a constant: its derivative is zero.

    With `parts`, these parts of `x` (tuples, lists, dicts, dataclasses and other objects, to any depth) are,
    and the result is another container of the same kind. `parts` is one of

        "encoder.w.0"     a path: keys, attributes, indices
        {"b", ("w", 0)}   a set of paths; a tuple where keys are no names
        f                 a predicate f(path, leaf), `path` a tuple
        mask              a tree of the form of `x` with True where it is stopped (True for all below it;
                          what a dict leaves out is not)

    Raises DerivativeError where `x` has no such part.
    """
    return stopped(x) if parts is None else _stopped_parts(x, parts)


def _stopped_parts(x: Any, parts: Any) -> Any:
    if callable(parts):
        return _where(x, parts, ())
    if isinstance(parts, (str, set, frozenset)):
        for path in [parts] if isinstance(parts, str) else parts:
            keys = path.split(".") if isinstance(path, str) else path
            x = _at(x, [*keys], path)
        return x
    return _masked(x, parts, ())


def _at(x: Any, keys: list[Any], path: Any) -> Any:
    """`x` with its part under `keys` stopped."""
    if not keys:
        return stopped(x)
    held = _entries(x)
    key = keys[0] if held is None or keys[0] in held else _number(keys[0])
    if held is None or key not in held:
        raise _no_part(path)
    return _with_entries(x, {**held, key: _at(held[key], keys[1:], path)})


def _where(x: Any, predicate: Callable[[Path, Any], Any], path: Path) -> Any:
    held = _entries(x)
    if held is None:
        return stopped(x) if predicate(path, x) else x
    return _with_entries(x, {key: _where(part, predicate, (*path, key)) for key, part in held.items()})


def _masked(x: Any, mask: Any, path: Path) -> Any:
    if mask is None or isinstance(mask, bool):
        return stopped(x) if mask else x
    held, wanted = _entries(x), _entries(mask)
    if wanted is None:
        raise _no_part(path)
    for key in wanted:
        if key not in (held or ()):
            raise _no_part((*path, key))
    held = held or {}
    parts = {k: _masked(part, wanted[k], (*path, k)) if k in wanted else part for k, part in held.items()}
    return _with_entries(x, parts)


def _number(key: Any) -> Any:
    """The index that a path has as text."""
    return int(key) if isinstance(key, str) and key.lstrip("-").isdigit() else key


def _no_part(path: Any) -> DerivativeError:
    named = path if isinstance(path, str) else ".".join(map(str, path))
    return DerivativeError(
        f"stop_gradient: there is no part {named!r} in what it was given; name one that is there by its "
        "keys, attributes and indices",
        user_position(),
    )


def _entries(x: Any) -> dict[Any, Any] | None:
    """The parts of a container, by key; None of a leaf."""
    if isinstance(x, dict):
        return dict(x)
    if isinstance(x, (list, tuple)):
        names = getattr(x, "_fields", range(len(x)))
        return dict(zip(names, x, strict=True))
    held = getattr(x, "__dict__", None)
    if held is None or callable(x) or not hasattr(type(x), "__weakref__"):
        return None
    return dict(held)


def _with_entries(x: Any, parts: dict[Any, Any]) -> Any:
    if isinstance(x, dict):
        made = copy.copy(x)
        for key, part in parts.items():
            made[key] = part
        return made
    if isinstance(x, (list, tuple)):
        return rebuild(x, [*parts.values()])
    return with_attributes(x, parts)


# -- calls and blocks ----------------------------------------------------------------------------------------


class no_grad:  # noqa: N801
    """What runs in it is no part of the derivative: a call, no_grad(f)(x), or a block, `with no_grad():`.

    What it computes, returns or stores into arrays is a constant, in every mode and of every order; it may
    call what has no derivative. (What a block only moves, as in `a = b`, stays what it is.) A program with a
    pause in it is recorded; of an `f` that stores nothing, stop_gradient(f(x)) says the same, and is
    compiled.
    """

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        pausing()
        assert self.function is not None, "no_grad() is for a with statement, no_grad(f) is called"
        return stopped(self.function(*args, **kwargs))

    def __enter__(self) -> no_grad:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass


class _Pausing(Refusing):
    """Where programs meet it they are not compiled."""

    __name__ = "pausing"

    def __call__(self) -> None:
        pass


pausing = _Pausing()
