"""The code cache: once per key and stamp, weak in its owners, safe in threads."""

import gc
import threading
import time
import types

import pytest

from ctxdispatch.dispatch.cache import CodeCache


def code_of(n):
    return compile(f"lambda: {n}", "<cache test>", "eval").co_consts[0]


def in_threads(n, work):
    start = threading.Barrier(n)
    results = [None] * n

    def run(i):
        start.wait()
        results[i] = work(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(20)
        assert not t.is_alive()
    return results


def test_eight_threads_compile_each_of_fifty_once():
    cache, compiled = CodeCache(), []
    owners = [code_of(i) for i in range(50)]

    def compile_(i):
        time.sleep(0.0005)
        compiled.append(i)
        return object()

    def work(_):
        return [cache.get_or_compile("k", (o,), lambda i=i: compile_(i)) for i, o in enumerate(owners)]

    results = in_threads(8, work)
    assert sorted(compiled) == list(range(50)) and cache.stats() == (50, 50)
    assert all(r == results[0] for r in results)


def test_programs_that_compile_each_other_do_not_deadlock():
    cache = CodeCache()
    a, b = code_of(1), code_of(2)

    def compile_(one, other, depth):
        time.sleep(0.01)
        return depth and cache.get_or_compile("k", (other,), lambda: compile_(other, one, depth - 1))

    pairs = ((a, b), (b, a))
    in_threads(2, lambda i: cache.get_or_compile("k", (pairs[i][0],), lambda: compile_(*pairs[i], 1)))


def test_another_stamp_replaces_the_entry():
    cache, owner = CodeCache(), code_of(1)
    assert cache.get_or_compile("k", (owner,), lambda: 1, stamp=1) == 1
    assert cache.get_or_compile("k", (owner,), lambda: 2, stamp=1) == 1
    assert cache.get_or_compile("k", (owner,), lambda: 2, stamp=2) == 2
    assert cache.stats().entries == 1
    assert cache.get("k", (owner,), 1) is None and cache.get("k", (owner,), 2) == 2


def test_entries_die_with_any_of_their_owners():
    cache = CodeCache()
    first, second = code_of(1), types.FunctionType(code_of(2), {})
    cache.get_or_compile("k", (first, second), object)
    cache.get_or_compile("k", (first,), object)
    del second
    gc.collect()
    assert cache.stats().entries == 1
    del first
    gc.collect()
    assert cache.stats().entries == 0 and not cache._owned


def test_a_failure_is_not_kept():
    cache, owner = CodeCache(), code_of(1)
    with pytest.raises(ZeroDivisionError):
        cache.get_or_compile("k", (owner,), lambda: 1 // 0)
    assert cache.get_or_compile("k", (owner,), lambda: 3) == 3 and cache.stats() == (1, 1)
