"""Elementwise operations on arrays write into an operand that dies with them, instead of into a new array.

    %u = mul(%t, %d)     ->     %u = np.multiply(%t, %d, %t)

Invariant: results are bitwise the same, and so is the order of their axes in memory, which later sums depend
on. So `%t` must be

    alike    of the result's very type, and its axes in memory in the order that a new result's would have
    fresh    made by a call whose result nothing else refers to (`MAKERS`): no argument, parameter or view
    dead     never read again, nor is any view of it; and no op that keeps a reference has had it

The pass is run last, on what is emitted: no other pass knows of calls that write into an operand. Where
shapes do not fit, the error's message has the shape of the output as well.

A ufunc with its output as last argument is the fastest form: `a * b`, `t *= b`, `multiply(t, b, t)` take 243,
214, 175 ns for 100 numbers; 1.53, 1.34, 1.32 us for 10,000; 25.4, 7.0, 7.1 us for 50,000 (NumPy 2.4, Python
3.11). Not so for `maximum`, which is three times slower in place. `power` is left alone because `x ** 2`
means another ufunc.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import CellType, CodeType, FunctionType
from typing import Any as Anything

import numpy as np

from ctxdispatch.bytecode import emit as emitting
from ctxdispatch.bytecode.original import remember
from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.facts import COPIES, MATRIX_PRODUCTS, UFUNC_OF, Fact, fact_of
from ctxdispatch.ir.analysis import liveness, reverse_postorder
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import clone, uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import effects, numpy_types
from ctxdispatch.passes.numpy_shapes import shape_argument
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.shares import is_share, lower_shares
from ctxdispatch.passes.snapshots import snapshot
from ctxdispatch.passes.types import ArrayOf, Bound, Dim, Type, operand_type


def reuse_buffers(graph: Graph) -> Graph:
    """In place. Types are those of the last inference."""
    reuse = _Reuse(graph)
    for block in reverse_postorder(graph):
        reuse.block(block)
    return graph


def emit(graph: Graph, pool: Pool, namespace: dict[str, Anything] | None = None) -> CodeType:
    """Code of `graph` with buffers reused, for functions with the cell of `pool` as the last of their
    closure. Who lifts such a function gets `graph`, which stays as it is."""
    final = clone(graph)
    final.use_pool(pool)
    if any(elementwise(op) or is_share(op) for _, op in graph.ops()):
        reuse_buffers(lower_shares(final))
        snapshot("reuse buffers", final)
    return remember(emitting.emit(final, namespace=namespace), graph, pool)


def make_function(
    graph: Graph,
    namespace: dict[str, Anything] | None = None,
    closure: tuple[CellType, ...] = (),
    pool: Pool | None = None,
) -> FunctionType:
    """As `bytecode.emit.make_function`; the closure ends with the pool."""
    if namespace is None:
        namespace = {} if graph.namespace is None else graph.namespace
    pool = pool or Pool()
    code = emit(graph, pool, namespace)
    function = FunctionType(code, namespace, code.co_name, None, (*closure, pool.cell))
    function.__qualname__ = code.co_qualname
    return function


# -- tables --------------------------------------------------------------------------------------------------

_UFUNCS = """add subtract multiply divide negative absolute fabs square sqrt reciprocal exp exp2 expm1 log
    log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh"""

IN_PLACE: dict[Anything, np.ufunc] = {getattr(np, name): getattr(np, name) for name in _UFUNCS.split()}
IN_PLACE |= {f: ufunc for f, ufunc in UFUNC_OF.items() if ufunc in IN_PLACE}
"""What is computed in place, and by which ufunc."""

DTYPES = "fd"
"""Not complex: for one element NumPy adds in place as in a reduction, and another nan may come out."""

MOST = {np.where: 3, np.tensordot: 3}
"""More of them would be an array to write into, or a memory order. Ufuncs take `nin`, others two."""

HARMLESS_KEYWORDS = frozenset({"axis", "keepdims", "dtype"})

BROADCASTING = frozenset({*numpy_types.OPERATORS, *numpy_types.UFUNCS, np.where})


# -- the pass ------------------------------------------------------------------------------------------------


class _Reuse:
    def __init__(self, graph: Graph) -> None:
        self.uses = uses(graph)
        self.liveness = liveness(graph)
        self.orders = Orders()
        self.fresh: set[Value] = set()
        self.reused: set[Op] = set()
        self.families: dict[Value, set[Value] | None] = {}

    def block(self, block: Block) -> None:
        live = self.liveness.live_out(block)
        last = {v: i for i, op in enumerate(block.ops) for v in op.operands() if isinstance(v, Value)}
        for index, op in enumerate(block.ops):
            self.orders.note(op)
            target = self._target(op, lambda v: v not in live and last.get(v, -1) <= index)  # noqa: B023
            if target is not None:
                op.callee, op.args, op.syntax = Const(IN_PLACE[op.fn]), [*op.args, target], False
                self.reused.add(op)
            if target is not None or (len(op.results) == 1 and makes_new(op)):
                self.fresh.add(op.result)

    def _target(self, op: Op, dead: Anything) -> Value | None:
        """The operand to write into."""
        if not elementwise(op):
            return None
        operands = [a for a in op.args if isinstance(a, Value)]
        for value in dict.fromkeys(operands):
            if value in self.fresh and value.type == op.result.type and self.orders.agree(value, op.result):
                family = self._family(value)
                if family is not None and all(map(dead, family)) and family.isdisjoint({*operands} - {value}):
                    return value
        return None

    def _family(self, value: Value) -> set[Value] | None:
        """`value` and every view of it; None where something may keep a reference to one of them."""
        if value not in self.families:
            self.families[value] = self._relatives(value)
        return self.families[value]

    def _relatives(self, value: Value) -> set[Value] | None:
        family, work = {value}, [value]
        while work:
            for use in self.uses[work.pop()]:
                if not isinstance(use.user, Op):
                    return None  # returned, or a parameter of the next block
                if use.user in self.reused or keeps_nothing(use.user):
                    continue
                if not makes_views(use.user):
                    return None
                work.extend(v for v in use.user.results if v not in family)
                family.update(use.user.results)
        return family


# -- questions about ops -------------------------------------------------------------------------------------


def elementwise(op: Op) -> bool:
    """May write its result, an array of known dimensions, into an operand."""
    ufunc = IN_PLACE.get(op.fn) if hashable(op.fn) else None
    if ufunc is None or op.kwnames or len(op.args) != ufunc.nin or not _settled(op.result.type):
        return False
    return _numeric(op)


def _numeric(op: Op) -> bool:
    return all(numpy_types.numeric(operand_type(a)) for a in op.args)


def _settled(type_: Type) -> bool:
    known = isinstance(type_, ArrayOf) and type_.dtype.char in DTYPES
    return known and bool(type_.dims) and None not in type_.dims  # type: ignore[attr-defined]


def _gives_new(op: Op, function: Anything) -> bool:
    """Where its type is not known, it is an array if the function can write into one."""
    known = fact_of(function)
    if known is None or not is_new(known, op.args):
        return function in COPIES
    return isinstance(op.result.type, ArrayOf) or bool(known.result and known.stores)


def is_new(row: Fact, args: Sequence[Operand]) -> bool:
    """An array that is made of these operands by a callee with this row is new."""
    of = operand_type(args[0]) if args and row.views_from else None
    return row.new_array or (isinstance(of, ArrayOf) and of.ndim < row.views_from)


def makes_new(op: Op) -> bool:
    """The result is an array that nothing else refers to."""
    if not op.results:
        return False
    call = effects.call_of(op)
    if call is not None and isinstance(call[0], PureFunction):
        return isinstance(op.result.type, ArrayOf)
    if call is None or not _gives_new(op, call[0]):
        return False
    function, args = call
    most = function.nin if type(function) is np.ufunc else MOST.get(function, 2)
    return len(args) - len(op.kwnames) <= most and set(op.kwnames) <= HARMLESS_KEYWORDS


def gives_new(op: Op) -> bool:
    """The same, in whatever order its axes lie in memory: no array to write into is given."""
    call = effects.call_of(op)
    if call is None or not _gives_new(op, call[0]):
        return False
    function, args = call
    row = fact_of(function)
    out = _MOST_OF_COPIES if row is None or function in COPIES else row.out
    if "out" in op.kwnames or (out is not None and len(args) - len(op.kwnames) > out):
        return False
    return copy_is_asked(op)


def copy_is_asked(op: Op) -> bool:
    """`copy` is True, or is not given by its name."""
    copy = op.args[op.kwnames.index("copy") - len(op.kwnames)] if "copy" in op.kwnames else Const(True)
    return isinstance(copy, Const) and copy.value is True


_MOST_OF_COPIES = 4
"""What comes after so many may say that nothing is copied."""


def keeps_nothing(op: Op) -> bool:
    """No operand can be reached through the results, or through anything else, when `op` is done."""
    if op.fn is operator.setitem:  # on an array it copies
        types = list(map(operand_type, op.args))
        return isinstance(types[0], ArrayOf) and all(map(effects.plain, types))
    return makes_new(op) or (effects.op_is_pure(op) and not effects.makes_mutable(op))


def makes_views(op: Op) -> bool:
    """At worst the results share memory with the operands."""
    return effects.op_is_pure(op) and all(isinstance(r.type, (ArrayOf, Bound)) for r in op.results)


# -- the order of axes in memory -----------------------------------------------------------------------------

Dims = tuple[Dim, ...]
Order = frozenset[Operand]
C: Order = frozenset()


class Orders:
    """The order that NumPy gives the axes of a new array (`order="K"`): `C`, or whatever the order of the
    arrays in a set makes it, which only run time knows.

    Axes of length 1 have no say. Where operands disagree about two axes the result is in C order. So an
    operand in C order that has all axes decides; of two axes any set has an order; but of more a set of
    several need not give the order that its members give in pairs, and the result stands for itself.
    """

    def __init__(self) -> None:
        self.known: dict[Value, Order] = {}

    def of(self, operand: Operand) -> Order:
        if isinstance(operand, Value):
            return self.known.get(operand, frozenset((operand,)))
        in_c = isinstance(operand.value, np.ndarray) and operand.value.flags.c_contiguous
        return C if in_c else frozenset((operand,))

    def agree(self, a: Value, b: Value) -> bool:
        return self.of(a) == self.of(b)

    def note(self, op: Op) -> None:
        if len(op.results) == 1 and isinstance(op.result.type, ArrayOf):
            found = self._result(op, op.result.type.dims)
            if found is not None:
                self.known[op.result] = found

    def _result(self, op: Op, dims: Dims) -> Order | None:
        if not makes_new(op):
            return None
        product = op.fn in MATRIX_PRODUCTS and len(dims) == 2 and all(map(_dims, op.args))
        if product or shape_argument(op.fn) == 0 or _axes(dims) < 2:
            return C
        if op.fn not in BROADCASTING or None in dims or not _numeric(op):
            return None
        return self._broadcast([a for a in op.args if _axes(_dims(a)) > 1], dims)

    def _broadcast(self, arrays: list[Operand], dims: Dims) -> Order | None:
        whole = {self.of(a) for a in arrays if _dims(a) == dims}
        if C in whole or not arrays:
            return C
        if not all(_dims(a) == dims for a in arrays):
            return None
        return frozenset().union(*whole) if _axes(dims) == 2 or len(whole) == 1 else None


def _dims(operand: Operand) -> Dims:
    type_ = operand_type(operand)
    return type_.dims if isinstance(type_, ArrayOf) else ()


def _axes(dims: Dims) -> int:
    """How many have a say."""
    return sum(d is not True for d in dims)
