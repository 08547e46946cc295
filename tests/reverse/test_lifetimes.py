"""What is generated lives as long as what it was generated for; programs of closures serve their kind."""

import copy
import functools
import gc
import pickle
import types
import weakref

import numpy as np
import pytest

from ctxdispatch import ADContext, custom_rule, grad, overdub, value_and_grad, vjp
from ctxdispatch_contexts.programs import entry, shared
from ctxdispatch_contexts.programs.owned import ATTRIBUTE

SOURCE = """
import numpy as np
def helper(x):
    return np.sin(x) * x
def recursive(x, n):
    return x if n == 0 else x * recursive(x, n - 1)
def loss(x):
    return helper(x) + recursive(x, 3)
"""


class Watched(np.ndarray):
    """An array that can be referred to weakly."""


def module():
    made = types.ModuleType("made")
    exec(SOURCE, made.__dict__)
    return made


def dead(*references):
    gc.collect()
    return all(r() is None for r in references)


def ways(f, x):
    """Every way to a gradient of a function of one number."""
    grad(f)(x)
    value_and_grad(f)(x)
    vjp(f, x)[1](1.0)
    overdub(ADContext(), f, x)[1](1.0)
    overdub(ADContext(argnums=0), f, x)


def test_a_module_dies_with_its_programs():
    made = module()
    ways(made.loss, 2.0)
    references = [weakref.ref(f) for f in (made.loss, made.helper, made.recursive)]
    del made
    assert dead(*references)


def test_a_gradient_keeps_its_function():
    g = grad(module().loss)
    gc.collect()
    assert g(2.0) == pytest.approx(np.sin(2.0) + 2.0 * np.cos(2.0) + 4 * 8.0)


def test_what_a_closure_captured_dies():
    for _ in range(3 * shared.OWN):
        data = np.ones(3).view(Watched)
        reference = weakref.ref(data)
        ways(lambda x, data=data: (data * x).sum(), 2.0)
        ways((lambda d: lambda x: float((d * x).sum()))(data), 2.0)
        del data
        assert dead(reference)


def test_what_is_bound_dies():
    class Model:
        def __init__(self):
            self.w = np.arange(3.0)

        def loss(self, x):
            return (self.w * x).sum()

        def __call__(self, x, scale=1.0):
            return scale * self.loss(x)

    model = Model()
    reference = weakref.ref(model)
    for f in (model.loss, model, functools.partial(model, scale=2.0), functools.partial(Model.loss, model)):
        ways(f, 2.0)
    del f, model
    assert dead(reference)


def test_a_callee_met_at_run_time_dies():
    def apply(f, x):
        return f(x) * x

    for _ in range(20):
        data = np.ones(3).view(Watched)
        reference = weakref.ref(data)
        assert grad(apply, 1)((lambda d: lambda x: x * d.sum().item())(data), 2.0) == 12.0
        del data
        assert dead(reference)


def test_functions_given_as_arguments_die():
    def apply(f, x):
        return f(x) * x

    g, references = grad(apply, 1), []
    for _ in range(200):
        f = lambda x: x * x  # noqa: E731
        references.append(weakref.ref(f))
        assert g(f, 2.0) == 12.0
    del f
    gc.collect()
    assert sum(r() is not None for r in references) < 20


def fresh(scale):
    offset = np.array([1.0, 2.0])

    def loss(x, power=2):
        return scale * np.sum((x - offset) ** power)

    return loss


def test_closures_of_one_code_share_a_program():
    before = entry.compiled.get("fresh.<locals>.loss", 0)
    x = np.array([3.0, 5.0])
    for i in range(40):
        f = fresh(float(i))
        for result in (grad(f)(x), vjp(f, x)[1](1.0)[0], value_and_grad(f)(x)[1]):
            np.testing.assert_array_equal(result, 2.0 * i * (x - [1.0, 2.0]))
        np.testing.assert_array_equal(grad(f)(x, 3), 3.0 * i * (x - [1.0, 2.0]) ** 2)
    assert entry.compiled["fresh.<locals>.loss"] - before <= 3 * (shared.OWN + 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda b: lambda w, b=b: np.sum(w * b),
        lambda b: functools.partial(lambda w, b: np.sum(w * b), b=b),
        lambda b: functools.partial(lambda b, w: np.sum(w * b), b),
    ],
)
def test_lambdas_made_at_each_step_share_a_program(make):
    before = sum(entry.compiled.values())
    for i in range(40):
        b = np.array([1.0, i])
        np.testing.assert_array_equal(grad(make(b))(np.ones(2)), b)
    assert sum(entry.compiled.values()) - before <= shared.OWN + 2


@pytest.fixture
def sharing(monkeypatch):
    """Every closure gets the program of its code."""
    monkeypatch.setattr("ctxdispatch_contexts.programs.shared.OWN", 0)


def test_a_shared_program_reads_the_cells_at_each_call(sharing):
    scale = 2.0

    def loss(x):
        return scale * x * x

    g = grad(loss)
    assert g(3.0) == 12.0
    scale = 5.0
    assert g(3.0) == 30.0


def test_a_shared_program_and_replaced_code(sharing):
    def make(a):
        def f(x):
            return a * x

        def g(x):
            return a * x * x

        return f, g

    f, other = make(3.0)
    df = grad(f)
    assert df(2.0) == 3.0
    f.__code__ = other.__code__
    assert df(2.0) == 12.0 == grad(f)(2.0)


