"""Users' rules under forward mode: those of `DualContext`, and those written for reverse mode, transposed."""

import math

import numpy as np
import pytest

from ctxdispatch import ADContext, Dual, DualContext, custom_rule, grad, jacfwd, jvp, overdub
from ctxdispatch_contexts.reverse import DerivativeError


def tenfold(x):
    """Its rule says ten times its derivative, to be told from its code."""
    return x * x


@custom_rule(tenfold)
def _(x):
    return x * x, lambda g: (20.0 * g * x,)


def uses_tenfold(x):
    return tenfold(x) + x


def test_rule_is_transposed():
    assert jvp(tenfold, (3.0,), (1.0,)) == (9.0, 60.0)
    assert jvp(uses_tenfold, (3.0,), (2.0,)) == (12.0, 122.0)
    assert overdub(DualContext(), uses_tenfold, Dual(3.0, 1.0)).partials == 61.0
    assert jvp(uses_tenfold, (3.0,), (1.0,))[1] == grad(uses_tenfold)(3.0)


def test_blocks():
    found = overdub(DualContext(), uses_tenfold, Dual(3.0, np.array([1.0, 0.0, 2.0])))
    np.testing.assert_array_equal(found.partials, [61.0, 0.0, 122.0])
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(jacfwd(tenfold)(x), np.diag(20.0 * x))


def test_derivative_of_a_gradient_by_rule():
    assert jvp(grad(tenfold), (3.0,), (1.0,)) == (60.0, 20.0)


def affine(a, b, c):
    return a @ b + c, np.sum(a)


@custom_rule(affine)
def _(a, b, c):
    def pullback(g):
        product, total = g
        return np.outer(product, b) + total, a.T @ product, product

    return (a @ b + c, np.sum(a)), pullback


def writes(a):
    return np.concatenate([a[1:], a[:1]])


@custom_rule(writes)
def _(a):
    def pullback(g):
        out = np.empty_like(a)
        out[1:], out[:1] = g[:-1], g[-1:]
        return out

    return np.concatenate([a[1:], a[:1]]), pullback


def test_several_arguments_and_results():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=2)
    da, db, dc = rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=2)
    y, (dp, dt) = jvp(affine, (a, b, c), (da, db, dc))
    np.testing.assert_allclose(dp, da @ b + a @ db + dc)
    assert dt == pytest.approx(np.sum(da))
    dp, dt = jvp(affine, (a, b, c), (None, None, dc))[1]
    np.testing.assert_allclose(dp, dc)
    assert dt == 0.0


def test_pullback_that_reverse_mode_cannot_differentiate_is_asked_row_by_row():
    a, da = np.arange(3.0), np.array([1.0, 10.0, 100.0])
    y, dy = jvp(writes, (a,), (da,))
    wanted = jvp(lambda a: np.concatenate([a[1:], a[:1]]), (a,), (da,))[1]
    # the rule's pullback moves the other way: what it says is what counts
    rows = np.stack([np.roll(e, 1) for e in np.eye(3)])
    np.testing.assert_allclose(dy, rows @ da)
    np.testing.assert_allclose(dy, wanted)


def skips_zeros(x):
    return 3.0 * x


@custom_rule(skips_zeros)
def _(x):
    return 3.0 * x, lambda g: (0.0 if g == 0 else 3.0 * g,)


def clipped(x):
    return x


@custom_rule(clipped)
def _(x):
    return x, lambda g: (min(max(g, -1.0), 1.0),)


def squares(x):
    return x


@custom_rule(squares)
def _(x):
    return x, lambda g: (g * g,)


def test_shortcut_for_zero_and_clipping_do_no_harm():
    assert jvp(skips_zeros, (2.0,), (1.0,)) == (6.0, 3.0)
    assert jvp(clipped, (2.0,), (5.0,)) == (2.0, 5.0)


def test_pullback_that_is_not_linear_is_refused():
    with pytest.raises(DerivativeError, match="squares is not linear in its cotangent.*DualContext.rule"):
        jvp(squares, (2.0,), (1.0,))


def conjugated(z):
    return np.conj(z) * z


@custom_rule(conjugated)
def _(z):
    return np.conj(z) * z, lambda g: (g * np.conj(z) + np.conj(g * z),)


def test_complex_arguments_and_results():
    z, dz = np.complex128(1.3 - 0.7j), np.complex128(0.2 + 1.1j)
    assert jvp(conjugated, (z,), (dz,))[1] == pytest.approx(np.conj(dz) * z + np.conj(z) * dz)


