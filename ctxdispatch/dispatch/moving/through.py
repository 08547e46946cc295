"""Rows for what goes through operands: the tag of the whole is one of each item."""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

from ctxdispatch.dispatch.moving.plain import Row, opaque
from ctxdispatch.dispatch.moving.reading import key
from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.dispatch.shadows import is_array
from ctxdispatch.dispatch.strip import Giving, given, is_iterator, refilled
from ctxdispatch.dispatch.tags import Tagged
from ctxdispatch.ir import primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def spread(call: Any, value: Any, live: bool = False) -> Any:
    """`value` such that C code that goes through it gets items with the tags of the whole. `live`: it does so
    bit by bit, and sees what becomes of `value` meanwhile."""
    metadata = call.held(value)
    bare = call.bare(value)
    if is_array(bare) and call.ctx._shadows.of(bare) is not None and bare.ndim:
        return map(functools.partial(_element, value, call.ctx), range(len(bare)))
    if not metadata:
        return value
    if not (hasattr(type(bare), "__iter__") or hasattr(type(bare), "__getitem__")):
        return bare
    giving = Giving(given, call, metadata)
    if live:
        return map(giving, call.iter(bare))
    if isinstance(bare, dict):
        return _SpreadMapping(bare, giving)
    if type(bare) in (list, tuple):
        return type(bare)([giving(item) for item in bare])
    return map(giving, call.iter(bare))


def _element(array: Any, ctx: Any, index: int) -> Any:
    from ctxdispatch.dispatch.overdub import resolve

    return resolve(ctx, operator.getitem)(array, index)


class _SpreadMapping(dict[Any, Any]):
    """A tagged mapping as C code goes through it."""

    def __init__(self, mapping: dict[Any, Any], given: Callable[[Any], Any]) -> None:
        super().__init__((given(k), given(v)) for k, v in mapping.items())


def backwards(call: Any, args: Any, kwargs: Any) -> Any:
    """reversed(xs): asks for more than an iterator."""
    if len(args) != 1:
        return call.native(*args, **kwargs)
    bare = call.bare(args[0])
    if is_array(bare) and call.ctx._shadows.of(bare) is not None and bare.ndim:
        return map(functools.partial(_element, args[0], call.ctx), reversed(range(len(bare))))
    return call.give(call.native(bare, **kwargs), call.held(args[0]))


def spreading(
    first: int = 0,
    last: int | None = None,
    result: bool = False,
    rest: Callable[..., Any] = key,
    live: bool = False,
) -> Row:
    """Operands from `first` to `last` are gone through, those before are receivers, and `rest` says what
    becomes of those after; `result`: what is made, or the receiver, is a container of keys; `live`: what is
    made goes through them."""

    def row(call: Any, args: Any, kwargs: Any) -> Any:
        before = [call.bare(a) if k == 0 else a for k, a in enumerate(args[:first])]
        end = len(args) if last is None else last
        scalars: list[Any] = []
        through = [_through(call, a, scalars, live) for a in args[first:end]]
        if result:
            through = [[*t] if is_iterator(t) else t for t in through]
        after = [rest(call, a, scalars) for a in args[end:]]
        named = {name: _keyword(name)(call, v, scalars) for name, v in kwargs.items()}
        out = call.give(call.native(*before, *through, *after, **named), scalars)
        target = before[0] if before and out is None else out
        if isinstance(target, set | frozenset | dict):
            return keyed(call, out, before, through)
        return out

    return row


def _through(call: Any, value: Any, scalars: list[Any], live: bool = False) -> Any:
    """A number among the operands says how much is gone through."""
    bare = call.bare(value)
    if type(value) is Tagged and not hasattr(type(bare), "__iter__") and not callable(bare):
        scalars += call.held(value)
        return bare
    return spread(call, value, live)


def moved(call: Any, value: Any, scalars: list[Any]) -> Any:
    return value


def _keyword(name: str) -> Callable[..., Any]:
    """What becomes of an operand of this name: it is gone through, or moved, or says how."""
    return _through if name == "iterable" else moved if name in _MOVED else key


_MOVED = frozenset({"fillvalue", "initial", "func", "key"})


