"""`NaNContext`: where the first NaN or infinity comes from.

An operation is reported whose numeric operands are all finite and whose result is not. So what was put there
on purpose (`math.inf`, `float("nan")`, `np.full(3, np.nan)`) is no finding, nor is what goes on with it.

Invariant: results that are finite cost one subtraction (arrays: one look at each element), operands are
looked at only where the result is not.
"""

from __future__ import annotations

import operator
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from dataclasses import field
from fnmatch import fnmatch
from types import FunctionType, MethodType
from typing import Any, NamedTuple, Self

import numpy as np

from ctxdispatch.dispatch import Context
from ctxdispatch.dispatch.rules import canonical, name_of
from ctxdispatch.ir.values import Position

MOST = 1000
"""As many are recorded at most, and so many items of a list are looked at."""

HARMLESS = frozenset({int, bool, str, bytes, type(None), dict, set, range, type, slice})
"""Classes of results that are not looked into."""

MADE_OF_NOTHING = frozenset({
    np.empty, np.empty_like, np.ndarray, np.frombuffer, np.fromfile, np.load, np.memmap, np.resize,
})  # fmt: skip
"""What returns memory as it finds it."""

INPLACE = (
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow, operator.ifloordiv,
    operator.imod, operator.imatmul,
)  # fmt: skip


SYMBOLS = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.pow: "**",
    operator.floordiv: "//", operator.mod: "%", operator.matmul: "@",
    **dict(zip(INPLACE, "+= -= *= /= **= //= %= @=".split())),
}  # fmt: skip


FOLLOWED = (FunctionType, MethodType)