def test_a_shared_program_and_defaults(sharing):
    def make(a):
        def f(x, b=2.0, c=3.0):
            return a * x * b * c

        return f

    f = make(5.0)
    assert grad(f)(1.0) == 30.0
    assert grad(f)(1.0, c=7.0) == 70.0
    f.__defaults__ = (1.0, 1.0)
    assert grad(f)(1.0) == 5.0
    assert grad(f, (0, 1))(1.0, 4.0) == (20.0, 5.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        grad(f)()


def test_a_shared_program_and_defaults_that_go(sharing):
    def make(i):
        def f(x, c=2.0):
            return x * c * i

        return f

    f = make(3)
    g = grad(f)
    assert g(1.0) == 6.0
    f.__defaults__ = None
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'c'"):
        g(1.0)
    assert g(1.0, 5.0) == 15.0 == grad(f)(1.0, 5.0)
    assert grad(make(4))(1.0) == 8.0


@pytest.mark.parametrize("own", [0, 100])
def test_a_default_left_out_cannot_be_differentiated(own, monkeypatch):
    monkeypatch.setattr("ctxdispatch_contexts.programs.shared.OWN", own)
    a = 2.0

    def f(x, c=3.0):
        return a * x * c

    with pytest.raises(TypeError, match=r"argument 'c' \(argnums 1\) was left out"):
        grad(f, 1)(1.0)
    assert grad(f, 1)(1.0, 4.0) == 2.0


@pytest.mark.parametrize("own", [0, 100])
def test_code_with_another_signature(own, monkeypatch):
    monkeypatch.setattr("ctxdispatch_contexts.programs.shared.OWN", own)

    def make(a):
        def f(x, c=2.0):
            return a * x * c

        def star(x, *rest):
            return a * x * 5.0

        return f, star

    f, star = make(3.0)
    g = grad(f)
    assert g(1.0) == 6.0
    f.__code__, f.__defaults__ = star.__code__, None
    assert g(1.0) == 15.0 == g(1.0, 2.0)


def test_a_rule_for_the_function_itself_comes_later():
    def f(x):
        return x * x

    g = grad(f)
    assert g(2.0) == 4.0
    custom_rule(f)(lambda x: (x * x, lambda ybar: 100.0 * ybar))
    try:
        assert g(2.0) == 100.0 == grad(f)(2.0)
    finally:
        ADContext.unrule(f)
    assert g(2.0) == 4.0


def test_classes_given_as_arguments_die():
    g, references = grad(lambda x, cls: x * cls.factor), []
    for i in range(40):
        cls = type("Made", (), {"factor": float(i), "scaled": classmethod(lambda cls, x: x * cls.factor)})
        references.append(weakref.ref(cls))
        assert g(1.0, cls) == i == grad(cls.scaled)(1.0)
    del cls
    gc.collect()
    assert sum(r() is not None for r in references) < 15


def test_a_shared_program_names_the_users_argument(sharing):
    a = 2.0

    def f(w, n):
        return a * w * n

    with pytest.raises(TypeError, match=r"argument 'n' \(argnums 1\) is of type int"):
        grad(f, 1)(1.0, 2)


def test_captured_functions_and_recursion_in_a_shared_program(sharing):
    def inner(x):
        return np.sin(x)

    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    def f(x):
        return inner(x) + power(x, 3)

    assert grad(f)(0.5) == pytest.approx(np.cos(0.5) + 3 * 0.25)
    y, pullback = vjp(f, 0.5)
    assert y == f(0.5) and pullback(1.0) == (pytest.approx(np.cos(0.5) + 0.75),)


def test_an_unbound_variable_in_a_shared_program(sharing):
    def f(x):
        return later * x

    g = grad(f)
    later = 3.0
    assert g(2.0) == 3.0


def test_keyword_only_defaults_of_closures_met_at_run_time():
    def apply(fs, x):
        total = 0.0
        for f in fs:
            total = total + f(x)
        return total

    fs = [(lambda k: lambda x, *, k=k, j=1.0: j * k * x * x)(float(k)) for k in range(1, 4)]
    assert grad(apply, 1)(fs, 2.0) == 24.0


def test_methods_share_a_program():
    class Quadratic:
        def __init__(self, a):
            self.a = a

        def value(self, x, *, shift=0.0):
            return self.a * (x - shift) ** 2

    before = sum(entry.compiled.values())
    for a in range(1, 20):
        q = Quadratic(float(a))
        assert grad(q.value)(3.0) == 6.0 * a
        assert vjp(q.value, 3.0)[1](1.0) == (6.0 * a,)
    assert sum(entry.compiled.values()) - before <= 4
    assert grad(functools.partial(q.value, shift=1.0))(3.0) == 4.0 * 19
    assert grad(q.value)(3.0, shift=2.0) == 2.0 * 19
    with pytest.raises(TypeError, match=r"argument 'x' \(argnums 0\)"):
        grad(q.value)(3)


def original(x):
    return x * x


def test_wrapped_functions_have_programs_of_their_own():
    grad(original)(2.0)

    @functools.wraps(original)
    def wrapper(x):
        return 3.0 * original(x)

    assert grad(wrapper)(2.0) == 12.0 and grad(original)(2.0) == 4.0


def test_copies_and_pickles_of_a_function_go_without_programs():
    grad(original)(2.0)
    assert copy.copy(original) is original is copy.deepcopy(original)
    assert pickle.loads(pickle.dumps(original)) is original
    generated = original.__dict__[ATTRIBUTE]
    assert generated and pickle.loads(pickle.dumps(generated)) == {} == copy.deepcopy(generated)


class Plain(np.ndarray):
    """Operations are those of arrays."""


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x * x).sum(),
        lambda x: np.sin(x).sum(),
        lambda x: x @ x,
        lambda x: (2.0 * x + 1.0).sum(),
        lambda x: np.sum(x[1:] * x[:-1]) * x[0],
    ],
)
def test_subclasses_of_arrays(f):
    x = np.array([0.5, 2.0, -1.0])
    np.testing.assert_allclose(grad(f)(x.view(Plain)), grad(f)(x))
