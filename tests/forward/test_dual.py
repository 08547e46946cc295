"""`Dual` and `DualContext`: single tangents, blocks of them, and both mixed with what does not vary."""

import numpy as np
import pytest

from ctxdispatch import Dual, DualContext, jvp, overdub
from ctxdispatch_contexts.reverse import DerivativeError


def poly(x, y, k=2.0):
    return x * x * y + k * y


def pushed(f, *args, **kwargs):
    return overdub(DualContext(), f, *args, **kwargs)


def test_dual():
    d = Dual(2.0, 1.0)
    assert repr(d) == "Dual(2.0, 1.0)"
    assert tuple(d) == (2.0, 1.0)
    with pytest.raises(TypeError):
        d + d
    with pytest.raises(AttributeError):
        d.other = 1


def test_single_tangents():
    assert tuple(pushed(poly, Dual(2.0, 1.0), 3.0)) == (18.0, 12.0)
    assert tuple(pushed(poly, Dual(2.0, 1.0), Dual(3.0, 10.0))) == (18.0, 72.0)
    assert tuple(pushed(poly, 2.0, Dual(3.0, 1.0), k=5.0)) == (27.0, 9.0)
    assert tuple(pushed(poly, 2.0, 3.0, k=Dual(2.0, 1.0))) == (18.0, 3.0)


def test_without_a_dual():
    y, dy = pushed(poly, 2.0, 3.0)
    assert y == 18.0 and not dy


def test_blocks_of_numbers():
    y, dy = pushed(poly, Dual(2.0, np.array([1.0, 0.0, 2.0])), Dual(3.0, np.array([0.0, 1.0, 1.0])))
    assert y == 18.0
    np.testing.assert_array_equal(dy, [12.0, 6.0, 30.0])


@pytest.mark.parametrize("k", [0, 1, 2, 5])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (1,), (0,)])
def test_blocks_of_arrays_are_single_tangents_side_by_side(k, shape):
    def f(x, y):
        return np.sin(x) * y + np.sum(x, axis=0)

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=shape), rng.normal(size=shape)
    dx, dy = rng.normal(size=(k, *shape)), rng.normal(size=(k, *shape))
    found = pushed(f, Dual(x, dx), Dual(y, dy))
    assert found.partials.shape == (k, *shape)
    for i in range(k):
        np.testing.assert_allclose(found.partials[i], jvp(f, (x, y), (dx[i], dy[i]))[1], rtol=1e-14)
    constant = pushed(f, Dual(x, dx), y)
    for i in range(k):
        np.testing.assert_allclose(constant.partials[i], jvp(f, (x, y), (dx[i], None))[1], rtol=1e-14)


def test_blocks_through_containers_and_control_flow():
    def f(xs):
        total = 0.0
        for x in xs:
            total = total + (x * x if x > 1.0 else x)
        return {"total": total, "first": xs[0]}

    y, dy = pushed(f, Dual([2.0, 0.5], [np.array([1.0, 0.0]), np.array([0.0, 1.0])]))
    assert y == {"total": 4.5, "first": 2.0}
    np.testing.assert_array_equal(dy["total"], [4.0, 1.0])
    np.testing.assert_array_equal(dy["first"], [1.0, 0.0])


def test_constant_results_in_blocks_are_zero():
    found = pushed(lambda x: np.ones(2), Dual(2.0, np.zeros(3)))
    np.testing.assert_array_equal(found.partials, np.zeros((3, 2)))
    np.testing.assert_array_equal(pushed(lambda x: 1.0, Dual(2.0, np.zeros(3))).partials, np.zeros(3))


def test_blocks_of_different_lengths_are_refused():
    with pytest.raises(DerivativeError, match="blocks of 2 and 3 tangents"):
        pushed(poly, Dual(2.0, np.zeros(2)), Dual(3.0, np.zeros(3)))


def test_a_single_tangent_beside_a_block_is_refused():
    with pytest.raises(DerivativeError, match="argument"):
        pushed(poly, Dual(2.0, np.zeros(2)), Dual(3.0, 1.0))
    with pytest.raises(DerivativeError, match="argument"):
        pushed(poly, Dual(np.ones(2), np.zeros((3, 2))), Dual(np.ones(2), np.zeros(2)))


def test_tangents_that_do_not_fit():
    for bad in (np.zeros((2, 3)), np.zeros(4), np.zeros((2, 2, 3, 3))):
        with pytest.raises(DerivativeError, match="argument 0"):
            pushed(lambda x: x, Dual(np.ones((3, 3)), bad))


def test_float32_blocks_stay():
    found = pushed(lambda x: np.sin(x), Dual(np.ones(2, np.float32), np.ones((3, 2))))
    assert found.partials.dtype == np.float32


def test_blocks_own_their_memory():
    dx = np.ones((2, 3))
    found = pushed(lambda x: x, Dual(np.ones(3), dx))
    assert not np.shares_memory(found.partials, dx)
    found.partials[...] = 7.0
    assert dx.tolist() == np.ones((2, 3)).tolist()
