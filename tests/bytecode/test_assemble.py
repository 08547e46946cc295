"""The assembler against CPython's compiler: the code objects of a sample of the stdlib, byte by byte."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from types import CodeType

import pytest

from ctxdispatch.bytecode.assemble import Handler, decode, encode, stack_size

MODULES = [
    "argparse", "ast", "asyncio.base_events", "bdb", "collections", "dataclasses", "datetime",
    "decimal", "difflib", "dis", "email.message", "enum", "fractions", "functools", "heapq",
    "inspect", "json.decoder", "json.encoder", "logging", "pathlib", "random", "re._parser",
    "statistics", "subprocess", "tarfile", "textwrap", "typing", "unittest.mock", "zipfile",
]  # fmt: skip


def code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from code_objects(const)


def of_module(name: str) -> list[CodeType]:
    spec = importlib.util.find_spec(name)
    with open(spec.origin, encoding="utf-8") as file:
        return list(code_objects(compile(file.read(), spec.origin, "exec")))


@pytest.mark.parametrize("name", MODULES)
def test_decode_then_encode_is_the_identity(name):
    for code in of_module(name):
        instrs, handlers = decode(code)
        made = encode(instrs, code.co_firstlineno, handlers)
        assert made.code == code.co_code, code
        assert made.exceptiontable == code.co_exceptiontable, code
        again = code.replace(co_linetable=made.linetable)
        assert list(again.co_positions()) == list(code.co_positions()), code
        assert list(again.co_lines()) == list(code.co_lines()) or made.linetable != code.co_linetable


@pytest.mark.parametrize("name", MODULES[::4])
def test_stack_size_is_never_more_than_the_compilers(name):
    for code in of_module(name):
        size = stack_size(*decode(code))
        assert code.co_stacksize - 3 <= size <= max(1, code.co_stacksize), code


def test_far_jumps_grow_extended_arguments():
    body = "\n".join(f"        x = x + {i} * y.a{i}" for i in range(400))
    source = f"def f(x, y):\n    for i in y:\n{body}\n        if x: continue\n    return x\n"
    for code in code_objects(compile(source, "<far>", "exec")):
        instrs, handlers = decode(code)
        assert encode(instrs, code.co_firstlineno, handlers).code == code.co_code


def test_columns_beyond_the_short_forms():
    for pos in [(1, 1, 200, 300), (90000, 90010, 0, 5), (5, 5, 79, 200), (5, 5, None, None), (None,) * 4]:
        code = compile("pass", "<here>", "exec")
        instrs, _ = decode(code)
        table = encode([(op, arg, pos) for op, arg, _ in instrs], 7).linetable
        assert set(code.replace(co_linetable=table, co_firstlineno=7).co_positions()) == {pos}


def test_handlers_have_varints():
    code = compile("pass", "<here>", "exec")
    nops = [decode(code)[0][0]] * 300
    handler = Handler(70, 280, 299, 40, True)
    made = encode(nops, 1, [handler])
    code = code.replace(co_code=made.code, co_linetable=made.linetable, co_exceptiontable=made.exceptiontable)
    assert decode(code)[1] == [handler]
