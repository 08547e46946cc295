"""Behaviours 1 to 13, 15, 17 to 20: scalars and control flow.

Python has no goto (12): its multi-exit code is loops with break, continue, else and return. A local that may
be unbound (9, 14) raises UnboundLocalError when it is read, under a derivative too.
"""

import importlib.util
import math

import numpy as np
import pytest
from behaviour_checks import check, same

from ctxdispatch import code_adjoint, grad, value_and_grad, vjp


def module_of(tmp_path, name, source):
    """A module of generated source, in a file like any other."""
    path = tmp_path / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- 1, 2: powers ------------------------------------------------------------------------------------------


def pow_while(x, n):
    r = 1.0
    while n > 0:
        n -= 1
        r *= x
    return r


def pow_int_start(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


def pow_recursive(x, n):
    return 1 if n == 0 else x * pow_recursive(x, n - 1)


def test_001_power_by_while_loop():
    check(pow_while, 2.0, 3, value=8.0, grads=(12.0, None))
    check(pow_while, 2.0, 0, value=1.0, grads=(0.0, None))
    check(pow_int_start, 2.0, 3, value=8.0, grads=(12.0, None))


def test_001_loop_that_does_not_run():
    assert pow_int_start(2.0, 0) == 1
    assert vjp(pow_int_start, 2.0, 0)[1](1.0) == (0.0, None)


def test_002_recursive_power():
    check(pow_recursive, 2.0, 3, value=8.0, grads=(12.0, None))
    check(pow_recursive, 3.0, 1, value=3.0, grads=(1.0, None))
    check(pow_recursive, 1.01, 50, grads=(50 * 1.01**49, None))


# -- 3, 12: leaving loops ----------------------------------------------------------------------------------


def until_large(x):
    y = x
    for i in range(100):
        if y > 10.0:
            break
        y = y * x
    return y


def returns_from_loop(x):
    y = x
    for i in range(10):
        if i == 3:
            return y * i
        y = y * x
    return y


def while_true(x):
    n = 0
    while True:
        if n >= 4:
            return x
        x = x * x
        n += 1


def for_else(x, limit):
    y = x
    for i in range(5):
        y = y * x
        if y > limit:
            y = y + 3.0 * x
            break
    else:
        y = -y
    return y


def chosen_by_break(x, y, flag):
    b = y
    for i in range(3):
        if not flag:
            break
    else:
        b = x
    return b


def returns_from_inner_loop(x, n):
    for i in range(n):
        for j in range(i):
            return x * j + 3 * x
    return 2 * x


def with_continue(x):
    total = 0.0
    for i in range(6):
        if i % 2:
            continue
        total += x * i
    return total


def test_003_break():
    check(until_large, 2.0, value=16.0, grads=(32.0,))
    check(until_large, 11.0, value=11.0, grads=(1.0,))


def test_003_return_inside_a_loop():
    check(returns_from_loop, 1.5, value=3 * 1.5**4, grads=(12 * 1.5**3,))


def test_003_loop_that_only_chooses():
    check(chosen_by_break, 2.0, 3.0, False, value=3.0, grads=(0.0, 1.0, None))
    check(chosen_by_break, 2.0, 3.0, True, value=2.0, grads=(1.0, 0.0, None))


def test_003_return_from_an_inner_loop():
    check(returns_from_inner_loop, 1.5, 1, value=3.0, grads=(2.0, None))
    check(returns_from_inner_loop, 1.5, 4, value=4.5, grads=(3.0, None))


def test_003_while_true_with_return():
    check(while_true, 1.1, value=1.1**16, grads=(16 * 1.1**15,))


def test_003_continue_and_else():
    check(with_continue, 1.5, value=9.0, grads=(6.0,))
    check(for_else, 1.5, 1e9, value=-(1.5**6), grads=(-6 * 1.5**5, 0.0))
    check(for_else, 1.5, 3.0, value=1.5**3 + 4.5, grads=(3 * 1.5**2 + 3, 0.0))


def exits(x, n):
    """As many ways out as Python has without goto."""
    y = x
    while True:
        if n == 0:
            return y
        for k in range(n):
            if k == 3:
                break
            if y > 50.0:
                return -y
            y = y * x
        else:
            if n == 2:
                y = y + x
                break
        n -= 1
        if n == 5:
            continue
        y = y + 1.0
    return 2.0 * y


@pytest.mark.parametrize("x", [1.1, 1.9, 3.0])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 6])
def test_012_multi_exit(x, n):
    eps = 1e-6
    expected = (exits(x + eps, n) - exits(x - eps, n)) / (2 * eps)
    value, gradient = value_and_grad(exits)(x, n)
    assert value == exits(x, n)
    assert gradient == pytest.approx(expected, rel=1e-6)
    assert vjp(exits, x, n)[1](1.0) == (pytest.approx(expected, rel=1e-6), None)


