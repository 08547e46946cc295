"""Which class a run has: what it records depends on a context's rules, and on what has been imported."""

from __future__ import annotations

import functools
import types
from typing import Any

from ctxdispatch.dispatch import rules
from ctxdispatch.ir import primitives
from ctxdispatch_contexts.derivatives import libraries, table
from ctxdispatch_contexts.programs.observed import notes
from ctxdispatch_contexts.programs.refusing import SOLVED
from ctxdispatch_contexts.recording import scipy_rules, trajectories
from ctxdispatch_contexts.recording.context import Recording, as_it_is, follow, ruled_by
from ctxdispatch_contexts.reverse.checkpoints import Checkpointed
from ctxdispatch_contexts.reverse.context import ADContext


def _solved(f: Any, rule: Any, ctx: Recording, /, *args: Any, **kwargs: Any) -> Any:
    if ctx.record.closed:
        return f(*args, **kwargs)
    return rule(ctx, f, args, kwargs)


@functools.cache
def _follow_table(loaded: tuple[str, ...]) -> None:
    """The functions with Python code that have derivatives, those of the libraries loaded by now too."""
    follow(Recording, [f for _, f in table.names() if type(f) is types.FunctionType])


def follow_imported() -> None:
    """What has rules in the libraries that have been imported is recorded from now on."""
    _follow_table(libraries.loaded())
    for f, rule in scipy_rules.imported().items():
        if not Recording.has_rules(f):
            ruled_by(f)(functools.partial(_solved, f, rule))
            SOLVED.add(f)


def recording(context: Any) -> type[Recording]:
    """The class of runs whose derivatives go by the rules of `context`. Those that note types have one of
    their own: the code that others run says nothing of that."""
    follow_imported()
    return _class_for(context, notes())


for _f in (recording, follow_imported, trajectories.mesh_of):  # their results are constants of a run around
    Recording.rule(_f)(types.MethodType(as_it_is, _f))


@Recording.rule(primitives.import_name)
def _imported(ctx: Recording, *args: Any) -> Any:
    """An import in the midst of a run may bring functions that have rules."""
    found = primitives.import_name(*args)
    follow_imported()
    return found


@functools.cache
def _class_for(context: Any, noting: bool) -> type[Recording]:
    class Of(Recording):
        _notes = noting

    _follow_rules(context, Of)
    _made.append((context, Of))
    return Of


_made: list[tuple[Any, type[Recording]]] = []


def _follow_rules(context: Any, cls: type[Recording]) -> None:
    """What has a user's rule is not looked into."""
    ruled = {id(f): f for base in (context, ADContext) for f in rules.callees(base) if context.ad_ruled(f)}
    follow(cls, (f for f in ruled.values() if f is not Checkpointed.__call__))


def _rules_changed(changed: Any, callee: Any) -> None:
    for context, cls in _made:
        if not issubclass(changed, Recording):
            _follow_rules(context, cls)


rules.subscribe(_rules_changed)
