"""What differs from one CPython version to the next when code is emitted. Each `vXYZ.py` fills in one
`Dialect`.

Symbolic instructions are `(name, argument)`; the argument is what the instruction means (a name, a
constant, a slot's value), not an index. `PUSH_NULL` may stand where CPython fuses it into its neighbour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Symbolic = tuple[str, Any]


@dataclass(frozen=True)
class Dialect:
    """What one CPython version spells in its own way."""

    null_first: bool
    """PUSH_NULL comes below the callable, not above it."""
    call: Callable[[int, tuple[str, ...]], tuple[Symbolic, ...]]
    """The call of so many arguments, the last ones by these names, when all of it is on the stack."""
    attribute: tuple[int, int]
    """LOAD_ATTR's shift of the name's index, and the bit for a method (0: there is LOAD_METHOD)."""
    compare: tuple[int, int]
    """COMPARE_OP's shift, and its to-bool bit (0: there is none)."""
    compare_mask: bool
    """Whether COMPARE_OP's low bits say which outcomes make it true."""
    exhausted: tuple[Symbolic, ...]
    """What stands where FOR_ITER goes to at the end."""
    backward: dict[str, str]
    """Conditional jumps to use when the target is behind."""
    forward: dict[str, str]
    """... and ahead."""
    truth: tuple[Symbolic, ...]
    """Makes an exact bool of what is on the stack; () where jumps and UNARY_NOT take any object."""
    positive: Symbolic
    to_tuple: Symbolic
    load_check: str
    """LOAD_FAST of a local that may be unbound."""
    format: Callable[[int, bool], tuple[tuple[Symbolic, ...], tuple[Symbolic, ...]]]
    """Per conversion (0 to 3) and whether there is a format: what comes after the value, what comes last."""
    function: Callable[[int], tuple[Symbolic, ...]]
    """MAKE_FUNCTION with the parts whose flags are set: they lie in this order, then comes the code."""
    merge_below: int
    """How many slots DICT_MERGE expects between the function that its message names and the dict."""
    load_closure: str = "LOAD_CLOSURE"
    """Loads a cell, not what it holds."""
    into_cell: tuple[str, ...] = ("STORE_DEREF",)
    """What puts the top of the stack into a cell, also where that is NULL."""
    call_ex: tuple[tuple[Symbolic, ...], tuple[Symbolic, ...]] = (
        (("CALL_FUNCTION_EX", 0),),
        (("CALL_FUNCTION_EX", 1),),
    )
    """The call of f(*args), without and with **kwargs, when all of it is on the stack."""
    subscript: Symbolic = ("BINARY_SUBSCR", 0)
    const_keys: bool = True
    """There is BUILD_CONST_KEY_MAP."""
    small_ints: int = 0
    """How many ints, from 0 on, are loaded by LOAD_SMALL_INT."""
    common: tuple[Any, ...] = ()
    """What LOAD_COMMON_CONSTANT loads."""
    borrows: bool = False
    """There is LOAD_FAST_BORROW."""
    or_pop: bool = False
    """There are JUMP_IF_TRUE_OR_POP and JUMP_IF_FALSE_OR_POP."""
    slices: bool = True
    """There is BINARY_SLICE."""
    return_const: bool = True
    fused: dict[tuple[str, str], str] = field(default_factory=dict)
    """Pairs of slot instructions that are one."""


@dataclass(frozen=True)
class FrameLocals:
    """What one CPython version's `frame.f_locals` of a function's frame can do."""

    writable: bool
    """PEP 667: it writes through."""
    mixes_cells: bool = False
    """Where a variable is in a cell in one comprehension of a function and in none in another, its value is
    taken for a cell when `f_locals` is asked for it, and the process ends with a segmentation fault."""


def call_by_names(count: int, names: tuple[str, ...]) -> tuple[Symbolic, ...]:
    """Since 3.13: the names lie on the stack."""
    return (("LOAD_CONST", names), ("CALL_KW", count)) if names else (("CALL", count),)


def convert_and_format(conversion: int, spec: bool) -> tuple[tuple[Symbolic, ...], tuple[Symbolic, ...]]:
    """Since 3.13: one instruction each."""
    convert: tuple[Symbolic, ...] = (("CONVERT_VALUE", conversion),) if conversion else ()
    return convert, (("FORMAT_WITH_SPEC" if spec else "FORMAT_SIMPLE", 0),)


def parts_after(*order: int) -> Callable[[int], tuple[Symbolic, ...]]:
    """Since 3.13: MAKE_FUNCTION, then its parts in this order of their flags."""

    def function(flags: int) -> tuple[Symbolic, ...]:
        parts = tuple(("SET_FUNCTION_ATTRIBUTE", flag) for flag in order if flags & flag)
        return (("MAKE_FUNCTION", 0), *parts)

    return function


def no_parts(flags: int) -> tuple[Symbolic, ...]:
    return (("MAKE_FUNCTION", flags),)


def format_value(conversion: int, spec: bool) -> tuple[tuple[Symbolic, ...], tuple[Symbolic, ...]]:
    """Up to 3.12: one instruction for it all."""
    return (), (("FORMAT_VALUE", conversion | spec << 2),)
