"""What is compiled follows the program: redefinitions, new rules, changed globals. Many threads at once."""

import importlib
import math
import sys
import threading
import time
import types

import numpy as np
import pytest

from ctxdispatch import ADContext, custom_rule, grad, jacfwd, jvp, overdub, value_and_grad, vjp
from ctxdispatch_contexts.programs import entry


@pytest.fixture
def module(tmp_path, monkeypatch):
    """write(source) makes and imports, or changes and reloads, a module that is a file."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"written_{tmp_path.name}"

    def write(source):
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        return importlib.reload(sys.modules[name]) if name in sys.modules else importlib.import_module(name)

    yield write
    sys.modules.pop(name, None)


HELPER = "import math\n\ndef helper(x):\n    return {}\n\ndef f(x):\n    return helper(x) * 2.0\n"


def test_function_redefined_in_its_module(module):
    m = module(HELPER.format("x * x"))
    g = grad(m.f)
    assert g(3.0) == 12.0
    exec("def helper(x):\n    return x * x * x\n", m.__dict__)
    assert g(3.0) == 54.0
    assert grad(m.f)(3.0) == 54.0
    assert vjp(m.f, 3.0)[1](1.0) == (54.0,)


def test_module_reloaded(module):
    m = module(HELPER.format("x * x"))
    g = grad(m.f)
    assert g(3.0) == 12.0
    m = module(HELPER.format("math.exp(x)"))
    assert g(1.0) == pytest.approx(2.0 * math.e)  # the old f finds the new helper, as the plain call does
    assert grad(m.f)(1.0) == pytest.approx(2.0 * math.e)


def test_code_of_a_function_replaced(module):
    m = module(HELPER.format("x * x"))
    g, of_helper = grad(m.f), grad(m.helper)
    assert (g(3.0), of_helper(3.0)) == (12.0, 6.0)
    m.helper.__code__ = (lambda x: x * 7.0).__code__
    assert of_helper(3.0) == 7.0
    assert g(3.0) == 14.0
    assert vjp(m.f, 3.0)[1](1.0) == (14.0,)


def test_defaults_changed(module):
    m = module("def helper(x, k=2.0):\n    return x * k\n\ndef f(x):\n    return helper(x)\n")
    g = grad(m.f)
    assert g(3.0) == 2.0
    m.helper.__defaults__ = (5.0,)
    assert m.f(3.0) == 15.0
    assert g(3.0) == 5.0
    assert grad(m.helper)(3.0) == 5.0


def test_keyword_defaults_changed(module):
    m = module("def helper(x, *, k=2.0):\n    return x * k\n\ndef f(x):\n    return helper(x)\n")
    g = grad(m.f)
    assert g(3.0) == 2.0
    m.helper.__kwdefaults__ = {"k": 5.0}
    assert m.f(3.0) == 15.0
    assert g(3.0) == 5.0


# -- globals -------------------------------------------------------------------------------------------------

cube = False
factor = 2.0
settings = types.SimpleNamespace(power=2)
table = {"scale": 3.0}
weights = np.array([1.0, 2.0])


def by_flag(x):
    return x**3 if cube else x * x


def by_factor(x):
    return x * factor


def by_attribute(x):
    return x**settings.power


def by_entry(x):
    return x * table["scale"]


def by_array(x):
    return x * (weights * weights).sum()


def through_a_helper(x):
    return by_flag(x) + by_factor(x)


def test_changed_global_flag(monkeypatch):
    g, outer = grad(by_flag), grad(through_a_helper)
    assert (g(2.0), outer(2.0)) == (4.0, 6.0)
    monkeypatch.setitem(globals(), "cube", True)
    assert (g(2.0), outer(2.0)) == (12.0, 14.0)
    assert vjp(by_flag, 2.0)[1](1.0) == (12.0,)
    monkeypatch.undo()
    assert (g(2.0), outer(2.0)) == (4.0, 6.0)


def test_changed_global_number(monkeypatch):
    g, outer = grad(by_factor), grad(through_a_helper)
    for value in (2.0, 5.0, 7, 2.0):
        monkeypatch.setitem(globals(), "factor", value)
        assert (g(2.0), outer(2.0)) == (value, 4.0 + value)
        assert vjp(by_factor, 2.0)[1](1.0) == (value,)


def test_changed_attribute_of_a_global(monkeypatch):
    g = grad(by_attribute)
    assert g(2.0) == 4.0
    monkeypatch.setattr(settings, "power", 3)
    assert g(2.0) == 12.0


def test_changed_entry_of_a_global_dict(monkeypatch):
    g = grad(by_entry)
    assert g(2.0) == 3.0
    monkeypatch.setitem(table, "scale", 10.0)
    assert g(2.0) == 10.0


def test_global_array_changed_in_place_and_replaced(monkeypatch):
    g = grad(by_array)
    assert g(2.0) == 5.0
    monkeypatch.setitem(globals(), "weights", np.array([3.0, 4.0, 5.0]))
    assert g(2.0) == 50.0
    weights[0] = 0.0
    assert g(2.0) == 41.0


def uses_math(x):
    return math.sin(x)


def test_patched_module_attribute(monkeypatch):
    g = grad(uses_math)
    assert g(0.5) == math.cos(0.5)
    monkeypatch.setattr(math, "sin", math.exp)
    assert g(0.5) == math.exp(0.5)
    monkeypatch.undo()
    assert g(0.5) == math.cos(0.5)


def shadows_a_builtin(x):
    return abs(x) * 2.0


def test_builtin_shadowed_by_a_global(monkeypatch):
    g = grad(shadows_a_builtin)
    assert g(-3.0) == -2.0
    monkeypatch.setitem(globals(), "abs", lambda x: x * x)
    assert g(-3.0) == -12.0
    monkeypatch.undo()
    assert g(-3.0) == -2.0


def test_global_deleted(monkeypatch):
    g = grad(by_factor)
    assert g(2.0) == factor
    monkeypatch.delitem(globals(), "factor")
    with pytest.raises(NameError, match="factor"):
        g(2.0)


# -- classes and closures ------------------------------------------------------------------------------------


class Scaled:
    scale = 2.0

    def apply(self, x):
        return x * self.scale

    def __mul__(self, x):
        return x * self.scale


def by_method(x):
    return Scaled().apply(x)


def by_operator(x):
    return Scaled() * x


def test_method_redefined(monkeypatch):
    g, by_op = grad(by_method), grad(by_operator)
    assert (g(3.0), by_op(3.0)) == (2.0, 2.0)
    monkeypatch.setattr(Scaled, "scale", 5.0)
    assert (g(3.0), by_op(3.0)) == (5.0, 5.0)
    monkeypatch.setattr(Scaled, "apply", lambda self, x: x * x)
    monkeypatch.setattr(Scaled, "__mul__", lambda self, x: x**3)
    assert (g(3.0), by_op(3.0)) == (6.0, 27.0)


def counter_of_scale():
    scale = 2.0

    def set_scale(value):
        nonlocal scale
        scale = value

    def f(x):
        return x * scale

    return f, set_scale


def test_captured_variable_rebound():
    f, set_scale = counter_of_scale()
    g = grad(f)
    assert g(3.0) == 2.0
    set_scale(7.0)
    assert g(3.0) == 7.0
    assert vjp(f, 3.0)[1](1.0) == (7.0,)


def test_two_closures_of_one_code():
    (f, set_f), (h, _) = counter_of_scale(), counter_of_scale()
    set_f(10.0)
    assert (grad(f)(1.0), grad(h)(1.0)) == (10.0, 2.0)


# -- rules ---------------------------------------------------------------------------------------------------


def deep_inside(x):
    return x * 1.0


def middle(x):
    return deep_inside(x) + deep_inside(2.0 * x)


def outer(x):
    total = 0.0
    for _ in range(2):
        total = total + middle(x)
    return total


def test_rule_added_after_the_first_gradient():
    g = grad(outer)
    _, early = vjp(outer, 1.0)
    assert g(1.0) == 6.0
    assert early(1.0) == (6.0,)

    @custom_rule(deep_inside)
    def _(x):
        return x * 1.0, lambda ybar: ybar * 10.0

    assert g(1.0) == 60.0
    assert vjp(outer, 1.0)[1](1.0) == (60.0,)
    assert overdub(ADContext(), outer, 1.0)[1](1.0) == (60.0,)


def typed_later(x):
    return x * 1.0


def calls_typed_later(x):
    return typed_later(x) * 2.0


def test_rule_for_a_type_added_later():
    g = grad(calls_typed_later)
    assert g(1.0) == 2.0

    @custom_rule(typed_later, np.floating)
    def _(x):
        return x * 1.0, lambda ybar: ybar * 50.0

    assert g(1.0) == 2.0
    assert g(np.float32(1.0)) == 100.0
    assert g(1.0) == 2.0


def test_rule_that_mends_a_refusal():
    g = grad(swaps_bytes)
    with pytest.raises(TypeError, match="byteswap.*custom_rule"):
        g(np.ones(2))

    @custom_rule(np.ndarray.byteswap, np.ndarray)
    def _(x):
        return x.copy(), lambda ybar: ybar

    np.testing.assert_array_equal(g(np.ones(2)), [2.0, 2.0])
    ADContext.unrule(np.ndarray.byteswap)
    with pytest.raises(TypeError, match="byteswap.*custom_rule"):
        g(np.ones(2))


def swaps_bytes(x):
    return np.sum(x.byteswap()) * 2.0


# -- threads -------------------------------------------------------------------------------------------------

FIFTY = """
def helper_{i}(x, n):
    y = 1.0
    for k in range(n):
        y = y * math.sin(x * {i}.0 + k)
    return y

