"""Arrays that something else shows as well: each way to show one, crossed with the ways to store into it and
with where the two are made. Reverse and forward mode and patterns are right, or refuse: no silent zero."""

import ctypes
import itertools
import linecache
import pickle

import numpy as np
import pytest

from ctxdispatch import grad, jacfwd, jacobian_sparsity
from ctxdispatch_contexts.programs.errors import Refused

SHOWS = {
    "memoryview": ("memoryview(a)", "m[0]"),
    "data": ("a.data", "m[0]"),
    "listed": ("memoryview(a)", "m.tolist()[0]"),
    "spread": ("memoryview(a)", "[*m][0]"),
    "summed": ("memoryview(a)", "sum(m)"),
    "gone_through": ("memoryview(a)", "next(iter(m))"),
    "iterator": ("iter(memoryview(a))", "next(m)"),
    "held": ("{'m': [memoryview(a)]}", "m['m'][0][0]"),
    "copied": ("memoryview(a)", "np.array(m)[0]"),
    "as_array": ("memoryview(a)", "np.asarray(m)[0]"),
    "as_bytes": ("memoryview(a)", "np.frombuffer(m.tobytes())[0]"),
    "cast": ("memoryview(a).cast('B')", "np.frombuffer(bytes(m))[0]"),
    "pickle_buffer": ("pickle.PickleBuffer(a)", "m.raw().cast('B').cast('d')[0]"),
    "frombuffer": ("np.frombuffer(a)", "m[0]"),
    "nditer": ("np.nditer(a)", "float(m[0])"),
    "nditer_value": ("np.nditer(a)", "float(m.value)"),
    "broadcast": ("np.broadcast(a, 1.0)", "next(m)[0]"),
    "flat": ("a.flat", "m[0]"),
    "array_iterator": ("iter(a)", "next(m)"),
    "bound": ("a.__getitem__", "m(0)"),
    "interface": ("a.__array_interface__", "ctypes.c_double.from_address(m['data'][0]).value"),
    "address": ("a.ctypes.data", "ctypes.c_double.from_address(m).value"),
    "pointer": ("a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))", "m[0]"),
    "from_buffer": ("(ctypes.c_double * 3).from_buffer(a)", "m[0]"),
    "as_ctypes": ("np.ctypeslib.as_ctypes(a)", "m[0]"),
    "dlpack": ("np.from_dlpack(a)", "m[0]"),
    "view": ("a.view()", "m[0]"),
}
"""How `m` is made of the array `a`, and the first element of `a` read from it."""
STORES = ["a[0] = t", "a[...] = t", "a[:] += t", "np.multiply(t, np.ones(3), out=a)", "a.fill(t)"]
PLACES = {
    "here": "def f(t):\n    a = np.zeros(3)\n    m = {show}\n    {store}\n    return {read} * t\n",
    "recorded": (
        "def f(t):\n    try:\n        a = np.zeros(3)\n        m = {show}\n        {store}\n"
        "        return {read} * t\n    finally:\n        pass\n"
    ),
    "before": "a = np.zeros(3)\nm = {show}\ndef f(t):\n    {store}\n    return {read} * t\n",
    "in_an_object": (
        "class Holds:\n    a = np.zeros(3)\nh = Holds()\nh.m = (lambda a: {show})(h.a)\n"
        "def f(t):\n    a, m = h.a, h.m\n    {store}\n    return {read} * t\n"
    ),
}
MODES = {
    "grad": lambda f: grad(f)(2.0),
    "jacfwd": lambda f: jacfwd(f)(2.0),
    "pattern": lambda f: jacobian_sparsity(lambda x: np.array([f(x[0])]), np.array([2.0])).toarray()[0, 0],
}
CROSS = [(s, STORES[i % len(STORES)], p) for i, (s, p) in enumerate(itertools.product(SHOWS, PLACES))]
CROSS = [c for c in CROSS if c[0] != "dlpack" or c[2] in ("here", "recorded")]
"""(An array that DLPack made before shares memory with another, and nothing says so.)"""
CROSS += [("memoryview", store, place) for store in STORES for place in PLACES]


