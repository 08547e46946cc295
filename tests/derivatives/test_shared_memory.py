"""What a function returns is an operand, a view of one, or a new array: under derivatives it is the same.
Lowerings are compared with the functions they stand for, on operands and keywords that leave nothing to do;
programs store into what they got, and into what they gave."""

import inspect
import itertools
import warnings

import numpy as np
import pytest

from ctxdispatch import jvp, value_and_grad
from ctxdispatch_contexts.derivatives import table

NOTHING = np._NoValue
OPERANDS = [
    np.array([3.416, 1.23, 2.323]), np.array([[1.23], [3.416], [2.323]]), np.array([[1.23, 2.323, 3.416]]),
    np.array([[4.509, 1.23], [1.23, 3.416]]), np.array(1.7765), np.array([1.7765]),
    np.linspace(1.1, 3.3, 8).reshape(2, 2, 2), np.asfortranarray(np.linspace(0.6, 2.1, 6).reshape(2, 3)),
    np.linspace(0.7, 3.1, 9)[::2],
]  # fmt: skip
IDENTITIES = {
    "n": [0, 1], "k": [0], "axis": [0, -1, None, ()], "repeats": [1], "copy": [False, None, True],
    "dtype": [float], "order": ["K", "A"], "shift": [0], "decimals": [0], "axes": [None], "sparse": [True],
    "a_min": [None], "a_max": [None], "min": [None], "max": [None], "reps": [1], "prepend": [NOTHING],
    "keepdims": [True], "indexing": ["ij"], "weights": [None], "to_end": [None], "ddof": [0],
    "period": [None], "initial": [0.0], "N": [None], "p": [None], "ord": [None], "ind": [1],
}  # fmt: skip
POSITIONAL = [(), (0,), (1,), (None,), (None, None), (0, 1), ("operand",)]
PYTHONS = (max, min)  # of one array in a list, their lowerings ask for its truth


def name_of(f):
    return f"{getattr(f, '__module__', None)}.{f.__qualname__}"


def is_probed(kind, f):
    """Those of SciPy's are loaded with it, and take numbers."""
    return kind == "lowering" and f not in PYTHONS and not isinstance(f, np.ufunc)


LOWERED = sorted({f for kind, f in table.names() if is_probed(kind, f)}, key=name_of)


def variants(lowering):
    """Arguments after the first, and keywords."""
    yield from ((args, {}) for args in POSITIONAL)
    for name in inspect.signature(lowering).parameters:
        for value, args in itertools.product(IDENTITIES.get(name, ()), [(), (1,), ("operand",)]):
            yield args, {name: value}


def arrays(y):
    if isinstance(y, (list, tuple)):
        return [each for item in y for each in arrays(item)]
    return [y] if isinstance(y, np.ndarray) else []


def shared(f, operand, listed, args, kwargs):
    """Per array in the result whether it is the operand, and shares its memory; None for an error."""
    a = operand.copy(order="K")
    given = [a if isinstance(arg, str) else arg for arg in args]
    try:
        y = f([a] if listed else a, *given, **kwargs)
        y = list(y) if hasattr(y, "__next__") else y
    except Exception:
        return None
    return [(found is a, np.shares_memory(found, a)) for found in arrays(y)]


@pytest.mark.parametrize("f", LOWERED, ids=name_of)
def test_lowerings_share_memory_as_the_function_does(f):
    calls = itertools.product(variants(table.lowering(f)), OPERANDS, [False, True])
    for (args, kwargs), operand, listed in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lowering = table.lowering(f, tuple(kwargs))
            expected = shared(f, operand, listed, args, kwargs)
            found = shared(lowering, operand, listed, args, kwargs)
        if expected and found:  # errors, and results that are no arrays, are other tests' business
            assert found == expected, (operand, listed, args, kwargs)


