"""Contextual dispatch for Python: run a function with every call in it dispatched on a context object.

Names are loaded when first asked for (PEP 562): `import ctxdispatch` by itself does not even import numpy.
"""

from __future__ import annotations

import sys
from importlib import import_module

# Type checkers know this name by itself; importing `typing` for it would be most of our import time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ctxdispatch.bytecode.errors import UnsupportedSyntax
    from ctxdispatch.dispatch import Context, fallback, metadata, overdub, recurse, tag, untag
    from ctxdispatch.dispatch.show import ir
    from ctxdispatch_contexts.broadcast import BroadcastContext, KernelError, broadcast
    from ctxdispatch_contexts.explain import explain
    from ctxdispatch_contexts.forward import Dual, DualContext, jvp, linearize
    from ctxdispatch_contexts.higher import hessian, hvp, jacfwd, jacobian, jacrev
    from ctxdispatch_contexts.programs.errors import DerivativeError, MissingRuleError, MutationError, Refused
    from ctxdispatch_contexts.reverse import (
        ADContext,
        check_grads,
        checkpoint,
        code_adjoint,
        custom_rule,
        debug_rules,
        grad,
        insert_grad_of,
        no_grad,
        stop_gradient,
        value_and_grad,
        vjp,
    )
    from ctxdispatch_contexts.sparsity import (
        SparsityContext,
        SparsityError,
        SparsityPattern,
        color,
        hessian_sparsity,
        jacobian_sparsity,
        sparse_hessian,
        sparse_jacobian,
    )

__version__ = "0.1.0"

__all__ = [
    "overdub", "recurse", "fallback", "Context", "tag", "untag", "metadata",
    "ir", "code_adjoint", "explain",
    "grad", "value_and_grad", "vjp", "checkpoint", "stop_gradient", "no_grad",
    "insert_grad_of", "custom_rule", "check_grads", "debug_rules",
    "jvp", "linearize", "jacobian", "jacfwd", "jacrev", "hessian", "hvp",
    "jacobian_sparsity", "hessian_sparsity", "sparse_jacobian", "sparse_hessian", "color",
    "broadcast",
    "ADContext", "DualContext", "Dual", "SparsityContext", "SparsityPattern", "BroadcastContext",
    "UnsupportedSyntax", "KernelError", "Refused", "DerivativeError", "MissingRuleError", "MutationError",
    "SparsityError",
]  # fmt: skip

_NAMES = {
    "ctxdispatch.dispatch": "overdub recurse fallback Context tag untag metadata",
    "ctxdispatch.dispatch.show": "ir",
    "ctxdispatch.bytecode.errors": "UnsupportedSyntax",
    "ctxdispatch_contexts.broadcast": "broadcast BroadcastContext KernelError",
    "ctxdispatch_contexts.explain": "explain",
    "ctxdispatch_contexts.forward": "jvp linearize DualContext Dual",
    "ctxdispatch_contexts.higher": "jacobian jacfwd jacrev hessian hvp",
    "ctxdispatch_contexts.programs.errors": "Refused DerivativeError MissingRuleError MutationError",
    "ctxdispatch_contexts.reverse": (
        "code_adjoint grad value_and_grad vjp checkpoint stop_gradient no_grad insert_grad_of custom_rule "
        "check_grads debug_rules ADContext"
    ),
    "ctxdispatch_contexts.sparsity": (
        "jacobian_sparsity hessian_sparsity sparse_jacobian sparse_hessian color SparsityContext "
        "SparsityError SparsityPattern"
    ),
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(type(sys)):  # type: ignore[misc]
    """Keeps `ctxdispatch.ir` the function, though there is a subpackage of that name.

    The import system would put the subpackage over the function as soon as anything imports it.
    `from ctxdispatch.ir import Graph` is not affected.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, type(sys))):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
