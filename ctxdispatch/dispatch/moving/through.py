"""Rows for what goes through operands: the tag of the whole is one of each item."""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import operator
from collections.abc import Callable, Iterable
from typing import Any

from ctxdispatch.dispatch.moving.plain import HANDLED, Row, opaque
from ctxdispatch.dispatch.moving.reading import key
from ctxdispatch.dispatch.reach import HEAPTYPE, special
from ctxdispatch.dispatch.shadows import is_array
from ctxdispatch.dispatch.strip import Giving, given, is_iterator, refilled
from ctxdispatch.dispatch.tags import Tagged
from ctxdispatch.facts import INPLACE, Fact, Operands, Shares
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
    if issubclass(type(bare), dict) and _is_copied(type(bare)):
        return _SpreadMapping(_items(call, bare), giving)
    if type(bare) in (list, tuple):
        return type(bare)([giving(item) for item in bare])
    return map(giving, call.iter(bare))


def _element(array: Any, ctx: Any, index: int) -> Any:
    from ctxdispatch.dispatch.overdub import resolve

    return resolve(ctx, operator.getitem)(array, index)


class _SpreadMapping(dict[Any, Any]):
    """A tagged mapping as C code goes through it."""

    def __init__(self, items: Iterable[tuple[Any, Any]], given: Callable[[Any], Any]) -> None:
        super().__init__((given(k), given(v)) for k, v in items)


@HANDLED.of(builtins.reversed)
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
        through = [spread(call, a, live) for a in args[first:end]]
        if result:
            through = [[*t] if is_iterator(t) else t for t in through]
        after = [rest(call, a, scalars) for a in args[end:]]
        named = {name: _keyword(name)(call, v, scalars) for name, v in kwargs.items()}
        out = call.give(call.native(*before, *through, *after, **named), scalars)
        target = before[0] if before and out is None else out
        if issubclass(type(target), set | frozenset | dict):
            return keyed(call, out, before, through)
        return out

    return row


def spreading_of(f: Any, through: Operands, row: Fact) -> Row | None:
    """That of what goes `through` operands and keeps, or gives, their items; None where it makes a number or
    a text of them."""
    if not through:
        return None
    gives = row.keeps or not row.known or any(s.shares is Shares.COPIES for s in row.result)
    if not gives or "__radd__" in row.methods:
        return None
    ends = [*through.positions, *([] if through.start is None else [through.start])]
    last = max(ends) + 1 if through.start is None else None
    moves = not row.known or (last is not None and (row.calls.has(last) or row.may_share(Shares.HOLDS, last)))
    live = hasattr(getattr(f, "__self__", f), "__next__") or f is itertools.tee
    return spreading(min(ends), last, "__hash__" in row.methods, moved if moves else key, live)


HANDLED[primitives.list_to_tuple] = spreading(0, 1)
HANDLED[builtins.iter] = spreading(0, 1, live=True)


@HANDLED.of(primitives.delegated)
def delegated(call: Any, args: Any, kwargs: Any) -> Any:
    """`yield from xs`: what is sent or thrown reaches xs where it has a tag too."""
    (value,) = args
    metadata, bare = call.held(value), call.bare(value)
    if not metadata or is_array(bare):
        return call.native(spread(call, value, live=True))
    out = call.native(bare)
    return _Delegate(out, Giving(given, call, metadata)) if hasattr(type(out), "__next__") else out


class _Delegate:
    """An iterator that gives tags to its items, to what answers `send` and `throw`, to what it returns."""

    def __init__(self, iterator: Any, giving: Callable[[Any], Any]) -> None:
        self._iterator, self._giving = iterator, giving

    def __iter__(self) -> _Delegate:
        return self

    def __next__(self) -> Any:
        return self._answer(self._iterator.__next__)

    def __getattr__(self, name: str) -> Any:
        return functools.partial(self._answer, getattr(self._iterator, name))

    def _answer(self, method: Any, /, *args: Any) -> Any:
        try:
            return self._giving(method(*args))
        except StopIteration as end:
            if end.value is None:
                raise
            raise StopIteration(self._giving(end.value)) from None


def _through(call: Any, value: Any, scalars: list[Any]) -> Any:
    return spread(call, value)


