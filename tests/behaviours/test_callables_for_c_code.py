"""What C code calls is under the context, whatever kind of callable it is."""

import functools

import numpy as np
import pytest

from ctxdispatch import grad, jvp

wrapt = pytest.importorskip("wrapt")


def product(x, y):
    return x * x * y


class Product:
    def __call__(self, x, y):
        return x * x * y

    def method(self, x, y):
        return x * x * y

    @staticmethod
    def static(x, y):
        return x * x * y

    @classmethod
    def of_class(cls, x, y):
        return x * x * y


@wrapt.decorator
def passed_on(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)


KINDS = {
    "function": product,
    "object": Product(),
    "method": Product().method,
    "static": Product.static,
    "static method itself": staticmethod(product),
    "static object": staticmethod(Product()),
    "twice": staticmethod(staticmethod(product)),
    "class method": Product.of_class,
    "partial": functools.partial(product),
    "cached": functools.lru_cache(product),
    "decorated": passed_on(product),
    "dispatched": functools.singledispatch(product),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("made_inside", [False, True])
def test_vectorized(kind, made_inside):
    kept = np.vectorize(KINDS[kind], otypes=[float])

    def program(x):
        f = np.vectorize(KINDS[kind], otypes=[float]) if made_inside else kept
        return np.sum(f(x, 2.0) * x)

    x = np.array([1.0, 1.0, 2.0])
    np.testing.assert_allclose(grad(program)(x), 6 * x**2)
    np.testing.assert_allclose(jvp(program, (x,), (x,)), (np.sum(2 * x**3), np.sum(6 * x**3)))
    np.testing.assert_allclose(kept(x, 2.0), 2 * x**2)
