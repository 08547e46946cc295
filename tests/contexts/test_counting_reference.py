"""CountContext beside a count by brute force: the same NumPy call on arrays of objects that count what is
done with them, each addition and each multiplication."""

import numpy as np
import pytest

from ctxdispatch import overdub
from ctxdispatch.contexts import CountContext

COSTS = {
    "add": (1, 2), "sub": (1, 2), "mul": (1, 6), "truediv": (1, 11), "floordiv": (2, 8), "mod": (2, 8),
    "neg": (1, 2), "sqrt": (1, 4), "exp": (10, 40), "pow": (10, 40), "abs": (1, 4),
}  # fmt: skip
"""Flops on real and on complex numbers."""


class Number:
    """A number of some kind ("i", "f" or "c"), whose operations are counted in `Number.flops`."""

    flops = 0

    def __init__(self, kind, value):
        self.kind, self.value = kind, value

    def made(self, name, *others):
        kinds = [self.kind, *(getattr(o, "kind", None) or np.asarray(o).dtype.kind for o in others)]
        kind = max([*kinds, "f" if name in ("truediv", "sqrt", "exp") else "i"], key="ifc".index)
        Number.flops += 0 if kind == "i" else COSTS[name][kind == "c"]
        return Number(kind, self.value)

    def __neg__(self):
        return self.made("neg")

    def __abs__(self):
        return self.made("abs")

    def sqrt(self):
        return self.made("sqrt")

    def exp(self):
        return self.made("exp")

    def conjugate(self):
        return self

    def __lt__(self, other):
        return self.value < other.value

    def __ge__(self, other):
        return self.value >= other.value


def operator_of(name):
    return lambda a, b: a.made(name, b)


for operation in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Number, f"__{operation}__", operator_of(operation))
    setattr(Number, f"__r{operation}__", operator_of(operation))


def counting(array):
    return np.asarray(np.frompyfunc(lambda v: Number(array.dtype.kind, abs(v)), 1, 1)(array), object)


def by_brute_force(f, arrays):
    Number.flops = 0
    f(*map(counting, arrays))
    return Number.flops


def by_context(f, arrays):
    ctx = CountContext()
    return overdub(ctx, f, *arrays), ctx.counts.flops


# -- what is compared ------------------------------------------------------------------------------

SUM = "out.size"
"""Each result is a sum, and the addition to zero with which that begins is counted, but not done by NumPy. Of
objects, `einsum` adds everything to zero."""

