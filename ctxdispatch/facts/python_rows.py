"""Rows of Python's operators, of the builtins, and of what has syntax and no function (`ir.primitives`)."""

from __future__ import annotations

import builtins
import operator
import types
from typing import Any

from ctxdispatch.facts.fact import Fact, fact
from ctxdispatch.facts.table import made, rows
from ctxdispatch.ir import matching, primitives
from ctxdispatch.ir.wrappers import WRAPPERS

ITERATION = "iter next getitem len length_hint keys"
KEYS = "hash eq missing"
TRUTH = "bool len"
TEXT = f"format str repr {ITERATION}"
NUMBER = "int index float complex trunc"
ATTRIBUTE = "getattr getattribute get"
REAL: tuple[type, ...] = (bool, int, float)
NUMBERS = (*REAL, complex)

# -- operators -----------------------------------------------------------------------------------------------

_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
_MERGES = ("add", "mul", "or", "and", "xor")


def _operator(name: str) -> Any:
    return getattr(operator, name + "_" if name in ("and", "or", "not") else name)


def _binary(name: str) -> Fact:
    """A concatenation has in it what its operands hold; what a special method returns may be anything."""
    shared = "copies 0" if name == "sub" else "copies 0 1" if name in _MERGES else ""
    text = f" {TEXT} {NUMBER} bytes keys" if name == "mod" else " index" if name == "mul" else ""
    sets = f" {KEYS} {ITERATION}" if name in ("or", "and", "sub", "xor") else ""
    return fact(
        total=NUMBERS if name in ("add", "sub", "mul") else (),
        looks="0 1",
        inside=name in ("mod", "or", "and", "sub", "xor"),
        result=shared,
        methods=f"{name} r{name}{text}{sets} array_ufunc array_priority",
    )


def _inplace(name: str) -> Fact:
    """On what cannot change it is the operator that it is named after."""
    plain = _binary(name)
    keeps = "1" if name in _MERGES else ""
    return plain._replace(
        stores=fact(stores="0").stores,
        keeps=fact(keeps=keeps).keeps,
        twin=_operator(name),
        iterates=fact(iterates="1" if name in ("add", "or") else "").iterates,
        methods=plain.methods | {f"__i{name}__"} | fact(methods=ITERATION).methods,
        result=(*fact(result="itself 0").result, *plain.result),
    )


for _name in _BINARY.split():
    rows(_binary(_name), [_operator(_name)])
    rows(_inplace(_name), [getattr(operator, f"i{_name}")])
for _name, _mirrored in {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}.items():
    _methods = f"{_name} {_mirrored} eq array_ufunc array_priority"
    _total = (*NUMBERS, str, types.NoneType) if _name in ("eq", "ne") else REAL
    rows(fact(looks="0 1", inside=True, methods=_methods, total=_total), [getattr(operator, _name)])
for _name, _classes in {"neg": NUMBERS, "pos": NUMBERS, "invert": (), "abs": REAL, "index": ()}.items():
    rows(
        fact(looks="0", methods=f"{_name} array_ufunc", total=_classes),
        {_operator(_name), getattr(builtins, _name, _operator(_name))},
    )
rows(fact(looks="0", methods=TRUTH), [operator.truth, operator.not_])
rows(fact(raises=False, gives=bool), [operator.is_, operator.is_not])
rows(
    fact(
        looks="0 1",
        inside=True,
        methods=f"contains {KEYS} {ITERATION} array_ufunc",
        iterates="0",
        gives=bool,
    ),
    [operator.contains, primitives.not_contains],
)
rows(
    fact(
        looks="0 1",
        inside="1",
        methods=f"getitem index {KEYS} class_getitem array_ufunc",
        result="item 0, view 0, copies 0",
    ),
    [operator.getitem],
)
rows(
    fact(
        gives=types.NoneType,
        stores="0",
        keeps="1 2",
        looks="0 1 2",
        inside="1 2",
        iterates="2",
        methods=f"setitem index {KEYS} {ITERATION} float array array_interface array_struct",
    ),
    [operator.setitem],
)
rows(
    fact(stores="0", looks="0 1", inside="1", methods=f"delitem index {KEYS}", gives=types.NoneType),
    [operator.delitem],
)
rows(
    fact(looks="0 1", methods=f"{ITERATION} concat add radd", result="copies 0 1"),
    [operator.concat],
)
rows(
    fact(
        stores="0",
        keeps="1",
        iterates="1",
        looks="0 1",
        inside=True,
        twin=operator.concat,
        methods=f"iadd add radd iconcat {ITERATION}",
        result="itself 0, copies 0 1",
    ),
    [operator.iconcat],
)
rows(
    fact(looks="0 1", inside=True, iterates="0", methods=f"eq {ITERATION} array_ufunc"),
    [operator.countOf, operator.indexOf],
)
rows(fact(looks="0 1", methods="len length_hint index"), [operator.length_hint])
rows(fact(calls="0", known=False), [operator.call] if hasattr(operator, "call") else [])
rows(
    fact(calls="0", iterates="1 2", looks="1 2", methods=f"{ITERATION} keys", known=False),
    [primitives.call_ex],
)
made(fact(result="holds 0.."), [operator.itemgetter, operator.attrgetter])
rows(fact(result="holds 0.. **"), WRAPPERS)
made(fact(keeps="1.. **", result="holds 1.. **"), [operator.methodcaller])

