"""Compiled kernels: memory that is used again, code kept on disk, plans, threads."""

import errno
import gc
import os
import subprocess
import sys
import threading
import time
from hashlib import sha256

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ctxdispatch import broadcast
from ctxdispatch_contexts.broadcast import llvm_backend, llvm_compile, pool
from ctxdispatch_contexts.broadcast.api import kernel_of
from ctxdispatch_contexts.broadcast.kernel import Kernel
from ctxdispatch_contexts.programs.derived import entry_of

rng = np.random.default_rng(0)


def kernel(f, *args):
    kernel_of(f)(*args)
    programs = [p for kept in entry_of(kernel_of(f)).specialised.values() for p in kept]
    return next(op.fn for p in programs for _, op in p._plain.ops() if isinstance(op.fn, Kernel))


def scaled(x, a):
    return a * x + 1.0


def hundredfold(x, n):
    y = x
    for k in range(n):
        y = y * 0.5 + k
    return y


# Memory


def test_memory_of_large_results_is_used_again():
    pool.release()
    x = rng.normal(size=(512, 512))
    first = broadcast(scaled, x, 2.0)
    where = first.ctypes.data
    view = first[10:20]
    del first
    gc.collect()
    second = broadcast(scaled, x, 3.0)
    assert second.ctypes.data != where, "a view still reads it"
    np.testing.assert_array_equal(view, 2.0 * x[10:20] + 1.0)
    del view
    gc.collect()
    third = broadcast(scaled, x, 4.0)
    assert third.ctypes.data == where
    np.testing.assert_array_equal(second, 3.0 * x + 1.0)


def test_the_pool_is_bounded(monkeypatch):
    pool.release()
    monkeypatch.setattr(pool, "capacity", lambda: 3 << 20)
    arrays = [pool.empty((1 << 20,), np.dtype(np.uint8)) for _ in range(6)]
    del arrays
    gc.collect()
    assert pool._blocks._bytes == 3 << 20
    assert pool.empty((4 << 20,), np.dtype(np.uint8)).base is None, "more than it may hold"
    pool.release()


def in_a_process(code, **environment):
    """What it prints. An interpreter that hangs, or is aborted, fails the test and not the run."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


COLLECTED = """
import gc
import numpy as np
from ctxdispatch_contexts.broadcast import pool

class Node:
    pass

def cycle(n):
    node = Node()
    node.itself, node.array = node, pool.empty((n,), np.dtype(float))

gc.set_threshold(1, 1, 1)
for i in range(2000):
    cycle(1 << 17)
    arrays = [pool.empty((70_000 + (7 * i + j) % 900 * 1000,), np.dtype(float)) for j in range(4)]
    del arrays
gc.set_threshold(700)
gc.collect()
print(pool._blocks._bytes <= pool.capacity(), len(pool._blocks._returned))
"""


def test_memory_is_given_back_by_collections_while_the_pool_is_at_work():
    assert in_a_process(COLLECTED, CTXDISPATCH_POOL_BYTES=str(3 << 20)) == "True 0"


FINALISED = """
import numpy as np
from ctxdispatch_contexts.broadcast import pool

def array(m):
    return pool.empty((m << 20,), np.dtype(np.uint8))

def capacity():
    "Asked for under the lock: as a collection may, gives two blocks back, and takes one."
    if held:
        held.clear()
        pool.empty((1 << 20,), np.dtype(np.uint8))
    return 3 << 20