PROGRAMS = [
    # text, shapes of a and b, how many sums are begun
    ("a @ b", "mk,kn", SUM), ("a @ b", "k,k", SUM), ("a @ b", "k,kn", SUM), ("a @ b", "mk,k", SUM),
    ("a @ b", "lmk,kn", SUM), ("a @ b", "mk,lkn", SUM), ("a @ b", "k,lkn", SUM), ("a @ b", "lmk,k", SUM),
    ("a @ b", "lmk,lkn", SUM), ("a @ b", "pmk,lpkn", SUM), ("np.matmul(a, b)", "pmk,lpkn", SUM),
    ("np.dot(a, b)", "mk,kn", SUM), ("np.dot(a, b)", "k,k", SUM), ("np.dot(a, b)", "lmk,k", SUM),
    ("np.dot(a, b)", "lmk,pkn", SUM), ("np.dot(a, b)", ",kn", "0"), ("a.dot(b)", "mk,kn", SUM),
    ("np.inner(a, b)", "mk,nk", SUM), ("np.inner(a, b)", "lmk,nk", SUM), ("np.inner(a, b)", "k,k", SUM),
    ("np.vdot(a, b)", "mn,mn", SUM), ("np.vecdot(a, b)", "mk,mk", SUM), ("np.vecdot(a, b)", "lmk,k", SUM),
    ("np.outer(a, b)", "m,n", "0"), ("np.outer(a, b)", "mk,n", "0"), ("np.kron(a, b)", "mn,lk", "0"),
    ("np.tensordot(a, b, 1)", "lmk,kn", SUM), ("np.tensordot(a, b)", "lmk,mkn", SUM),
    ("np.tensordot(a, b, axes=([0, 2], [1, 0]))", "lmk,klp", SUM),
    ("np.tensordot(a, b, axes=0)", "mn,l", SUM),
    ("np.einsum('ij,jk->ik', a, b)", "mk,kn", "0"), ("np.einsum('ij,jk', a, b)", "mk,kn", "0"),
    ("np.einsum('...j,jk->...k', a, b)", "lmk,kn", "0"), ("np.einsum('i...,i...->...', a, b)", "mk,mk", "0"),
    ("np.einsum(a, [0, 1], b, [1, 2])", "mk,kn", "0"), ("np.einsum(a, [0, 1], b, [1, 2], [2])", "mk,kn", "0"),
    ("np.einsum('i,j->ij', a, b)", "m,n", "-out.size"), ("np.einsum('ij->', a)", "mn,m", "0"),
    ("np.einsum('ii', a)", "mm,m", "0"), ("np.einsum('...ij,...jk', a, b)", "lmk,kn", "0"),
    ("np.einsum('ij,ij->ij', a, b)", "mn,mn", "-out.size"),
    ("np.einsum('ij,j,kj->ik', a, b, a)", "mk,k", "0"),
    ("a * b", "mn,n", "0"), ("a + b", "m1,n", "0"), ("a / b", "lmn,mn", "0"), ("a - 1", "mn,m", "0"),
    ("2.0 * a", "mn,m", "0"), ("a * list(b)", "mn,n", "0"), ("-a", "mn,m", "0"), ("a / 2", "mn,m", "0"),
    ("np.multiply(a, b)", "mn,n", "0"), ("np.divide(a, b)", "mn,n", "0"), ("abs(a)", "mn,m", "0"),
    ("np.add(a, b, out=None)", "m1,n", "0"), ("np.square(a)", "mn,m", "0"), ("np.sqrt(a)", "m,m", "0"),
    ("np.exp(a)", "mn,m", "0"), ("np.power(a, b)", "mn,n", "0"), ("np.maximum(a, a)", "mn,m", "0"),
    ("np.sum(a)", "lmn,m", SUM), ("np.sum(a, axis=1)", "lmn,m", SUM), ("np.sum(a, 0)", "mn,m", SUM),
    ("a.sum(axis=(0, 2), keepdims=True)", "lmn,m", SUM), ("np.sum(a, initial=0)", "mn,m", "0"),
    ("np.sum(a, where=np.arange(a.shape[-1]) > 0, initial=0)", "mn,m", "0"),
    ("a.cumsum()", "mn,m", "1"), ("np.cumsum(a, axis=0)", "mn,m", "a.shape[1]"),
    ("np.trace(a)", "mn,m", "1"), ("np.trace(a, axis1=1, axis2=2)", "lmn,m", SUM),
    ("np.diff(a)", "mn,m", "0"), ("np.diff(a, axis=0)", "nm,m", "0"), ("np.diff(a, 2, 0)", "5m,m", "0"),
    ("np.ptp(a, axis=0)", "mn,m", "0"), ("np.max(a, axis=0)", "mn,m", "0"),
    ("np.add.reduce(a)", "mn,m", SUM), ("np.add.reduce(a, axis=None)", "mn,m", SUM),
    ("np.add.accumulate(a, 1)", "mn,m", "a.shape[0]"), ("np.add.outer(a, b)", "mn,k", "0"),
    ("np.multiply.outer(a, b)", "m,n", "0"), ("np.add.reduceat(a, [0, 2, 1, 3])", "4n,m", SUM),
    ("np.add.at(a.copy(), [0, 0, 1], a[0])", "23,m", "0"), ("np.negative.at(a.copy(), [0])", "mn,m", "0"),
    ("np.maximum.reduce(a)", "mn,m", "0"), ("sum(a)", "mn,m", "0"),
    ("np.convolve(a, b)", "m,n", SUM), ("np.convolve(a, b, 'same')", "m,n", SUM),
    ("np.correlate(a, b, 'valid')", "m,n", SUM), ("np.correlate(a, b, mode='full')", "m,n", SUM),
    ("np.cross(a, b)", "n3,n3", "0"), ("np.cross(a, b)", "3,n3", "0"),
    ("np.linalg.matrix_power(a, 3)", "mm,m", "2 * a.size"),
    ("np.linalg.matrix_power(a, 4)", "33,m", "2 * a.size"),
    ("np.linalg.multi_dot([a, b, a])", "mk,km", "out.size + min(a.shape) ** 2"),
]  # fmt: skip

REALS = [
    ("np.mean(a)", "mn,m", "0"), ("a.mean(axis=0)", "lmn,m", "0"), ("np.mean(a, (0, 1))", "lmn,m", "0"),
    ("np.var(a)", "mn,m", "0"), ("np.var(a, axis=1)", "mn,m", "0"), ("a.std(axis=0)", "lmn,m", "0"),
    ("np.prod(a)", "mn,m", SUM), ("np.multiply.reduce(a, axis=1)", "mn,m", SUM),
    ("np.cumprod(a)", "mn,m", "1"),
    ("a // b", "mn,n", "0"), ("a % b", "mn,n", "0"), ("np.floor_divide(a, b)", "mn,n", "0"),
    ("np.trapezoid(a)", "lmn,m", SUM), ("np.polyval(a, b)", "m,n", "0"),
]  # fmt: skip

DTYPES = [("f8", "f8"), ("f4", "f8"), ("i8", "f8"), ("i1", "i4"), ("c16", "f8"), ("f4", "c8")]
CASES = [(case, dtypes) for case in PROGRAMS for dtypes in DTYPES]
CASES += [(case, dtypes) for case in REALS for dtypes in DTYPES[:2]]


def arrays_of(shapes, dtypes, rng):
    sizes = dict(zip("klmnp", rng.integers(2, 5, 5)))
    for shape, dtype in zip(shapes.split(","), dtypes):
        lengths = [int(sizes.get(letter) or letter) for letter in shape]
        yield rng.integers(1, 9, lengths).astype(dtype)


def ids(case):
    (text, shapes, _), dtypes = case
    return f"{text}-{shapes}-{'-'.join(dtypes)}"


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_flops_are_what_is_done(case):
    (text, shapes, begun), dtypes = case
    f = eval(f"lambda a, b: {text}", {"np": np})
    for seed in range(2):
        a, b = arrays_of(shapes, dtypes, np.random.default_rng(seed))
        out, flops = by_context(f, (a, b))
        out = np.asarray(a if out is None else out)
        first = {"i": 0, "f": 1, "c": 2}[out.dtype.kind] * eval(begun, {"a": a, "out": out})
        assert flops == by_brute_force(f, (a, b)) + first, (a.shape, b.shape)
