"""What a program takes for granted about what its arguments and variables hold, and may be something else a
moment later. Such a program is prepared again, and takes that for granted no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import CodeIs
from ctxdispatch.passes.held import has_held, with_unset, without_held
from ctxdispatch.passes.infer import Variable
from ctxdispatch.passes.resolve import rests_on_held
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.assigned import (
    Holder,
    assigned_in,
    assigned_out_of_sight,
    relied_on,
    relied_on_of_objects,
    stored_attributes,
)
from ctxdispatch_contexts.programs.making import opens_variables
from ctxdispatch_contexts.programs.meeting import may_meet
from ctxdispatch_contexts.programs.prepare import Prepared, prepare


def prepare_trusting(
    source: Callable[[], Graph], types: Sequence[T.Type], cells: Sequence[Any],
    has_rule: Callable[[Any], bool], *, stub: bool = False, frozen: bool = False, later: bool = False,
) -> tuple[Prepared, Sequence[T.Type], Op | None]:  # fmt: skip
    """Prepare the graph that `source` gives; again, taking less for granted, as long as what it relies on may
    change while it runs: what its arguments or variables hold. Each time there is less of it. `stub`: the
    graph is one call, which is the third result. `later`: what sweeps it is another call."""
    untrusted: Set[Variable] = frozenset()
    held = opens_variables()
    while True:
        graph = source()
        own = graph.entry.ops[-1] if stub else None
        found = prepare(graph, types, cells, has_rule, untrusted, frozen, held, later=later)
        changing = untrusted | _changing(found)
        unknown = found.foreign and (any(map(has_held, types)) or rests_on_held(found.guards.values()))
        meets = held and may_meet(types, found.settled())
        if changing == untrusted and not unknown and not meets:
            if own is not None and _has_lists_turned(graph, own):
                own = None  # more is known of a call with the arrays
            return found, [with_unset(t, found.unset) for t in types], own
        untrusted = changing
        held = held and not (meets or found.foreign)
        if found.foreign:
            types = [without_held(t) for t in types]


def _has_lists_turned(graph: Graph, own: Op) -> bool:
    """Into arrays, before the call."""
    turned = [op for op in graph.entry.ops if op.fn is np.asarray and op.result in own.args]
    return any(T.cls_of(operand_type(op.args[0])) in (list, tuple) for op in turned)


def _changing(prepared: Prepared) -> Set[Variable]:
    """What the program relies on, and what does not stay as it is while that runs."""
    attributes, stored = relied_on_of_objects(prepared.guards.values()), stored_attributes(prepared.graph)
    changed = {key for key in attributes if key[1] in stored}  # type: ignore[index]
    relied = relied_on(prepared.guards.values())
    if not relied:
        return changed
    own = changed | (relied.keys() & set(assigned_in(prepared.graph, prepared.cells)))
    return own | assigned_out_of_sight(relied, _holders(prepared)) if prepared.foreign else own


def _holders(prepared: Prepared) -> Iterator[Holder]:
    """The function itself, and those that were inlined."""
    graph = prepared.graph
    if graph.code is not None and graph.namespace is not None:
        yield Holder(graph.code, graph.namespace, list(prepared.cells.values()))
    for guard in prepared.guards.values():
        if isinstance(guard, CodeIs):
            yield Holder(guard.code, guard.function.__globals__, guard.function.__closure__ or ())
