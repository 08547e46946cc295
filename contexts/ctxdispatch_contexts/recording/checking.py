"""Every rule that a run uses, checked where it is used: against central differences of the operation itself,
for the operands at hand. `check_grads(f, args, rules=True)`, `grad(f, debug=True)`, `debug_rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch.reach import natively
from ctxdispatch_contexts.derivatives.table import is_of_contexts
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.programs.errors import described, user_position
from ctxdispatch_contexts.recording.api import run
from ctxdispatch_contexts.recording.entries import Call
from ctxdispatch_contexts.recording.leaves import is_number
from ctxdispatch_contexts.recording.memory import differ
from ctxdispatch_contexts.recording.pushing import Pushing
from ctxdispatch_contexts.recording.record import Number
from ctxdispatch_contexts.recording.tape import Tape

STEPS = (1e-6, 2.5e-7)
"""Differences that do not agree (at a kink, in single precision) say nothing."""


class WrongRule(AssertionError):
    """The rule for an operation does not give its derivative."""


class Checked(Tape):
    """A tape that checks each entry as it is made."""

    by_elements = False

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.random = np.random.default_rng(0)
        self.checked = 0

    def call(self, callee: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        entries, active = len(self.entries), [self.any_active((operand,)) for operand in operands]
        before = _copied(operands)
        y = super().call(callee, operands, kwnames)
        if len(self.entries) > entries and isinstance(self.entries[-1], Call) and not is_of_contexts(callee):
            pullback = self.entries[-1].pullback
            along = [_direction(o, self.random) if a else None for o, a in zip(operands, active, strict=True)]
            use = Use(callee, _again(callee, len(operands), kwnames), operands, before, along)
            self._check(use, y, lambda bar: pullback(bar)[1:])
        return y

    def updating(self, f: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        before = _copied(operands)
        found = super().updating(f, operands, kwnames)
        along = [_direction(o, self.random) if self.any_active((o,)) else None for o in operands]
        use = Use(f, _again(f, len(operands), kwnames), operands, before, along)
        self._check(use, _plainly(use), lambda bar: found[1].pullback(bar)[1:])
        return found

    def unary(self, y: Number, x: Number, partial: Any, a: Any) -> None:
        super().unary(y, x, partial, a)
        use = Use(self.doing, self.doing, (a,), (a,), [_direction(a, self.random)])
        self._check(use, y.value, lambda bar: (bar * partial(a, y.value),))

    def binary(
        self, y: Number, first: Number | None, second: Number | None, of_a: Any, of_b: Any, a: Any, b: Any
    ) -> None:
        super().binary(y, first, second, of_a, of_b, a, b)
        partials = (of_a if first is not None else None, of_b if second is not None else None)
        known = zip((a, b), (first, second), strict=True)
        along = [None if number is None else _direction(v, self.random) for v, number in known]

        def pull(bar: Any) -> tuple[Any, ...]:
            return tuple([None if p is None else bar * p(a, b, y.value) for p in partials])

        self._check(Use(self.doing, self.doing, (a, b), (a, b), along), y.value, pull)

    def _check(self, use: Use, y: Any, pull: Any) -> None:
        self.checked += verify(use, y, pull, self.random, user_position())


class CheckedPushing(Pushing):
    """Forward mode that checks each tangent; of a block of them, none."""

    def __init__(self, context: Any, count: int | None = None) -> None:
        super().__init__(context, count)
        self.by_elements = False
        self.random = np.random.default_rng(0)

    def _pushed(self, callee: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> tuple[Any, Any]:
        along, before = [self.of(operand) for operand in operands], _copied(operands)
        y, dy = super()._pushed(callee, operands, kwnames)
        use = Use(callee, _again(callee, len(operands), kwnames), operands, before, along)
        if not is_of_contexts(callee):
            self._check(use, y, dy)
        return y, dy

    def unary(self, y: Number, x: Number, partial: Any, a: Any) -> None:
        super().unary(y, x, partial, a)
        self._check(Use(self.doing, self.doing, (a,), (a,), [x.derivative]), y.value, y.derivative)

    def binary(
        self, y: Number, first: Number | None, second: Number | None, of_a: Any, of_b: Any, a: Any, b: Any
    ) -> None:
        super().binary(y, first, second, of_a, of_b, a, b)
        along = [None if number is None else number.derivative for number in (first, second)]
        self._check(Use(self.doing, self.doing, (a, b), (a, b), along), y.value, y.derivative)

    def _check(self, use: Use, y: Any, dy: Any) -> None:
        if self.count is None:
            verify(use, y, lambda bar: _inner(dy, bar), self.random, user_position())


class Use(NamedTuple):
    """One use of a rule. `again` does the operation itself; `before` are the operands as they were; `along`
    are tangents of theirs, None where they do not vary."""

    callee: Any
    again: Any
    operands: Sequence[Any]
    before: Sequence[Any]
    along: Sequence[Any]


@natively
def verify(use: Use, y: Any, pull: Any, random: Any, where: str | None) -> bool:
    """WrongRule unless `y` is the operation's value, and pull(bar), cotangents or their product with the
    tangents, what central differences say. Whether those say anything."""
    _same(use, "changes its operands", where)
    operands = _copied(use.before)
    try:
        _compare(use, y, use.again(*operands), where)
    except (ArithmeticError, np.linalg.LinAlgError):
        return False
    bar = _direction(y, random)
    slopes = [_slope(use.again, operands, use.along, bar, step) for step in STEPS]
    if None in slopes or not np.isclose(*slopes, rtol=1e-4, atol=1e-5):
        return False
    given = pull(bar)
    _same(use, "changes its operands in the pullback", where)
    if isinstance(given, tuple):
        _check_forms(use, given, where)
        given = sum(_inner(c, d) for c, d in zip(given, use.along, strict=False))
    if not np.isclose(given, slopes[0], rtol=1e-3, atol=1e-4):
        raise _wrong(use, f"gives {given:.9g}, central differences {slopes[0]:.9g}", where)
    return True


def _again(callee: Any, count: int, kwnames: tuple[str, ...]) -> Any:
    n = count - len(kwnames)
    return lambda *values: callee(*values[:n], **dict(zip(kwnames, values[n:], strict=True)))


@natively
def _plainly(use: Use) -> Any:
    return use.again(*_copied(use.before))


@natively
def _copied(values: Sequence[Any]) -> list[Any]:
    return [np.array(v) if type(v) is np.ndarray else [*v] if type(v) is list else v for v in values]


def _same(use: Use, what: str, where: str | None) -> None:
    for value, before in zip(use.operands, use.before, strict=True):
        if type(value) is np.ndarray and value.dtype != object and differ(value, before):
            raise _wrong(use, what, where)


def _compare(use: Use, y: Any, expected: Any, where: str | None) -> None:
    """The value that a rule gives with that of what it is a rule for."""
    if isinstance(expected, (tuple, list)) and isinstance(y, (tuple, list)):
        for a, b in zip(y, expected, strict=False):
            _compare(use, a, b, where)
    elif is_number(expected) or (isinstance(expected, np.ndarray) and expected.dtype.kind in "fc"):
        if np.shape(y) != np.shape(expected) or np.result_type(y) != np.result_type(expected):
            forms = [f"{np.result_type(v)} of shape {np.shape(v)}" for v in (y, expected)]
            raise _wrong(use, f"gives a value of {forms[0]}, the function one of {forms[1]}", where)
        if not np.allclose(y, expected, rtol=1e-6, atol=1e-9, equal_nan=True):
            raise _wrong(use, f"gives the value {y}, the function {expected}", where)


def _check_forms(use: Use, given: Sequence[Any], where: str | None) -> None:
    for i, (cotangent, operand) in enumerate(zip(given, use.operands, strict=False)):
        if use.along[i] is None or not isinstance(cotangent, np.ndarray) or not cotangent.ndim:
            continue
        of = np.asarray(operand)
        if cotangent.shape != of.shape or cotangent.dtype != of.dtype:
            forms = [f"{v.dtype} of shape {v.shape}" for v in (cotangent, of)]
            raise _wrong(use, f"gives a cotangent of {forms[0]} for argument {i} of {forms[1]}", where)


def _wrong(use: Use, what: str, where: str | None) -> WrongRule:
    return WrongRule(
        f"{where}: the rule for {described(use.callee)} {what}; mend it (`custom_rule`), or report it if it "
        "is none of yours"
    )


def check_rules(f: Any, args: Sequence[Any], context: Any) -> int:
    """Run f(*args) and check every rule that it uses. How many uses were checked."""
    tape = Checked(context)
    run(tape, f, args, range(len(args)), lambda trees: None)
    return tape.checked


def check_rule(f: Any, rule: Any, args: tuple[Any, ...], where: str | None) -> None:
    """Check the rule of the user's for `f` at these positional arguments."""
    random = np.random.default_rng(0)
    before = _copied(args)
    y, pullback = rule(*args)
    use = Use(f, f, args, before, [_direction(a, random) for a in args])

    def pull(bar: Any) -> tuple[Any, ...]:
        given = pullback(bar)
        given = given if isinstance(given, tuple) else (given,)
        return tuple([None if c is NotImplemented else c for c in given])

    verify(use, y, pull, random, where)


