"""How often what is done: calls, floating-point operations and bytes, by function and by line."""

from ctxdispatch_contexts.counting.context import CountContext, DeepCountContext
from ctxdispatch_contexts.counting.records import Counts, Record

__all__ = ["CountContext", "DeepCountContext", "Counts", "Record"]
