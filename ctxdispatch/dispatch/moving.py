"""Functions that only move values, and those that look at values and not at tags.

`ROWS` maps the id of a function to row(call, args, kwargs), which runs it with the tags left on what it
moves.

    read      x.a, xs[k], d.get(k)      the item with its own tags, those of the container and of the key
    write     xs[k] = v, xs.append(v)   a tag on the key is one on all of the container
    spread    list(xs), zip(xs, ys)     the tag of xs is one of each item
    choose    max(xs), sorted(xs)       what comes out depends on all items
    keyed     {x}, d | e                equal keys are one: what is in it depends on all of them
"""

from __future__ import annotations

import _thread
import bisect
import builtins
import collections
import contextvars
import copy
import functools
import heapq
import itertools
import operator
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from ctxdispatch.dispatch.opaque import Strip, is_iterator, run_opaque
from ctxdispatch.dispatch.protocols import HANDLERS
from ctxdispatch.dispatch.reach import CMETHOD, HEAPTYPE
from ctxdispatch.dispatch.shadows import is_array, is_flat
from ctxdispatch.dispatch.tags import Tagged
from ctxdispatch.ir import primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

Row = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


def opaque(call: Any, args: Any, kwargs: Any) -> Any:
    return run_opaque(call, (call.f, ()), args, kwargs)


def as_it_is(call: Any, args: Any, kwargs: Any) -> Any:
    return call.native(*args, **kwargs)


def without_tags(call: Any, args: Any, kwargs: Any) -> Any:
    """The operands without theirs, and none for the result."""
    return call.native(*map(call.bare, args), **{k: call.bare(v) for k, v in kwargs.items()})


def classes(call: Any, args: Any, kwargs: Any) -> Any:
    """isinstance, issubclass: of a tuple of classes too."""
    return without_tags(call, tuple(Strip(call).value(a) if type(a) is tuple else a for a in args), kwargs)


def about(call: Any, args: Any, kwargs: Any) -> Any:
    """Depends on the operands alone, not on what is in them: `not xs`, `len(xs)`, `x is y`."""
    strip = Strip(call)
    strip.metadata = call.held(*args)
    for a in map(call.bare, args):
        strip.metadata += call.ctx._shadows.metadata(a) if is_array(a) else ()
    return call.give(call.checked(call.f, strip, [*map(call.bare, args)], kwargs), strip.metadata)


# -- reading ---------------------------------------------------------------------------------------


def key(call: Any, value: Any, metadata: list[Any]) -> Any:
    """An index or key without tags; what they held goes to `metadata`."""
    strip = Strip(call)
    bare = strip.value(value)
    metadata += strip.metadata
    return bare


def read(call: Any, args: Any, kwargs: Any) -> Any:
    """container, key and default: the default is moved."""
    if not args:
        return call.native(*args, **kwargs)
    container = call.bare(args[0])
    if is_array(container):
        return _read_array(call, container, args, kwargs)
    if is_flat(container):
        return opaque(call, args, kwargs)
    metadata = call.held(args[0])
    keys = [key(call, k, metadata) for k in args[1:2]]
    return call.give(call.native(container, *keys, *args[2:], **kwargs), metadata)


def _read_array(call: Any, array: Any, args: Any, kwargs: Any) -> Any:
    if call.f is not operator.getitem or len(args) != 2:
        return opaque(call, args, kwargs)
    from ctxdispatch.dispatch import arrays

    return arrays.read(call, array, args[0], args[1])


def take(call: Any, args: Any, kwargs: Any) -> Any:
    """`read` that removes: what is left depends on a tagged key."""
    out = read(call, args, kwargs)
    _by_key(call, call.bare(args[0]), args[1:2])
    return out


def following(call: Any, args: Any, kwargs: Any) -> Any:
    """next(iterator, default)"""
    return call.give(call.native(call.bare(args[0]), *args[1:], **kwargs), call.held(args[0]))