def _direction(value: Any, random: np.random.Generator) -> Any:
    """A random tangent of `value`, None where it has none; cotangents have the same form."""
    if is_number(value) and not np.iscomplexobj(value):
        return float(random.normal())
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return random.normal(size=value.shape).astype(value.dtype)
    if isinstance(value, (tuple, list)):
        return rebuild(value, [_direction(item, random) for item in value])
    return None


def _moved(value: Any, along: Any, step: float) -> Any:
    if along is None:
        return value
    if isinstance(value, (tuple, list)):
        return rebuild(value, [_moved(v, d, step) for v, d in zip(value, along, strict=True)])
    moved = value + step * along
    return moved.astype(value.dtype) if isinstance(value, np.ndarray) else type(value)(moved)


def _inner(a: Any, b: Any) -> float:
    if a is None or b is None:
        return 0.0
    if isinstance(b, (tuple, list)):
        return sum(_inner(x, y) for x, y in zip(a, b, strict=True))
    return float(np.sum(np.asarray(a) * np.asarray(b)).real)


def _slope(f: Any, operands: Sequence[Any], along: Any, bar: Any, step: float) -> Any:
    """<bar, df(operands) along>, by central differences; None where f is not defined on both sides."""
    try:
        with np.errstate(all="ignore"):
            above, below = (
                f(*[_moved(v, d, s) for v, d in zip(operands, along, strict=True)]) for s in (step, -step)
            )
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):
        return None
    found = (_inner(above, bar) - _inner(below, bar)) / (2 * step)
    return found if np.isfinite(found) else None