def threaded_{i}(x, n):
    return helper_{i}(x, n) * x + math.exp(-x) if x > 0.0 else x * {i}.0
"""


def test_eight_threads_differentiate_fifty_functions_and_each_compiles_once(module):
    m = module("import math\n" + "".join(FIFTY.format(i=i) for i in range(50)))
    functions = [getattr(m, f"threaded_{i}") for i in range(50)]
    before, found, errors, barrier = dict(entry.compiled), {}, [], threading.Barrier(8)

    def work(t):
        try:
            barrier.wait()
            for i in range(50):
                f = functions[(i + 5 * t) % 50]
                for x in (0.3 + 0.1 * t, -1.0):
                    found[t, f.__name__, x] = value_and_grad(f)(x, 3)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
    assert len(found) == 8 * 50 * 2
    for (_, name, x), (value, slope) in found.items():
        f = getattr(m, name)
        assert value == f(x, 3)
        assert slope == pytest.approx((f(x + 1e-6, 3) - f(x - 1e-6, 3)) / 2e-6, rel=1e-5, abs=1e-7)
    compiled = {f.__name__: entry.compiled[f.__name__] - before.get(f.__name__, 0) for f in functions}
    assert set(compiled.values()) == {1}


def test_threads_that_ask_for_one_gradient_at_once_share_its_entry(monkeypatch):
    made, barrier = entry.Entry.__init__, threading.Barrier(4)

    def slowly(self, *args):
        time.sleep(0.05)
        made(self, *args)

    def work():
        barrier.wait()
        grad(asked_for_at_once)(2.0)

    monkeypatch.setattr(entry.Entry, "__init__", slowly)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entry.compiled["asked_for_at_once"] == 1


def asked_for_at_once(x):
    return x * x


def test_threads_while_a_rule_is_added():
    g, stop, wrong = grad(calls_changing), threading.Event(), []

    def work():
        while not stop.is_set():
            slope = g(1.0)
            if slope not in (2.0, 200.0):
                wrong.append(slope)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:

        @custom_rule(changing)
        def _(x):
            return x * 1.0, lambda ybar: ybar * 100.0

        assert g(1.0) == 200.0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert g(1.0) == 200.0


def changing(x):
    return x * 1.0


def calls_changing(x):
    return changing(x) * 2.0


class Plain:
    def __init__(self, x):
        self.x = x


def _renewed(change):
    """The derivatives in both modes of a program of `Plain` before and after its class has been changed."""

    class Own(Plain):
        pass

    def f(x):
        return Own(x).x * 1.0

    def slopes():
        return grad(f)(3.0), jvp(f, (3.0,), (1.0,))[1], jacfwd(f)(3.0), vjp(f, 3.0)[1](1.0)[0]

    before = slopes()
    change(Own)
    return before, slopes()


def _hides_x(cls):
    cls.x = property(lambda self: self.hidden * 2.0, lambda self, x: self.__dict__.update(hidden=x))


def _computes_x(cls):
    def read(self, name):
        found = object.__getattribute__(self, name)
        return found * 2.0 if name == "x" else found

    cls.__getattribute__ = read


def _stores_twice(cls):
    cls.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value * 2.0)


@pytest.mark.parametrize("change", [_hides_x, _computes_x, _stores_twice])
def test_class_that_gets_a_say_in_its_attributes(change):
    assert _renewed(change) == ((1.0,) * 4, (2.0,) * 4)


def test_class_of_an_argument_that_gets_a_property():
    class Own(Plain):
        pass

    def f(own, t):
        return own.x * t

    g = grad(f, argnums=1)
    assert g(Own(3.0), 2.0) == 3.0
    Own.x = property(lambda self: self.__dict__["x"] * 5.0)
    own = Own.__new__(Own)
    own.__dict__["x"] = 3.0
    assert g(own, 2.0) == 15.0
