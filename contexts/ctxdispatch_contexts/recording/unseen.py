"""Special methods of the user's that C code runs for its own ends, where nothing is written down.

    {c}, d[c]           C.__hash__, C.__eq__            sorted(cs), 1 in [c]      C.__lt__, C.__eq__
    "%r" % c            C.__repr__                      dir(c)                    C.__dir__

What they return is no part of a derivative; what they store may be. So C code that is given an object whose
class has a method that may store runs between two looks at what the run knows, and is refused where that has
become something else.
"""

from __future__ import annotations

import builtins
import collections
import operator
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import beyond_rules, resolve
from ctxdispatch.dispatch.reach import bind, special
from ctxdispatch.dispatch.strip import is_iterator
from ctxdispatch.ir import matching, primitives
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position
from ctxdispatch_contexts.recording import hidden, leaves, memory
from ctxdispatch_contexts.recording.acting import CALM, FEW, acting

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Run = Callable[..., Any]
Before = tuple[Any, dict[int, Any], bool]

# -- what a call looks at ------------------------------------------------------------------------------------

_LOOKS_AT_NONE = frozenset(map(id, (
    list.append, list.extend, list.clear, list.copy, list.reverse, list.__iter__, list.__len__,
    deque.append, deque.appendleft, deque.pop, deque.popleft, deque.extend, deque.clear,
    dict.values, dict.items, dict.keys, dict.copy, dict.clear, dict.popitem,
    operator.is_, operator.is_not, builtins.iter, builtins.next, builtins.enumerate, builtins.zip,
    builtins.reversed, builtins.map, builtins.filter, builtins.isinstance, builtins.issubclass, builtins.id,
    builtins.type, builtins.callable, builtins.list, builtins.tuple, builtins.super, builtins.getattr,
    builtins.setattr, builtins.delattr, builtins.len, builtins.vars, builtins.locals, builtins.globals,
    builtins.__build_class__, primitives.build_list, primitives.build_tuple, primitives.list_append,
    primitives.list_extend, primitives.list_to_tuple, primitives.unpack, primitives.unpack_ex,
    primitives.build_string, primitives.import_name,
)))  # fmt: skip
"""They move objects, or ask for their classes; attributes and lengths are followed."""

_BY_KEY = frozenset(map(id, (
    operator.getitem, operator.setitem, operator.delitem, dict.get, dict.pop, dict.setdefault,
    dict.__setitem__, dict.__getitem__, dict.__delitem__, dict.__contains__, set.add, set.discard, set.remove,
    set.__contains__, primitives.set_add, primitives.map_add, list.insert, list.pop,
)))  # fmt: skip
"""Of a container they look at a key: its own, and the one that they are given."""
_HASHED = (dict, set, frozenset)
_ORDERING = frozenset(map(id, (builtins.sorted, builtins.min, builtins.max, list.sort)))
"""By keys that they are given a function for, which is followed."""
_IN_HASHED = frozenset(map(id, (operator.contains, primitives.not_contains)))


def actors(callee: Any, args: Args, kwargs: Kwargs) -> list[type]:
    """The classes of which `callee` may run a method that stores."""
    if id(callee) in _LOOKS_AT_NONE:
        return []
    if id(callee) in _ORDERING and kwargs.get("key") is not None:
        return []
    if (id(callee) in _BY_KEY or (id(callee) in _IN_HASHED and isinstance(args[0], _HASHED))) and args:
        own = acting((args[0],), 0)
        keys = args[0] if isinstance(args[0], _HASHED) and len(args[0]) <= FEW else ()
        return own or acting((*args[1:2], *keys))
    return acting((*args, *kwargs.values()))


# -- before and after ----------------------------------------------------------------------------------------


def run_watched(ctx: Any, callee: Any, run: Run, args: Args, kwargs: Kwargs) -> Any:
    """run(*args, **kwargs), which `callee` is: refused where a method has changed what the run knows."""
    classes = actors(callee, args, kwargs) if run is callee else []  # else it may be followed, or comes again
    if not classes or ctx.record.still:
        return run(*args, **kwargs)
    return _between_two_looks(ctx.record, callee, classes, args, kwargs, ())


def _between_two_looks(
    record: Any, callee: Any, classes: list[type], args: Args, kwargs: Kwargs, apart: Iterable[Any]
) -> Any:
    before = _look(record, args, kwargs, apart)
    try:
        return callee(*args, **kwargs)
    finally:
        if _has_changed(record, before, args, kwargs):
            raise _refusal(callee, classes)


def watched(ctx: Any, callee: Any, run: Run, args: Args, kwargs: Kwargs) -> Run:
    """What `run` is, to be run with such operands, where C code may store into arrays among them."""
    classes = actors(callee, args, kwargs) if run is callee else []
    if not classes or ctx.record.still:
        return run

    def run_between(*args: Any, **kwargs: Any) -> Any:
        given = leaves.leaves((args, kwargs))
        return _between_two_looks(ctx.record, callee, classes, args, kwargs, given)

    return run_between


