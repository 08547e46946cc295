"""What a program's own objects, dicts and lists hold, as variables, as long as nobody else has them.

    %o = object.__new__(C); setattr(%o, 'x', %v); ...; %y = getattr(%o, 'x')      ->      %y is %v
    %d = build_map('k', %v); setitem(%d, 'k', %w); %y = getitem(%d, 'k')          ->      %y is %w
    %c = make_cell(%v); cell_set(%c, %w); %y = cell_get(%c)                       ->      %y is %w

In SSA form, with block parameters where several writes meet. One that nobody else ever has goes altogether.
(Scalar replacement of aggregates: Muchnick, "Advanced Compiler Design and Implementation", 1997, 12.2.)

Invariant: a read that might fail, or see what somebody else has written, stays as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from operator import itemgetter

from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.analysis import DominatorTree, dominators, passed
from ctxdispatch.ir.graph import Block, Edge, Graph, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import UNDEF, Const, Operand, Value
from ctxdispatch.passes.aggregates import Key, Use, Web, find_webs
from ctxdispatch.passes.entries import Rewriting, answer_entries
from ctxdispatch.passes.resolve import class_attribute


def open_fields(graph: Graph) -> bool:
    """In place. True where something was changed."""
    webs = find_webs(graph)
    if not webs:
        return False
    fields = _Fields(graph, webs)
    rewriting = Rewriting({}, set(), {})
    for web in webs:
        _open(web, fields, rewriting)
    gone, before = rewriting.gone, rewriting.before
    if not gone and not before:
        return False
    for block in graph.blocks:
        block.ops = [op for each in block.ops for op in (*before.get(each, ()), each) if op not in gone]
    substitute(graph, rewriting.replaced)
    return True


def _open(web: Web, fields: _Fields, rewriting: Rewriting) -> None:
    replaced, gone = rewriting.replaced, rewriting.gone
    if web.reads or web.tests or web.asks or web.looks_through:
        exposed = _Exposed(web, fields, web.leaks)
        answer_entries(web, fields, exposed, rewriting)
        _read(web, fields, exposed, replaced, gone)
    used = (*web.reads, *web.tests, *web.asks, *web.looks_through, *web.finds)
    left = [use for use in used if use.op not in gone]
    if not web.leaks and not left:
        gone.update(use.op for use in web.writes)
        gone.update(web.looks)
        gone.update(web.makers.values())
        replaced.update(dict.fromkeys(web.makers, Const(None)))


def _read(
    web: Web, fields: _Fields, exposed: _Exposed, replaced: dict[Value, Operand], gone: set[Op]
) -> None:
    for use in web.reads:
        if not exposed.at(use.op) and fields.is_set(use):
            replaced[use.op.result] = fields.before(use)
            gone.add(use.op)
    for use in web.tests:
        known = _answer(use, fields) if not exposed.at(use.op) else None
        if known is not None:
            replaced[use.op.result] = Const(known is not (use.op.fn is prim.not_contains))
            gone.add(use.op)


def _answer(use: Use, fields: _Fields) -> bool | None:
    """Whether there is such a field."""
    if fields.is_unset(use):
        return False
    return True if fields.is_set(use, own=True) else None


def _made_with(op: Op, key: Key) -> Operand | None:
    """What the field is from the start."""
    if op.fn is prim.build_list:
        return op.args[key]  # type: ignore[index]
    if op.fn is prim.make_cell:
        return op.args[0] if op.args and op.args[0] is not UNDEF else None
    if op.fn is prim.build_map:
        pairs = zip(op.args[::2], op.args[1::2], strict=True)
        return {name.value: value for name, value in pairs}.get(key)  # type: ignore[union-attr]
    return dict(zip(op.kwnames, op.args, strict=True)).get(key) if op.kwnames else None  # type: ignore[arg-type]


def _keys_of(op: Op) -> list[Key]:
    return [k.value for k in op.args[::2]] if op.fn is prim.build_map else [*op.kwnames]  # type: ignore[union-attr]


class _Exposed:
    """Where somebody else may have an aggregate: after a leak, until another one is made in its place."""

    def __init__(self, web: Web, fields: _Fields, leaks: list[tuple[Block, int]]) -> None:
        self._place = place = fields.place
        self._ranges: dict[Block, list[tuple[int, float]]] = {}
        ends: dict[Block, list[int]] = {}
        for op in () if web.meets else web.makers.values():
            block, i = place[op]
            ends.setdefault(block, []).append(i)
        work = [(block, i + 1) for block, i in leaks]
        entered: set[Block] = set()
        while work:
            block, start = work.pop()
            end = min([i for i in ends.get(block, ()) if i >= start], default=float("inf"))
            self._ranges.setdefault(block, []).append((start, end))
            if end == float("inf"):
                ahead = fields.successors[block]
                work += [(b, 0) for b in ahead if b not in entered]
                entered.update(ahead)

    def at(self, op: Op) -> bool:
        return self.covers(*self._place[op])

    def covers(self, block: Block, i: int) -> bool:
        return any(start <= i < end for start, end in self._ranges.get(block, ()))


class _Fields:
    """What fields hold, found as SSA construction finds variables (Braun et al. 2013)."""

    def __init__(self, graph: Graph, webs: list[Web]) -> None:
        self.graph = graph
        self.place = {op: (block, i) for block in graph.blocks for i, op in enumerate(block.ops)}
        self.successors = {block: block.successors() for block in graph.blocks}
        self._of = {name: web for web in webs for name in web.names}
        self._preds: dict[Block, list[tuple[Block, Edge]]] = graph.predecessors()
        self._given = {
            (edge, param): arg
            for block in graph.blocks
            for edge, params in passed(block)
            for param, arg in zip(params, edge.args, strict=True)
        }
        self._asks: set[Op] = set()
        self._removes: set[Op] = set()
        self._defs: dict[tuple[Block, Value, Key], list[tuple[int, Op]]] = {}
        self._home: dict[Value, Block] = {p: block for block in graph.blocks for p in block.params}
        self._params: dict[tuple[Block, Value, Key], Value] = {}
        self._defaults: dict[tuple[Value, Key], Operand] = {}
        for web in webs:
            self._home.update((name, self.place[op][0]) for name, op in web.makers.items())
            for use in web.writes:
                block, i = self.place[use.op]
                self._defs.setdefault((block, use.name, use.key), []).append((i, use.op))
            for use in web.asks:  # which may write
                block, i = self.place[use.op]
                self._defs.setdefault((block, use.name, use.key), []).append((i, use.op))
                self._asks.add(use.op)
        for found in self._defs.values():
            found.sort(key=lambda each: each[0])

    def add(self, use: Use, place: tuple[Block, int]) -> None:
        """One more write, in the place of an op."""
        self.place[use.op] = place
        self._defs[place[0], use.name, use.key].append((place[1], use.op))
        self._defs[place[0], use.name, use.key].sort(key=lambda each: each[0])

    def settle(self, use: Use) -> None:
        """It is known what it does: it writes nothing more."""
        block, _ = self.place[use.op]
        self._asks.discard(use.op)
        known = self._defs[block, use.name, use.key]
        known[:] = [each for each in known if each[1] is not use.op]

    def remove(self, use: Use) -> None:
        """There is such a field until then, and none afterwards."""
        self._asks.discard(use.op)
        self._removes.add(use.op)

    def is_set(self, use: Use, *, own: bool = False) -> bool:
        """The field has been set whenever `use` happens. `own`: a default of the class does not count."""
        return self._always(use, True, lambda op: self._starts(op, use.key, own))

    def is_unset(self, use: Use) -> bool:
        """The field has been set on no way to `use`; a default of the class does not count."""
        return self._always(use, False, lambda op: not self._starts(op, use.key, True))

    def _always(self, use: Use, written: bool, starts: Callable[[Op], bool]) -> bool:
        """On every way to `use` the last thing that is done to the field says so: a write, or the maker."""
        block, i = self.place[use.op]
        work, seen = [(block, float(i), use.name)], set()
        while work:
            block, limit, name = work.pop()
            last = self._last(block, limit, name, use.key)
            if last is not None:
                if last in self._asks or written is (last in self._removes):
                    return False
                continue
            if name in self._of[name].makers and self._home[name] is block:
                if not starts(self._of[name].makers[name]):
                    return False
                continue
            if not self._preds[block]:
                return False
            for pred, edge in self._preds[block]:
                before = self._name_before(block, edge, name)
                if (pred, before) not in seen:
                    seen.add((pred, before))
                    work.append((pred, float("inf"), before))
        return True

    def before(self, use: Use) -> Operand:
        """What the field holds when `use` happens."""
        block, i = self.place[use.op]
        return self._read(block, i, use.name, use.key)

    def stays(self, web: Web, op: Op) -> bool:
        """Nothing is put into the dict after `op`, and nobody else has it then."""
        block, i = self.place[op]
        later = _Exposed(web, self, [(block, i)])
        writes = [self.place[use.op] for use in (*web.writes, *web.asks)]
        return not any(later.covers(*place) for place in (*writes, *web.leaks))

    def way(self, web: Web, use: Use) -> Iterator[list[tuple[Key, bool]] | None]:
        """The keys that are set or removed on the way to `use`, from where the dict is made; None where there
        are several ways, or is not known what is set."""
        block, i = self.place[use.op]
        name, limit = use.name, float(i)
        parts: list[list[tuple[Key, bool]] | None] = []
        seen: set[Block] = set()
        while block not in seen:
            seen.add(block)
            parts.append(self._set_in(web, block, limit, name))
            if name in web.makers and self._home[name] is block:
                parts.append([(key, True) for key in _keys_of(web.makers[name])])
                return reversed(parts)
            if len(self._preds[block]) == 1:
                before, edge = self._preds[block][0]
                name = self._name_before(block, edge, name)
            else:
                before = self._met(web, block, name)  # type: ignore[assignment]
                if before is None:
                    break
            block, limit = before, float("inf")
        return iter([None])

    def _met(self, web: Web, block: Block, name: Value) -> Block | None:
        """Where the ways to a block part, if none of them changes the dict, which has one name on all."""
        parting = self._dominators.idom.get(block)
        if parting is None or self._home[name] is block:
            return None
        between, work = {block}, [block]
        while work:
            more = {pred for pred, _ in self._preds[work.pop()]} - between - {parting}
            between |= more
            work += more
        changes = (self.place[use.op][0] for use in (*web.writes, *web.asks))
        return None if any(each in between for each in changes) else parting

    @functools.cached_property
    def _dominators(self) -> DominatorTree[Block]:
        return dominators(self.graph)

    def _set_in(
        self, web: Web, block: Block, limit: float, name: Value
    ) -> list[tuple[Key, bool]] | None:
        def before(uses: list[Use]) -> list[tuple[int, Key, bool]]:
            at = [(*self.place[use.op], use) for use in uses if use.name is name]
            here = [(i, use) for home, i, use in at if home is block and i < limit]
            return [(i, use.key, use.op not in self._removes) for i, use in sorted(here, key=itemgetter(0))]

        return None if before(web.asks) else [(key, there) for _, key, there in before(web.writes)]

    # -- where it is found -----------------------------------------------------------------------------------

    def _written(self, block: Block, limit: float, name: Value, key: Key) -> Operand | None:
        """By the last write in the block before op number `limit`."""
        last = self._last(block, limit, name, key)
        return None if last is None else last.args[-1]

    def _last(self, block: Block, limit: float, name: Value, key: Key) -> Op | None:
        found = [op for i, op in self._defs.get((block, name, key), ()) if i < limit]
        return found[-1] if found else None

    def _name_before(self, block: Block, edge: Edge, name: Value) -> Value:
        """The name of the same aggregate at the end of the block that `edge` leaves."""
        if self._home[name] is not block:
            return name
        given = self._given[edge, name]
        assert isinstance(given, Value)
        return given

    def _read(self, block: Block, limit: float, name: Value, key: Key) -> Operand:
        while True:
            found = self._written(block, limit, name, key)
            if found is not None:
                return found
            if (block, name, key) in self._params:
                return self._params[block, name, key]
            if name in self._of[name].makers and self._home[name] is block:
                return self._start(name, key)
            if len(self._preds[block]) != 1:
                return self._merge(block, name, key)
            pred, edge = self._preds[block][0]
            block, limit, name = pred, float("inf"), self._name_before(block, edge, name)

    def _merge(self, block: Block, name: Value, key: Key) -> Value:
        param = Value(str(key) if isinstance(key, str) else f"{name.name}_{key}")
        self._params[block, name, key] = param
        given = [
            self._read(pred, float("inf"), self._name_before(block, edge, name), key)
            for pred, edge in self._preds[block]
        ]
        block.params.append(param)
        for (_, edge), arg in zip(self._preds[block], given, strict=True):
            edge.args.append(arg)
        return param

    # -- what it is from the start ---------------------------------------------------------------------------

    def _starts(self, op: Op, key: Key, own: bool) -> bool:
        return _made_with(op, key) is not None or (not own and self._default(op, key) is not None)

    @staticmethod
    def _default(op: Op, key: Key) -> Const | None:
        """The class, where that has a value for the attribute."""
        cls = op.args[0].value if op.fn is object.__new__ and isinstance(op.args[0], Const) else None
        if cls is None or class_attribute(cls, str(key)) is None:
            return None
        return None if hasattr(type(class_attribute(cls, str(key))), "__get__") else Const(cls)

    def _start(self, name: Value, key: Key) -> Operand:
        op = self._of[name].makers[name]
        made = _made_with(op, key)
        if made is not None:
            return made
        if (name, key) not in self._defaults:
            cls = self._default(op, key)
            assert cls is not None
            value = Value(str(key))
            block, _ = self.place[op]
            at = next(i for i, other in enumerate(block.ops) if other is op)
            block.ops.insert(at, Op(Const(getattr), [cls, Const(key)], [value], (), op.pos, True))
            self._defaults[name, key] = value
        return self._defaults[name, key]


__all__ = ["open_fields"]
