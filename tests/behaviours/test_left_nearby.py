"""What a run has left is the business of programs that can read it: whichever way they come to it, they are
refused, and their neighbours stay compiled."""

import contextvars
import copy
import functools
import operator
import sys
import threading
import types
import weakref

import numpy as np
import pytest
from scipy.special import logsumexp

from ctxdispatch import explain, grad
from ctxdispatch_contexts.programs.errors import DerivativeError

X = np.array([0.5, 1.5])
MEMO, LAST, KEY = {}, None, "sin"
MODULE = sys.modules["left_nearby"] = types.ModuleType("left_nearby")


class Box:
    value = None

    def tried(self):
        try:
            return self.value * 1.0
        except ValueError:
            return None

    def plain(self):
        return self.value * 1.0


class Holder:
    def __init__(self):
        self.box, self.module, self.read = BOX, MODULE, lambda: BOX.value


BOX, OBJECT = Box(), Box()
HOLDER = Holder()
REF, PROXY = weakref.ref(BOX), weakref.proxy(BOX)
VARIABLE, LOCAL = contextvars.ContextVar("box"), threading.local()
VARIABLE.set(BOX)
LOCAL.box = BOX
OF_OBJECTS, OF_DICTS = operator.attrgetter("value"), operator.itemgetter("sin")


def put(value):
    global LAST
    BOX.value = MEMO["sin"] = LAST = MODULE.value = Box.value = reads_its_attribute.value = value


def leave(p):
    try:
        put(np.sin(p))
    except ValueError:
        pass
    return p @ p


# -- code that programs call as it is ------------------------------------------------------------------------


def unseen(read):
    """A helper that programs do not look into."""

    def helper(*args):
        try:
            return read(*args) * 1.0
        except ValueError:
            return None

    return helper


def reads_its_attribute():
    return reads_its_attribute.value


def imports():
    import left_nearby

    return left_nearby.value


def in_a_generator():
    return np.array([*(v for v in (w * 1.0 for w in LAST))])


def by_default(box=BOX):
    return box.value


HELPERS = {
    "global": lambda: LAST, "item": lambda: MEMO[KEY], "get": lambda: MEMO.get("sin"),
    "ref": lambda: REF().value, "variable": lambda: VARIABLE.get().value, "local": lambda: LOCAL.box.value,
    "imports": imports, "modules": lambda: sys.modules["left_nearby"].value,
    "globals": lambda: globals()["LAST"], "getattr": lambda name="value": getattr(MODULE, name),
    "generator": in_a_generator, "default": by_default, "attribute": reads_its_attribute,
    "proxy": lambda: PROXY.value, "inner": lambda: (lambda: LAST)(),
    "partial": functools.partial(lambda box: box.value, BOX), "holder": lambda: HOLDER.box.value,
}  # fmt: skip


def item_of_last(i):
    return LAST[i] * 1.0


def times_last(v):
    return v * LAST


def from_import(p):
    from left_nearby import value

    return p @ value


READERS = {
    "ref": lambda p: p @ REF().value, "proxy": lambda p: p @ PROXY.value,
    "variable": lambda p: p @ VARIABLE.get().value, "local": lambda p: p @ LOCAL.box.value,
    "modules": lambda p: p @ sys.modules["left_nearby"].value,
    "globals": lambda p: p @ globals()["LAST"], "module": lambda p: p @ MODULE.value,
    "class": lambda p: p @ OBJECT.value, "method": lambda p: p @ OBJECT.plain(),
    "tried": lambda p: p @ OBJECT.tried(),
    "in_module": lambda p: p @ HOLDER.module.value, "function": lambda p: p @ HOLDER.read(),
    "map": lambda p: p @ np.array([*map(item_of_last, [0, 1])]), "get": lambda p: p @ MEMO.get("sin"),
    "vars": lambda p: p @ vars(BOX)["value"], "key": lambda p: p @ MEMO[KEY],
    "values": lambda p: p @ next(iter(MEMO.values())), "attrgetter": lambda p: p @ OF_OBJECTS(BOX),
    "itemgetter": lambda p: p @ OF_DICTS(MEMO), "from_import": from_import,
    "applied": lambda p: p @ np.apply_along_axis(times_last, 0, np.ones(2)),
    "lambda": lambda p: p @ np.apply_along_axis(lambda v: v * LAST, 0, np.ones(2)),
    "copy": lambda p: p @ copy.copy(BOX).value,
    **{f"unseen_{name}": lambda p, helper=unseen(read): p @ helper() for name, read in HELPERS.items()},
}  # fmt: skip


