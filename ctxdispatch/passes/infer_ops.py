"""Inference of the ops that need more than the types of their operands: names, cells, unpacking, f(*args).

Each rule, rule(run, op, args), sets the types of the op's results in `run`, the inference under way.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import CellType as Cell
from types import GeneratorType, ModuleType
from typing import TYPE_CHECKING
from typing import Any as Anything

from ctxdispatch.bytecode.lift import is_generator
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import effects, python_types, resolve
from ctxdispatch.passes.container_types import unpacked_with_star
from ctxdispatch.passes.guards import IsSubclass
from ctxdispatch.passes.held import holds_list
from ctxdispatch.passes.lengths import plain, with_own_lengths, without_own_lengths
from ctxdispatch.passes.numpy_shapes import shape_argument
from ctxdispatch.passes.types import (
    Any,
    ArrayOf,
    Exact,
    Held,
    Known,
    Never,
    TupleOf,
    Type,
    cls_of,
    join,
    leq,
    widen,
)

if TYPE_CHECKING:
    from ctxdispatch.passes.infer import Run


SPECIAL: Registry[Callable[[Run, Op, Sequence[Type]], None]] = Registry()


def cell_key(operand: Operand) -> Anything:
    """Cells compare by contents, so they cannot be keys."""
    return operand if isinstance(operand, Value) else id(operand.value)


@SPECIAL.of(prim.load_global)
def _load_global(run: Run, op: Op, args: Sequence[Type]) -> None:
    namespace, name = (python_types.known(a) for a in args)
    unknown = name is python_types.UNKNOWN or (id(namespace), name) in run.stored
    found = resolve.UNKNOWN if unknown else resolve.global_name(
        namespace, name, constant=run.frozen, held=run.held
    )
    run.note(op, found)


@SPECIAL.of(getattr)
def _getattr(run: Run, op: Op, args: Sequence[Type]) -> None:
    name = python_types.known(args[1]) if len(args) == 2 else None
    if not isinstance(name, str):
        run.lists.keep_all(op.args, args)
        run.raise_type(op.result, Any)
        return
    if _changes(run, args[0], name):
        run.note(op, resolve.UNKNOWN)
        return
    found = resolve.attribute(args[0], name, run.path(op.args[0]), held=run.held)
    if found is resolve.UNKNOWN and run.promises:
        found = resolve.unless_hidden(args[0], name)
        run.promised.update([op] if found is not resolve.UNKNOWN else [])
    if found is resolve.UNKNOWN and not isinstance(args[0], Known):
        run.lists.foreign = True
    if found.type is Any:
        run.lists.keep(op.args[0], args[0])
    run.note(op, found)


@SPECIAL.of(setattr, operator.setitem)
def _store_held(run: Run, op: Op, args: Sequence[Type]) -> None:
    """Data in the place of data of that type, in an object or dict that an argument holds: what is believed
    of it is as true as before."""
    owner, name = args[0], python_types.known(args[1])
    plainly = isinstance(owner, Held) and resolve.stores_plainly(owner.cls, op.fn, name)
    old = owner.field(name) if plainly else None  # type: ignore[attr-defined]
    is_data = old is not None and effects.plain(old) and not holds_list(old)
    if is_data and leq(widen(plain(args[2])), old or Any):
        run.set_results(op, Known(None))
    elif op.fn is setattr and _is_made_here(run, op.args[0], owner, name):
        run.lists.keep(op.args[2], args[2])
        run.set_results(op, Known(None))
    else:
        run.call(op, Known(op.fn), args)


def _is_made_here(run: Run, operand: Operand, owner: Type, name: Anything) -> bool:
    """An object that no argument holds, nor anything else that was there before; and no code of the user's
    stores its attribute."""
    maker = run.maker.get(operand) if isinstance(operand, Value) else None
    cls = cls_of(owner)
    made = maker is not None and maker.fn is object.__new__ and cls is not None
    return made and resolve.stores_plainly(cls, setattr, name)  # type: ignore[arg-type]


@SPECIAL.of(prim.special_method)
def _special_method(run: Run, op: Op, args: Sequence[Type]) -> None:
    run.note(op, resolve.special_method(args[0], python_types.known(args[1])))


@SPECIAL.of(isinstance, issubclass)
def _ask_class(run: Run, op: Op, args: Sequence[Type]) -> None:
    """What the answer rests on, where it is known and may be another one later."""
    asks = run.type(op.callee)
    run.call(op, asks, args)
    answer = run.types.get(op.result)
    if isinstance(answer, Known) and len(args) == 2:
        cls = cls_of(args[0]) if asks == Known(isinstance) else python_types.known(args[0])
        classes = python_types.known(args[1])
        if cls is None or classes is python_types.UNKNOWN:  # a test says it
            return
        if not python_types.stays_related(cls, classes):
            run.besides.append(IsSubclass(cls, classes, answer.value))


def _changes(run: Run, owner: Type, name: str) -> bool:
    """A variable of a module, or an attribute of a class, that is not trusted."""
    known = owner.value if isinstance(owner, Known) else None
    space = vars(known) if issubclass(type(known), ModuleType) else known
    return issubclass(type(known), (ModuleType, type)) and (id(space), name) in run.stored


@SPECIAL.of(prim.import_name)
def _import_name(run: Run, op: Op, args: Sequence[Type]) -> None:
    """What has been imported before, an import statement finds again, and does nothing else."""
    found, besides = resolve.imported(*(a.value for a in op.args))  # type: ignore[union-attr]
    if found is resolve.UNKNOWN:
        run.lists.foreign = True
    run.besides += besides
    if found.guard is not None:  # the module itself is in the program, whatever is read of it
        run.besides.append(found.guard)
    run.note(op, found)


@SPECIAL.of(prim.import_from)
def _import_from(run: Run, op: Op, args: Sequence[Type]) -> None:
    """Of a module that has it: an attribute like any other."""
    name = python_types.known(args[1])
    unknown = not isinstance(args[0], Known) or _changes(run, args[0], name)
    run.note(op, resolve.UNKNOWN if unknown else resolve.attribute(args[0], name, run.path(op.args[0])))


@SPECIAL.of(prim.cell_get)
def _cell_get(run: Run, op: Op, args: Sequence[Type]) -> None:
    cell = op.args[0].value if isinstance(op.args[0], Const) else run.cells.get(op.args[0], op.args[0])
    if cell_key(op.args[0]) in run.shared_cells or (isinstance(cell, Cell) and id(cell) in run.shared_cells):
        run.note(op, resolve.UNKNOWN)
    elif isinstance(cell, Cell):
        run.note(op, resolve.cell_contents(cell, constant=run.frozen, held=run.held))
    elif isinstance(cell, Value):
        run.raise_type(
            op.result, run.contents.get(cell, Never) if run.maker_is(cell, prim.make_cell) else Any
        )
    else:
        run.note(op, resolve.Found(cell))


@SPECIAL.of(prim.make_cell)
def _make_cell(run: Run, op: Op, args: Sequence[Type]) -> None:
    run.raise_type(op.result, Exact(Cell))
    for operand in op.args:
        _store(run, op.result, operand)


@SPECIAL.of(prim.cell_set)
def _cell_set(run: Run, op: Op, args: Sequence[Type]) -> None:
    if isinstance(op.args[0], Value):
        _store(run, op.args[0], op.args[1])
    run.set_results(op, Known(None))


def _store(run: Run, cell: Value, operand: Operand) -> None:
    type_ = run.type(operand)
    run.lists.keep(operand, type_)
    old = run.contents.get(cell, Never)
    run.contents[cell] = join(old, plain(type_))
    if run.contents[cell] != old:
        run.look_again(cell)


@SPECIAL.of(prim.unpack)
def _unpack(run: Run, op: Op, args: Sequence[Type]) -> None:
    if not effects.plain_container(args[0]):
        run.lists.foreign = True
    run.lists.keep(op.args[0], args[0]) if isinstance(args[0], TupleOf) else None
    for result, type_ in zip(op.results, python_types.unpacked(args[0], len(op.results))):
        run.raise_type(result, type_)


@SPECIAL.of(prim.unpack_ex)
def _unpack_ex(run: Run, op: Op, args: Sequence[Type]) -> None:
    if not effects.plain_container(args[0]):
        run.lists.foreign = True
    run.lists.keep(op.args[0], args[0]) if isinstance(args[0], TupleOf) else None
    counts = [python_types.known(a) for a in args[1:]]
    known = python_types.UNKNOWN not in counts
    types = unpacked_with_star(args[0], *counts) if known else [Any] * len(op.results)
    for result, type_ in zip(op.results, types):
        run.raise_type(result, type_)


@SPECIAL.of(prim.call_ex)
def _call_ex(run: Run, op: Op, args: Sequence[Type]) -> None:
    """f(*args) with a tuple of known length is a call like any other."""
    kwargs = args[2] if len(args) > 2 else Known(None)
    if (
        isinstance(args[1], TupleOf)
        and kwargs == Known(None)
        and not any(map(holds_list, args[1].items))
    ):
        spread = Op(op.args[0], [Const(None)] * len(args[1].items), op.results)
        run.lists.effects_of(spread, args[0], args[1].items)
        run.set_results(op, run.call_result(args[0], args[1].items, ()))
        return
    run.lists.effects_of(op, Any, args)
    run.set_results(op, Any)


@SPECIAL.of(operator.getitem)
def _getitem(run: Run, op: Op, args: Sequence[Type]) -> None:
    """Slices of one array that leave out as much are as long as each other."""
    array, value = args[0], op.args[0]
    run.lists.effects_of(op, Known(operator.getitem), args)
    named = (
        with_own_lengths(array, value) if isinstance(array, ArrayOf) and isinstance(value, Value) else array
    )
    found = run.call_result(Known(operator.getitem), (named, *args[1:]), ())
    if isinstance(array, ArrayOf):
        found = without_own_lengths(found, value, array)
    if found is Any and not effects.reads_list(Known(operator.getitem), args):
        run.lists.keep_all(op.args, args)
    run.set_results(op, found)


@SPECIAL.of(prim.check_bound)
def _check_bound(run: Run, op: Op, args: Sequence[Type]) -> None:
    run.raise_type(op.result, run.passed_type(op.result, op.args[0]))


def result_of(run: Run, op: Op, callee: Type, result: Type) -> Type:
    """What else is known of it: a function made here that yields gives a generator, what is made in the shape
    of an array has its lengths."""
    function = run.maker.get(op.callee) if isinstance(op.callee, Value) else None
    if function is not None and function.fn is prim.make_function and is_generator(function.args[1].value):  # type: ignore[union-attr]
        return Exact(GeneratorType)
    made = isinstance(result, ArrayOf) and isinstance(callee, Known) and hashable(callee.value)
    at = shape_argument(callee.value) if made else None  # type: ignore[attr-defined]
    shape = op.args[at] if at is not None and at < len(op.args) - len(op.kwnames) else None
    maker = run.maker.get(shape) if isinstance(shape, Value) else None
    if maker is None or maker.fn is not getattr or not _is_shape(maker):
        return result
    like = run.type(maker.args[0])
    if not isinstance(like, ArrayOf) or len(like.dims) != len(result.dims):  # type: ignore[attr-defined]
        return result
    named = with_own_lengths(like, maker.args[0])
    return ArrayOf(result.dtype, tuple(n if d is None else d for n, d in zip(named.dims, like.dims)))  # type: ignore[attr-defined]


def _is_shape(op: Op) -> bool:
    return len(op.args) == 2 and isinstance(op.args[1], Const) and op.args[1].value == "shape"
