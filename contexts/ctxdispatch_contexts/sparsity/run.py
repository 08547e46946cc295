"""The state of one abstract run, and how values go in and out of it.

    lifted(v)     `v` as a tracked value where it has sets, else `v` itself
    sampled(v)    `v` with samples in the place of what is tracked, in containers too
    made(out, s)  the tracked value of the sample `out` with the sets `s`

In global mode every value that depends on the inputs stays unknown. In local mode one without sets (a
comparison, an argmax, a shape that follows from values) is the value at hand.
"""

from __future__ import annotations

import functools
import gc
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from ctxdispatch.dispatch.holding import referents
from ctxdispatch.dispatch.refusals import Refusals
from ctxdispatch_contexts.sparsity.errors import (
    ELSEWHERE,
    REMEDY,
    OpaqueCallWarning,
    SparsityError,
    described,
)
from ctxdispatch_contexts.sparsity.indexsets import Arena, Terms
from ctxdispatch_contexts.sparsity.journal import Cursor, Journal, fields, namespace
from ctxdispatch_contexts.sparsity.layouts import own_memory
from ctxdispatch_contexts.sparsity.values import (
    Array,
    Either,
    Flat,
    Scalar,
    Tracked,
    inexact,
    lies_elsewhere,
    memory_of,
    root_of,
)

LEAVES = (
    int, float, complex, str, bytes, type(None), type, types.ModuleType, range, np.dtype, types.CodeType,
)  # fmt: skip

DICT_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))


