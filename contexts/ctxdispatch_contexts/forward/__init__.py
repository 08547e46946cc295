"""Forward mode: `DualContext`, and the functions built on it."""

from ctxdispatch_contexts.forward import again as again
from ctxdispatch_contexts.forward import linearity as linearity
from ctxdispatch_contexts.forward import transposes as transposes
from ctxdispatch_contexts.forward import within as within
from ctxdispatch_contexts.forward.api import jvp, linearize, pushforward, tangent_along
from ctxdispatch_contexts.forward.blocks import BlockDerivative
from ctxdispatch_contexts.forward.context import DualContext
from ctxdispatch_contexts.forward.dual import Dual
from ctxdispatch_contexts.forward.elementwise import push_row
from ctxdispatch_contexts.forward.program import ForwardMode, before_push
from ctxdispatch_contexts.forward.structural import moves
from ctxdispatch_contexts.forward.tangents import Shapes, numeric
from ctxdispatch_contexts.forward.within import Before, push_call

__all__ = [
    "Before", "BlockDerivative", "Dual", "DualContext", "ForwardMode", "Shapes", "numeric", "jvp",
    "before_push", "linearize", "moves", "push_call", "push_row", "pushforward", "tangent_along",
]  # fmt: skip
