"""Ordinary programs, run plainly at points and enclosed around them.

What an interval gives must contain what each of its points gives, of the same shape; arguments must be
changed alike, and share the memory of results alike. None of these programs is refused.
"""

import copy
import functools
import inspect
import itertools
import math
import operator

import numpy as np
import pytest

from ctxdispatch import overdub
from ctxdispatch.contexts import IntervalContext
from ctxdispatch_contexts.intervals import Interval

POINTS = {
    "x": 1.2, "y": 0.4, "z": -2.3,
    "v": np.array([0.5, 1.25, 2.0, 3.5]), "w": np.array([1.5, 0.75, 2.5, 0.25]),
    "m": np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]), "s": np.arange(1.0, 10.0).reshape(3, 3) / 4,
    "t": np.arange(-5.0, 7.0).reshape(2, 2, 3) / 8, "e": np.zeros((0, 3)), "o": np.array(1.75),
}  # fmt: skip
"""A program's arguments are those that its parameters name. Sums of products of arrays' elements are exact at
all points that are tried: NumPy rounds nothing, in whichever order it takes them."""

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


# -- numbers ---------------------------------------------------------------------------------------

PROGRAMS += [
    lambda x, y: (x + y, x - y, x * y, x / y, x**y, -x, +x, abs(x), 2 - x, 3 / y),
    lambda x, y: (x // y, x % y, divmod(x, y), divmod(np.float64(7), y), 7 % y, 7 // y),
    lambda x, z: (z // x, z % x, z**3, z**-2, z**0, abs(z), round(z), math.floor(z), math.trunc(z)),
    lambda x, y: (math.sin(x), math.exp(-y), math.log(x), math.log(x, 2), math.sqrt(y), math.atan2(y, x)),
    lambda x, y, z: (math.hypot(x), math.hypot(x, y), math.hypot(x, y, z, 2), math.dist([x, y], (1, 2))),
    lambda x, y, z: (max(x, y), min([x, y, z]), sum([x, y, z]), sum((x, y), z), pow(x, 2), math.pow(x, y)),
    lambda x, y: (math.fsum([x, y, 0.1]), math.prod([x, y, 3]), max((x, y), default=0), max([], default=x)),
    lambda x, z: (x > 1, z < 0, x == z, x != z, not x, bool(z), x > z, x is None, x == None, x == "text"),
    lambda x: (x * np.int64(3), np.float64(0.5) + x, x - np.float64(0.25), np.bool_(True) * x, x**np.int8(2)),
    lambda x: (x * (2**53 + 1), x * np.uint64(2**63 + 1025), x + np.longdouble("0.125"), x * 10**30),
    lambda x: (x % 0.25, x % -0.25, -x % 0.25, x // -0.25, 5 % x, -5 % x, x % math.inf),
    lambda x: (math.isnan(x), math.isfinite(x), math.isinf(x), np.isfinite(x), np.isnan(x), np.isinf(x)),
    lambda x: (np.sin(x), np.maximum(x, 1), np.hypot(x, 2), np.power(x, 3), np.divmod(x, 0.5), np.square(x)),
    lambda x, z: functools.reduce(operator.mul, [x, z, x]),
    lambda x, y: sorted([x, y, -1.0], key=lambda each: -each),
    lambda x, y: [f * x for f in itertools.accumulate([y, y, y])],
    lambda x: (np.shape(x), np.ndim(x), np.size(x)),
]  # fmt: skip


@program
def newton(x):
    for _ in range(4):
        x -= (x * x - 2.0) / (2.0 * x)
    return x


@program
def rebinding_a_number(x):
    y = x
    y += 1.0
    y *= 2
    return x, y


@program
def an_array_without_dimensions(o):
    p = o
    p += 1.0
    return o, p, o * 2, o[()]


@program
def euler(x, y):
    path = [x]
    while len(path) < 6:
        path.append(path[-1] + 0.1 * math.sin(path[-1]) * y)
    return path


# -- views and changes in place --------------------------------------------------------------------


@program
def adding_in_place(v, w):
    u = v
    u += w
    u -= 1.0
    u *= w
    u /= 2
    u **= 2
    u %= 7.0
    return v


@program
def floor_and_matmul_in_place(v, s):
    v //= 0.3
    s @= s
    return v


@program
def a_list_added_in_place(v):
    v += [1, 2, 3, 4]
    return v * [1.0, 0.5, 0.25, 2]


@program
def slices(v):
    v[1:] += v[:-1]
    v[::2] *= 3.0
    return v[1:3]


@program
def overlapping(v):
    v[1:] = v[:-1]
    v[:] = v[::-1]


@program
def a_view_of_zeros(v):
    u = np.zeros_like(v)
    halves = u.reshape(2, 2)
    halves[0, 1] = v[2]
    u[3:] = 7.0
    return u, halves


@program
def diagonals_and_transposes(s):
    s.T[0] = 5.0
    s[[0, 1], [1, 2]] = s[2, :2]
    return s.T, s.swapaxes(0, 1), np.diagonal(s), s.transpose(1, 0), np.transpose(s)


@program
def what_flatten_and_ravel_share(m):
    flat, same = m.flatten(), m.ravel()
    flat[0] = 9.0
    same[1] = 8.0
    return flat, same


@program
def ravel_of_a_transpose(m):
    u = m.T * 2.0
    flat = u.ravel()
    flat[0] = 9.0
    return u, flat, m.T.ravel()


@program
def reshaped_quotients(m):
    u = (1.0 / m.T) - m.T**2 + np.exp(m.T) * np.sin(m.T) + np.tan(m.T)
    r = u.reshape(-1)
    r[:] = 0.0
    return u


@program
def copies(v):
    parts = [v.copy(), np.copy(v), +v, v[[0, 1, 2, 3]], v.astype(float), copy.copy(v), np.array(v), v[v > 0]]
    for part in parts:
        part[0] = 100.0
    np.asarray(v)[1] = 4.0
    return parts, v[...]


@program
def rows_are_views(m):
    for row in m:
        row += 1.0
        row[0] = 0.0
    return list(m)


@program
def a_local_function_changes(v):
    def scale(array, by):
        array *= by

    scale(v[:2], 10.0)
    return v


@program
def masks(v, w):
    v[v > 3.0] = 0.0
    v[v < 0.25] += 0.5
    return v, np.where(w > 1.0, w, -w), w[w > 1.0]


@program
def storing_in_likes(v):
    out, ones, full = np.empty_like(v), np.ones_like(v), np.full_like(v, v[0])
    for k in range(len(v)):
        out[k] = v[k] ** k
    out.fill(v[1])
    return out + ones, full


@program
def stencil(v):
    u = np.zeros_like(v)
    u[1:-1] = 0.5 * (v[2:] - 2 * v[1:-1] + v[:-2])
    v += 0.1 * u
    return u


@program
def prefix_sums(v):
    for k in range(1, v.size):
        v[k] += v[k - 1]
    return v


@program
def elimination(s):
    for k in range(2):
        s[k + 1 :, k:] -= np.outer(s[k + 1 :, k] / (s[k, k] + 9), s[k, k:])
    return s


@program
def broadcast_views(v):
    u = np.broadcast_to(v, (2, 4))
    v[0] = 6.0
    return u, v[None], v[:, np.newaxis].shape


@program
def items_of_two_dimensions(m):
    m[0, 1], m[1, 2] = m[1, 2], m[0, 1]
    m[:, 0] = m[:, 1] + m[..., 2]
    return m[1], m[-1, -1], m[:, ::-1], m.shape, len(m)


# -- out -------------------------------------------------------------------------------------------


@program
def out_of_ufuncs(v, w):
    out = np.zeros_like(v)
    same = np.multiply(v, w, out=out)
    np.add(v[:-1], v[1:], out=v[1:])
    np.sin(w, out)
    thirds = np.reciprocal(np.array([3.0, 7.0]), out=v[:2]) + np.max([[3, 1]], axis=0, out=w[:2])
    return same is out, out, thirds


@program
def out_of_reductions(m):
    out = np.zeros_like(m[0])
    np.sum(m, 0, None, out)
    np.max(m, axis=0, out=m[1])
    m.mean(axis=0, out=m[0])
    return out, np.add.reduce(m, axis=1, out=m[:, 0])


@program
def out_of_functions(v, w, s):
    np.take(v, [3, 2, 1, 0], out=w)
    np.clip(v, 1.0, 2.0, out=v)
    np.dot(s, s * 2, out=s)
    return np.concatenate([v[:2], w[:2]], out=v)


@program
def out_of_comparisons(v):
    out = np.zeros(4, bool)
    return np.less(v, 1.0, out=out), out


# -- sums, products, dots --------------------------------------------------------------------------

PROGRAMS += [
    lambda m: (np.sum(m), m.sum(axis=0), m.sum(1), np.sum(m, -1, keepdims=True), np.sum(m, axis=())),
    lambda t: (t.sum(axis=(0, 2)), np.sum(t, axis=(2, 0), keepdims=True), t.mean(axis=1), np.mean(t)),
    lambda m: (np.add.reduce(m), np.add.reduce(m, 1), np.maximum.reduce(m), np.minimum.reduce(m, axis=1)),
    lambda m: (m.max(), m.min(axis=1), np.max(m, axis=0, keepdims=True), np.min(m), max(m[0]), min(m[1])),
    lambda e: (e.sum(), e.sum(axis=0), e.sum(axis=1), e @ np.ones((3, 2)), e.T @ e, e * 2, e[:0], list(e)),
    lambda v, w: (v @ w, np.dot(v, w), v.dot(w), np.inner(v, w), np.vdot(v, w), np.outer(v, w), v.dot(2.0)),
    lambda m, s: (m @ s, m.dot(s), np.dot(m, s), np.inner(m, s), np.matmul(m, s), np.vdot(m, m)),
    lambda m, s: (s @ m[0], m[0] @ s, np.dot(m, m[0]), np.dot(m[0], s), np.inner(m[0], m), np.inner(s, s[0])),
    lambda t, s: (t @ s, np.dot(t, s), np.inner(t, s), np.dot(s, t.swapaxes(1, 2)), s[0] @ t.swapaxes(1, 2)),
    lambda t: (np.dot(t, t.reshape(2, 3, 2)), np.inner(t, t), t @ t.swapaxes(-1, -2), np.dot(t, 2.0)),
    lambda s: (np.eye(3) @ s, s @ np.eye(3), np.ones(3) @ s, np.dot(np.eye(3), s), np.inner(np.eye(3), s)),
    lambda v, x: (np.dot(v, x), np.inner(x, v), np.dot(x, x), sum(v), sum(v * v) ** 0.5),
    lambda v: (np.diff(v), np.clip(v, 1, 2), v.clip(max=2.0), np.clip(v, min=1.0), np.clip(v, None, v[1])),
]  # fmt: skip

# -- moving and comparing --------------------------------------------------------------------------

PROGRAMS += [
    lambda v, w: (np.concatenate([v, w]), np.stack((v, w), axis=1), np.vstack([v, w]), np.hstack([v, [1]])),
    lambda m: (np.concatenate([m, m], axis=1), np.concatenate([m, m], axis=None), np.column_stack([m, m])),
    lambda m: (np.reshape(m, (3, 2)), m.reshape(-1), m.reshape((6, 1)), np.ravel(m), m[0].squeeze(), m.T),
    lambda m: (np.expand_dims(m, 1), np.moveaxis(m, 0, 1), np.swapaxes(m, 0, 1), np.atleast_2d(m[0])),
    lambda v: (np.repeat(v, 2), v.repeat([1, 0, 2, 1]), np.tile(v, 2), np.flip(v), np.roll(v, 1), np.diag(v)),
    lambda s: (np.diag(s), np.triu(s), np.tril(s), np.rot90(s), s.take([0, 4]), np.take(s, 1, axis=0)),
    lambda v: (v > 1.0, v <= 4, v == 9.0, v != [9, 9, 9, 9], 1.0 < v, np.greater(v, 3), v == ""),
    lambda v: (9.0 in v, "a" in v, any(v > 3), all(u > 0 for u in v), np.any(v < 1), np.where(v > 1, 1.0, v)),
    lambda x, y: (np.array([x, y]), np.array([[x, 1], [y, 2]]) @ [1.0, 2.0], np.array([[x], [y]]).shape),
    lambda x: (np.asarray([x, 2 * x], dtype=float), np.array(x), np.full(3, x), np.array([x]) + [[1], [2]]),
    lambda v: (v[0], v[-1], v[1:][0], v[[2, 0]], v[np.array([True, False, True, False])], [u for u in v]),
    lambda v, m: (v.size, m.ndim, v.shape, np.shape(m), v.dtype == float, len(m), v.T, m.size),
    lambda v: ({"a": v[0], "b": [v[1]]}["b"][0], (lambda *a: a[::-1])(*v), list(zip(v, v[1:]))),
    lambda v: (v ** np.array([0, 1, 2, 3]), (-v) ** [2, 1, 0, -1], 2.0**v, v**0.5, v**-1, v**v),
    lambda v, x: (v[:, None] * v, v + x, x - v, np.hypot(v, x), np.arctan2(v, x), x**v, v % x, v // x),
]  # fmt: skip

# -- the checker -----------------------------------------------------------------------------------


def inside(low, high):
    """Points of the interval: its bounds, its middle, and two more."""
    for share in (0.0, 1.0, 0.5, 0.125, 0.8125):
        point = low + (high - low) * share
        yield np.array(point) if isinstance(low, np.ndarray) else point


def plainly(f, points):
    args = [copy.deepcopy(p) for p in points]
    with np.errstate(all="ignore"):
        return f(*args), args


def enclosed(f, lows, highs):
    args = [Interval(low, high) for low, high in zip(lows, highs)]
    return overdub(IntervalContext(), f, *args), args


def check(found, plain):
    if isinstance(found, Interval):
        assert found.shape == np.shape(plain)
        assert isinstance(found.lo, np.ndarray) == isinstance(plain, np.ndarray)
        assert found.contains(plain), (found, plain)
        assert not found.size or not np.shares_memory(found.lo, found.hi)
    elif isinstance(plain, list | tuple):
        assert type(found) is type(plain) and len(found) == len(plain)
        for each, other in zip(found, plain):
            check(each, other)
    else:
        assert np.shape(found) == np.shape(plain) and np.all(found == plain)


def leaves(value):
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, list | tuple) else [value]


def shared(found, args):
    """Which leaves share the memory of which arguments."""
    arrays = [(a, b) for a in leaves(found) for b in args]
    return [
        isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.shares_memory(a, b) for a, b in arrays
    ]


def bounds(value, which):
    return [getattr(leaf, which) if isinstance(leaf, Interval) else leaf for leaf in leaves(value)]


def check_program(f, lows, highs):
    found, changed = enclosed(f, lows, highs)
    for points in zip(*(inside(low, high) for low, high in zip(lows, highs))):
        plain, args = plainly(f, points)
        check(found, plain)
        check(changed, args)
        for which in ("lo", "hi"):
            assert shared(bounds(found, which), bounds(changed, which)) == shared(plain, args)


def points_of(f):
    return [POINTS[name] for name in inspect.signature(f).parameters]


def identity(f):
    return f"{f.__name__.strip('<>')}-{f.__code__.co_firstlineno}"


@pytest.mark.parametrize("f", PROGRAMS, ids=identity)
@pytest.mark.parametrize("width", [0.0, 2.0**-20, 2.0**-6])
def test_programs_are_enclosed(f, width):
    lows = points_of(f)
    highs = [np.array(low + width) if isinstance(low, np.ndarray) else low + width for low in lows]
    check_program(f, lows, highs)
