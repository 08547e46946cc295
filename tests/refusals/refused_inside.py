"""Refusals that guard one part of the package against another. No programs are known that the parts before
let through, so the rows give such a part what it must not get."""

import numpy as np

from ctxdispatch import DualContext, broadcast, custom_rule
from ctxdispatch.ir.graph import Block, Graph, Return, Signature
from ctxdispatch.ir.values import UNDEF, Position
from ctxdispatch_contexts.broadcast.scalars import check_terminators
from ctxdispatch_contexts.forward.again import again
from ctxdispatch_contexts.forward.calling import RunTimeCall
from ctxdispatch_contexts.reverse.linearity import finish_block
from tests.refusals.refusal_table import BOTH, refused


@refused("a block of cotangents of a sequence came as numbers, which is not followed; use jacfwd")
def a_number_for_each_row_of_a_list():
    return finish_block(np.ones(3), [1.0, 2.0])  # here


UNBOUND = "a variable of the kernel may be unbound; give it a value on every path"


@refused(UNBOUND, where="kernel.py:3 in ")
def a_result_without_a_value():
    block = Block()
    block.terminator = Return(UNDEF, Position("kernel.py", "a_result_without_a_value", 3))
    graph = Graph("kernel", Signature((), 0))
    graph.blocks = [block]
    check_terminators(graph)


class Metres(float):
    pass


LENGTH = Metres(2.0)


@refused("a kernel is given a Metres, and takes arrays and numbers; pass np.asarray(x)", *BOTH)
def a_number_of_another_class(v):
    return np.sum(broadcast(lambda x, y: x * y, v, LENGTH))  # here


@refused("ldexp of (float64, int32) is not there in compiled kernels; use backend='reference'", "broadcast")
def an_instruction_without_machine_code(x):
    return np.ldexp(x, 2)  # here


# -- derivatives of derivatives, taken at run time -------------------------------------------------------


def squared(x):
    return x * x


custom_rule(squared)(lambda x: (x * x, lambda ybar: 2.0 * x * ybar))

CALL = RunTimeCall(DualContext, None, (), (), (1,), False)
X = np.array([1.0, 2.0])


@refused(
    "the derivative of tests.refusals.refused_inside.squared was taken at run time by a rule, or by no "
    "function of Python's, and cannot be differentiated again there; pass what varies as arguments of a "
    "function",
)
def a_rule_found_at_run_time():
    return again(DualContext, CALL, (squared, X, X), (None, X, X), (), None)  # here