def attribute(call: Any, args: Any, kwargs: Any) -> Any:
    if not 2 <= len(args) <= 3:
        return call.native(*args, **kwargs)
    value, metadata = call.bare(args[0]), call.held(*args[:2])
    if type(value) is super:
        value = _beyond(call, value)
    out = call.native(value, call.bare(args[1]), *args[2:], **kwargs)
    if not metadata:
        return out
    if type(out) is types.MethodType and out.__self__ is value:
        return types.MethodType(out.__func__, args[0])  # its `self` has the tag
    if type(out) in _BOUND and out.__self__ is value:
        return _receiving(call, out, args[0])
    return out if isinstance(out, _OF_CLASSES) else call.give(out, metadata)


def _receiving(call: Any, method: Any, receiver: Any) -> Any:
    """A C method: the tag on it is the receiver's."""
    absent = object()
    metadata = call.ctx.metadata(receiver, absent)
    return method if metadata is absent else call.ctx.tag(method, metadata)


def _beyond(call: Any, proxy: Any) -> Any:
    """super() of a tagged instance: C code binds its methods to nothing but the instance itself."""
    instance = proxy.__self__
    return super(proxy.__thisclass__, call.bare(instance)) if type(instance) is Tagged else proxy


_BOUND = (types.BuiltinMethodType, types.MethodWrapperType, CMETHOD)
_OF_CLASSES = (type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)

# -- writing ---------------------------------------------------------------------------------------


def _by_key(call: Any, container: Any, keys: Iterable[Any]) -> None:
    """A tagged key says where `container` changed: everything in it depends on it."""
    metadata: list[Any] = []
    for k in keys:
        key(call, k, metadata)
    if metadata:
        call.mark(container, metadata)


def set_item(call: Any, args: Any, kwargs: Any) -> Any:
    if len(args) != 3 or kwargs:
        return call.native(*args, **kwargs)
    container, index, value = call.bare(args[0]), args[1], args[2]
    if is_array(container):
        from ctxdispatch.dispatch import arrays

        return arrays.write(call, container, index, value)
    if not isinstance(container, _HOLDS) and not type(container).__flags__ & HEAPTYPE:
        out = opaque(call, args, kwargs)
        _written(call, container, args[1:])
        return out
    if not isinstance(container, dict):
        value = spread(call, value) if isinstance(call.bare(index), slice) else value
        index, tagged = key(call, index, []), index
        out = call.native(container, index, value)
        _by_key(call, container, [tagged])
        return out
    out = call.native(container, index, value)
    _by_key(call, container, [index])
    return out


_HOLDS = (list, dict, collections.deque, types.MappingProxyType)


def _written(call: Any, container: Any, values: Any) -> None:
    """Bytes, an `array`: no place for a tag but on the whole."""
    strip = Strip(call)
    strip.value([*values])
    container = container.base if is_flat(container) else container
    if strip.metadata and is_array(container):
        made = call.combined([*strip.metadata, *call.ctx._shadows.metadata(container)])
        if made is not None:
            call.ctx._shadows.fill(container, made)
    elif strip.metadata:
        call.mark(container, strip.metadata)


def write(call: Any, args: Any, kwargs: Any) -> Any:
    """list.append, setattr, dict.setdefault: what is moved is the last, the others but the first are keys."""
    container, *rest = args
    container = call.bare(container)
    if not isinstance(container, dict) and len(rest) > 1:
        rest, keys = [key(call, k, []) for k in rest[:-1]] + rest[-1:], rest[:-1]
    else:
        keys = rest[:-1] if len(rest) > 1 else []
    if is_array(container):  # its attributes are its memory
        out = opaque(call, args, kwargs)
        _written(call, container, rest)
        return out
    out = call.native(container, *rest, **kwargs)
    _by_key(call, container, keys)
    return out if out is None else call.give(out, call.held(args[0]))


def delete(call: Any, args: Any, kwargs: Any) -> Any:
    container = call.bare(args[0])
    metadata: list[Any] = []
    rest = [key(call, k, metadata) for k in args[1:]]
    out = call.native(container, *rest, **kwargs)
    if is_array(container):
        return out
    if metadata:
        call.mark(container, metadata)
    return out