first, held = array(1), []
pool.capacity = capacity
held += [array(2), array(1)]
del first
print(pool._blocks._bytes >> 20, len(pool._blocks._returned))
"""


def test_the_pool_waits_for_no_thread():
    assert in_a_process(FINALISED) == "3 0"


def test_results_may_be_changed_and_are_writeable():
    x = np.ones((600, 600))
    y = broadcast(scaled, x, 1.0)
    y += 1.0
    assert y.flags.writeable and (y == 3.0).all() and (x == 1.0).all()


# Code on disk


def run_in_a_process(folder):
    code = (
        "import numpy as np\n"
        "from ctxdispatch import broadcast\n"
        "from ctxdispatch_contexts.broadcast import llvm_compile\n"
        "calls = []\n"
        "own = llvm_compile.optimise\n"
        "llvm_compile.optimise = lambda *a: (calls.append(1), own(*a))\n"
        "def f(x): return x * x + 1.0\n"
        "print(broadcast(f, np.arange(4.0)).tolist(), len(calls))\n"
    )
    return in_a_process(code, CTXDISPATCH_CACHE_DIR=str(folder))


def test_code_is_kept_on_disk(tmp_path):
    assert run_in_a_process(tmp_path) == "[1.0, 2.0, 5.0, 10.0] 1"
    assert len(list(tmp_path.glob("*.o"))) == 1
    assert run_in_a_process(tmp_path) == "[1.0, 2.0, 5.0, 10.0] 0"


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "damaged", [lambda whole: whole[: len(whole) // 2], lambda whole: b"", lambda whole: b"garbage" * 999]
)
def test_damaged_files_are_made_again(tmp_path, damaged):
    run_in_a_process(tmp_path)
    (file,) = tmp_path.glob("*.o")
    whole = file.read_bytes()
    file.write_bytes(damaged(whole))
    assert run_in_a_process(tmp_path) == "[1.0, 2.0, 5.0, 10.0] 1"
    assert list(tmp_path.iterdir()) == [file] and len(file.read_bytes()) == len(whole)
    assert run_in_a_process(tmp_path) == "[1.0, 2.0, 5.0, 10.0] 0"


@pytest.mark.every(3)
@pytest.mark.parametrize("damaged", [b"", b"x", b"code", sha256(b"code").digest() + b"cod"])
def test_a_damaged_file_is_removed(tmp_path, damaged):
    file = tmp_path / "code.o"
    file.write_bytes(sha256(b"code").digest() + b"code")
    assert llvm_compile._read(file) == b"code"
    file.write_bytes(damaged)
    assert llvm_compile._read(file) is None and not file.exists()


def test_a_disk_that_is_full_is_no_error_and_nothing_is_left(tmp_path, monkeypatch):
    written = []

    def full(source, target):
        written.append(source)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("CTXDISPATCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(llvm_compile.os, "replace", full)
    assert broadcast(lambda x: x * 3.0 + 0.125, np.ones(3)).tolist() == [3.125] * 3
    assert written and not list(tmp_path.iterdir())


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["TARGET", "PASSES", "VERSION"])
def test_code_on_disk_is_of_these_options(tmp_path, monkeypatch, name):
    monkeypatch.setenv("CTXDISPATCH_CACHE_DIR", str(tmp_path))
    paths = []
    for value in (getattr(llvm_compile, name), "another"):
        monkeypatch.setattr(llvm_compile, name, value)
        llvm_compile._made_by.cache_clear()
        paths.append(llvm_compile._Stored("a module", "").path)
    llvm_compile._made_by.cache_clear()
    assert len(set(paths)) == 2


def test_nothing_is_kept_where_no_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CTXDISPATCH_CACHE_DIR", "")
    assert llvm_compile.cache_folder() is None


def test_a_folder_that_cannot_be_written_to_is_no_error(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert run_in_a_process(file) == "[1.0, 2.0, 5.0, 10.0] 1"


def test_kernels_that_are_the_same_share_their_code():
    def made():
        return lambda x: x * 2.0 + 0.25

    x = np.ones(5)
    codes = {id(c) for c in (_code(kernel(made(), x)) for _ in range(3))}
    assert len(codes) == 1


def _code(found):
    return next(v for v in found.compiled.values() if isinstance(v, llvm_compile.Compiled))


# Plans


def test_plans_are_kept_per_layout():
    found = kernel(scaled, np.ones(3), 1.0)
    found.plans.clear()
    for x in (np.ones((4, 6)), np.ones((4, 6)), np.ones((6, 4)).T, np.ones((4, 12))[:, ::2], np.ones((4, 6))):
        np.testing.assert_array_equal(found(x, 2.0), np.full(x.shape, 3.0))
    assert len(found.plans) == 2, "one in C order, one in Fortran's; the other is copied each time"


def test_plans_are_bounded(monkeypatch):
    monkeypatch.setattr(llvm_backend, "MAX_PLANS", 4)
    found = kernel(scaled, np.ones(3), 1.0)
    for n in range(1, 20):
        assert found(np.ones(n), 2.0).shape == (n,)
    assert len(found.plans) <= 4


def test_the_address_of_an_array():
    for array in (np.ones(3), np.ones((4, 5))[1:, 2:], np.float32(2) * np.ones(1, "f4")):
        assert llvm_backend.address(array) == array.ctypes.data


# Threads


@pytest.mark.every(3)
@pytest.mark.parametrize("shape", [(1 << 20,), (3, 400_000), (100_000, 7), (64, 64, 300)])
@pytest.mark.parametrize("f", [scaled, hundredfold])
def test_threads_change_nothing(f, shape):
    x = rng.normal(size=shape)
    n = 2.0 if f is scaled else 5
    one, several = (broadcast(f, x, n, threads=k) for k in (1, 3))
    np.testing.assert_array_equal(one, several)


def test_an_interrupt_waits_for_the_parts_that_run(monkeypatch):
    done = []

    def part(plan, arrays, arguments, first, last):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.2)
        done.append(first)

    x = rng.normal(size=(300_000,))
    broadcast(scaled, x, 2.0, threads=3)
    monkeypatch.setattr(llvm_backend, "_run_part", part)
    with pytest.raises(KeyboardInterrupt):
        broadcast(scaled, x, 2.0, threads=3)
    assert len(done) == 2


FORKED = """
import os, signal, threading
import numpy as np
from ctxdispatch import broadcast
from ctxdispatch_contexts.broadcast import llvm_compile, pool

