"""`__array_ufunc__` and `__array_function__` of the user's, which NumPy calls in the place of its own code.

NumPy says which of a call's operands it asks, and with what arguments: each of those that have the method is
replaced by a `_StandIn`, and the first that is asked returns the `Question`. The methods are then run under
the context, in NumPy's order: from left to right, a subclass before its bases.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import bind, special
from ctxdispatch_contexts.programs.converting import FUNCTION, UFUNC, leaves_operator
from ctxdispatch_contexts.recording.callees import is_plain
from ctxdispatch_contexts.recording.spellings import SLOT, UFUNCS, of_slot

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Question(NamedTuple):
    """What NumPy asks `asked`: method(*before, *args, **kwargs)"""

    method: str
    asked: tuple[Any, ...]
    before: Args
    args: Args
    kwargs: Kwargs


class _NotAsked(BaseException):
    """NumPy's own code has begun: it has asked none of the operands."""


class _StandIn:
    """For one object among the operands of `callee`; of a class of its own, so that NumPy asks each."""

    original: Any
    callee: Any

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise _NotAsked


def _stand_in(callee: Any, method: str, value: Any) -> _StandIn:
    made = type(type(value).__name__, (_StandIn,), {method: _ASKED[method]})()
    made.original, made.callee = value, callee
    return made


def _ufunc_asked(self: _StandIn, ufunc: Any, method: str, /, *inputs: Any, **kwargs: Any) -> Question:
    out = kwargs.get("out", ())
    asked = [o for o in (*inputs, *(out if type(out) is tuple else (out,))) if issubclass(type(o), _StandIn)]
    return Question(UFUNC, _originals(asked), (ufunc, method), original(inputs), original(kwargs))


def _function_asked(self: _StandIn, function: Any, types: Any, args: Args, kwargs: Kwargs, /) -> Question:
    if function is not self.callee:
        raise _NotAsked
    classes = {type(each): each.original for each in _within((args, kwargs), _is_stand_in)}
    asked = tuple([classes[cls] for cls in types if cls in classes])
    known = tuple(dict.fromkeys(type(classes[cls]) if cls in classes else cls for cls in types))
    return Question(FUNCTION, asked, (function, known, original(args), original(kwargs)), (), {})


_ASKED = {UFUNC: _ufunc_asked, FUNCTION: _function_asked}


def _is_stand_in(value: Any) -> bool:
    return issubclass(type(value), _StandIn)


def _originals(stand_ins: Iterable[_StandIn]) -> tuple[Any, ...]:
    return tuple([each.original for each in stand_ins])


def original(value: Any) -> Any:
    return replaced(value, _is_stand_in, lambda stand_in: stand_in.original)


def replaced(value: Any, which: Callable[[Any], bool], by: Callable[[Any], Any]) -> Any:
    """`value` with by(v) for each v in it, in lists, tuples and dicts too, that is `which`; itself where none
    is."""
    if which(value):
        return by(value)
    kind = type(value)
    if kind is dict:
        items = {key: replaced(item, which, by) for key, item in value.items()}
        return value if all(items[key] is value[key] for key in value) else items
    if kind is not list and kind is not tuple:
        return value
    made = [replaced(item, which, by) for item in value]
    return value if all(a is b for a, b in zip(made, value, strict=True)) else kind(made)


def _within(value: Any, which: Callable[[Any], bool]) -> Iterator[Any]:
    if which(value):
        yield value
    elif type(value) in (list, tuple, dict):
        for item in value.values() if type(value) is dict else value:
            yield from _within(item, which)


def has_within(value: Any, which: Callable[[Any], bool]) -> bool:
    return any(True for _ in _within(value, which))


# -- who is asked --------------------------------------------------------------------------------------------


def asks(method: str, args: Args, kwargs: Kwargs) -> bool:
    """Some operand has the method, in Python."""
    has = _having(method)
    if method is UFUNC:
        return any(map(has, args)) or has_within(kwargs.get("out"), has)
    return has_within((args, kwargs), has)


def _having(method: str) -> Callable[[Any], bool]:
    return lambda value: not is_plain(value) and special(type(value), method) is not None


def answered(ctx: Any, callee: Any, method: str, args: Args, kwargs: Kwargs) -> Any:
    """What the operands' methods make of callee(*args, **kwargs); NotImplemented where NumPy asks none."""
    given, named = replaced((args, kwargs), _having(method), lambda value: _stand_in(callee, method, value))
    try:
        question = callee(*given, **named)
    except _NotAsked:
        return NotImplemented
    if not issubclass(type(question), Question):
        return NotImplemented
    for each in _in_order(question.asked):
        ask = resolve(ctx, bind(special(type(each), method), each))
        out = ask(*question.before, *question.args, **question.kwargs)
        if out is not NotImplemented:
            return out
    return callee(*args, **kwargs)  # NumPy's error


def _in_order(values: Iterable[Any]) -> list[Any]:
    """One of each class, a subclass before its bases."""
    found: list[Any] = []
    for value in values:
        cls = type(value)
        if all(cls is not type(other) for other in found):
            later = (i for i, other in enumerate(found) if issubclass(cls, type(other)))
            found.insert(next(later, len(found)), value)
    return found


# -- operators of arrays and numbers ------------------------------------------------------------------------


def slot(record: Any, method: Any, callee: Any, args: Args) -> tuple[Any, Args] | None:
    """The callee and operands that `method`, an operator's in C, comes to where it is called by its name, or
    one of its operands is of a class in Python; None where it leaves the operation to that. `callee` is the
    method as an operator."""
    found = _as_operator(method) if len(args) == 2 else None
    plain = all(map(is_plain, args))  # then the method itself can be asked: it runs nobody's code
    if found is None or not (plain or _is_of_numpy(method)):
        return (callee, args) if callee is method else (of_slot(record, callee, args), args)
    operation, turned = found
    number, other = args
    if method(*args) is NotImplemented if plain else leaves_operator(type(number), type(other)):
        return None
    return UFUNCS[operation] if _is_of_numpy(method) else operation, args[::-1] if turned else args


def _is_of_numpy(method: Any) -> bool:
    return issubclass(method.__objclass__, (np.generic, np.ndarray))


def _as_operator(method: Any) -> tuple[Any, bool] | None:
    """What np.float64.__mul__ or float.__rmul__ is in `operator`, and whether its operands are turned."""
    if type(method) is not SLOT or not (_is_of_numpy(method) or method.__objclass__ in (int, float, complex)):
        return None
    for turned, name in enumerate((method.__name__, method.__name__.replace("__r", "__", 1))):
        operation = getattr(operator, name, None)
        if operation in UFUNCS:
            return operation, bool(turned)
    return None


# -- what subclasses of arrays inherit -----------------------------------------------------------------------


def of_array(ctx: Any, array: Any, ufunc: Any, method: str, /, *inputs: Any, **kwargs: Any) -> Any:
    """super().__array_ufunc__: what NumPy does itself, unless another operand has a say."""
    others = asks(UFUNC, inputs, kwargs)
    return NotImplemented if others else resolve(ctx, getattr(ufunc, method))(*inputs, **kwargs)
