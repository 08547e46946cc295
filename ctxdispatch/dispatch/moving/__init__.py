"""Functions that only move values, and those that look at values and not at tags.

`ROWS` maps the id of a function to row(call, args, kwargs), which runs it with the tags left on what it
moves.

    read      x.a, xs[k], d.get(k)      the item with its own tags, those of the container and of the key
    write     xs[k] = v, xs.append(v)   a tag on the key is one on all of the container
    spread    list(xs), zip(xs, ys)     the tag of xs is one of each item
    choose    max(xs), sorted(xs)       what comes out depends on all items
    keyed     {x}, d | e                equal keys are one: what is in it depends on all of them
"""

from ctxdispatch.dispatch.moving.table import ROWS, RULED, SPREADING, row_of
from ctxdispatch.dispatch.moving.through import spread

__all__ = ["ROWS", "RULED", "SPREADING", "row_of", "spread"]
