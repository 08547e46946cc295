"""None of the names that must have a derivative is missing; `report.py` says how each does, and a sample of
it runs here."""

import importlib.util
import json
import pathlib
import re

import names
import numpy as np
import pytest

pytest.importorskip("scipy")

import report
import report_rows
from report_rows import examine
from subjects import Call, Subject, subjects

from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs.activity import has_derivative, has_zero_derivative

SAMPLE = """
    numpy.cumsum numpy.einsum numpy.fft.irfft numpy.linalg.eigh scipy.special.gammainc scipy.stats.norm.pdf
    numpy.c_ numpy.put numpy.floor numpy.full_like numpy.identity numpy.ndarray.sort numpy.ndarray.mT
    numpy.ndarray.__setitem__[mixed] numpy.power.at in_place.pow operator.matmul math.hypot math.comb
    cmath.rect numpy.nanmedian numpy.nancumprod numpy.sign
"""


def test_every_name_has_arguments():
    assert [s.name for s in subjects().values() if not s.absent and not s.cases] == []


def test_every_paragraph_is_there_and_no_name_is_twice():
    listed = list(names.listed())
    assert len({name for _, name in listed}) == len(listed)
    assert {paragraph for paragraph, _ in listed} == {*names.PARAGRAPHS, *names.WHOLE}


def test_every_function_of_a_module_counts():
    """With its derivative, or zero by rule."""
    for module in names.WHOLE:
        for name in names.functions_of(module):
            f = getattr(importlib.import_module(module), name)
            assert has_derivative(f) or has_zero_derivative(f) or table.lowering(f), f"{module}.{name}"


def test_names_that_the_running_version_lacks_are_said_so():
    row = examine(Subject("numpy", "numpy.of_next_year"))
    assert row.absent and not row.missing and not row.without_example
    assert list(report.lines_of(row)) == [f"{row.name:46} not in the running version"]


@pytest.mark.parametrize("name", SAMPLE.split())
def test_the_report_sees_each_mode(name):
    row = examine(subjects()[name.replace("in_place", "in place")], 1)
    assert row.examples and not row.wrong and not row.missing, list(report.lines_of(row))
    assert row.right == dict.fromkeys(("reverse", "forward", "second"), row.examples)
    assert not row.without_complex


def test_keywords_are_given_one_at_a_time():
    row = examine(subjects()["numpy.sum"], 2)
    assert {"axis", "dtype", "out", "keepdims", "initial", "where"} <= {*row.keywords}
    assert "never given" not in {*row.keywords.values()}


class Of:
    """A subject of one call."""

    paragraph, name, absent = "of the tests", "call", False

    def __init__(self, f, *args, documented=None):
        self.made = Call(f, args, {}, documented, frozenset())

    def calls(self, n):
        return [[self.made]]


def test_what_is_wrong_is_seen():
    from ctxdispatch import ADContext, custom_rule

    def cube(x):
        return x**3

    @custom_rule(cube)
    def _(x):
        return x**3, lambda ybar: ybar * 2 * x**2

    row = examine(Of(cube, np.array([1.0, 2.0])))
    ADContext.unrule(cube)
    assert row.wrong and row.right["reverse"] == 0
    assert report.summary([row])["wrong in some example"] == ["call"]


def test_what_is_refused_is_missing_and_says_why():
    def decoded(x):
        return np.frombuffer(x.tobytes())

    row = examine(Of(decoded, np.array([1.0, 2.0])))
    assert row.missing and not row.examples and "tobytes has no derivative rule" in row.refused[0]


def test_what_has_no_numbers_is_without_an_example():
    assert examine(Of(len, "text")).without_example


def test_an_error_is_a_problem():
    def failing(x):
        raise OSError("of the function")

    row = examine(Of(failing, 1.0))
    assert row.wrong and row.problems == ["OSError: of the function"]


def test_the_command(tmp_path, capsys):
    file = tmp_path / "rows.json"
    assert report.main(["--only", "numpy.ndarray.real", "--examples", "1", "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "1 names, 1 of them in the running versions" in printed and "missing: none" in printed
    (row,) = json.loads(file.read_text())["rows"]
    assert row["name"] == "numpy.ndarray.real" and row["complex_examples"] >= 1 and not row["wrong"]


def test_the_exit_status_says_whether_all_is_right(monkeypatch, capsys):
    name = "numpy.ndarray.real"
    for state, printed in (
        ({"examples": 1}, f"wrong in some example: {name}"),
        ({"refused": ["why"]}, f"missing: {name}"),
        ({}, f"without an example: {name}"),
    ):
        found = report_rows.Row("ndarray", name, **state)
        monkeypatch.setattr(report, "examined", lambda *_, found=found: [found])
        assert report.main(["--only", name]) == 1
        assert printed in capsys.readouterr().out


@pytest.mark.parametrize("library", ["special", "linalg", "signal"])
def test_the_page_on_scipy_lists_the_functions_with_rules(library):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "scipy.md").read_text()
    (row,) = re.findall(rf"^\| `{library}` \| (.*) \|$", page, re.MULTILINE)
    module = importlib.import_module(f"scipy.{library}")
    names = {getattr(f, "__name__", "") for _, f in table.names()}
    ruled = {name for name in names if getattr(module, name, None) in _FUNCTIONS}
    assert set(re.findall(r"`(\w+)`", row.partition(";")[0])) == ruled


_FUNCTIONS = {f for _, f in table.names()}
