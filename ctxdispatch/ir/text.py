"""Expressions and statements as text.

One row of a table per callee says what its call looks like: `_FORMS` for expressions, `_STATEMENTS` for calls
whose result does not count. What has no row, or whose row declines (returns None), is written as a call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from inspect import CO_VARARGS
from typing import Any

from ctxdispatch.ir import operators, primitives
from ctxdispatch.ir.expressions import (
    AND,
    BINARY,
    COMPARE,
    COMPARISONS,
    INPLACE,
    LOWEST,
    MEMBERSHIP,
    NOT,
    NUMBER,
    OR,
    POWER,
    PREFIX,
    PRIMARY,
    TERNARY,
    UNARY,
    Expr,
    Part,
    both,
    choose,
    either,
    identifier,
    is_none,
    is_statement,
    listed,
    updates,
)
from ctxdispatch.ir.values import Const, Value

# -- text ------------------------------------------------------------------------------------------

Shown = tuple[str, int]
"""Text and how tightly it binds."""


class Text:
    """Writes parts; `name` and `constant` say how values and constants are called."""

    def __init__(self, name: Callable[[Value], str], constant: Callable[[Any], Shown]) -> None:
        self.name = name
        self.constant = constant

    def __call__(self, part: Part, level: int = LOWEST) -> str:
        text, binding = self.show(part)
        return text if binding >= level else f"({text})"

    def show(self, part: Part) -> Shown:
        if isinstance(part, Value):
            return self.name(part), PRIMARY
        if isinstance(part, Const):
            return self.constant(part.value)
        row = _FORMS.get(part.fn) if listed(part.fn, _FORMS) and not part.op.kwnames else None
        return (row and row(self, *part.args) if _arity_fits(row, part) else None) or self.call(part)

    def call(self, expr: Expr) -> Shown:
        plain = len(expr.parts) - len(expr.op.kwnames)
        args = [self(p, TERNARY) for p in expr.parts[1:plain]]
        args += [f"{n}={self(p, TERNARY)}" for n, p in zip(expr.op.kwnames, expr.parts[plain:], strict=True)]
        return f"{self(expr.parts[0], PRIMARY)}({', '.join(args)})", PRIMARY

    def items(self, parts: list[Part] | tuple[Part, ...]) -> str:
        return ", ".join(self(p, TERNARY) for p in parts)

    def condition(self, part: Part, level: int = LOWEST, *, negate: bool = False) -> str:
        """Where only the truth of `part` counts: without `bool()`."""
        text, binding = self._truth(part, negate)
        return text if binding >= level else f"({text})"

    def _truth(self, part: Part, negate: bool) -> Shown:
        if isinstance(part, Expr):
            fn = part.fn if len(part.parts) > 1 and not part.op.kwnames else None
            if fn is bool or fn is operator.not_:
                return self._truth(part.parts[1], negate != (fn is operator.not_))
            if fn is either or fn is both:
                return self._connective(part, negate)
            if negate and (opposite := self._opposite(part)):
                return opposite
        return (f"not {self(part, NOT)}", NOT) if negate else self.show(part)

    def _connective(self, part: Expr, negate: bool) -> Shown:
        """De Morgan: not (a and b) is not a or not b."""
        word, level = ("or", OR) if (part.fn is either) != negate else ("and", AND)
        a, b = (self.condition(p, level + i, negate=negate) for i, p in enumerate(part.args))
        return f"{a} {word} {b}", level

    def _opposite(self, part: Expr) -> Shown | None:
        """Not of an order: a NaN is neither less nor not less. Classes are trusted that `!=` is not `==`."""
        return _OPPOSITES[part.fn](self, *part.args) if listed(part.fn, _OPPOSITES) else None

    # -- statements --------------------------------------------------------------------------------

    def statement(self, expr: Expr) -> str | None:
        """The statement that `expr` is where its result does not count."""
        row = _STATEMENTS.get(expr.fn) if is_statement(expr) else None
        return row(self, *expr.args) if row else None

    def index(self, part: Part) -> str:
        """What stands between [ and ]."""
        if isinstance(part, Expr) and part.fn is slice and len(part.parts) in (3, 4):
            return ":".join("" if is_none(p) else self(p, TERNARY) for p in part.args)
        if isinstance(part, Expr) and part.fn is primitives.build_tuple and len(part.parts) > 2:
            return ", ".join(map(self.index, part.args))
        return (constant_index(part.value) if isinstance(part, Const) else None) or self(part)

    def bare(self, part: Part) -> str:
        """At the right of `=` or `return`: a tuple needs no parentheses there."""
        if isinstance(part, Expr) and part.fn is primitives.build_tuple and len(part.parts) > 2:
            return self.items(part.args)
        if isinstance(part, Const) and type(part.value) is tuple and len(part.value) > 1:
            return ", ".join(self(Const(item)) for item in part.value)
        return self(part)


def constant_index(index: Any) -> str | None:
    """`:, None` for (slice(None), None); None for what is no such index."""
    if type(index) is tuple and len(index) > 1:
        items = [constant_index(item) for item in index]
        return None if None in items else ", ".join(map(str, items))
    if type(index) is slice:
        parts = (index.start, index.stop, *([] if index.step is None else [index.step]))
        if all(p is None or type(p) is int for p in parts):
            return ":".join("" if p is None else str(p) for p in parts)
    return "..." if index is ... else repr(index) if index is None or type(index) is int else None


# -- the table of expressions ----------------------------------------------------------------------

Form = Callable[..., Shown | None]


def _infix(sign: str, level: int) -> Form:
    return lambda t, a, b: (f"{t(a, level)} {sign} {t(b, level + 1)}", level)


def _compare(sign: str) -> Form:
    if sign.startswith("is"):
        return lambda t, a, b: None if _fresh(a) or _fresh(b) else _sided(t, a, sign, b)
    return lambda t, a, b: _sided(t, a, sign, b)


def _sided(t: Text, a: Part, sign: str, b: Part) -> Shown:
    return f"{t(a, COMPARE + 1)} {sign} {t(b, COMPARE + 1)}", COMPARE


def _fresh(part: Part) -> bool:
    """A literal whose identity Python does not promise."""
    return (
        isinstance(part, Const)
        and isinstance(part.value, (int, float, complex, str, bytes, tuple))
        and (not isinstance(part.value, bool))
    )


def _member(sign: str) -> Form:
    return lambda t, box, item: (f"{t(item, COMPARE + 1)} {sign} {t(box, COMPARE + 1)}", COMPARE)


def _prefix(sign: str, level: int) -> Form:
    return lambda t, a: (f"{sign}{t(a, level)}", level)


def _display(opening: str, closing: str) -> Form:
    return lambda t, *items: (f"{opening}{t.items(items)}{closing}", PRIMARY)


def _attribute(t: Text, obj: Part, name: Part) -> Shown | None:
    return (f"{t(obj, PRIMARY)}.{name.value}", PRIMARY) if identifier(name) else None  # type: ignore[union-attr]


def _tuple(t: Text, *items: Part) -> Shown:
    return f"({t.items(items)}{',' if len(items) == 1 else ''})", PRIMARY


def _dict(t: Text, *items: Part) -> Shown:
    pairs = zip(items[::2], items[1::2], strict=True)
    return "{" + ", ".join(f"{t(k, TERNARY)}: {t(v, TERNARY)}" for k, v in pairs) + "}", PRIMARY


def _call_ex(t: Text, f: Part, args: Part, kwargs: Part = Const(None)) -> Shown:  # noqa: B008
    stars = "" if is_none(kwargs) else f", **{t(kwargs, NOT)}"
    return f"{t(f, PRIMARY)}(*{t(args, NOT)}{stars})", PRIMARY


def _choose(t: Text, cond: Part, a: Part, b: Part) -> Shown:
    return f"{t(a, OR)} if {t.condition(cond, OR)} else {t(b, TERNARY)}", TERNARY


def _format(t: Text, *parts: Part) -> Shown | None:
    """An f-string, unless what stands in it needs quotes: those nest only from 3.12 on."""
    pieces = [_piece(t, p) for p in parts]
    if any(p is None for p in pieces):
        return None
    return 'f"' + "".join(p for p in pieces if p) + '"', PRIMARY


def _piece(t: Text, part: Part) -> str | None:
    if isinstance(part, Const):
        text = str(part.value)
        plain = text.isprintable() and not set('"\\') & set(text)
        return text.replace("{", "{{").replace("}", "}}") if plain else None
    if not (isinstance(part, Expr) and part.fn is primitives.format_value):
        return None
    value, conversion, spec = [*part.args, Const(None), Const(None)][:3]
    sign = {str: "!s", repr: "!r", ascii: "!a", None: ""}.get(getattr(conversion, "value", conversion))
    inner = t(value, OR)
    if sign is None or not isinstance(spec, Const) or set("\"'\\#{}!:") & set(inner):
        return None
    return f"{{{inner}{sign}{':' + spec.value if spec.value else ''}}}"


_FORMS: dict[Any, Form] = {
    **{fn: _infix(*row) for fn, row in BINARY.items()},
    **{fn: _compare(sign) for fn, sign in COMPARISONS.items()},
    **{fn: _member(sign) for fn, sign in MEMBERSHIP.items()},
    **{fn: _prefix(*row) for fn, row in PREFIX.items()},
    operator.pow: lambda t, a, b: (f"{t(a, NUMBER)} ** {t(b, UNARY)}", POWER),
    operator.not_: lambda t, a: (f"not {t.condition(a, NOT)}", NOT),
    operator.getitem: lambda t, a, i: (f"{t(a, PRIMARY)}[{t.index(i)}]", PRIMARY),
    either: lambda t, a, b: (f"{t(a, OR)} or {t(b, AND)}", OR),
    both: lambda t, a, b: (f"{t(a, AND)} and {t(b, NOT)}", AND),
    choose: _choose,
    getattr: _attribute,
    primitives.build_tuple: _tuple,
    primitives.build_list: _display("[", "]"),
    primitives.build_set: lambda t, *items: _display("{", "}")(t, *items) if items else None,
    primitives.build_map: _dict,
    primitives.call_ex: _call_ex,
    primitives.list_to_tuple: lambda t, a: (f"tuple({t(a, TERNARY)})", PRIMARY),
    primitives.build_string: _format,
    primitives.cell_get: lambda t, cell, *_: (f"{t(cell, PRIMARY)}.cell_contents", PRIMARY),
}

_MEMBERSHIP = (operator.contains, primitives.not_contains)
_OPPOSITES: dict[Any, Form] = {
    **{f: _FORMS[opposite] for f, opposite in operators.OPPOSITES.items()},
    **{f: _FORMS[opposite] for f, opposite in zip(_MEMBERSHIP, _MEMBERSHIP[::-1])},
}


def _arity_fits(row: Form | None, expr: Expr) -> bool:
    """A form takes the text and its operands."""
    if row is None:
        return False
    code, given = row.__code__, len(expr.parts)
    least = code.co_argcount - len(row.__defaults__ or ())
    return given >= least and (bool(code.co_flags & CO_VARARGS) or given <= code.co_argcount)


# -- the table of statements -----------------------------------------------------------------------


def _store(t: Text, target: str, value: Part, same: Callable[[Expr], bool]) -> str:
    """`target = value`, or `target += v` where value is target + v in place."""
    read = value.parts[1] if isinstance(value, Expr) and listed(value.fn, INPLACE) else None
    if isinstance(value, Expr) and isinstance(read, Expr) and same(read):
        return f"{target} {INPLACE[value.fn]} {t.bare(value.parts[2])}"
    return f"{target} = {t.bare(value)}"


def _setitem(t: Text, box: Part, key: Part, value: Part) -> str:
    return _store(
        t, f"{t(box, PRIMARY)}[{t.index(key)}]", value, lambda e: updates(operator.getitem, e, box, key)
    )


def _setattr(t: Text, obj: Part, name: Part, value: Part) -> str:
    target = f"{t(obj, PRIMARY)}.{name.value}"  # type: ignore[union-attr]
    return _store(t, target, value, lambda e: updates(getattr, e, obj, name))


_STATEMENTS: dict[Any, Callable[..., str]] = {
    operator.setitem: _setitem,
    operator.delitem: lambda t, box, key: f"del {t(box, PRIMARY)}[{t.index(key)}]",
    setattr: _setattr,
    delattr: lambda t, obj, name: f"del {t(obj, PRIMARY)}.{name.value}",
    primitives.list_append: lambda t, a, x: f"{t(a, PRIMARY)}.append({t(x, TERNARY)})",
    primitives.list_extend: lambda t, a, x: f"{t(a, PRIMARY)}.extend({t(x, TERNARY)})",
    primitives.set_add: lambda t, a, x: f"{t(a, PRIMARY)}.add({t(x, TERNARY)})",
    primitives.map_add: lambda t, a, k, v: f"{t(a, PRIMARY)}[{t.index(k)}] = {t.bare(v)}",
    primitives.cell_set: lambda t, cell, v: f"{t(cell, PRIMARY)}.cell_contents = {t.bare(v)}",
}
