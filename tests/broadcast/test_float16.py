"""float16 in kernels: it is rounded once, from every dtype, and derivatives have it too."""

import platform

import numpy as np
import pytest
from broadcast_checks import same

from ctxdispatch import overdub
from ctxdispatch_contexts.broadcast import BroadcastContext, KernelError, broadcast
from ctxdispatch_contexts.forward import jvp
from ctxdispatch_contexts.reverse import grad

HALVES = np.arange(1 << 16, dtype="u2").view("f2")
HALF = np.array([0.5, 1.5, -3.0, 2.25], "f2")
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def quietly(f, *operands):
    with np.errstate(all="ignore"):
        return f(*operands)


# -- rounding ------------------------------------------------------------------------------------------------


def to_half(v):
    return np.float16(v)


def doubles():
    """All halves, what lies in the middle of two, and the neighbours of these; what a float32 rounds up to
    such a middle, or away from it; random bits."""
    exact = HALVES[np.isfinite(HALVES)].astype("f8")
    middles = (exact[:-1] + exact[1:]) / 2
    ends = np.array([65519.999, 65520.0, 65520.001, 1e5, 1e38, 1e39, 1e300, 1e-8, 1e-40, np.inf, np.nan])
    some = np.concatenate([exact, middles, ends, -ends])
    near = [some, *(np.nextafter(some, end) for end in (np.inf, -np.inf)), some * (1 + 2.0**-30)]
    random = np.random.default_rng(0).integers(0, 1 << 64, 1 << 16, "u8", endpoint=False).view("f8")
    return np.concatenate([*near, some * (1 - 2.0**-30), random])


def branching(v):
    """With a loop, so that several are computed at once."""
    for _ in range(2):
        if v > 1e300:
            break
    return np.float16(v)


@pytest.mark.parametrize("f", [to_half, branching])
def test_doubles_are_rounded_once(f):
    x = doubles()
    found, wanted = broadcast(f, x), quietly(x.astype, "f2")
    same(found, wanted)
    some = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[some], np.signbit(wanted)[some])


def test_all_halves_survive_a_trip(backend):
    for wide in (np.float32, np.float64):
        same(broadcast(lambda v: wide(v), HALVES, backend=backend), quietly(HALVES.astype, wide))
        same(broadcast(lambda v: np.float16(wide(v)), HALVES, backend=backend), HALVES)


def values(dtype):
    if dtype == "?":
        return np.array([False, True])
    if dtype.startswith("f"):
        return np.array([0.0, -0.0, 1.5, -2.75, 100.1, 65504.0, 1e-7, np.inf, -np.inf], dtype)
    info = np.iinfo(dtype)
    some = {info.min, info.max, 0, 1, 2, 77, 2049, 4099, 65519, 65520}
    return np.array(sorted(n for n in some if info.min <= n <= info.max), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(dtype, backend):
    x, to = values(dtype), np.dtype(dtype).type
    same(broadcast(lambda v: np.float16(v), x, backend=backend), quietly(x.astype, "f2"))
    h = np.array([0.0, 1.0, 2.5, 100.75], "f2")
    same(broadcast(lambda v: to(v), h, backend=backend), h.astype(dtype))


# -- what it meets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2, 2.5, 0.1, np.float64(0.1), np.float32(0.1), np.int8(3), True])
def test_numbers_that_meet_it(number, backend):
    same(broadcast(lambda a, b: a * b, HALF, number, backend=backend), HALF * number)
    same(broadcast(lambda a: a * number, HALF, backend=backend), HALF * number)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_that_meet_it(dtype, backend):
    x = np.array([0, 1, 1, 0], dtype)
    same(broadcast(lambda a, b: a * b, HALF, x, backend=backend), HALF * x)


def test_a_number_on_one_of_two_paths(backend):
    found = broadcast(lambda a, s: a if a > 1 else s, HALF, 2.5, backend=backend)
    same(found, np.array([2.5, 1.5, 2.5, 2.25], "f2"))


# -- derivatives ---------------------------------------------------------------------------------------------


def squared(v):
    return v * v


def kinked(v):
    return v * v if v > 1 else v * 0.5


def looped(v):
    y = v
    for _ in range(2):
        y = y * v if v > 1 else y * 2.0
    return y


CASES = [
    (squared, lambda a: broadcast(squared, a), lambda v: 2 * v),
    (kinked, lambda a: broadcast(kinked, a), lambda v: np.where(v > 1, 2 * v, 0.5)),
    (looped, lambda a: broadcast(looped, a), lambda v: np.where(v > 1, 3 * v * v, 4)),
]


@pytest.mark.parametrize("f, through, slope", CASES, ids=["squared", "kinked", "looped"])
def test_derivatives(f, through, slope, backend):
    wanted = slope(HALF).astype("f2")
    same(grad(lambda a: np.sum(through(a)))(HALF), wanted)
    same(jvp(through, [HALF], [np.ones_like(HALF)])[1], wanted)
    _, (partial,) = overdub(BroadcastContext(wrt=0, backend=backend), f, HALF)
    same(partial, wanted)


# -- processors without conversions --------------------------------------------------------------------------


@pytest.mark.skipif(platform.machine() != "x86_64" or platform.system() != "Linux", reason="of ELF and F16C")
def test_a_processor_without_conversions_is_a_refusal(monkeypatch):
    llvm = pytest.importorskip("llvmlite.binding")
    from ctxdispatch_contexts.broadcast import llvm_compile

    llvm_compile.target_machine()
    plain = llvm.Target.from_default_triple().create_target_machine(cpu="x86-64", codemodel="jitdefault")
    monkeypatch.setattr(llvm_compile, "target_machine", lambda: plain)
    monkeypatch.setenv("CTXDISPATCH_CACHE_DIR", "")
    with pytest.raises(KernelError, match=r"__(extendhfsf2|gnu_h2f_ieee).*does not have"):
        broadcast(lambda v: v * 3 - 0.125, HALF)
