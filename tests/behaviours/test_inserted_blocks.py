"""Blocks that run in the reverse sweep: `with insert_grad_of(x) as dx:` (behaviour 73;
Tangent's statement)."""

import sys

import numpy as np
import pytest

from ctxdispatch import Context, grad, hessian, insert_grad_of, jvp, overdub, vjp
from ctxdispatch_contexts.reverse import DerivativeError

X = np.array([1.0, 2.0, 3.0])
seen = []


def clipped(x, limit=1.0):
    y = x * x
    with insert_grad_of(y) as dy:
        seen.append(dy)
        limit = min(limit, 1.0) / 2
        dy = np.clip(dy, -limit, limit)
    return (y * np.array([3.0, 0.1, -2.0])).sum() * limit


def test_a_block_changes_the_cotangent_and_nothing_else():
    seen.clear()
    value, expected = clipped(X), 2 * X * [0.5, 0.1, -0.5]
    assert value == pytest.approx(3.0 + 0.4 - 18.0) and not seen
    assert jvp(clipped, (X,), (X,))[1] == pytest.approx(2 * value) and not seen
    np.testing.assert_allclose(grad(clipped)(X), expected)
    np.testing.assert_array_equal(seen, [[3.0, 0.1, -2.0]])
    y, pullback = vjp(clipped, X)
    assert y == value
    np.testing.assert_allclose(pullback(1.0)[0], expected)
    np.testing.assert_allclose(pullback(0.1)[0], 2 * X * [0.3, 0.01, -0.2])
    assert len(seen) == 3 and sys.gettrace() is None


def test_tangents_own_example():
    def f(x):
        with insert_grad_of(x) as dx:
            if dx > 10:
                dx = 10
        return x * x

    assert f(3.0) == 9.0
    assert grad(f)(3.0) == 6.0 and grad(f)(30.0) == 10.0


def in_a_loop(x):
    y = x * x
    for _ in range(3):
        with insert_grad_of(y) as dy:
            dy = dy * 2.0
    return y * y * x


@pytest.mark.night
def test_a_block_in_a_loop_and_of_second_order():
    assert grad(in_a_loop)(3.0) == 33.0 * 81.0
    assert hessian(in_a_loop)(3.0) == grad(grad(in_a_loop))(3.0) == 4 * 33.0 * 27.0


def test_blocks_see_variables_as_they_were():
    def f(x):
        scale, w = 2.0, x * 1.0
        with insert_grad_of(x) as dx:
            dx = dx * scale + [w[0] for _ in dx]
        scale = 100.0
        w[0] = 50.0
        return (x * scale).sum()

    np.testing.assert_array_equal(grad(f)(X), [201.0] * 3)


def test_a_block_of_several_lines_and_one_of_one_line():
    def f(x):
        with insert_grad_of(
            x
        ) as dx:
            def half(d): return d / 2
            dx = half(dx)
        with insert_grad_of(x) as dx: dx = dx * 10.0  # fmt: skip
        with insert_grad_of(x): seen.append("came by")
        return x * x

    seen.clear()
    assert f(3.0) == 9.0 and not seen
    assert grad(f)(3.0) == 30.0 and seen == ["came by"]


def test_a_tree():
    def f(x):
        y = [x * x, {"a": x}, (2.0, 1)]
        with insert_grad_of(y) as dy:
            dy[0] *= 10.0
            dy[1]["a"] = 100.0
        return y[0] + x

    assert grad(f)(3.0) == 160.0


def test_what_does_not_depend_has_no_block():
    def f(x):
        with insert_grad_of(3.0):
            raise AssertionError
        return x * x

    assert grad(f)(3.0) == 6.0


def test_other_contexts_skip_blocks():
    class Every(Context):
        def prehook(self, f, args, kwargs):
            pass

        def fallback(self, f, args, kwargs):
            return f(*args, **kwargs)

    assert overdub(Every(), in_a_loop, 3.0) == 243.0


def test_a_tracer_stays_what_it_was():
    def trace(frame, event, arg):
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert in_a_loop(3.0) == 243.0
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def test_a_cotangent_of_another_shape_is_refused():
    def f(x):
        with insert_grad_of(x) as dx:
            dx = dx.sum()
        return x.sum()

    with pytest.raises(DerivativeError, match=r"test_inserted_blocks.py:\d+ in .*f: .*shape \(\) for"):
        grad(f)(X)


def test_a_block_that_leaves_its_function_is_refused():
    def f(x):
        with insert_grad_of(x):
            return 3.0
        return x

    with pytest.raises(DerivativeError, match=r"test_inserted_blocks.py:\d+ in .*f: .*cannot return.*hook"):
        grad(f)(2.0)


def test_a_block_without_source_is_refused():
    space = {"insert_grad_of": insert_grad_of}
    exec("def f(x):\n    with insert_grad_of(x) as dx:\n        dx = 0.0\n    return x * x\n", space)
    assert space["f"](3.0) == 9.0
    with pytest.raises(DerivativeError, match="no source"):
        grad(space["f"])(3.0)