def moved(call: Any, value: Any, scalars: list[Any]) -> Any:
    return value


def _keyword(name: str) -> Callable[..., Any]:
    """What becomes of an operand of this name: it is gone through, or moved, or says how."""
    return _through if name == "iterable" else moved if name in _MOVED else key


_MOVED = frozenset({"fillvalue", "initial", "func", "key"})


@HANDLED.of(primitives.dict_merge)
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
    if issubclass(type(mapping), dict) and _is_copied(type(mapping)):
        kind = collections.OrderedDict if issubclass(type(mapping), collections.OrderedDict) else dict
        return kind.items(mapping)
    get, keys = call.resolved(operator.getitem), call.resolved(mapping.keys)()
    return ((name, get(mapping, name)) for name in call.iter(keys))


def _is_copied(cls: type[dict[Any, Any]]) -> bool:
    """Whether C code takes what is in such a dict, and asks neither its `__iter__` nor its `keys`."""
    asked = ("__iter__", "keys", "__getitem__")
    first = asked if issubclass(cls, collections.OrderedDict) else asked[:1]
    return all(special(cls, name) is None for name in first)


def keyed(call: Any, out: Any, receivers: Iterable[Any] = (), given: Iterable[Any] = ()) -> Any:
    """Equal keys are one: so what is there depends on the tags of all keys, those too that were `given` and
    are not there because others are."""
    more = [m for each in given if issubclass(type(each), _CONTAINERS) for m in call.held(*_within(each))]
    for each in (*receivers, out):
        each = call.bare(each)
        if not issubclass(type(each), set | frozenset | dict):
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
    cls: Any = next(cls for cls in _CONTAINERS if issubclass(type(container), cls))
    return [item for item in cls.__iter__(container)]  # noqa: C416


@HANDLED.of(primitives.build_set, primitives.build_map)
def display(call: Any, args: Any, kwargs: Any) -> Any:
    """{x, y}, {k: v}"""
    keys = args[::2] if call.f is primitives.build_map else args
    return keyed(call, call.native(*args, **kwargs), (), [keys])


@HANDLED.of(itertools.chain.__dict__["from_iterable"], itertools.starmap)
def of_each(call: Any, args: Any, kwargs: Any) -> Any:
    """chain.from_iterable, starmap: the items are gone through too."""
    *before, last = args
    each = map(functools.partial(spread, call, live=True), call.iter(spread(call, last, live=True)))
    return call.native(*before, each, **kwargs)


@HANDLED.of(
    builtins.dict, dict.__init__, dict.update, collections.OrderedDict, collections.OrderedDict.__init__,
    collections.OrderedDict.update, collections.defaultdict, collections.defaultdict.__init__,
    primitives.dict_update,
)  # fmt: skip
def to_dict(call: Any, args: Any, kwargs: Any) -> Any:
    """dict(..), dict.update(..): of a mapping or of pairs."""
    first = 0 if call.f in (dict, collections.OrderedDict) else 1
    before = [call.bare(a) if k == 0 else a for k, a in enumerate(args[:first])]
    after = [_pairs(call, a) for a in args[first:]]
    after = [[*a] if is_iterator(a) else a for a in after]
    tables = [a for a in after if issubclass(type(a), dict | list)]
    keys = [a if issubclass(type(a), dict) else [*map(_first, a)] for a in tables]
    return keyed(call, call.native(*before, *after, **kwargs), before, keys)


def _first(pair: Any) -> Any:
    return pair[0] if issubclass(type(pair), list | tuple) and pair else None


def _pairs(call: Any, value: Any) -> Any:
    bare = call.bare(value)
    asked = hasattr(type(bare), "keys") and not (issubclass(type(bare), dict) and _is_copied(type(bare)))
    if asked and call.held(value):
        return _SpreadMapping(_items(call, bare), Giving(given, call, call.held(value)))
    if issubclass(type(bare), dict) or hasattr(type(bare), "keys") or not hasattr(type(bare), "__iter__"):
        return spread(call, value)
    if type(value).__flags__ & HEAPTYPE and type(value) is not Tagged:
        return value
    return map(functools.partial(spread, call), call.iter(spread(call, value)))


