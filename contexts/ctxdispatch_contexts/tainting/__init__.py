"""`TaintContext`: which inputs reached which outputs, and which reached where they must not.

    result, labels = taints(f, *args, **kwargs)      labels has the structure of the result

A label is the name of an argument, or the path of a part of it. The result of an operation has the labels of
all its operands, so what depends on an input by the data has its label; what only depends on it by a branch
that was taken has not.
"""

from ctxdispatch_contexts.tainting.calls import Tainted, sources, taints
from ctxdispatch_contexts.tainting.context import Finding, TaintContext, TaintError
from ctxdispatch_contexts.tainting.labels import Labels
from ctxdispatch_contexts.tainting.reading import all_labels, labels_of

__all__ = [
    "Finding", "Labels", "TaintContext", "TaintError", "Tainted", "all_labels", "labels_of", "sources",
    "taints",
]  # fmt: skip
