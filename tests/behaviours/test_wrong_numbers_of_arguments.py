"""Calls of C code with a number of arguments that it does not take: the plain call's error, also where
nobody asks for the result, and within `try`, where the run is recorded."""

import array
import builtins
import inspect
import itertools
import math
import operator
import struct

import numpy as np
import pytest

from ctxdispatch import DerivativeError, grad, jacfwd, jacobian_sparsity
from ctxdispatch.dispatch.rules import canonical
from ctxdispatch.facts import ARITHMETIC
from ctxdispatch.facts.arity import fits, least
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.derivatives.table import lowering, vjp_rule

X = np.array([1.5, 2.0])
CALLS = {
    "len": lambda x: len(x, x), "float": lambda x: float(1, 2), "max": lambda x: max(),
    "abs": lambda x: abs(x[0], 1), "sin": lambda x: np.sin(), "isinstance": lambda x: isinstance(x),
    "method": lambda x: (1.0).is_integer(3), "ufunc": lambda x: np.add(x),
    "item": lambda x: operator.getitem(x),
    "sum": lambda x: operator.add(x[0]), "three": lambda x: operator.add(x[0], 1, 2),
    "none": lambda x: operator.neg(), "store": lambda x: operator.setitem(x, 0),
    "order": lambda x: operator.lt(x[0]), "in place": lambda x: operator.iadd(x[0]),
    "contains": lambda x: operator.contains(x), "attribute": lambda x: getattr(x),
    "class": lambda x: type(), "set": lambda x: setattr(x, "a"), "no name": lambda x: SHELF.__setattr__(),
    "one name": lambda x: SHELF.__setattr__("a"), "deleted": lambda x: SHELF.__delattr__(),
    "slot": lambda x: SHELF.__getattribute__(), "delattr": lambda x: delattr(x),
}  # fmt: skip


class Box:
    v: type = float


BOX = Box()


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("name", CALLS)
def test_the_error_is_the_plain_one(name, mode):
    call = CALLS[name]

    def unread(x):
        call(x)
        return 2.0 * x[0]

    def recorded(x):
        try:
            call(x)
        finally:
            pass
        return 2.0 * x[0]

    def beside_an_attribute(x):
        BOX.v = complex
        call(x)
        return 2.0 * x[0]

    with pytest.raises(TypeError) as plain:
        call(X)
    for f in (unread, recorded, lambda x: call(x) * x[0], beside_an_attribute):
        with pytest.raises(TypeError) as found:
            mode(f)(X)
        assert str(found.value) == str(plain.value)


SHELF = {"a": 0.5}
STARRED = {
    "method": lambda x: SHELF.__getitem__(*[0, 1]), "len": lambda x: len(*[x, 1]),
    "sin": lambda x: np.sin(*[]),
    "item": lambda x: operator.getitem(*[x]), "add": lambda x: operator.add(*[x, 1, 2]),
    "list": lambda x: [x].append(*[1, 2]), "get": lambda x: SHELF.get(*[]), "sum": lambda x: np.sum(*[]),
}  # fmt: skip


@pytest.mark.parametrize("mode", [grad, jacfwd, lambda f: lambda x: jacobian_sparsity(f, x)])
@pytest.mark.parametrize("name", STARRED)
def test_of_starred_calls_with_its_line(name, mode):
    call = STARRED[name]

    def unread(x):
        found = call(x)
        return 2.0 * x[0]

    with pytest.raises(TypeError) as plain:
        call(X)
    for f in (unread, call):
        with pytest.raises(TypeError) as found:
            mode(f)(X)
        assert str(found.value) == str(plain.value)
        if mode in (grad, jacfwd):
            assert found.traceback[-1].lineno == plain.traceback[-1].lineno


NAMES = {
    **{f"operator.{f}": getattr(operator, f) for f in operator.__all__},
    **{f"math.{f}": getattr(math, f) for f in vars(math) if callable(getattr(math, f))},
    **{f: getattr(builtins, f) for f in dir(builtins)},
    "array.array": array.array,
    **{f"struct.{f}": getattr(struct, f) for f in struct.__all__},
}  # fmt: skip
OF_NUMPY = {
    "np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.ndarray": np.ndarray, "np.random": np.random,
    "RNG": np.random.default_rng(0),
}  # fmt: skip


def has_rule(f):
    function = canonical(f)[0]
    return hashable(function) and bool(lowering(function) or vjp_rule(function))


NAMES |= {
    f"{name}.{f}": getattr(owner, f)
    for name, owner in OF_NUMPY.items() for f in dir(owner) if has_rule(getattr(owner, f))
}  # fmt: skip
UNCALLED = {"breakpoint", "exit", "quit", "input", "help", "credits", "copyright", "license", "print"}
UNSAID = {
    "operator.concat": "NumPy's arrays have none, and none is missed where nobody reads the result",
    "np.matvec": "vectors in the place of matrices: the same",
    "np.fromiter": "a number for how many: the same",
    "np.linalg.matrix_power": "vectors in the place of matrices: the same",
    "np.linalg.lstsq": "minutes are spent on a program of it before the plain call raises",
    "np.linalg.qr": "the same",
}  # fmt: skip
TEXT = """
def f(x):
    a = x * 1.0
    try: {name}({operands})
    except TypeError: return x[0] * 2.0
    except Exception: return x[0] * 3.0
    return x[0] * 5.0
"""


def in_try(name, n):
    space = {"np": np, "math": math, "operator": operator, "struct": struct, "array": array}
    space |= OF_NUMPY
    exec(TEXT.format(name=name, operands=", ".join("a" * n)), space)
    return space["f"]


def is_called(name):
    f = NAMES[name]
    of_errors = isinstance(f, type) and issubclass(f, BaseException)
    hidden = name.rpartition(".")[2].startswith("_")
    return callable(f) and not (of_errors or hidden) and name not in UNCALLED | {*UNSAID}


@pytest.mark.parametrize("n", range(5))
@pytest.mark.parametrize("name", filter(is_called, NAMES))
def test_handlers_are_those_of_the_plain_call(name, n):
    f = in_try(name, n)
    slope = f(X.copy()) / X[0]
    for mode in (grad, jacfwd):
        try:
            found = mode(f)(X.copy())
        except DerivativeError:
            continue  # no error of a derivative's own gets into a handler
        np.testing.assert_allclose(found, [slope, 0.0], err_msg=mode.__name__)


def unsigned():
    for name in filter(is_called, dir(builtins)):
        try:
            inspect.signature(NAMES[name])
        except ValueError:
            yield name


@pytest.mark.parametrize("name, n", itertools.product(unsigned(), range(6)))
def test_what_functions_do_not_say(name, n):
    if fits(NAMES[name], n):
        return
    with pytest.raises(TypeError):
        NAMES[name](*[len] * n)


def test_how_many_arguments_c_code_takes():
    assert fits(len, 1) and not fits(len, 2) and not fits(len, 0)
    assert fits(np.add, 2) and fits(np.add, 3) and not fits(np.add, 1)
    assert fits(sum, 2, ("start",)) and not fits(sum, 2, ("begin",))
    assert fits(dict, 0) and fits(max, 7)  # they do not say
    assert [least(f) for f in (len, operator.setitem, np.add, print, max)] == [1, 3, 2, 0, 1]
    assert all(least(f) in (1, 2) for f in ARITHMETIC)