def add_member(call: Any, args: Any, kwargs: Any) -> Any:
    """set.add, {.. for ..}: the members that a set has depend on each that is put there."""
    container = call.bare(args[0])
    out = call.native(container, *args[1:], **kwargs)
    _by_key(call, container, args[1:2])
    return out


# -- going through ---------------------------------------------------------------------------------


def spread(call: Any, value: Any) -> Any:
    """`value` such that C code that goes through it gets items with the tags of the whole."""
    metadata = call.held(value)
    bare = call.bare(value)
    if is_array(bare) and call.ctx._shadows.of(bare) is not None and bare.ndim:
        return map(functools.partial(_element, value, call.ctx), range(len(bare)))
    if not metadata:
        return value
    if not (hasattr(type(bare), "__iter__") or hasattr(type(bare), "__getitem__")):
        return bare
    given = functools.partial(_given, call, metadata)
    if isinstance(bare, dict):
        return _SpreadMapping(bare, given)
    if type(bare) in (list, tuple):
        return type(bare)([given(item) for item in bare])
    return map(given, call.iter(bare))


def _given(call: Any, metadata: list[Any], item: Any) -> Any:
    return call.give(item, metadata)


def _element(array: Any, ctx: Any, index: int) -> Any:
    from ctxdispatch.dispatch.overdub import resolve

    return resolve(ctx, operator.getitem)(array, index)


class _SpreadMapping(dict[Any, Any]):
    """A tagged mapping as C code goes through it."""

    def __init__(self, mapping: dict[Any, Any], given: Callable[[Any], Any]) -> None:
        super().__init__((given(k), given(v)) for k, v in mapping.items())


def spreading(first: int = 0, last: int | None = None, result: bool = False) -> Row:
    """Operands from `first` to `last` are gone through, those before are receivers; `result`: what is made,
    or the receiver, is a container of keys."""

    def row(call: Any, args: Any, kwargs: Any) -> Any:
        before = [call.bare(a) if k == 0 else a for k, a in enumerate(args[:first])]
        end = len(args) if last is None else last
        scalars: list[Any] = []
        through = [_through(call, a, scalars) for a in args[first:end]]
        if result:
            through = [[*t] if is_iterator(t) else t for t in through]
        named = {name: _through(call, v, scalars) for name, v in kwargs.items()}
        out = call.native(*before, *through, *args[end:], **named)
        if scalars:
            given = functools.partial(_given, call, scalars)
            out = map(given, out) if is_iterator(out) else given(out)
        target = before[0] if before and out is None else out
        if isinstance(target, set | frozenset | dict):
            return keyed(call, out, before, through)
        return out

    return row


def _through(call: Any, value: Any, scalars: list[Any]) -> Any:
    """A number among the operands says how much is gone through."""
    bare = call.bare(value)
    if type(value) is Tagged and not hasattr(type(bare), "__iter__") and not callable(bare):
        scalars += call.held(value)
        return bare
    return spread(call, value)


def keyed(call: Any, out: Any, receivers: Iterable[Any] = (), given: Iterable[Any] = ()) -> Any:
    """Equal keys are one: so what is there depends on the tags of all keys, those too that were `given` and
    are not there because others are."""
    more = [m for each in given if isinstance(each, _CONTAINERS) for m in call.held(*each)]
    for each in (*receivers, out):
        each = call.bare(each)
        if not isinstance(each, set | frozenset | dict):
            continue
        metadata = [*call.held(*each), *more]
        if not metadata:
            continue
        if each is not call.bare(out):
            call.mark(each, metadata)
        else:
            out = call.give(out, metadata)
    return out


def display(call: Any, args: Any, kwargs: Any) -> Any:
    """{x, y}, {k: v}"""
    keys = args[::2] if call.f is primitives.build_map else args
    return keyed(call, call.native(*args, **kwargs), (), [keys])


