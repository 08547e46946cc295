"""Code that is rewritten beforehand for one context instance: whole modules, by an import hook.

The instance is a constant of the code, and nested code is rewritten too. So at run time there is nothing left
to rewrite: a callee that has no rule is what it is. (The collector does not look into code objects: the
instance lives as long as the process. For anything else there is `overdub`.)
"""

from __future__ import annotations

from types import CodeType

from ctxdispatch.bytecode.faithful import rewrite
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.transform import dispatch_calls
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.values import Const


def dispatch_code(ctx: Context, code: CodeType) -> CodeType:
    """`code`, of a function, class body or module, and the code nested in it, under `ctx`."""
    ctx = ctx.replace()
    ctx.__dict__["_beforehand"] = True
    operand = Const(ctx)

    def transform(graph: Graph) -> Graph:
        return dispatch_calls(graph, type(ctx), operand)

    return rewrite(code, transform)
