"""Behaviours 60, 69, 70, 72 to 76, 91, 94, 95 and 100: what stands around the derivative.

72: a checkpointed function runs once forward and once more in the reverse sweep; nested ones add one each.
73: Zygote's `hook` and `showgrad` are rules of a line or two, written as such. Its `forwarddiff` drops what
    a closure captured and warns; there is no such switch between modes here.
74: an ambiguous pair of rules is an error where they are called, as in Julia.
75: Julia's lazy thunks are, in Python, a pullback that is not called at all where no cotangent is asked for.
94: CPython's own recursion limit holds for the forward sweep; the reverse sweep stays within the same limit.
"""

import logging
import math
import struct
import sys
import threading
import warnings

import numpy as np
import pytest

import ctxdispatch
from ctxdispatch import (
    ADContext,
    check_grads,
    checkpoint,
    code_adjoint,
    custom_rule,
    grad,
    overdub,
    stop_gradient,
    value_and_grad,
    vjp,
)
from ctxdispatch.ir.verify import verify
from ctxdispatch_contexts.programs import entry
from ctxdispatch_contexts.reverse import show


def central(f, x, eps=1e-6):
    return (f(x + eps) - f(x - eps)) / (2 * eps)


# -- 60 assertions, branches that raise, output --------------------------------------------------------------


def asserts(x):
    assert x > 0, "positive only"
    return math.log(x)


def raises_below_zero(x):
    if x < 0:
        raise ValueError(f"bad {x}")
    return math.sqrt(x)


def test_060_assert_that_holds():
    assert value_and_grad(asserts)(2.0) == (math.log(2.0), 0.5)


def test_060_assert_that_fails_is_the_users_error():
    with pytest.raises(AssertionError, match="positive only"):
        grad(asserts)(-1.0)
    with pytest.raises(AssertionError, match="positive only"):
        vjp(asserts, -1.0)


def test_060_raise_in_a_branch():
    assert grad(raises_below_zero)(4.0) == 0.25
    with pytest.raises(ValueError, match="bad -4.0"):
        grad(raises_below_zero)(-4.0)


def prints(x):
    y = x * x
    print("y is", y, sep=" = ", end=";\n")
    print(f"{x:.1f}", f"{y!r}")
    return y * x


def test_060_print_is_printed_once(capsys):
    assert value_and_grad(prints)(2.0) == (8.0, 12.0)
    assert capsys.readouterr().out == "y is = 4.0;\n2.0 4.0\n"
    y, pullback = vjp(prints, 2.0)
    assert capsys.readouterr().out == "y is = 4.0;\n2.0 4.0\n"
    assert pullback(1.0) == (12.0,)
    assert capsys.readouterr().out == ""


log = logging.getLogger("behaviours")


def logs(x):
    log.warning("x=%s", x, extra={"value": x * 2})
    logging.getLogger("behaviours").info("twice %(v)s", {"v": 2 * x})
    return x * x


def test_060_logging_with_arguments_that_depend_on_x(caplog):
    with caplog.at_level(logging.INFO, "behaviours"):
        assert grad(logs)(3.0) == 6.0
    assert [r.getMessage() for r in caplog.records] == ["x=3.0", "twice 6.0"]
    assert caplog.records[0].value == 6.0


def warns(x):
    if x > 1.0:
        warnings.warn(f"large {x}", UserWarning, stacklevel=1)
    return x * x


def test_060_warning_points_at_the_users_line():
    with pytest.warns(UserWarning, match="large 3.0") as caught:
        assert grad(warns)(3.0) == 6.0
    assert caught[0].filename == __file__
    assert caught[0].lineno == warns.__code__.co_firstlineno + 2


# -- 69 pullback called again --------------------------------------------------------------------------------


def two_outputs(x, y):
    return x * y, math.sin(x) + y


