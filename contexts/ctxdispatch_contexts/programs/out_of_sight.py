"""Which ops may run Python code that the program does not show."""

from __future__ import annotations

from types import FunctionType, MethodType

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Operand, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import elementwise, vjp_rule
from ctxdispatch_contexts.programs.activity import has_zero_derivative
from ctxdispatch_contexts.programs.special_methods import runs_method
from ctxdispatch_contexts.programs.stand_ins import call_behind

HARMLESS = {
    primitives.__name__,
    *(
        "functools logging warnings time io sys json builtins _operator operator math cmath numpy "
        "ctxdispatch ctxdispatch_contexts"
    ).split(),
}


def runs_python(op: Op) -> bool:
    """May run code that we do not see, which may keep its operands or change them."""
    fn = call_behind(op).fn
    if fn is None or runs_method(call_behind(op)):
        return True
    if hashable(fn) and (elementwise(fn) or vjp_rule(fn) or has_zero_derivative(fn)):
        return False
    owner = getattr(fn, "__objclass__", None) or getattr(fn, "__self__", None)  # list.append, tuple.__new__
    module = str(getattr(fn, "__module__", None) or getattr(owner, "__module__", ""))
    if module.split(".")[0] == "numpy" and any(map(_is_function, op.args)):
        return True  # np.apply_along_axis(f, 0, a)
    return module.split(".")[0] not in HARMLESS and module not in HARMLESS and not isinstance(fn, np.ufunc)


def _is_function(operand: Operand) -> bool:
    """Of Python's, as far as is known."""
    cls = T.cls_of(operand_type(operand))
    return cls is not None and issubclass(cls, (FunctionType, MethodType))
