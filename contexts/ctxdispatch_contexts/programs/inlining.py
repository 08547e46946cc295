"""Inlining into the primal program: functions, functions made on the spot, generator expressions.

A call that stays a call (a function in itself, arguments that do not fit, syntax without a form in the IR) is
None here, and is differentiated at run time.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Container, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.bytecode.lift import is_generator
from ctxdispatch.facts import ORDERING, says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.cells import items_of
from ctxdispatch.passes.generators import as_list
from ctxdispatch.passes.guards import CodeIs, DefaultsAre, OfType
from ctxdispatch.passes.held import guardable, names_in, unset_in
from ctxdispatch.passes.inline import BindError, bind, emit_before, inline_call
from ctxdispatch.passes.resolve import rests_on_held
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives import lowerings
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.aliases import NOTHING, Objects
from ctxdispatch_contexts.programs.assigned import assigned_free, relied_on, relied_on_of_objects
from ctxdispatch_contexts.programs.changes import changed_objects
from ctxdispatch_contexts.programs.closures import code_entry, refuse_assigned
from ctxdispatch_contexts.programs.derived import Chain, Maker, apply_makers, with_defaults
from ctxdispatch_contexts.programs.descending import Given, calls_around, types_of
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.entry_table import entry_function
from ctxdispatch_contexts.programs.errors import OWN_FILES, DerivativeError, Refusal
from ctxdispatch_contexts.programs.lifting import form_of, generator_of, lifted
from ctxdispatch_contexts.programs.mode import Mode, Program
from ctxdispatch_contexts.programs.no_derivative import stand_at
from ctxdispatch_contexts.programs.recipes import captured, is_none, parts_of
from ctxdispatch_contexts.programs.rules import PACKAGE, RULES
from ctxdispatch_contexts.programs.staying import make_alike
from ctxdispatch_contexts.programs.taking import Taken, bring, sees_target, way_of

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared
    from ctxdispatch_contexts.programs.targets import Target

EAGER = frozenset({*ORDERING, builtins.sum, list, tuple, set, dict})
_TAKING = (primitives.list_extend, *primitives.UNPACKING)
"""Consumers that take all a generator expression has before they do anything else."""

LOOKING = (*ORDERING, builtins.sum)
"""Those that look at each item before the next is made."""


def find_makers(prepared: Prepared) -> dict[Value, Op]:
    """Of all values; the result: of functions that are made here."""
    graph = prepared.graph
    changed_functions = {op.args[0] for _, op in graph.ops() if _changes_function(op)}
    prepared.maker = {r: op for _, op in graph.ops() for r in op.results if r not in changed_functions}
    return {r: op for r, op in prepared.maker.items() if op.fn is primitives.make_function}


def _changes_function(op: Op) -> bool:
    """It gives a function other defaults, or other code."""
    if op.fn not in (setattr, delattr) or not isinstance(op.args[1], Const):
        return False
    return op.args[1].value in ("__defaults__", "__kwdefaults__", "__code__")


class Opened(NamedTuple):
    """The graph of what a call calls, what its parameters and cells are, and with what it is called."""

    graph: Graph
    args: list[Operand]
    cells: Sequence[Operand]
    given: Given


def inline(prepared: Prepared, block: Block, op: Op, target: Target) -> Block | None:
    """Inline a function that exists already; the result is the block after the call."""
    taken = _taken(prepared, op, target.function.__code__, target.function in _AS_LISTS)
    if not taken.here:
        return None
    if taken.moved:
        return block
    opened = open_function(prepared, block, op, target)
    if opened is None:
        refuse_assigned(target.function.__code__, op.pos)  # before the program has changed anything
        around = calls_around(prepared, op, target.function.__code__)
        return block if around and make_alike(prepared, block, op, target, around[-1].params) else None
    if target.function in _AS_LISTS:
        _note_looks(prepared, op)
    return _splice_opened(prepared, block, op, opened)


def open_function(
    prepared: Prepared, block: Block, op: Op, target: Target, *, ends: bool = False
) -> Opened | None:
    """`ends`: a generator that is resumed until it ends."""
    function, code = target.function, target.function.__code__
    given = types_of(prepared, op, code, [*target.first, *op.args], function)
    if given is None:
        return None
    try:
        if is_generator(code):
            graph = generator_of(code, function.__globals__, ends=ends)
        else:
            graph = clone(lifted(function))
        n = len(op.args) - len(op.kwnames)
        args = bind(
            graph.signature, [*target.first, *op.args[:n], *op.args[n:]], op.kwnames,
            function.__defaults__, function.__kwdefaults__, emit_before(block, op),
        )  # fmt: skip
    except (UnsupportedSyntax, BindError):
        return None
    if not function.__module__ or not function.__module__.startswith(PACKAGE):
        prepared.assume(CodeIs(function, code))
        if (function.__defaults__ or function.__kwdefaults__) and len(op.args) < len(graph.signature.names):
            prepared.assume(DefaultsAre(function, function.__defaults__, dict(function.__kwdefaults__ or {})))
    given = given._replace(params=tuple(args))
    return Opened(graph, args, [Const(c) for c in function.__closure__ or ()], given)


def _splice_opened(prepared: Prepared, block: Block, op: Op, opened: Opened) -> Block:
    graph, args, cells, given = opened
    if is_generator(given.code):
        graph = as_list(graph)
        _note_looks(prepared, op)
    return _splice(prepared, block, op, graph, args, cells, (*prepared.chain.get(op, ()), given))


_AS_LISTS = (lowerings.map_, lowerings.filter_)
"""What makes an iterator, read as code that makes all its items."""


def _taken(prepared: Prepared, op: Op, code: CodeType, as_list: bool = False) -> Taken:
    """Whether a call can be replaced by its code where it stands."""
    if not as_list and not is_generator(code):
        return Taken(True)
    if not _is_consumed(prepared, op, code):
        return Taken(False)
    graph, way = prepared.graph, way_of(prepared.graph, op)
    if sees_target(graph, op, way):
        return Taken(False)
    chain = prepared.chain.get(way.taker, ())  # type: ignore[arg-type]
    in_turn = any(type(each) is Given and each.code is lowerings.reduce.__code__ for each in chain)
    return bring(graph, op, way, in_turn)


def _is_consumed(prepared: Prepared, op: Op, code: CodeType) -> bool:
    """What takes the items of a generator takes all of them at once: it is the list of them. A function that
    stores something between its items is not, where they are looked at one by one."""
    if not is_generator(code):
        return True
    consumer = _eager_consumer(op, prepared.graph)
    if consumer is None or code.co_name == "<genexpr>":
        return consumer is not None
    if not _looks(prepared, consumer):
        return consumer.fn not in primitives.UNPACKING
    last = prepared.chain.get(consumer, (None,))[-1]
    adds = consumer.fn is builtins.sum or (type(last) is Given and last.code is lowerings.sum_.__code__)
    return adds and not any(i.opname.startswith(STORING) for i in dis.get_instructions(code))


STORING = (
    "STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE", "STORE_GLOBAL", "STORE_DEREF", "DELETE_ATTR", "DELETE_S",
)  # fmt: skip


def _splice(
    prepared: Prepared, block: Block, op: Op, callee: Graph, args: list[Operand], cells: Sequence[Operand],
    chain: tuple[Any, ...],
) -> Block:  # fmt: skip
    index = next(i for i, other in enumerate(block.ops) if other is op)
    blocks, rest = inline_call(prepared.graph, block, index, callee, args, cells)
    ways = [edge.args for inlined in blocks for edge in inlined.edges() if edge.target is rest]
    returned = {value for args in ways for value in args}
    for inner in [inner for inlined in blocks for inner in inlined.ops]:
        from_inside(prepared, inner, op, chain, callee, returned)
    return rest


def from_inside(
    prepared: Prepared, inner: Op, call: Op, chain: tuple[Any, ...], callee: Graph,
    returned: Container[Operand] = (),
) -> None:  # fmt: skip
    """An op of the callee that has come in the place of a call. Functions of ours stand in for what the user
    wrote: they are where that is."""
    prepared.chain[inner] = chain
    if callee.filename.startswith(OWN_FILES):
        whole = call.pos is None or any(r in returned for r in inner.results)
        stand_at(inner, call.pos if whole else call.pos._replace(part=True))  # type: ignore[union-attr]
        inner.caught |= call.caught


def inline_made(prepared: Prepared, block: Block, op: Op, making: Op) -> Block | None:
    """A call of a function made right here: its cells are values of this program."""
    taken = _taken(prepared, op, making.args[1].value)  # type: ignore[union-attr]
    if not taken.here:
        return None
    if taken.moved:
        return block
    opened = open_made(prepared, block, op, making)
    return None if opened is None else _splice_opened(prepared, block, op, opened)


def open_made(
    prepared: Prepared, block: Block, op: Op, making: Op, *, ends: bool = False
) -> Opened | None:
    namespace, code, defaults, kwdefaults, _, closure = parts_of(making)
    given = types_of(prepared, op, code, [op.callee, *op.args])
    if given is None:
        return None
    items, named = items_of(defaults, prepared.maker), _known_dict(kwdefaults)
    cells = items_of(closure, prepared.maker)
    if items is None or named is None or cells is None:
        return None
    known = tuple([c.value for c in cells if isinstance(c, Const)])
    try:
        if is_generator(code):
            graph = generator_of(code, namespace, ends=ends)
        else:
            graph = form_of(code, namespace, known if len(known) == len(cells) else ())
        args = bind(graph.signature, op.args, op.kwnames, tuple(items), named, emit_before(block, op))
    except (UnsupportedSyntax, BindError):
        return None
    return Opened(graph, args, cells, given) if len(cells) == len(graph.cells) else None


def _known_dict(operand: Operand) -> dict[str, Any] | None:
    """The keyword defaults of a function that is made, where they are known."""
    if is_none(operand):
        return {}
    known = isinstance(operand, Const) and isinstance(operand.value, dict)
    return dict(operand.value) if known else None  # type: ignore[union-attr]


def inline_entry(prepared: Prepared, block: Block, op: Op, entry: Entry) -> Block | None:
    """Inline the program that an entry makes for arguments of these types."""
    chain = prepared.chain.get(op, ())
    if entry in chain or entry.changed():
        return None
    signature = entry.signature()
    try:
        args = bind(signature, op.args, op.kwnames, entry.function.__defaults__, None, emit_before(block, op))
    except BindError:
        return None
    types = tuple([guardable(_widened(operand_type(a))) for a in args])
    if not entry.mode.open_to(types):
        return None  # run time knows more
    try:
        program = entry.derivative(types)
    except DerivativeError as error:
        error.place_call(op.pos)
        raise
    if not prepared.opens(op, entry, program) or (entry.mode.stub and _refuses(program)):
        return None
    relied = relied_on(program.guards).keys() | relied_on_of_objects(program.guards)
    if not relied.isdisjoint(prepared.untrusted) or (not prepared.held and rests_on_held(program.guards)):
        return None  # its guards are for run time
    for guard in program.guards:
        prepared.assume(guard)
    for type_ in program.types:
        prepared.unset.update(unset_in(type_))
    for type_ in (*program.types, *[g.type for g in program.guards if isinstance(g, OfType)]):
        prepared.read.update(names_in(type_))  # that the program reads
    cells = [Const(c) for c in entry.source.cells]
    return _splice(prepared, block, op, clone(program.graph), args, cells, (*chain, entry))


def _refuses(program: Program) -> bool:
    """With more types known at run time it need not."""
    return any(isinstance(op.fn, Refusal) for _, op in program.graph.ops())


def _widened(type_: T.Type) -> T.Type:
    """As an entry is called with a value of this type: numbers by their class, None as None."""
    return type_ if type_ == T.Known(None) else T.widen(type_)


def call_closure_made(prepared: Prepared, block: Block, op: Op, chain: Chain) -> bool:
    """grad(f)(x) with a function f that is made right here: the entry of f's code, what f has captured
    going first."""
    namespace, code, defaults, kwdefaults, *_ = parts_of(chain.making)
    given = items_of(defaults, prepared.maker)
    if given is None or not is_none(kwdefaults) or assigned_free(code) is not None:
        return False
    found = captured(prepared, op, chain.making, emit_before(block, op))
    if found is None:
        return False

    def function_of(maker: Maker, mode: Mode, inner: Any) -> Any:
        if inner is None:
            n, recipes = code.co_argcount, found.recipes
            return code_entry(maker.context, mode, code, namespace, n, captured=recipes).function
        return entry_function(inner, mode, maker.context, inner.__code__.co_argcount, ())

    made = apply_makers(function_of, chain, len(found.arguments), code.co_argcount, len(op.args))
    args = with_defaults(op.args, made, given)
    if args is None:
        return False
    op.callee, op.args, op.syntax = Const(made.function), [*found.arguments, *args], False
    return True


def call_method_made(prepared: Prepared, op: Op, chain: Chain, method: Target) -> bool:
    """grad(obj.name)(x): the entry of the class's function, `obj` going first."""
    function, first = method.function, method.first
    count = function.__code__.co_argcount

    def function_of(maker: Maker, mode: Mode, inner: Any) -> Any:
        return entry_function(function if inner is None else inner, mode, maker.context, count, ())

    made = apply_makers(function_of, chain, len(first), count - len(first), len(op.args))
    args = with_defaults(op.args, made, [Const(d) for d in function.__defaults__ or ()])
    if args is None or function.__kwdefaults__:
        return False
    if function.__defaults__:
        prepared.assume(DefaultsAre(function, function.__defaults__, {}))
    op.callee, op.args, op.syntax = Const(made.function), [*first, *args], False
    return True


