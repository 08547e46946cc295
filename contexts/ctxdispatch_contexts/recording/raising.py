"""What a derivative raises where the function itself does not. It is raised in the midst of the user's code,
whose handlers are for what the function raises: so it is a refusal, which cannot get lost there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxdispatch_contexts.programs.errors import DerivativeError, Refused, described, user_position


def no_derivative(callee: Any, error: Exception) -> DerivativeError:
    of = "a function of numbers" if callee is None else described(callee)
    return DerivativeError(
        f"the derivative of {of} raises {type(error).__name__} here, where the value does not: {error}; keep "
        "away from this point, or give the function a derivative with `custom_rule`",
        user_position(),
    )


def refuse_derivative(
    error: Exception, context: Any, callee: Any, operands: Sequence[Any], kwnames: Sequence[str]
) -> None:
    """callee(*operands) and its derivative have raised `error`: was it the latter?"""
    if issubclass(type(error), Refused) or context.ad_ruled(callee):
        return
    n = len(operands) - len(kwnames)
    try:  # it is in the table, and so changes nothing
        callee(*operands[:n], **dict(zip(kwnames, operands[n:], strict=True)))
    except Exception:
        return
    raise no_derivative(callee, error) from error