def another(f):
    """The same with no program."""
    return types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)


@pytest.mark.every(4)
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("before", [True, False])
def test_what_comes_to_it_is_refused(before, name):
    put(np.ones(2))
    f = another(READERS[name])
    if before:
        np.testing.assert_allclose(grad(f)(X), 1.0)
    grad(leave)(X)
    with pytest.raises(DerivativeError, match="left here"):
        grad(f)(X)
    put(np.ones(2))
    np.testing.assert_allclose(grad(f)(X), 1.0)


# -- neighbours ----------------------------------------------------------------------------------------------


class Normalised:
    """A batch norm that keeps what it has seen."""

    def __init__(self):
        self.mean, self.losses, self.memo, self.weights = np.zeros(2), [], {}, np.ones(2)

    def step(self, x):
        try:
            self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        except ValueError:
            pass
        loss = ((x - x.mean(0)) ** 2).sum()
        self.losses.append(loss)
        self.memo["w"] = loss * x
        return loss

    def scored(self, x):
        return (x * self.weights).sum()


class Other:
    def __init__(self):
        self.mean, self.losses = np.ones(2), [1.0, 2.0]

    def loss(self, x):
        return (x * self.mean).sum() * self.losses[0]


MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
MODEL, BESIDE = Normalised(), Normalised()


def basis(n):
    return np.linspace(0.0, 1.0, n) ** 2


NEIGHBOURS = {
    "cholesky": lambda x: np.log(np.diag(np.linalg.cholesky(x))).sum(), "tile": lambda x: np.tile(x, 3).sum(),
    "solve": lambda x: np.linalg.solve(x, np.ones(2)).sum(), "einsum": lambda x: np.einsum("ij,ij->", x, x),
    "softmax": lambda x: (np.exp(x - x.max()) / np.exp(x - x.max()).sum()).max(),
    "logsumexp": lambda x: logsumexp(x),
    "helper": lambda x: (x @ basis(2)).sum(), "scored": MODEL.scored, "other": Other().loss,
    "item": lambda x: (x * {"w": 3.0}["w"]).sum(), "given": lambda x, p: (x * p["w"]).sum(),
    "beside": lambda x: np.sum(x * BESIDE.mean),
}  # fmt: skip


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbours_stay_compiled(name, before):
    f, args = NEIGHBOURS[name], (MATRIX, {"w": 2.0})[: 1 + (name == "given")]
    f = f if hasattr(f, "__self__") else another(f)
    wanted = grad(f)(*args) if before else None
    for _ in range(2):
        grad(MODEL.step)(MATRIX)
        report = explain(grad(f))(*args)
        assert [region.tier for region in report.regions] == ["compiled whole"] * len(report.regions), report
    if before:
        np.testing.assert_allclose(grad(f)(*args), wanted)


def test_a_program_that_asks_is_made_once():
    from ctxdispatch_contexts.programs.entry import compiled

    def reads(x):
        return np.sum(x * BESIDE.mean)

    np.testing.assert_allclose(grad(reads)(MATRIX), 0.0)
    for _ in range(4):
        grad(MODEL.step)(MATRIX)
        grad(reads)(MATRIX)
    assert compiled["test_a_program_that_asks_is_made_once.<locals>.reads"] <= 2


def test_the_reason_is_where_it_is_read():
    def reads(x):
        return np.sum(x * MODEL.mean)

    grad(MODEL.step)(MATRIX)
    region = explain(lambda: pytest.raises(DerivativeError, grad(reads), MATRIX))().regions[0]
    assert region.line.startswith(f"{__file__}:{reads.__code__.co_firstlineno + 1} ")
    assert "left" in region.reason
