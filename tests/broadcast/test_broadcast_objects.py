"""Attributes, items and methods that `f` of `broadcast` reads: once, before the kernel, as they are then."""

import functools
import math

import numpy as np
import pytest
from broadcast_checks import THREE, WEIGHTS, check_by_elements, close, differences

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.broadcast import KernelError, broadcast

X, W = THREE, WEIGHTS


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return self.by * x

    def twice(self, x):
        return 2 * self(x)

    @property
    def half(self):
        return self.by / 2


class Slotted:
    __slots__ = ("by", "inner")

    def __init__(self, by):
        self.by = by
        self.inner = Scale(by + 1)


class Computed:
    def __getattr__(self, name):
        return 3.0


class Rates:
    rate = 2.0
    chosen = "sin"

    @classmethod
    def of(cls, x):
        return cls.rate * x


SCALE, SLOTTED = Scale(0.5), Slotted(1.5)


def of_a_global(x):
    return SCALE.by * x


def of_methods(x):
    return SCALE.twice(x) + SCALE.half


def of_slots(x):
    return SLOTTED.by * x + SLOTTED.inner.by + SLOTTED.inner(x)


def of_a_class(x):
    return Rates.of(x) + (math.sin(x) if Rates.chosen == "sin" else math.cos(x))


@pytest.mark.parametrize("f", [of_a_global, of_methods, of_slots, of_a_class])
def test_reads(f):
    check_by_elements(f, X)


@pytest.mark.parametrize("by", [2.0, 3, np.float32(0.5), True, np.float64(1.5)])
def test_they_may_change(by, monkeypatch):
    readers = [(of_a_global, SCALE, "by"), (of_slots, SLOTTED, "by"), (of_a_class, Rates, "rate")]
    for f, owner, name in readers:
        check_by_elements(f, X)
        monkeypatch.setattr(owner, name, by)
        np.testing.assert_allclose(broadcast(f, X), [f(v) for v in X.tolist()], rtol=1e-7)
    monkeypatch.setattr(Rates, "chosen", "cos")
    np.testing.assert_allclose(broadcast(of_a_class, X), [of_a_class(v) for v in X.tolist()], rtol=1e-7)


def test_what_is_called_may_change(monkeypatch):
    check_by_elements(of_methods, X)
    monkeypatch.setattr(Scale, "twice", lambda self, x: 5 * x)
    check_by_elements(of_methods, X)
    monkeypatch.setattr(Scale, "half", property(lambda self: 7.0))
    check_by_elements(of_methods, X)
    monkeypatch.setattr(Scale, "__call__", lambda self, x: x)
    check_by_elements(of_slots, X)


def test_an_attribute_that_hides_a_method(monkeypatch):
    check_by_elements(of_methods, X)
    monkeypatch.setattr(SCALE, "twice", lambda x: 11 * x, raising=False)
    check_by_elements(of_methods, X)


def test_an_object_of_another_class(monkeypatch):
    check_by_elements(of_a_global, X)
    monkeypatch.setitem(globals(), "SCALE", SLOTTED)
    check_by_elements(of_a_global, X)


def test_what_runs_code_is_refused():
    owner = Computed()
    with pytest.raises(KernelError, match="by"):
        broadcast(lambda x: owner.by * x, X)


# -- items ---------------------------------------------------------------------------------------------------


def test_items_of_captured_arrays():
    def loss(w):
        return np.sum(broadcast(lambda x: math.sin(w[0] * x) + w[-1], X) * X)

    close(grad(loss)(W), differences(loss, W), rtol=1e-6)
    close(jvp(loss, (W,), (W,))[1], np.sum(grad(loss)(W) * W))
    assert loss(W + 1) == pytest.approx(np.sum((np.sin(1.4 * X) + 2.3) * X))


def test_a_captured_array_is_no_operand():
    with pytest.raises(KernelError, match="w' is a ndarray"):
        grad(lambda w: np.sum(broadcast(lambda x: w * x, X)))(X)
    with pytest.raises(KernelError, match="ndarray"):
        grad(lambda w: np.sum(broadcast(functools.partial(lambda w, x: w * x, w), X)))(X)


def test_what_may_fail_is_read_on_every_path():
    w = np.ones(2)
    with pytest.raises(KernelError, match="read it into a variable before"):
        broadcast(lambda x: x if x > 0 else w[7], X)
    with pytest.raises(IndexError):
        broadcast(lambda x: x * w[7], X)


# -- functions that programs make ----------------------------------------------------------------------------


def test_partials_and_objects_of_arguments():
    def of_a_partial(w):
        return np.sum(broadcast(functools.partial(lambda a, b, x: a * x + b * b, w[0], w[1]), X))

    close(grad(of_a_partial)(W), [np.sum(X), 6 * W[1]])
    close(grad(lambda s: np.sum(broadcast(s, X) + broadcast(s.twice, X)))(Scale(0.5)).by, 3 * np.sum(X))


