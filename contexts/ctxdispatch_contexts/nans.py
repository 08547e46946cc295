"""`NaNContext`: where the first NaN or infinity comes from.

An operation is reported whose operands are finite numbers and whose result is not. So what was put there on
purpose (`math.inf`, `float("nan")`, `np.full(3, np.nan)`) is no finding, nor is what goes on with it, nor
what an operand may have held that cannot be looked into (an iterator, a dict, bytes).

Invariant: results that are finite cost a subtraction (arrays: a look at each element), operands are looked at
only where the result is not. What an operation overwrites is looked at before, by code that is inserted at
in-place operators and at calls with `out=` only.
"""

from __future__ import annotations

import operator
import threading
import types
import warnings
from argparse import ArgumentParser, Namespace
from dataclasses import field
from fnmatch import fnmatch
from typing import Any, NamedTuple, Self

import numpy as np

from ctxdispatch.dispatch import Context, Editor
from ctxdispatch.dispatch.plan import HOOKED
from ctxdispatch.dispatch.rules import name_of
from ctxdispatch.facts import canonical, fact_of, operands
from ctxdispatch.ir import operators, primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.values import Position
from ctxdispatch.passes.outputs import out_at
from ctxdispatch_contexts.finiteness import bad_in, finite, numbers_in
from ctxdispatch_contexts.names import named

HARMLESS = frozenset({int, bool, str, bytes, type(None), dict, list, set, range, type, slice})
"""Classes of results that are not looked into. Functions that compute several numbers return a tuple."""

NOT_COMPUTED = frozenset({
    np.empty, np.empty_like, np.ndarray, np.frombuffer, np.fromfile, np.load, np.memmap, np.resize,
    np.ndarray.view,
})  # fmt: skip
"""What returns memory as it finds it."""

SYMBOLS = {f: operators.SYMBOLS[f] for f in operators.ARITHMETIC} | {
    f: f"{operators.SYMBOLS[plain]}="
    for f, plain in operators.INPLACE.items()
    if plain in operators.ARITHMETIC
}

_FIRST = operands("0")

FOLLOWED = (types.FunctionType, types.MethodType)


class NaNError(FloatingPointError):
    """An operation on finite numbers gave a NaN or an infinity. `finding` has the parts of the message, which
    are attributes too: `where`, `function`, `operands` (`args` of an exception is its message), `kwargs`,
    `out`. After pickling, `finding` is None: operands may be anything."""

    def __init__(self, message: str, finding: Finding | None = None) -> None:
        super().__init__(message)
        self.finding = finding

    def __reduce__(self) -> Any:
        return NaNError, (str(self),)

    def __getattr__(self, name: str) -> Any:
        part = {"operands": "args"}.get(name, name)
        if part in Finding._fields:
            return getattr(self.finding, part, None)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class NaNWarning(RuntimeWarning):
    """The same as a warning (`on="warn"`)."""


class Finding(NamedTuple):
    """An operation, `function(*args, **kwargs)`, on finite numbers that gave `out`.

    `where`: the user's place (None where no program is on the stack). `value`: the first number that is not
    finite; `index`: where it is in `out`, if that is an array. `str` is what was to say when it happened.
    """

    where: Position | None
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Any
    value: Any
    index: tuple[int, ...] | None
    text: str

    def __str__(self) -> str:
        return self.text if self.where is None else f"{self.where}: {self.text}"


class Findings(list[Finding]):
    """The first ones; `total` counts those too that are not kept."""

    total = 0
    _lock = threading.Lock()

    def add(self, finding: Finding, most: int) -> None:
        with self._lock:
            self.total += 1
            if len(self) < most:
                self.append(finding)

    def clear(self) -> None:
        super().clear()
        self.total = 0


