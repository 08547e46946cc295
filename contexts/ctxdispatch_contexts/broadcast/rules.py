"""The derivatives of kernels, as reverse and forward mode ask for them (Revels et al. 2018, section 2.2.3).

    y = k(a, b)      bar(a), bar(b) += sums over what was broadcast of k.pullback(a, b, bar(y))
                     dy = k.pushforward(a, b, da, db)

Both are calls of kernels again, so they have derivatives of their own. A cotangent that is constant (under a
sum) goes in as it is: nothing is broadcast beforehand.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.numpy_shapes import array_or_scalar, broadcast
from ctxdispatch_contexts.broadcast.backends import lowered_for
from ctxdispatch_contexts.forward import moves
from ctxdispatch_contexts.programs.operands import infer_op
from ctxdispatch_contexts.programs.scaling import typed
from ctxdispatch_contexts.reverse import (
    cotangents_of,
    fit_cotangent,
    fit_to_operand,
    is_zero,
    item_of_result,
    selected,
)


def reverse(kernel: Any, adjoint: Any, op: Op) -> None:
    """Pull the cotangent of the result back to the operands that are active."""
    given = cotangents_of(adjoint, op, len(kernel.outputs) if kernel.several else None)
    pulled = [m for m, g in enumerate(given) if not is_zero(g)]
    active = [i for i, a in enumerate(op.args) if a in adjoint.active and kernel.kinds[i] is float]
    wrt = kernel.moved_by(active)
    if not wrt or not pulled:
        return
    operands = [*(adjoint.recall(a) for a in op.args), *(given[m] for m in pulled)]
    found = call_kernel(adjoint.build, kernel.pullback(wrt, pulled), operands)
    y = item_of_result(adjoint, op, pulled[0]) if kernel.several else None  # all are of one shape
    for place, i in enumerate(wrt):
        part = typed(adjoint.build, operator.getitem, found, Const(place))
        arg = op.args[i]
        if y is None:
            adjoint.add(arg, fit_cotangent(adjoint, selected(adjoint, part, op), arg, op.result))
        else:
            adjoint.add(arg, fit_to_operand(adjoint, part, arg, y))


def push(kernel: Any, shapes: Any, run: Any, op: Op) -> None:
    """The tangents of the results, from those of the operands."""
    moving = [i for i, a in enumerate(op.args) if moves(run.of(a)) and kernel.kinds[i] is float]
    wrt = kernel.moved_by(moving)
    if not wrt:
        run.put(op.result, shapes.zero(run, op.result))
        return
    results = _results(run, op, kernel)
    definite = [shapes.definite(run, run.of(op.args[i]), op.args[i], certainly=True) for i in wrt]
    tangents = [shapes.aligned(run, d, op.args[i], results[0]) for d, i in zip(definite, wrt, strict=True)]
    found = call_kernel(run.build, kernel.pushforward(wrt), [*op.args, *tangents])
    if not kernel.several:
        run.put(op.result, shapes.fit(run, found, op.result, whole=False))
        return
    parts = [typed(run.build, operator.getitem, found, Const(m)) for m in range(len(results))]
    fitted = [shapes.fit(run, part, y, whole=False) for part, y in zip(parts, results, strict=True)]
    run.put(op.result, run.call(primitives.build_tuple, *fitted, syntax=True))


def _results(run: Any, op: Op, kernel: Any) -> list[Value]:
    """The arrays that the op gives."""
    if not kernel.several:
        return [op.result]
    return [typed(run.build, operator.getitem, op.result, Const(m)) for m in range(len(kernel.outputs))]


def call_kernel(build: Any, kernel: Any, operands: Sequence[Operand]) -> Value:
    """Emit the call, and say what it returns."""
    value: Value = build.call(kernel, *operands)
    value.type = infer_op(build.block.ops[-1])
    return value


def result_type(kernel: Any, args: Sequence[T.Type]) -> T.Type:
    """Of a call of `kernel`: arrays of the dtypes that lowering finds, of the shape of all together."""
    known = [T.widen(a) for a in args]
    dtypes = [dtype_of(a) for a in known]
    if any(t is None for t in dtypes) or len(args) != kernel.arity:
        return T.Any
    dims = broadcast([a.dims if isinstance(a, T.ArrayOf) else () for a in known])
    if int in dtypes and any(t not in (int, float) and t.kind in "iu" and t.itemsize < 8 for t in dtypes):
        return T.Any  # the number may not fit into what it meets: `backends.types_of`
    results = lowered_for(kernel, tuple(dtypes)).results
    types = tuple(array_or_scalar(dtype, dims, scalar=True) for dtype in results)
    return T.TupleOf(types) if kernel.several else types[0]


def dtype_of(type_: T.Type) -> Any:
    """np.dtype, or int or float for numbers of Python's; None for what is no operand."""
    if isinstance(type_, T.ArrayOf):
        return type_.dtype
    cls = T.cls_of(type_)
    if cls in (int, float):
        return cls
    if cls is bool:
        return np.dtype(bool)
    return np.dtype(cls) if cls is not None and issubclass(cls, np.generic) else None
