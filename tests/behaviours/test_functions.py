"""Behaviours 21, 23 to 29, 31: functions, closures and arguments.

The cotangent of a callable is a namespace: of what a closure captured, of an object's attributes, of `func`,
`args` and `keywords` of a partial. `invoke` (27), which calls the method of a chosen signature, is `super()`
and `Base.method(obj)` in Python. Cotangents are for positional arguments; keyword arguments are constants.
"""

import functools
import math
import operator
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
from behaviour_checks import check, same

from ctxdispatch import ADContext, grad, jacfwd, jvp, overdub, value_and_grad, vjp

# -- 21: closures ------------------------------------------------------------------------------------------


def multiply_by_lambda(x, y):
    times = lambda z: z * y
    return times(x)


def multiplier(y):
    def times(x):
        return x * y

    return times


def calls_returned_closure(x, y):
    times = multiplier(y)
    return times(x) * multiplier(x)(2.0)


def two_levels(x, y):
    def outer(a):
        def inner(b):
            return a * b * y

        return inner(a) + inner(x)

    return outer(x)


def apply(f, x):
    return f(x)


def apply_twice(f, x):
    return f(f(x))


def test_021_lambda_that_captures():
    check(multiply_by_lambda, 2.0, 3.0, value=6.0, grads=(3.0, 2.0))
    check(two_levels, 2.0, 3.0, value=24.0, grads=(24.0, 8.0))


def test_021_returned_closure_called_later():
    check(calls_returned_closure, 2.0, 3.0, value=24.0, grads=(24.0, 8.0))


def test_021_function_that_is_a_closure():
    check(multiplier(3.0), 2.0, value=6.0, grads=(3.0,))
    check(multiplier(4.0), 2.0, value=8.0, grads=(4.0,))
    y, pullback = overdub(ADContext(), multiplier(3.0), 2.0)
    assert (y, pullback(1.0)) == (6.0, (3.0,))


def test_021_closure_captured_value():
    times = multiplier(3.0)
    check(apply, times, 2.0, value=6.0, grads=(SimpleNamespace(y=2.0), 3.0))
    check(apply_twice, times, 2.0, value=18.0, grads=(SimpleNamespace(y=12.0), 9.0))
    weights = multiplier(np.array([1.0, 2.0]))
    _, pullback = vjp(apply, weights, np.array([3.0, 4.0]))
    same(pullback(np.ones(2)), (SimpleNamespace(y=np.array([3.0, 4.0])), np.array([1.0, 2.0])))


def test_021_new_closures_of_one_function():
    gradient = grad(apply, (0, 1))
    for y in (3.0, 4.0, np.float64(5.0)):
        same(gradient(multiplier(y), 2.0), (SimpleNamespace(y=2.0), float(y)))
    same(gradient(multiplier(3), 2.0), (None, 3.0))


# -- 23: star arguments ------------------------------------------------------------------------------------


def first(a, *rest):
    return a


def star_sum(a, *rest):
    total = a * 2
    for r in rest:
        total = total + r * r
    return total


def star_item(*xs):
    return xs[1] * xs[-1]


def equal(a, b):
    return a == b


def equal_first(*xs):
    return xs[0] if xs[0] == xs[1] else 2.0 * xs[1]


def test_023_star_arguments():
    check(first, 2.0, 3, value=2.0, grads=(1.0, None))
    check(first, 2.0, 3.0, 4.0, value=2.0, grads=(1.0, 0.0, 0.0))
    check(star_sum, 2.0, value=4.0, grads=(2.0,))
    check(star_sum, 2.0, 3.0, 4.0, value=29.0, grads=(2.0, 6.0, 8.0))
    check(star_item, 2.0, 3.0, 4.0, value=12.0, grads=(0.0, 4.0, 3.0))
    assert grad(star_sum, -1)(2.0, 3.0, 4.0) == 8.0