class NaNContext(Context):
    """Reports operations on finite numbers whose result is a NaN or infinite; the first, if it raises.

        overdub(NaNContext(), f, x)      # NaNError: file.py:12 in f: numpy.log(0.0) gave -inf

    `nan`, `inf`: what to look for. `on`: "raise" a NaNError, "warn" with a NaNWarning, or "record" in `found`
    only, `most` at most (with their operands; `found.total` counts all). `allow`: functions that may give
    such results; `ignore`: files in which they may come up (patterns of `fnmatch`; those of masked arrays
    compute what is masked, too).

    Python code that attributes, items, comparisons and iteration run is followed by `ThoroughNaNContext`.
    """

    nan: bool = True
    inf: bool = True
    on: str = "raise"
    allow: frozenset[Any] | set[Any] = frozenset()
    ignore: tuple[str, ...] = ("*/numpy/ma/*",)
    most: int = 1000
    found: Findings = field(default_factory=Findings)
    intercepts = ("call", "operator")

    def __post_init__(self) -> None:
        if self.on not in ("raise", "warn", "record"):
            raise ValueError(f'on is one of "raise", "warn", "record", not {self.on!r}')
        if not (self.nan or self.inf):
            raise ValueError("nan=False and inf=False leave nothing to look for")
        if callable(self.allow) or not all(map(callable, self.allow)):
            raise TypeError(f"allow is a set of functions, as {{math.log}}, not {self.allow!r}")
        if isinstance(self.ignore, str):
            raise TypeError(f"ignore is a tuple of patterns, ({self.ignore!r},), not {self.ignore!r}")

    def transform(self, graph: Graph) -> Graph:
        edit = Editor(graph)
        changes = [_insert(edit, op) for op in edit.calls("call", "operator", "item")]
        return super().transform(edit.finish() if any(changes) else graph)

    def posthook(self, out: Any, f: Any, args: Any, kwargs: Any) -> None:
        if type(out) is float:
            if out - out == 0.0:
                return
        elif type(out) in HARMLESS:
            return
        if type(f) in FOLLOWED and not is_ours(f.__module__):
            return  # what came up within is found already
        if isinstance(out, np.ndarray) and _is_inplace(f) and args[0] is out:
            return  # what it was is looked at before
        for number in numbers_in(out):
            if bad_in(number, self.nan, self.inf) is not None:
                if finite(_operands(out, f, args, kwargs)):
                    self.judge(number, out, f, args, kwargs)
                return

    def judge(self, number: Any, out: Any, f: Any, args: Any, kwargs: Any) -> None:
        """Report f(*args, **kwargs), whose operands are finite and whose result has `number`, unless that is
        allowed."""
        bad = bad_in(number, self.nan, self.inf)
        if bad is None or self._is_allowed(f):
            return
        where = self.where()
        if where is None or not any(fnmatch(where.filename, pattern) for pattern in self.ignore):
            self._report(_finding(where, f, args, kwargs, out, number, bad))

    def _is_allowed(self, f: Any) -> bool:
        try:
            names = {f, canonical(f)[0]}
        except TypeError:
            return False
        return not names.isdisjoint(NOT_COMPUTED) or not names.isdisjoint(self.allow)

    def _report(self, finding: Finding) -> None:
        if self.found and self.found[-1].out is finding.out:
            return  # a function that handed on what its callback gave
        self.found.add(finding, self.most)
        if self.on == "raise":
            raise NaNError(str(finding), finding)
        if self.on == "warn":
            place = finding.where
            file, line = (place.filename, place.line or 0) if place else ("<unknown>", 0)
            warnings.warn_explicit(finding.text, NaNWarning, file, line)

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--on", choices=("raise", "warn", "record"), default="raise", help="what to do (default: raise)")
        add("--no-inf", dest="inf", action="store_false", help="infinities are fine")
        add("--no-nan", dest="nan", action="store_false", help="NaNs are fine")
        add("--allow", action="append", default=[], metavar="MODULE.NAME",
            help="a function that may give them (repeatable)")  # fmt: skip
        add("--ignore", action="append", default=[], metavar="PATTERN",
            help="files in which they may come up (repeatable)")  # fmt: skip
        add("--most", type=int, default=cls.most, metavar="N",
            help="report the first N (default: %(default)s)")  # fmt: skip

    @classmethod
    def from_options(cls, options: Namespace) -> Self:
        return cls(
            nan=options.nan, inf=options.inf, on=options.on, allow=frozenset(map(named, options.allow)),
            ignore=(*cls.ignore, *options.ignore), most=options.most,
        )  # fmt: skip

    def report(self, options: Namespace) -> str:
        more = self.found.total - len(self.found)
        lines = [*map(str, self.found), *([f"... and {more} more"] if more else ())]
        return "\n".join(lines) or "no operation on finite numbers gave a NaN or an infinity"


class ThoroughNaNContext(NaNContext):
    """Follows properties, items, comparisons and iteration that are Python code too: an attribute costs
    microseconds then."""

    intercepts = HOOKED


def _changes_array(f: Any) -> bool:
    """It returns nothing and changes its first argument."""
    row = fact_of(f) if getattr(f, "__module__", None) == "numpy" else None
    return row is not None and row.gives is types.NoneType and row.stores == _FIRST



def _operands(out: Any, f: Any, args: Any, kwargs: Any) -> list[Any]:
    """What f(*args, **kwargs) computed with: not where it put the result."""
    given = args[:-1] if isinstance(out, np.ndarray) and args and args[-1] is out else args
    return [*canonical(f)[1], *given, *(v for k, v in kwargs.items() if k != "out")]


# -- what is overwritten ---------------------------------------------------------------------------


