"""Stores past the caches: the same results, from stores that are marked where they may be, and only there."""

import math

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ctxdispatch import BroadcastContext, overdub
from ctxdispatch_contexts.broadcast import broadcast, pool, streaming
from ctxdispatch_contexts.broadcast.llvm_backend import address


def straight(a, b):
    return a * b + a, a > b, a - b


def looping(a, b):
    n = 0
    while abs(a) < 4.0 and n < 9:
        a, n = a * 1.5 + b, n + 1
    return a, n


def sines(a, b):
    return math.sin(a) * math.cos(b)


def halving(a, b):
    while abs(a) > 0.25:
        a = a * 0.5
    return a + b


ONCE = [lambda a, b: a * b + 3.0, halving, lambda a, b: math.sin(a) + b]
"""No other test compiles them."""


@pytest.fixture
def marked(monkeypatch):
    """The modules that were marked, with arrays of every size being large."""
    found = []
    original = streaming.stream

    def stream(module, lanes):
        text = original(module, lanes)
        found.append(text)
        return text

    monkeypatch.setattr("ctxdispatch_contexts.broadcast.llvm_compile.stream", stream)
    monkeypatch.setattr(streaming, "MIN_STREAMED", 1)
    monkeypatch.setattr(pool, "MIN_BYTES", 1)
    monkeypatch.setenv("CTXDISPATCH_CACHE_DIR", "")
    return found


def operands(shape, dtype):
    rng = np.random.default_rng(3)
    return (rng.normal(size=shape) * 2).astype(dtype), (rng.normal(size=shape) + 1).astype(dtype)


def results(f, *arrays, **options):
    found = broadcast(f, *arrays, **options)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8"])
@pytest.mark.parametrize("f", [straight, looping])
def test_results_are_the_same(f, dtype, threads, marked, monkeypatch):
    monkeypatch.setattr("ctxdispatch_contexts.broadcast.llvm_backend.MIN_PER_THREAD", 64)
    for shape in [(1,), (7,), (64,), (100,), (1024,), (4099,), (3, 64), (5, 48), (4, 7), (2, 3, 64), ()]:
        a, b = operands(shape, dtype)
        with np.errstate(all="ignore"):
            found = results(f, a, b, threads=threads)
            wanted = results(f, a, b, backend="reference")
        for x, y in zip(found, wanted):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("f", ONCE)
def test_large_results_are_marked(f, marked):
    results(f, *operands((64, 64), "f8"))
    assert [text for text in marked if "!nontemporal" in text]
    assert all("fence seq_cst" in text for text in marked)


def test_what_lies_across_lines_is_not(marked):
    """Rows of another length, and results in memory of the user's, which may begin anywhere."""
    a, b = operands((6, 40), "f8")
    whole = np.empty(241)
    for offset in (0, 1):
        out = whole[offset : offset + 240].reshape(6, 40)
        broadcast(sines, a[:, :40], b[:1], out=out)
        np.testing.assert_allclose(out, np.sin(a) * np.cos(b[:1]), rtol=1e-14)
    rows = np.ones((6, 41))[:, :40]
    np.testing.assert_allclose(broadcast(sines, rows, b), np.sin(1) * np.cos(b), rtol=1e-14)


def test_partial_derivatives(marked):
    a, b = operands((33, 64), "f8")
    y, (da, db) = overdub(BroadcastContext(wrt=(0, 1)), sines, a, b)
    np.testing.assert_allclose(y, np.sin(a) * np.cos(b), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(da, np.cos(a) * np.cos(b), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(db, -np.sin(a) * np.sin(b), rtol=1e-14, atol=1e-15)


def test_large_blocks_begin_with_a_line():
    for n in (1 << 19, (1 << 20) + 8, 1 << 21):
        assert address(pool.empty((n,), np.dtype("f8"))) % streaming.ALIGNMENT == 0


def test_only_the_loops_that_llvm_vectorised_are_marked():
    text = """define void @rows() {
entry:
  store <4 x float> %v, ptr %p, align 4
  br label %vector.body

vector.body:                                      ; preds = %vector.body, %entry
  store <4 x float> %v, ptr %p, align 4, !alias.scope !3
  store <8 x i8> %b, ptr %q, align 1
  br label %scalar

scalar:                                           ; preds = %vector.body
  store float %s, ptr %p, align 4
  ret void
}
"""
    lines = streaming.stream(text, 1).splitlines()
    assert [line for line in lines if "nontemporal" in line] == [
        f"  store <4 x float> %v, ptr %p, align 16, !nontemporal {streaming.MARK}, !alias.scope !3",
        f"  store <8 x i8> %b, ptr %q, align 8, !nontemporal {streaming.MARK}",
    ]
    assert lines[lines.index("  ret void") - 1] == "  fence seq_cst"
    assert streaming.stream(text + "alloca", 1) == text + "alloca"