def test_069_pullback_called_twice_gives_the_same():
    _, pullback = vjp(two_outputs, 2.0, 3.0)
    first = pullback((1.0, 0.0))
    assert first == (3.0, 2.0)
    assert pullback((0.0, 1.0)) == pytest.approx((math.cos(2.0), 1.0))
    assert pullback((1.0, 0.0)) == first


def elementwise_loop(x):
    total = np.zeros(3)
    for i in range(3):
        total = total + x * x[i]
    return total


def jacobian_by_rows(f, x):
    y, pullback = vjp(f, x)
    return np.array([pullback(row)[0] for row in np.eye(y.size)])


def test_069_jacobian_by_repeated_calls_does_not_accumulate():
    x = np.array([1.0, -2.0, 3.0])
    expected = np.eye(3) * x.sum() + np.outer(x, np.ones(3))
    _, pullback = vjp(elementwise_loop, x)
    for _ in range(2):
        rows = np.array([pullback(row)[0] for row in np.eye(3)])
        np.testing.assert_allclose(rows, expected)
    np.testing.assert_allclose(jacobian_by_rows(elementwise_loop, x), expected)


def test_069_result_of_a_pullback_is_not_overwritten_by_the_next():
    _, pullback = vjp(elementwise_loop, np.array([1.0, -2.0, 3.0]))
    first = pullback(np.array([1.0, 0.0, 0.0]))[0]
    kept = first.copy()
    pullback(np.array([0.0, 5.0, 0.0]))
    np.testing.assert_array_equal(first, kept)


def through_containers(x):
    parts = [x[i] * (i + 1.0) for i in range(3)]
    table = {"a": parts[0], "b": parts[2]}
    return table["a"] * table["b"] + parts[1]


def test_069_pullback_through_containers_called_again():
    x = np.array([2.0, 3.0, 5.0])
    _, pullback = vjp(through_containers, x)
    expected = [1.0 * 15.0, 2.0, 3.0 * 2.0]
    for seed in (1.0, 2.0, 1.0):
        np.testing.assert_allclose(pullback(seed)[0], np.array(expected) * seed)


# -- 70 reuse of what is compiled ----------------------------------------------------------------------------


def by_sign(x, n):
    y = x
    for _ in range(n):
        y = y * x if x > 0 else y + x
    return y


def test_070_other_control_flow_on_the_next_call():
    g = grad(by_sign)
    assert g(2.0, 3) == 4 * 2.0**3
    assert g(-2.0, 3) == 4.0
    assert g(2.0, 0) == 1.0
    assert g(2.0, 3) == 32.0


def test_070_pullbacks_of_two_calls_do_not_share_state():
    _, first = vjp(by_sign, 2.0, 3)
    _, second = vjp(by_sign, -2.0, 5)
    assert first(1.0)[0] == 32.0
    assert second(1.0)[0] == 6.0
    assert first(1.0)[0] == 32.0


def generic(x):
    return (x * x * 3.0).sum() if isinstance(x, np.ndarray) else x * x * 3.0


def test_070_other_types_on_the_next_call():
    g = grad(generic)
    assert g(2.0) == 12.0
    np.testing.assert_allclose(g(np.array([1.0, 2.0])), [6.0, 12.0])
    single = g(np.array([1.0, 2.0], np.float32))
    assert single.dtype == np.float32
    assert g(2.0) == 12.0
    assert g(np.float64(2.0)) == 12.0


def helper_power(x, n):
    return x if n == 1 else x * helper_power(x, n - 1)


def calls_helper_twice(x):
    return helper_power(x, 2) + helper_power(2.0 * x, 3)


def test_070_one_rule_for_two_calls_of_a_helper():
    assert grad(calls_helper_twice)(1.5) == pytest.approx(2 * 1.5 + 24 * 1.5**2)


# -- 72 checkpointing ----------------------------------------------------------------------------------------


class Calls:
    """Counts outside of the differentiated data."""

    count = 0


def counted_sin(x):
    Calls.count += 1
    return math.sin(x)