def _look(record: Any, args: Args, kwargs: Kwargs, apart: Iterable[Any]) -> Before:
    """`apart`: constants of which `stores.constant` sees whether they have changed."""
    but = {id(memory.owner(a)) for a in apart if isinstance(a, np.ndarray) and not record.is_active(a)}
    held = {id(part): part for part in _held(args, kwargs)}
    copies = [each for each in record.memory.copies() if id(each[0]) not in but]
    return copies, held, any(map(record.is_active, held.values()))


def _has_changed(record: Any, before: Before, args: Args, kwargs: Kwargs) -> bool:
    copies, held, active = before
    if memory.changed(copies):
        return True
    return active and any(_is_new(record, part) for part in _held(args, kwargs) if id(part) not in held)


def _is_new(record: Any, part: Any) -> bool:
    """A number that was made meanwhile, out of one that may be differentiated."""
    if not isinstance(part, np.ndarray):
        return not record.is_active(part)
    return part.dtype.kind in "fc" and record.memory.find(part) is None


def _held(args: Args, kwargs: Kwargs) -> Iterable[Any]:
    return hidden.held([*args, *kwargs.values()])


def _refusal(callee: Any, classes: list[type]) -> MissingRuleError:
    names = " or ".join(cls.__name__ for cls in classes)
    return MissingRuleError(
        f"{described(callee)} runs a special method of the class {names}, which stores into what the "
        "derivative reads, where that is not followed; have the method store nothing, or call it "
        "beforehand and give what it returns",
        user_position(),
    )


for _f in (actors, _look, _has_changed):
    # what a run looks at for itself is no part of the run around it
    _f.__overdub__ = (lambda f: lambda ctx, *args: f(*args))(_f)  # type: ignore[attr-defined]


# -- methods that are followed -------------------------------------------------------------------------------

_WITH_INDEX = frozenset(map(id, (operator.getitem, operator.setitem, operator.delitem)))


def indexed(ctx: Any, callee: Any, args: Args) -> Args:
    """container[c], of what has numbers as indices: by what c.__index__ returns."""
    if id(callee) not in _WITH_INDEX or isinstance(args[0], dict) or type(args[1]) in CALM:
        return args
    return (args[0], _index(ctx, args[1]), *args[2:])


def _index(ctx: Any, index: Any) -> Any:
    if type(index) is tuple:
        return tuple([_index(ctx, i) for i in index])
    if type(index) is slice:
        return slice(*[_index(ctx, i) for i in (index.start, index.stop, index.step)])
    method = None if type(index) in CALM else special(type(index), "__index__")
    return index if method is None else resolve(ctx, bind(method, index))()


_FROM_ITEMS = frozenset(map(id, (set, frozenset, dict.fromkeys, set.update, collections.Counter, str.join)))


def taken(ctx: Any, callee: Any, args: Args) -> Args:
    """The items of iterators that go into a hash table, to be looked at before they do."""
    if id(callee) not in _FROM_ITEMS or not any(map(is_iterator, args)):
        return args
    listed = resolve(ctx, leaves.listed)
    return tuple([listed(a) if is_iterator(a) else a for a in args])


def _truth(item: Any) -> bool:
    return bool(item)


def _filtered(ctx: Any, function: Any, items: Any, /) -> Any:
    """filter(None, items) asks for the truth of the items in C."""
    if function is None and not ctx.record.closed:
        function = _truth
    return beyond_rules(ctx, filter)(function, items)


# -- displays ------------------------------------------------------------------------------------------------


def _dir(ctx: Any, *args: Any) -> Any:
    """dir(c), where that does not tell of a frame."""
    return run_watched(ctx, dir, dir, args, {}) if args else beyond_rules(ctx, dir)()


def _rule(f: Any, keys: slice) -> Callable[..., Any]:
    """The rule for what only puts its operands in their places, of which `keys` are looked at."""

    def rule(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        if ctx.record.closed or CALM.issuperset(map(type, args[keys])):
            return f(*args, **kwargs)
        return run_watched(ctx, f, f, args, kwargs)

    return rule


RULES: dict[Any, Callable[..., Any]] = {
    primitives.build_set: _rule(primitives.build_set, slice(None)),
    primitives.build_map: _rule(primitives.build_map, slice(0, None, 2)),
    primitives.set_add: _rule(primitives.set_add, slice(1, None)),
    primitives.map_add: _rule(primitives.map_add, slice(1, 2)),
    **{f: _rule(f, slice(None)) for f in (matching.match_class, matching.match_keys)},
    builtins.filter: _filtered, builtins.dir: _dir,
}
FOLLOWED = (primitives.format_value, primitives.set_update)
