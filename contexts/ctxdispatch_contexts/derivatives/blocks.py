"""Linear functions of k arrays at once, that is of a *block*: the arrays along a leading axis.

    block(f)(d, ...)[j] = f(d[j], ...)    for j < k, of all arguments in which f is linear

so the derivative of a linear f in k directions is one call and not k. What is a product is linear in each
factor: its block form of argument i takes a block there and the other arguments as they are.

A block form has the parameters of the function. A block of a number is a vector of length k; of a list that
stays a list it is a list of blocks, of one that means an array (`table.array_arguments`) one block; a result
that is a list or tuple is one of blocks. Where the primal has a whole number among what varies, the block is
of zeros. A result may share memory with the block where the function's result does with its argument.

The forms stand by family in `block_*.py`, plain Python to be lifted, specialised and inlined like the rules.
Here are the steps they are written with and `each`, the form of all functions that have none of their own.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# -- where things are in a block -----------------------------------------------------------------------------


def after(axis: Any) -> Any:
    """The axis of a block that is `axis` of the arrays in it."""
    return axis + 1 if axis >= 0 else axis


def afters(axis: Any) -> Any:
    """`after` of one axis or of several."""
    if isinstance(axis, (tuple, list, range)):
        return tuple([after(i) for i in axis])
    return after(axis)


def behind(axis: Any, d: Any) -> Any:
    """`afters`, where None means all axes of the arrays; numbers have none, whatever is asked for."""
    if d.ndim == 1:
        return ()
    if axis is None:
        return 1 if d.ndim == 2 else tuple(range(1, d.ndim))
    return afters(axis)


def flat(d: Any) -> Any:
    """Each array of the block as a vector."""
    if d.ndim == 2:
        return d
    return d.reshape((d.shape[0], math.prod(d.shape[1:])))


def level(d: Any, ndim: int) -> Any:
    """The block with `ndim` axes behind the first: of length 1 where the arrays have fewer."""
    if d.ndim > ndim:
        return d
    return d.reshape((d.shape[0],) + (1,) * (ndim + 1 - d.ndim) + d.shape[1:])


def shape_of(shape: Any, d: Any) -> Any:
    """The shape of a block of arrays of `shape`, in which -1 stands for the rest."""
    if not isinstance(shape, (tuple, list)):
        shape = (shape,)
    if d.shape[0] == 0 and -1 in shape:  # of which NumPy cannot tell the rest
        shape = np.empty(d.shape[1:]).reshape(shape).shape
    return (d.shape[0], *shape)


def depth(x: Any) -> int:
    """How many lists are around the arrays in `x`."""
    return 1 + depth(x[0]) if isinstance(x, (list, tuple)) and x else 0


def blocked(x: Any) -> Any:
    """Nested lists of blocks, of numbers or arrays of one shape, as one block."""
    return x if isinstance(x, np.ndarray) else np.moveaxis(np.array(x), depth(x), 0)


def blocks_in(arrays: Any) -> list[Any]:
    """A sequence of arrays, or an array along its first axis, as a list of blocks."""
    if isinstance(arrays, np.ndarray):
        return [arrays[:, i] for i in range(arrays.shape[1])]
    return [blocked(x) for x in arrays]


# -- one after the other -------------------------------------------------------------------------------------


def each(
    callee: Any, positions: tuple[int, ...] | slice, names: tuple[str, ...], /, *args: Any, **kwargs: Any
) -> Any:
    """callee(..., d[j], ...) for every j, stacked: of the arguments at `positions`, or those `names`.

    Without directions (k = 0) the function runs once, on zeros, for the shape and dtype of its result.
    """
    at = range(len(args))[positions] if isinstance(positions, slice) else positions
    varied = [args[i] for i in at if i < len(args)] + [kwargs[name] for name in names if name in kwargs]
    k = len(next(leaves(varied)))

    def result(pick: Callable[[Any], Any]) -> Any:
        return called(
            callee,
            [mapped(pick, x) if i in at else x for i, x in enumerate(args)],
            {name: mapped(pick, x) if name in names else x for name, x in kwargs.items()},
        )

    if k == 0:
        return stacked([result(lambda d: np.zeros(d.shape[1:], d.dtype))], 0)
    array = getattr(callee, "__objclass__", None) is np.ndarray  # whose methods numbers do not have
    return stacked([result(lambda d, j=j: d[j, ...] if array else d[j]) for j in range(k)], k)  # type: ignore[misc]


def leaves(x: Any) -> Iterator[Any]:
    if isinstance(x, np.ndarray):
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from leaves(item)


def mapped(pick: Callable[[Any], Any], x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([mapped(pick, item) for item in x])
    return pick(x) if isinstance(x, np.ndarray) else x


def called(callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call, or the reading of an attribute."""
    if type(callee) in (types.GetSetDescriptorType, types.MemberDescriptorType):
        return callee.__get__(*args)
    return callee(*args, **kwargs)


def stacked(results: list[Any], k: int) -> Any:
    first = results[0]
    if isinstance(first, (list, tuple)):
        return type(first)([stacked([result[i] for result in results], k) for i in range(len(first))])
    return np.stack(results)[:k]
