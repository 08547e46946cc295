"""`check`: value and gradients of a function, by every way in, as expected and as central differences say."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import grad, value_and_grad, vjp
from tests.recording import RECORDED

EPS = 1e-6


def recorded(f):
    """The same program, with a `with` that has it recorded."""

    def g(x):
        with RECORDED:
            return f(x)

    return g


WAYS = pytest.mark.parametrize("way", [lambda f: f, recorded], ids=["compiled", "recorded"])


def check(f, *args, grads, value=None):
    """`grads` has one cotangent per argument, None where there is none. Arguments are left as they were."""
    before = copy.deepcopy(args)
    plain = f(*copy.deepcopy(args))
    if value is not None:
        same(plain, value)
    y, pullback = vjp(f, *args)
    same(y, plain)
    same(pullback(1.0), grads)
    same(pullback(2.0), doubled(grads))  # it may be called again
    wrt = tuple(i for i, g in enumerate(grads) if g is not None)
    if wrt:
        same(grad(f, wrt)(*args), tuple(grads[i] for i in wrt))
        same(value_and_grad(f, wrt[0])(*args), (plain, grads[wrt[0]]))
    same(args, before)
    for path in leaves(args):
        central = (f(*moved(args, path, EPS)) - f(*moved(args, path, -EPS))) / (2 * EPS)
        found = 0.0 if at(grads, path) is None else at(grads, path)
        assert np.isclose(found, central, rtol=1e-5, atol=1e-6), (path, found, central)


def same(found, expected):
    """Equal structure and types, close numbers."""
    if isinstance(expected, (tuple, list)):
        assert type(found) is type(expected) and len(found) == len(expected), _shown(found, expected)
        for a, b in zip(found, expected):
            same(a, b)
    elif isinstance(expected, dict):
        assert type(found) is type(expected) and list(found) == list(expected), _shown(found, expected)
        same(list(found.values()), list(expected.values()))
    elif isinstance(expected, SimpleNamespace):
        assert isinstance(found, SimpleNamespace), _shown(found, expected)
        assert vars(found).keys() == vars(expected).keys(), _shown(found, expected)
        for name, b in vars(expected).items():
            same(getattr(found, name), b)
    elif isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray) and found.shape == expected.shape, _shown(found, expected)
        assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    elif isinstance(expected, float):
        assert isinstance(found, float), _shown(found, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    elif hasattr(expected, "__dict__") and not callable(getattr(expected, "__get__", None)):
        assert type(found) is type(expected), _shown(found, expected)
        same(vars(found), vars(expected))
    else:
        assert found is expected or found == expected, _shown(found, expected)


def _shown(found, expected):
    return f"found {str(found)[:300]}, expected {str(expected)[:300]}"


def doubled(tree):
    if isinstance(tree, dict):
        return {k: doubled(v) for k, v in tree.items()}
    if isinstance(tree, SimpleNamespace):
        return SimpleNamespace(**doubled(vars(tree)))
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*map(doubled, tree))
    if isinstance(tree, (tuple, list)):
        return type(tree)(map(doubled, tree))
    return None if tree is None else 2 * tree


def leaves(tree, path=()):
    """Paths to the floats in tuples, lists, dicts and arrays."""
    if isinstance(tree, (tuple, list)):
        return [p for i, item in enumerate(tree) for p in leaves(item, (*path, i))]
    if isinstance(tree, dict):
        return [p for key, item in tree.items() for p in leaves(item, (*path, key))]
    if isinstance(tree, np.ndarray) and tree.dtype.kind == "f":
        return [(*path, index) for index in np.ndindex(tree.shape)]
    return [path] if isinstance(tree, float) else []


def moved(tree, path, eps):
    """A copy of the tree whose float at `path` is moved by eps."""
    if not path:
        return tree + eps
    first, rest = path[0], path[1:]
    if isinstance(tree, tuple):
        items = [moved(item, rest, eps) if i == first else item for i, item in enumerate(tree)]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    changed = copy.copy(tree)
    changed[first] = moved(tree[first], rest, eps)
    return changed


def at(tree, path):
    """The entry at `path`; None where the tree has a None on the way, or lacks the key."""
    for key in path:
        if tree is None:
            return None
        tree = tree.get(key) if isinstance(tree, dict) else tree[key]
    return tree
