"""Objects of which nothing may be asked lie beside what is differentiated, and values go through ctypes."""

import ctypes
import gc
import types
import weakref

import numpy as np
import pytest

from ctxdispatch import Refused, grad, jacfwd, jacobian_sparsity

X = 1.5


class Held:
    pass


class Liar:
    """It raises whatever is asked of it."""

    def __getattribute__(self, name):
        raise ReferenceError(name)


def of_a_dead_proxy():
    held, gone = Held(), Held()
    held.beside = weakref.proxy(gone)
    return held


def of_a_dead_reference():
    held, gone = Held(), Held()
    held.beside = weakref.ref(gone)
    return held


def of_a_dead_method():
    held, gone = Held(), Held()
    gone.__class__ = type("Gone", (Held,), {"method": lambda self: None})
    held.beside = weakref.WeakMethod(gone.method)
    return held


def of_what_raises():
    held = Held()
    held.beside = Liar()
    return held


NEARBY = [of_a_dead_proxy, of_a_dead_reference, of_a_dead_method, of_what_raises]


def in_a_dict(held, x):
    d = {"held": held}
    d.update(x=x * x)
    return d["x"]


def in_a_list(held, x):
    xs = [held.beside, held]
    xs.extend([x * x])
    return xs[-1]


def in_a_field(held, x):
    held.x = x
    return max([held, held], key=lambda each: each.x).x * x


def in_an_array(held, x):
    held.x = x
    return np.array([held, held], dtype=object)[0].x * x


def in_a_closure(held, x):
    return (lambda y: y * y if held else y)(x)


def beside_what_fails(held, x):
    try:
        hash(held)
        return x * x
    finally:
        sorted([2.0, 1.0], key=lambda each: (each, id(held.beside)))


USES = [in_a_dict, in_a_list, in_a_field, in_an_array, in_a_closure, beside_what_fails]


@pytest.mark.parametrize("nearby", NEARBY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("use", USES, ids=lambda f: f.__name__)
def test_nothing_is_asked_of_what_lies_beside(nearby, use):
    def f(x):
        try:
            return use(held, x)
        finally:
            pass

    held = nearby()
    gc.collect()
    for g in (f, lambda x: use(held, x)):
        assert grad(g)(X) == jacfwd(g)(X) == 2.0 * X
    try:
        assert jacobian_sparsity(lambda x: np.array([use(held, x[0])]), np.array([X])).nnz == 1
    except Refused:
        pass


def test_functions_that_the_collector_has_cleared():
    def made(captured):
        def f():
            return captured

        return f

    cleared = made([])
    namespace = {"kept": cleared}
    types.FunctionType(cleared.__code__, namespace, closure=cleared.__closure__)
    count = 0

    def f(x):
        def step():
            nonlocal count
            count += 1
            return x * count

        return step() * x

    assert grad(f)(X) == 2.0 * X


# -- ctypes --------------------------------------------------------------------------------------------------


class Fields(ctypes.Structure):
    _fields_ = [("a", ctypes.c_double), ("two", ctypes.c_double * 2)]


def a_field(x):
    made = Fields()
    made.a = x * x
    return made.a


def a_field_by_position(x):
    return Fields(x).a * x


def an_array_in_a_field(x):
    made = Fields()
    made.two[1] = x * x
    return made.two[1]


def an_item(x):
    made = (ctypes.c_double * 3)()
    made[0] = x * x
    return made[0]


def items(x):
    made = (ctypes.c_double * 3)()
    made[:] = [x, x * x, x]
    return made[1]


def items_by_position(x):
    return sum((ctypes.c_double * 2)(x, x * x))


def a_pointer(x):
    pointer = ctypes.pointer(ctypes.c_double(1.0))
    pointer[0] = x * x
    return pointer.contents.value


def a_value(x):
    return ctypes.c_double(x).value * x


def a_value_that_is_set(x):
    made = ctypes.c_double()
    made.value = x * x
    return made.value


def memory_of_an_array(x):
    a = np.zeros(3)
    (ctypes.c_double * 3).from_buffer(a)[0] = x * x
    return a[0] * 1.0


def an_array_as_ctypes(x):
    return np.ctypeslib.as_ctypes(np.array([x, x * x]))[1]


CTYPES = [
    a_field, a_field_by_position, an_array_in_a_field, an_item, items, items_by_position, a_pointer, a_value,
    a_value_that_is_set, memory_of_an_array, an_array_as_ctypes,
]  # fmt: skip


@pytest.mark.parametrize("f", CTYPES, ids=lambda f: f.__name__)
def test_ctypes_are_followed_or_refused(f):
    slope = (f(X + 1e-6) - f(X - 1e-6)) / 2e-6
    for derivative in (grad(f), jacfwd(f)):
        try:
            got = derivative(X)
        except Refused:
            continue
        np.testing.assert_allclose(got, slope, rtol=1e-5)
