"""`ADContext`: reverse mode as a context. `overdub(ADContext(), f, *args)` is (f(*args), pullback)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from ctxdispatch.dispatch import Context, overdub, rules
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.derivatives.table import is_of_contexts
from ctxdispatch_contexts.programs.activity import has_derivative
from ctxdispatch_contexts.programs.entry_table import entry_function, is_direct
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.owned import for_code
from ctxdispatch_contexts.programs.stacked import split, stacked_function
from ctxdispatch_contexts.reverse import calling, symmetric
from ctxdispatch_contexts.reverse.calling import call_any
from ctxdispatch_contexts.reverse.containers import REVERSED
from ctxdispatch_contexts.reverse.program import ReverseMode


class ADContext(Context):
    """Reverse-mode automatic differentiation (Innes 2018).

    `overdub(ADContext(), f, *args)` returns `(y, pullback)`: `pullback(ybar)` is a tuple with one cotangent
    per positional argument. With `argnums` (an int or a tuple of them) only these arguments get one, and only
    what they need is computed.

    A rule of this class, `@ADContext.rule(f)` or `@ADContext.rule(f, type, ...)`, is called as rule(ctx,
    *args, **kwargs) and returns (y, pullback) for f; the pullback gives one cotangent per positional
    argument, and then, if keyword arguments have a derivative, one per keyword argument.

    Chains of elementwise operations on large arrays are fused into kernels where the extra `jit` is
    installed; not with `fuse=False`.
    """

    argnums: int | tuple[int, ...] | None = None
    fuse: bool = True

    def program(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        if f is overdub:
            first, rest = split(args)
            return _stacked(type(self), first, self.argnums, len(rest), tuple(kwargs))
        context, what = type(self), (self.argnums, self.fuse, len(args), tuple(kwargs))
        if type(f) is not FunctionType:
            return _program(context, f, *what)
        return for_code(f, (context, context._version, *what), lambda: _program(context, f, *what))

    @classmethod
    def ad_has_rule(cls, callee: Any) -> bool:
        """Calls of `callee` are not looked into."""
        if not hashable(callee):
            return False
        return cls.has_rules(callee) or callee in REVERSED or has_derivative(callee)

    @classmethod
    def ad_ruled(cls, callee: Any) -> bool:
        """The user has given `callee` a rule."""
        return cls.has_rules(callee)

    @classmethod
    def ad_opens(cls, entry: Any, program: Any) -> bool:
        """Whether the program that an entry has generated is swept where it is called."""
        any_rules = any(not is_of_contexts(sets[0].callee) for sets in rules.table(cls).values())

        def by_rule(fn: Any) -> bool:
            return calling.is_by_rule(fn) or (any_rules and calling.may_reach_a_rule(fn))

        return symmetric.opens(entry, program, by_rule)

    @classmethod
    def ad_entries(
        cls, callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...], wrt: tuple[int, ...] | None
    ) -> Any:
        """What differentiates calls of `callee` at run time, see `calls.py`."""
        if callee is None:
            return calling.dynamic(cls, kwnames)
        return calling.static(cls, callee, template, kwnames, wrt)


def _program(
    context: type[ADContext], f: Any, argnums: Any, fuse: bool, n: int, kwnames: tuple[str, ...]
) -> Callable[..., Any]:
    wrt = (argnums,) if isinstance(argnums, int) else argnums
    if wrt is not None:
        wrt = checked_indices(wrt, n, getattr(f, "__qualname__", type(f).__name__))
    if wrt is None and kwnames:
        wrt = tuple(range(n))
    return entry_function(f, ReverseMode(wrt=wrt, checked=True, fuse=fuse), context, n, kwnames)


def _stacked(
    context: type[ADContext], first: tuple[Any, ...], argnums: Any, n: int, kwnames: tuple[str, ...]
) -> Callable[..., Any]:
    """overdub(*first, *n arguments). What is in `first` has no cotangents."""
    k = len(first)
    wrt = tuple(range(n))
    if argnums is not None:
        given = (argnums,) if isinstance(argnums, int) else argnums
        wrt = tuple([i - k for i in checked_indices(given, k + n, "overdub")])
    function = stacked_function(context, first, n, kwnames, ReverseMode(wrt=wrt, checked=True))

    def run(*args: Any, **kwargs: Any) -> Any:
        y, pullback = function(*args[k:], *[kwargs[name] for name in kwnames])
        return y, pullback if argnums is not None else lambda ybar: (None,) * k + pullback(ybar)

    return run


def checked_indices(indices: Iterable[int], n: int, name: str) -> tuple[int, ...]:
    """Indices of n positional arguments; negative ones count from the end. DerivativeError where there is no
    such argument."""
    indices = tuple(indices)
    for i in indices:
        if not hasattr(type(i), "__index__"):
            raise DerivativeError(
                f"argnums is the index of a positional argument or a sequence of indices, and {i!r} "
                "is none; write argnums=0 or argnums=(0, 1)",
                user_position(),
            )
        if not n:
            raise DerivativeError(
                f"{name} has no positional arguments to differentiate with respect to; make "
                "parameters of it positional",
                user_position(),
            )
        if not -n <= i < n:
            raise DerivativeError(
                f"argnums {i} is out of range: {name} has {n} positional arguments; give an index from 0 to "
                f"{n - 1}",
                user_position(),
            )
    return tuple([i % n for i in indices])


__all__ = ["ADContext", "call_any", "entry_function", "is_direct"]
