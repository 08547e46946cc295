"""The arrays of `broadcast`: strides, overlaps, `out`, threads, and what results share with what."""

import copy
import gc
import math
import pickle
import sys

import numpy as np
import pytest
from broadcast_checks import affine, iterated, piecewise, same
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxdispatch_contexts.broadcast import KernelError, broadcast

# -- memory --------------------------------------------------------------------------------------------------


def laid_out(draw, shape):
    """An array of that shape, or of ones in places, that lies in any way."""
    shape = [1 if draw(st.integers(0, 3)) == 0 else n for n in shape][draw(st.integers(0, len(shape))) // 2 :]
    steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in shape]
    axes = draw(st.permutations(range(len(shape))))
    size = [shape[a] * abs(steps[a]) for a in axes]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    whole = (rng.normal(size=size) * 2).transpose(np.argsort(axes))
    return whole[tuple(slice(None, None, s) for s in steps)]


@settings(max_examples=150)
@given(st.data())
def test_strides(data):
    sizes = st.lists(st.sampled_from([1, 2, 3, 5, 17, 40]), max_size=4)
    shape = data.draw(sizes.filter(lambda s: math.prod(s) < 5e3))
    x, y = laid_out(data.draw, shape), laid_out(data.draw, shape)
    before = x.copy(), y.copy()
    with np.errstate(all="ignore"):
        same(broadcast(affine, x, y), affine(x, y))
    f = data.draw(st.sampled_from([piecewise, iterated]))
    wanted = broadcast(f, x, y, backend="reference")
    same(broadcast(f, x, y), wanted, exact=False)
    assert np.array_equal(x, before[0]) and np.array_equal(y, before[1])
    if np.ndim(wanted):
        out = np.empty(np.shape(wanted)[::-1]).T if data.draw(st.booleans()) else np.empty(np.shape(wanted))
        assert broadcast(f, x, y, out=out) is out
        same(out, wanted, exact=False)


def test_read_only_unaligned_and_borrowed(backend):
    x = np.arange(5.0)
    x.flags.writeable = False
    same(broadcast(affine, x, x, backend=backend), affine(x, x))
    unaligned = np.zeros(5 * 8 + 1, "u1")[1:].view("f8")
    unaligned[:] = x
    same(broadcast(affine, unaligned, x, backend=backend), affine(x, x))
    same(broadcast(affine, np.frombuffer(x.tobytes()), x, backend=backend), affine(x, x))
    same(broadcast(affine, np.broadcast_to(2.0, (3, 5)), x, backend=backend), affine(np.full((3, 5), 2.0), x))


@pytest.mark.parametrize("f", [lambda v: v, lambda v: v + 0])
def test_results_are_new(f):
    x = np.arange(4.0)
    y = broadcast(f, x)
    assert not np.shares_memory(x, y) and y.flags.writeable
    y[:] = 7
    assert x.tolist() == [0, 1, 2, 3]
    a, b = broadcast(lambda v: (v, v), x)
    assert not np.shares_memory(a, b)


def test_large_results_outlive_what_made_them():
    """Their memory is used again when they are gone, and not before."""
    x = np.ones(1 << 17)
    kept = broadcast(affine, x, 1.0)
    view = broadcast(affine, x, 2.0)[::2]
    copies = pickle.loads(pickle.dumps(kept)), copy.deepcopy(kept)
    gc.collect()
    for c in range(4):
        broadcast(affine, x, float(c))
    assert np.all(kept == 2.0) and np.all(view == 3.0)
    assert all(np.array_equal(c, kept) for c in copies)


@pytest.mark.parametrize("f", [affine, piecewise, iterated])
def test_threads_change_no_bit(f):
    x, y = np.linspace(-3, 3, (1 << 20) + 13), np.array([[0.3], [0.7]])
    one = broadcast(f, x, 0.3, threads=1)
    assert np.array_equal(one, broadcast(f, x, 0.3, threads=2))
    assert np.array_equal(one[::997], broadcast(f, x[::997].copy(), 0.3))
    assert np.array_equal(one, broadcast(f, x, y, threads=2)[0])

# -- out -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [affine, piecewise, iterated])
def test_out_is_an_operand(f, backend):
    x = np.linspace(-3, 3, 40)
    wanted = broadcast(f, x, 0.5)
    y = x.copy()
    assert broadcast(f, y, 0.5, out=y, backend=backend) is y
    same(y, wanted, exact=False)


