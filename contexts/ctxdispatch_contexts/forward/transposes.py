"""What reverse mode does with the functions that forward programs call: a tangent may be pulled back.

    h = jvp(f, (x,), (dx,))[1], of bar(h):      bar(x), bar(dx)

Each is linear in its tangents, so its rule is its transpose, whatever they are; None stays the zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch_contexts.derivatives.registry import vjp
from ctxdispatch_contexts.forward import containers, releasing, structural, tangents
from ctxdispatch_contexts.reverse import cotangents, fitting


@vjp(tangents.or_zeros, tangents.or_zeros_block, releasing.apart, arrays=0)
def or_zeros_vjp(g, y, tangent, value, k=None):
    return (None if tangent is None else g, None, None)


@vjp(tangents.as_number, arrays=0)
def as_number_vjp(g, y, tangent, cls):
    return (None if tangent is None else cotangents.project(g, tangent), None)


@vjp(tangents.expand, arrays=0)
def expand_vjp(g, y, tangent, value):
    return (None if tangent is None else fitting.unbroadcast(g, tangent, value), None)


@vjp(structural.plus, arrays=0)
def plus_vjp(g, y, a, b):
    return (None if a is None else g, None if b is None else g)


@vjp(structural.fill, arrays=0)
def fill_vjp(g, y, tangent, value):
    return (unfilled(g, tangent), None)


@vjp(containers.or_empty, arrays=0)
def or_empty_vjp(g, y, tangents):
    return (None if tangents is None else g,)


@vjp(containers.entry, arrays=0)
def entry_vjp(g, y, tangent, key):
    return (None if tangent is None else one_entry(g, key, tangent), None)


@vjp(containers.function_tangent, arrays=0)
def function_tangent_vjp(g, y, defaults, kwdefaults, cells):
    return (part(g, "defaults", defaults), part(g, "kwdefaults", kwdefaults), part(g, "cells", cells))


@vjp(containers.partial_tangent, arrays=0)
def partial_tangent_vjp(g, y, func, args, keywords):
    return (part(g, "func", func), part(g, "args", args), part(g, "keywords", keywords))


def part(g: Any, name: str, tangent: Any) -> Any:
    return None if tangent is None else cotangents.entry_of(g, name)


def unfilled(g: Any, tangent: Any) -> Any:
    """Nothing where there was nothing."""
    if tangent is None or g is None:
        return None
    if isinstance(tangent, (list, tuple)):
        return cotangents.rebuild(tangent, [unfilled(a, b) for a, b in zip(g, tangent, strict=True)])
    return g


def one_entry(g: Any, key: Any, whole: Any) -> Any:
    if isinstance(whole, np.ndarray):
        out = np.zeros_like(whole)
        out[key] = g
        return out
    return cotangents.add_index(None, whole, key, g)
