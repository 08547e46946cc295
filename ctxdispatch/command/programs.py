"""What a command line asks to run: a script, a module, a string, stdin; as the interpreter would run it.

    python SCRIPT|DIRECTORY|ZIP args     python -m MODULE args     python -c CODE args     python - args

Invariant: the names in `__main__`, `sys.argv` and `sys.path[0]` are those of the plain run.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import linecache
import os
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import (
    BuiltinImporter,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from ctxdispatch.command.parsing import UsageError

MAIN = "__main__"


class Program(NamedTuple):
    """`load` gives the code (SyntaxErrors are the user's); `names`: what `__main__` has before it runs;
    `path`: the new `sys.path[0]`, or None."""

    load: Any
    names: dict[str, Any]
    argv: list[str]
    path: str | None

    def _set_path(self) -> None:
        if self.path is not None and not sys.flags.safe_path:
            sys.path[0] = self.path

    @contextmanager
    def importing(self) -> Iterator[None]:
        """Modules can be imported as by the program, and, after those, from the current directory. Not the
        program itself: that would run it, and make functions that are not those it calls."""
        self._set_path()
        finder: Any = NotTheProgram(self.names.get("__file__") or "")
        here = os.getcwd()
        sys.path.append(here)
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            sys.path.reverse()
            sys.path.remove(here)
            sys.path.reverse()

    def install(self) -> FunctionType:
        """Make this process one that runs the program; the function that is its top-level code."""
        sys.argv[:] = self.argv
        self._set_path()
        code: CodeType = self.load()
        module = ModuleType(MAIN)
        space = vars(module)
        if "__annotations__" in vars(sys.modules[MAIN]):  # up to 3.13
            space["__annotations__"] = {}
        space |= {"__builtins__": builtins, **self.names}
        sys.modules[MAIN] = module
        return FunctionType(code, space)


class NotTheProgram:
    """Refuses to import the script `file`."""

    def __init__(self, file: str) -> None:
        self.file = file

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        alike = self.file.endswith(f"{name.rpartition('.')[2]}.py")
        found = PathFinder.find_spec(name, path) if alike else None
        if found is not None and found.origin == self.file:
            why = "its functions are made when it runs; move what is to be named to a module of its own"
            raise UsageError(f"{name!r} is the program itself: {why}")


def find_program(words: Sequence[str]) -> Program:
    """The program that `words` (`script.py args`, `-m module args`, `-c code args`, `- args`) name.
    UsageError where there is none."""
    if not words:
        raise UsageError("nothing to run: give a script, -m MODULE, -c CODE or - (stdin); see --help")
    first, *args = words
    for start, make in (("-m", _module), ("-c", _string)):
        if first.startswith(start):
            if first == start and not args:
                raise UsageError(f"argument {start}: expected one argument; see --help")
            what, args = (args[0], args[1:]) if first == start else (first[2:], args)
            return make(what, args)
    if first == "-":
        return _stdin(args)
    return _script(first, args)


# -- scripts ---------------------------------------------------------------------------------------


def _script(path: str, args: list[str]) -> Program:
    if not os.path.exists(path):
        raise UsageError(f"can't open file {path!r}: no such file")
    if pkgutil.get_importer(path) is not None:  # a directory, or an archive
        return _collection(path, args)
    loader = (SourcelessFileLoader if path.endswith(".pyc") else SourceFileLoader)(MAIN, path)
    names = {"__file__": os.path.abspath(path), "__loader__": loader, "__cached__": None}
    folder = os.path.dirname(os.path.realpath(path))
    return Program(lambda: _code(path, loader), names, [path, *args], folder)


def _code(path: str, loader: SourceFileLoader | SourcelessFileLoader) -> Any:
    if isinstance(loader, SourcelessFileLoader):
        return loader.get_code(MAIN)
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        raise UsageError(f"can't open file {path!r}: {error.strerror}") from error
    return compile(source, os.path.abspath(path), "exec", dont_inherit=True)


def _collection(path: str, args: list[str]) -> Program:
    """The `__main__` of a directory or an archive."""
    place = os.path.abspath(path)
    spec = PathFinder.find_spec(MAIN, [place])
    if spec is None:
        raise UsageError(f"can't find '__main__' module in {path!r}")
    return Program(lambda: _code_of(spec), _names(spec), [path, *args], place)


# -- modules ---------------------------------------------------------------------------------------


def _module(name: str, args: list[str]) -> Program:
    sys.path[0:1] = [] if sys.flags.safe_path else [os.getcwd()]
    spec = _spec(name)
    if spec.submodule_search_locations is not None:
        spec = _spec(f"{name}.{MAIN}", f"; {name!r} is a package and cannot be run")
    if spec.loader is None or not hasattr(spec.loader, "get_code"):
        raise UsageError(f"no code object available for {name}")
    return Program(lambda: _code_of(spec), _names(spec), [spec.origin or name, *args], None)


def _spec(name: str, more: str = "") -> ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"no module named {name!r} ({type(error).__name__}: {error}){more}") from error
    if spec is None:
        raise UsageError(f"no module named {name!r}{more}")
    return spec


def _code_of(spec: ModuleSpec) -> Any:
    loader: Any = spec.loader
    code = loader.get_code(spec.name)
    if code is None:
        raise UsageError(f"no code object available for {spec.name}")
    return code


def _names(spec: ModuleSpec) -> dict[str, Any]:
    return {
        "__file__": spec.origin, "__cached__": spec.cached, "__loader__": spec.loader,
        "__package__": spec.parent, "__spec__": spec,
    }  # fmt: skip


# -- strings ---------------------------------------------------------------------------------------


def _string(source: str, args: list[str]) -> Program:
    names = {"__loader__": BuiltinImporter}
    return Program(lambda: _compiled(source, "<string>"), names, ["-c", *args], "")


def _stdin(args: list[str]) -> Program:
    names = {"__loader__": BuiltinImporter, "__file__": "<stdin>", "__cached__": None}
    return Program(lambda: _compiled(sys.stdin.read(), "<stdin>"), names, ["-", *args], "")


def _compiled(source: str, name: str) -> CodeType:
    """Tracebacks find the lines in `linecache`, where the interpreter looks for them."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    return compile(source, name, "exec", dont_inherit=True)
