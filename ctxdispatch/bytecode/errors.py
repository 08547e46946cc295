"""What cannot be lifted is refused by name, place and remedy, never half-lifted."""

from __future__ import annotations

REMEDIES = {
    "try/except": "test for the condition with `if`, or keep the `try` in the caller",
    "try/finally": "keep the `try` in the caller",
    "try/except*": "keep the `try` in the caller",
    "with": "enter the context manager in the caller",
    "generator function": "build a list and return it",
    "async": "call the synchronous part of it",
    "class body or module": "put the code into a function",
}
GENERAL_REMEDY = "move it into a function of its own that is not transformed"


class UnsupportedSyntax(NotImplementedError):
    """Python that the IR has no form for (yet)."""

    def __init__(
        self, construct: str, filename: str, line: int | None, function: str, remedy: str = ""
    ) -> None:
        remedy = remedy or REMEDIES.get(construct, GENERAL_REMEDY)
        super().__init__(f"{construct} cannot be transformed: {filename}:{line} in {function}; {remedy}")
        self.construct = construct
        self.filename = filename
        self.line = line
        self.function = function
        self.remedy = remedy
