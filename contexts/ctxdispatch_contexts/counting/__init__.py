"""How often what is done: calls, floating-point operations and bytes, by function and by line."""

from ctxdispatch_contexts.counting.context import CountContext
from ctxdispatch_contexts.counting.records import Counts, Record

__all__ = ["CountContext", "Counts", "Record"]
