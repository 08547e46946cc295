"""Every rule that a run uses, checked where it is used: against central differences of the operation itself,
for the operands at hand. `check_grads(f, args, rules=True)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.programs.errors import described, user_position
from ctxdispatch_contexts.recording.api import run
from ctxdispatch_contexts.recording.leaves import is_number
from ctxdispatch_contexts.recording.record import Number
from ctxdispatch_contexts.recording.tape import Call, Tape

STEPS = (1e-6, 2.5e-7)
"""Differences that do not agree (at a kink, in single precision) say nothing."""


class WrongRule(AssertionError):
    """The rule for an operation does not give its derivative."""


class Checked(Tape):
    """A tape that checks each entry as it is made."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.random = np.random.default_rng(0)
        self.checked = 0

    def call(self, callee: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        before = len(self.entries)
        y = super().call(callee, operands, kwnames)
        if len(self.entries) > before and isinstance(self.entries[-1], Call):
            n = len(operands) - len(kwnames)

            def again(*values: Any) -> Any:
                return callee(*values[:n], **dict(zip(kwnames, values[n:], strict=True)))

            pullback = self.entries[-1].pullback
            self._check(callee, again, operands, y, lambda bar: pullback(bar)[1:])
        return y

    def unary(self, y: Number, x: Number, partial: Any, a: Any) -> None:
        super().unary(y, x, partial, a)
        self._check(self.doing, self.doing, (a,), y.value, lambda bar: (bar * partial(a, y.value),))

    def binary(
        self, y: Number, first: Number | None, second: Number | None, of_a: Any, of_b: Any, a: Any, b: Any
    ) -> None:
        super().binary(y, first, second, of_a, of_b, a, b)
        partials = (of_a if first is not None else None, of_b if second is not None else None)
        held = [a if first is None else None, b if second is None else None]

        def again(*values: Any) -> Any:
            return self.doing(*[v if h is None else h for v, h in zip(values, held, strict=True)])

        def pull(bar: Any) -> tuple[Any, ...]:
            return tuple([None if p is None else bar * p(a, b, y.value) for p in partials])

        self._check(self.doing, again, (a, b), y.value, pull)

    def _check(self, callee: Any, f: Any, operands: Sequence[Any], y: Any, pull: Any) -> None:
        along = [_direction(operand, self.random) for operand in operands]
        bar = _direction(y, self.random)
        slopes = [_slope(f, operands, along, bar, step) for step in STEPS]
        if None in slopes or not np.isclose(*slopes, rtol=1e-4, atol=1e-5):
            return
        self.checked += 1
        found = sum(_inner(c, d) for c, d in zip(pull(bar), along, strict=True))
        if not np.isclose(found, slopes[0], rtol=1e-3, atol=1e-4):
            where = user_position()
            raise WrongRule(
                f"{where}: the rule for {described(callee)} gives {found:.9g}, central differences "
                f"{slopes[0]:.9g}; mend it (`custom_rule`), or report it if it is none of yours"
            )


def check_rules(f: Any, args: Sequence[Any], context: Any) -> int:
    """Run f(*args) and check every rule that it uses. How many uses were checked."""
    tape = Checked(context)
    run(tape, f, args, range(len(args)), lambda trees: None)
    return tape.checked


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
