"""What calls of Python's builtins return, from the types of their arguments: one table, callee -> rule.

    rule(args, kwargs) -> Type     `Any` where it cannot be told, also where the call surely raises

A rule never says more than holds for every value of its argument types. Results that depend on the classes of
the operands only are found out by calling the function once on sample operands.
"""

from __future__ import annotations

import cmath
import math
import operator
import types as pytypes
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any as Anything

from ctxdispatch.ir import primitives as prim
from ctxdispatch.passes import numpy_shapes, numpy_types
from ctxdispatch.passes.types import (
    Any,
    ArrayOf,
    Exact,
    Held,
    IterOf,
    Known,
    ListOf,
    Never,
    TupleOf,
    Type,
    cls_of,
    is_literal,
    join,
    widen,
)

Args = tuple[Type, ...]
Rule = Callable[[Args, Mapping[str, Type]], Type]

RULES: dict[Anything, Rule] = {}

INT, FLOAT, BOOL, STR, COMPLEX = map(Exact, (int, float, bool, str, complex))

SAMPLES: dict[type, Anything] = {
    bool: True,
    int: 3,
    float: 1.5,
    complex: 1.5 + 0.5j,
    str: "s",
    bytes: b"s",
    pytypes.NoneType: None,
}
"""One operand per class, for functions whose result's class does not depend on the operands' values."""


def returns(type_: Type) -> Rule:
    return lambda args, kwargs: type_


def row(functions: Iterable[Anything], rule: Rule) -> None:
    RULES.update(dict.fromkeys(functions, rule))


def rule(*functions: Anything) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        row(functions, function)
        return function

    return register


def known(type_: Type) -> Anything:
    """The value of a Known, else `UNKNOWN`. A tuple of them is a tuple of their values."""
    if isinstance(type_, Known):
        return type_.value
    if isinstance(type_, TupleOf):
        items = tuple(map(known, type_.items))
        return UNKNOWN if any(item is UNKNOWN for item in items) else items
    return UNKNOWN


UNKNOWN: Anything = object()


# -- operators on scalars ------------------------------------------------------------------------------------

INPLACE: dict[Anything, Anything] = {
    getattr(operator, "i" + name): getattr(operator, name + "_" * (name in ("and", "or")))
    for name in (
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "matmul",
        "lshift",
        "rshift",
        "and",
        "or",
    )
}
INPLACE[operator.ixor] = operator.xor

BINARY = [f for f in dict.fromkeys(INPLACE.values()) if f not in (operator.pow, operator.matmul)]
UNARY = [operator.neg, operator.pos, operator.invert, operator.abs, operator.index]
COMPARE = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]

SCALARS = frozenset(SAMPLES)


@lru_cache(maxsize=4096)
def sampled(function: Anything, classes: tuple[type, ...]) -> Type:
    """The type of `function` on the samples of `classes`."""
    try:
        return Exact(type(function(*[SAMPLES[cls] for cls in classes])))
    except Exception:
        return Any


def by_sample(function: Anything) -> Rule:
    def apply(args: Args, kwargs: Mapping[str, Type]) -> Type:
        classes = tuple([c for c in map(cls_of, args) if c in SCALARS])
        return sampled(function, classes) if len(classes) == len(args) and not kwargs else Any

    return apply


for _f in (*BINARY, *UNARY, *COMPARE, divmod, abs):
    RULES[_f] = by_sample(_f)
RULES[divmod] = lambda args, kwargs: _divmod(args)


def _divmod(args: Args) -> Type:
    parts = tuple(RULES[f](args, {}) for f in (operator.floordiv, operator.mod))
    return Any if Any in parts else TupleOf(parts)


@rule(operator.add)
def _add(args: Args, kwargs: Mapping[str, Type]) -> Type:
    match args:
        case (TupleOf(a), TupleOf(b)):
            return TupleOf(a + b)
        case (ListOf(a), ListOf(b)):
            return ListOf(join(a, b))
    return _sampled_add(args, kwargs)


