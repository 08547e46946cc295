"""Python as it is written: containers, records, closures, iterators and views, against finite differences."""

import collections
import copy
import dataclasses
import functools
import heapq
import itertools
import math
import statistics
import warnings

import numpy as np
import pytest
from sparsity_checks import jacobian_by_differences

from ctxdispatch import jacobian_sparsity
from ctxdispatch_contexts.sparsity import OpaqueCallWarning, SparsityError

G = {"k": 0.0}
COUNT = 0.0


@dataclasses.dataclass(frozen=True)
class P:
    a: object
    b: object


class Q(collections.namedtuple("Q", "u v")):
    pass


class S:
    __slots__ = ("w",)

    def __init__(s, w):
        s.w = w


class V:
    def __init__(s):
        object.__setattr__(s, "d", {})

    def __setattr__(s, k, v):
        s.d[k] = v

    def __getattr__(s, k):
        return s.d[k]


class L(list):
    pass


def branch_in_dict(x):
    d = {"a": x.copy(), "b": np.zeros(5)}
    if x[0] > 0:
        d["b"][1] = x[3]
        d["a"] = d["a"][::-1]
    return d["a"] + d["b"]


def replaced_records(x):
    p = P(x[0], x[1])
    p = dataclasses.replace(p, a=x[2])
    q = Q(x[3], p)
    q = q._replace(u=x[4])
    return np.array([p.a * p.b, q.u, q.v.a])


def nonlocal_store(x):
    tot = 0.0

    def add(v):
        nonlocal tot
        if v > 0:
            tot += v * x[0]

    for v in x:
        add(v)
    return tot


def global_store(x):
    global COUNT
    COUNT = x[1]
    G["k"] = x[2]
    if x[0] > 0:
        G["k"] = x[3]
    return COUNT + G["k"]


def slots_and_setattr(x):
    s = S(x[0])
    if x[1] > 0:
        s.w = x[2]
    v = V()
    v.z = x[3]
    return s.w + v.z


def while_else(x):
    i = 0
    while i < 3:
        if x[i] > 0.5:
            break
        i += 1
    else:
        return x[4]
    return x[i] * 2


def list_subclass(x):
    l = L([x[0]])
    l.extend(x[1:3])
    l.tag = x[4]
    del l[0]
    l[0:1] = [x[3], x[3]]
    return np.array(list(l) + [l.tag])


def bounded_deque(x):
    d = collections.deque(x, maxlen=3)
    d.appendleft(x[0])
    d.rotate(1)
    return np.array(list(d))


def mapped(x):
    return np.array([*map(lambda a, b: a * b, x, x[::-1])])


def stacked_r(x):
    return np.r_[x[:2], 0.0, x[3]]


def stacked_c(x):
    return np.c_[x[:2], x[2:4]].ravel()


def vectorized(x):
    return np.vectorize(lambda t: t * t)(x)


def applied_along_axis(x):
    return np.apply_along_axis(lambda r: r * r[0], 1, x[:4].reshape(2, 2)).ravel()


def cached_function(x):
    @functools.lru_cache
    def g(k):
        return x[k] * 2

    return np.array([g(0), g(1), g(0)])


def mean_of_statistics(x):
    return statistics.mean([x[0], x[1]])


def exact_sums(x):
    return math.fsum([x[0], x[2]]) + sum([x[3]], start=x[1])


def deep_copies(x):
    y = copy.deepcopy({"q": [x, x[0]]})
    y["q"][0][0] = x[4]
    return y["q"][0] + y["q"][1]


def enumerated(x):
    return np.array([v for _, v in np.ndenumerate(x)])


def from_iterator(x):
    return np.fromiter((v * 2 for v in x[:2]), float)


def starred(x):
    a, *b, c = x
    return np.array([a * c, *b])


def mutable_default(x, scale=[2.0]):
    scale.append(x[0])
    return scale[-1] * x[1]


def ix_and_fancy(x):
    y = np.zeros((2, 2))
    y[np.ix_([0, 1], [1])] = x[:2][:, None]
    y[[0, 1], [0, 0]] += x[2:4]
    return y


def counted_dict(x):
    m = {}
    for i, v in enumerate(x):
        m[i % 2] = m.get(i % 2, 0.0) + v
    return np.array([m[0], m[1]])


def walrus_and_chained(x):
    return (y := x[0] * 2) + y * x[1] if -1 < x[2] < 1 else x[3]


def heap(x):
    h = []
    for i in range(3):
        heapq.heappush(h, (i, x[i]))
    return np.array([heapq.heappop(h)[1] for _ in range(3)])


def explicit_next(x):
    out = np.empty_like(x)
    it = iter(x)
    for i in range(5):
        out[i] = next(it) * x[0]
    return out


def text_in_condition(x):
    return np.array([f"{v}" and v for v in x[:2]])


def shape_set(x):
    y = x.copy()
    y.shape = (5, 1)
    return y[:, 0]


def contracted(x):
    return np.einsum("i,i->", x[:2], x[2:4]) + np.vdot(x[:2], x[1:3])


def list_sort(x):
    y = list(x)
    y.sort()
    return np.array(y)


def transposed_store(x):
    y = np.array([x, x[::-1]])
    z = y.T
    z[0] = x[2]
    return y[:, :2]


def in_place_view(x):
    y = x.copy()
    w = y.reshape(5, 1)
    w *= x[0]
    return y


