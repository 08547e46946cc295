"""One operation under several names: the slots of arrays as operators, and operators as ufuncs."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.facts import ARITHMETIC, COMPARISONS, SIGNS
from ctxdispatch_contexts.programs.errors import MissingRuleError, user_position

SLOT = type(np.ndarray.__add__)
_SPELLINGS: dict[Any, Any] = {
    found: getattr(operator, name)
    for cls in (np.ndarray, np.flatiter)
    for name in dir(operator)
    if name.startswith("__") and (found := cls.__dict__.get(name)) is not None
}


def is_call_of_first(slot: Any, args: tuple[Any, ...]) -> bool:
    """f.__call__(..) is f(..), where that is the slot of f's class itself."""
    if slot.__name__ != "__call__" or slot.__objclass__ is type or not args:
        return False
    return next((vars(c)["__call__"] for c in type(args[0]).__mro__ if "__call__" in vars(c)), None) is slot


def spelled(callee: Any) -> Any:
    """Methods of arrays that are operators, as those."""
    return _SPELLINGS.get(callee, callee) if type(callee) is SLOT else callee


class _Asked(np.ndarray):
    def __array_ufunc__(self, ufunc: Any, *args: Any, **kwargs: Any) -> Any:
        return ufunc


_ASKED: Any = np.zeros(1).view(_Asked)
UFUNCS: dict[Any, Any] = {
    **{f: f(_ASKED, _ASKED) for f in (*ARITHMETIC, *COMPARISONS)},
    **{f: f(_ASKED) for f in (*SIGNS, operator.abs)},
}
"""Which ufunc an operator is on arrays: NumPy says it itself."""
_SLOTS = frozenset({operator.getitem, operator.setitem})


def of_slot(record: Any, callee: Any, args: tuple[Any, ...]) -> Any:
    """What a method of np.ndarray, `callee` as an operator, is on a subclass that has one of its own in
    Python code: the operator would be that one again."""
    if callee in _SLOTS:
        return callee
    if callee not in UFUNCS and record.any_active(args):
        raise MissingRuleError(
            f"np.ndarray's {callee.__name__}, called by the class {type(args[0]).__name__}, has no "
            "derivative rule; use arrays of NumPy's own class (`np.asarray(x)`)",
            user_position(),
        )
    return UFUNCS.get(callee, callee)