def typed(x):
    return x * x


@custom_rule(typed, np.ndarray)
def _(x):
    return x * x, lambda g: (20.0 * g * x,)


def test_rule_for_one_type_leaves_others_to_the_code():
    assert jvp(typed, (3.0,), (1.0,)) == (9.0, 6.0)
    assert jvp(typed, (np.array([3.0]),), (np.ones(1),))[1].tolist() == [60.0]


def with_keyword(x, *, k):
    return x * k


@custom_rule(with_keyword)
def _(x, *, k):
    return x * k, lambda g: (g * k,)


def test_keyword_arguments():
    assert jvp(lambda x: with_keyword(x, k=2.0), (3.0,), (1.0,)) == (6.0, 2.0)
    with pytest.raises(DerivativeError, match="with_keyword gives no derivative for keyword arguments"):
        jvp(lambda x: with_keyword(x, k=x), (3.0,), (1.0,))


def nothing(x):
    return x


@custom_rule(nothing)
def _(x):
    return x, lambda g: (None,)


def test_none_is_no_derivative():
    assert jvp(lambda x: nothing(x) * x, (3.0,), (1.0,)) == (9.0, 3.0)


# -- rules of DualContext ------------------------------------------------------------------------------------


def own(x, y):
    return x * y


@DualContext.rule(own)
def _(ctx, x, y):
    assert isinstance(x, Dual)
    value = y.value if isinstance(y, Dual) else y
    return Dual(x.value * value, 100.0 * x.partials)


def test_rule_of_dual_context():
    assert jvp(own, (3.0, 2.0), (1.0, None)) == (6.0, 100.0)
    assert jvp(lambda x: own(x, x) + x, (3.0,), (1.0,)) == (12.0, 101.0)
    assert grad(own)(3.0, 2.0) == 2.0  # it is no rule of reverse mode's


def late(x):
    return x * x


def uses_late(x):
    return late(x)


def test_rules_that_come_late_and_redefinition():
    assert jvp(uses_late, (3.0,), (1.0,)) == (9.0, 6.0)

    @custom_rule(late)
    def _(x):
        return x * x, lambda g: (7.0 * g,)

    assert jvp(uses_late, (3.0,), (1.0,)) == (9.0, 7.0) and jvp(late, (3.0,), (1.0,)) == (9.0, 7.0)

    @DualContext.rule(late)
    def _(ctx, x):
        return Dual(x.value, 8.0 * x.partials)

    assert jvp(uses_late, (3.0,), (1.0,)) == (3.0, 8.0) and jvp(late, (3.0,), (1.0,)) == (3.0, 8.0)


def helper(x):
    return x * x


def calls_helper(x):
    return helper(x) + 1.0


def test_redefined_helper(monkeypatch):
    assert jvp(calls_helper, (3.0,), (1.0,)) == (10.0, 6.0)
    monkeypatch.setitem(globals(), "helper", math.sin)
    assert jvp(calls_helper, (0.0,), (1.0,)) == (1.0, 1.0)


def test_rule_of_a_derived_context_only():
    class Mine(DualContext):
        pass

    def plain(x):
        return x * x

    @Mine.rule(plain)
    def _(ctx, x):
        return Dual(x.value, 5.0)

    assert overdub(Mine(), lambda x: plain(x), Dual(3.0, 1.0)).partials == 5.0
    assert overdub(DualContext(), lambda x: plain(x), Dual(3.0, 1.0)).partials == 6.0


def by_ad_context(x):
    return x * x


@ADContext.rule(by_ad_context)
def _(ctx, x):
    return x * x, lambda g: g * 9.0


def test_one_cotangent_need_not_be_in_a_tuple():
    assert jvp(by_ad_context, (3.0,), (1.0,)) == (9.0, 9.0)


def test_second_derivative_by_rule():
    assert grad(grad(tenfold))(3.0) == 20.0


@pytest.mark.xfail(
    raises=DerivativeError, strict=True, reason="a rule's call met at run time, differentiated twice"
)
@pytest.mark.parametrize("second", [
    lambda x: jvp(lambda x: jvp(tenfold, (x,), (1.0,))[1], (x,), (1.0,))[1],
    lambda x: grad(lambda x: jvp(tenfold, (x,), (1.0,))[1])(x),
])  # fmt: skip
def test_second_derivatives_by_rule(second):
    assert second(3.0) == 20.0
