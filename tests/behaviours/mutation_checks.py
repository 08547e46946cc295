"""`both_modes`: value and derivatives of a program that changes things, by reverse and by forward mode,
against central differences, and what it leaves behind against what the plain call leaves."""

import copy
import linecache

import numpy as np

from ctxdispatch import grad, jvp, value_and_grad, vjp

EPS = 1e-6


def numbers(x):
    """As a row."""
    return np.atleast_1d(np.asarray(x, float)).ravel()


def written(text, file):
    """The function `f` of a text, which is where tracebacks find it."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"np": np}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def central(f, x, eps=EPS):
    """df/dx of a number f(x), x a float or an array of floats, which f may change."""
    if isinstance(x, float):
        return (f(x + eps) - f(x - eps)) / (2 * eps)
    out = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[at] += eps
        below[at] -= eps
        out[at] = (f(above) - f(below)) / (2 * eps)
    return out


def both_modes(f, x, rtol=1e-5, atol=1e-7):
    plain_x = copy.deepcopy(x)
    plain = f(plain_x)
    expected = central(f, copy.deepcopy(x))
    mine = copy.deepcopy(x)
    value, found = value_and_grad(f)(mine)
    np.testing.assert_allclose(value, plain, rtol=1e-12)
    np.testing.assert_array_equal(mine, plain_x)  # as the plain call leaves it
    np.testing.assert_allclose(found, expected, rtol, atol)
    y, pullback = vjp(f, copy.deepcopy(x))
    for _ in range(2):
        np.testing.assert_allclose(pullback(1.0)[0], expected, rtol, atol)
    along = np.cos(np.arange(numbers(x).size)).reshape(np.shape(x))
    along = float(along) if isinstance(x, float) else along
    y, dy = jvp(f, (copy.deepcopy(x),), (along,))
    np.testing.assert_allclose(y, plain, rtol=1e-12)
    np.testing.assert_allclose(dy, np.sum(expected * along), rtol, atol)
    return expected


def second_order(f, x, rtol=1e-4, atol=1e-5):
    """Four ways to the second derivative, along one direction."""
    along = np.cos(np.arange(numbers(x).size)).reshape(np.shape(x))
    along = float(along) if isinstance(x, float) else along

    def slope(x):
        return np.sum(central(f, x) * along)

    # of central differences of the exact gradient
    step = 1e-5
    up, down = x + step * along, x - step * along
    expected = (numbers(grad(f)(up)) - numbers(grad(f)(down))) / (2 * step)
    ways = {
        "forward over reverse": lambda: jvp(grad(f), (copy.deepcopy(x),), (along,))[1],
        "reverse over reverse": lambda: grad(lambda x: np.sum(grad(f)(x) * along))(copy.deepcopy(x)),
        "reverse over forward": lambda: grad(lambda x: jvp(f, (x,), (along,))[1])(copy.deepcopy(x)),
    }
    for name, way in ways.items():
        np.testing.assert_allclose(numbers(way()), expected, rtol, atol, err_msg=name)
