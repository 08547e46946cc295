"""Hypothesis draws the same examples each time, so that a change is judged by what it changes.

`HYPOTHESIS_PROFILE=explore python -m pytest` looks for new ones.

`TESTS_SAMPLE=5` keeps every fifth test of the layers above the rewriter, another fifth on each CPython
version, as what they test knows no version; of those of the rewriter every second.

Of a test that has more than a dozen cases every thirtieth runs, of one that has more than three every third,
of the rewriter every second, chosen by a hash of its name; where cases take seconds each, fewer:
`pytest.mark.every(n)`. What takes a minute by itself is marked `night`, or `night(id, ..)` where these do.
`TESTS_SHIFT=1` keeps others instead, so that thirty runs see nearly all. `TESTS_SAMPLE=all` runs all of them,
and so does naming a test on the command line.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of several workers' BLAS spin, each in the way

import gc
import inspect
import sys
import zlib
from collections import Counter

import pytest
from browsing import browser
from hypothesis import settings

from ctxdispatch import Context, custom_rule
from ctxdispatch.dispatch import rules
from ctxdispatch_contexts.programs import budget

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

gc.set_threshold(20_000, 20, 50)
"""Programs are graphs, made of millions of objects: with the interpreter's own thresholds, a sixth of the
time goes to collections. Tests of lifetimes collect themselves."""

budget.SHORTLY = budget.SECONDS
"""What has a program here has one on a slow machine, too, and where a collection comes in between."""

WHOLE = os.environ.get("TESTS_SAMPLE") == "all"
SAMPLE = 1 if WHOLE else int(os.environ.get("TESTS_SAMPLE", "1"))
SHIFT = int(os.environ.get("TESTS_SHIFT", "0"))
OF_VERSIONS = tuple(f"tests/{n}" for n in "bytecode/ conformance/ dispatch/ facts/ ir/ test_docs".split())


def pytest_collection_modifyitems(config, items):
    if WHOLE or any("::" in argument for argument in config.args):
        return
    cases = Counter(item.nodeid.partition("[")[0] for item in items)
    left_out = {item for item in items if not is_sampled(item, cases)}
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


def is_sampled(item, cases):
    mark, of_versions = item.get_closest_marker("every"), item.nodeid.startswith(OF_VERSIONS)
    above = item.nodeid.count("/") > 1 and not of_versions
    of_test = cases[item.nodeid.partition("[")[0]]
    usual = 2 if of_versions else 1 if not above else 30 if of_test > 12 else 3
    every = mark.args[0] if mark else usual if of_test > 3 else 1
    number = zlib.crc32(item.nodeid.encode()) + sys.version_info.minor + SHIFT
    sample = min(SAMPLE, 2) if of_versions else SAMPLE
    return not is_for_the_night(item) and number % (every * sample) == 0


def is_for_the_night(item):
    mark = item.get_closest_marker("night")
    return mark is not None and (not mark.args or item.callspec.id in mark.args)


@pytest.fixture(scope="module", autouse=True)
def small_heap(request):
    """Where tests collect garbage, a collection looks at what the module made, not at what all the modules
    before it left: hundreds of megabytes, some hundred times."""
    if getattr(request.module, "gc", None) is not gc:
        yield
        return
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module", autouse=True)
def no_rules_left():
    """What a test says of others' functions holds for the whole process: it takes it back."""
    yield
    left = [
        f"{cls.__name__}: {own.callee!r}"
        for cls in rules._family(Context) if cls.__module__.startswith("ctxdispatch")
        for own in cls._rules.values() if not own.empty and is_of_others(own.callee)
        if is_of_tests(own.default or next(iter(own._typed.funcs.values())))
    ]  # fmt: skip
    assert not left


@pytest.fixture(autouse=True)
def nothing_left():
    """What runs of a test leave in objects of its module is a constant for the next test."""
    yield
    if "ctxdispatch_contexts.recording.left" in sys.modules:
        sys.modules["ctxdispatch_contexts.recording.left"].forget()


def is_of_tests(rule):
    code = getattr(inspect.unwrap(rule), "__code__", None)
    return code is not None and code.co_filename.startswith(os.path.dirname(__file__))


def is_of_others(callee):
    if not hasattr(callee, "__name__"):  # `functools.partial(f, 1.0)` is the test's own
        return False
    module = getattr(getattr(callee, "__objclass__", callee), "__module__", None) or "builtins"
    return module.partition(".")[0] in (*sys.stdlib_module_names, "numpy", "scipy")


@pytest.fixture(scope="session")
def with_a_rule():
    """Where a user has registered a rule, what is called at run time may have no symmetric Hessian: gradients
    of gradients sweep the sweep."""

    def ruled(x):
        return x

    @custom_rule(ruled)
    def _(x):
        return x, lambda ybar: ybar


@pytest.fixture(scope="module")
def chromium():
    """A headless browser (`browsing.opened` opens a page in it). Not for longer than a module: as long as it
    runs, an event loop does, and `asyncio.run` refuses."""
    with browser() as running:
        yield running


@pytest.fixture
def recorded(monkeypatch):
    """An entry for each run that is recorded."""
    from ctxdispatch_contexts.recording import api

    runs = []
    for name in ("joint", "split", "pushed"):
        plain = getattr(api, name)
        monkeypatch.setattr(api, name, lambda *args, plain=plain: runs.append(1) or plain(*args))
    return runs
