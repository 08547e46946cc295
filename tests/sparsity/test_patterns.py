"""Patterns of Jacobians of code without branches on values."""

import array
import copy
import functools
import io
import itertools
import math
import struct
from collections import Counter, defaultdict, deque
from types import SimpleNamespace

import numpy as np
import pytest
from sparsity_checks import brusselator, jacobian_by_differences, rows

from ctxdispatch import SparsityContext, jacobian_sparsity, overdub
from ctxdispatch_contexts.sparsity import OpaqueCallWarning, SparsityError, SparsityPattern

X = np.array([0.3, -1.2, 0.7, 2.1, -0.4])
X3 = np.array([0.8, 1.3, 2.1])
MATRIX = np.array([[1.0, 0, 0, 2, 0], [0, 0, 3, 0, 0], [0, 4, 0, 0, 5]])


def in_place(x):
    du = np.zeros(5)
    view = du[1:-1]
    view[...] = x[2:] - x[:-2]
    du[0] = x[0]
    du[-1:] += x[-1]
    return du


def listed(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] * x[i - 1])
    return np.array(out)


def nested(x):
    def inner(z, k=2):
        return z[k:] * scale

    scale = x[0]
    return inner(x), [inner(x, k=4)[0], math.sin(x[1])], (x[2],)


class Model:
    def __init__(self, w):
        self.w = w
        self.calls = []

    @property
    def doubled(self):
        return self.w + self.w

    def __matmul__(self, other):
        self.calls.append(other)
        return self.doubled * other

    def __call__(self, x):
        return self @ x


CASES = [
    (lambda x: x, "x....", ".x...", "..x..", "...x.", "....x"),
    (lambda x: x[::-1].copy(), "....x", "...x.", "..x..", ".x...", "x...."),
    (in_place, "x....", "x.x..", ".x.x.", "..x.x", "....x"),
    (listed, "x...x", "xx...", ".xx..", "..xx.", "...xx"),
    (nested, "x.x..", "x..x.", "x...x", "x...x", ".x...", "..x.."),
    (lambda x: MATRIX @ x, "x..x.", "..x..", ".x..x"),
    (lambda x: x @ MATRIX.T, "x..x.", "..x..", ".x..x"),
    (lambda x: np.einsum("ij,j->i", MATRIX, x), "x..x.", "..x..", ".x..x"),
    (lambda x: np.cumsum(x[:3]), "x....", "xx...", "xxx.."),
    (lambda x: x[:4].reshape(2, 2).sum(axis=0), "x.x..", ".x.x."),
    (lambda x: np.outer(x[:2], x[3:])[:, 0], "x..x.", ".x.x."),
    (lambda x: np.where(np.arange(5) < 2, x, x[::-1])[1:3], ".x...", "..x.."),
    (lambda x: np.where(x > 0, x, x[::-1])[1:3], ".x.x.", "..x.."),
    (lambda x: np.convolve(x[:3], [1.0, 0.0, 2.0], "valid"), "x.x.."),
    (lambda x: np.floor(x) + np.sign(x) + np.argmax(x), ".....", ".....", ".....", ".....", "....."),
    (lambda x: np.sign(x[:2] + 1j).real + np.sign(x[2:4]), "x....", ".x..."),
    (lambda x: np.var(x[:4].reshape(2, 2), axis=0, mean=x[None, 3:]), "x.xx.", ".x.xx"),
    (lambda x: np.pad(x[:2], 1, "reflect", reflect_type="odd"), "xx...", "xx...", "xx...", "xx..."),
    (lambda x: np.pad(x[:1], 1, constant_values=x[3]), "x..x.", "x..x.", "x..x."),
    (lambda x: np.nan_to_num(x[:1], nan=x[3]), "x..x."),
    (lambda x: x[np.argsort(x)][:1], "xxxxx"),
    (lambda x: np.sort(x[:2]), "xx...", "xx..."),
    (lambda x: max(x[0], x[1]), "xx..."),
    (lambda x: sum(v * v for v in x[:2]), "xx..."),
    (lambda x: np.linalg.norm(x[1:3]), ".xx.."),
    (lambda x: np.stack([x[:2], x[2:4]]).T.ravel(), "x....", "..x..", ".x...", "...x."),
    (lambda x: np.pad(x[:2], 1)[1:], "x....", ".x...", "....."),
    (lambda x: Model(x[:2])(x[2:4]), "x.x..", ".x.x."),
    (lambda x: functools.partial(math.hypot, x[0])(x[3]), "x..x."),
    (lambda x: {"a": x[0], "b": x[1:3]}, "x....", ".x...", "..x.."),
    (lambda x: x.tolist()[2] + x.item(0), "x.x.."),
    (lambda x: np.diff(x)[:2], "xx...", ".xx.."),
    (lambda x: np.add.reduce(x.reshape(1, 5)[:, 1:3], axis=1), ".xx.."),
    (lambda x: np.interp(x[:1], [0.0, 1.0], [1.0, 3.0]), "x...."),
    (lambda x: 3.0, "....."),
    (lambda x: np.zeros((0, 2)),),
]