# -- 4 to 8: merges and loops ------------------------------------------------------------------------------


def three_way(x):
    if x > 2:
        y = 3 * x
    elif x > 1.2:
        y = x * x
    elif x > 0:
        y = 2 * x
    else:
        y = -x
    return y


def test_004_three_way_merge():
    check(three_way, 1.0, value=2.0, grads=(2.0,))
    check(three_way, 1.5, value=2.25, grads=(3.0,))
    check(three_way, 3.0, value=9.0, grads=(3.0,))
    check(three_way, -2.0, value=2.0, grads=(-1.0,))


def nested_loops(x, n):
    total = 0.0
    for i in range(n):
        for j in range(i):
            total = total + x**i * j
    return total


def bound_from_variable(x, xs):
    n = len(xs)
    y = 0.0
    for i in range(1, n, 2):
        for j in range(n - i):
            y += x * xs[i] * (j + 1)
    return y


def nested_whiles(x):
    y, i = x, 0
    while i < 3:
        j = 0
        while j <= i:
            y = math.sin(y) + x
            j += 1
        i += 1
    return y


def test_005_nested_loops():
    def derivative(x, n):
        return sum(i * x ** (i - 1) * j for i in range(1, n) for j in range(i))

    check(nested_loops, 1.3, 5, grads=(derivative(1.3, 5), None))
    check(nested_loops, 1.3, 1, grads=(0.0, None))
    eps = 1e-6
    found = grad(nested_whiles)(0.7)
    assert found == pytest.approx((nested_whiles(0.7 + eps) - nested_whiles(0.7 - eps)) / (2 * eps), rel=1e-6)


def test_005_range_bound_by_a_variable():
    xs = [1.0, 2.0, 3.0, 4.0]
    check(bound_from_variable, 2.0, xs, value=32.0, grads=(16.0, [0.0, 12.0, 0.0, 2.0]))


def test_005_inner_loop_sets_what_it_does_not_change():
    check(constant_in_inner_loop, 3.0, value=9.0, grads=(6.0,))


def swap_three_times(a, b):
    for _ in range(3):
        a, b = b, a
    return a * 2 + b * 0.0


def rotate_four_times(a, b, c):
    for _ in range(4):
        a, b, c = b, c, a
    return a * 2


def test_006_loop_carried_swap():
    check(swap_three_times, 3.0, 5.0, value=10.0, grads=(0.0, 2.0))


def test_006_three_way_rotation():
    check(rotate_four_times, 3.0, 5.0, 7.0, value=10.0, grads=(0.0, 2.0, 0.0))


def critical_edges(a, b, c, x):
    y = 1 * x
    if a and b:
        y = 2 * x
    if b and c:
        y = 3 * y
    if c:
        y = 4 * y
    return y


