"""Rules: what a context class runs in place of a callee.

    find(cls, callee, types)    the function, from the first class of the MRO that has one for those types

Invariants:
  * a callee is the function itself: a bound method means the function (or C descriptor) it binds, see
    `canonical`;
  * every change to a class (a rule, a hook) gives it and its subclasses a new `_version`, so a cache that
    keeps the version beside what it stores is never stale;
  * several rules that match, none of them the most specific, are an error that names them.
"""

from __future__ import annotations

import inspect
import itertools
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from ctxdispatch.facts.binding import canonical
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

Rule = Callable[..., Any]
Types = tuple[type, ...]


class AmbiguousRule(TypeError):
    """Two rules match the argument types and neither is more specific."""


# -- the rules of one class for one callee ---------------------------------------------------------


class RuleSet:
    """`default` is the rule for any types. `closed`: the rules of its class's bases are not asked."""

    def __init__(self, callee: Any) -> None:
        self.callee = callee  # also keeps the id, under which the set is found, from being reused
        self.default: Rule | None = None
        self.closed = False
        self._typed: Any = None

    @property
    def typed(self) -> bool:
        return self._typed is not None

    @property
    def empty(self) -> bool:
        return self.default is None and not self.typed

    def add(self, types_: Types, rule: Rule) -> None:
        if not types_:
            self.default = rule
            return
        if self._typed is None:
            self._typed = _dispatcher(self.callee)
        self._typed.add(types_, rule)
        self._typed.reorder(on_ambiguity=_later)

    def find(self, types_: Types) -> Rule | None:
        rule: Rule | None = None
        if self._typed is not None:
            rule = self._typed.dispatch(*types_)
            if rule is not None:
                self._check(types_, rule)
        return self.default if rule is None else rule

    def _check(self, types_: Types, chosen: Rule) -> None:
        """Ambiguity is an error when a call meets it: a rule added later may resolve it."""
        from multipledispatch.conflict import supercedes

        signatures: dict[Types, Rule] = self._typed.funcs
        matching = [s for s in signatures if supercedes(types_, s)]
        best = [s for s in matching if signatures[s] is chosen]
        for other in matching:
            if not any(supercedes(s, other) for s in best):
                raise AmbiguousRule(_ambiguity(self.callee, types_, chosen, signatures[other]))


def _dispatcher(callee: Any) -> Any:
    from multipledispatch import Dispatcher  # only rules on types need it

    return Dispatcher(name_of(callee))


def _later(dispatcher: Any, ambiguities: Any) -> None:
    """`multipledispatch` would warn at the definition; `RuleSet.find` raises at the call."""


def _ambiguity(callee: Any, types_: Types, *rules: Rule) -> str:
    called = f"{name_of(callee)}({', '.join(t.__name__ for t in types_)})"
    named = " and ".join(f"{name_of(r)} ({_place(r)})" for r in rules)
    return f"{called}: the rules {named} both match; add one for exactly these types"


def _place(rule: Rule) -> str:
    code = getattr(inspect.unwrap(rule), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else "no source"


def name_of(f: Any) -> str:
    module = getattr(f, "__module__", None)
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or repr(f)
    return name if module in (None, "builtins", "__main__") else f"{module}.{name}"


# -- the rules of a class --------------------------------------------------------------------------

_numbers = itertools.count(1)
_stamps = deque([0], maxlen=1)
"""The newest version of any class."""
_subscribers: list[weakref.ReferenceType[Callable[..., Any]]] = []
_MISSING: Any = object()


class Registered(type):
    """The metaclass of contexts: a class's own rules, its version, and what was found already."""

    _rules: dict[int, RuleSet]
    _version: int
    _asked: int
    _found: dict[tuple[int, Types], Rule | None]
    _table: tuple[int, dict[int, tuple[RuleSet, ...]]]
    _plan: tuple[int, Any]
    _memories: dict[int, weakref.ReferenceType[Any]]

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, namespace, **options)
        _set(cls, "_rules", {})
        _set(cls, "_memories", {})
        _renew(cls, next(_numbers))  # no change of what there was before: `version` stays

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        _hook_changed(cls, name)

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        _hook_changed(cls, name)


def _hook_changed(cls: Registered, name: str) -> None:
    if not name.startswith("_"):  # not what `dataclass` sets
        changed(cls, name)


_set = type.__setattr__