def test_choices_that_are_captured():
    def chosen(mode):
        return lambda v: v * v if mode == "square" else v

    for mode, wanted in [("square", X * X), ("other", X), ("".join(["squ", "are"]), X * X)]:
        f = chosen(mode)
        np.testing.assert_array_equal(broadcast(f, X), wanted)
        np.testing.assert_array_equal(broadcast(functools.partial(choosing, mode), X), wanted)
        close(grad(lambda x: np.sum(broadcast(f, x)))(X), 2 * X if mode == "square" else np.ones(3))  # noqa: B023


def choosing(mode, v):
    return v * v if mode == "square" else v


def test_a_choice_of_a_function_that_is_made_in_a_program_is_refused():
    def of(mode):
        return lambda x: np.sum(broadcast(lambda v: v * v if mode == "square" else v, x))

    with pytest.raises(KernelError, match="mode' is a str"):
        grad(of("square"))(X)


# -- what is taken for granted -------------------------------------------------------------------------------


class OfAClass:
    scale = 2.0

    def run(self, x):
        return broadcast(lambda v: v * self.scale, x)


OWNER = OfAClass()


def test_numbers_of_the_class(monkeypatch):
    owner = OfAClass()
    np.testing.assert_array_equal(owner.run(X), 2.0 * X)
    close(grad(lambda x: np.sum(broadcast(lambda v: OWNER.scale * v, x)))(X), 2.0 * np.ones(3))
    monkeypatch.setattr(OfAClass, "scale", 3)
    np.testing.assert_array_equal(owner.run(X), 3 * X)
    owner.scale = 0.5
    np.testing.assert_array_equal(owner.run(X), 0.5 * X)


def with_defaults(v, k=2.0, *, m=1.0):
    return v * k + m


def test_defaults_of_what_is_called():
    function, owner = with_defaults, Scale(None)
    owner.by = function

    def outer(v):
        return owner.by(v)

    check_by_elements(outer, X)
    try:
        function.__defaults__, function.__kwdefaults__["m"] = (5.0,), 3.0
        check_by_elements(outer, X)
        close(grad(lambda x: np.sum(broadcast(outer, x)))(X), 5.0 * np.ones(3))
    finally:
        function.__defaults__, function.__kwdefaults__["m"] = (2.0,), 1.0


def test_keywords_of_a_captured_partial():
    partial = functools.partial(with_defaults, m=2.0)
    check_by_elements(lambda v: partial(v), X)
    for m in (7.0, 3, np.float32(2)):
        partial.keywords["m"] = m
        np.testing.assert_allclose(broadcast(lambda v: partial(v), X), [partial(v) for v in X.tolist()])
        close(grad(lambda x: np.sum(partial(x)))(X), 2 * np.ones(3))


def test_a_choice_that_the_program_makes_meanwhile():
    state = Scale("a")

    def kernel(v):
        return v * v if state.by == "a" else v * v * v

    def loss(x):
        state.by = "b"
        total = np.sum(broadcast(kernel, x))
        state.by = "a"
        return total

    close(grad(loss)(X), 3 * X * X)


def test_results_that_are_not_there():
    def of_two(x):
        return broadcast(lambda v: (v * v, math.sin(v)), x)

    def unpacked(x):
        a, _, _ = of_two(x)
        return np.sum(a)

    with pytest.raises(IndexError):
        grad(lambda x: np.sum(of_two(x)[1]) + np.sum(of_two(x)[3]))(X)
    with pytest.raises(ValueError, match="unpack"):
        grad(unpacked)(X)


def test_ranges_are_of_pythons_numbers():
    def hundreds(a, b):
        total = 0
        for k in range(a, b):
            total = total + k * 100
        return total

    def strides(a, b):
        n = 0
        for _ in range(a, b, 10):
            n += 1
        return n

    a, b = np.array([3, 250], np.uint8), np.array([6, 255], np.uint8)
    for backend in ("auto", "reference"):
        assert broadcast(hundreds, a, b, backend=backend).tolist() == [1200, 126000]
        assert broadcast(strides, a, b, backend=backend).tolist() == [1, 1]


def test_a_method_on_some_paths():
    owner = Scale(0.5)
    f = lambda x: owner.twice(x) if x > 0.5 else owner(x)
    check_by_elements(f, X)
    close(grad(lambda x: np.sum(broadcast(f, x)))(X), [0.5, 1.0, 1.0])


def test_an_array_of_which_only_run_time_knows_the_dtype():
    loss = lambda x: np.sum(broadcast(lambda v, k: v**k, x, np.array([0, 1, 2])))
    close(grad(loss)(X), [0, 1, 2 * X[2]])


def test_options_that_are_not_written_out():
    threads = int("2")
    close(grad(lambda x: np.sum(broadcast(math.sin, x, threads=threads)))(X), np.cos(X))
