"""What a context class does in the programs that it runs: made of the class, once per version of it."""

from __future__ import annotations

import builtins
import operator
from types import FunctionType
from typing import Any, NamedTuple

from ctxdispatch.dispatch import rules
from ctxdispatch.dispatch.checks import check_intercepts
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.hooks import Reads, hook, overrides, reads
from ctxdispatch.dispatch.instructions import PATTERNS
from ctxdispatch.dispatch.protocols import BY_IDENTITY
from ctxdispatch.facts import ATTRIBUTES, BINARY, COMPARISONS, IDENTITY, INPLACE, ITEMS, SIGNS
from ctxdispatch.ir import primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

# -- what can be intercepted -----------------------------------------------------------------------

CALL = "call"
KINDS: dict[str, frozenset[Any]] = {
    CALL: frozenset(),
    "operator": frozenset({*BINARY, *INPLACE, *SIGNS}),
    "compare": frozenset({*COMPARISONS, *IDENTITY, operator.contains, primitives.not_contains}),
    "item": frozenset(ITEMS),
    "attribute": frozenset(ATTRIBUTES),
    "iterate": frozenset({builtins.iter, primitives.delegated}),
    "truth": frozenset({builtins.bool, operator.not_, operator.truth}),
    "display": frozenset({
        primitives.build_tuple, primitives.build_list, primitives.build_set, primitives.build_map,
        primitives.list_append, primitives.set_add, primitives.map_add, primitives.list_extend,
        primitives.set_update, primitives.dict_update, primitives.dict_merge, primitives.list_to_tuple,
        builtins.slice,
    }),
    "format": frozenset({
        primitives.format_value, primitives.build_string, builtins.str, builtins.repr, builtins.ascii,
    }),
    "unpack": frozenset({primitives.unpack, primitives.unpack_ex}),
    "with": frozenset({primitives.enter, primitives.enter_async}),
    "global": frozenset({primitives.load_global, primitives.store_global, primitives.delete_global}),
    "import": frozenset({primitives.import_name, primitives.import_from}),
}  # fmt: skip
"""The kinds of operation, for `Context.intercepts`. "call" is every call that is written as one."""

HOOKED = ("call", "operator", "compare", "item", "attribute", "iterate", "with")
"""What a class with hooks intercepts unless it says otherwise."""


class Plan(NamedTuple):
    """What a class does in the programs that it runs."""

    hooked: bool
    """`prehook`, `posthook` or `fallback` is overridden."""
    prehook: FunctionType | None
    posthook: FunctionType | None
    """What programs call before and after each dispatched call; None where the inherited one does nothing."""
    hooks_read: Reads
    """What one of them looks at."""
    fallback: bool
    """`fallback` is overridden."""
    calls: bool
    hooked_syntax: frozenset[Any]
    syntax: frozenset[Any]
    """What is dispatched: without hooks and rules, what may run Python code."""
    transforms: bool
    """`transform` is overridden."""
    rules_on_calls: bool
    ruled: frozenset[Any]
    """Syntax that has a rule."""
    direct: dict[Any, Any]
    """Syntax whose rule is known without the arguments: its function."""
    callees: frozenset[int]
    """The ids of all that has a rule."""

    @property
    def active(self) -> bool:
        return self.calls or bool(self.syntax) or self.transforms

    def rules_or_hooks(self, operation: Any) -> bool:
        """Whether the interpreter's own operation is not all there is to `operation`."""
        return operation in self.ruled or operation in self.hooked_syntax

    def replaces(self, operation: Any) -> bool:
        """Whether something else may run in place of the interpreter's own operation."""
        return operation in self.ruled or (self.fallback and operation in self.hooked_syntax)

    def hooks(self, f: Any) -> bool:
        """Whether hooks run around f(...) in rewritten code."""
        return self.hooked and (id(f) not in _SYNTAX or f in self.hooked_syntax)


_OPERATIONS = (*frozenset().union(*KINDS.values()), *vars(primitives).values(), *PATTERNS.values())
_SYNTAX = {id(f): f for f in _OPERATIONS}
"""By id: callees need not be hashable."""


def is_syntax(f: Any) -> bool:
    """Whether the source spells calls of `f` in another way."""
    return id(f) in _SYNTAX


def plan(cls: type[Context]) -> Plan:
    version, known = cls._plan
    if version != cls._version:
        version = cls._version
        known = _make_plan(cls)
        type.__setattr__(cls, "_plan", (version, known))
    return known  # type: ignore[no-any-return]


def _make_plan(cls: type[Context]) -> Plan:
    if cls.intercepts is not None:
        check_intercepts(cls)
    prehook, posthook = hook(cls, "prehook"), hook(cls, "posthook")
    fallback = overrides(cls, "fallback")
    hooks_read = reads(prehook, 1) | reads(posthook, 2)
    hooked = fallback or prehook is not None or posthook is not None
    declared = cls.intercepts if cls.intercepts is not None else HOOKED if hooked else ()
    kinds = frozenset(k for k in declared if isinstance(k, str))
    asked = frozenset().union(*(KINDS[k] for k in kinds), (f for f in declared if not isinstance(f, str)))
    ruled = _ruled(cls)
    on_calls = fallback or not all(map(is_syntax, rules.callees(cls)))
    calls = CALL in kinds or next(rules.callees(cls), None) is not None
    hooked_syntax = asked if hooked else frozenset()
    direct = _direct(cls, ruled) if prehook is None and posthook is None else {}
    transforms = overrides(cls, "transform")
    syntax = asked if hooked else frozenset(f for f in asked if id(f) in BY_IDENTITY)
    callees = frozenset(map(id, rules.callees(cls)))
    return Plan(
        hooked, prehook, posthook, hooks_read, fallback, calls, hooked_syntax, syntax | ruled, transforms,
        on_calls, ruled, direct, callees,
    )  # fmt: skip


def _direct(cls: type[Context], ruled: frozenset[Any]) -> dict[Any, Any]:
    found = {f: rules.sets(cls, f) for f in ruled}
    return {f: sets[0].default for f, sets in found.items() if sets and not sets[0].typed}


def _ruled(cls: type[Context]) -> frozenset[Any]:
    """What is syntax and has a rule; a rule for `+` is one for `+=` too."""
    ruled = frozenset(f for f in rules.callees(cls) if id(f) in _SYNTAX)
    return ruled | {by for by, plain in _BY_OTHERS.items() if plain in ruled}


_BY_OTHERS = {**INPLACE, primitives.delegated: builtins.iter}
"""Syntax that does what other syntax does, and something of its own."""
