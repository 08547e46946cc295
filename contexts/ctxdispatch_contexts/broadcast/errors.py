"""Refusals of kernels. Every message says where, what, and what to do about it."""

from __future__ import annotations

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Position, hashable
from ctxdispatch_contexts.programs.errors import Refused


class KernelError(Refused):
    """A function or an operand that `broadcast` cannot make a kernel of. `position` is where in the user's
    source."""


class ShapeError(KernelError, ValueError):
    """Operands do not broadcast: a ValueError, as it is in NumPy."""


def unsupported(error: UnsupportedSyntax) -> KernelError:
    """Of syntax that no program is made of: at its line."""
    where = Position(error.filename, error.function, error.line)
    return KernelError(f"{error.construct} cannot be part of a kernel; {error.remedy}", where)


DISPLAYS = {
    primitives.build_list: "a list, or an array of one,", primitives.build_map: "a dict",
    primitives.build_set: "a set", primitives.build_tuple: "a tuple",
    primitives.build_string: "an f-string", primitives.format_value: "an f-string",
    primitives.make_function: "a function made here", primitives.call_ex: "a call with *args",
    primitives.list_append: "a list, or a generator expression,", primitives.list_extend: "a list",
    list.append: "a list that is not filled on every path",
    primitives.set_add: "a set", primitives.set_update: "a set", primitives.map_add: "a dict",
    primitives.dict_update: "a dict", primitives.dict_merge: "a dict",
    primitives.list_to_tuple: "a tuple made of a list", primitives.unpack_ex: "*unpacking",
    primitives.import_name: "an import", primitives.import_from: "an import",
}  # fmt: skip


def is_display(op: Op) -> bool:
    return hashable(op.fn) and op.fn in DISPLAYS


def no_number(op: Op) -> KernelError:
    """Of what `op` makes."""
    what = DISPLAYS[op.fn]
    return refuse(op, f"{what} cannot be part of a kernel, which computes with numbers; use variables")


def refuse(op: Op, message: str) -> KernelError:
    """The error at the user's line."""
    return KernelError(message, op.pos)