CALLS = """
np.clip(b, None, None)           b.clip()                        np.clip(b, None, 9.0)
np.diff(b, n=0)                  np.diff(b, 0, axis=0)           np.meshgrid(b, copy=False)[0]
np.meshgrid(b)[0]                np.meshgrid(b, sparse=True)[0]  np.meshgrid(b, sparse=True, copy=False)[0]
np.linalg.matrix_power(s, 1)     np.atleast_1d(b)                np.atleast_2d(b)
np.atleast_3d(b)                 np.asarray(b)                   np.asanyarray(b)
np.asarray(b, float)             np.array(b, copy=None)          np.array(b)
np.array(b, copy=False)          b.astype(float, copy=False)     b.astype(float)
np.ascontiguousarray(b)          np.asfortranarray(b)            np.asfortranarray(s)
np.ascontiguousarray(s)          np.reshape(b, -1)               b.reshape(b.shape)
np.reshape(s.T, -1)              s.T.reshape((2, 2))             np.ravel(b)
np.ravel(s.T)                    s.ravel("K")                    b.flatten()
np.squeeze(b)                    np.expand_dims(b, 0)            np.moveaxis(s, 0, 0)
np.swapaxes(s, 0, 0)             np.rollaxis(s, 0)               np.transpose(b)
np.transpose(s)                  np.rot90(s, 0)                  np.flip(b, ())
np.flip(b)                       np.roll(b, 0)                   np.repeat(b, 1)
np.tile(b, 1)                    np.pad(b, 0)                    np.real(b)
np.conj(b)                       b.conj()                        np.real_if_close(b)
np.nan_to_num(b, copy=False)     np.nan_to_num(b)                np.diagonal(s)
np.diag(s)                       np.tril(s, 9)                   np.split(b, 1)[0]
np.array_split(b, 1)[0]          np.hsplit(b, 1)[0]              np.broadcast_to(b, b.shape)
np.broadcast_arrays(b)[0]        np.concatenate([b])             np.stack([b])[0]
np.positive(b)                   np.negative(-b)                 b * 1.0
+b                               b + 0.0                         b[...]
b[:]                             b[()]                           b[None]
np.take(b, [0, 1, 2])            np.compress([True] * 3, b)      np.trim_zeros(b)
np.unwrap(b)                     np.sort(b)                      np.delete(b, [])
np.append(b, [])                 np.interp(b, b, b)              np.cumsum(b[None], 0)[0]
np.sum(b[None], 0)               np.max(b[None], 0)              np.mean(b[None], axis=0)
np.linalg.multi_dot([b[None], s3])   np.einsum("i->i", b)        np.einsum("ij->ji", s)
np.where(True, b, 0.0)           np.choose(0, [b, b])            np.select([b > -9.0], [b])
np.copy(b)                       b.copy()                        b.view()
np.require(b)                    np.maximum(b, -9.0)             np.minimum.reduce(b[None])
np.add.accumulate(b[None])[0]    np.squeeze(b[None], 0)          max([b], key=len)
sorted([b], key=len)[0]          list(map(np.asarray, [b]))[0]   b.conj(np.empty(3))
"""
CALLS = [call.strip() for line in CALLS.splitlines() for call in line.split("  ") if call.strip()]
BODIES = [
    "v[...] = 0.25 * v; return np.sum(b * w) + np.sum(s)",
    "b[...] = b * b; s[0] = 2.0 * s[1]; return np.sum(v * np.cos(np.arange(v.size)).reshape(v.shape))",
]  # fmt: skip
X = np.array([0.3, -1.2, 0.8])


def program(call, body, recorded):
    lines = ["b = a * 1.0", "s = np.outer(a[:2], a[1:])", "s3 = np.eye(3)", f"v = {call}", *body.split("; ")]
    if recorded:
        lines = ["try:", *("    " + line for line in lines), "finally:", "    pass"]
    scope = {"np": np, "w": np.array([0.5, -0.7, 1.3])}
    exec("def f(a):\n" + "".join(f"    {line}\n" for line in lines), scope)
    return scope["f"]


def slope(f, x, d, h=1e-3):
    return (8 * (f(x + h * d) - f(x - h * d)) - (f(x + 2 * h * d) - f(x - 2 * h * d))) / (12 * h)


@pytest.mark.every(12)
@pytest.mark.parametrize("recorded", [False, True], ids=["compiled", "recorded"])
@pytest.mark.parametrize("call", CALLS)
def test_what_is_stored_is_seen_as_in_the_plain_call(call, recorded):
    d = np.array([0.7, 0.4, -1.1])
    for body in BODIES[:1] if recorded else BODIES:
        f = program(call, body, recorded)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = f(X)
        except ValueError:  # it may not be written to, or there is nothing that need not be copied
            continue
        value, gradient = value_and_grad(f)(X)
        assert value == pytest.approx(expected)
        assert gradient @ d == pytest.approx(slope(f, X, d), rel=1e-6, abs=1e-8)
        value, tangent = jvp(f, (X,), (d,))
        assert value == pytest.approx(expected)
        assert tangent == pytest.approx(slope(f, X, d), rel=1e-6, abs=1e-8)
