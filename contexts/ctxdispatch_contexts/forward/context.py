"""`DualContext`: forward mode as a context. `overdub(DualContext(), f, Dual(x, dx))` is Dual(y, dy)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ctxdispatch.dispatch import Context, overdub
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.derivatives.table import is_of_contexts
from ctxdispatch_contexts.forward import calling, user_rules
from ctxdispatch_contexts.forward.containers import MIRRORED
from ctxdispatch_contexts.forward.dual import Dual
from ctxdispatch_contexts.forward.entries import forward_function
from ctxdispatch_contexts.forward.program import ForwardMode
from ctxdispatch_contexts.forward.trees import check_tangent, is_block, length_of
from ctxdispatch_contexts.programs.activity import has_derivative
from ctxdispatch_contexts.programs.stacked import split, stacked_function
from ctxdispatch_contexts.reverse import ADContext


class DualContext(Context):
    """Forward-mode automatic differentiation with any number of tangents at once.

    `overdub(DualContext(), f, *args)` returns `Dual(y, dy)`. Arguments that vary are given as `Dual(x, dx)`:
    dx has the shape and dtype of x, or one axis more, the first, for a block of tangents. dy has the shape
    and dtype of y accordingly.

    A rule of this class, `@DualContext.rule(f)` or `@DualContext.rule(f, type, ...)`, is called as rule(ctx,
    *args, **kwargs) with Duals for what varies, and returns a Dual. Where there is none, a rule of
    `ADContext` (`custom_rule`) is transposed.
    """

    def program(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        if f is overdub:
            return functools.partial(_run_stacked, type(self))
        return functools.partial(_run, functools.partial(forward_function, type(self), f))

    @classmethod
    def ad_has_rule(cls, callee: Any) -> bool:
        """Calls of `callee` are not looked into."""
        if not hashable(callee):
            return False
        return cls.ad_ruled(callee) or callee in MIRRORED or has_derivative(callee)

    @classmethod
    def ad_version(cls) -> tuple[int, int]:
        """It is another one when there are other rules."""
        return cls._version, ADContext._version

    @classmethod
    def ad_ruled(cls, callee: Any) -> bool:
        """The user has given `callee` a rule. (The bundled ones, such as checkpoint's, are for sweeps.)"""
        return bool(cls.has_rules(callee) or (ADContext.has_rules(callee) and not is_of_contexts(callee)))

    @classmethod
    def ad_entries_for(cls, block: bool) -> Any:
        """What differentiates calls at run time; `block`: along several directions at once."""
        return functools.partial(calling.entry_for, cls, block)

    ad_entries: Any = None

    @classmethod
    def by_rule(
        cls,
        callee: Any,
        args: tuple[Any, ...],
        tangents: tuple[Any, ...],
        kwnames: tuple[str, ...],
        k: int | None,
    ) -> tuple[Any, Any]:
        """(y, dy) by the user's rule for `callee`."""
        classes = tuple(map(type, args[: len(args) - len(kwnames)]))
        rule = cls.find_rule(callee, classes) if cls.has_rules(callee) else None
        if rule is not None:
            return user_rules.by_dual_rule(rule, cls, args, tangents, kwnames)
        rule = ADContext.find_rule(callee, classes) if ADContext.has_rules(callee) else None
        if rule is not None:
            return user_rules.by_ad_rule(rule, callee, args, tangents, kwnames, k)
        return calling.call_any(unruled(cls, callee), callee, None, args, tangents, kwnames, k)


class Unruled:
    """A context without its rules for one callee: what a call means for which none of them is."""

    def __init__(self, context: type[DualContext], callee: Any) -> None:
        self.context, self.callee = context, callee

    def ad_has_rule(self, callee: Any) -> bool:
        return callee is not self.callee and self.context.ad_has_rule(callee)

    def ad_ruled(self, callee: Any) -> bool:
        return callee is not self.callee and self.context.ad_ruled(callee)

    def ad_entries_for(self, block: bool) -> Any:
        return self.context.ad_entries_for(block)

    def has_rules(self, callee: Any) -> bool:
        return callee is not self.callee and bool(self.context.has_rules(callee))


@functools.lru_cache(maxsize=256)
def unruled(context: type[DualContext], callee: Any) -> Unruled:
    return Unruled(context, callee)


Make = Callable[[int, tuple[str, ...], tuple[int, ...], bool], Callable[..., Any]]


def _run(make: Make, *args: Any, **kwargs: Any) -> Dual:
    every = [*args, *kwargs.values()]
    wrt = tuple([i for i, a in enumerate(every) if isinstance(a, Dual)])
    values = [a.value if isinstance(a, Dual) else a for a in every]
    block = any(is_block(every[i].value, every[i].partials) for i in wrt)
    tangents = [check_tangent(every[i].value, every[i].partials, i, block) for i in wrt]
    function = make(len(args), tuple(kwargs), wrt, block)
    return Dual(*function(*values, *tangents, *((length_of(tangents),) if block else ())))


def _run_stacked(context: Any, *args: Any, **kwargs: Any) -> Dual:
    first, rest = split(args)

    def make(n: int, kwnames: tuple[str, ...], wrt: tuple[int, ...], block: bool) -> Callable[..., Any]:
        return stacked_function(context, first, n, kwnames, ForwardMode(wrt, block))

    return _run(make, *rest, **kwargs)
