"""Broadcast mixed mode: scalar functions over arrays as fused kernels, differentiated by duals inside."""

from ctxdispatch_contexts.broadcast import splitting as splitting
from ctxdispatch_contexts.broadcast import storing as storing
from ctxdispatch_contexts.broadcast import within as within
from ctxdispatch_contexts.broadcast.api import broadcast
from ctxdispatch_contexts.broadcast.context import BroadcastContext
from ctxdispatch_contexts.broadcast.errors import KernelError

__all__ = ["BroadcastContext", "KernelError", "broadcast"]