def views_in_list(x):
    buf = np.zeros(5)
    views = [buf[i : i + 1] for i in range(5)]
    for i, v in enumerate(views):
        v[0] = x[4 - i]
    return buf


def in_place_loop(x):
    y = x.copy()
    for a in (y[:2], y[2:4]):
        a += x[4]
    return y


def accumulated_list(x):
    acc = [0.0] * 3
    for i in range(3):
        if x[i] > 0:
            acc[i] = x[i]
        elif x[i] < -1:
            acc[i - 1] += x[4]
    return np.array(acc)


def solved_with_matrix(x):
    return np.linalg.solve(np.array([[2.0, 1], [1, 3]]) + np.diag(x[:2]), x[2:4])


def sliding_window(x):
    return np.lib.stride_tricks.sliding_window_view(x, 2).sum(axis=1)


def chosen_by_flag(x):
    k = int(x[0] > 0)
    return [x[1], x[2]][k]


def functions_in_list(x):
    fs = [np.sin, np.cos]
    return fs[0](x[0]) + functools.reduce(lambda a, b: a * b, x[1:3])


def polynomial(x):
    return np.ma.masked_array(x[:2]).data if False else np.polyval(x[:2], x[2])


def chained_methods(x):
    return x.T.real.copy().astype(np.float64).flatten()[::2].clip(0, 1)


def fortran_order(x):
    y = np.asfortranarray(x[:4].reshape(2, 2))
    y[0, 1] = x[4]
    return y.ravel()


def weighted(x):
    return np.trapezoid(x, dx=0.1) + np.average(x[:2], weights=x[2:4])


def piecewise(x):
    return np.piecewise(x, [x < 0, x >= 0], [lambda t: -t, lambda t: t * t])


def outer_matmul(x):
    return x.reshape(5, 1) @ x.reshape(1, 5)[:, :2]


def remainders(x):
    return np.divmod(x[:2], 0.3)[1] + np.modf(x[2:4])[0] + np.fmod(x[:2], x[3:])


def combined(x):
    r = 0.0
    for a, b in itertools.combinations(x[:3], 2):
        r += a * b
    return r


def argument_in_place(x):
    y = x
    y -= x[0]
    return y


def alias_in_branch(x):
    y = x * 1
    z = y
    if x[0] > 0:
        z = z + 1
    else:
        z += x[4]
    return y[:2]


def extremes(x):
    return np.array([min(x), max(x[0], x[1], key=abs), sorted(x, key=lambda t: -t)[0]])


PROGRAMS = [
    branch_in_dict,
    replaced_records,
    nonlocal_store,
    global_store,
    slots_and_setattr,
    while_else,
    list_subclass,
    bounded_deque,
    mapped,
    stacked_r,
    stacked_c,
    vectorized,
    applied_along_axis,
    cached_function,
    mean_of_statistics,
    exact_sums,
    deep_copies,
    enumerated,
    from_iterator,
    starred,
    mutable_default,
    ix_and_fancy,
    counted_dict,
    walrus_and_chained,
    heap,
    explicit_next,
    text_in_condition,
    shape_set,
    contracted,
    list_sort,
    transposed_store,
    in_place_view,
    views_in_list,
    in_place_loop,
    accumulated_list,
    solved_with_matrix,
    sliding_window,
    chosen_by_flag,
    functions_in_list,
    polynomial,
    chained_methods,
    fortran_order,
    weighted,
    piecewise,
    outer_matmul,
    remainders,
    combined,
    argument_in_place,
    alias_in_branch,
    extremes,
]
REFUSED = [text_in_condition, shape_set]
X = np.array([0.31, -0.42, 0.77, 0.15, 0.64])


@pytest.mark.parametrize("mode", ["global", "local"])
@pytest.mark.parametrize("f", [f for f in PROGRAMS if f not in (*REFUSED, enumerated)])
def test_no_nonzero_is_missing(f, mode):
    if f is piecewise and mode == "global":
        return refused(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpaqueCallWarning)
        found = jacobian_sparsity(f, X, mode=mode).toarray()
    for x in others() if mode == "global" else [X]:
        jacobian = jacobian_by_differences(lambda x: f(x.copy()), x)
        if jacobian.shape == found.shape:
            assert not (jacobian != 0)[~found].any()


def others():
    return [X, *np.random.default_rng(1).normal(size=(5, 5))]


@pytest.mark.parametrize("f", REFUSED)
def test_what_cannot_be_followed_is_refused(f):
    refused(f)


def refused(f):
    with warnings.catch_warnings(), pytest.raises(SparsityError, match=r"\.py:\d+ in "):
        warnings.simplefilter("ignore", OpaqueCallWarning)
        jacobian_sparsity(f, X)


class Pairs:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        return iter([("a", self.x[0]), ("b", self.x[1])])


class Fields:
    def __init__(self, x):
        self.x = x

    def keys(self):
        return ["a", "b"]

    def __getitem__(self, key):
        return self.x["ab".index(key)]


@pytest.mark.parametrize("given", [Pairs, Fields, lambda x: [("a", x[0]), ("b", x[1])]])
def test_what_a_dict_is_updated_with(given):
    """Its methods do not run out of sight: they are followed, or refused."""

    def f(x):
        d = {}
        d.update(given(x))
        return d["a"] * d["b"]

    try:
        found = jacobian_sparsity(f, X)
    except SparsityError:
        return
    np.testing.assert_array_equal(found.toarray()[0].nonzero()[0], [0, 1])
