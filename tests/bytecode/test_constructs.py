"""A rewritten program shows what the plain one shows: results, exceptions and their places, side effects,
ends of objects, events and locals under `sys.settrace`, and what can be read of its code objects."""

import functools
from types import CodeType

import pytest
from constructs import FILES, PROGRAMS, Program, compiled
from observe import difference, observe
from rewriters import REWRITERS
from structure import complaints

BY_NAME = {program.name: program for program in PROGRAMS}
each_program = pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS])
each_rewriter = pytest.mark.parametrize("rewriter", REWRITERS)


SEEN = {
    "scopes-a_profiler-0": "a profiler sees the C function by which the code looks up what to call",
}
"""What is not the same where every operation is dispatched, by program."""
SEEN_BY_TRACERS = SEEN | {
    "expressions-iterables_that_fail-0": "`iter` is loaded on the line of its operand, which is a constant",
    **dict.fromkeys(
        ["comprehensions-all_kinds-0", "comprehensions-walrus-0", "small_and_common_constants"],
        "3.14 has a loop where `all(..)` is written; dispatched, it is a call",
    ),
}


def skip_what_is_seen(rewriter, program, seen):
    if rewriter == "dispatch_code" and program.name in seen:
        pytest.skip(seen[program.name])


@functools.cache
def plain(name: str, traced: bool) -> dict:
    program = BY_NAME[name]
    return observed(program, program.code, traced)


def observed(program: Program, code: CodeType, traced: bool, module: CodeType | None = None) -> dict:
    """Both runs are made right here: the depth of the stack is the same."""
    return observe(program.call(code, module), program.filename, traced)


@functools.cache
def rewritten(rewriter: str, name: str) -> CodeType:
    """Cases of one function share it."""
    program = BY_NAME[name]
    first = program.name.rpartition("-")[0] + "-0"
    if program.case:
        return rewritten(rewriter, first)
    return REWRITERS[rewriter](program.code)


@each_rewriter
@each_program
def test_it_shows_the_same(program, rewriter):
    skip_what_is_seen(rewriter, program, SEEN)
    code = rewritten(rewriter, program.name)
    assert not difference(plain(program.name, False), observed(program, code, False))


@each_rewriter
@each_program
def test_it_shows_the_same_to_a_tracer(program, rewriter):
    skip_what_is_seen(rewriter, program, SEEN_BY_TRACERS)
    code = rewritten(rewriter, program.name)
    assert not difference(plain(program.name, True), observed(program, code, True))


@each_rewriter
@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS if not p.case])
def test_its_code_objects_read_the_same(program, rewriter):
    assert not complaints(program.code, rewritten(rewriter, program.name))


@each_rewriter
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_whole_file(path, rewriter):
    """The functions that use each other are rewritten too."""
    module = REWRITERS[rewriter](compiled(path.read_text(), str(path)))
    seen = SEEN if rewriter == "dispatch_code" else {}
    for program in [p for p in PROGRAMS if p.filename == str(path) and p.name not in seen]:
        codes = [c for c in module.co_consts if isinstance(c, CodeType) and c.co_name == program.function]
        assert codes
        wrong = difference(plain(program.name, False), observed(program, codes[0], False, module))
        assert not wrong, program.name


@pytest.mark.parametrize("name", ["scopes-frames-0", "exceptions-places-9", "comprehensions_at_the_top"])
def test_an_observation_is_repeatable(name):
    for traced in (False, True):
        program = BY_NAME[name]
        assert not difference(plain(name, traced), observed(program, program.code, traced))
