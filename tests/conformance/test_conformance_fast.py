"""The fast subset of CPython's tests, under every mode. All of them: `python -m tests.conformance`."""

import pytest

from . import catalog, compare, expected, report, runner, store
from .modes import BASELINE, MODES

MODULES = catalog.choose([], fast=True)
pytestmark = pytest.mark.skipif(
    not all(module.installed for module in MODULES), reason="the standard library's tests are not installed"
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with the baseline in it."""
    kept = store.Store(tmp_path_factory.mktemp("conformance"))
    run(kept, BASELINE)
    return kept


def run(kept, mode):
    return list(runner.Runner(kept, timeout=120).run((mode, module.name) for module in MODULES))


def test_plain(results):
    found = [results.load(BASELINE, module.name) for module in MODULES]
    assert {result.module: result.status for result in found if result.status != "ok"} == {}
    assert sum(len(compare.passing(result)) for result in found) > 400


@pytest.mark.night("hooks", "identity")
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != BASELINE])
def test_mode(results, mode):
    run(results, mode)
    found = compare.comparisons(results, MODULES, [mode], expected.load())
    assert len(found) == len(MODULES)
    assert not any(c.unexpected or c.refused for c in found), report.report(results, MODULES, found, [mode])