def of_each(call: Any, args: Any, kwargs: Any) -> Any:
    """chain.from_iterable, starmap: the items are gone through too."""
    *before, last = args
    each = map(functools.partial(spread, call), call.iter(spread(call, last)))
    return call.native(*before, each, **kwargs)


def to_dict(call: Any, args: Any, kwargs: Any) -> Any:
    """dict(..), dict.update(..): of a mapping or of pairs."""
    first = 0 if call.f in (dict, collections.OrderedDict) else 1
    before = [call.bare(a) if k == 0 else a for k, a in enumerate(args[:first])]
    after = [_pairs(call, a) for a in args[first:]]
    after = [[*a] if is_iterator(a) else a for a in after]
    keys = [a if isinstance(a, dict) else [*map(_first, a)] for a in after if isinstance(a, dict | list)]
    return keyed(call, call.native(*before, *after, **kwargs), before, keys)


def _first(pair: Any) -> Any:
    return pair[0] if isinstance(pair, list | tuple) and pair else None


def _pairs(call: Any, value: Any) -> Any:
    bare = call.bare(value)
    if isinstance(bare, dict) or hasattr(type(bare), "keys") or not hasattr(type(bare), "__iter__"):
        return spread(call, value)
    if type(bare).__flags__ & HEAPTYPE and type(bare) is not Tagged:
        return value
    return map(functools.partial(spread, call), call.iter(spread(call, value)))


def concatenate(call: Any, args: Any, kwargs: Any) -> Any:
    """`+` and `|` of containers; of everything else opaque."""
    bare = [*map(call.bare, args)]
    if len(bare) != 2 or not (isinstance(bare[0], _CONTAINERS) and isinstance(bare[1], (*_CONTAINERS, int))):
        into = isinstance(bare[0], list) and call.f is operator.iadd
        if not into:
            return opaque(call, args, kwargs)
    if any(type(b) is int for b in bare):
        return _repeated(call, args, bare)
    inplace = call.f in _INPLACE and not isinstance(bare[0], tuple | frozenset)
    left = bare[0] if inplace else spread(call, args[0])
    right = spread(call, args[1])
    if isinstance(bare[0], set | frozenset) and not isinstance(right, set | frozenset):
        right = set(right)
    if isinstance(bare[0], set | frozenset) and not isinstance(left, set | frozenset):
        left = type(bare[0])(left)
    sets = [b for b in (left, right) if isinstance(b, dict | set | frozenset)]
    out = keyed(call, call.native(left, right), [left] if inplace else [], sets)
    return args[0] if inplace and call.bare(out) is bare[0] else out


def _repeated(call: Any, args: Any, bare: list[Any]) -> Any:
    metadata = call.held(*args)
    return call.give(call.native(*bare), metadata)


_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
_INPLACE = (operator.iadd, operator.ior, operator.iand, operator.isub, operator.ixor, operator.imul)

# -- choosing --------------------------------------------------------------------------------------


def choose(call: Any, args: Any, kwargs: Any) -> Any:
    """max, min, sorted, heapq: tags stay, and the choice depends on all items."""
    first = args[0] if args else ()
    if len(args) == 1 and is_iterator(call.bare(first)):
        first = [*call.iter(spread(call, first))]
        args = (first,)
    strip = Strip(call)
    strip.value([*args])
    metadata = strip.metadata
    receivers = isinstance(call.bare(first), list) and call.f not in (sorted, max, min)
    given = [spread(call, first)] if len(args) == 1 and not receivers else [call.bare(first), *args[1:]]
    given = args if len(args) > 1 and not receivers else given
    named = {k: v if k == "default" else call.bare(v) for k, v in kwargs.items()}
    out = call.checked(call.f, strip, given, named)
    if not metadata:
        return out
    if receivers:
        _smear(call, call.bare(first), metadata)
    if type(out) is list and call.f in _MAKES_LISTS:
        return [call.give(item, metadata) for item in out]
    return out if out is None else call.give(out, metadata)


def _smear(call: Any, items: list[Any], metadata: list[Any]) -> None:
    for k, item in enumerate(items):
        list.__setitem__(items, k, call.give(item, metadata))