@pytest.mark.parametrize("f, lines", [(case[0], case[1:]) for case in CASES])
@pytest.mark.parametrize("mode", ["global", "local"])
def test_pattern_of(f, lines, mode):
    found = jacobian_sparsity(f, X, mode=mode)
    expected = rows(*lines) if lines else SparsityPattern.from_dense(np.zeros((0, 5)))
    if mode == "global":
        assert found == expected
    else:
        assert found.issubset(expected)


@pytest.mark.parametrize("slices", [False, True])
def test_the_brusselator_both_ways_against_finite_differences(slices):
    f = brusselator(5, slices)
    found = jacobian_sparsity(f, 0.0, np.ones(50), argnums=1)
    rng = np.random.default_rng(0)
    nonzero = sum(jacobian_by_differences(lambda y: f(0.0, y), rng.uniform(1, 2, 50)) != 0 for _ in range(3))
    assert found == SparsityPattern.from_dense(nonzero)


def test_in_place_right_hand_side():
    def rhs(du, u):
        du[0] = -u[0]
        du[1:] = u[:-1] - u[1:]
        return du

    assert jacobian_sparsity(rhs, np.zeros(3), np.ones(3), argnums=1) == rows("x..", "xx.", ".xx")


def test_several_arguments_count_in_order():
    def f(a, b, c):
        return [b * c, a[0][0][0]]

    found = jacobian_sparsity(f, ([np.ones(2)],), 2.0, 3.0, argnums=(2, 1))
    assert found == rows("xx", "..")
    found = jacobian_sparsity(lambda p, y: p[1] * y + p[0], (1.0, 2.0), np.ones(2), argnums=[0, 1])
    assert found == rows("xxx.", "xx.x")


def test_float32_and_shapes():
    x = np.ones((2, 3), np.float32)
    assert jacobian_sparsity(lambda x: x.sum(axis=0), x) == rows("x..x..", ".x..x.", "..x..x")


def test_a_store_is_seen_through_views_and_aliases():
    def f(x):
        a = x.copy()
        b, c = a[1:], a
        c[2] = x[0]
        return np.append(b, SimpleNamespace(v=a).v[2])

    assert jacobian_sparsity(f, X) == rows(".x...", "x....", "...x.", "....x", "x....")


def test_the_caller_s_objects_are_left_alone():
    history, buffer, x = [], np.zeros(2), X.copy()

    def f(x):
        history.append(x)
        buffer[:] = x[:2]
        x[0] = 5.0
        return buffer * x[2]

    assert jacobian_sparsity(f, x) == rows("x.x..", ".xx..")
    assert history == [] and not buffer.any() and np.array_equal(x, X)


def test_an_opaque_call_is_dense_and_says_so():
    def careful(u):
        try:
            return np.array([u[0], 1.0])
        finally:
            pass

    def f(x):
        return np.append(careful(x[1:3]), x[4])

    with pytest.warns(OpaqueCallWarning, match=r"test_patterns.py:\d+.*careful is not looked into"):
        assert jacobian_sparsity(f, X) == rows(".xx..", ".xx..", "....x")


def test_what_has_no_rule_is_dense():
    with pytest.warns(OpaqueCallWarning, match="permuted"):
        found = jacobian_sparsity(lambda x: np.random.default_rng(0).permuted(x[:2]), X)
    assert found == rows("xx...", "xx...")


def test_what_a_library_takes_its_functions_from_is_no_value():
    signal = pytest.importorskip("scipy.signal")
    with pytest.warns(OpaqueCallWarning, match="array_namespace"):
        found = jacobian_sparsity(lambda x: signal.lfilter([1.0, 2.0], [1.0, 0.3], x[:2]), X)
    assert found == rows("xx...", "xx...")


def test_fft_is_dense():
    assert jacobian_sparsity(lambda x: np.fft.rfft(x[:2]).real, X) == rows("xx...", "xx...")