def test_023_equality_has_no_derivative():
    y, pullback = vjp(equal, 2.0, 2.0)
    assert y is True
    assert not any(pullback(1.0))
    y, _ = vjp(equal, np.ones(2), np.array([1.0, 2.0]))
    assert y.tolist() == [True, False]
    check(equal_first, 2.0, 3.0, value=6.0, grads=(0.0, 2.0))


# -- 24: splats --------------------------------------------------------------------------------------------


def largest(xs):
    return max(*xs)


def into_call(xs):
    return weigh(*xs)


def weigh(a, b, c):
    return a + 2 * b + 3 * c * c


def into_displays(xs, y):
    row = [*xs, y, *xs]
    pair = (y, *xs)
    return row[0] * row[-1] + pair[0] * pair[1]


def mixed_splat(x, xs):
    return star_sum(x, *xs, x, *xs)


def reshaped(x, dims):
    y = x.reshape(*dims)
    return (y[0] * np.reshape(x, dims)[1]).sum()


def unpacked(xs):
    a, (b, *c), *d = xs
    return a * b + c[0] * d[-1]


def test_024_splat_into_call():
    check(largest, [1.0, 2.0, 3.0], value=3.0, grads=([0.0, 0.0, 1.0],))
    check(into_call, [1.0, 2.0, 3.0], value=32.0, grads=([1.0, 2.0, 18.0],))
    check(into_call, (1.0, 2.0, 3.0), value=32.0, grads=((1.0, 2.0, 18.0),))
    check(into_call, np.array([1.0, 2.0, 3.0]), value=32.0, grads=(np.array([1.0, 2.0, 18.0]),))
    check(mixed_splat, 2.0, [3.0, 4.0], value=58.0, grads=(6.0, [12.0, 16.0]))


def test_024_splat_into_displays():
    check(into_displays, [2.0, 3.0], 5.0, value=16.0, grads=([8.0, 2.0], 2.0))
    check(into_displays, (2.0, 3.0), 5.0, value=16.0, grads=((8.0, 2.0), 2.0))


def test_024_splat_dimensions():
    x = np.arange(1.0, 7.0)
    same(vjp(reshaped, x, (2, 3))[1](1.0)[0], np.array([4.0, 5.0, 6.0, 1.0, 2.0, 3.0]))
    same(grad(reshaped)(x, [2, 3]), np.array([4.0, 5.0, 6.0, 1.0, 2.0, 3.0]))
    check(reshaped, x, (2, 3), value=32.0, grads=(np.array([4.0, 5.0, 6.0, 1.0, 2.0, 3.0]), None))


def test_024_starred_targets():
    check(unpacked, (2.0, (3.0, 4.0), 5.0, 6.0), value=30.0, grads=((3.0, (2.0, 6.0), 0.0, 4.0),))


# -- 25: keyword arguments ---------------------------------------------------------------------------------


def scaled(x, *, scale=2.0, shift=1.0):
    return x * x * scale + shift


def defaults(x, y=3.0, z=None):
    return x * y if z is None else x * z


def calls_with_keywords(x, y):
    return scaled(x, shift=y) + scaled(scale=x, x=y) + defaults(x) + defaults(x, z=y)


def forwards(x, **options):
    return forwards_again(x, **options)


def forwards_again(x, /, *, offset=0.0, **options):
    return scaled(x, **options) + offset


def calls_forwards(x, y):
    return forwards(x, scale=y, offset=x)


def indexes(x, **options):
    return x * options["a"] + options.get("b", 5.0) * x


def calls_indexes(x, y):
    return indexes(x, a=y * y)


def splats_dict(x, y):
    options = {"scale": y, "shift": x}
    return scaled(x, **options)


Options = namedtuple("Options", "scale shift")


def splats_namedtuple(x, y):
    return scaled(x, **Options(y, shift=x)._asdict())


def splats_namedtuple_positions(x, y):
    return defaults(*Options(scale=x, shift=y))