def plain_counted(x):
    return counted_sin(x) * 2.0


def checkpointed_once(x):
    return checkpoint(counted_sin)(x) * 2.0


def inner_checkpoint(x):
    return checkpoint(counted_sin)(x)


def checkpointed_twice(x):
    return checkpoint(inner_checkpoint)(x) * 2.0


def middle_checkpoint(x):
    return checkpoint(inner_checkpoint)(x)


def checkpointed_three_times(x):
    return checkpoint(middle_checkpoint)(x) * 2.0


@pytest.mark.parametrize(
    "f, runs",
    [(plain_counted, 1), (checkpointed_once, 2), (checkpointed_twice, 3), (checkpointed_three_times, 4)],
)
def test_072_runs_of_a_checkpointed_function(f, runs):
    Calls.count = 0
    assert grad(f)(0.5) == pytest.approx(2.0 * math.cos(0.5))
    assert Calls.count == runs


def test_072_each_pullback_call_runs_it_again():
    Calls.count = 0
    y, pullback = vjp(checkpointed_once, 0.5)
    assert (y, Calls.count) == (2.0 * math.sin(0.5), 1)
    assert pullback(1.0)[0] == pytest.approx(2.0 * math.cos(0.5))
    assert Calls.count == 2
    assert pullback(3.0)[0] == pytest.approx(6.0 * math.cos(0.5))
    assert Calls.count == 3


def partly_checkpointed(x, y):
    a = counted_sin(x)
    b = checkpoint(counted_sin)(a * y)
    return a * b


def test_072_partially_checkpointed():
    Calls.count = 0
    dx, dy = grad(partly_checkpointed, argnums=(0, 1))(0.5, 2.0)
    a, da = math.sin(0.5), math.cos(0.5)
    assert dx == pytest.approx(da * math.sin(2.0 * a) + a * math.cos(2.0 * a) * 2.0 * da)
    assert dy == pytest.approx(a * a * math.cos(2.0 * a))
    assert Calls.count == 3


def with_everything(x, scale, *, shift):
    return np.sin(x * scale).sum() + shift


def of_checkpoint_with_arguments(x, scale):
    return checkpoint(with_everything)(x, scale, shift=scale * scale)


def test_072_checkpoint_with_arrays_and_keywords():
    x = np.array([0.1, 0.2, 0.3])
    dx, dscale = grad(of_checkpoint_with_arguments, argnums=(0, 1))(x, 2.0)
    np.testing.assert_allclose(dx, 2.0 * np.cos(2.0 * x))
    assert dscale == pytest.approx((x * np.cos(2.0 * x)).sum() + 4.0)


def of_checkpointed_closure(x, y):
    def inner(z):
        return math.sin(z) * y

    return checkpoint(inner)(x)


def test_072_checkpointed_closure_keeps_the_gradient_of_what_it_captured():
    dx, dy = grad(of_checkpointed_closure, argnums=(0, 1))(0.5, 3.0)
    assert dx == pytest.approx(3.0 * math.cos(0.5))
    assert dy == pytest.approx(math.sin(0.5))


@checkpoint
def decorated(x):
    return counted_sin(x) * x


def test_072_checkpoint_as_decorator_and_by_itself():
    assert decorated(0.5) == math.sin(0.5) * 0.5
    assert decorated.__name__ == "decorated"
    assert grad(decorated)(0.5) == pytest.approx(math.cos(0.5) * 0.5 + math.sin(0.5))


# -- 73 hooks on cotangents, stop_gradient -------------------------------------------------------------------


def reverse_sign(x):
    return x


@custom_rule(reverse_sign)
def _(x):
    return x, lambda ybar: -ybar


shown = []


def show_grad(x):
    return x


@custom_rule(show_grad)
def _(x):
    def pullback(ybar):
        shown.append(ybar)
        return ybar

    return x, pullback


def hooked(x):
    return reverse_sign(x * x) + x