_MAKES_LISTS = (builtins.sorted, heapq.nlargest, heapq.nsmallest)


def contains(call: Any, args: Any, kwargs: Any) -> Any:
    """`in`: of a dict or set by its keys, else by all items."""
    if len(args) != 2:
        return call.native(*args, **kwargs)
    container = call.bare(args[0])
    if not isinstance(container, dict) or type(container).__contains__ is not dict.__contains__:
        return opaque(call, args, kwargs)
    metadata = call.held(args[0])
    item = key(call, args[1], metadata)
    return call.give(call.native(container, item), metadata)


def enter(call: Any, args: Any, kwargs: Any) -> Any:
    """`with`: the exit, and what entering returned."""
    leave, entered = call.native(*map(call.bare, args))
    return leave, call.give(entered, call.held(*args))


def view(call: Any, args: Any, kwargs: Any) -> Any:
    """d.keys(), xs.copy(): it has the tag of the whole."""
    return call.give(call.native(call.bare(args[0]), *args[1:], **kwargs), call.held(args[0]))


def resume(call: Any, args: Any, kwargs: Any) -> Any:
    """generator.send(x)"""
    return call.give(call.native(call.bare(args[0]), *args[1:], **kwargs), call.held(args[0]))


def kept(call: Any, args: Any, kwargs: Any) -> Any:
    """The first is kept as it is, numbers after it are none of its business: repeat(x, n)."""
    metadata = call.held(*args[1:])
    out = call.native(*args[:1], *map(call.bare, args[1:]), **kwargs)
    return map(functools.partial(_given, call, metadata), out) if metadata else out


def accumulate(call: Any, args: Any, kwargs: Any) -> Any:
    """Without a function the items are added, here as the context adds."""
    function = args[1] if len(args) > 1 else kwargs.pop("func", None)
    items = args[0] if args else kwargs.pop("iterable")
    add = call.resolved(operator.add) if function is None else function
    return call.native(spread(call, items), add, **kwargs)


def items(call: Any, args: Any, kwargs: Any) -> Any:
    """operator.itemgetter(..)(x)"""
    out = [call.resolved(operator.getitem)(args[0], k) for k in call.f.__reduce__()[1]]
    return out[0] if len(out) == 1 else tuple(out)


# -- the table -------------------------------------------------------------------------------------


def _generator() -> Any:
    yield


_GENERATOR = type(_generator())
_ONE = spreading(0, 1)
_ALL = spreading()
_OF_SELF = spreading(1)