@pytest.mark.parametrize(
    ("a", "b", "c", "slope"),
    [(0, 0, 0, 1.0), (1, 1, 0, 2.0), (0, 1, 1, 12.0), (0, 0, 1, 4.0)],
)
def test_007_two_critical_edges(a, b, c, slope):
    flags = bool(a), bool(b), bool(c)
    check(critical_edges, *flags, 1.0, value=slope, grads=(None, None, None, slope))


def many_sines(x):
    for _ in range(500):
        x = math.sin(x)
    return x


def constant_in_inner_loop(y):
    c = 0.5
    for i in range(3):
        n = 0
        while n < 3:
            n += 1
            c = y
    return y * c


def three_cosines(x):
    n = 0
    while n < 3:
        x = math.cos(x)
        n += 1
    return x


def chain(f, slope, x, n):
    derivative = 1.0
    for _ in range(n):
        x, derivative = f(x), derivative * slope(x)
    return x, derivative


def test_008_long_for_loop():
    value, slope = chain(math.sin, math.cos, 1.2, 500)
    check(many_sines, 1.2, value=value, grads=(slope,))


def test_008_while_loop():
    value, slope = chain(math.cos, lambda x: -math.sin(x), 0.4, 3)
    check(three_cosines, 0.4, value=value, grads=(slope,))


# -- 9, 10, 11, 13, 14: paths ------------------------------------------------------------------------------


def defined_if(x, cond):
    if cond:
        v = x * x
    y = 2 * x
    if cond:
        y = y * v
    return y


def defined_in_loop(x, n):
    for i in range(n):
        last = x * i
    if n > 0:
        return last * x
    return x


def test_009_value_defined_on_one_path_only():
    check(defined_if, 3.0, True, value=54.0, grads=(54.0, None))
    check(defined_if, 3.0, False, value=6.0, grads=(2.0, None))
    check(defined_in_loop, 3.0, 3, value=18.0, grads=(12.0, None))
    check(defined_in_loop, 3.0, 0, value=3.0, grads=(1.0, None))


def after_return(x):
    return x * x
    return x * x * x


def unreachable_branch(x):
    limit = 100
    if False:
        x = np.linalg.inv(x)
    while x > limit:
        return x
        x = limit + x
    if x > 1:
        return 3 * x
        y = x
    else:
        raise ValueError(x)
    return y


def endless_or_not(x):
    while True:
        x = x * 2
        if x > 10:
            break
    else:
        x = x * 1000
    return x


def test_010_dead_code():
    check(after_return, 3.0, value=9.0, grads=(6.0,))
    check(unreachable_branch, 3.0, value=9.0, grads=(3.0,))
    check(endless_or_not, 3.0, value=12.0, grads=(4.0,))
    with pytest.raises(ValueError, match=r"0\.5"):
        grad(unreachable_branch)(0.5)


def relu(x):
    return x if x > 0 else 0.0


def relu_max(x):
    return max(x, 0.0)


def throws_below_zero(x):
    if x < 0:
        raise ValueError("negative")
    return math.sqrt(x) * x


def test_011_branch_on_the_argument():
    for f in (relu, relu_max):
        check(f, 2.5, value=2.5, grads=(1.0,))
        check(f, -2.5, value=0.0, grads=(0.0,))


def test_011_throwing_path_never_taken():
    check(throws_below_zero, 4.0, value=8.0, grads=(3.0,))
    for call in (grad(throws_below_zero), lambda x: vjp(throws_below_zero, x)):
        with pytest.raises(ValueError, match="^negative$"):
            call(-1.0)


def ternary(x, y):
    return (x * y if x > y else x - y) + (y if y > 0 else -y)


def or_default(x, y):
    return (x or y) * 3 + (x and y) * 2


def chosen(x, y, flag):
    best = flag and x * x or y * y
    return best if not (x > 10 or y > 10) else best * 100


def chained(x, y):
    return x * y if 0 < x < y else y - x