_sampled_add = by_sample(operator.add)


@rule(operator.pow, pow, math.pow)
def _pow(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Classes decide only partly: 2 ** -1 is a float, (-8.0) ** 0.5 complex."""
    if len(args) != 2:
        return Any
    base, exponent = map(cls_of, args)
    if complex in (base, exponent) and {base, exponent} <= {int, float, complex}:
        return COMPLEX
    value = known(args[1])
    if exponent is int and base is float:
        return FLOAT
    if exponent is int and base is int and value is not UNKNOWN:
        return INT if value >= 0 else FLOAT
    if exponent is float and base in (int, float) and _surely_real(known(args[0]), value):
        return FLOAT
    return Any


def _surely_real(base: Anything, exponent: Anything) -> bool:
    return (base is not UNKNOWN and base >= 0) or (exponent is not UNKNOWN and exponent.is_integer())


RULES[math.pow] = returns(FLOAT)


@rule(operator.is_, operator.is_not)
def _is(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return BOOL


def identical(a: Type, b: Type) -> bool | None:
    """Whether values of these types are one object: None where that is not known."""
    singletons = [isinstance(t, Known) and not _copied(t.value) for t in (a, b)]
    if all(singletons):
        return a.value is b.value  # type: ignore[attr-defined]
    classes = cls_of(a), cls_of(b)
    return False if None not in classes and classes[0] is not classes[1] else None


def _copied(value: Anything) -> bool:
    """Equal literals may or may not be one object, and a bound builtin is made anew each time."""
    if value is None or value is ... or isinstance(value, bool):
        return False
    return is_literal(value) or isinstance(value, pytypes.BuiltinMethodType)


def _is_rule(negate: bool) -> Rule:
    def apply(args: Args, kwargs: Mapping[str, Type]) -> Type:
        same = identical(*args)
        return BOOL if same is None else Known(same is not negate)

    return apply


RULES[operator.is_], RULES[operator.is_not] = _is_rule(False), _is_rule(True)


# -- truth, length, classes ----------------------------------------------------------------------------------


def truth(type_: Type) -> bool | None:
    """bool() of a value of this type: None where that is not known."""
    if isinstance(type_, Known):
        if is_literal(type_.value):
            return bool(type_.value)
        return True if isinstance(type_.value, (pytypes.FunctionType, pytypes.BuiltinFunctionType)) else None
    if isinstance(type_, TupleOf):
        return len(type_.items) > 0
    return None


def _truth_rule(negate: bool) -> Rule:
    def apply(args: Args, kwargs: Mapping[str, Type]) -> Type:
        value = truth(args[0]) if args else False
        return BOOL if value is None else Known(value is not negate)

    return apply


RULES[bool], RULES[operator.truth], RULES[operator.not_] = (
    _truth_rule(False),
    _truth_rule(False),
    _truth_rule(True),
)


@rule(len)
def _len(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return Known(len(args[0].items)) if args and isinstance(args[0], TupleOf) else INT


@rule(type)
def _type(args: Args, kwargs: Mapping[str, Type]) -> Type:
    cls = cls_of(args[0]) if len(args) == 1 else None
    return Any if cls is None else Known(cls)


@rule(isinstance)
def _isinstance(args: Args, kwargs: Mapping[str, Type]) -> Type:
    cls, classes = cls_of(args[0]), known(args[1])
    if cls is None or classes is UNKNOWN or not _ordinary(classes):
        return BOOL
    if _pretends(cls) and not issubclass(cls, classes):
        return BOOL
    return Known(issubclass(cls, classes))


@rule(issubclass)
def _issubclass(args: Args, kwargs: Mapping[str, Type]) -> Type:
    cls, classes = map(known, args)
    if isinstance(cls, type) and classes is not UNKNOWN and _ordinary(classes):
        return Known(issubclass(cls, classes))
    return BOOL


def _ordinary(classes: Anything) -> bool:
    """isinstance() with these runs no code of the user's."""
    if isinstance(classes, tuple):
        return all(map(_ordinary, classes))
    if isinstance(classes, pytypes.UnionType):
        return all(map(_ordinary, classes.__args__))
    return type(classes) in (type, ABCMeta)


def _pretends(cls: type) -> bool:
    """Instances may give another `__class__`, which isinstance() asks for as well."""
    return any(
        "__class__" in vars(c) or "__getattribute__" in vars(c) for c in cls.__mro__[:-1]
    ) and not builtin(cls)


def builtin(cls: type) -> bool:
    """A class that cannot be changed: its attributes need no guard."""
    return bool(cls.__flags__ & (1 << 8))


# -- conversions ---------------------------------------------------------------------------------------------

row([float], returns(FLOAT))
row([int], returns(INT))
row([complex], returns(COMPLEX))
row([hash, id, ord], returns(INT))
row([chr, bin, hex, oct, prim.build_string], returns(STR))
row([callable, operator.contains, prim.not_contains], returns(BOOL))
row([range], returns(Exact(range)))
row([print, delattr, setattr, operator.setitem, operator.delitem], returns(Known(None)))
row([prim.store_global, prim.delete_global, prim.cell_set, prim.cell_delete], returns(Known(None)))
row([prim.set_add, prim.map_add, prim.list_append, prim.list_extend], returns(Known(None)))
row([prim.set_update, prim.dict_update, prim.dict_merge], returns(Known(None)))
row([dict, prim.build_map], returns(Exact(dict)))
row([set, prim.build_set], returns(Exact(set)))
row([frozenset], returns(Exact(frozenset)))
row([prim.make_cell], returns(Exact(pytypes.CellType)))
row([prim.make_function], returns(Exact(pytypes.FunctionType)))
row([object], returns(Exact(object)))


@rule(str, repr, ascii, prim.format_value)
def _str(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """str(x) of a user's class may be of a subclass of str."""
    return STR if all(cls_of(a) in SCALARS for a in args) else Any


@rule(slice)
def _slice(args: Args, kwargs: Mapping[str, Type]) -> Type:
    values = [known(a) for a in args]
    if any(v is UNKNOWN or not (v is None or type(v) is int) for v in values):
        return Exact(slice)
    return Known(slice(*values))


@rule(tuple, prim.list_to_tuple)
def _tuple(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return args[0] if args and isinstance(args[0], TupleOf) else (Exact(tuple) if args else TupleOf(()))


@rule(list, sorted)
def _list(args: Args, kwargs: Mapping[str, Type]) -> Type:
    item = item_of(args[0]) if args else Never
    return Exact(list) if item is Any else ListOf(item)


@rule(round)
def _round(args: Args, kwargs: Mapping[str, Type]) -> Type:
    if len(args) == 1 and cls_of(args[0]) in (int, float, bool):
        return INT
    if len(args) == 2 and cls_of(args[0]) is float and cls_of(args[1]) is int:
        return FLOAT
    return Any


@rule(min, max)
def _extremum(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Of scalars only: arrays raise, and what a user's class does is not known."""
    items = args if len(args) > 1 else (item_of(args[0]),) if args else ()
    if kwargs or not all(cls_of(i) in SCALARS for i in items):
        return Any
    return join_all(map(widen, items))


def _plus(a: Type, b: Type) -> Type:
    either = any(map(numpy_types.is_numpy, (a, b)))
    return numpy_types.elementwise(operator.add, (a, b), {}) if either else _add((a, b), {})


@rule(sum)
def _sum(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """sum() adds up from the left, and gives the start (0) for an empty iterable."""
    item = item_of(args[0])
    total = widen(args[1]) if len(args) > 1 else kwargs.get("start", INT)
    if isinstance(args[0], TupleOf):
        for each in args[0].items:
            total = _plus(widen(total), each)
        return widen(total)
    for _ in range(3):
        total = join(total, widen(_plus(total, item)))
    return total if join(total, _plus(total, item)) == total else Any


# -- containers ----------------------------------------------------------------------------------------------


@rule(prim.build_tuple)
def _build_tuple(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return TupleOf(args)


@rule(prim.build_list)
def _build_list(args: Args, kwargs: Mapping[str, Type]) -> Type:
    item = join_all(map(widen, args))
    return Exact(list) if item is Any else ListOf(item)


@rule(operator.getitem)
def _getitem(args: Args, kwargs: Mapping[str, Type]) -> Type:
    container, index = args
    if isinstance(container, TupleOf):
        return _tuple_item(container, index)
    if isinstance(container, ListOf):
        return (
            container.item if cls_of(index) in (int, bool) else container if cls_of(index) is slice else Any
        )
    if isinstance(container, Held):
        return _held_item(container, index)
    return _GETITEM.get((cls_of(container), cls_of(index)), Any)


def _held_item(container: Held, index: Type) -> Type:
    if container.item is not None:
        return container.item if cls_of(index) in (int, bool) else Any
    key = known(index)
    if container.cls is dict:
        return container.field(key) or Any if isinstance(key, str) else Any
    if type(key) is int and -len(container.fields) <= key < len(container.fields):
        return container.fields[key][1]
    return Any


@rule(dict.values)
def _values(args: Args, kwargs: Mapping[str, Type]) -> Type:
    if isinstance(args[0], Held):
        return Held(type({}.values()), (), join_all(t for _, t in args[0].fields))
    return Any


@rule(dict.items)
def _items(args: Args, kwargs: Mapping[str, Type]) -> Type:
    if isinstance(args[0], Held):
        return Held(type({}.items()), (), TupleOf((STR, join_all(t for _, t in args[0].fields))))
    return Any


@rule(dict.get)
def _get(args: Args, kwargs: Mapping[str, Type]) -> Type:
    key = known(args[1]) if len(args) > 1 else UNKNOWN
    return args[0].field(key) or Any if isinstance(args[0], Held) and isinstance(key, str) else Any


_GETITEM: dict[tuple[type | None, type | None], Type] = {
    (str, int): STR,
    (str, slice): STR,
    (bytes, int): INT,
    (range, int): INT,
    (tuple, slice): Exact(tuple),
    (list, slice): Exact(list),
}


def _tuple_item(container: TupleOf, index: Type) -> Type:
    value = known(index)
    if value is UNKNOWN:
        return join_all(container.items) if cls_of(index) is int and container.items else Any
    try:
        picked = container.items[value]
    except (TypeError, IndexError):
        return Any
    return TupleOf(picked) if isinstance(value, slice) else picked


def unpacked(sequence: Type, n: int) -> list[Type]:
    """The types of the n results of `unpack`."""
    if isinstance(sequence, TupleOf) and len(sequence.items) == n:
        return list(sequence.items)
    if isinstance(sequence, Held) and len(sequence.fields) == n and issubclass(sequence.cls, tuple):
        return [type_ for _, type_ in sequence.fields]
    return [item_of(sequence)] * n


def item_of(iterable: Type) -> Type:
    """The type of every item that iterating over a value of this type gives."""
    if isinstance(iterable, (ListOf, IterOf)):
        return iterable.item
    if isinstance(iterable, Held):
        return _held_items(iterable)
    if isinstance(iterable, TupleOf):
        return join_all(iterable.items)
    if isinstance(iterable, ArrayOf):
        return numpy_shapes.getitem((iterable, INT), {}) if iterable.dims else Any
    return _ITEMS.get(cls_of(iterable), Any)


def _held_items(iterable: Held) -> Type:
    if iterable.item is not None:
        return iterable.item
    if iterable.cls is dict:
        return STR
    return join_all(t for _, t in iterable.fields) if issubclass(iterable.cls, tuple) else Any


_ITEMS: dict[type | None, Type] = {range: INT, str: STR, bytes: INT}


@rule(iter)
def _iter(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return _iterator(args[0]) if len(args) == 1 else Any


def _iterator(iterable: Type) -> Type:
    if isinstance(iterable, IterOf):
        return iterable
    item = item_of(iterable)
    return IterOf(item) if item is not Any or cls_of(iterable) in (list, tuple) else Any


@rule(reversed)
def _reversed(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return Any if isinstance(args[0], (IterOf, ArrayOf)) else _iterator(args[0])


@rule(enumerate)
def _enumerate(args: Args, kwargs: Mapping[str, Type]) -> Type:
    inner = _iterator(args[0])
    item = inner.item if isinstance(inner, IterOf) else Any
    return IterOf(TupleOf((INT, item)), isinstance(inner, IterOf) and inner.plain)


@rule(zip)
def _zip(args: Args, kwargs: Mapping[str, Type]) -> Type:
    inner = [_iterator(a) for a in args]
    items = tuple(i.item if isinstance(i, IterOf) else Any for i in inner)
    return IterOf(TupleOf(items), all(isinstance(i, IterOf) and i.plain for i in inner))


@rule(next)
def _next(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return item_of(args[0]) if len(args) == 1 and isinstance(args[0], IterOf) else Any


@rule(list.pop)
def _pop(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return args[0].item if isinstance(args[0], ListOf) else Any


@rule(list.copy)
def _copy(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return args[0]


row([list.append, list.extend, list.insert, list.reverse, list.clear, list.remove], returns(Known(None)))
row([list.index, list.count, tuple.index, tuple.count, str.find, str.count, str.index], returns(INT))
row([str.upper, str.lower, str.strip, str.join, str.replace, str.format, str.title], returns(STR))
row([str.startswith, str.endswith, str.isdigit, float.is_integer], returns(BOOL))


# -- math ----------------------------------------------------------------------------------------------------

_INT_MATH = ("comb", "factorial", "gcd", "isqrt", "lcm", "perm")
_BOOL_MATH = ("isclose", "isfinite", "isinf", "isnan")
_OWN_MATH = ("floor", "ceil", "trunc", "frexp", "modf", "prod", "sumprod", "fsum", "pow")


def functions(module: Anything) -> dict[str, Anything]:
    return {n: f for n, f in vars(module).items() if callable(f) and not n.startswith("_")}


def _real(args: Args, kwargs: Mapping[str, Type]) -> bool:
    return all(cls_of(a) in (int, float, bool) for a in args)


for _n, _f in functions(math).items():
    RULES[_f] = returns(INT if _n in _INT_MATH else BOOL if _n in _BOOL_MATH else FLOAT)
row(
    [math.floor, math.ceil, math.trunc],
    lambda args, kwargs: INT if _real(args, kwargs) else Any,
)
RULES[math.frexp] = returns(TupleOf((FLOAT, INT)))
RULES[math.modf] = returns(TupleOf((FLOAT, FLOAT)))
row([math.prod, getattr(math, "sumprod", math.prod)], lambda args, kwargs: Any)

for _n, _f in functions(cmath).items():
    RULES[_f] = returns(BOOL if _n in _BOOL_MATH else FLOAT if _n == "phase" else COMPLEX)
RULES[cmath.polar] = returns(TupleOf((FLOAT, FLOAT)))


# -- in place, and helpers ---------------------------------------------------------------------------------


def join_all(types: Iterable[Type] | Sequence[Type]) -> Type:
    result: Type = Never
    for type_ in types:
        result = join(result, type_)
    return result


def _out_of_place(function: Anything, args: Args) -> Type:
    if any(map(numpy_types.is_numpy, args)):
        return numpy_types.RULES[function](function, args, {})
    return RULES[function](args, {}) if function in RULES else Any


def _inplace(function: Anything) -> Rule:
    def apply(args: Args, kwargs: Mapping[str, Type]) -> Type:
        if isinstance(args[0], ArrayOf):  # x += y is x: its class, dtype and shape stay
            return args[0]
        return Any if cls_of(args[0]) in (list, set, dict) else _out_of_place(function, args)

    return apply


for _f, _g in INPLACE.items():
    RULES[_f] = _inplace(_g)