def test_025_keyword_arguments():
    check(calls_with_keywords, 2.0, 3.0, value=11.0 + 19 + 6 + 6, grads=(8.0 + 9 + 3 + 3, 1.0 + 12 + 2))
    check(scaled, 3.0, value=19.0, grads=(12.0,))


def test_025_defaults_and_keywords_at_the_entry():
    check(defaults, 2.0, value=6.0, grads=(3.0,))
    check(defaults, 2.0, 4.0, value=8.0, grads=(4.0, 2.0))
    for scale in (3.0, 3):
        y, pullback = vjp(scaled, 2.0, scale=scale)
        assert (y, pullback(1.0)) == (13.0, (12.0,))
        assert value_and_grad(scaled)(2.0, scale=scale) == (13.0, 12.0)
    assert grad(indexes)(2.0, a=3.0) == 8.0
    assert grad(indexes)(2.0, b=3.0, a=4.0) == 7.0


def test_025_keywords_forwarded_two_levels():
    check(calls_forwards, 2.0, 3.0, value=15.0, grads=(13.0, 4.0))
    assert grad(forwards)(2.0, scale=5.0) == 20.0


def test_025_keywords_indexed():
    check(calls_indexes, 2.0, 3.0, value=28.0, grads=(14.0, 12.0))


def test_025_keywords_from_dict_and_namedtuple():
    for f in (splats_dict, splats_namedtuple):
        check(f, 2.0, 3.0, value=14.0, grads=(13.0, 4.0))
    check(splats_namedtuple_positions, 2.0, 3.0, value=6.0, grads=(3.0, 2.0))


# -- 26: partials, methods, callable objects ---------------------------------------------------------------


def subtract(x, y):
    return x * x - y


def fixes_arguments(x, y):
    fix_first = functools.partial(subtract, x)
    fix_second = functools.partial(subtract, y=y)
    return fix_first(y) * 10 + fix_second(y)


class Affine:
    def __init__(self, w, b):
        self.w = w
        self.b = b

    def __call__(self, x):
        return self.w * x + self.b

    def squared(self, x, power=2):
        return self(x) ** power


def binds_method(x, layer):
    f = layer.squared
    return f(x)


def test_026_partial():
    check(functools.partial(subtract, 3.0), 2.0, value=7.0, grads=(-1.0,))
    check(functools.partial(subtract, y=3.0), 2.0, value=1.0, grads=(4.0,))
    check(fixes_arguments, 2.0, 3.0, value=16.0, grads=(40.0, -10 + 5.0))


def test_026_partial_as_argument():
    f = functools.partial(subtract, 3.0)
    expected = SimpleNamespace(func=None, args=(6.0,), keywords={})
    same(vjp(apply, f, 2.0)[1](1.0), (expected, -1.0))


def test_026_bound_method():
    layer = Affine(3.0, 1.0)
    check(layer.squared, 2.0, value=49.0, grads=(42.0,))
    check(Affine.squared, layer, 2.0, value=49.0, grads=(SimpleNamespace(w=28.0, b=14.0), 42.0))
    check(binds_method, 2.0, layer, value=49.0, grads=(42.0, SimpleNamespace(w=28.0, b=14.0)))
    check(functools.partial(layer.squared, power=3), 2.0, value=343.0, grads=(441.0,))


def test_026_callable_object_with_fields():
    layer = Affine(3.0, 1.0)
    check(layer, 2.0, value=7.0, grads=(3.0,))
    check(apply, layer, 2.0, value=7.0, grads=(SimpleNamespace(w=2.0, b=1.0), 3.0))
    check(apply_twice, layer, 2.0, value=22.0, grads=(SimpleNamespace(w=13.0, b=4.0), 9.0))


# -- 27: which body runs -----------------------------------------------------------------------------------


class Base:
    def __init__(self, k):
        self.k = k

    def energy(self, x):
        return self.k * x

    def twice(self, x):
        return 2 * self.energy(x)

    @classmethod
    def tripled(cls, x):
        return cls(3.0).energy(x)

    @staticmethod
    def halved(x):
        return x / 2