@HANDLED.of(operator.add, operator.iadd, operator.mul, operator.imul, operator.or_, operator.ior)
def concatenate(call: Any, args: Any, kwargs: Any) -> Any:
    """`+` and `|` of containers; of everything else, and where a class has an operator of its own, opaque."""
    bare = [*map(call.bare, args)]
    if len(bare) != 2 or not _concatenates(call.f, *bare):
        return opaque(call, args, kwargs)
    if issubclass(type(bare[1]), int):
        return _repeated(call, args, bare)
    inplace = call.f in INPLACE and not issubclass(type(bare[0]), tuple | frozenset)
    left = bare[0] if inplace else _alike(bare[0], spread(call, args[0]))
    right = spread(call, args[1])
    right = right if inplace and issubclass(type(left), list) else _alike(bare[1], right)
    sets = [b for b in (left, right) if issubclass(type(b), dict | set | frozenset)]
    out = keyed(call, call.native(left, right), [left] if inplace else [], sets)
    return args[0] if inplace and call.bare(out) is bare[0] else out


def _concatenates(f: Any, left: Any, right: Any) -> bool:
    """Whether it is the builtin containers' own operator that runs, and what that goes through is all there
    is. `list += x` goes through any x; a number, of its own class, says how often."""
    if not issubclass(type(left), _CONTAINERS) or not _is_inherited(type(left), _base_of(left), _OWN[f]):
        return False
    if type(right) in (int, bool):
        return f in _REPEATING
    if issubclass(type(right), _CONTAINERS) and _is_inherited(type(right), _base_of(right), _OWN[f]):
        return True
    return f is operator.iadd and issubclass(type(left), list) and not hasattr(type(right), "__radd__")


def _is_inherited(cls: type, base: type, names: tuple[str, ...]) -> bool:
    return cls is base or all(
        getattr(cls, name, None) in (getattr(base, name, None), *_of_library(name)) for name in names
    )


def _of_library(name: str) -> list[Any]:
    """How the library's own containers do it, in C or Python: as those that they are derived from."""
    return [getattr(cls, name, None) for cls in (collections.OrderedDict, collections.defaultdict)]


_OWN = {
    getattr(operator, f): tuple(f"__{each}__" for each in (*names, "iter"))
    for f, names in {
        "add": ("add", "radd"), "iadd": ("iadd", "add", "radd"), "mul": ("mul", "rmul"),
        "imul": ("imul", "mul", "rmul"), "or_": ("or", "ror"), "ior": ("ior", "or", "ror"),
    }.items()
}  # fmt: skip
"""The methods that an operator of two containers runs."""

_REPEATING = (operator.mul, operator.imul)


def _alike(bare: Any, items: Any) -> Any:
    """`items`, which are those of `bare`, as such a container."""
    if items is bare or type(items) is type(bare):
        return items
    again = issubclass(type(bare), dict | collections.deque)
    return refilled(bare, items) if again else _base_of(bare)(items)


def _base_of(bare: Any) -> Any:
    return next(cls for cls in _CONTAINERS if issubclass(type(bare), cls))


def _repeated(call: Any, args: Any, bare: list[Any]) -> Any:
    metadata = call.held(*args)
    return call.give(call.native(*bare), metadata)


_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)

@HANDLED.of(itertools.repeat)
def kept(call: Any, args: Any, kwargs: Any) -> Any:
    """The first is kept as it is, numbers after it are none of its business: repeat(x, n)."""
    metadata = call.held(*args[1:])
    out = call.native(*args[:1], *map(call.bare, args[1:]), **kwargs)
    return map(Giving(given, call, metadata), out) if metadata else out


@HANDLED.of(itertools.accumulate)
def accumulate(call: Any, args: Any, kwargs: Any) -> Any:
    """Without a function the items are added, here as the context adds."""
    if len(args) > 2 or not (args or "iterable" in kwargs):
        return call.native(*args, **kwargs)
    items = args[0] if args else kwargs.pop("iterable")
    function = args[1] if len(args) == 2 else kwargs.pop("func", None)
    add = call.resolved(operator.add) if function is None else function
    return call.native(spread(call, items, live=True), add, **kwargs)