def test_073_hook_on_a_cotangent():
    assert value_and_grad(hooked)(3.0) == (12.0, -6.0 + 1.0)


def shows(x):
    return show_grad(math.sin(x)) * 5.0


def test_073_showing_a_gradient_on_the_way():
    shown.clear()
    assert grad(shows)(0.5) == pytest.approx(5.0 * math.cos(0.5))
    assert shown == [5.0]


def all_stopped(x):
    return stop_gradient(x) * 2.0


def partly_stopped(x):
    return x * stop_gradient(x)


def stopped_entry(xs):
    return xs[0] * 2.0 + stop_gradient(xs[1]) * 3.0


def stopped_call(x):
    return x + stop_gradient(math.sin(x) * x)


def test_073_stop_gradient():
    assert stop_gradient(3.0) == 3.0
    assert value_and_grad(all_stopped)(3.0) == (6.0, 0.0)
    assert value_and_grad(partly_stopped)(3.0) == (9.0, 3.0)
    assert grad(stopped_call)(2.0) == 1.0


def test_073_partial_stop():
    np.testing.assert_array_equal(grad(stopped_entry)(np.array([5.0, 7.0])), [2.0, 0.0])
    assert vjp(stopped_entry, [5.0, 7.0])[1](1.0)[0][0] == 2.0
    assert not vjp(stopped_entry, [5.0, 7.0])[1](1.0)[0][1]


def stopped_softmax(x):
    shifted = x - stop_gradient(np.max(x))
    return np.log(np.exp(shifted).sum()) + stop_gradient(np.max(x))


def test_073_stop_gradient_of_an_array():
    x = np.array([1.0, 3.0, 2.0])
    np.testing.assert_allclose(grad(stopped_softmax)(x), np.exp(x) / np.exp(x).sum())


# -- 74 rules and redefinitions ------------------------------------------------------------------------------


def ruled_later(x):
    return x * 3.0


def uses_ruled_later(x):
    return ruled_later(x) * 2.0


def test_074_rule_added_after_the_first_gradient():
    g = grad(uses_ruled_later)
    assert g(1.0) == 6.0
    assert vjp(uses_ruled_later, 1.0)[1](1.0) == (6.0,)

    @custom_rule(ruled_later)
    def _(x):
        return x * 3.0, lambda ybar: ybar * 100.0

    assert g(1.0) == 200.0
    assert grad(uses_ruled_later)(1.0) == 200.0
    assert vjp(uses_ruled_later, 1.0)[1](1.0) == (200.0,)
    assert grad(ruled_later)(1.0) == 100.0


def replaced_rule(x):
    return x


def uses_replaced_rule(x):
    return replaced_rule(x) + x


def test_074_rule_registered_again():
    for factor in (2.0, 5.0):

        @custom_rule(replaced_rule)
        def _(x, factor=factor):
            return x, lambda ybar: ybar * factor

        assert grad(uses_replaced_rule)(1.0) == factor + 1.0


def redefined_helper(x):
    return x * x


def uses_redefined_helper(x):
    return redefined_helper(x) + 1.0


def test_074_redefined_helper(monkeypatch):
    g = grad(uses_redefined_helper)
    assert g(3.0) == 6.0
    monkeypatch.setattr(sys.modules[__name__], "redefined_helper", math.exp)
    assert g(3.0) == pytest.approx(math.exp(3.0))
    monkeypatch.undo()
    assert g(3.0) == 6.0


def opted_out(x):
    return x * x


@custom_rule(opted_out, float)
def _(x):
    return x * x, lambda ybar: ybar * -1.0


def uses_opted_out(x):
    return np.sum(opted_out(x))


def test_074_rule_for_one_type_leaves_others_to_the_code():
    assert grad(uses_opted_out)(3.0) == -1.0
    np.testing.assert_allclose(grad(uses_opted_out)(np.array([3.0, 4.0])), [6.0, 8.0])


def ambiguous(a, b):
    return a * b


