"""Ops whose code remembers what they found.

    resolve     %g = site[k](cell, %f)          without memory    %g = plain(%ctx, %f)
    method      %g = site[k](cell, %x)          without memory    %f = %x.name; %g = plain(%ctx, %f)
                %g, %f = site[k](cell, %x)      the same, where hooks are told of the method
    select      %y = site[k](cell, %a, %b)      without memory    %g = plain(f, %a, %b, %ctx); %y = %g(%a, %b)
    call        %y = site[k](cell, %f, %x)      without memory    %g = plain(%ctx, %f); %y = %g(%x)

A select or call of several contexts has the cells of all, its own first, then from the inside out.
The cell holds a list: the context, then what each place of the code remembers, a pair (`bytecode.sites`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Position, Value

CELL = "$sites"
"""How the names of such cells begin."""

CONTEXT = "$ctx"
"""... and of those that hold the context alone; what comes after that is the same."""


class Site:
    """A callee with a `place` in the list, from 1 on. Where nothing fits there, it asks slow(*operands, list,
    site), which may fill it. With an `operation` on `count` operands the op's result is that of the
    operation; where the site `calls`, that of the first operand on the others; else it is what to call in
    place of a callee, or of that `attribute` of the operand. `plain` is the function without memory.

    `alike`: all arguments of the call are of the class that is remembered of the last. `bound`: the callee
    may lie on the stack as a method and `self`, and so does the result. `told`: what makes of those two the
    bound method, which is the op's second result. `inner`: the site of the context further in where this one
    remembers for both; `slow` then gets both their lists.
    """

    __slots__ = ("slow", "plain", "place", "operation", "count", "attribute", "calls", "alike", "bound",
                 "told", "inner")  # fmt: skip

    def __init__(
        self,
        slow: Callable[..., Any],
        plain: Callable[..., Any],
        place: int,
        operation: Any = None,
        count: int = 1,
        attribute: str = "",
        calls: bool = False,
        alike: bool = False,
        bound: bool = False,
        told: Callable[[Any, Any], Any] | None = None,
        inner: Site | None = None,
    ) -> None:
        self.slow, self.plain = slow, plain
        self.place = place
        self.operation = operation
        self.count = count
        self.attribute = attribute
        self.calls = calls
        self.alike = alike
        self.bound = bound
        self.told = told
        self.inner = inner

    @property
    def depth(self) -> int:
        """How many contexts it is for."""
        return 1 if self.inner is None else 1 + self.inner.depth

    @property
    def is_wide(self) -> bool:
        """Whether the first result may be a method and `self`."""
        return self.bound or bool(self.attribute)

    def __call__(self, *args: Any) -> NoReturn:
        raise NotImplementedError(f"{self} runs in the interpreter's frame only")

    def __repr__(self) -> str:
        return f"{self.plain.__name__}[{self.place}]"


def without_memory(
    site: Site, contexts: list[Operand], operands: list[Operand], results: list[Value], pos: Position | None
) -> list[Op]:
    """What an op of `site` does, as ops that have no place; the contexts from the inside out."""
    *within, ctx = contexts
    plain = Const(site.plain)
    if site.inner is not None:
        *before, call = without_memory(site.inner, within, operands, results, pos)
        target = Value("resolved")
        outer = Op(target, call.args, results, pos=pos)
        outer.bare = call.bare
        return [*before, Op(plain, [ctx, call.callee], [target], pos=pos), outer]
    if site.operation is not None:
        target = Value("selected")
        call = Op(target, operands, results, pos=pos)
        call.bare = True
        return [Op(plain, [Const(site.operation), *operands, ctx], [target], pos=pos), call]
    if site.calls:
        target, callee = Value("resolved"), operands[0]
        return [Op(plain, [ctx, callee], [target], pos=pos), Op(target, operands[1:], results, pos=pos)]
    if not site.attribute:
        return [Op(plain, [ctx, *operands], results, pos=pos)]
    target, *told = results
    found = told[0] if told else Value(site.attribute)
    read = Op(Const(getattr), [*operands, Const(site.attribute)], [found], pos=pos, syntax=True)
    return [read, Op(plain, [ctx, found], [target], pos=pos)]
