"""`python -m ctxdispatch ir`: the IR, bytecode and derivative of a function, as text."""

import re

import pytest
from command_lines import python

PROGRAM = '''
import math

import numpy as np

SCALE = 2.0


def power(base, n=3):
    """base ** n"""
    result = 1.0
    while n > 0:
        result = result * base
        n = n - 1
    return result


def loss(w, x):
    return np.sum((x @ w) ** 2)


class Model:
    @staticmethod
    def area(r):
        return math.pi * r * r


def entered(x):
    with open(__file__):
        return x * x


def attempt(x):
    try:
        y = float(x)
    except ValueError:
        y = 0.0
    return y


def stub():
    return None


constant = 3
'''


@pytest.fixture
def ir(folder):
    (folder / "maths.py").write_text(PROGRAM)
    return lambda *words: python("-m", "ctxdispatch", "ir", *words, cwd=folder)


def sections(text):
    """The text by heading."""
    parts = re.split(r"^== (.*?) =+$\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def test_without_arguments_source_ir_and_bytecode(ir):
    done = ir("maths:power")
    shown = sections(done.stdout)
    assert done.returncode == 0 and list(shown) == ["source", "ir", "bytecode, plain"]
    assert "   12      while n > 0:" in shown["source"]
    assert "%result2 = mul(%result, %base)" in shown["ir"] and "float" not in shown["ir"]
    assert "BINARY_OP" in shown["bytecode, plain"]


def test_with_arguments_types_and_the_derivative(ir):
    shown = sections(ir("maths:power", "2.0", "n=4").stdout)
    assert "power(%base: float, %n: int)" in shown["typed"]
    assert "def power(base, n):" in shown["adjoint"] and "return dbase" in shown["adjoint"]
    assert "bytecode, adjoint" in shown


def test_arguments_are_expressions_that_see_the_module(ir):
    done = ir("maths:loss", "np.ones(3)", "x=SCALE * np.ones((2, 3))", "--show", "typed,adjoint")
    assert "%w: float64[n], %x: float64[n,n]" in sections(done.stdout)["typed"]
    assert ir("maths:power", "--show", "typed", "*[1.5, 2]").stdout.startswith("power(%base: float, %n: int)")
    assert ir("maths:power", "--show", "typed", "-2.5").stdout.startswith("power(%base: float")


def test_argnums(ir):
    words = "maths:power", "2.0", "3.0", "--show", "adjoint", "--argnums"
    assert "return dbase" in ir(*words, "0").stdout
    assert "return 0.0" in ir(*words, "1").stdout
    assert "return dbase, 0.0" in ir(*words, "0,1").stdout


def test_refusals_have_no_place_in_the_command_itself(ir):
    shown = ir("maths:power", "2", "3", "--show", "adjoint").stdout
    assert shown.startswith("not available: DerivativeError: argument 'base' (argnums 0) is of type int")
    shown = ir("maths:power", "2.0", "3", "--show", "adjoint", "--argnums", "2").stdout
    assert "argnums 2 is out of range: maths.power has 2 positional arguments" in shown


def test_rewritten_bytecode_and_the_transformed_ir(ir):
    shown = sections(ir("maths:power", "--context", "mine:Count", "--context", "mine:Everything").stdout)
    assert {"transformed", "bytecode, plain", "bytecode, Count", "bytecode, Everything"} <= set(shown)
    listings = [shown[f"bytecode, {name}"] for name in ("plain", "Count", "Everything")]
    sizes = [int(re.search(r"(\d+) bytes", listing)[1]) for listing in listings]
    assert sizes == sorted(set(sizes))
    assert "%ctx" in shown["transformed"]


def test_a_context_that_does_nothing_in_a_function_says_so(ir):
    done = ir("maths:stub", "--context", "mine:Count", "--show", "transformed")
    assert done.stdout == "nothing to do in this function\n"


def test_side_by_side(ir):
    lines = ir("maths:power", "-y", "--show", "ir,bytecode").stdout.splitlines()
    assert re.match(r"== ir ==\s+\| == bytecode, plain ==$", lines[0])
    assert any("mul(%result, %base)" in line and "|" in line for line in lines)


def test_methods_and_files(ir):
    assert "area(%r: float)" in ir("maths.py:Model.area", "2.0", "--show", "typed").stdout


def test_what_has_no_ssa_form_is_shown_in_the_form_that_contexts_rewrite(ir):
    text = ir("maths:attempt", "--show", "ir").stdout
    assert text.startswith("# with variables, not in SSA form: try/except")
    assert "attempt(%x)" in text and "store_local" in text and "on error" in text


def test_output_is_the_same_each_time_and_has_no_addresses(ir):
    words = "maths:loss", "np.ones(3)", "np.ones((2, 3))", "--context", "mine:Everything"
    first = ir(*words).stdout
    assert first == ir(*words).stdout and not re.search(r"0x[0-9a-f]{6}", first)


def test_what_has_no_derivative_says_why_and_only_those_who_asked_fail(ir):
    quiet = ir("maths:entered", "4.5")
    assert quiet.returncode == 0
    why = sections(quiet.stdout)["adjoint"]
    assert why.startswith("not available: DerivativeError: ")
    assert "in entered: what can be seen from outside" in why
    assert ir("maths:entered", "4.5", "--show", "adjoint").returncode == 1


ERRORS = {
    "maths": "is not MODULE:FUNCTION",
    "math:": "is not MODULE:FUNCTION",
    "no.such:f": "no module named 'no'",
    "maths:powr": "has no function 'powr'; did you mean 'power'?",
    "maths:Model.aera": "did you mean 'area'?",
    "maths:constant": "is no function, it is int",
    "math:sin": "has no Python code",
    "nope.py:f": "can't open file 'nope.py'",
}


@pytest.mark.every(3)
@pytest.mark.parametrize("target", ERRORS)
def test_what_is_not_there_is_named(ir, target):
    done = ir(target)
    assert done.returncode == 2 and ERRORS[target] in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "words, message",
    [
        (["1 +"], "argument '1 +': SyntaxError"),
        (["unknown"], "NameError: name 'unknown' is not defined"),
        (["--show", "adjont"], "no such section: adjont; did you mean 'adjoint'?"),
        (["--argnums", "x"], "argument --argnums"),
        (["--context", "mine:Cuont"], "did you mean 'Count'?"),
        (["--html", "no/such/folder.html"], "can't write 'no/such/folder.html'"),
    ],
)
def test_wrong_words_are_one_line_and_status_2(ir, words, message):
    done = ir("maths:power", *words)
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_module_that_fails_is_named(ir, folder):
    (folder / "failing.py").write_text("raise RuntimeError('at import')")
    assert "importing 'failing' failed: RuntimeError: at import" in ir("failing:f").stderr
