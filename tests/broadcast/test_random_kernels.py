"""Random scalar programs on the reference back end: what plain Python computes, element by element."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from kernels import elementwise, kernel_and_places
from random_scalar_programs import programs, seeded_program

from ctxdispatch_contexts.broadcast.interpreter import interpret
from ctxdispatch_contexts.broadcast.lowering import lower


def check(program, seed):
    operands = program.operands(25, seed)
    wanted = elementwise(program.function, operands)
    kernel, places = kernel_and_places(program.function, *program.kinds)
    taken = [operands[i] for i in places]  # there may be none
    found = interpret(lower(kernel.graph, [x.dtype for x in taken]), taken, 25)
    for want, got in zip(wanted, found, strict=True):
        np.testing.assert_allclose(got, np.array(want, float), rtol=1e-9, atol=1e-12, err_msg=program.source)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(programs())
def test_a_kernel_is_its_program_on_every_element(program):
    check(program, 0)


@pytest.mark.parametrize("seed", range(60))
def test_seeded_programs(seed):
    check(seeded_program(seed), seed)


def test_a_seed_is_a_program():
    one, other = seeded_program(3), seeded_program(3)
    assert one.source == other.source and one.kinds == other.kinds
    assert one.function.__code__.co_filename == other.function.__code__.co_filename
