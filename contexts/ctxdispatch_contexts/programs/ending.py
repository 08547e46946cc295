"""What is done when nothing refers to an object any longer: `__del__`, which C code calls.

No context sees that call. A program keeps some objects for longer than the function that it stands for, so it
has none with a `__del__` (`refusing.py`). In a recorded run they end when they do in a plain run; those that
compute something then, and store it, are refused.
"""

from __future__ import annotations

import dis
from types import CodeType, FunctionType

from ctxdispatch.facts import storing_methods
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch_contexts.programs.errors import MissingRuleError, user_position


def ended_by(cls: object) -> FunctionType | None:
    """The Python function that objects of this class, which is not of a context, end with."""
    found = class_attribute(cls, "__del__") if issubclass(type(cls), type) else None  # type: ignore[arg-type]
    return found if type(found) is FunctionType and not is_ours(found.__module__) else None


def may_compute(code: CodeType) -> bool:
    """Whether its own instructions store items, or compute and store. What was there is moved as it is, and
    counters count (`cls.count -= 1`)."""
    instructions = [*dis.get_instructions(code)]
    stores, computes = not storing_methods().isdisjoint(code.co_names), False
    for one, then in zip(instructions, instructions[1:]):
        in_place = one.opname == "BINARY_OP" and one.argrepr.endswith("=")
        if one.opname == "STORE_SUBSCR" or (in_place and then.opname not in ("STORE_ATTR", "SWAP")):
            return True
        computes |= one.opname == "BINARY_OP" and not in_place
        stores |= one.opname == "STORE_ATTR"
    return stores and computes


def out_of_sight(cls: type) -> MissingRuleError:
    return MissingRuleError(
        f"objects of the class {cls.__name__} have a `__del__` that computes and stores, which C code calls "
        "when nothing refers to them; write what it does where it is to be done, in a method or "
        "a `with` block",
        user_position(),
    )