def test_074_ambiguous_rules_are_an_error_that_names_both():
    @custom_rule(ambiguous, float, object)
    def _(a, b):
        return a * b, lambda ybar: (ybar * b, ybar * a)

    @custom_rule(ambiguous, object, float)
    def _(a, b):
        return a * b, lambda ybar: (ybar * b, ybar * a)

    with pytest.raises(TypeError, match=r"ambiguous\(float, float\)") as caught:
        grad(ambiguous)(2.0, 3.0)
    assert str(caught.value).count(__file__) == 2

    @custom_rule(ambiguous, float, float)
    def _(a, b):
        return a * b, lambda ybar: (ybar * 10.0, ybar * 20.0)

    assert vjp(ambiguous, 2.0, 3.0)[1](1.0) == (10.0, 20.0)


hits = []


def hit(x, n):
    return x**n


@custom_rule(hit)
def _(x, n):
    hits.append(n)
    return x**n, lambda ybar: (ybar * n * x ** (n - 1), None)


def three_hits(x):
    total = 0.0
    for n in (1, 2, 3):
        total = total + hit(x, n)
    return total


def test_074_rule_is_hit_once_for_each_call():
    hits.clear()
    assert grad(three_hits)(2.0) == 1.0 + 4.0 + 12.0
    assert hits == [1, 2, 3]


def test_074_rule_of_a_derived_context_only():
    class Mine(ADContext):
        pass

    @Mine.rule(ruled_in_mine)
    def _(ctx, x):
        return x, lambda ybar: ybar * 42.0

    assert overdub(Mine(), uses_ruled_in_mine, 1.0)[1](1.0) == (42.0,)
    assert overdub(ADContext(), uses_ruled_in_mine, 1.0)[1](1.0) == (1.0,)


def ruled_in_mine(x):
    return x


def uses_ruled_in_mine(x):
    return ruled_in_mine(x)


# -- 75 forms of rules ---------------------------------------------------------------------------------------


def polar(x, y):
    return math.hypot(x, y), math.atan2(y, x)


@custom_rule(polar)
def _(x, y):
    r = math.hypot(x, y)

    def pullback(bars):
        rbar, tbar = bars
        rbar, tbar = rbar or 0.0, tbar or 0.0
        return rbar * x / r - tbar * y / r**2, rbar * y / r + tbar * x / r**2

    return (r, math.atan2(y, x)), pullback


def uses_polar(x, y):
    r, t = polar(x, y)
    return r * r * t


def uses_radius(x, y):
    return polar(x, y)[0]


def test_075_rule_with_two_inputs_and_two_outputs():
    check_grads(uses_polar, (1.2, 0.7))
    dx, dy = grad(uses_radius, argnums=(0, 1))(3.0, 4.0)
    assert (dx, dy) == pytest.approx((0.6, 0.8))


def scaled(x, *, factor=2.0, power=1):
    return factor * x**power


@custom_rule(scaled)
def _(x, *, factor=2.0, power=1):
    return factor * x**power, lambda ybar: ybar * factor * power * x ** (power - 1)


def scaled_by_keyword(x):
    return scaled(x, power=3) + scaled(x, factor=10.0) + scaled(x)


def test_075_rule_with_keyword_arguments():
    assert value_and_grad(scaled_by_keyword)(2.0) == (16.0 + 20.0 + 4.0, 24.0 + 10.0 + 2.0)


class Celsius:
    def __init__(self, degrees):
        self.degrees = degrees


def to_kelvin(temperature):
    return temperature.degrees + 273.15


@custom_rule(to_kelvin, Celsius)
def _(temperature):
    from types import SimpleNamespace

    return temperature.degrees + 273.15, lambda ybar: SimpleNamespace(degrees=ybar * 7.0)


def kelvin_of(x):
    return to_kelvin(Celsius(x * 2.0))