class Run:
    """One abstract run over n inputs; `pairs` collects the pairs of inputs of a Hessian."""

    def __init__(self, n: int, local: bool, pairs: Any = None) -> None:
        self.arena = Arena(n)
        self.local = local
        self.pairs = pairs
        self.journal = Journal()
        self.refusals = Refusals()
        self.frozen: dict[int, tuple[Any, str]] = {}
        self.escaped: dict[int, Any] = {}
        """Arrays that unknown C code may have: it was given them, or they are older than the run."""
        self.given: dict[int, tuple[Any, Any]] = {}
        """By identity, lists and dicts that are arguments, each with what the run has in its place."""
        self.position: Any = None
        self.failed: Any = None  # where the last arm that failed did
        self.mixed = False
        self.loose = False  # there are numbers of more than one type
        self.warned: set[Any] = set()

    def refuse(self, message: str) -> NoReturn:
        raise SparsityError(message, self.position)

    def check_mixed(self, v: Any) -> None:
        """Before types or shapes are told apart."""
        if isinstance(v, Array) and v.memory.mixed:
            self.refuse(
                "this is an array or a number, after a branch or loop on a value that depends on the "
                "inputs, and "
                f"its type or shape is asked for; give both sides one shape, or {REMEDY}"
            )

    def own(self, v: Any) -> Any:
        """By whatever name a list or dict is found, it is the argument."""
        return self.given[id(v)][1] if id(v) in self.given else v

    # -- in --------------------------------------------------------------------------------------------------

    def lifted(self, v: Any) -> Any:
        v = self.own(v) if self.given else v
        if issubclass(type(v), np.ndarray) and self.journal.shadows:
            root = root_of(v)
            shadow = self.journal.shadows.get(id(root))
            if shadow is None and lies_elsewhere(root):
                self._check_apart(root)
            return v if shadow is None else Array(v, shadow)
        if issubclass(type(v), np.flatiter) and self.journal.shadows:
            shadow = self.journal.shadows.get(id(root_of(v.base)))
            return v if shadow is None else self.raveled(Array(v.base, shadow))
        return self.raveled(v.array) if issubclass(type(v), Flat) else v

    def _check_apart(self, root: Any) -> None:
        if any(np.may_share_memory(root, shadow.root) for shadow in self.journal.shadows.values()):
            self.refuse(ELSEWHERE)

    def raveled(self, array: Array) -> Any:
        """What is read of array.flat: a view, or as it is now."""
        flat = array.sample.reshape(-1)
        if array.sample.flags.c_contiguous:
            return Array(flat, array.memory)
        return self.array(flat, [t.reshape(-1) for t in array.terms])

    def sampled(self, v: Any) -> Any:
        """A copy wherever something is replaced."""
        if isinstance(v, Tracked):
            return v.sample
        if isinstance(v, Either):
            self.refuse(v.what)
        cls = type(v)
        if cls in (list, tuple, set, frozenset):
            return cls(map(self.sampled, v))
        if cls is deque:
            return deque(map(self.sampled, v), v.maxlen)
        if cls in DICT_VIEWS:
            return list(map(self.sampled, v))
        if isinstance(v, tuple) and hasattr(v, "_make"):
            return v._make(map(self.sampled, v))
        if cls is dict:
            return {k: self.sampled(x) for k, x in v.items()}
        if cls is slice:
            return slice(self.sampled(v.start), self.sampled(v.stop), self.sampled(v.step))
        if cls is Cursor:
            return iter([self.sampled(x) for x in remaining(v)])
        return v

    def leaves(self, *things: Any, lift: bool = True) -> Iterator[Tracked | Either]:
        """All that is tracked and can be reached from `things`; but for `lift`, arrays are samples."""
        seen: dict[int, Any] = {}
        stack = list(things)
        while stack:
            v = stack.pop()
            if issubclass(type(v), LEAVES):
                continue
            v = self.lifted(v) if lift else v
            if issubclass(type(v), (Tracked, Either)):
                yield v
            elif not issubclass(type(v), np.ndarray) and id(v) not in seen:
                seen[id(v)] = v
                stack.extend(held(v))

    def reachable(self, *things: Any, arrays: bool = False) -> list[Any]:
        """The containers and objects that `things` lead to; or the arrays, tracked ones as their samples."""
        seen: dict[int, Any] = {}
        stack = list(things)
        while stack:
            v = stack.pop()
            v = v.sample if issubclass(type(v), Array) else v
            if not issubclass(type(v), (*LEAVES, Tracked, Either)) and id(v) not in seen:
                seen[id(v)] = v
                stack.extend([] if issubclass(type(v), np.ndarray) else held(v))
        return [v for v in seen.values() if issubclass(type(v), np.ndarray) == arrays]

    def touched(self, *things: Any) -> bool:
        return any(True for _ in self.leaves(*things))

    def union(self, *things: Any) -> int:
        """The union of all sets that can be reached, as bits."""
        bits = 0
        for leaf in self.leaves(*things):
            bits |= self.bits(leaf)
        return bits

    def bits(self, v: Any) -> int:
        v = self.lifted(v) if isinstance(v, Flat) else v
        if isinstance(v, Scalar):
            return v.bits
        if isinstance(v, Array):
            bits = 0
            for t in v.memory.seen_by(v.sample):
                bits |= self.arena.bits(t)
            return bits
        return 0

    def terms(self, v: Any) -> Terms:
        """The sets of an operand as terms, for scalars without dimensions."""
        v = self.lifted(v)
        if isinstance(v, Array):
            return v.terms
        if isinstance(v, Scalar) and v.bits:
            return (np.array(self.arena.row(v.bits), np.int32),)
        return ()

    # -- out -------------------------------------------------------------------------------------------------

    def made(self, out: Any, terms: Sequence[Any] = ()) -> Any:
        """The value of sample `out`; `terms` broadcast to its shape."""
        if isinstance(out, np.ndarray):
            return self.array(out, terms)
        bits = 0
        if inexact(out):
            for t in terms:
                bits |= self.arena.bits(t)
        return self.scalar(out, bits)

    def scalar(self, out: Any, bits: int) -> Any:
        if isinstance(out, np.void):
            self.refuse("an item of a structured array that depends on the inputs; index its field first")
        if self.local and not bits:
            return out
        return Scalar(out, bits if inexact(out) else 0)

    def array(self, out: Any, terms: Sequence[Any]) -> Any:
        if out.dtype.kind in "OSUV":
            self.refuse(
                f"an array of dtype {out.dtype} of values that depend on the inputs; use arrays of numbers"
            )
        if isinstance(out, np.matrix):
            self.refuse("a matrix that depends on the inputs; use plain arrays")
        if not inexact(out) or not terms:
            if self.local:
                return out
            terms = ()
        out, root = own_memory(out)
        fitting = [t if t.shape == out.shape else np.broadcast_to(t, out.shape) for t in terms]
        return Array(out, memory_of(out, root, self.arena.limited(fitting), self.journal.clock))

    def dense(self, out: Any, bits: int) -> Any:
        """`out` with every number in it depending on all of `bits`, in containers too."""
        if isinstance(out, np.ndarray):
            row = self.arena.row(bits)
            return self.array(out, (np.array(row, np.int32),) if row else ())
        if isinstance(out, (bool, int, float, complex, np.generic)):
            return self.scalar(out, bits if inexact(out) else 0)
        if type(out) in (tuple, list):
            return type(out)([self.dense(x, bits) for x in out])
        if isinstance(out, tuple) and hasattr(out, "_make"):
            return out._make([self.dense(x, bits) for x in out])
        if isinstance(out, tuple) and hasattr(type(out), "n_sequence_fields"):
            return type(out)([self.dense(x, bits) for x in out])
        if type(out) is dict and not any(map(inexact, out)):
            return {k: self.dense(x, bits) for k, x in out.items()}
        if out is None or out is NotImplemented or isinstance(out, np.dtype):
            return out
        return Either(
            f"a {type(out).__name__} that was made of values that depend on the inputs is used; what is in "
            "it cannot be followed: use numbers, arrays, or lists of them"
        )

    def owner(self, a: Array) -> Any:
        """What the journal knows the memory of `a` by."""
        root = root_of(a.sample)
        return root if id(root) in self.journal.shadows else a.memory

    # -- opaque calls ----------------------------------------------------------------------------------------

    def warn_opaque(self, callee: Any, why: str) -> None:
        key = (described(callee), self.position)
        if key not in self.warned:
            self.warned.add(key)
            where = f"{self.position}: " if self.position else ""
            warnings.warn(
                f"{where}{described(callee)} is not looked into ({why}): its result is taken to depend on "
                "every input that reached it",
                OpaqueCallWarning,
                stacklevel=2,
            )

    def on_samples(self, f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """f of the samples; where that fails (a sample need not satisfy what a branch has tested), of values
        that agree with most functions."""
        return self.attempt(f, *self.computed(f, args, kwargs))

    def samples(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [self.sampled(a) for a in args], {k: self.sampled(a) for k, a in kwargs.items()}

    def computed(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any], why: str = "") -> Any:
        """The samples, for a callee that computes with what its arguments hold."""
        plain, named = self.samples(args, kwargs)
        if any(True for _ in self.leaves(plain, named, lift=False)):
            self.refuse(
                f"{described(f)}{why} takes an object that holds values that depend on the inputs; pass it "
                "arrays and numbers"
            )
        return plain, named

    def attempt(self, f: Callable[..., Any], plain: Sequence[Any], named: dict[str, Any]) -> Any:
        try:
            return f(*plain, **named)
        except (ArithmeticError, ValueError, IndexError) as error:
            if not self.journal.levels[1:]:
                raise
            try:
                return f(*map(benign, plain), **named)
            except (ArithmeticError, ValueError, IndexError):
                raise SparsityError(
                    f"{described(f)} fails on the values at hand in a branch that these do not take "
                    f'({type(error).__name__}: {error}); give other arguments, or mode="local"',
                    self.position,
                ) from error


def remaining(cursor: Cursor) -> list[Any]:
    """What it has not given yet; it stays where it is."""
    ahead = Cursor(cursor.items)
    ahead.at = cursor.at
    return list(ahead)


def benign(v: Any) -> Any:
    """Numbers of the same type and shape in the domain of most functions; matrices are positive definite."""
    if isinstance(v, bool) or not isinstance(v, (int, float, np.ndarray, np.generic)):
        return v
    if isinstance(v, np.ndarray):
        if v.dtype.kind != "f":
            return v
        out = np.full(v.shape, 0.5, v.dtype)
        if v.ndim >= 2 and v.shape[-1] == v.shape[-2]:
            out += v.shape[-1] * np.eye(v.shape[-1], dtype=v.dtype)
        return out
    return type(v)(0.5 if inexact(v) else 1)


def held(v: Any) -> list[Any]:
    """What an object leads to, for the search of tracked values."""
    if issubclass(type(v), (list, tuple, set, frozenset)):
        return [*v, *(fields(v).values() if namespace(v) is not None else ())]
    if issubclass(type(v), dict):
        return list(v.values())
    if type(v) is types.FunctionType:
        return [*(v.__closure__ or ()), *(v.__defaults__ or ()), *(v.__kwdefaults__ or {}).values()]
    if type(v) is types.MethodType:
        return [v.__self__, v.__func__]
    if issubclass(type(v), functools.partial):
        return [v.func, *v.args, *v.keywords.values()]
    if type(v) in (types.BuiltinFunctionType, types.MethodWrapperType):
        return [v.__self__]
    if type(v) is types.CellType:
        return gc.get_referents(v)
    if namespace(v) is not None or type(v).__flags__ & (1 << 9):
        return list(fields(v).values())
    return [x for x in referents(v) if not issubclass(type(x), type)]