def _insert(edit: Editor, op: Op) -> bool:
    """Look at the operands before `op` and at what it changed after it; whether it changes anything."""
    f, operands, names = edit.callee(op), edit.operands(op), op.kwnames or ()
    if f is operator.setitem:
        edit.after(op, _stored, edit.context, *operands)
    elif _is_inplace(f):
        good = edit.before(op, _finite_array, *operands)
        edit.after(op, _changed, edit.context, good, f, (), operands[0], *operands)
    elif _changes_array(f):
        good = edit.before(op, _finite_array, *operands)
        edit.after(op, _changed, edit.context, good, f, names, operands[0], *operands)
    elif (k := _place_of_out(op, f, len(operands) - len(names))) is not None:
        good = edit.before(op, _finite_overwritten, k, edit.called(op), *operands)
        edit.after(op, _changed, edit.context, good, edit.called(op), names, operands[k], *operands)
    else:
        return False
    return True


def _place_of_out(op: Op, f: Any, plain: int) -> int | None:
    """Which operand the callee writes into; `plain` of them have no name."""
    if op.fn is primitives.call_ex:
        return None
    if "out" in op.kwnames:
        return plain + op.kwnames.index("out")
    at = None if f is None else out_at(f)
    return at if at is not None and at < plain else None


def _finite_array(changed: Any, *others: Any) -> bool:
    return isinstance(changed, np.ndarray) and finite((changed, *others))


def _finite_overwritten(k: int, f: Any, *operands: Any) -> bool:
    """Only where `out`, the operand k, shares memory with another: the others are looked at afterwards."""
    outs = operands[k] if isinstance(operands[k], tuple) else (operands[k],)
    given = [*canonical(f)[1], *operands[:k], *operands[k + 1 :]]
    return any(_overlap(a, o) for a in given for o in outs) and finite(given)


def _overlap(a: Any, b: Any) -> bool:
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.may_share_memory(a, b)


def _changed(ctx: NaNContext, good: bool, f: Any, names: Any, changed: Any, *operands: Any) -> None:
    if not good:
        return
    plain = len(operands) - len(names)
    kwargs = dict(zip(names, operands[plain:]))
    for number in numbers_in(changed):
        ctx.judge(number, changed, f, operands[:plain], kwargs)


def _stored(ctx: NaNContext, array: Any, key: Any, value: Any) -> None:
    """What does not fit into the array becomes infinite."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fc":
        return
    if type(value) is float and array.dtype.itemsize >= 8:
        return
    if isinstance(value, np.ndarray | np.generic) and np.can_cast(value.dtype, array.dtype, "safe"):
        return
    for number in numbers_in(array[key]):
        if finite((value,)):
            ctx.judge(number, number, operator.setitem, (array, key, value), {})


# -- what is said ----------------------------------------------------------------------------------


def _finding(where: Any, f: Any, args: Any, kwargs: Any, out: Any, number: Any, bad: Any) -> Finding:
    said = _spelled(f, args, kwargs)
    if np.ndim(number) == 0:
        text = f"{said} gave {_short(out) if isinstance(out, tuple) else number}"
        return Finding(where, f, args, kwargs, out, number, None, text)
    index = tuple(map(int, np.argwhere(bad)[0]))
    value = np.asarray(number)[index]
    there = _operands_at(index, number, out, args)
    size = f"{np.count_nonzero(bad)} of {number.size} elements, shape {number.shape}, {number.dtype}"
    text = f"{said} gave {value} at [{', '.join(map(str, index))}]{there} ({size})"
    return Finding(where, f, args, kwargs, out, value, index, text)


def _spelled(f: Any, args: Any, kwargs: Any) -> str:
    """f(*args, **kwargs) as the source spells it."""
    if f is operator.setitem:
        return f"storing {_short(args[2])} in an array of {args[0].dtype}"
    symbol = _symbol(f, SYMBOLS)
    if symbol and len(args) == 2 and not kwargs:
        overwritten = symbol.endswith("=") and isinstance(args[0], np.ndarray)
        left = _shape(args[0]) if overwritten else _short(args[0])
        return f"{left} {symbol} {_short(args[1])}"
    given = [*map(_short, args), *(f"{k}={_short(v)}" for k, v in kwargs.items())]
    name = name_of(f)
    return f"{name.rpartition('.')[2] if name.startswith('ctxdispatch') else name}({', '.join(given)})"


def _is_inplace(f: Any) -> bool:
    return (_symbol(f, SYMBOLS) or "").endswith("=")


def _symbol(f: Any, symbols: dict[Any, str]) -> str | None:
    return symbols.get(f) if type(f) is types.BuiltinFunctionType else None  # others may have no hash


def _operands_at(index: tuple[int, ...], number: Any, out: Any, args: Any) -> str:
    """The operands at that place, where the operation goes element by element."""
    arrays = [a for a in args if isinstance(a, np.ndarray) and a is not out]
    if not arrays or any(a.shape != number.shape for a in arrays):
        return ""
    return f" of {', '.join(str(np.asarray(a)[index]) for a in arrays)}"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 4:
        return _shape(value)
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # of the user's class: it is not what is reported
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    return text if len(text) <= 60 else text[:57] + "..."


def _shape(array: Any) -> str:
    return f"<array of shape {array.shape}, {array.dtype}>"