def keywords(call: Any, args: Any, kwargs: Any) -> Any:
    """f(**other): names have no tags, so the values that go by a name have its."""
    target, other, *function = args
    bare = call.bare(other)
    if hasattr(type(bare), "keys"):
        of_whole = call.held(other)
        named: dict[Any, Any] = {}
        for name, value in _items(call, bare):
            metadata = [*of_whole]
            named[key(call, name, metadata)] = call.give(value, metadata)
        bare = named
    return call.native(target, bare, *map(call.bare, function), **kwargs)


def _items(call: Any, mapping: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(mapping, dict):
        return mapping.items()
    get, keys = call.resolved(operator.getitem), call.resolved(mapping.keys)()
    return ((name, get(mapping, name)) for name in call.iter(keys))


def keyed(call: Any, out: Any, receivers: Iterable[Any] = (), given: Iterable[Any] = ()) -> Any:
    """Equal keys are one: so what is there depends on the tags of all keys, those too that were `given` and
    are not there because others are."""
    more = [m for each in given if isinstance(each, _CONTAINERS) for m in call.held(*_within(each))]
    for each in (*receivers, out):
        each = call.bare(each)
        if not isinstance(each, set | frozenset | dict):
            continue
        metadata = [*call.held(*_within(each)), *more]
        if not metadata:
            continue
        if each is not call.bare(out):
            call.mark(each, metadata)
        else:
            out = call.give(out, metadata)
    return out


def _within(container: Any) -> list[Any]:
    """Its items, or keys, whatever a class derived from the builtin one makes of `iter` and `len` (which
    `list` would ask)."""
    cls: Any = next(cls for cls in _CONTAINERS if isinstance(container, cls))
    return [item for item in cls.__iter__(container)]  # noqa: C416


def display(call: Any, args: Any, kwargs: Any) -> Any:
    """{x, y}, {k: v}"""
    keys = args[::2] if call.f is primitives.build_map else args
    return keyed(call, call.native(*args, **kwargs), (), [keys])


def of_each(call: Any, args: Any, kwargs: Any) -> Any:
    """chain.from_iterable, starmap: the items are gone through too."""
    *before, last = args
    each = map(functools.partial(spread, call, live=True), call.iter(spread(call, last, live=True)))
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
    if not isinstance(bare, dict) and hasattr(type(bare), "keys") and call.held(value):
        return _SpreadMapping(dict(_items(call, bare)), Giving(given, call, call.held(value)))
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
    left = bare[0] if inplace else _alike(bare[0], spread(call, args[0]))
    right = spread(call, args[1])
    right = _alike(bare[1], right) if isinstance(bare[1], _CONTAINERS) else right
    sets = [b for b in (left, right) if isinstance(b, dict | set | frozenset)]
    out = keyed(call, call.native(left, right), [left] if inplace else [], sets)
    return args[0] if inplace and call.bare(out) is bare[0] else out


def _alike(bare: Any, items: Any) -> Any:
    """`items`, which are those of `bare`, as such a container."""
    if items is bare or type(items) is type(bare):
        return items
    return refilled(bare, items) if isinstance(bare, dict | collections.deque) else _base_of(bare)(items)


def _base_of(bare: Any) -> Any:
    return next(cls for cls in _CONTAINERS if isinstance(bare, cls))


def _repeated(call: Any, args: Any, bare: list[Any]) -> Any:
    metadata = call.held(*args)
    return call.give(call.native(*bare), metadata)


_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)

_INPLACE = (operator.iadd, operator.ior, operator.iand, operator.isub, operator.ixor, operator.imul)


def kept(call: Any, args: Any, kwargs: Any) -> Any:
    """The first is kept as it is, numbers after it are none of its business: repeat(x, n)."""
    metadata = call.held(*args[1:])
    out = call.native(*args[:1], *map(call.bare, args[1:]), **kwargs)
    return map(Giving(given, call, metadata), out) if metadata else out


def accumulate(call: Any, args: Any, kwargs: Any) -> Any:
    """Without a function the items are added, here as the context adds."""
    function = args[1] if len(args) > 1 else kwargs.pop("func", None)
    items = args[0] if args else kwargs.pop("iterable")
    add = call.resolved(operator.add) if function is None else function
    return call.native(spread(call, items, live=True), add, **kwargs)