def test_013_ternary():
    check(ternary, 3.0, 2.0, value=8.0, grads=(2.0, 4.0))
    check(ternary, 1.0, 2.0, value=1.0, grads=(1.0, 0.0))
    check(ternary, 1.0, -2.0, value=0.0, grads=(-2.0, 0.0))


def test_013_short_circuit_values():
    check(or_default, 4.0, 5.0, value=22.0, grads=(3.0, 2.0))
    assert value_and_grad(or_default, (0, 1))(0.0, 5.0) == (15.0, (2.0, 3.0))
    check(chosen, 2.0, 3.0, True, value=4.0, grads=(4.0, 0.0, None))
    check(chosen, 2.0, 3.0, False, value=9.0, grads=(0.0, 6.0, None))
    check(chosen, 20.0, 3.0, False, value=900.0, grads=(0.0, 600.0, None))


def test_013_chained_comparison():
    check(chained, 2.0, 3.0, value=6.0, grads=(3.0, 2.0))
    check(chained, 3.0, 2.0, value=-1.0, grads=(-1.0, 1.0))


def bound_if_positive(x):
    if x > 0:
        y = 3 * x
    if x > 0:
        return y
    return 42.0


def unbound_if_negative(x):
    if x > 0:
        y = 3 * x
    return y * x


def test_014_possibly_unbound_local():
    check(bound_if_positive, 2.0, value=6.0, grads=(3.0,))
    check(bound_if_positive, -1.0, value=42.0, grads=(0.0,))
    check(unbound_if_negative, 2.0, value=12.0, grads=(12.0,))


def test_014_unbound_local_is_still_raised():
    for call in (grad(unbound_if_negative), lambda x: vjp(unbound_if_negative, x)):
        with pytest.raises(UnboundLocalError, match="'y'"):
            call(-2.0)


# -- 15: a copy of an argument -----------------------------------------------------------------------------


def scalar_copy(x):
    y = x
    for i in range(3):
        y += 1.0
        y -= i
    return y


def list_copy(xs):
    ys = list(xs)
    for i in range(len(xs)):
        ys.append(xs[i] * xs[i])
    total = 0.0
    for y in ys:
        total += y
    return total


def test_015_loop_changes_a_copy_of_an_argument():
    check(scalar_copy, 1.0, value=1.0, grads=(1.0,))
    check(list_copy, [1.0, 2.0, 3.0], value=20.0, grads=([3.0, 5.0, 7.0],))


# -- 17: recursion -----------------------------------------------------------------------------------------


def self_reference(a, b):
    return a * b if a < b else self_reference(b, a) + a


def even(x, n):
    return x if n == 0 else 2.0 * odd(x * x, n - 1)


def odd(x, n):
    return x * x * x if n == 0 else x + even(x, n - 1)


def recursive_sum(xs):
    return 0.0 if len(xs) == 0 else xs[0] + recursive_sum(xs[1:])


def recursive_squares(x):
    return 0.0 if x.size == 0 else x[0] ** 2 + recursive_squares(x[1:])


def fib(x, n):
    return x if n < 2 else fib(x, n - 1) + fib(x, n - 2) * x


def test_017_self_reference():
    check(self_reference, 1.1, 1.5, value=1.65, grads=(1.5, 1.1))
    check(self_reference, 1.5, 1.1, value=1.65 + 1.5, grads=(2.1, 1.5))


def test_017_mutual_recursion():
    check(even, 0.6, 0, value=0.6, grads=(1.0, None))
    check(even, 0.6, 1, value=2 * 0.36**3, grads=(12 * 0.6**5, None))
    check(even, 0.6, 2, value=2 * 0.72, grads=(2 * 2 * 1.2, None))
    check(odd, 0.6, 3, grads=(_difference(odd, 0.6, 3), None))


