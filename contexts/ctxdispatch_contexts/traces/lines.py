"""The lines of a straight function, as source: values are variables, constants have names."""

from __future__ import annotations

from types import FunctionType
from typing import Any

MAX_LINES = 1000
"""Of a trace that is made at the second call."""
MOST_LINES = 5000
"""Of one that is made once the run has been recorded often: its program takes seconds."""
WRITTEN = (int, bool, str, type(None))
"""Classes of constants that are written out."""


class Left(Exception):
    """A decision was made otherwise than in the run that was traced."""


class Unfit(BaseException):
    """The run cannot be a straight line. Nothing has happened that could be seen from outside; no handler of
    the program's is to take it for an error."""


class TooLong(Unfit):
    """It could be one of more lines."""


class Lines:
    """At most so many statements, and the constants that they name."""

    def __init__(self, namespace: dict[str, Any] | None = None, most: int = MAX_LINES) -> None:
        self._most = most
        self.namespace = {"__name__": __name__, "Left": Left} if namespace is None else namespace
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._count = 0

    def another(self, lines: list[str]) -> Lines:
        """Others that name the same constants."""
        made = Lines(self.namespace, self._most)
        made.lines = lines
        return made

    def constant(self, value: Any) -> str:
        """An expression for an object that is there whatever the arguments are."""
        if type(value) in WRITTEN and len(text := repr(value)) < 40:
            return f"({text})" if type(value) is int and value < 0 else text
        return self.name(value)

    def name(self, value: Any) -> str:
        """A name for the object itself."""
        found = self._names.get(id(value))
        if found is None:
            found = self._names[id(value)] = f"k{len(self._names)}"
            self.namespace[found] = value
        return found

    def variable(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def add(self, line: str) -> None:
        self.lines.append(line)
        if len(self.lines) > self._most:
            raise TooLong("more operations than a program of straight lines is made of")

    def function(self, name: str, parameters: str, result: str) -> FunctionType:
        body = "\n    ".join([*self.lines, f"return {result}"])
        code = compile(f"def {name}({parameters}):\n    {body}\n", f"<generated trace: {name}>", "exec")
        exec(code, self.namespace)
        made: FunctionType = self.namespace.pop(name)
        return made
