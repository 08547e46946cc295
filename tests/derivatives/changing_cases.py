"""What the names are called with that return nothing, or of which one name says several things: programs
around them, for the report of derivatives.

    NAMED     name -> [(case, function whose keyword arguments they are)]

A program that changes an array changes a copy, and returns it. What a program takes by name it hands on.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from typing import Any

import numpy as np
from derivative_cases import Case, array, flag, number
from hypothesis import strategies as st

NAMED: dict[str, list[tuple[Case, Any]]] = defaultdict(list)


def calls(name: str, documented: Any = None, **options: Any) -> Any:
    """Register the function below, which draws (program, args, kwargs), as a case of that name."""

    def register(draw_arguments: Any) -> Any:
        case = Case(name, None, st.composite(draw_arguments)(), options)
        NAMED[name].append((case, documented))
        return draw_arguments

    return register


# -- stores by function and method ---------------------------------------------------------------------------


def put(a, indices, values, **kwargs):
    out = a * 1.0
    np.put(out, indices, values, **kwargs)
    return out


@calls("numpy.put", np.put)
def _(draw):
    return put, (array(draw, (5,)), [0, 3], array(draw, (2,))), {}


def method_put(a, indices, values, **kwargs):
    out = a * 1.0
    out.put(indices, values, **kwargs)
    return out


@calls("numpy.ndarray.put", np.ndarray.put)
def _(draw):
    return method_put, (array(draw, (2, 3)), [0, 4], array(draw, (2,))), {}


def place(a, mask, values):
    out = a * 1.0
    np.place(out, mask, values)
    return out


@calls("numpy.place", np.place, given="mask vals")
def _(draw):
    return place, (array(draw, (5,)), np.arange(5) % 2 == 0, array(draw, (2,))), {}


def putmask(a, mask, values):
    out = a * 1.0
    np.putmask(out, mask, values)
    return out


@calls("numpy.putmask", np.putmask, given="mask values")
def _(draw):
    return putmask, (array(draw, (2, 3)), np.arange(6).reshape(2, 3) % 2 == 0, array(draw, (2, 3))), {}


def put_along_axis(a, indices, values, axis):
    out = a * 1.0
    np.put_along_axis(out, indices, values, axis)
    return out


@calls("numpy.put_along_axis", np.put_along_axis, given="indices values axis")
def _(draw):
    return put_along_axis, (array(draw, (2, 3)), np.array([[0, 2], [1, 0]]), array(draw, (2, 2)), 1), {}


def copyto(a, b, **kwargs):
    out = a * 1.0
    np.copyto(out, b, **kwargs)
    return out


@calls("numpy.copyto", np.copyto, given="src")
def _(draw):
    shapes = draw(st.sampled_from([((2, 3), (3,)), ((2, 3), ()), ((3,), (3,))]))
    return copyto, tuple(array(draw, s) for s in shapes), {}


def fill(a, value):
    out = a * 1.0
    out[1:].fill(value)
    return out


@calls("numpy.ndarray.fill", np.ndarray.fill, given="value")
def _(draw):
    return fill, (array(draw, (3,)), number(draw)), {}


def method_sort(a, **kwargs):
    out = a * 1.0
    out.sort(**kwargs)
    return out


@calls("numpy.ndarray.sort", np.ndarray.sort)
def _(draw):
    return method_sort, (array(draw, (2, 4)),), {"axis": draw(st.integers(-2, 1))}


def method_partition(a, kth, **kwargs):
    out = a * 1.0
    out.partition(kth, **kwargs)
    return out


@calls("numpy.ndarray.partition", np.ndarray.partition)
def _(draw):
    return method_partition, (array(draw, (2, 4)), 2), {}


# -- views ---------------------------------------------------------------------------------------------------


def view(a):
    out = a * 1.0
    seen = out.view()
    seen[0] = seen[1] * seen[1]
    return out * seen


def view_as(a, *dtypes):
    return a.view(*dtypes) * 2.0


@calls("numpy.ndarray.view", np.ndarray.view, given="type")
def _(draw):
    return view, (array(draw, (3,)),), {}


@calls("numpy.ndarray.view", np.ndarray.view, given="dtype type")
def _(draw):
    return view_as, (array(draw, (3,)).copy(), np.float64, np.ndarray), {}


def flat(a, b):
    out = a * 1.0
    out.flat[1] = b
    out.flat[2:4] = b * b
    return out.flat[1:4] * out.flat[0], sum(out.flat)


@calls("numpy.ndarray.flat", given="")
def _(draw):
    return flat, (array(draw, (2, 3)), number(draw)), {}


# -- indices -------------------------------------------------------------------------------------------------

FIRST = np.array([True, False, True])
INDICES = {
    "basic": [0, -1, slice(1, None), slice(None, None, -2), (Ellipsis, 1), (None, 0), (slice(0, 2), 2)],
    "integers": [[0, 2], np.array([[0], [2]]), ([0, 2], [1, 1]), np.array([-1, 0])],
    "booleans": [FIRST, np.arange(12).reshape(3, 4) % 5 == 0],
    "mixed": [(slice(None), [3, 0]), (FIRST, slice(1, 3)), (0, [1, 2]), (FIRST, 1), ([[0], [2]], slice(2))],
}
WITH_TWICE = [[0, 0, 2], np.array([[1, 1], [0, 2]])]


def getitem(a, index):
    return a[index]


def setitem(a, index, value):
    out = a * 1.0
    out[index] = value
    return out


def register_indices(kind: str, indices: list[Any]) -> None:
    @calls(f"numpy.ndarray.__getitem__[{kind}]", given="")
    def _(draw):
        more = WITH_TWICE if kind == "integers" else []
        return getitem, (array(draw, (3, 4)), draw(st.sampled_from(indices + more))), {}

    @calls(f"numpy.ndarray.__setitem__[{kind}]", given="")
    def _(draw):
        a, index = array(draw, (3, 4)), draw(st.sampled_from(indices))
        value = number(draw) if flag(draw) else array(draw, np.shape(a[index]))
        return setitem, (a, index, value), {}


for _kind, _indices in INDICES.items():
    register_indices(_kind, _indices)


@calls("operator.setitem", given="")
def _(draw):
    return setitem, (array(draw, (3,)), draw(st.integers(0, 2)), number(draw)), {}


# -- operators in place --------------------------------------------------------------------------------------


def in_place(name: str) -> Any:
    apply = getattr(operator, f"i{name}")

    def changed(a, b):
        out = a * 1.0
        part = out[1:]
        out = apply(out, b)
        return out * part[0]

    return changed


def register_in_place(name: str) -> None:
    changed, by_a_matrix = in_place(name), name == "matmul"
    low, high = (0.01, 0.38) if name in ("mod", "floordiv") else (0.3, 2.0)

    @calls(f"in place.{name}", given="")
    def _(draw):
        shape = (3, 3) if by_a_matrix else draw(st.sampled_from([(2, 3), (3,), (1,)]))
        other = array(draw, shape, 0.4, 2.0) if by_a_matrix or flag(draw) else number(draw, 0.4, 2.0)
        left = (2, 3)
        return changed, (array(draw, left, low, high), other), {}


for _name in "add sub mul truediv floordiv mod pow matmul".split():
    register_in_place(_name)

# -- ufuncs in rounds ----------------------------------------------------------------------------------------


def at(ufunc: Any) -> Any:
    def changed(a, indices, b):
        out = a * 1.0
        ufunc.at(out, indices, b)
        return out

    return changed


def register_at(name: str) -> None:
    ufunc = getattr(np, name)
    changed = at(ufunc)

    @calls(f"numpy.{name}.at", given="")
    def _(draw):
        twice = name not in ("maximum", "minimum")
        indices = [0, 0, 2] if twice and flag(draw) else np.array([3, 1, 0])
        return changed, (array(draw, (4,), 0.3, 2.0), indices, array(draw, (3,), 0.35, 1.9)), {}


for _name in "add multiply maximum minimum subtract divide power".split():
    register_at(_name)
