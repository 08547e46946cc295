"""What is taken for a constant: parts of trees (behaviour 73), calls and blocks; in every mode, and of every
order."""

import dataclasses
import zlib

import numpy as np
import pytest
from behaviour_checks import WAYS

from ctxdispatch import grad, hessian, jvp, no_grad, stop_gradient, vjp
from ctxdispatch_contexts.reverse import DerivativeError

X = np.array([1.0, 2.0, 3.0])


@dataclasses.dataclass
class Layer:
    w: object
    b: object


PARTS = {
    "path": "layers.0.w",
    "paths": {("layers", 0, "w")},
    "predicate": lambda path, leaf: path[-1] == "w",
    "mask": {"layers": [Layer(True, False)]},
    "mask of a part": {"layers": [Layer(True, None)], "scale": None},
}


@pytest.mark.every(8)
@WAYS
@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_073_parts_of_a_tree(way, parts):
    def f(x):
        model = {"layers": [Layer(x, x * x)], "scale": x}
        still = stop_gradient(model, parts)
        assert type(still["layers"][0]) is Layer and model["layers"][0] is not still["layers"][0]
        return still["layers"][0].w * still["layers"][0].b * still["scale"]

    assert f(2.0) == 16.0
    assert grad(way(f))(2.0) == 24.0  # of w x**3
    assert jvp(way(f), (2.0,), (1.0,)) == (16.0, 24.0)
    assert grad(grad(way(f)))(2.0) == 24.0  # w is a constant to the outer one, too
    assert grad(lambda x: jvp(way(f), (x,), (1.0,))[1])(2.0) == 24.0


def test_073_parts_of_arguments():
    def f(model, x):
        model = stop_gradient(model, {"b", "w"})
        return (model.w * x).sum() + model.b

    model = Layer(X, 2.0)
    found, dx = grad(f, argnums=(0, 1))(model, X)
    np.testing.assert_array_equal(found.w, np.zeros(3))
    assert found.b == 0.0
    np.testing.assert_array_equal(dx, X)
    assert model.w is X


def test_073_a_part_that_is_not_there():
    def f(x):
        return stop_gradient({"a": x}, "b.c")["a"]

    with pytest.raises(DerivativeError, match=r"test_stopping.py:\d+ in .*f: .*no part 'b.c'"):
        grad(f)(2.0)
    with pytest.raises(DerivativeError, match="no part 'a.b'"):
        stop_gradient({"a": 1.0}, {"a": {"b": True}})


@WAYS
def test_073_constants_of_every_order(way):
    def f(x):
        return x * stop_gradient(x)

    assert grad(way(f))(3.0) == 3.0
    assert grad(grad(way(f)))(3.0) == hessian(way(f))(3.0) == 0.0


# -- no_grad -------------------------------------------------------------------------------------------------


def test_a_call_that_is_no_part_of_the_derivative():
    def f(x):
        return (no_grad(np.sin)(x) * x).sum()

    @no_grad
    def checksum(x):
        return zlib.crc32(x.tobytes())

    np.testing.assert_allclose(grad(f)(X), np.sin(X))
    np.testing.assert_allclose(grad(lambda x: (x * (checksum(x) > 0)).sum())(X), np.ones(3))
    np.testing.assert_allclose(jvp(f, (X,), (np.ones(3),))[1], np.sin(X).sum())
    np.testing.assert_array_equal(hessian(f)(X), np.zeros((3, 3)))


def block(x):
    y = x * x
    with no_grad():
        zlib.crc32(x.tobytes())
        c = (x * x).sum()
        y[1] = x[1]
        y *= x
    y[0] = x[0] ** 3
    return (y * x).sum() * c


def test_a_block_that_is_no_part_of_the_derivative():
    expected = 14.0 * np.array([4.0, 4.0, 27.0])
    assert block(X) == 14.0 * 90.0
    np.testing.assert_allclose(grad(block)(X), expected)
    np.testing.assert_allclose(vjp(block, X)[1](1.0)[0], expected)
    y, dy = jvp(block, (X,), (X,))
    assert y == 14.0 * 90.0
    np.testing.assert_allclose(dy, expected @ X)
    np.testing.assert_allclose(hessian(block)(X), np.diag([14.0 * 12.0, 0.0, 0.0]))
    np.testing.assert_array_equal(X, [1.0, 2.0, 3.0])


def test_a_block_that_overwrites_what_was_read():
    def f(x):
        y = x * x
        total = (y * y * x).sum()
        with no_grad():
            y[:] = 0.0
        return total + (y * x).sum()

    np.testing.assert_allclose(grad(f)(X), 5 * X**4)
    np.testing.assert_allclose(hessian(f)(X), np.diag(20 * X**3))


def test_a_call_that_stores():
    def triple(y):
        y *= 3.0
        return y

    def f(x):
        y = x * 2.0
        z = no_grad(triple)(y)
        return (y * x + z * x).sum()

    np.testing.assert_allclose(grad(f)(X), 12 * X)
    np.testing.assert_allclose(jvp(f, (X,), (np.ones(3),))[1], 12 * X.sum())
    np.testing.assert_array_equal(hessian(f)(X), np.zeros((3, 3)))


def test_blocks_end_with_exceptions():
    def f(x):
        try:
            with no_grad():
                with no_grad():
                    x * x
                raise ValueError
        except ValueError:
            return x * x

    assert grad(f)(4.0) == 8.0


def test_a_block_does_nothing_to_the_plain_run():
    with no_grad() as entered:
        assert isinstance(entered, no_grad)
    assert no_grad(max)(1, 2) == 2