def test_sparse_matrices_have_their_own_pattern():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(MATRIX)
    assert jacobian_sparsity(lambda x: matrix @ x, X) == rows("x..x.", "..x..", ".x..x")


def test_a_ufunc_without_a_row_is_elementwise():
    special = pytest.importorskip("scipy.special")
    assert jacobian_sparsity(lambda x: special.expit(x[:2]), X) == rows("x....", ".x...")


def test_the_context():
    def f(k, x, y):
        return x[:k] * y

    found = overdub(SparsityContext(), f, 2, np.ones(3), 1.0)
    assert found == rows("x..x", ".x.x")
    assert overdub(SparsityContext(mode="local"), lambda x: x if x > 0 else 1.0, -1.0).nnz == 0


@pytest.mark.parametrize(
    "f",
    [
        lambda u: u * u[:1], lambda u: u[:1] * u, lambda u: u + u[:, :1] * u, lambda u: u[0] * u,
        lambda u: u * u[:1, :1], lambda u: u - u.T[:1].T, lambda u: np.where(u > 0.0, u, u[:1]),
        lambda u: np.maximum(u[:1], u) * u[1:2],
    ],
)  # fmt: skip
def test_operands_of_other_shapes_that_begin_at_the_same_element(f):
    def flat(x):
        return f(x.reshape(3, 4)).ravel()

    x = np.linspace(-1.0, 1.7, 12)
    found = jacobian_sparsity(flat, x).toarray().astype(bool)
    for point in (x, -x[::-1]):
        assert not (jacobian_by_differences(flat, point) != 0)[~found].any()


# -- what C code moves or keeps ------------------------------------------------------------------------------


class Wrapped:
    def __init__(self, v):
        self.v = v

    def __array__(self, dtype=None, copy=None):
        return self.v

    def __float__(self):
        return float(self.v[0])

    def __iter__(self):
        return iter(self.v)


class ByIndex:
    def __init__(self, v):
        self.v = v

    def __getitem__(self, i):
        return self.v[i]


class Overriding:
    def __init__(self, v):
        self.v = v

    def __array_ufunc__(self, f, method, *args, **kwargs):
        plain = [a.v if isinstance(a, Overriding) else a for a in args]
        return Overriding(getattr(f, method)(*plain, **kwargs))

    def __array_function__(self, f, types, args, kwargs):
        return Overriding(f(*[a.v if isinstance(a, Overriding) else a for a in args], **kwargs))


class Between:
    def __contains__(self, v):
        return bool(v < 1.0)


def changed(thing, method, *args):
    getattr(thing, method)(*args)
    return thing


def imul(a, b):
    a *= b
    return a


def parts(x):
    z = np.zeros(3, complex)
    z.real = x
    z.imag = x[::-1]
    return z.imag * 2.0


def decorated(x):
    def scaled(f):
        @functools.wraps(f)
        def g(*args):
            return f(*args) * x[0]

        return g

    return scaled(lambda v: v * 2.0)(x[1])


class Kept:
    def __init__(self, v):
        self.v = v

    @functools.cached_property
    def first(self):
        return self.v[0]

    def __round__(self):
        return self.v * 2.0


