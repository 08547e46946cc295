"""Rules for what is Python's own: attributes, items, truth, types, iteration, containers, text.

Containers hold tracked values as they hold anything, so their methods run as they are, once the journal
knows.
"""

from __future__ import annotations

import builtins
import copy
import functools
import heapq
import operator
import types
from collections import defaultdict
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import special
from ctxdispatch.facts import IDENTITY, OF_FRAME, TRUTH
from ctxdispatch.ir import primitives
from ctxdispatch.ir.wrappers import WRAPPERS
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs.c_objects import ADDRESSES
from ctxdispatch_contexts.sparsity import arrays
from ctxdispatch_contexts.sparsity.branches import Joiner, any_of
from ctxdispatch_contexts.sparsity.by_c import class_made, is_shown
from ctxdispatch_contexts.sparsity.calls import BUFFERS, Bound
from ctxdispatch_contexts.sparsity.errors import REMEDY, TEXT
from ctxdispatch_contexts.sparsity.iterables import PYTHON, iterable
from ctxdispatch_contexts.sparsity.journal import Cursor, is_mutable
from ctxdispatch_contexts.sparsity.run import held
from ctxdispatch_contexts.sparsity.values import Array, Either, Flat, Scalar, Tracked

Args = list[Any]
Kwargs = dict[str, Any]

# -- running as they are -------------------------------------------------------------------------------------


