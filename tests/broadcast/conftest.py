"""What is known not to hold yet is listed, with its reason, in expected_failures.txt: a test that passes in
the end fails until its line is gone."""

from pathlib import Path

import pytest
from broadcast_checks import BACKENDS

LIST = Path(__file__).with_name("expected_failures.txt")


def expected():
    lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return dict(line.rsplit(" | ", 1) for line in lines)


def pytest_collection_modifyitems(items):
    known = expected()
    for item in items:
        reason = known.get(item.nodeid.partition("tests/broadcast/")[2])
        if reason is not None:
            everywhere = not reason.endswith("(on some versions of Python)")
            item.add_marker(pytest.mark.xfail(strict=everywhere, reason=reason))


@pytest.fixture(params=BACKENDS)
def backend(request):
    """The back ends that need no device."""
    if request.param == "compiled":
        pytest.importorskip("llvmlite")
    return request.param
