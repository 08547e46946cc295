"""What users call: `broadcast`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.dispatch import recurse
from ctxdispatch.dispatch.tracebacks import show_users_frames
from ctxdispatch.ir.wrappers import held, is_bound, is_wrapper
from ctxdispatch_contexts.broadcast.context import BroadcastContext
from ctxdispatch_contexts.broadcast.errors import KernelError
from ctxdispatch_contexts.broadcast.kernel import Options
from ctxdispatch_contexts.broadcast.mode import BroadcastMode
from ctxdispatch_contexts.broadcast.written_out import elementwise, over_items
from ctxdispatch_contexts.programs.derived import maker
from ctxdispatch_contexts.programs.entry_table import entry_function
from ctxdispatch_contexts.programs.owned import for_code
from ctxdispatch_contexts.reverse import checked_indices


def broadcast(
    f: Callable[..., Any], *arrays: Any, out: Any = None, partials: str = "recompute", fastmath: bool = False,
    backend: str = "auto", threads: int | None = None,
) -> Any:  # fmt: skip
    """f of the elements of `arrays`, as one fused kernel.

    `f` is a function of numbers: Python with branches, `while` and `for` loops over ranges, calls of other
    such functions, captured numbers, and one or several results (then a tuple of arrays is returned). The
    functions of `math`, and NumPy's elementwise functions, mean what they mean in NumPy: 1 / 0 is inf.

    `arrays` are arrays, or numbers, that broadcast as NumPy has it. float32 stays float32, and numbers of
    Python's take the dtype of what they meet (NEP 50); one that does not fit there is of 64 bits. Whole
    numbers have at most 64 bits, and wrap as NumPy's do; a float that does not fit into those it is cast to
    becomes the nearest that does, and nan becomes 0. The result has the shape of all together.

    `out`: an array (of several results a tuple of arrays) to store the result in, which is then returned.
    `partials`: where `broadcast` is differentiated in reverse mode, "recompute" the partial derivatives in
    the sweep, or "store" them when the function runs. `fastmath`: allow the compiler to reorder sums and to
    take no care of inf and nan. `backend`: "compiled" (extra `jit`), "reference", or "auto". `threads`: at
    most so many, by default as many as there are processors; small arrays are left to one.

    Derivatives of any order, of captured numbers too, are taken by duals inside of the kernel: Revels et al.,
    "Dynamic Automatic Differentiation of GPU Broadcast Kernels", 2018.

    Elements of a structured array have fields: p["x"]. Lists of objects are gone through one by one, in
    Python.

    Raises KernelError (a TypeError), at the user's line, where `f` has no form as a kernel, and with the
    operand's name where operands do not broadcast or are no real numbers.
    """
    if any(map(has_objects, arrays)):
        return over_items(f, *arrays)
    operands = [operand(a, f, i) if isinstance(a, (list, tuple)) else a for i, a in enumerate(arrays)]
    try:
        function = _entry(f, len(operands), (partials, fastmath, backend, threads), out is not None)
        return function(*operands) if out is None else function(*operands, out)
    except BaseException as error:
        show_users_frames(error)
        raise


def _entry(f: Callable[..., Any], n: int, options: tuple[Any, ...], out: bool) -> Callable[..., Any]:
    """What runs f of n operands: of functions with one code and the same options it is made once."""
    how = (n, *options, out)
    if type(f) is not FunctionType:
        return _entry_function(f, *how)
    types = tuple(map(type, options))  # 1 == True, and is no option
    try:
        return for_code(f, (broadcast, how, types), lambda: _entry_function(f, *how))
    except TypeError as error:
        if not isinstance(error, KernelError):
            Options(*options)  # one that cannot be hashed is refused
        raise


broadcast.__written_out__ = elementwise  # type: ignore[attr-defined]
broadcast.__overdub__ = lambda ctx, *args, **kwargs: recurse(ctx, elementwise, *args, **kwargs)  # type: ignore[attr-defined]


def _entry_function(
    f: Any, n: int, partials: str, fastmath: bool, backend: str, threads: int | None, out: bool
) -> Callable[..., Any]:
    return entry_for(f, n, BroadcastMode(Options(partials, fastmath, backend, threads), out))


def has_objects(array: Any) -> bool:
    """A list of what is no number, and no list."""
    if not isinstance(array, (list, tuple)) or not array:
        return False
    named = hasattr(array[0], "_fields")
    return named or not isinstance(array[0], NUMBERS)


NUMBERS = (bool, int, float, complex, np.ndarray, np.generic, list, tuple)


def operand(array: Any, f: Any = None, i: int = 0) -> Any:
    """A list of numbers, operand i of f, is an array."""
    try:
        return np.asarray(array)
    except ValueError as error:  # of lists that are not of one length
        names = f.__code__.co_varnames if type(f) is FunctionType else ()
        name = repr(names[i]) if i < len(names) else str(i)
        raise KernelError(
            f"no array can be made of operand {name}, a list: {error}; pass an array of numbers"
        ) from error


def entry_for(f: Any, n: int, mode: BroadcastMode) -> Callable[..., Any]:
    """The function of n arrays, and perhaps an `out`, that runs the kernel of `f`."""
    if not callable(f):
        raise KernelError(
            f"broadcast takes a function and arrays, not a {type(f).__name__} first; write broadcast(f, x)"
        )
    if is_wrapper(type(f)) and (is_bound(f) or held(f) is None):
        raise KernelError(
            f"what {f.__name__}, which `wrapt` decorates, calls is decided when it is called; write "
            "broadcast(lambda x: obj.method(x), x) of a method, and decorate without `enabled`"
        )
    if mode.wrt is not None:
        mode = replace(mode, wrt=checked_indices(mode.wrt, n, getattr(f, "__qualname__", type(f).__name__)))
    return entry_function(f, mode, BroadcastContext, n, ())


def _mode(
    n: int, count: int | None = None, out: bool = False, wrt: tuple[int, ...] | None = None,
    leading: int = 0, **options: Any,
) -> BroadcastMode:  # fmt: skip
    return BroadcastMode(Options(**options), out, wrt, leading)


@maker(BroadcastContext, _mode)
def kernel_of(
    f: Callable[..., Any], count: int | None = None, out: bool = False, wrt: tuple[int, ...] | None = None,
    leading: int = 0, **options: Any,
) -> Callable[..., Any]:  # fmt: skip
    """(*arrays) -> broadcast(f, *arrays), for `count` arrays: for programs. With `wrt`, (y, partials). The
    first `leading` are given to every call of f as they are."""
    n = f.__code__.co_argcount if count is None else count
    return entry_for(f, n, _mode(n, n, out, wrt, leading, **options))