def test_out_overlaps(backend):
    x = np.linspace(-3, 3, 40)
    wanted = affine(x[:-1], x[:-1])
    y = x.copy()
    broadcast(affine, y[:-1], y[:-1], out=y[1:], backend=backend)
    same(y[1:], wanted)
    y = x.copy()
    broadcast(affine, y[::-1], 2.0, out=y, backend=backend)
    same(y, affine(x[::-1], 2.0))


def test_out_of_another_dtype_and_order(backend):
    x = np.arange(6, dtype="f4").reshape(2, 3)
    like = np.zeros((2, 3))
    for out in (like, np.asfortranarray(like), np.zeros((2, 6), "f4")[:, ::2], like.astype("f2")):
        assert broadcast(affine, x, x, out=out, backend=backend) is out
        np.testing.assert_array_equal(out, affine(x, x))


def test_out_for_several(backend):
    x = np.arange(4.0)
    a, b = np.zeros(4), np.zeros(8, int)[::2]
    found = broadcast(lambda v: (v * 2, int(v)), x, out=(a, b), backend=backend)
    assert found[0] is a and found[1] is b
    assert a.tolist() == [0, 2, 4, 6] and b.tolist() == [0, 1, 2, 3]
    broadcast(lambda v: (v * 2, v + 1), x, out=(x, a), backend=backend)
    assert x.tolist() == [0, 2, 4, 6] and a.tolist() == [1, 2, 3, 4]


def test_outputs_that_overlap_are_stored_one_after_the_other(backend):
    def f(v):
        return v * 2, v + 100

    x = np.linspace(-3, 3, 40)
    twice, more = f(x)
    for a, b in ((0, 1), (1, 0), (0, 0)):
        memory = np.zeros(41)
        outs = memory[a : a + 40], memory[b : b + 40]
        broadcast(f, x, out=outs, backend=backend)
        expected = np.zeros(41)
        expected[a : a + 40] = twice
        expected[b : b + 40] = more
        same(memory, expected)


def test_outputs_that_overlap_where_one_is_converted(backend):
    memory = np.zeros(5)
    outs = memory.view("f4")[:4], memory[:4]
    broadcast(lambda v: (v, v + 100), np.arange(4.0), out=outs, backend=backend)
    assert memory.tolist() == [100, 101, 102, 103, 0]


def unaligned(x):
    """A copy that begins one byte after an element would."""
    buffer = np.zeros(x.nbytes + 1, np.uint8)
    array = buffer[1:].view(x.dtype).reshape(x.shape)
    array[...] = x
    return array


def test_what_is_not_aligned_is_copied(backend, monkeypatch):
    if backend == "compiled":
        from ctxdispatch_contexts.broadcast import llvm_backend

        def run(plan, arrays):
            past.extend(llvm_backend.address(a) % a.itemsize for a in arrays)
            own(plan, arrays)

        past, own = [], llvm_backend.Plan.run
        monkeypatch.setattr(llvm_backend.Plan, "run", run)
    packed = np.zeros(40, np.dtype([("flag", "u1"), ("x", "f8")]))
    packed["x"] = x = np.linspace(-3, 3, 40)
    wanted = broadcast(affine, x, x, backend=backend)
    out = unaligned(np.zeros(40))
    for operand in (unaligned(x), packed["x"], unaligned(x)[::-1][::-1]):
        assert not operand.flags.aligned
        same(broadcast(affine, operand, x, backend=backend), wanted)
        same(broadcast(affine, x, operand, out=out, backend=backend), wanted)
    assert backend != "compiled" or (past and not any(past))


@pytest.mark.parametrize(
    "out, words",
    [
        (np.zeros(3), ["(3,)", "(4,)"]),
        (np.zeros((2, 4)), ["(2, 4)"]),
        (np.zeros(4, int), ["int64", "float64"]),
        ([0.0] * 4, ["list"]),
        ((np.zeros(4),), ["tuple"]),
    ],
)
def test_out_that_does_not_fit(out, words, backend):
    with pytest.raises(KernelError) as caught:
        broadcast(affine, np.arange(4.0), 2.0, out=out, backend=backend)
    assert all(w in str(caught.value) for w in words)


def test_out_that_is_read_only(backend):
    out = np.zeros(4)
    out.flags.writeable = False
    with pytest.raises((KernelError, ValueError)):
        broadcast(affine, np.arange(4.0), 2.0, out=out, backend=backend)


def test_references_are_given_back():
    x = np.ones(1000)
    broadcast(affine, x, x)
    before = sys.getrefcount(x)
    for _ in range(5):
        broadcast(affine, x, x)
    assert sys.getrefcount(x) == before