def made(show, store, place):
    """The program, in a file of its own: each is a function that nobody has seen."""
    shown, read = SHOWS[show]
    text = PLACES[place].format(show=shown, store=store, read=read)
    name = f"<{show}, {store}, {place}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    names = {"np": np, "ctypes": ctypes, "pickle": pickle, "__name__": "out_of_sight"}
    exec(compile(text, name, "exec"), names)
    return names["f"]


@pytest.mark.every(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("show, store, place", CROSS, ids=map(str, CROSS))
def test_what_is_shown_is_followed_or_refused(show, store, place):
    slope = made(show, store, place)(2.0)  # of c * t**2, at 2
    for name, mode in MODES.items():
        try:
            found = mode(made(show, store, place))
        except Refused:
            continue
        assert found == (slope if name != "pattern" else True), name


# -- objects of C code that keep arrays ----------------------------------------------------------------------


class Trees:
    """Holds an array, and an object of C code that was made of it."""

    def __init__(self):
        spatial = pytest.importorskip("scipy.spatial")
        self.p = np.arange(6.0).reshape(3, 2)
        self.tree = spatial.cKDTree(self.p, copy_data=False)

    def stored_before(self, t):
        self.p[0, 0] = t
        return self.tree.query([0.0, -1.0])[0] * 1.0

    def not_stored(self, t):
        return self.tree.query([0.0, -1.0])[0] * t

    def stored_elsewhere(self, t):
        a = np.zeros(3)
        a[0] = t
        return self.tree.query([0.0, -1.0])[0] * a[0]


@pytest.mark.parametrize("mode", [grad, jacfwd])
def test_objects_that_keep_arrays(mode):
    with pytest.raises(Refused):
        mode(Trees().stored_before)(0.3)
    assert mode(Trees().not_stored)(0.3) == 2.0
    assert mode(Trees().stored_elsewhere)(0.3) == 2.0


# -- what is none of it --------------------------------------------------------------------------------------


def shown_and_not_stored(t):
    a = np.array([3.0, 4.0])
    return memoryview(a)[0] * t


def shown_of_a_copy(t):
    a = np.zeros(3)
    shown = memoryview(a.copy())
    a[0] = t
    return shown[0] + a[0]


def indices_of_an_iterator(t):
    a, out = np.ones(3), np.zeros(3)
    steps = np.nditer(a, flags=["multi_index"])
    for _ in steps:
        out[steps.multi_index] = t * 2.0
    return out.sum()


def sizes(t):
    a = np.zeros(3)
    shown = memoryview(a)
    a[0] = t
    return a[0] * shown.nbytes * len(shown)


def stored_where_nobody_looks(t):
    try:
        a, log = np.zeros(3), memoryview(b"log")
        a[0] = t
        return a[0] * log[0]
    finally:
        pass


INNOCENT = {
    shown_and_not_stored: 3.0, shown_of_a_copy: 1.0, indices_of_an_iterator: 6.0, sizes: 72.0,
    stored_where_nobody_looks: float(b"log"[0]),
}  # fmt: skip


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("f", INNOCENT, ids=lambda f: f.__name__)
def test_what_shows_nothing_is_answered(f, mode):
    assert mode(f)(2.0) == INNOCENT[f]


# -- methods that a variable holds ---------------------------------------------------------------------------

items, table, array = [1.0, 2.0], {"k": 1.0}, np.zeros(3)
append, put, product = items.append, table.__setitem__, array.__matmul__


def appended(t):
    append(t * t)
    return items[-1]


def put_under_a_key(t):
    put("k", t * t)
    return table["k"]


def multiplied(t):
    array[0] = t * t
    return product(np.ones(3))


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("f", [appended, put_under_a_key, multiplied], ids=lambda f: f.__name__)
def test_bound_methods_of_what_changes(f, mode):
    assert mode(f)(2.0) == 4.0