# -- builtins ------------------------------------------------------------------------------------------------

rows(fact(looks="0", methods="len"), [len])
made(fact(looks="0", methods=TRUTH, total=REAL), [bool])
rows(fact(looks="0", inside=True, methods=KEYS, gives=int), [hash])
rows(fact(raises=False, gives=int), [id])
rows(fact(raises=False, gives=bool), [callable])
rows(fact(), [object, type.__instancecheck__])
rows(
    fact(
        keeps="1.. **", looks="1 2", inside=True, methods="set_name init_subclass",
        result="copies 1 2",
    ),
    [type],
)  # fmt: skip
rows(
    fact(looks="0 1", inside=True, methods="class bases getattribute instancecheck subclasscheck"),
    [isinstance, issubclass],
)
_NUMBER = fact(looks="0 1 real imag base x", methods=f"{NUMBER} buffer")
made(_NUMBER, [int])
made(_NUMBER._replace(total=REAL), [float, complex])
rows(fact(looks="0..", methods=NUMBER, gives=str), [chr, bin, oct, hex])
rows(fact(looks="0..", methods=NUMBER, gives=int), [ord])
made(fact(looks="0..", methods=NUMBER, lengths="0.."), [range])
made(fact(result="holds 0..", lengths="0.."), [slice])
rows(fact(looks="0 1", inside=True, methods=TEXT), [format])
made(fact(looks="0 object", inside=True, methods=f"{TEXT} buffer"), [str])
rows(fact(looks="0", inside=True, methods=TEXT), [repr, ascii])
made(
    fact(looks="0 source", inside=True, iterates="0 source", methods=f"bytes buffer index {ITERATION}"),
    [bytes, bytearray],
)
made(fact(looks="0 object", methods="buffer", result="view 0 object"), [memoryview])
rows(fact(looks="0..", methods="round index floor ceil trunc float"), [round])
rows(fact(looks="0..", methods="pow rpow array_ufunc"), [pow])
rows(fact(looks="0 1", methods="divmod rdivmod array_ufunc"), [divmod])
rows(fact(looks="0", inside=True, iterates="0", methods=f"{TRUTH} {ITERATION}", gives=bool), [any, all])
rows(
    fact(
        looks="0 1 start",
        inside=True,
        iterates="0",
        methods=f"add radd {ITERATION} array_ufunc",
        result="itself 1 start, item 0, copies 0 1 start",
    ),
    [sum],
)
rows(
    fact(
        looks="0..",
        inside=True,
        iterates="0",
        calls="key",
        methods=f"lt gt eq {TRUTH} {ITERATION} array_ufunc",
        result="item 0, itself 0.. default",
        total=REAL,
    ),
    [min, max],
)
rows(
    fact(
        looks="0",
        inside=True,
        iterates="0",
        calls="key",
        methods=f"lt gt eq {TRUTH} {ITERATION} array_ufunc",
        result="copies 0",
    ),
    [sorted],
)
rows(
    fact(
        looks="0 1",
        methods=f"iter getitem eq {ITERATION}",
        result="itself 0, copies 0, holds 0 1",
        calls="0",
        iterates="0",
    ),
    [iter],
)
rows(fact(looks="0", methods="next", result="item 0, itself 1", iterates="0"), [next])
made(
    fact(
        looks="0 iterable 1 start",
        methods=f"{ITERATION} index",
        result="copies 0 iterable",
        iterates="0 iterable",
    ),
    [enumerate],
)
made(fact(looks="0", methods=f"reversed {ITERATION}", result="copies 0", iterates="0"), [reversed])
made(fact(looks="0.. strict", methods=f"{ITERATION} {TRUTH}", result="copies 0..", iterates="0.."), [zip])
_mapped = fact(looks="1..", methods=ITERATION, calls="0", result="copies 1.., holds 0", iterates="1..")
made(_mapped, [map])
made(_mapped._replace(inside=_mapped.looks, methods=_mapped.methods | fact(methods=TRUTH).methods), [filter])
rows(fact(looks="0 1", methods=ATTRIBUTE, result="item 0, itself 2, holds 0, view 0"), [getattr])
rows(fact(looks="0 1", methods=ATTRIBUTE), [hasattr])
rows(
    fact(looks="0 1", stores="0", keeps="2", methods="setattr set", gives=types.NoneType, layout=True),
    [setattr],
)
rows(fact(looks="0 1", stores="0", methods="delattr delete", gives=types.NoneType), [delattr])
rows(
    fact(result="item 0, itself 0", looks="0", methods=ATTRIBUTE),
    [object.__getattribute__, type.__getattribute__],
)
rows(fact(effect=True, known=False), [globals, locals, vars])
rows(fact(looks="0", methods="dir", effect=True), [dir])
rows(
    fact(
        looks="0.. **",
        inside=True,
        methods=f"{TEXT} {ATTRIBUTE} {TRUTH} ",
        effect=True,
        stores="file",
        gives=types.NoneType,
    ),
    [print],
)
rows(fact(effect=True, known=False, stores="1 2"), [eval, exec])
rows(fact(effect=True), [input, open, compile])
rows(fact(result="holds 0.."), [super])
_OF_FUNCTION = "doc name qualname module annotations type_params isabstractmethod"
rows(
    fact(looks="0.. **", methods=f"{_OF_FUNCTION} {ATTRIBUTE}", result="holds 0.. **"),
    [property, staticmethod, classmethod],
)
rows(fact(), [object.__new__, object.__init__, object.__init_subclass__])
rows(fact(stores="0", keeps="2", layout=True), [object.__setattr__, type.__setattr__])
rows(fact(stores="0"), [object.__delattr__, type.__delattr__])
rows(fact(looks="0", methods="aiter anext", result="itself 0, holds 0 1"), [aiter, anext])
rows(fact(calls="0", known=False), [builtins.__build_class__, type.__call__])
rows(fact(effect=True, known=False), [builtins.__import__])

