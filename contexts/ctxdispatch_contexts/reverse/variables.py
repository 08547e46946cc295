"""bar(v), the cotangent of each value of the primal: a variable of the builder, so that merges of cotangents
become block parameters. The masks of cotangents (`masks.py`) are variables beside them, and what is done to
them is done by the same methods, with `masking` set.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from ctxdispatch.ir.values import Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.operands import numeric
from ctxdispatch_contexts.reverse import cotangents
from ctxdispatch_contexts.reverse.bars import ZERO, cotangent_type, is_none, is_zero, may_be_none
from ctxdispatch_contexts.reverse.masks import ONE, Masks
from ctxdispatch_contexts.reverse.overwritten import Overwritten
from ctxdispatch_contexts.reverse.primal import Primal
from ctxdispatch_contexts.reverse.structure import Shape


class Cotangents(Primal):
    """The primal, and what has arrived for its values where the sweep is now."""

    def __init__(
        self, shape: Shape, active: set[Value], pullbacks: Any, shadows: Any, overwritten: Overwritten,
        masks: Masks,
    ) -> None:  # fmt: skip
        super().__init__(shape, overwritten)
        self.active = active
        self.pullbacks = pullbacks
        self.masks = masks
        self.masking = False
        self._shadows = {False: shadows, True: type(shadows)(shadows.followed)}

    @property
    def shadows(self) -> Any:
        return self._shadows[self.masking]

    def passes(self) -> Iterator[None]:
        """What is emitted in the body of this loop is cotangents, then masks, where there are any."""
        yield
        if self.masks.values:
            self.masking = True
            yield
            self.masking = False

    def mask(self, value: Value) -> Operand:
        """The mask of a value whose users have all been reversed."""
        masking, self.masking = self.masking, True
        mask = self.pullbacks.arrived(self, value)
        self.masking = masking
        return mask

    def bar(self, value: Operand) -> Operand:
        """The cotangent of `value` that has arrived so far."""
        if self.masking and value not in self.masks.values:
            return self.ones(value) if value in self.active else ZERO
        if value in self.shadows.followed.roots:
            return self.shadows.bar(self, value)  # type: ignore[arg-type]
        return self.variable(value)

    def variable(self, value: Operand) -> Operand:
        """The variable that holds it."""
        found = self.build.read((self.key("bar"), value))
        if isinstance(found, Value) and found.type is None:
            found.type = self._type_of_bar(value)
            found.name = found.name or "d" + getattr(value, "name", "")
        return found

    def _type_of_bar(self, value: Operand) -> T.Type:
        """A cotangent that is collected entry by entry has a form of its own, until it is finished."""
        parts = value in self.pullbacks.indexed or value in self.shadows.followed.roots
        return T.Any if parts else cotangent_type(value)

    def set_bar(self, value: Value, cotangent: Operand) -> None:
        self.build.write((self.key("bar"), value), cotangent)

    def key(self, name: str) -> str:
        return name + "mask" if self.masking else name

    def add(self, value: Operand, cotangent: Operand) -> None:
        """bar(value) += cotangent"""
        if (
            not isinstance(value, Value)
            or value not in self.active
            or is_zero(cotangent)
            or is_none(cotangent)
            or (self.masking and self._is_masked(value, cotangent))
        ):
            return
        if self.shadows.has(value):
            self.shadows.add(self, value, cotangent)
            return
        if numeric(value.type) and may_be_none(cotangent):
            cotangent = self.pullbacks.definite(self, value, cotangent)
        old = self.bar(value)
        if isinstance(value.type, T.ArrayOf) and not is_zero(old) and value not in self.pullbacks.indexed:
            cotangent = self.pullbacks.full_for_sum(self, value, old, cotangent)
        if is_zero(old):
            new = cotangent
        elif numeric(value.type) and value not in self.pullbacks.indexed:
            new = self.call(operator.add, old, cotangent, syntax=True, type=cotangent_type(value))
        else:
            new = self.call(cotangents.accumulate, old, cotangent)
        if isinstance(new, Value) and not new.name:
            new.name = "d" + value.name
        self.set_bar(value, new)

    def _is_masked(self, value: Value, cotangent: Operand) -> bool:
        """Nothing more is to be said of its mask."""
        if value not in self.masks.values:
            return True
        if self.shadows.has(value) or value in self.pullbacks.indexed:
            return False
        if cotangent is ONE and numeric(value.type):
            self.set_bar(value, ONE)
            self.pullbacks.mark_lazy(value)
            return True
        return self.bar(value) is ONE

    def ones(self, value: Operand) -> Operand:
        """The mask of a value that is used in full."""
        return ONE if numeric(operand_type(value)) else self.call(cotangents.ones_of, self.shaped(value))

    def has_bar(self, value: Operand) -> bool:
        return value in (self.masks.values if self.masking else self.active)

    def mask_of_seed(self, result: Value, seed: Operand) -> Operand:
        return ONE if numeric(result.type) else self.call(cotangents.ones_of, seed)

    def call(self, callee: Any, *args: Operand, **options: Any) -> Value:
        return self.build.call(callee, *args, **options)