def test_075_rule_on_the_type_of_a_users_class():
    assert grad(kelvin_of)(1.0) == 14.0
    assert grad(to_kelvin)(Celsius(1.0)).degrees == 7.0


def not_implemented_for_second(a, b):
    return a * b


@custom_rule(not_implemented_for_second)
def _(a, b):
    return a * b, lambda ybar: (ybar * b, NotImplemented)


def uses_not_implemented(a, b):
    return not_implemented_for_second(a, b) + a


def test_075_not_implemented_cotangent_is_none():
    assert vjp(not_implemented_for_second, 2.0, 3.0)[1](1.0)[0] == 3.0
    assert not vjp(not_implemented_for_second, 2.0, 3.0)[1](1.0)[1]
    assert grad(uses_not_implemented)(2.0, 3.0) == 4.0


forced = []


def costly(x):
    return x


@custom_rule(costly)
def _(x):
    def pullback(ybar):
        forced.append(ybar)
        return ybar

    return x, pullback


def result_unused(x):
    costly(x)
    return x * 2.0


def argument_constant(x):
    return costly(3.0) * x


def test_075_pullback_that_nobody_needs_is_not_called():
    forced.clear()
    assert grad(result_unused)(1.0) == 2.0
    assert grad(argument_constant)(2.0) == 3.0
    assert forced == []


def wrong_rule(x):
    return x


@custom_rule(wrong_rule)
def _(x):
    return x


def wrong_count(x):
    return x


@custom_rule(wrong_count)
def _(x):
    return x, lambda ybar: (ybar, ybar)


def uses_wrong_rule(x):
    return wrong_rule(x)


def uses_wrong_count(x):
    return wrong_count(x)


@pytest.mark.parametrize("f, name", [(uses_wrong_rule, "wrong_rule"), (uses_wrong_count, "wrong_count")])
def test_075_rule_that_returns_something_else_is_named(f, name):
    with pytest.raises(TypeError, match=rf"rule for .*{name}"):
        grad(f)(1.0)


# -- 76 what has no derivative is named ----------------------------------------------------------------------


def calls_frombuffer(x):
    return np.frombuffer(x).sum()


def calls_eval(x):
    return eval("a * 2", {}, {"a": x})


def calls_unpack(x):
    return struct.unpack("d", x)[0]


@pytest.mark.parametrize(
    "f, x, name",
    [
        (calls_eval, 2.0, "eval"),
        (calls_unpack, np.ones(1), "unpack"),
        (calls_frombuffer, np.eye(2), "frombuffer"),
    ],
)
def test_076_function_without_derivative_is_named(f, x, name):
    with pytest.raises(TypeError, match=name) as caught:
        grad(f)(x)
    message = str(caught.value)
    assert f"{__file__}:{f.__code__.co_firstlineno + 1} in {f.__name__}" in message
    assert "custom_rule" in message and "stop_gradient" in message
    for internal in ("UndefVarError", "NoneType", "adjoint", "specialised", "KeyError", "<generated>"):
        assert internal not in message


# -- 91 seeing the derivative --------------------------------------------------------------------------------


def shown_function(x, n):
    y = 1.0
    while n > 0:
        y = y * math.sin(x)
        n = n - 1
    return y


def straight(x):
    y = math.sin(x)
    return y * x


def test_091_code_adjoint_of_straight_code():
    text = str(code_adjoint(straight)(2.0))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "def straight(x):"
    assert any(line.startswith("#") and "y = math.sin(x)" in line for line in lines)
    assert lines[-1].startswith("return")
    assert "math.cos(x)" in text
    scope = {"math": math}
    exec(text, scope)
    assert scope["straight"](2.0) == grad(straight)(2.0)


def test_091_code_adjoint_is_stable():
    first = str(code_adjoint(shown_function)(0.5, 3))
    grad(shown_function)(0.5, 3)
    assert str(code_adjoint(shown_function)(0.5, 3)) == first
    assert "math.cos" in first
    assert "while" in first or "for" in first