class Derived(Base):
    def energy(self, x):
        return super().energy(x) * x + x


class Cousin(Base):
    def energy(self, x):
        return super(Cousin, self).energy(x) - x


def explicit_base(obj, x):
    return Base.energy(obj, x) + 10 * obj.energy(x)


def test_027_super_and_explicit_base():
    check(Derived(5.0).energy, 3.0, value=48.0, grads=(31.0,))
    check(Derived(5.0).twice, 3.0, value=96.0, grads=(62.0,))
    check(Cousin(5.0).twice, 3.0, value=24.0, grads=(8.0,))
    check(explicit_base, Derived(5.0), 3.0, value=495.0, grads=(SimpleNamespace(k=93.0), 315.0))


def test_027_classmethod_and_staticmethod():
    check(Derived.tripled, 2.0, value=14.0, grads=(13.0,))
    check(Base.tripled, 2.0, value=6.0, grads=(3.0,))
    check(Derived(1.0).halved, 2.0, value=1.0, grads=(0.5,))


# -- 28: higher order --------------------------------------------------------------------------------------


def sum_of(f, xs):
    return sum([f(x) for x in xs])


def sum_mapped(f, xs):
    return sum(map(f, xs))


def map_capturing(xs, y):
    return sum(map(lambda x: x * x + y[0], xs))


def map_two(xs, ys):
    return sum(list(map(lambda x, y: x * y * y, xs, ys)))


def reduce_with(xs, y):
    return functools.reduce(lambda acc, x: acc * y + x, xs)


def reduce_from(xs, start):
    return functools.reduce(operator.mul, xs, start)


def compose(*fs):
    return functools.reduce(lambda f, g: lambda x: g(f(x)), fs)


def composed(x):
    return compose(math.sin, square, math.exp)(x)


def square(x):
    return x * x


def keeps_filtered(xs, limit):
    return sum(x * x for x in filter(lambda x: x > limit, xs))


def test_028_function_as_argument():
    check(sum_of, math.sin, [0.1, 0.2], grads=(None, [math.cos(0.1), math.cos(0.2)]))
    check(sum_of, square, [1.0, 2.0], value=5.0, grads=(None, [2.0, 4.0]))
    check(sum_mapped, math.exp, [0.1, 0.2], grads=(None, [math.exp(0.1), math.exp(0.2)]))
    check(sum_of, multiplier(3.0), [1.0, 2.0], value=9.0, grads=(SimpleNamespace(y=3.0), [3.0, 3.0]))


def test_028_map_with_closure():
    check(map_capturing, [1.0, 2.0, 3.0], [1.0, 5.0], value=17.0, grads=([2.0, 4.0, 6.0], [3.0, 0.0]))
    xs, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0])
    check(map_capturing, xs, y, value=17.0, grads=(np.array([2.0, 4.0, 6.0]), np.array([3.0, 0.0])))
    check(map_two, [1.0, 2.0], [3.0, 4.0], value=41.0, grads=([9.0, 16.0], [6.0, 16.0]))


def test_028_reduce_with_closure():
    check(reduce_with, [1.0, 2.0, 3.0], 5.0, value=38.0, grads=([25.0, 5.0, 1.0], 12.0))
    check(reduce_from, [2.0, 3.0], 5.0, value=30.0, grads=([15.0, 10.0], 6.0))


def test_028_composition():
    x = 0.4
    slope = math.exp(math.sin(x) ** 2) * 2 * math.sin(x) * math.cos(x)
    check(composed, x, value=math.exp(math.sin(x) ** 2), grads=(slope,))


def test_028_filter():
    check(keeps_filtered, [1.0, 2.0, 3.0], 1.5, value=13.0, grads=([0.0, 4.0, 6.0], 0.0))


# -- 29: globals -------------------------------------------------------------------------------------------

cubes = True
activation = math.sin
factor = 2.0


