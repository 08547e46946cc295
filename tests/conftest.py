"""Hypothesis draws the same examples each time, so that a change is judged by what it changes.

`HYPOTHESIS_PROFILE=explore python -m pytest` looks for new ones.

`TESTS_SAMPLE=5` keeps every fifth test of the layers above the rewriter, another fifth on each CPython
version, as what they test knows no version. Those of the rewriter all run.
"""

import gc
import os
import sys
import zlib

import pytest
from browsing import browser
from hypothesis import settings

from ctxdispatch import custom_rule

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

gc.set_threshold(20_000, 20, 50)
"""Programs are graphs, made of millions of objects: with the interpreter's own thresholds, a sixth of the
time goes to collections. Tests of lifetimes collect themselves."""

SAMPLE = int(os.environ.get("TESTS_SAMPLE", "1"))
OF_VERSIONS = ("tests/bytecode/", "tests/conformance/", "tests/dispatch/", "tests/ir/", "tests/test_docs")


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if not is_sampled(item.nodeid)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_sampled(item.nodeid)]


def is_sampled(nodeid):
    number = zlib.crc32(nodeid.encode()) + sys.version_info.minor
    return number % SAMPLE == 0 or nodeid.startswith(OF_VERSIONS)


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
