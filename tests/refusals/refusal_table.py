"""The table of refusals: programs, and what is said of them.

    @refused("math.gcd has no derivative ..; give it one ..", VARYING)
    def program(x):
        return math.gcd(x)  # here

The marked line is where the refusal must be placed. A program without a mode is run as it is: the refused
call stands in it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctxdispatch import (
    ADContext,
    broadcast,
    checkpoint,
    grad,
    hessian,
    jacfwd,
    jacobian_sparsity,
    jacrev,
    jvp,
    linearize,
    overdub,
    value_and_grad,
    vjp,
)

MARK = "# here"

Mode = Callable[[Any, Any], Any]


def _pull(out: tuple[Any, Any]) -> Any:
    return out[1](np.ones_like(out[0]))


MODES: dict[str, Mode] = {
    "as it is": lambda f, x: f(),
    "grad": lambda f, x: grad(f)(x),
    "value_and_grad": lambda f, x: value_and_grad(f)(x),
    "vjp": lambda f, x: _pull(vjp(f, x)),
    "overdub": lambda f, x: _pull(overdub(ADContext(), f, x)),
    "checkpoint": lambda f, x: grad(checkpoint(f))(x),
    "jacrev": lambda f, x: jacrev(f)(x),
    "jvp": lambda f, x: jvp(f, (x,), (x,)),
    "linearize": lambda f, x: linearize(f, x)[1](x),
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "hessian": lambda f, x: hessian(f)(x),
}

AS_IT_IS = ("as it is",)
REVERSE = ("grad", "vjp")
BOTH = ("grad", "jvp")
EVERY = tuple(MODES)[1:]

MODES |= {
    "sparsity": lambda f, x: jacobian_sparsity(f, x),
    "broadcast": lambda f, x: broadcast(f, x),
    "reference": lambda f, x: broadcast(f, x, backend="reference"),
}
KERNEL = ("broadcast", "reference")


@dataclass(frozen=True)
class Row:
    """One program. `where`: the function with the marked line, or the place itself where there is no source.
    In `words`, <here> and <before> are the number of the marked line and of the one before."""

    program: Callable[..., Any]
    words: str
    modes: tuple[str, ...]
    x: Any
    where: Callable[..., Any] | str

    @property
    def name(self) -> str:
        return self.program.__qualname__

    @property
    def text(self) -> str:
        line = 0 if isinstance(self.where, str) else self._line
        return self.words.replace("<here>", str(line)).replace("<before>", str(line - 1))

    @property
    def position(self) -> str:
        if isinstance(self.where, str):
            return self.where
        return f"{self.where.__code__.co_filename}:{self._line} in "

    @property
    def _line(self) -> int:
        lines, first = inspect.getsourcelines(self.where)
        return first + next(i for i, line in enumerate(lines) if MARK in line)


ROWS: list[Row] = []


def refused(text: str, *modes: str, x: Any = None, where: Any = None) -> Any:
    """The row of a program."""

    def register(program: Any) -> Any:
        point = np.array([1.0, 2.0]) if x is None else x
        ROWS.append(Row(program, text, modes or AS_IT_IS, point, where or program))
        return program

    return register
