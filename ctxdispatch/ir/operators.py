"""Families of Python's own functions, by what they are: operators, attributes, items, order.

`INPLACE` maps an in-place operator to the operator that it is where the first operand cannot change.
"""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

_NAMES = "add sub mul truediv floordiv mod pow matmul"
_BITS = "and_ or_ xor lshift rshift"


def _named(names: str, prefix: str = "") -> tuple[Any, ...]:
    return tuple([getattr(operator, prefix + name.rstrip("_" if prefix else "")) for name in names.split()])


ARITHMETIC = _named(_NAMES)
BITWISE = _named(_BITS)
BINARY = (*ARITHMETIC, *BITWISE)
INPLACE: dict[Any, Any] = dict(zip(_named(f"{_NAMES} {_BITS}", "i"), BINARY))
MERGES = frozenset(_named("and_ or_ xor"))
SET_OPERATORS = MERGES | {operator.sub}
COMPARISONS = _named("lt le eq ne gt ge")
SIGNS = _named("neg pos invert")
SYMBOLS: dict[Any, str] = {
    **dict(zip(BINARY, "+ - * / // % ** @ & | ^ << >>".split())),
    **dict(zip(COMPARISONS, "< <= == != > >=".split())),
    **dict(zip(SIGNS, "-+~")),
}
"""How source spells them; in place, with a `=` after it."""
UNARY = (*SIGNS, operator.abs, operator.index)
ELEMENTWISE = (
    *[f for f in BINARY if f is not operator.matmul],
    *(*SIGNS, operator.abs, builtins.abs, *COMPARISONS),
)
"""Those that arrays do element by element."""
DIVISIONS = frozenset({*_named("truediv floordiv mod itruediv ifloordiv imod"), builtins.divmod, math.fmod})
"""They fail for a divisor that is zero."""
UNITS: dict[Any, tuple[tuple[int, int], ...]] = {
    operator.mul: ((0, 1), (1, 1)),
    operator.truediv: ((1, 1),),
    operator.sub: ((1, 0),),
    operator.pow: ((1, 1),),
}
"""Which argument being which number makes the result the other argument: exactly, also for -0.0, inf and
nan."""
OPPOSITES: dict[Any, Any] = {
    f: g for a, b in (_named("is_ is_not"), _named("eq ne")) for f, g in ((a, b), (b, a))
}
"""What is true where it is not. (Not of an order: a NaN is neither less nor not less.)"""
IDENTITY = frozenset(_named("is_ is_not"))
TRUTH = frozenset(_named("truth not_"))
SUMS = _named("add sub")
PRODUCTS = _named("mul truediv")
READS = frozenset({builtins.getattr, operator.getitem, dict.get})
"""They give what an object holds, by name or key."""
FINITE = frozenset({math.isnan, math.isinf, math.isfinite})
ITEMS = _named("getitem setitem delitem")
ATTRIBUTES = (builtins.getattr, builtins.setattr, builtins.delattr)
SETS_ATTRIBUTE = frozenset(
    {
        *(builtins.setattr, object.__setattr__, type.__setattr__),
        *(builtins.delattr, object.__delattr__, type.__delattr__),
    }
)
ORDERING = (builtins.sorted, builtins.min, builtins.max, list.sort)
TO_INT = frozenset({math.floor, math.ceil, math.trunc})
ROUNDING = TO_INT | {builtins.round}
NAMESPACES = frozenset({builtins.globals, builtins.vars, builtins.locals})
"""They give dicts that are there already, of variables and attributes."""
RUNS_TEXT = frozenset({builtins.eval, builtins.exec})
OF_FRAME = NAMESPACES | RUNS_TEXT | {builtins.dir}
"""Called without arguments, they are about the frame that calls them."""
DICT_VIEWS = (dict.keys, dict.values, dict.items)