def _note_looks(prepared: Prepared, op: Op) -> None:
    """Of what takes the items of `op`, which are all made beforehand."""
    if not _looks(prepared, _eager_consumer(op, prepared.graph)):
        return
    prepared.looks_at_items = True
    for block in prepared.graph.blocks:
        for looking in [other for other in block.ops if op.result in other.args]:
            others = [a for a in looking.args if a is not op.result and _may_change(a)]
            block.ops.insert(block.ops.index(looking), Op(Const(look_besides), others, [], (), op.pos))


@says()
def look_besides(*operands: Any) -> None:
    """Stands where something begins to look at items, and at these."""


ZERO_BY_RULE.add(look_besides)


def refuse_items_changed(graph: Graph) -> None:
    """`sum` adds each item before the next is made: where the program changes some of them, or what they are
    added to, a list of all may hold one that has changed since."""
    objects = Objects(graph)
    ops = [op for _, op in graph.ops()]
    appends = [op for op in ops if op.fn is primitives.list_append]
    whole = [a for op in ops if op.fn in (look_besides, primitives.build_list) for a in op.args]
    looked = [op.args[1] for op in appends] + whole  # of loops that are written out there is the list alone
    items = NOTHING.union(*[objects.of(a) for a in looked if _may_change(a)])
    for block in graph.blocks:
        block.ops = [op for op in block.ops if op.fn is not look_besides]
    if any(items & changed_objects(objects, op) for op in ops if op.fn is not primitives.list_append):
        raise UnsupportedSyntax("items that change", graph.filename, graph.line, graph.name)


def _may_change(operand: Operand) -> bool:
    cls = T.cls_of(operand_type(operand))
    return cls is None or not issubclass(cls, (int, float, complex, np.generic, str, bytes))


def _eager_consumer(op: Op, graph: Graph) -> Op | None:
    users = [other for _, other in graph.ops() if op.result in other.args]
    if len(users) != 1 or (users[0].fn in ORDERING and "key" in users[0].kwnames):
        return None  # `max` asks for the key of each item before it takes the next one
    if users[0].fn is builtins.enumerate:
        return _eager_consumer(users[0], graph)
    return users[0] if users[0].fn in EAGER or users[0].fn in _TAKING else None


def _looks(prepared: Prepared, consumer: Op | None) -> bool:
    """At each item before the next is made: what is read in the place of `sum` begins with a list of them."""
    if consumer is None or consumer.fn in LOOKING:
        return True
    codes = [each.code for each in prepared.chain.get(consumer, ()) if type(each) is Given]
    return any(code.co_filename.startswith(RULES) for code in codes)
