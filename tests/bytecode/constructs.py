"""Every construct of the supported Pythons, as programs to observe.

A program is a function of a file in `corpus/` with arguments, of which only the function's own code object is
rewritten (failures show what they are of), or the text of a module, rewritten as a whole.
"""

import builtins
import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import constructs_312
import constructs_314
from corpus import generated, modules

CORPUS = Path(__file__).parent / "corpus"
TEXTS = {"modules", "generated", "__init__"}
SINCE = {(3, 12): constructs_312.SOURCES, (3, 13): constructs_312.NEWER, (3, 14): constructs_314.SOURCES}


@dataclass(frozen=True)
class Program:
    name: str
    filename: str
    text: str
    function: str = ""
    case: int = 0

    @property
    def code(self) -> CodeType:
        """What is rewritten."""
        return named(self.module, self.function) if self.function else self.module

    @property
    def module(self) -> CodeType:
        return compiled(self.text, self.filename)

    def call(self, code: CodeType, module: CodeType | None = None) -> Any:
        """Runs with `code` for its own, in a namespace of its own."""
        space = self.space()
        if not self.function:
            return lambda: exec_module(code, space)
        exec(module or self.module, space)
        function = space[self.function]
        function.__code__ = code
        arguments = function.cases[self.case]
        return lambda: function(*arguments)

    def space(self) -> dict[str, Any]:
        return {"__name__": "corpus", "__file__": self.filename, "__builtins__": builtins}


def exec_module(code, space):
    exec(code, space)
    return [(k, v) for k, v in space.items() if not k.startswith("__")]


@functools.cache
def compiled(text, filename):
    return compile(text, filename, "exec", dont_inherit=True)


def named(module, name):
    (code,) = (c for c in module.co_consts if isinstance(c, CodeType) and c.co_name == name)
    return code


def functions_of(path):
    """A program for each function with cases, and each case."""
    text, filename = path.read_text(), str(path)
    space = {"__name__": "corpus", "__file__": filename}
    exec(compiled(text, filename), space)
    for name, function in space.items():
        for case in range(len(getattr(function, "cases", ()))):
            yield Program(f"{path.stem}-{name}-{case}", filename, text, name, case)


def texts():
    tables = [modules.SOURCES, generated.SOURCES]
    tables += [table for since, table in SINCE.items() if sys.version_info >= since]
    for name, text in (row for table in tables for row in table.items()):
        yield Program(name, f"<{name}>", text)


FILES = sorted(path for path in CORPUS.glob("*.py") if path.stem not in TEXTS)
PROGRAMS = [program for path in FILES for program in functions_of(path)] + list(texts())
