"""Each refusal says where, what and what to write instead: its whole text, at the user's line, in every mode.

And no refusal is without a row that provokes it: texts are read from the package's sources.
"""

import pickle
import re

import numpy as np
import pytest

from ctxdispatch import check_grads, checkpoint, code_adjoint, grad
from ctxdispatch_contexts.programs.errors import Refused
from tests.refusals import (
    refused_by_scipy,
    refused_by_sparsity,
    refused_calls,
    refused_further,
    refused_in_checkpoints,
    refused_inside,
    refused_kernels,
    refused_kinds,
    refused_machines,
    refused_objects,
    refused_operands,
    refused_out_of_sight,
    refused_patterns,
    refused_programs,
    refused_rules,
    refused_sparsity,
)
from tests.refusals.refusal_table import MODES, ROWS
from tests.refusals.refusal_texts import DERIVATIVES, OTHERS, texts

assert refused_by_scipy and refused_calls and refused_further and refused_kinds
assert refused_in_checkpoints and refused_programs and refused_rules
assert refused_kernels and refused_operands and refused_by_sparsity and refused_patterns and refused_sparsity
assert refused_objects and refused_inside and refused_machines and refused_out_of_sight

CALLED_IN = re.compile(r" \(called in [^)]*\)")
"""A line of a library that the marked line runs."""

CASES = [(row, mode) for row in ROWS for mode in row.modes]


@pytest.mark.every(1)  # each text is provoked
@pytest.mark.night("a_linear_program-grad")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row, mode", CASES, ids=[f"{row.name}-{mode}" for row, mode in CASES])
def test_what_is_said_and_where(row, mode):
    with pytest.raises(Refused) as caught:
        MODES[mode](row.program, row.x)
    error = caught.value
    assert CALLED_IN.sub("", error.message) == row.text
    assert error.position.startswith(row.position), (error.position, row.position)
    assert error.position.removeprefix(row.position) in _names(row)
    assert str(error) == f"{error.position}: {error.message}"


def _names(row):
    """Of the function that the line is of: parts of it have names of their own."""
    name = row.program.__name__ if isinstance(row.where, str) else row.where.__code__.co_qualname
    parts = ("", ".pullback", ".<locals>.<listcomp>", ".<locals>.<genexpr>", ".<locals>.<lambda>")
    return [name + part for part in parts]


@pytest.mark.parametrize("text", texts(DERIVATIVES + OTHERS), ids=str)
def test_every_text_has_a_remedy(text):
    """What is wrong; what to write. (One that passes on another's text says so after a colon.)"""
    what, _, remedy = text.pattern.partition(";\\ ")
    assert remedy.strip() or what.endswith(":\\ .*?"), f"{text} says nothing of what to write instead"


@pytest.mark.parametrize("text", texts(DERIVATIVES + OTHERS), ids=str)
def test_every_text_is_provoked(text):
    assert any(text.fits(row.text) for row in ROWS), f"no row of the table provokes {text}"


REMEDIES = [*refused_further.REMEDIES, *refused_kinds.REMEDIES]


@pytest.mark.parametrize("program", REMEDIES, ids=lambda f: f.__name__)
def test_a_remedy_gives_the_derivative(program):
    check_grads(program, (np.array([0.7, -1.3]),))


def test_a_remedy_has_a_program():
    assert str(code_adjoint(refused_further.takes_items_by_index)(np.array([0.7, -1.3])))


@pytest.mark.parametrize("program", refused_further.REMEDIES[:2], ids=lambda f: f.__name__)
def test_a_remedy_has_a_derivative(program):
    check_grads(program, (np.array([0.7, -1.3]),))


@pytest.mark.parametrize("program", refused_in_checkpoints.REMEDIES, ids=lambda f: f.__name__)
def test_a_remedy_gives_the_derivative_under_a_checkpoint(program):
    x = np.array([0.7, 1.3])
    check_grads(program, (x,))
    np.testing.assert_allclose(grad(checkpoint(program))(x), grad(program)(x))


def exec_without_source(statements):
    namespace = {"np": __import__("numpy")}
    exec(statements, namespace)
    return namespace["f"]


@pytest.mark.parametrize("mode", ["grad", "jvp", "checkpoint"])
@pytest.mark.parametrize("before", ["", "  try:\n", "  for _ in range(1):\n"], ids=["plain", "try", "loop"])
def test_without_source_variables_name_the_operands(before, mode):
    body = "  y = np.sin(x)\n  return np.frombuffer(y).sum()\n"
    if before:
        body = before + "".join(f"  {line}\n" for line in body.splitlines())
    if "try" in before:
        body += "  finally:\n    pass\n"
    f = exec_without_source(f"def f(x):\n{body}")
    if "try" in before and mode == "checkpoint":
        pytest.skip("the second run of a checkpoint is a program of its own, and has no `try`")
    with pytest.raises(Refused) as caught:
        MODES[mode](f, ROWS[0].x)
    line = 3 if not before else 4
    assert str(caught.value).startswith(
        f"<string>:{line} in f: numpy.frombuffer has no derivative rule for (y: "
    )


def test_refusals_go_to_other_processes():
    with pytest.raises(Refused) as caught:
        MODES["grad"](ROWS[0].program, ROWS[0].x)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.position) == (
        type(caught.value), str(caught.value), caught.value.position,
    )  # fmt: skip
