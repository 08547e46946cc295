"""Every construct of the language under each bundled context that returns what the program returns: results,
exceptions, what is logged, printed and warned of are the plain run's.

What looks at frames sees ours: it is left out, with the reason.
"""

import functools
import zlib
from types import FunctionType

import pytest
from constructs import PROGRAMS, Program
from observe import difference, observe, without_frames
from test_stacks import NAMES, made

from ctxdispatch import overdub

OF_FRAMES = "`f_locals` of a frame has what rewritten code keeps there"
LATER = "what a call took is let go after what is told of it"
SEEN = {
    **dict.fromkeys(
        ["generators-running_and_attributes-0", "scopes-frames-0", "scopes-a_debugger-0",
         "scopes-the_frame_of_a_function_that_returned-0", "comprehensions-frames-0", "many_locals"],
        OF_FRAMES,
    ),
    "scopes-a_profiler-0": "a profiler sees the functions by which the code looks up what to call",
    "scopes-depth_of_recursion-0": "there are frames of contexts between those of the program",
    "scopes-jumps_of_a_debugger-0": "what stands beside an operation is run by a jump to its line",
    "scopes-lifetimes_of_arguments-0": LATER,
    "calls-iterators_of_unpacking-0": LATER,
    "lines_and_columns": "the line of an object that lasts until the frame ends",
}  # fmt: skip
OF_ONE = {
    ("DebugContext", "scopes-locals_and_friends-0"): OF_FRAMES,
    ("DebugContext", "generators-closes-0"): "a stop has the frame, and it what the frame has",
    ("DebugContext", "generators-closes_through_delegation-0"): "the same",
    ("DebugContext", "generators-dropped_early-0"): "the same",
    ("TaintContext", "expressions-arithmetic-6"): "3.12 warns of ~True, where the context computes it",
    ("CountContext", "comprehensions_at_the_top"): "variables of a module are its globals, ours too",
}


@functools.cache
def plain(program: Program) -> dict:
    return without_frames(observe(lambda: called(program, None), program.filename))


def called(program: Program, name: str | None) -> object:
    """What it returns; of a module, what it leaves."""
    space = program.space()
    if program.function:
        exec(program.module, space)
        f = space[program.function]
        return run(f, f.cases[program.case], name)
    run(FunctionType(program.code, space), (), name)
    return [(k, v) for k, v in space.items() if not k.startswith("__")]


def run(f, args, name):
    return overdub(made(name), f, *args) if name else f(*args)


def shown(name: str, observed: dict) -> dict:
    """The debugger keeps the frames of its last stop, and all that lives there."""
    if name != "DebugContext":
        return observed
    log = [line for line in observed["log"] if not (isinstance(line, str) and line.startswith("end of"))]
    return observed | {"log": log}


SLOW = ("DebugContext", "NaNContext")
"""They have every other program."""

CASES = [
    pytest.param(program, name, id=f"{program.name}-{name}")
    for program in PROGRAMS for name in NAMES if name not in SLOW or zlib.crc32(program.name.encode()) % 2
]  # fmt: skip


@pytest.mark.parametrize("program, name", CASES)
def test_programs_show_the_same(program, name):
    reason = SEEN.get(program.name) or OF_ONE.get((name, program.name))
    if reason:
        pytest.skip(reason)
    observed = without_frames(observe(lambda: called(program, name), program.filename))
    assert not difference(shown(name, plain(program)), shown(name, observed))
