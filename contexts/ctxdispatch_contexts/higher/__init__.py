"""Jacobians and Hessians, of forward and reverse mode together."""

from ctxdispatch_contexts.higher.api import hessian, hvp, jacfwd, jacobian, jacrev

__all__ = ["hessian", "hvp", "jacfwd", "jacobian", "jacrev"]
