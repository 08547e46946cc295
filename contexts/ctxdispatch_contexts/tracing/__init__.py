"""The call tree of a program, with times: as text, as JSON, as a flame graph."""

from ctxdispatch_contexts.tracing.context import TraceContext
from ctxdispatch_contexts.tracing.page import to_html, write_html
from ctxdispatch_contexts.tracing.tree import Node, Tree

__all__ = ["TraceContext", "Node", "Tree", "to_html", "write_html"]
