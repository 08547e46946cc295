"""Sparsity: patterns of Jacobians and Hessians by looking at code, colorings, compressed derivatives."""

from ctxdispatch_contexts.sparsity.api import hessian_sparsity, jacobian_sparsity
from ctxdispatch_contexts.sparsity.coloring import Coloring, color
from ctxdispatch_contexts.sparsity.compressed import SparseDerivative, sparse_hessian, sparse_jacobian
from ctxdispatch_contexts.sparsity.context import SparsityContext
from ctxdispatch_contexts.sparsity.errors import OpaqueCallWarning, SparsityError
from ctxdispatch_contexts.sparsity.pattern import SparsityPattern

__all__ = [
    "Coloring", "OpaqueCallWarning", "SparseDerivative", "SparsityContext", "SparsityError",
    "SparsityPattern",
    "color", "hessian_sparsity", "jacobian_sparsity", "sparse_hessian", "sparse_jacobian",
]  # fmt: skip