MOVED = {
    "cached property": lambda x: Kept(x).first,
    "round": lambda x: round(Kept(x)),
    "methods by name": lambda x: [*changed([1.0], "__iadd__", x), changed({}, "__setitem__", "k", x[0])["k"]],
    "attributes by name": lambda x: changed(vars(Kept(x)), "__setitem__", "w", x[1])["w"],
    "a slice of a list": lambda x: changed([1.0, 2.0], "__setitem__", slice(0, 1), x),
    "parts of complex numbers": parts,
    "functools.wraps": decorated,
    "counter": lambda x: [Counter(a=x[0], b=x[1]).total(), Counter({"a": x[2]})["a"]],
    "sum of counters": lambda x: changed(Counter(a=x[0], b=x[1]), "update", {"a": x[2]})["a"],
    "union of dicts": lambda x: list(({"a": x[0]} | {"b": x[1]}).values()),
    "default": lambda x: defaultdict(lambda: x[1])["k"],
    "extendleft": lambda x: list(changed(deque(), "extendleft", x)),
    "fsum of a view": lambda x: math.fsum({"a": x[0]}.values()) + math.fsum(deque(x[1:])),
    "chain": lambda x: list(itertools.chain.from_iterable([x, [x[0]]])),
    "repeat": lambda x: list(itertools.islice(itertools.chain(x, itertools.repeat(x[0])), 5)),
    "repeat an array": lambda x: [v[1] for v in itertools.repeat(x, 2)],
    "cycle": lambda x: list(itertools.islice(itertools.cycle(x), 4)),
    "deep copy": lambda x: [*copy.deepcopy(deque(x)), copy.deepcopy(defaultdict(list, a=[x[1]]))["a"][0]],
    "by __iter__": lambda x: [sum(Wrapped(x)), *Wrapped(x)],
    "by index": lambda x: [sum(ByIndex(x)), *ByIndex(x)],
    "by __array__": lambda x: np.ones(3) * Wrapped(x) + np.sin(Wrapped(x)),
    "by __float__": lambda x: [math.sin(Wrapped(x)), float(Wrapped(x[1:]))],
    "array ufunc": lambda x: np.sin(Overriding(x)).v,
    "array function": lambda x: np.cumsum(Overriding(x)).v,
    "contains": lambda x: x[1] if x[0] in Between() else x[2],
    "in place, of a list": lambda x: imul(np.ones(2), [x[0], x[1]]),
    "stored by __array__": lambda x: changed(np.ones(3), "__setitem__", slice(None), Wrapped(x)),
}
OF_THE_VALUES_AT_HAND = {
    "arange": lambda x: np.arange(x[0], 3.0, 0.5),
    "arange by steps": lambda x: np.arange(0.0, 3.0, x[0]),
    "polynomial": lambda x: np.poly1d(x)(2.0),
    "product of polynomials": lambda x: np.polymul(x, [1.0, x[0]]),
}


@pytest.mark.parametrize("mode", ["global", "local"])
@pytest.mark.parametrize("name", [*MOVED, *OF_THE_VALUES_AT_HAND])
def test_what_c_code_moves_is_followed(name, mode):
    if name in OF_THE_VALUES_AT_HAND and mode == "global":
        with pytest.raises(SparsityError, match="the shape"):
            jacobian_sparsity(OF_THE_VALUES_AT_HAND[name], X3)
        return
    f = {**MOVED, **OF_THE_VALUES_AT_HAND}[name]
    expected = jacobian_by_differences(lambda x: np.array(f(x), float), X3) != 0
    assert expected.any()
    assert not (expected & ~jacobian_sparsity(f, X3, mode=mode).toarray()).any()


def generated(x):
    for v in x:
        yield v * v


KEPT = {
    "records": lambda x: np.rec.fromarrays([x, x], names="a,b").a,
    "fields": lambda x: changed(np.zeros(3, [("a", float)]), "__setitem__", "a", x)["a"],
    "texts": lambda x: changed(np.zeros(3, "U20"), "__setitem__", slice(None), x).astype(float),
    "buffer": lambda x: changed(array.array("d"), "extend", [x[0]])[0],
    "bytes": lambda x: np.frombuffer(changed(io.BytesIO(), "write", x).getvalue()),
    "packed": lambda x: np.frombuffer(_packed(bytearray(8), x[0])),
    "fraction": lambda x: x[0].as_integer_ratio()[0] * 1.0,
    "generator in a display": lambda x: [*generated(x)],
    "generator in a list": lambda x: changed([], "extend", generated(x)),
    "accumulate in a display": lambda x: [*itertools.accumulate(x)],
}


def _packed(buffer, v):
    struct.pack_into("d", buffer, 0, v)
    return buffer


@pytest.mark.filterwarnings("ignore::ctxdispatch_contexts.sparsity.errors.OpaqueCallWarning")
@pytest.mark.parametrize("mode", ["global", "local"])
@pytest.mark.parametrize("name", KEPT)
def test_what_c_code_keeps_out_of_sight_is_refused(name, mode):
    with pytest.raises(SparsityError, match="inputs|can reach") as caught:
        jacobian_sparsity(KEPT[name], X3, mode=mode)
    assert __file__ in str(caught.value)


def test_an_iterator_without_an_end_is_no_list():
    pairs = zip(itertools.repeat(2.0), itertools.count(1.0))
    assert jacobian_sparsity(lambda x: [a * b * v for v, (a, b) in zip(x, pairs)], X3).nnz == 3


@pytest.mark.parametrize("items", [
    lambda x: [("a", x[1]), 0.75], lambda x: [x, None, x[0]], lambda x: [("a", x[1]), (0.75, x[0])],
])  # fmt: skip
def test_arrays_of_objects_are_refused(items):
    with pytest.raises(SparsityError, match="test_patterns.py.* dtype object"):
        jacobian_sparsity(lambda x: np.array(items(x), object)[0] and x, np.ones(3))
