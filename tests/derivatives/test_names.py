"""None of the names that must have a derivative is missing; `report.py` says how they do."""

import numpy as np
import pytest
import report


def test_no_name_is_missing():
    pytest.importorskip("scipy")
    assert report.missing() == []


@pytest.mark.parametrize("name", ["multiply", "cumsum", "einsum"])
def test_the_report_sees_each_mode(name):
    row = report.examine("numpy", name, getattr(np, name), 3)
    assert row.examples and row.reverse == row.forward == row.second == row.examples, row.problems
    assert row.right and not row.problems, row.problems
