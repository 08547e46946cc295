"""Derivatives by recording: what `grad`, `jvp` and their like come to for programs that have no derivative
program.

    joint, split    reverse mode
    pushed          forward mode
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ctxdispatch.dispatch.overdub import overdub
from ctxdispatch.dispatch.strip import is_iterator
from ctxdispatch.dispatch.tracebacks import show_users_frames
from ctxdispatch.passes.types import type_of
from ctxdispatch_contexts.forward.releasing import apart
from ctxdispatch_contexts.programs import tiers
from ctxdispatch_contexts.programs.activity import carries
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.recording import left
from ctxdispatch_contexts.recording.entries import Kept
from ctxdispatch_contexts.recording.pushing import Pushing
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.recording.remembered import check_bars, check_tangent
from ctxdispatch_contexts.recording.runs import recording
from ctxdispatch_contexts.recording.tape import Tape
from ctxdispatch_contexts.recording.trees import Arguments, Tree, tree_of
from ctxdispatch_contexts.reverse.cotangents import ones_of
from ctxdispatch_contexts.reverse.seeds import check_cotangent, scalar_seed, signature_of, value_of_pair

Run = Callable[[], Any]
Trees = dict[int, Tree | None]


def run(
    record: Record, f: Callable[..., Any], args: Sequence[Any], wrt: Sequence[int],
    begin: Callable[[Trees], None], leading: int = 0, result: Callable[[Any], Any] = lambda y: y,
) -> tuple[Any, Tree | None, Trees, list[Any]]:  # fmt: skip
    """(y = f(*args), the tree of `result(y)`, the trees of the arguments `wrt`, the arguments as the program
    got them). `leading`: so many come before the caller's own."""
    tiers.recorded()
    owned = Arguments(record)
    given, trees = list(args), {}
    try:
        for i in sorted(wrt, key=lambda i: i < leading):
            if i >= leading:  # what is bound or captured is another name
                owned.check(given[i])
            given[i], tree = owned.own(given[i])
            trees[i] = None if _is_plain(args[i]) else tree
        for i in {*range(len(given))}.difference(wrt):
            given[i] = owned.beside(given[i], i < leading)
        begin(trees)
        left.follow(record, args[leading:])
        y = overdub(recording(record.context)(record), f, *given)
        tree = tree_of(result(y))  # before what arguments hold is the caller's again
    except BaseException as error:
        record.refusals.leave(error)
        raise
    finally:
        record.end()
        left.leave(record)
        owned.put_back()
    record.refusals.leave()
    if is_iterator(y):
        raise DerivativeError(
            f"the function returned a {type(y).__name__}, which makes its items later; return a list of them",
            user_position(),
        )
    return y, tree, trees, given


def _is_plain(value: Any) -> bool:
    """A container that can have no derivative, as a shape: it has None, as in a program."""
    return issubclass(type(value), (tuple, list)) and not carries(type_of(value))


class Recorded:
    """One run of f(*args) in reverse mode, with respect to the arguments `wrt`."""

    def __init__(
        self, f: Callable[..., Any], args: Sequence[Any], wrt: Sequence[int], tape: Tape, leading: int,
        result: Callable[[Any], Any] = lambda y: y,
    ) -> None:  # fmt: skip
        self.tape = tape
        self.y, self.tree, self.trees, self.args = run(tape, f, args, wrt, lambda _: None, leading, result)

    def sweep(self, seed: Any) -> dict[int, Any]:
        """The cotangents of the arguments, that of the result being `seed`."""
        tree, tape = self.tree, self.tape

        def add(cotangent: Any) -> None:
            if tree is not None and cotangent is not None:
                tree.add(tape, cotangent)

        return tape.sweep(lambda: add(seed), self._bars, lambda: add(ones_of(seed)))

    def _bars(self) -> dict[int, Any]:
        bars = {i: None if tree is None else tree.bar(self.tape) for i, tree in self.trees.items()}
        if self.tape.suspects.left or self.tape.suspects.found:
            check_bars(self.tape, bars)
        return bars


def _tape(mode: Any, context: Any) -> Tape:
    tape: Tape = _checking().Checked(context) if mode.checks else Tape(context)
    return tape


def _checking() -> Any:
    return import_module("ctxdispatch_contexts.recording.checking")


def joint(f: Any, mode: Any, args: Sequence[Any], context: Any) -> Any:
    """What a program for `mode`, one that is not split, returns."""
    result = value_of_pair if mode.has_aux else lambda y: y
    found = Recorded(f, args, mode.wrt, _tape(mode, context), mode.leading, result)
    bars = found.sweep(scalar_seed(result(found.y)))
    found.tape.release()
    found.trees.clear()
    gradient = bars[mode.wrt[0]] if mode.single else tuple([bars[i] for i in mode.wrt])
    if mode.value:
        return found.y, gradient
    return (gradient, found.y[1]) if mode.has_aux else gradient


def split(f: Any, mode: Any, args: Sequence[Any], context: Any) -> Any:
    """(y, pullback)"""
    n = len(args)
    wrt = range(n) if mode.wrt is None else mode.wrt
    found = Recorded(f, args, wrt, _tape(mode, context), mode.leading)
    signature, tree = signature_of(found.y), found.tree
    found.tape.entries += [Kept(a, ...) for a in (tree.arrays() if tree is not None else ())]
    first, count = mode.pulled or (0, n)

    def pullback(ybar: Any) -> Any:
        try:
            bars = found.sweep(check_cotangent(ybar, signature))
        except BaseException as error:
            show_users_frames(error)
            raise
        return tuple([bars.get(i) for i in range(first, first + count)])

    return found.y, pullback


def pushed(f: Any, mode: Any, args: Sequence[Any], context: Any) -> Any:
    """What a program for forward mode returns. `args`: the primals, their tangents, the length of blocks."""
    k = args[-1] if mode.block else None
    n = len(args) - len(mode.wrt) - mode.block
    tangents = dict(zip(mode.wrt, args[n:], strict=False))
    record = _checking().CheckedPushing(context, k) if mode.checks else Pushing(context, k)

    def begin(trees: Trees) -> None:
        for i, tree in trees.items():
            if tree is not None:
                tree.set(record, tangents[i])

    y, tree, trees, _ = run(record, f, args[:n], mode.wrt, begin, mode.leading)
    dy = apart(None if tree is None else tree.tangent(record), y, k)
    if record.suspects.left or record.suspects.found:
        check_tangent(record, y, dy)
    record.release()
    trees.clear()
    return dy if mode.alone else (y, dy)