def test_091_code_adjoint_of_array_code_follows_types():
    assert "np.cos" in str(code_adjoint(array_sin)(np.ones(3)))


def array_sin(x):
    return np.sin(x).sum()


def test_091_ir_shows_the_program():
    text = str(ctxdispatch.ir(straight)(2.0))
    assert text.splitlines()[0].startswith("straight(")
    assert "math.sin" in text or "sin" in text
    assert str(ctxdispatch.ir(straight)(2.0)) == text


def deeply_nested_loops(x):
    total = x
    for i in range(3):
        for j in range(i):
            if j == 1:
                break
            while total < 10.0:
                total = total * x
        else:
            total = total + 1.0
    return total


def takes_containers(d, xs):
    total = 0.0
    for i, x in enumerate(xs):
        if i % 2:
            continue
        total = total + d["w"] * x
    return total if total > 0.0 else -total


VERIFIED = [
    (straight, (2.0,)), (shown_function, (0.5, 3)), (array_sin, (np.ones(3),)), (by_sign, (2.0, 3)),
    (takes_containers, ({"w": 2.0}, [1.0, 2.0, 3.0])), (checkpointed_once, (0.5,)),
    (deeply_nested_loops, (1.5,)),
]  # fmt: skip


@pytest.mark.parametrize("f, args", VERIFIED, ids=[f.__name__ for f, _ in VERIFIED])
def test_091_verifier_accepts_what_the_transforms_leave(f, args, monkeypatch):
    graphs = []
    monkeypatch.setattr(show, "to_python", lambda graph: graphs.append(verify(graph)) or "")
    code_adjoint(f)(*args)
    assert len(graphs) == 1
    verify(ctxdispatch.ir(f)(*args).graph)
    verify(ctxdispatch.ir(f)().graph)


# -- 94 depth ------------------------------------------------------------------------------------------------


def deep(x, n):
    return x if n == 0 else 1.001 * deep(x, n - 1)


def long_loop(x, n):
    y = x
    for _ in range(n):
        y = y * 0.9999 + x * 0.0001
    return y


@pytest.mark.parametrize("n", [100, 1000, 10_000])
def test_094_deep_recursion(n):
    """In a thread, whose stack can be had as large as any C frames between the Python ones may need."""
    limit, found = sys.getrecursionlimit(), []
    size = threading.stack_size(256 * 2**20)
    sys.setrecursionlimit(limit + 10 * n)
    try:
        thread = threading.Thread(target=lambda: found.append(grad(deep)(2.0, n)))
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    assert found == [pytest.approx(1.001**n)]


def test_094_recursion_within_the_limit_of_the_interpreter():
    assert grad(deep)(2.0, 200) == pytest.approx(1.001**200)


def test_094_endless_recursion_is_a_recursion_error():
    with pytest.raises(RecursionError):
        grad(endless)(1.0)


def endless(x):
    return endless(x * 2.0) + 1.0


def test_094_long_loop():
    value, g = value_and_grad(long_loop)(2.0, 100_000)
    assert value == pytest.approx(2.0)
    assert g == pytest.approx(1.0)


def test_094_memory_of_a_long_loop_is_linear():
    import tracemalloc

    def peak(n):
        tracemalloc.start()
        grad(nonlinear_loop)(0.5, n)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    grad(nonlinear_loop)(0.5, 10)
    small, large = peak(5_000), peak(20_000)
    assert large < 5.0 * small
    assert large < 20_000 * 500


def nonlinear_loop(x, n):
    y = x
    for _ in range(n):
        y = math.sin(y) + x
    return y


# -- 95 threads ----------------------------------------------------------------------------------------------


def in_threads(work, n):
    errors, barrier = [], threading.Barrier(n)

    def run(i):
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def threaded(x, n):
    y = 1.0
    for _ in range(n):
        y = y * math.sin(x)
    return y


