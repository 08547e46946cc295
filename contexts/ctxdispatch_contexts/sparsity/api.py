"""`jacobian_sparsity` and `hessian_sparsity`: an abstract run, and what it says about inputs and outputs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from ctxdispatch_contexts.programs.apart import apart
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.programs.derived import Gradient, gradient
from ctxdispatch_contexts.programs.errors import user_position
from ctxdispatch_contexts.sparsity.errors import SparsityError, described
from ctxdispatch_contexts.sparsity.executor import Executor
from ctxdispatch_contexts.sparsity.hessian import Pairs
from ctxdispatch_contexts.sparsity.indexsets import sorted_rows
from ctxdispatch_contexts.sparsity.layouts import alike, overlaps
from ctxdispatch_contexts.sparsity.pattern import SparsityPattern
from ctxdispatch_contexts.sparsity.values import Array, Either, Memory, Scalar, Tracked, inexact, memory_of

Mode = Literal["global", "local"]
Argnums = int | Sequence[int]
RECURSION = 100_000


def jacobian_sparsity(
    f: Callable[..., Any], *args: Any, argnums: Argnums = 0, mode: Mode = "global"
) -> SparsityPattern:
    """Where the Jacobian of f: R^n -> R^m may be nonzero, by looking at its code once; `f` is not
    differentiated.

    Inputs (the arguments `argnums`) and the result are floats, arrays of any shape, or tuples, lists and
    dicts of these; they count in order, arrays in C order. The pattern is an (m, n) `SparsityPattern`.

    mode="global": it holds for all arguments of these shapes, dtypes and structure. Branches on values join
    both sides, loops run to a fixpoint. Floats and float arrays among the other arguments are unknown too;
    integers, flags, text and objects are taken as they are, as is all that `f` reads from elsewhere.
    mode="local": for these arguments, and those around them for which no branch goes the other way.

    Arguments may be stored to (and hold afterwards what they held before), unless they share memory.

    That of a gradient, `grad(f)`, is found as `hessian_sparsity` of `f` is.

    No entry is missing; some may be superfluous. What cannot be followed is refused (SparsityError, with the
    user's line), or, if it is C code without a rule, dense, with an `OpaqueCallWarning`.
    """
    found = gradient(f)
    if found is not None:
        return _of_gradient(found, args, indices(argnums, len(args)), mode)
    run, inputs = started(f, args, argnums, mode)
    return pattern_of(run, evaluated(run, f, inputs), described(f))


def _of_gradient(found: Gradient, args: Any, columns: list[int], mode: Mode) -> SparsityPattern:
    """That of the Jacobian of a gradient: rows and columns of the Hessian with respect to all of them."""
    rows = indices(found.wrt, len(args))
    asked = sorted({*rows, *columns})
    hessian = hessian_sparsity(found.f, *args, argnums=asked, mode=mode)
    if rows == columns == asked:
        return hessian
    ends = np.cumsum([0, *(size_of(args[i], f"argument {i}") for i in asked)])
    places = {i: np.arange(ends[k], ends[k + 1]) for k, i in enumerate(asked)}
    taken = (np.concatenate([places[i] for i in chosen]) for chosen in (rows, columns))
    return SparsityPattern.from_dense(hessian.toarray()[np.ix_(*taken)])


def hessian_sparsity(
    f: Callable[..., Any], *args: Any, argnums: Argnums = 0, mode: Mode = "global"
) -> SparsityPattern:
    """Where the Hessian of a scalar function f: R^n -> R may be nonzero: an (n, n) symmetric
    `SparsityPattern`.

    Arguments and modes as in `jacobian_sparsity`. A pair of inputs is in it if they, or what was made of
    them, meet in a nonlinear operation. The result is a float or an array of one element.
    """
    run, inputs = started(f, args, argnums, mode, Pairs())
    result = run.lifted(evaluated(run, f, inputs))
    sample = run.sampled(result)
    if not isinstance(sample, (float, np.ndarray, np.floating)) or np.size(sample) != 1:
        raise SparsityError(
            f"hessian_sparsity needs a function with one float as its result, and {described(f)} returns "
            f"{_kind(sample)}; sum or choose the outputs"
        )
    return SparsityPattern.from_keys((run.arena.n, run.arena.n), run.pairs.finished(run))


# -- inputs --------------------------------------------------------------------------------------------------


def started(
    f: Any, args: Sequence[Any], argnums: Argnums, mode: str, pairs: Pairs | None = None
) -> tuple[Executor, list[Any]]:
    """A run, and the arguments as it sees them."""
    if mode not in ("global", "local"):
        raise ValueError(f'mode is "global" or "local", not {mode!r}')
    if not callable(f):
        raise SparsityError(
            f"the first argument must be a function, not {_kind(f)}; write jacobian_sparsity(f, x)"
        )
    chosen = indices(argnums, len(args))
    n = sum(size_of(args[i], f"argument {i}") for i in chosen)
    run = Executor(n, mode == "local", pairs)
    run.journal.open()
    places = _Places(run, list(_arrays(args)))
    inputs: list[Any] = [None] * len(args)
    for i in chosen:
        inputs[i] = places.inputs(args[i])
    for i in set(range(len(args))) - set(chosen):
        inputs[i] = places.others(args[i])
    return run, inputs


def indices(argnums: Argnums, n: int) -> list[int]:
    """Of n arguments. ValueError where there is no such argument."""
    plain = isinstance(argnums, (int, np.integer))
    if isinstance(argnums, str) or not (plain or isinstance(argnums, Iterable)):
        raise ValueError(f"argnums is a position or a sequence of positions, not {argnums!r}")
    chosen: list[Any] = [argnums] if plain else list(argnums)  # type: ignore[arg-type, list-item]
    for i in chosen:
        if not isinstance(i, (int, np.integer)) or isinstance(i, (bool, np.bool_)):
            raise ValueError(f"argnums are positions of arguments, not {i!r}")
    for i in chosen:
        if not -n <= i < n:
            raise ValueError(f"argnums {i} is out of range: there are {n} arguments")
    chosen = [i % n for i in chosen]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"argnums has an argument twice: {argnums}")
    return chosen


def size_of(v: Any, what: str) -> int:
    """How many inputs there are in an argument."""
    if isinstance(v, (list, tuple)):
        return sum(size_of(x, f"an item of {what}") for x in v)
    if isinstance(v, dict):
        return sum(size_of(x, f"{k!r} of {what}") for k, x in v.items())
    if isinstance(v, np.ndarray) and v.dtype.kind == "f":
        return v.size
    if isinstance(v, (float, np.floating)):
        return 1
    remedy = "make it one (`np.asarray(x, float)`, `list(x)`)"
    if isinstance(v, (int, np.integer)) or (isinstance(v, np.ndarray) and v.dtype.kind in "iub"):
        remedy = "make it float"
    raise SparsityError(
        f"{what} is {_kind(v)}: inputs are floats, arrays of floats, or tuples, lists and dicts of "
        f"these; {remedy}",
        user_position(),
    )


def _arrays(v: Any) -> Iterator[Any]:
    if isinstance(v, np.ndarray):
        yield v
    elif isinstance(v, (dict, list, tuple)):
        for x in v.values() if isinstance(v, dict) else v:
            yield from _arrays(x)


class _Places:
    """Numbers the inputs. The run sees copies of the arrays: one that shares memory with another must not be
    stored to."""

    def __init__(self, run: Executor, arrays: list[Any]) -> None:
        self.run, self.next = run, 1
        ordered = [[a, *arrays[:i], *arrays[i + 1 :]] for i, a in enumerate(arrays)]
        self.shared = {id(each[0]) for each in ordered if not apart(1, *each)}

    def inputs(self, v: Any) -> Any:
        if isinstance(v, dict):
            return self._in_place_of(v, {k: self.inputs(x) for k, x in v.items()})
        if isinstance(v, (list, tuple)):
            return self._in_place_of(v, rebuild(v, [self.inputs(x) for x in v]))
        if isinstance(v, np.ndarray):
            ids = np.arange(self.next, self.next + v.size, dtype=np.int32).reshape(v.shape)
            self.next += v.size
            return self._array(v, (ids,))
        self.next += 1
        return Scalar(v, 1 << (self.next - 2))

    def _in_place_of(self, v: Any, made: Any) -> Any:
        if not isinstance(v, tuple):
            self.run.given.setdefault(id(v), (v, made))
        return made

    def others(self, v: Any) -> Any:
        """Floats that are no inputs: not known either, where the pattern is for all values."""
        if isinstance(v, dict):
            return {k: self.others(x) for k, x in v.items()} if type(v) is dict else v
        if type(v) in (list, tuple) or (isinstance(v, tuple) and hasattr(v, "_make")):
            return rebuild(v, [self.others(x) for x in v])
        if isinstance(v, np.ndarray):
            unknown = v.dtype.kind in "fc" and not self.run.local
            return self._array(v, ()) if unknown else self._known(v)
        return Scalar(v, 0) if inexact(v) and not self.run.local else v

    def _array(self, v: Any, terms: Any) -> Any:
        sample, root = alike(v)
        memory = memory_of(sample, root, terms)
        memory.frozen = SHARED if id(v) in self.shared or overlaps(v) else None
        return Array(sample, memory)

    def _known(self, v: Any) -> Any:
        copy, _ = alike(v)
        copy.flags.writeable = id(v) not in self.shared
        return copy


SHARED = "two arguments share memory, and one is changed in place; give one of them as a copy (`x.copy()`)"


# -- the run -------------------------------------------------------------------------------------------------


def evaluated(run: Executor, f: Any, inputs: list[Any]) -> Any:
    """f(*inputs); what the caller's objects held before, they hold again."""
    with np.errstate(all="ignore"), deep_recursion():
        try:
            out = run.call(f, inputs, {})
            run.refusals.leave()
            return frozen_result(run, out)
        except Exception as error:
            run.refusals.leave(error)
            raise
        finally:
            run.journal.close()


def frozen_result(run: Executor, out: Any) -> Any:
    """A copy of what is returned: closing the journal takes back all stores."""
    out = run.lifted(out)
    if isinstance(out, Array):
        sample = np.array(out.sample, order="C")
        return Array(sample, Memory(sample, tuple(np.array(t, order="C") for t in out.terms)))
    if isinstance(out, (list, tuple)):
        return rebuild(out, [frozen_result(run, x) for x in out])
    if isinstance(out, dict):
        return {k: frozen_result(run, x) for k, x in out.items()}
    return out


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Loops that are left under unknown conditions nest one fork per iteration."""
    with _limit.lock:
        if not _limit.users:
            _limit.before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_limit.before, RECURSION))
        _limit.users += 1
    try:
        yield
    finally:
        with _limit.lock:
            _limit.users -= 1
            if not _limit.users:
                sys.setrecursionlimit(_limit.before)


class _Limit:
    """Of the process: the first thread to go deep raises it, the last to come back puts it back."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = self.before = 0


_limit = _Limit()


# -- outputs -------------------------------------------------------------------------------------------------


def pattern_of(run: Executor, out: Any, name: str) -> SparsityPattern:
    leaves = list(_outputs(run, out, name))
    parts = [_rows(run, v) for v in leaves]
    counts = np.concatenate([c for c, _ in parts]) if parts else np.zeros(0, np.int64)
    columns = np.concatenate([c for _, c in parts]) if parts else np.zeros(0, np.int32)
    return SparsityPattern.from_counts((len(counts), run.arena.n), counts, columns)


def _outputs(run: Executor, out: Any, name: str) -> Iterator[Any]:
    out = run.lifted(out)
    sample = out.sample if isinstance(out, Tracked) else out
    if isinstance(out, Either):
        raise SparsityError(f"of what {name} returns: {out.what}")
    if isinstance(out, dict):
        for v in out.values():
            yield from _outputs(run, v, name)
    elif isinstance(out, (list, tuple)):
        for v in out:
            yield from _outputs(run, v, name)
    elif isinstance(sample, (float, int, np.number, np.bool_)) and not isinstance(sample, complex):
        yield out
    elif isinstance(sample, np.ndarray) and sample.dtype.kind in "fiub":
        yield out
    else:
        raise SparsityError(
            f"{name} returns {_kind(out)}: outputs must be numbers, arrays of numbers, or tuples, lists and "
            "dicts "
            "of these (of complex ones return real and imaginary parts); return an array"
        )


def _rows(run: Executor, v: Any) -> tuple[Any, Any]:
    """(entries per element, columns)"""
    sample = v.sample if isinstance(v, Tracked) else v
    size = int(np.size(sample))
    terms = run.terms(v) if inexact(sample) else ()
    if not terms or not size:
        return np.zeros(size, np.int64), np.zeros(0, np.int32)
    if max(int(t.max(initial=0)) for t in terms) <= run.arena.n:
        return sorted_rows(terms)
    (ids,) = run.arena.collapse(terms)
    group, column = run.arena.expand(np.arange(size), ids.reshape(-1))
    if (np.diff(group) < 0).any():  # single entries come before rows
        order = np.argsort(group, kind="stable")
        group, column = group[order], column[order]
    return np.bincount(group, minlength=size), column


def _kind(v: Any) -> str:
    if isinstance(v, Tracked):
        v = v.sample
    if isinstance(v, np.ndarray):
        return f"an array of {v.dtype}"
    if v is None:
        return "None"
    name = type(v).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