def f(x):
    return 2.0 * x + 1.0

def g(x):
    return 3.0 * x - 0.1875

x = np.arange(float(1 << 18))
broadcast(f, x, threads=2)
inside, forked = threading.Event(), threading.Event()
{busy}
child = os.fork()
if child == 0:
    signal.alarm(30)
    right = (broadcast(f, x, threads=2) == f(x)).all() and (broadcast(g, x, threads=2) == g(x)).all()
    where = broadcast(f, x, threads=2).ctypes.data
    again = broadcast(f, x, threads=2).ctypes.data == where
    os._exit(0 if right and again else 1)
forked.set()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

COMPILES = """
own = llvm_compile.optimise
def optimise(*args):
    inside.set()
    forked.wait(0.5)
    own(*args)
llvm_compile.optimise = optimise
thread = threading.Thread(target=broadcast, args=(lambda x: x * 0.21875, x))
thread.start()
assert inside.wait(60)
"""

TAKES_MEMORY = """
own = pool.capacity
def capacity():
    if pool._blocks._lock.locked() and threading.current_thread() is thread:
        inside.set()
        forked.wait(60)
    return own()
pool.capacity = capacity
thread = threading.Thread(target=pool.empty, args=((1 << 18,), np.dtype(float)))
thread.start()
assert inside.wait(60)
"""


@pytest.mark.every(3)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("busy", ["", COMPILES, TAKES_MEMORY], ids=["nothing", "compiles", "takes_memory"])
def test_a_child_runs_kernels_whatever_threads_did_at_the_fork(busy):
    code = FORKED.replace("{busy}", busy)
    assert in_a_process(code, CTXDISPATCH_NUM_THREADS="2", CTXDISPATCH_CACHE_DIR="") == "0"


@pytest.mark.every(3)
@pytest.mark.parametrize("columns", [*range(1, 20), 63, 64, 65])
def test_narrow_tables_of_programs_with_loops(columns):
    x = rng.normal(size=(5, columns))
    n = rng.integers(0, 6, size=(5, 1))
    expected = [[hundredfold(v, k[0]) for v in row] for row, k in zip(x, n)]
    np.testing.assert_allclose(broadcast(hundredfold, x, n), expected, rtol=1e-15)