def test_095_many_threads_one_function():
    g = grad(threaded)

    def work(i):
        x = 0.1 * (i + 1)
        for n in (1, 2, 5):
            expected = n * math.sin(x) ** (n - 1) * math.cos(x)
            for _ in range(50):
                assert g(x, n) == pytest.approx(expected)
                assert vjp(threaded, x, n)[1](2.0)[0] == pytest.approx(2.0 * expected)

    in_threads(work, 8)


def square_or_cube(x):
    return marked(x)


def marked(x):
    return x * x


def test_095_two_contexts_in_two_threads():
    class Tenfold(ADContext):
        pass

    @Tenfold.rule(marked)
    def _(ctx, x):
        return x * x, lambda ybar: ybar * 10.0

    def work(i):
        ctx, expected = (Tenfold(), 10.0) if i % 2 else (ADContext(), 6.0)
        for _ in range(100):
            assert overdub(ctx, square_or_cube, 3.0)[1](1.0) == (expected,)

    in_threads(work, 4)


def test_095_pullback_called_in_another_thread():
    _, pullback = vjp(threaded, 0.5, 3)
    expected = pullback(1.0)
    in_threads(lambda i: [pullback(1.0) == expected or pytest.fail() for _ in range(50)], 4)


def mixed_types(x):
    return (x * x).sum() if isinstance(x, np.ndarray) else x * x


def test_095_threads_with_different_types():
    g = grad(mixed_types)
    inputs = [2.0, np.ones(3), np.ones(3, np.float32), np.float64(2.0)]

    def work(i):
        x = inputs[i % 4]
        for _ in range(100):
            np.testing.assert_array_equal(g(x), 2 * x)

    in_threads(work, 8)


# -- 100 each call runs once ---------------------------------------------------------------------------------

runs = []


def noted(name, x):
    runs.append(name)
    return x


def straight_calls(x):
    a = noted("a", math.sin(x))
    b = noted("b", a * x)
    return noted("c", a * b)


def looping_calls(x):
    y = x
    for i in range(3):
        y = noted(i, y * x)
        if i == 1:
            y = noted("one", math.exp(-y))
    return y


def helper_calls(x):
    return straight_calls(x) * looping_calls(x)


def container_calls(x):
    parts = [noted(i, x * i) for i in (1.0, 2.0)]
    d = {"k": noted("k", parts[0] * parts[1])}
    return d["k"] + max(parts, key=lambda p: noted("key", p))


@pytest.mark.parametrize("f", [straight_calls, looping_calls, helper_calls, container_calls])
def test_100_each_primal_call_runs_once_and_in_order(f):
    runs.clear()
    value = f(1.3)
    plain = list(runs)

    runs.clear()
    assert grad(f)(1.3) == pytest.approx(central(f, 1.3), rel=1e-6) and runs[: len(plain)] == plain
    runs.clear()
    grad(f)(1.3)
    assert runs == plain

    runs.clear()
    y, pullback = vjp(f, 1.3)
    assert y == value
    assert runs == plain
    pullback(1.0)
    pullback(1.0)
    assert runs == plain


def counting_object_calls(x):
    return Counter(x).add(2.0).add(3.0).total


class Counter:
    made = added = 0

    def __init__(self, total):
        Counter.made += 1
        self.total = total

    def add(self, factor):
        Counter.added += 1
        return Counter(self.total * factor)


def test_100_constructors_and_methods_run_once():
    Counter.made = Counter.added = 0
    assert grad(counting_object_calls)(5.0) == 6.0
    assert (Counter.made, Counter.added) == (3, 2)


def test_100_compiling_runs_nothing():
    runs.clear()
    code_adjoint(straight_calls)(1.0)
    assert runs == []
    before = dict(entry.compiled)
    g = grad(compiled_once)
    for x in (1.0, 2.0, 3.0):
        assert g(x) == 2 * x
    assert entry.compiled["compiled_once"] - before.get("compiled_once", 0) == 1


def compiled_once(x):
    return x * x