_TABLE: list[tuple[Row, tuple[Any, ...]]] = [
    (without_tags, (
        builtins.type, builtins.id, builtins.callable, builtins.hasattr,
        object.__new__, object.__init__, weakref.ref, weakref.proxy, type.__call__, object.__init_subclass__,
    )),
    (classes, (builtins.isinstance, builtins.issubclass)),
    (about, (
        builtins.len, builtins.bool, operator.not_, operator.truth, operator.is_, operator.is_not,
    )),
    (attribute, (builtins.getattr, object.__getattribute__, type.__getattribute__)),
    (read, (
        operator.getitem, list.__getitem__, tuple.__getitem__, dict.__getitem__, dict.get,
        collections.deque.__getitem__, collections.defaultdict.__missing__,
    )),
    (take, (
        list.pop, dict.pop, dict.popitem, set.pop, collections.deque.pop, collections.deque.popleft,
        collections.OrderedDict.popitem,
    )),
    (following, (builtins.next,)),
    (set_item, (
        operator.setitem, list.__setitem__, dict.__setitem__, collections.deque.__setitem__,
        collections.OrderedDict.__setitem__,
    )),
    (write, (
        builtins.setattr, object.__setattr__, type.__setattr__, list.append, list.insert, dict.setdefault,
        collections.deque.append, collections.deque.appendleft, collections.deque.insert,
    )),
    (delete, (
        operator.delitem, builtins.delattr, object.__delattr__, list.__delitem__, dict.__delitem__,
        list.clear, dict.clear, set.clear, list.reverse, collections.deque.clear, collections.deque.rotate,
        collections.deque.reverse,
    )),
    (add_member, (set.add, set.discard, set.remove, primitives.set_add, primitives.map_add)),
    (display, (primitives.build_set, primitives.build_map)),
    (spreading(0, 1), (
        builtins.list, builtins.tuple, builtins.iter, builtins.reversed, builtins.enumerate,
        primitives.unpack, primitives.unpack_ex, primitives.list_to_tuple,
        itertools.cycle, itertools.pairwise, itertools.tee, collections.deque,
    )),
    (spreading(0, 1, result=True), (builtins.set, builtins.frozenset)),
    (_ALL, (
        builtins.zip, itertools.chain, itertools.zip_longest, itertools.product, itertools.islice,
        itertools.permutations, itertools.combinations, itertools.combinations_with_replacement,
        itertools.compress, itertools.groupby,
    )),
    (spreading(1), (
        builtins.map, builtins.filter, itertools.filterfalse, itertools.takewhile, itertools.dropwhile,
        primitives.list_extend, list.extend, list.__init__, tuple.__new__,
        collections.deque.extend, collections.deque.extendleft, collections.deque.__init__,
    )),
    (spreading(1, result=True), (
        primitives.set_update, set.__init__, set.update, set.union, frozenset.union, set.intersection,
        set.difference, set.intersection_update, set.difference_update, set.symmetric_difference,
        collections._count_elements,  # type: ignore[attr-defined]
    )),
    (spreading(1, 2), (functools.reduce,)),
    (spreading(1, 2, result=True), (dict.__dict__["fromkeys"],)),
    (of_each, (itertools.chain.__dict__["from_iterable"], itertools.starmap)),
    (to_dict, (
        builtins.dict, dict.__init__, dict.update, collections.OrderedDict, collections.OrderedDict.__init__,
        collections.OrderedDict.update, collections.defaultdict, collections.defaultdict.__init__,
        primitives.dict_update, primitives.dict_merge,
    )),
    (concatenate, (
        operator.add, operator.iadd, operator.mul, operator.imul, operator.or_, operator.ior,
    )),
    (choose, (
        builtins.max, builtins.min, builtins.sorted, list.sort, heapq.heapify, heapq.heappush, heapq.heappop,
        heapq.heappushpop, heapq.heapreplace, bisect.insort_left, bisect.insort_right,
    )),
    (contains, (operator.contains, primitives.not_contains, dict.__contains__)),
    (enter, (primitives.enter, primitives.enter_async)),
    (view, (
        dict.keys, dict.values, dict.items, list.copy, dict.copy, set.copy, collections.deque.copy,
        copy.copy, copy.deepcopy,
    )),
    (resume, (_GENERATOR.send, _GENERATOR.throw, _GENERATOR.close)),
    (accumulate, (itertools.accumulate,)),
    (kept, (itertools.repeat,)),
    (as_it_is, (
        functools.partial, types.SimpleNamespace, contextvars.ContextVar.set, contextvars.ContextVar.get,
        contextvars.Context.run, _thread.start_new_thread, types.MethodType, builtins.super, staticmethod,
        classmethod, property, operator.call, operator.itemgetter, operator.attrgetter,
    )),
]  # fmt: skip
if hasattr(_thread, "start_joinable_thread"):
    _TABLE.append((as_it_is, (_thread.start_joinable_thread,)))

ROWS: dict[int, Row] = {id(f): row for row, functions in _TABLE for f in functions}

SPREADING: frozenset[Row] = frozenset(
    row for row, functions in _TABLE if row in (choose, of_each, to_dict, accumulate) or row.__name__ == "row"
)
"""Those that go through operands."""

BY_TYPE: dict[type, Row] = {operator.itemgetter: items}
"""The same by the type of the callee."""

RULED: list[Any] = [
    *HANDLERS, primitives.build_set, primitives.build_map, primitives.set_add, primitives.map_add,
    primitives.build_string,
]  # fmt: skip
"""What does not reach `fallback` with the operands that the program gave."""
