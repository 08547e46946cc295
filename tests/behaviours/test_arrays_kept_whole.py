"""Arrays that functions of C code put into containers: they stay arrays there, whatever path runs, also where
the function goes through other operands."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import operator

import numpy as np
import pytest

from ctxdispatch import grad
from tests.recording import RECORDED

GIVEN = {
    "heapq": heapq, "bisect": bisect, "collections": collections, "functools": functools,
    "itertools": itertools, "operator": operator, "np": np, "RECORDED": RECORDED,
}  # fmt: skip
KEEPS = (
    "L = []; heapq.heappush(L, A)", "L = [A]; heapq.heapify(L)", "L = [heapq.heappushpop([], A)]",
    "K = [q]; L = [A]; heapq.heapreplace(K, A); L = K", "L = [heapq.heappop([A])]",
    "L = []; bisect.insort(L, A)", "L = []; L.append(A)", "L = []; L.insert(0, A)", "L = [0]; L[0] = A",
    "L = [0]; L[:] = [A]", "L = [0]; operator.setitem(L, 0, A)", "L = []; operator.iadd(L, [A])",
    "L = collections.deque(); L.append(A)", "L = collections.deque([0]); L.rotate(1); L[0] = A",
    "D = {}; D.setdefault(0, A); L = D", "D = {}; D.update({0: A}); L = D", "L = dict.fromkeys([0], A)",
    "L = dict([(0, A)])", "L = collections.OrderedDict([(0, A)])", "L = collections.ChainMap({0: A})",
    "L = list(itertools.repeat(A, 1))", "L = [*itertools.chain([A])]", "L = [*zip([A])][0]",
    "L = list(map(lambda a: a, [A]))", "L = [*itertools.accumulate([A])]", "L = [max([A], key=len)]",
    "L = sorted([A], key=len)", "L = [functools.reduce(operator.add, [A])]", "L = [*reversed([A])]",
    "L = [*itertools.zip_longest([A], [])][0]", "L = [next(iter([A]))]", "L = [*enumerate([A])][0][1:]",
    "L = [[A].pop()]", "L = [A]; L.extend([A])", "L = [*itertools.islice([A], 1)]", "L = [A].copy()",
    "L = functools.partial(tuple, [A])()", "L = [operator.itemgetter(0)([A])]", "L = tuple([A])",
    "L = [*itertools.takewhile(len, [A])]", "L = [*filter(len, [A])]", "L = [g for g in [A]]",
)  # fmt: skip
WITHIN = {
    "compiled": "{}", "attempted": "try:\n{}\nexcept KeyError:\n    raise", "recorded": "with RECORDED:\n{}",
}  # fmt: skip
END = "kept.append(L)\nreturn q * sum(t for t in L[0]) + 2.0 * sum(t for t in L[0]) + L[0][1]"


def indented(text):
    return "\n".join("    " + line for line in text.split("\n"))


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("keep", KEEPS)
def test_they_are_arrays_there(keep, within):
    text = "\n".join(["A = np.array([1.0, 2.0]) * q", *keep.split("; "), END])
    text = WITHIN[within].format(text if within == "compiled" else indented(text))
    given = {**GIVEN, "kept": []}
    exec(f"def f(q):\n{indented(text)}", given)
    f, kept = given["f"], given["kept"]
    want = (f(3.0 + 1e-6) - f(3.0 - 1e-6)) / 2e-6
    for _ in range(3):
        kept.clear()
        np.testing.assert_allclose(grad(f)(3.0), want, rtol=1e-6)
        assert type(kept[0][0]) is np.ndarray
