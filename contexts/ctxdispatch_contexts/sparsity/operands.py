"""The arguments of rules for functions of arrays: which hold data, and which must be known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ctxdispatch_contexts.sparsity.arrays import Args, Kwargs, same_memory
from ctxdispatch_contexts.sparsity.calls import Rule
from ctxdispatch_contexts.sparsity.conversions import converted
from ctxdispatch_contexts.sparsity.errors import REMEDY, described
from ctxdispatch_contexts.sparsity.linearity import bends
from ctxdispatch_contexts.sparsity.values import Scalar


def operand(run: Any, v: Any) -> Any:
    """An array or number: lists of such become arrays."""
    return converted(run, v)


def when_touched(rule: Rule) -> Rule:
    """With nothing tracked the function runs as it is."""

    def run_rule(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
        if not run.touched(args, kwargs):
            return run.run_natively(f, args, kwargs) if kwargs else run.born(f(*args))
        return rule(run, f, args, kwargs)

    return run_rule


def known(run: Any, f: Any, *parameters: Any) -> None:
    """Refuse parameters (axes, shapes, indices) that depend on the inputs' values."""
    if run.touched(parameters):
        run.refuse(f"a parameter of {described(f)} depends on the inputs' values; {REMEDY}")


def argument(args: Args, kwargs: Kwargs, place: int, name: str, default: Any = None) -> Any:
    return args[place] if len(args) > place else kwargs.get(name, default)


def merged(t: Any, first: int) -> Any:
    """With the axes from `first` on as one."""
    return t.reshape(*t.shape[:first], math.prod(t.shape[first:]))


def dense(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if not run.local and any(_is_unknown_length(a) for a in (*args, *kwargs.values())):
        run.refuse(f"an integer argument of {described(f)} depends on the inputs' values; {REMEDY}")
    bits = run.union(args, kwargs)
    out = run.on_samples(f, args, kwargs)
    view = same_memory(run, out, args)
    bends(run, f, args, run.scalar(0.0, bits))
    return run.dense(out, bits) if view is None else view


def _is_unknown_length(v: Any) -> bool:
    return (
        isinstance(v, Scalar) and isinstance(v.sample, (int, np.integer)) and not isinstance(v.sample, bool)
    )