def power_by_flag(x):
    return x * x * x if cubes else x * x


def activated(x):
    return activation(x) * factor


def test_029_global_flag_flips(monkeypatch):
    gradient = value_and_grad(power_by_flag)
    assert gradient(2.0) == (8.0, 12.0)
    monkeypatch.setitem(globals(), "cubes", False)
    assert gradient(2.0) == (4.0, 4.0)
    assert vjp(power_by_flag, 2.0)[1](1.0) == (4.0,)
    monkeypatch.setitem(globals(), "cubes", True)
    assert gradient(2.0) == (8.0, 12.0)


def test_029_global_function_and_number_reassigned(monkeypatch):
    gradient = grad(activated)
    same(gradient(0.5), 2 * math.cos(0.5))
    monkeypatch.setitem(globals(), "activation", math.exp)
    same(gradient(0.5), 2 * math.exp(0.5))
    monkeypatch.setitem(globals(), "factor", 3.0)
    same(gradient(0.5), 3 * math.exp(0.5))
    monkeypatch.setitem(globals(), "activation", square)
    same(gradient(0.5), 3.0)
    same(vjp(activated, 0.5)[1](1.0), (3.0,))


def test_029_global_functions_as_arguments_have_none():
    check(apply, math.sin, 0.5, value=math.sin(0.5), grads=(None, math.cos(0.5)))
    check(apply, square, 0.5, value=0.25, grads=(None, 1.0))
    check(apply, np.tanh, 0.5, grads=(None, 1 - math.tanh(0.5) ** 2))


# -- 31: functions in containers ---------------------------------------------------------------------------

TABLE = {"sin": math.sin, "square": square, "tripled": lambda x: 3 * x}


def layers_in_a_list(x, y):
    layers = [lambda z: z * y, math.sin, lambda z: z + y]
    for layer in layers:
        x = layer(x)
    return x


def by_index(x, fs, i):
    return fs[i](x)


def by_name(x, name):
    return TABLE[name](x)


def by_local_name(x, name):
    return {"sin": math.sin, "cos": math.cos, "scaled": lambda z: z * x}[name](x)


def test_031_lambdas_in_a_list():
    x, y = 0.5, 0.7
    check(layers_in_a_list, x, y, grads=(y * math.cos(x * y), x * math.cos(x * y) + 1))
    fs = [math.sin, square, lambda x: 2 * x]
    for i, slope in enumerate((math.cos(0.5), 1.0, 2.0)):
        assert grad(by_index)(0.5, fs, i) == slope
        assert vjp(by_index, 0.5, fs, i)[1](1.0)[0] == slope


def test_031_dispatch_dict():
    check(by_name, 0.5, "sin", value=math.sin(0.5), grads=(math.cos(0.5), None))
    check(by_name, 0.5, "square", value=0.25, grads=(1.0, None))
    check(by_name, 0.5, "tripled", value=1.5, grads=(3.0, None))
    check(by_local_name, 0.5, "cos", value=math.cos(0.5), grads=(-math.sin(0.5), None))
    check(by_local_name, 0.5, "scaled", value=0.25, grads=(1.0, None))


def test_031_dispatch_dict_changed(monkeypatch):
    gradient = grad(by_name)
    assert gradient(0.5, "square") == 1.0
    monkeypatch.setitem(TABLE, "square", lambda x: 7 * x)
    assert gradient(0.5, "square") == 7.0


BY_SIZE = functools.cmp_to_key(lambda a, b: (a > b) - (a < b))


@pytest.mark.parametrize("first", [lambda xs: sorted(xs, key=BY_SIZE)[0], lambda xs: min(xs, key=BY_SIZE)])
def test_key_of_the_module_that_cannot_be_hashed(first):
    def f(x):
        return first([x, 2.0 * x, -x]) * x

    assert (grad(f)(1.5), jvp(f, (1.5,), (1.0,)), jacfwd(f)(1.5)) == (-3.0, (-2.25, -3.0), -3.0)