def test_017_recursive_sum_over_slices():
    check(recursive_sum, [1.0, 2.0, 3.0], value=6.0, grads=([1.0, 1.0, 1.0],))
    check(recursive_sum, (1.0, 2.0, 3.0), value=6.0, grads=((1.0, 1.0, 1.0),))
    check(recursive_squares, np.array([1.0, 2.0, 3.0]), value=14.0, grads=(np.array([2.0, 4.0, 6.0]),))


def test_017_two_recursive_calls():
    check(fib, 1.2, 6, grads=(_difference(fib, 1.2, 6), None))


def _difference(f, x, *rest):
    """By a complex step (exact to rounding)."""
    return f(x + 1e-30j, *rest).imag / 1e-30


# -- 18, 19: size ------------------------------------------------------------------------------------------


def test_018_large_straight_line_block(tmp_path):
    body = "\n".join(f"    y = y * 1.001 + x{'*' if i % 3 else '-'}0.01" for i in range(400))
    f = module_of(tmp_path, "straight_line", f"def f(x):\n    y = x\n{body}\n    return y\n").f
    y, slope = 1.0, 1.0
    for i in range(400):
        y, slope = y * 1.001 + (0.01 if i % 3 else 0.99), slope * 1.001 + (0.01 if i % 3 else 1.0)
    check(f, 1.0, value=y, grads=(slope,))


def sum_of_items(xs):
    total = 0.0
    for x in xs:
        total = total + x * x
    return total


@pytest.mark.night
def test_018_thousand_element_tuple(tmp_path):
    xs = tuple(0.001 * i for i in range(1000))
    value, gradient = value_and_grad(sum_of_items)(xs)
    assert value == sum_of_items(xs)
    same(gradient, tuple(2 * x for x in xs))
    display = ", ".join(f"x * {i}.0" for i in range(1000))
    source = f"def f(x):\n    t = ({display})\n    return t[7] + t[999] + t[-2]\n"
    f = module_of(tmp_path, "display", source).f
    check(f, 2.0, value=4008.0, grads=(2004.0,))


def doubled_seventeen_times(x):
    x1 = x + x
    x2 = x1 + x1
    x3 = x2 + x2
    x4 = x3 + x3
    x5 = x4 + x4
    x6 = x5 + x5
    x7 = x6 + x6
    x8 = x7 + x7
    x9 = x8 + x8
    x10 = x9 + x9
    return x10 * 128.0


def sums_of_all(x):
    x1 = x
    x2 = x + x1
    x3 = x + x1 + x2
    x4 = x + x1 + x2 + x3
    x5 = x + x1 + x2 + x3 + x4
    x6 = x + x1 + x2 + x3 + x4 + x5
    x7 = x + x1 + x2 + x3 + x4 + x5 + x6
    x8 = x + x1 + x2 + x3 + x4 + x5 + x6 + x7
    x9 = x + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8
    x10 = x + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9
    return x10


def test_019_value_used_many_times():
    check(doubled_seventeen_times, 1.0, value=131072.0, grads=(131072.0,))
    check(sums_of_all, 1.0, value=512.0, grads=(512.0,))


def test_019_size_is_bounded():
    """Sharing is kept: the derivative program grows with the program, not with the paths through it."""
    assert len(code_adjoint(doubled_seventeen_times)(1.0).splitlines()) < 100
    assert len(code_adjoint(sums_of_all)(1.0).splitlines()) < 400


# -- 20: constants -----------------------------------------------------------------------------------------


def constant_float(x):
    return 1.0


def constant_int(x):
    return 1


def by_floor(x):
    return math.floor(x) * 2.0


def test_020_constant_function():
    check(constant_float, 2.0, value=1.0, grads=(0.0,))
    check(constant_int, 2.0, value=1, grads=(0.0,))
    check(by_floor, 2.5, value=4.0, grads=(0.0,))
    check(constant_float, np.ones(2), value=1.0, grads=(np.zeros(2),))
    check(constant_float, 2, value=1.0, grads=(None,))
    check(constant_float, "name", value=1.0, grads=(None,))
