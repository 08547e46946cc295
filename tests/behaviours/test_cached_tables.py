"""Functions of `functools.cache` and `lru_cache` with nothing that is differentiated in their arguments run
once for each of them, however the program is run, and again with other types."""

import functools

import numpy as np
import pytest

from ctxdispatch import grad, jvp

X = np.array([1.0, 2.0, 3.0])


def cached(wrap, log):
    @wrap
    def table(n):
        log.append(n)
        return np.arange(n) * 1.0 + 1.0

    return table


WRAPS = {
    "cache": functools.cache,
    "lru_cache": functools.lru_cache,
    "lru_cache(None)": functools.lru_cache(maxsize=None),
    "typed": functools.lru_cache(maxsize=None, typed=True),
    "small": functools.lru_cache(maxsize=4),
}
PROGRAMS = {
    "plain": lambda table, p, x: np.sum(table(3) * x * x) * p["b"],
    "before what is of another type": lambda table, p, x: np.sum(table(len(x)) * x) + p["b"] * x[0] * p["b"],
    "in a loop": lambda table, p, x: sum(np.sum(table(i + 3)[:3] * x * x) for i in range(3)) * p["b"],
    "by keyword": lambda table, p, x: np.sum(table(n=3) * x) * p["b"] + x[1] * p["b"],
}


@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("wrap", WRAPS)
def test_run_once(wrap, program, mode):
    log, again = [], []
    table, plain = cached(WRAPS[wrap], log), cached(WRAPS[wrap], again)

    def f(p, x):
        try:
            return PROGRAMS[program](table, p, x)
        except ZeroDivisionError:
            return 0.0

    for b in (2.0, np.float64(3.0), 2, np.float32(0.5), 4.0):
        p = {"b": b}
        steps = [(X + e, X - e) for e in 1e-6 * np.eye(3)]
        wanted = [(PROGRAMS[program](plain, p, a) - PROGRAMS[program](plain, p, b)) / 2e-6 for a, b in steps]
        for _ in range(2):
            if mode == "grad":
                found = grad(f, 1)(p, X)
            else:
                found = [jvp(lambda x: f(p, x), (X,), (e,))[1] for e in np.eye(3)]
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert log == again