def _renew(cls: Registered, version: int) -> None:
    """`_version` comes last: who reads a new version finds nothing of the old one."""
    _set(cls, "_found", {})
    _set(cls, "_table", (0, {}))
    _set(cls, "_asked", 0)
    _set(cls, "_plan", (0, None))
    _set(cls, "_version", version)


def version() -> int:
    """Grows with every change to any context class there was."""
    return _stamps[-1]


def _family(cls: Registered) -> Iterator[Registered]:
    yield cls
    subclasses: Any = type.__subclasses__(cls)
    for sub in subclasses:
        yield from _family(sub)


def changed(cls: Registered, what: Any) -> None:
    """New versions for `cls` and its subclasses; subscribers are called with the class and the callee."""
    for each in _family(cls):
        number = next(_numbers)
        _renew(each, number)
        _stamps.append(number)
        for memory in [reference() for reference in [*each._memories.values()]]:
            if memory is not None:
                memory.forget()
    for reference in tuple(_subscribers):
        callback = reference()
        if callback is not None:
            callback(cls, what)


def forgets(cls: Registered, memory: Any) -> None:
    """Call `memory.forget()` after every change to `cls`, while it lives."""
    known, key = cls._memories, id(memory)
    known[key] = weakref.ref(memory, lambda _: known.pop(key, None))


def subscribe(callback: Callable[[type, Any], Any]) -> None:
    """Call `callback(cls, callee)` after every change to a context class, while the callback lives."""
    make: Any = weakref.WeakMethod if type(callback) is types.MethodType else weakref.ref
    _subscribers.append(make(callback, _subscribers.remove))


def add(cls: Registered, callee: Any, types_: Types, rule: Rule) -> None:
    callee, _ = canonical(callee)
    own = cls._rules.get(id(callee)) or RuleSet(callee)
    own.add(types_, rule)
    cls._rules[id(callee)] = own
    changed(cls, callee)


def remove(cls: Registered, callee: Any) -> None:
    """`cls` has no rule for `callee` any more, inherited ones included. KeyError where there was none."""
    callee, _ = canonical(callee)
    if not sets(cls, callee):
        raise KeyError(f"{cls.__name__} has no rule for {name_of(callee)}")
    closed = cls._rules[id(callee)] = RuleSet(callee)
    closed.closed = True
    changed(cls, callee)


def table(cls: Registered) -> dict[int, tuple[RuleSet, ...]]:
    """By the id of the callee: its rule sets along the MRO, nearest class first, empty ones left out."""
    version, known = cls._table
    if version != cls._version:
        version = cls._version  # before the rules are read: what is made of old ones must not pass for new
        known = _along_mro(cls)
        _set(cls, "_table", (version, known))
    return known


def _along_mro(cls: Registered) -> dict[int, tuple[RuleSet, ...]]:
    keys = {key: None for base in reversed(cls.__mro__) for key in base.__dict__.get("_rules", ())}
    return {key: found for key in keys if (found := _sets_of(cls, key))}


def _sets_of(cls: Registered, key: int) -> tuple[RuleSet, ...]:
    found: tuple[tuple[type, RuleSet], ...] = ()
    for base in reversed(cls.__mro__):
        own = base.__dict__.get("_rules", {}).get(key)
        if own is None:
            continue
        if own.closed:  # to the rules of its own bases, not to those that others of `cls` have
            found = tuple([each for each in found if each[0] not in base.__mro__])
        if not own.empty:
            found = ((base, own), *found)
    return tuple([own for _, own in found])


def sets(cls: Registered, callee: Any) -> tuple[RuleSet, ...]:
    """The rule sets for `callee` (canonical)."""
    version, known = cls._table
    if version != cls._version:
        if cls._asked != cls._version:  # who registers asks of each: no table for one question
            _set(cls, "_asked", cls._version)
            return _sets_of(cls, id(callee))
        known = table(cls)
    return known.get(id(callee), ())


def find(cls: Registered, callee: Any, types_: Types) -> Rule | None:
    """The rule of `cls` for `callee` (canonical) called with positional arguments of `types_`."""
    # Before the sets: after a change meanwhile the answer goes into a dict that nobody reads any more.
    known = cls._found
    candidates = sets(cls, callee)
    if not candidates:
        return None
    rule: Rule | None = known.get((id(callee), types_), _MISSING)
    if rule is _MISSING:
        rule = known[id(callee), types_] = next(filter(None, (s.find(types_) for s in candidates)), None)
    return rule


def callees(cls: Registered) -> Iterator[Any]:
    """Everything that `cls` has a rule for."""
    return (sets[0].callee for sets in table(cls).values())
