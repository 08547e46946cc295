"""What the patterns of a `match` statement ask (PEP 634), as functions. `len(subject)` is the builtin."""

from __future__ import annotations

from typing import Any

SEQUENCE, MAPPING = 1 << 5, 1 << 6  # Py_TPFLAGS_SEQUENCE and Py_TPFLAGS_MAPPING

WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Builtins whose only positional sub-pattern is the subject itself."""

_missing = object()


def match_sequence(subject: Any) -> bool:
    return bool(type(subject).__flags__ & SEQUENCE)


def match_mapping(subject: Any) -> bool:
    return bool(type(subject).__flags__ & MAPPING)


def match_keys(subject: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The values of `keys`, or None where one is missing."""
    for n, key in enumerate(keys):
        if key in keys[:n]:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
    values = tuple(subject.get(key, _missing) for key in keys)
    return None if any(value is _missing for value in values) else values


def match_class(subject: Any, cls: type, n: int, names: tuple[str, ...]) -> tuple[Any, ...] | None:
    """The n positional attributes and those named, or None where `subject` is no `cls` or lacks one."""
    if not issubclass(type(cls), type):
        raise TypeError("called match pattern must be a class")
    if not isinstance(subject, cls):
        return None
    try:
        return tuple(_attributes(subject, cls, n, names))
    except _NoMatch:
        return None


class _NoMatch(Exception):
    pass


def _attributes(subject: Any, cls: type, n: int, names: tuple[str, ...]) -> list[Any]:
    seen: set[str] = set()
    if n and not hasattr(cls, "__match_args__") and _is_whole(cls):
        _check_count(cls, n, 1)
        return [subject, *(_attribute(subject, cls, name, seen) for name in names)]
    positional = _match_args(cls, n) if n else ()
    return [_attribute(subject, cls, name, seen) for name in (*positional, *names)]


def _is_whole(cls: type) -> bool:
    return any(base in cls.__mro__ for base in WHOLE)


def _match_args(cls: type, n: int) -> tuple[str, ...]:
    allowed = getattr(cls, "__match_args__", ())
    if not isinstance(allowed, tuple):
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(allowed).__name__})")
    _check_count(cls, n, len(allowed))
    for name in allowed[:n]:
        if not isinstance(name, str):
            raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
    return allowed[:n]


def _check_count(cls: type, n: int, allowed: int) -> None:
    if n > allowed:
        plural = "" if allowed == 1 else "s"
        raise TypeError(f"{cls.__name__}() accepts {allowed} positional sub-pattern{plural} ({n} given)")


def _attribute(subject: Any, cls: type, name: str, seen: set[str]) -> Any:
    if name in seen:
        raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
    seen.add(name)
    try:
        return getattr(subject, name)
    except AttributeError:
        raise _NoMatch from None
