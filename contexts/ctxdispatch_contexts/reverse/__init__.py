"""Reverse mode: `ADContext`, and the functions built on it."""

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch_contexts.programs.debugging import debug_rules
from ctxdispatch_contexts.programs.errors import DerivativeError, MissingRuleError, MutationError
from ctxdispatch_contexts.reverse import linearity as linearity
from ctxdispatch_contexts.reverse import transposes as transposes
from ctxdispatch_contexts.reverse import within as within
from ctxdispatch_contexts.reverse.api import (
    grad,
    value_and_grad,
    vjp,
)
from ctxdispatch_contexts.reverse.bars import is_zero
from ctxdispatch_contexts.reverse.checkpoints import checkpoint
from ctxdispatch_contexts.reverse.checks import check_grads
from ctxdispatch_contexts.reverse.context import ADContext, checked_indices
from ctxdispatch_contexts.reverse.elementwise import fit as fit_cotangent
from ctxdispatch_contexts.reverse.elementwise import selected
from ctxdispatch_contexts.reverse.inserting import insert_grad_of
from ctxdispatch_contexts.reverse.primitives import cotangents_of, fit_to_operand, item_of_result
from ctxdispatch_contexts.reverse.program import ReverseMode, before_sweep
from ctxdispatch_contexts.reverse.show import code_adjoint
from ctxdispatch_contexts.reverse.stopping import no_grad, stop_gradient, stopped
from ctxdispatch_contexts.reverse.user_rules import custom_rule

__all__ = [
    "ADContext", "DerivativeError", "MissingRuleError", "MutationError", "ReverseMode", "UnsupportedSyntax",
    "before_sweep", "check_grads", "checked_indices", "checkpoint", "code_adjoint", "cotangents_of",
    "custom_rule", "debug_rules", "fit_cotangent", "fit_to_operand", "grad", "insert_grad_of",
    "is_zero",
    "item_of_result", "no_grad", "selected", "stop_gradient", "stopped", "value_and_grad", "vjp",
]  # fmt: skip
