"""Breakpoints: where to stop, when, how often.

    file.py:12                    a line
    f, Class.method, mod.*        functions by name; * ? [..] are wildcards
    WHERE from g                  only when called from g
    WHERE, x > 3                  only if the expression is true, in the frame

Invariant: a breakpoint is hit when place, caller and condition agree; each hit is counted, also while it is
ignored.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import CodeType, FrameType
from typing import Any

from ctxdispatch_contexts.debugging.events import Place
from ctxdispatch_contexts.debugging.frames import caller_of, module_of, variables
from ctxdispatch_contexts.debugging.sources import check_line, find_source, is_of_no_file, same_file

Condition = str | Callable[[dict[str, Any]], Any] | None


@dataclass(eq=False)
class Breakpoint:
    """`function` and `caller` are code objects or name patterns; `condition` an expression, or a callable
    that is given a dict of the local variables."""

    number: int
    text: str
    file: str | None = None
    line: int | None = None
    function: CodeType | str | None = None
    caller: CodeType | str | None = None
    condition: Condition = None
    temporary: bool = False
    enabled: bool = True
    ignore: int = 0
    hits: int = field(default=0, init=False)
    error: BaseException | None = field(default=None, init=False)
    """What the condition raised when it was last evaluated: it counts as true."""

    def holds(self, frame: FrameType, evaluate: Callable[[str, FrameType], Any]) -> bool:
        """Whether caller and condition agree."""
        if self.caller is not None:
            caller = caller_of(frame)
            if caller is None or not is_function(self.caller, caller, None):
                return False
        self.error = None
        try:
            return self._condition(frame, evaluate)
        except Exception as error:
            self.error = error
            return True

    def _condition(self, frame: FrameType, evaluate: Callable[[str, FrameType], Any]) -> bool:
        if self.condition is None:
            return True
        if isinstance(self.condition, str):
            return bool(evaluate(self.condition, frame))
        return bool(self.condition(variables(frame)))

    def hit(self) -> bool:
        """Count; whether to stop."""
        self.hits += 1
        if self.ignore > 0:
            self.ignore -= 1
            return False
        return True

    def __str__(self) -> str:
        words = [f"{self.number}: {self.text}"]
        if self.condition is not None:
            words.append(f"if {name_of(self.condition)}")
        words += ["temporary"] * self.temporary + ["disabled"] * (not self.enabled)
        words += [f"ignore next {self.ignore}"] * bool(self.ignore)
        words += [f"hit {self.hits} times"] * bool(self.hits)
        return ", ".join(words)


class Breakpoints:
    """The table of a session, by number. `changed` is called when anything does."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._by_number: dict[int, Breakpoint] = {}
        self._count = 0
        self.changed = changed

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter([*self._by_number.values()])

    def __len__(self) -> int:
        return len(self._by_number)

    def __getitem__(self, number: int) -> Breakpoint:
        try:
            return self._by_number[number]
        except KeyError:
            raise ValueError(f"there is no breakpoint {number}") from None

    def add(
        self,
        where: Any,
        *,
        condition: Condition = None,
        caller: Any = None,
        temporary: bool = False,
        ignore: int = 0,
        enabled: bool = True,
        file: str | None = None,
    ) -> Breakpoint:
        """`where`: a function, method or class; a name pattern; "file:line", or (file, line); a line of
        `file`. A string may go on with ` from CALLER` and `, CONDITION`.

        ValueError: there is no such file, the line has no code, or the condition no syntax; TypeError: the
        function has no Python code.
        """
        if isinstance(where, str):
            where, named, expression = parse(where)
            caller, condition = caller or named, condition if expression is None else expression
        if isinstance(condition, str):
            _checked(condition)
        self._count += 1
        text = describe(where, file) + (f" from {name_of(caller)}" if caller else "")
        made = Breakpoint(
            self._count, text, *_place(where, file), caller and _function(caller),
            condition, temporary, enabled, ignore,
        )  # fmt: skip
        self._by_number[made.number] = made
        self.changed()
        return made

    def remove(self, number: int) -> Breakpoint:
        """Take out the one of that number, and return it. ValueError: there is none."""
        found = self[number]
        del self._by_number[number]
        self.changed()
        return found

    def clear(self) -> None:
        """Take out all."""
        self._by_number.clear()
        self.changed()

    def change(self, number: int, **fields: Any) -> Breakpoint:
        """Set `enabled`, `ignore`, `condition` or `temporary`."""
        found = self[number]
        if isinstance(fields.get("condition"), str):
            _checked(fields["condition"])
        for name, value in fields.items():
            setattr(found, name, value)
        self.changed()
        return found

    # -- matching ----------------------------------------------------------------------------------

    def lines(self) -> frozenset[int]:
        """The numbers of lines at which one may be, in whatever file."""
        return frozenset(b.line for b in self if b.line is not None and b.enabled)

    def at_line(self, frame: FrameType, line: int) -> list[Breakpoint]:
        """The enabled ones at that line of the frame's file; their conditions are not asked."""
        file = frame.f_code.co_filename
        return [b for b in self if b.enabled and b.line == line and b.file and same_file(b.file, file)]

    def at_entry(self, frame: FrameType, place: Place) -> list[Breakpoint]:
        """The enabled ones of the function that `frame` runs; their conditions are not asked."""
        of_functions = [b for b in self if b.enabled and b.function is not None]
        return [b for b in of_functions if is_function(b.function, frame, place.code)]


