"""The rules of a run, by callee: what the table of derivatives says, and over it what has a pattern of its
own."""

from __future__ import annotations

import builtins
import types
from functools import cache
from typing import Any

import numpy as np

from ctxdispatch.facts import INPLACE, MERGES
from ctxdispatch_contexts.derivatives import libraries, table
from ctxdispatch_contexts.derivatives.zeros import ZEROS
from ctxdispatch_contexts.sparsity import arrays
from ctxdispatch_contexts.sparsity.calls import Rule
from ctxdispatch_contexts.sparsity.dispatched import dispatch_rules
from ctxdispatch_contexts.sparsity.journal import Cursor
from ctxdispatch_contexts.sparsity.operands import dense, when_touched
from ctxdispatch_contexts.sparsity.products import product_rules
from ctxdispatch_contexts.sparsity.python_rules import silent
from ctxdispatch_contexts.sparsity.python_table import container_rules
from ctxdispatch_contexts.sparsity.structural import structural_rules


def rules() -> dict[Any, Rule]:
    return _rules(libraries.loaded())


@cache
def _rules(loaded: tuple[str, ...]) -> dict[Any, Rule]:
    by_table: dict[str, dict[Any, Rule]] = {"zero": {}, "vjp": {}, "lowering": {}, "elementwise": {}}
    for kind, callee in table.names():
        ours = type(callee) is types.FunctionType and str(callee.__module__).startswith("ctxdispatch_")
        if kind == "elementwise" or not ours:  # rules for code of ours are for differentiating rules
            by_table[kind][callee] = KINDS[kind]
    found = {**by_table["zero"], **by_table["vjp"], **by_table["lowering"]}
    found.update({f: elementwise(f, found.get(f)) for f in by_table["elementwise"] if not table.is_zero(f)})
    rows = [(f, table.elementwise(f)) for f in by_table["elementwise"] if table.is_zero(f)]
    found.update({f: arrays.zero_of_real(row) for f, row in rows if row and not row.holomorphic})
    found.update(dict.fromkeys(INPLACE, arrays.inplace))
    found.update(dict.fromkeys(MERGES, arrays.of_numbers_or_sets))
    found[np.where] = arrays.where
    found.update({**structural_rules(), **product_rules(), **container_rules()})
    found.update({**dict.fromkeys(SILENT, silent), **dispatch_rules()})
    return found


SILENT = {
    builtins.print,
    *(f for f in ZEROS if getattr(f, "__module__", "") in ("_warnings", "warnings", "logging")),
}


def lowered(run: Any, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    with run.journal.noting() as read:
        out = run.call(table.lowering(f), args, kwargs)
    if isinstance(out, Cursor):  # `map` has taken all items by now
        out.goes_through(args)
        run.journal.ahead(out, read)
    return out


KINDS: dict[str, Rule] = {
    "zero": arrays.zero, "vjp": when_touched(dense), "lowering": when_touched(lowered),
    "elementwise": arrays.zero,
}  # fmt: skip


def elementwise(f: Any, otherwise: Rule | None) -> Rule:
    """A row counts where a call has as many arguments as it has parameters."""
    row = table.elementwise(f)
    assert row is not None
    rule, arity = arrays.elementwise(row), len(row.params)
    if otherwise is None and f is not builtins.pow:
        return rule  # type: ignore[no-any-return]

    def run_rule(run: Any, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        fits = len(args) == arity
        other = otherwise or when_touched(dense)
        return (rule if fits else other)(run, f, args, kwargs)

    return run_rule


__all__ = ["rules"]