# -- classes of the interpreter's own ------------------------------------------------------------------------

rows(
    fact(result="holds 0.. globals argdefs closure kwdefaults"),
    [types.FunctionType, types.CellType, types.MethodType],
)
made(fact(looks="0 mapping", methods=KEYS, result="holds 0 mapping"), [types.MappingProxyType])
rows(fact(iterates="0", result="copies 0, holds **"), [types.SimpleNamespace])
rows(fact(), [types.ModuleType])
made(fact(result="holds 0.."), [types.GenericAlias])

# -- what has syntax and no function -------------------------------------------------------------------------

rows(fact(result="item 0", effect=True), [primitives.load_global])
_NONE: type = types.NoneType
rows(fact(stores="0", keeps="2", gives=_NONE), [primitives.store_global])
rows(fact(stores="0", gives=_NONE), [primitives.delete_global, primitives.cell_delete])
rows(fact(result="itself 0"), [primitives.check_bound])
rows(
    fact(result="holds 0.."),
    [primitives.make_cell, primitives.make_function, primitives.build_tuple, primitives.build_list],
)
rows(fact(result="item 0"), [primitives.cell_get])
rows(fact(stores="0", keeps="1", gives=_NONE), [primitives.cell_set, primitives.list_append])
rows(
    fact(result="holds 0..", looks="0..", inside=True, methods=KEYS),
    [primitives.build_set, primitives.build_map],
)
_ADDS = fact(stores="0", looks="1", inside=True, methods=KEYS, gives=_NONE)
rows(_ADDS._replace(keeps=fact(keeps="1").keeps), [primitives.set_add])
rows(_ADDS._replace(keeps=fact(keeps="1 2").keeps), [primitives.map_add])
rows(
    fact(stores="0", keeps="1", iterates="1", looks="1", methods=ITERATION, gives=_NONE),
    [primitives.list_extend],
)
rows(
    fact(
        stores="0",
        keeps="1",
        iterates="1",
        looks="1",
        inside=True,
        methods=f"{KEYS} {ITERATION}",
        gives=_NONE,
    ),
    [primitives.set_update, primitives.dict_update, primitives.dict_merge],
)
rows(fact(gives=str), [primitives.build_string])
rows(fact(looks="0", inside=True, methods=TEXT, calls="1"), [primitives.format_value])
rows(fact(result="copies 0"), [primitives.list_to_tuple])
rows(
    fact(result="item 0, copies 0, view 0", iterates="0", looks="0", methods=ITERATION),
    [primitives.unpack, primitives.unpack_ex],
)
rows(
    fact(
        result="itself 0, holds 0, item 0",
        looks="0",
        methods="iter await aiter anext enter exit aenter aexit",
        known=False,
    ),
    [
        primitives.enter,
        primitives.enter_async,
        primitives.awaited,
        primitives.gone_through,
        primitives.delegated,
        primitives.with_methods,
        primitives.async_with_methods,
        primitives.special_method,
    ],
)
rows(fact(result="item 0"), [primitives.exit_arguments, primitives.import_from])
rows(fact(result="holds 0.."), [primitives.super_object])
rows(fact(effect=True), [primitives.import_name])
rows(fact(looks="0"), [matching.match_sequence, matching.match_mapping])
rows(
    fact(
        looks="0 1",
        inside=True,
        methods=f"{KEYS} {ITERATION} {ATTRIBUTE} contains instancecheck",
        result="item 0",
    ),
    [matching.match_keys, matching.match_class],
)