# -- what a breakpoint is set at -------------------------------------------------------------------


def is_function(wanted: CodeType | str | None, frame: FrameType, original: CodeType | None) -> bool:
    """Whether `frame` runs the function; `original` is its code before it was rewritten."""
    code = frame.f_code
    if type(wanted) is CodeType:
        if original is not None:
            return wanted == original
        return _identity(wanted) == _identity(code)
    if wanted is None:
        return False
    name = code.co_qualname.replace("<locals>.", "")
    return any(fnmatchcase(n, wanted) for n in (code.co_name, name, f"{module_of(frame)}.{name}"))


def _identity(code: CodeType) -> tuple[Any, ...]:
    return code.co_filename, code.co_firstlineno, code.co_qualname


def code_of(f: Any) -> CodeType:
    """The code of a function, a method, what `partial` and `lru_cache` make, a class's `__init__`, a
    property's getter. TypeError where there is none."""
    seen = f
    for _ in range(20):
        code = getattr(seen, "__code__", None)
        if type(code) is CodeType:
            return code
        seen = _within(seen)
        if seen is None:
            break
    raise TypeError(f"{name_of(f)} has no Python code to stop in")


def _within(f: Any) -> Any:
    if issubclass(type(f), functools.partial):
        return f.func
    if issubclass(type(f), property):
        return f.fget
    if issubclass(type(f), type):
        return f.__init__
    for name in ("__func__", "__wrapped__", "func"):
        if getattr(f, name, None) is not None:
            return getattr(f, name)
    return inspect.getattr_static(type(f), "__call__", None)


def _place(where: Any, file: str | None) -> tuple[str | None, int | None, CodeType | str | None]:
    runs = isinstance(where, int)  # where the program is there is a file, or was
    if isinstance(where, int):
        if file is None:
            raise ValueError(f"line {where} of which file? say file:line")
        where = (file, where)
    if isinstance(where, tuple):
        name, line = where
        found = find_source(name)
        if found is None and not runs and not is_of_no_file(name):
            raise ValueError(
                f"there is no file {name!r}; give its path, from here or from a folder of `sys.path`"
            )
        if found is not None:
            check_line(found, line)
        return name, line, None
    return None, None, _function(where)


def _function(f: Any) -> CodeType | str:
    return f if issubclass(type(f), str | CodeType) else code_of(f)


WHERE = re.compile(
    r"^(?P<where>[^,]+?)(?:\s+from\s+(?P<caller>[^,\s]+))?\s*(?:,\s*(?P<condition>.+))?$", flags=re.S
)
LINE = re.compile(r"^(?:(?P<file>.+):)?(?P<line>\d+)$")


def parse(text: str) -> tuple[Any, str | None, str | None]:
    """"WHERE [from CALLER][, CONDITION]": what, caller, condition."""
    found = WHERE.match(text.strip())
    if found is None:
        raise ValueError(f"a breakpoint is `file:line` or `function`, not {text!r}")
    where: Any = found["where"]
    if at := LINE.match(where):
        where = (at["file"], int(at["line"])) if at["file"] else int(at["line"])
    elif ":" in where:
        raise ValueError(f"the line in {where!r} is no number")
    return where, found["caller"], found["condition"]


def describe(where: Any, file: str | None) -> str:
    if isinstance(where, int):
        where = (file, where)
    return f"{where[0]}:{where[1]}" if isinstance(where, tuple) else name_of(where)


def name_of(f: Any) -> str:
    if isinstance(f, str):
        return f
    return str(getattr(f, "co_qualname", None) or getattr(f, "__qualname__", None) or repr(f))


def _checked(condition: str) -> None:
    try:
        compile(condition, "<condition>", "eval")
    except SyntaxError as error:
        raise ValueError(f"the condition {condition!r} is no expression: {error.msg}") from None
