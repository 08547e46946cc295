"""Code objects that are generated can be hashed, as debuggers, profilers and picklers do, whatever constants
the program has; those of derivatives hold leaves only."""

import math
import warnings

import numpy as np
import pytest

from ctxdispatch import (
    Context,
    broadcast,
    checkpoint,
    grad,
    hessian,
    hessian_sparsity,
    jacfwd,
    jacobian,
    jacobian_sparsity,
    jacrev,
    jvp,
    linearize,
    overdub,
    sparse_jacobian,
    value_and_grad,
    vjp,
)
from ctxdispatch.bytecode import emit, faithful
from ctxdispatch.ir import primitives
from ctxdispatch.ir.leaves import is_leaf

SCALES, TABLE, RATES = {"a": 2.0}, np.array([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]
MASK = np.array([True, False, True])


class Box:
    def __init__(self, rate):
        self.rate = rate

    def __call__(self, x):
        return x * self.rate


BOX = Box(2.0)


def captured(table):
    return lambda x: np.sum(np.sin(x) * table)


def local_constants(x):
    s = 0.0
    for key, rate in {"a": 2.0, "b": 3.0}.items():
        s = s + rate * np.sum(x) * len(key)
    return s


def handled(x):
    try:
        return np.sum(x[::2] * SCALES["a"])
    finally:
        pass


def stored(x):
    y = x.copy()
    y[1:] = TABLE[1:]
    y[MASK] = 2.0 * y[MASK]
    return np.sum(y * y)


def imported(x):
    try:
        from math import pi
    finally:
        pass
    return np.sum(x) * pi


PROGRAMS = [
    lambda x: np.sum(x) * SCALES["a"], lambda x: np.sum(x * TABLE), lambda x: np.sum(x[1:] * x[:-1]),
    lambda x: np.sum(x[..., None] * RATES), lambda x: np.sum(BOX(x)), lambda x: np.sum(x[MASK]),
    lambda x: math.sin(x[0]) * np.dot(x, [1.0, 2.0, 3.0]), lambda x: np.sum(x, axis=slice(0, 1).start),
    lambda x: np.sum(np.einsum("i,j->ij", x, TABLE)[:, 1::2]), captured(TABLE), local_constants,
    handled, stored, lambda x: np.sum(checkpoint(captured(TABLE))(x)),
    lambda x: np.sum(broadcast(lambda t: t * TABLE[1], x)), imported,
]  # fmt: skip
FEW = [PROGRAMS[i] for i in (0, 1, 2, 9)]


class Counting(Context):
    seen: dict
    calls: int = 0

    def prehook(self, f, args, kwargs):
        self.seen[f] = args


class Importing(Context):
    pass


@Importing.rule(primitives.import_name)
def _(ctx, namespace, *args):
    assert namespace is globals() or namespace["__name__"] != __name__
    return primitives.import_name(namespace, *args)


def pulled(f):
    return lambda x: vjp(f, x)[1](1.0)


MODES = {
    "grad": grad, "value_and_grad": value_and_grad, "jacfwd": jacfwd, "jacrev": jacrev, "jacobian": jacobian,
    "hessian": hessian, "vjp": pulled, "jvp": lambda f: lambda x: jvp(f, (x,), (x,)),
    "linearize": lambda f: lambda x: linearize(f, x)[1](x),
    "pattern": lambda f: lambda x: jacobian_sparsity(f, x),
    "overdub": lambda f: lambda x: overdub(Counting({}), f, x),
    "overdub twice": lambda f: lambda x: overdub(Counting({}), overdub, Importing(), f, x),
    "counted gradient": lambda f: lambda x: overdub(Counting({}), grad(f), x),
}  # fmt: skip


@pytest.fixture
def codes(monkeypatch):
    """The code objects that are generated meanwhile."""
    found = []
    for module in (emit, faithful):
        make = module._code_object

        def remembered(*args, make=make):
            found.append(make(*args))
            return found[-1]

        monkeypatch.setattr(module, "_code_object", remembered)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_all_kinds_of_generated_code(mode, codes):
    for f in FEW if mode == "hessian" else PROGRAMS:
        derivative = MODES[mode](f)
        derivative(np.array([0.3, 0.5, 0.7]))
        assert isinstance(hash(getattr(derivative, "__code__", None)), int)
    assert all(isinstance(hash(code), int) for code in codes)
    for code in codes:
        assert "$pool" not in code.co_freevars or all(map(is_leaf, code.co_consts[:-1]))


def test_kernels_and_compressed_matrices(codes):
    x = np.linspace(0.1, 1.0, 5)
    sparse_jacobian(lambda x: x * TABLE[1] + np.roll(x, 1) * SCALES["a"], x)(x)
    grad(lambda x: np.sum(broadcast(lambda t, s: t * s * TABLE[2], x, x[::-1])))(x)
    grad(lambda x: np.sum(grad(captured(TABLE[:1]))(x)[1:]))(x)
    with warnings.catch_warnings(action="ignore"):
        hessian_sparsity(lambda x: np.sum(x[1:] ** 2 * RATES[0]), x)
    assert all(isinstance(hash(code), int) for code in codes)
