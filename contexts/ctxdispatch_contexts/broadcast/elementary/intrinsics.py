"""Formulas as Numba intrinsics: called in a compiled kernel, they become instructions of its loop."""

import inspect

import numpy as np
from numba import types
from numba.extending import intrinsic

from .values import Value

NUMBA_FLOATS = {np.dtype(np.float32): types.float32, np.dtype(np.float64): types.float64}


def as_codegen(formula):
    def codegen(context, builder, signature, operands):
        return formula(*(Value(builder, each) for each in operands)).ir
    return codegen


def arity(formula):
    parameters = inspect.signature(formula).parameters.values()
    return sum(each.default is each.empty for each in parameters)


def as_intrinsic(formula, dtype):
    """Its arguments and its result are of that dtype."""
    number, codegen = NUMBA_FLOATS[np.dtype(dtype)], as_codegen(formula)
    if arity(formula) == 1:
        def define(typing_context, x):
            return number(number), codegen
    else:
        def define(typing_context, x, y):
            return number(number, number), codegen
    define.__name__, define.__qualname__ = formula.__name__, formula.__qualname__
    define.__doc__ = formula.__doc__
    return intrinsic(define)