class NaNError(FloatingPointError):
    """An operation on finite numbers gave a NaN or an infinity. `finding` has the parts of the message."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding

    def __reduce__(self) -> Any:
        return RuntimeError, (str(self),)  # operands may be anything; what is sent elsewhere is the message


class NaNWarning(RuntimeWarning):
    """The same as a warning (`on="warn"`)."""


class Finding(NamedTuple):
    """`where`: the user's place (None where no program is on the stack); `index`: of the first element that
    is not finite, where `out` is an array."""

    where: Position | None
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Any
    index: tuple[int, ...] | None

    def __str__(self) -> str:
        call = self._call()
        place = "" if self.where is None else f"{self.where}: "
        if self.index is None:
            return f"{place}{call} gave {_plain(self.out)}"
        at = ", ".join(map(str, self.index))
        bad = np.asarray(self.out)[self.index]
        return f"{place}{call} gave {bad} at [{at}]{self._there()} ({self._count()})"

    def _call(self) -> str:
        """As the source spells it."""
        symbol = SYMBOLS.get(self.function) if len(self.args) == 2 and not self.kwargs else None
        if symbol is not None:
            return f"{_short(self.args[0])} {symbol} {_short(self.args[1])}"
        given = [*map(_short, self.args), *(f"{k}={_short(v)}" for k, v in self.kwargs.items())]
        name = name_of(self.function)
        return f"{name.rpartition('.')[2] if name.startswith('ctxdispatch') else name}({', '.join(given)})"

    def _there(self) -> str:
        """The operands at that place, where the operation goes element by element."""
        shape = np.shape(self.out)
        arrays = [a for a in self.args if isinstance(a, np.ndarray) and a is not self.out]
        if not arrays or any(a.shape != shape for a in arrays):
            return ""
        assert self.index is not None
        return f" of {', '.join(str(a[self.index]) for a in arrays)}"

    def _count(self) -> str:
        wrong = np.asarray(self.out).size - int(np.isfinite(self.out).sum())
        return f"{wrong} of {np.size(self.out)} elements"


class NaNContext(Context):
    """Reports the first operation on finite numbers whose result is a NaN or infinite.

        overdub(NaNContext(), f, x)      # NaNError: file.py:12 in f: numpy.log(0.0) gave -inf

    `nan`, `inf`: what to look for. `on`: "raise" a NaNError, "warn" with a NaNWarning, or "record" in
    `found` only. `allow`: functions that may give such results; `ignore`: files in which they may come up
    (patterns of `fnmatch`; those of masked arrays compute what is masked, too).
    """

    nan: bool = True
    inf: bool = True
    on: str = "raise"
    allow: frozenset[Any] = frozenset()
    ignore: tuple[str, ...] = ("*/numpy/ma/*",)
    found: list[Finding] = field(default_factory=list)
    intercepts = ("call", "operator")

    def __post_init__(self) -> None:
        if self.on not in ("raise", "warn", "record"):
            raise ValueError(f'on is one of "raise", "warn", "record", not {self.on!r}')

    def posthook(self, out: Any, f: Any, args: Any, kwargs: Any) -> None:
        if type(out) is float:
            if out - out == 0.0:
                return
        elif type(out) in HARMLESS:
            return
        if type(f) in FOLLOWED and not (f.__module__ or "").startswith("ctxdispatch"):
            return  # what came up within is found already
        if type(out) is np.ndarray and f in INPLACE:
            return  # there are rules for them
        self.examine(out, f, args, kwargs)

    def examine(self, out: Any, f: Any, args: Any, kwargs: Any, before: Any = None) -> None:
        """Report f(*args, **kwargs), which returned `out`, if it is what we look for. `before`: the first
        operand as it was, where it was changed in place."""
        wrong = next((v for v in _numbers((out,)) if not self.is_good(v)), None)
        if wrong is None or self._is_allowed(f):
            return
        given = (*canonical(f)[1], *args, *kwargs.values())
        operands = [a for a in given if a is not out and a is not wrong]
        numbers = [*_numbers(operands), *(() if before is None else (before,))]
        if numbers and all(map(_is_finite, numbers)):
            index = None if np.ndim(wrong) == 0 else tuple(map(int, np.argwhere(self._bad(wrong))[0]))
            where = self.where()
            if where is None or not any(fnmatch(where.filename, pattern) for pattern in self.ignore):
                self._report(Finding(where, f, args, kwargs, out if index is None else wrong, index))

    def is_good(self, value: Any) -> bool:
        """Whether a number, or all of an array, is nothing to report."""
        return not np.any(self._bad(value))

    def _bad(self, value: Any) -> Any:
        bad = ~np.isfinite(value)
        if self.nan and self.inf:
            return bad
        return bad & (np.isnan(value) if self.nan else ~np.isnan(value)) & (self.nan or self.inf)

    def _is_allowed(self, f: Any) -> bool:
        try:
            return f in MADE_OF_NOTHING or f in self.allow
        except TypeError:
            return False

    def _report(self, finding: Finding) -> None:
        if len(self.found) < MOST:
            self.found.append(finding)
        if self.on == "raise":
            raise NaNError(finding)
        if self.on == "warn":
            place = finding.where
            text = str(finding).partition(": ")[2] if place else str(finding)
            file, line = (place.filename, place.line or 0) if place else ("<unknown>", 0)
            warnings.warn_explicit(text, NaNWarning, file, line)

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        parser.add_argument("--on", choices=("raise", "warn", "record"), default="raise")
        parser.add_argument("--no-inf", dest="inf", action="store_false", help="infinities are fine")
        parser.add_argument("--no-nan", dest="nan", action="store_false", help="NaNs are fine")

    @classmethod
    def from_options(cls, options: Namespace) -> Self:
        return cls(nan=options.nan, inf=options.inf, on=options.on)

    def report(self, options: Namespace) -> str:
        return "\n".join(map(str, self.found)) or "every result on finite operands is finite"


def _in_place(operation: Any) -> None:
    """An array is changed: what it was is looked at before."""

    @NaNContext.rule(operation, np.ndarray, object)
    def rule(ctx: NaNContext, a: Any, b: Any) -> Any:
        was_good = _is_finite(a) if a.dtype.kind in "fc" else True
        out = operation(a, b)
        ctx.examine(out, operation, (a, b), {}, before=0.0 if was_good else np.nan)
        return out


for _operation in INPLACE:
    _in_place(_operation)


# -- numbers ---------------------------------------------------------------------------------------


def _numbers(values: Iterable[Any], depth: int = 2) -> Iterator[Any]:
    """The numbers and arrays of numbers among them, and in short lists and tuples."""
    for value in values:
        if isinstance(value, np.ma.MaskedArray):
            value = value.compressed()
        if isinstance(value, np.ndarray | np.generic):
            if value.dtype.kind in "fciub":
                yield value
        elif isinstance(value, int | float | complex):
            yield value
        elif isinstance(value, list | tuple) and depth and len(value) <= MOST:
            yield from _numbers(value, depth - 1)


def _is_finite(value: Any) -> bool:
    if type(value) is int:
        return True  # of any size
    return bool(np.all(np.isfinite(value)))


def _plain(value: Any) -> str:
    return str(value) if isinstance(value, np.generic) else _short(value)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"<array of shape {value.shape}, {value.dtype}>"
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # of the user's class: it is not what is reported
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    return text if len(text) <= 60 else text[:57] + "..."