@PYTHON.of(
    primitives.load_global, primitives.cell_get, primitives.import_name, primitives.import_from,
    primitives.build_tuple, primitives.list_to_tuple, super, property, callable, id,
    object.__getattribute__, staticmethod, classmethod, slice, issubclass, types.MethodType,
    functools.partial, functools._lru_cache_wrapper, functools.update_wrapper, tuple.__new__,
    operator.itemgetter, operator.attrgetter, *WRAPPERS,
)  # fmt: skip
def plain(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Does not look at what it moves."""
    return f(*args, **kwargs)


@PYTHON.of(
    primitives.build_list, primitives.build_set, primitives.build_map, primitives.make_cell,
    primitives.make_function, object.__new__, object, types.SimpleNamespace,
)  # fmt: skip
def making(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return run.born(f(*args, **kwargs))


@PYTHON.of(primitives.dict_merge)
def merging(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """f(**a, **b): an error names the callee, which is only told."""
    target, other, *callee = args
    run.touch(target)
    return f(target, iterable(run, other), *callee, **kwargs)


@PYTHON.of(primitives.dict_update, primitives.list_extend, primitives.set_update)
def changing(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Changes its first argument; arrays and iterators are read item by item."""
    run.touch(args[0])
    return f(args[0], *[iterable(run, a) for a in args[1:]], **kwargs)


@PYTHON.of(
    primitives.list_append, primitives.set_add, primitives.map_add, primitives.cell_set,
    primitives.cell_delete, primitives.store_global, primitives.delete_global, builtins.delattr,
    operator.delitem, heapq.heappush, heapq.heappop, heapq.heapify, heapq.heappushpop, heapq.heapreplace,
)  # fmt: skip
def moving(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Changes its first argument to hold the others."""
    run.touch(args[0])
    return f(*args, **kwargs)


# -- attributes ----------------------------------------------------------------------------------------------


@PYTHON.of(builtins.getattr)
def getattr_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    owner = run.lifted(args[0])
    for thing in (owner, args[1]):
        if isinstance(thing, Either):
            run.refuse(thing.what)
    if isinstance(owner, Cursor) and args[1] not in ("__iter__", "__next__"):
        run.refuse(f"the attribute {args[1]!r} of an iterator; take its items, with `for` or `next`")
    if isinstance(args[0], Flat) and args[1] in vars(operator):  # a module has an `__init__`, too
        return Bound(getattr(operator, args[1]), args[0])
    if not isinstance(owner, Tracked):
        if isinstance(owner, np.ndarray) and (args[1] == "data" or args[1] in ADDRESSES):
            run.seal(owner, f"its attribute {args[1]!r}")
        return getattr(*args)
    sample, name = owner.sample, args[1]
    if not hasattr(sample, name):
        if isinstance(sample, np.ndarray) and hasattr(np.flatiter, name):
            what = "places in `flat` (np.ndenumerate) of an array that depends on the inputs; use np.ndindex"
            run.refuse(what)
        return getattr(sample, *args[1:])
    if not hasattr(type(sample), name):
        run.refuse(f"a {type(sample).__name__} that depends on the inputs; use plain arrays")
    descriptor = getattr(type(sample), name)
    run.check_mixed(owner)
    if name in VALUE_FREE_ATTRIBUTES:
        return getattr(sample, name)
    if type(descriptor) in (types.GetSetDescriptorType, types.MemberDescriptorType):
        return attribute(run, owner, name, descriptor)
    bound = callable(descriptor) and not issubclass(type(getattr(descriptor, "__self__", None)), type)
    return Bound(descriptor, owner) if bound else getattr(sample, name)  # x.fromhex is its class's


VALUE_FREE_ATTRIBUTES = frozenset(
    "shape ndim size dtype itemsize nbytes strides flags __class__ __len__ __array_priority__".split()
)


def attribute(run: Any, owner: Any, name: str, descriptor: Any) -> Any:
    out = getattr(owner.sample, name)
    if isinstance(owner, Scalar):
        return run.scalar(out, owner.bits if table.vjp_rule(descriptor) else 0)
    if name == "flat":
        return Flat(owner)
    if table.vjp_rule(descriptor) is None and not table.is_zero(descriptor):
        run.refuse(
            f"attribute {name!r} of an array that depends on the inputs is not supported; "
            "use a function of NumPy's"
        )
    return arrays.moved(run, out, [owner], lambda ids: getattr(ids, name))


@PYTHON.of(builtins.setattr, object.__setattr__)
def setattr_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if len(args) != 3:
        return f(*args)  # Python's own error
    owner, name, value = args
    if name == "flat" and isinstance(owner, (Array, np.ndarray)):
        return arrays.store_in_order(run, owner, value, lambda array, v: setattr(array, "flat", v))
    if _is_part(run, owner, name):
        return run.call(operator.setitem, [run.call(getattr, [owner, name], {}), Ellipsis, value], {})
    if isinstance(args[0], Tracked) or isinstance(run.lifted(args[0]), Tracked):
        run.refuse(
            f"attribute {args[1]!r} of an array that depends on the inputs is set; use reshape or a store"
        )
    if isinstance(args[0], np.ndarray) and run.touched(args[2]):
        run.refuse(
            f"attribute {args[1]!r} of an array is set to values that depend on the inputs; store them by "
            "index: a[...] = v, a.real[...] = v"
        )
    if not issubclass(type(args[0]), (type, types.ModuleType)):
        run.touch(args[0])
    elif run.touched(args[2]) or len(run.journal.levels) > 1:
        run.refuse(
            f"a value that depends on the inputs becomes attribute {args[1]!r} of a class or "
            "module; return it"
        )
    return f(*args)


def _is_part(run: Any, owner: Any, name: str) -> bool:
    """a.real = v is a store into a view; real arrays have no other part."""
    sample = run.sampled(owner) if isinstance(owner, (Array, np.ndarray)) else None
    return sample is not None and (name == "real" or (name == "imag" and np.iscomplexobj(sample)))


# -- items ---------------------------------------------------------------------------------------------------


@PYTHON.of(operator.getitem)
def getitem(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    owner, index = run.lifted(args[0]), run.lifted(args[1])
    if isinstance(owner, (Array, np.ndarray)) or isinstance(index, Array):
        return arrays.getitem(run, owner, index)
    if isinstance(owner, Scalar) and isinstance(owner.sample, np.generic):
        return arrays.getitem(run, run.made(np.asarray(owner.sample), run.terms(owner)), index)
    if isinstance(owner, Either):
        run.refuse(owner.what)
    if isinstance(index, Scalar) and isinstance(owner, (list, tuple)):
        return any_of(run, owner)
    if run.touched(index) and not issubclass(type(owner), type):
        run.refuse(f"an index or key of a {type(owner).__name__} depends on the inputs' values; {REMEDY}")
    if isinstance(owner, defaultdict) and index not in owner and owner.default_factory is not None:
        return _made_default(run, owner, index)
    return f(owner, index)


def _made_default(run: Any, owner: Any, key: Any) -> Any:
    made = run.call(owner.default_factory, [], {})
    run.touch(owner)
    owner[key] = made
    return made


@PYTHON.of(operator.setitem)
def setitem(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    owner, index, value = args
    if isinstance(owner, (Flat, np.flatiter)) and run.touched(owner, index, value):
        return arrays.set_flat(run, owner, index, value)
    if isinstance(run.lifted(owner), (Array, np.ndarray)):
        run.check_dtype(run.lifted(owner), value)
        return arrays.setitem(run, owner, index, value)
    if isinstance(owner, Either):
        run.refuse(owner.what)
    if isinstance(owner, (np.void, *BUFFERS)) and run.touched(index, value):
        run.refuse(
            f"a value that depends on the inputs is stored into a {type(owner).__name__}, which holds none; "
            "store into the array itself"
        )
    run.touch(owner)
    if isinstance(index, slice) and isinstance(owner, list):
        value = list(iterable(run, value))
    if isinstance(index, Scalar) and isinstance(owner, list):
        joiner = Joiner(run, run.journal.clock)
        owner[:] = [joiner.value(old, value) for old in owner]
        return None
    if run.touched(index):
        run.refuse(f"an index or key of a {type(owner).__name__} depends on the inputs' values; {REMEDY}")
    return f(owner, index, value)


@PYTHON.of(operator.contains, primitives.not_contains)
def contains(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    owner, item = args
    if isinstance(owner, (Array, np.ndarray)):
        return arrays.zero(run, f, args, kwargs)
    if run.touched(item) or (isinstance(owner, (list, tuple)) and run.touched(owner)):
        return _held_by_identity(run, f, owner, item)
    return f(*args)


def _held_by_identity(run: Any, f: Any, owner: Any, item: Any) -> Any:
    numbers = (int, float, complex, np.generic, Scalar)
    if all(isinstance(x, (*numbers, str, type(None))) for x in [*iterable(run, owner), item]):
        test = operator.contains if hasattr(f, "__objclass__") else f  # the list stands for any container
        return run.scalar(test([run.sampled(x) for x in owner], run.sampled(item)), 0)
    return run.refuse(
        f"whether something is in a {type(owner).__name__} depends on the inputs' values; {REMEDY}"
    )


# -- truth, types, identity ----------------------------------------------------------------------------------


@PYTHON.of(builtins.isinstance)
def isinstance_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if isinstance(args[0], Either):
        run.refuse(args[0].what)
    run.check_mixed(args[0])
    if isinstance(args[0], Scalar):
        answers = {issubclass(cls, args[1]) for cls in args[0].types}
        return answers.pop() if len(answers) == 1 else run.scalar(True, 0)
    sample = args[0].sample if isinstance(args[0], Tracked) else args[0]
    return isinstance(sample, args[1])


@PYTHON.of(type)
def type_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if len(args) == 1:
        if isinstance(args[0], Either):
            run.refuse(args[0].what)
        run.check_mixed(args[0])
        if isinstance(args[0], Scalar) and len(args[0].types) > 1:
            names = " or ".join(sorted(cls.__name__ for cls in args[0].types))
            run.refuse(
                f"the type of a number that depends on the inputs' values is asked for: {names}; {REMEDY}"
            )
        return type(args[0].sample if isinstance(args[0], Tracked) else args[0])
    return class_made(run, f, args, kwargs)


@PYTHON.of(bool, *TRUTH)
def truth(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """bool() of containers and objects does not depend on what they hold."""
    v = run.lifted(args[0]) if args else False
    if isinstance(v, Either):
        run.refuse(v.what)
    return run.scalar(f(v.sample), 0) if isinstance(v, Tracked) else f(v)


@PYTHON.of(*IDENTITY)
def identity(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    for a, b in (args, args[::-1]):
        if isinstance(a, Either) and a is not b:
            run.refuse(a.what)
    return f(*args)


@PYTHON.of(primitives.check_bound)
def check_bound(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return f(*args)


@PYTHON.of(len)
def of_container_or_array(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """`len`: as it is of a container, of the sample of an array."""
    if isinstance(args[0], Either):
        run.refuse(args[0].what)
    run.check_mixed(args[0])
    return f(args[0].sample if isinstance(args[0], Tracked) else args[0])


@PYTHON.of(primitives.call_ex)
def call_ex(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    callee, positional = args[0], list(iterable(run, args[1]))
    return run.call(callee, positional, dict(args[2] or {}) if len(args) > 2 else {})


# -- numbers and containers under operators ------------------------------------------------------------------


@PYTHON.of(*(OF_FRAME - {builtins.vars}))
def by_name(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """What goes by the variables of whoever calls it: `eval`, `exec`, `locals`, `globals`, `vars`, `dir`."""
    if len(args) + len(kwargs) <= (f in (builtins.eval, builtins.exec)):
        run.refuse(
            f"{f.__name__} reads the variables of the function by name, which is not followed; write the "
            "code out"
        )
    return run.native(f, args, kwargs)


@PYTHON.of(builtins.vars)
def attributes_of(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return f(*args) if args else by_name(run, f, args, kwargs)


def silent(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """What tells somebody something, which is not known."""
    return None if is_shown(run, f, args, kwargs) else f(*args, **kwargs)


@PYTHON.of(
    str, repr, format, ascii, primitives.format_value, primitives.build_string,
    *[m for m in vars(str).values() if type(m) is types.MethodDescriptorType], float.as_integer_ratio,
    np.float64.as_integer_ratio,
)  # fmt: skip
def text(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return Either(TEXT) if is_shown(run, f, args, kwargs) else f(*args, **kwargs)


@PYTHON.of(copy.copy)
def copied(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """copy.copy: of arrays and numbers their own."""
    v = run.lifted(args[0])
    if isinstance(v, Scalar) or (not is_mutable(v) and not isinstance(v, Tracked)):
        return v
    if isinstance(v, Array):
        return run.call(np.ndarray.copy, [v], {})
    return run.born(copy.copy(v))


@PYTHON.of(copy.deepcopy)
def deeply_copied(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if len(args) > 1 or kwargs:
        run.refuse("a memo of copy.deepcopy is not supported; leave it out")
    return _deep(run, args[0]) if run.touched(args[0]) else run.born(copy.deepcopy(args[0]))


def _deep(run: Any, v: Any) -> Any:
    """By `copy` itself, which is told of the copies of what is tracked."""
    parts = run.reachable(v)
    written = next((p for p in parts if special(type(p), "__deepcopy__") is not None), None)
    if written is not None:
        run.refuse(
            f"`__deepcopy__` of a {type(written).__name__} that holds values that depend on the inputs is "
            "not followed; copy what it holds"
        )
    held_by_parts = [x for part in [[v], *map(held, parts)] for x in part]
    memo = {id(x): _copy_of(run, x) for x in held_by_parts if isinstance(run.lifted(x), (Tracked, Either))}
    out = copy.deepcopy(v, memo)
    for made in memo.values():
        if is_mutable(made):
            run.journal.bear(made)
    return run.born(out)


def _copy_of(run: Any, v: Any) -> Any:
    v = run.lifted(v)
    return run.call(np.ndarray.copy, [v], {}) if isinstance(v, Array) else v


@PYTHON.of(list.sort)
def sort_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    run.touch(args[0])
    args[0][:] = run.call(builtins.sorted, [args[0]], kwargs)


@PYTHON.of(builtins.hasattr)
def hasattr_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return hasattr(args[0].sample if isinstance(args[0], Tracked) else args[0], args[1])
