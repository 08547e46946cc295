"""Formulas become LLVM instructions: a `Value` is a scalar of the kernel, its operators append to the block.

A formula such as `exp` is plain Python over Values, run once while a kernel is compiled. Straight-line code
is all that it can write, which is what LLVM's loop vectoriser wants. Of alternatives `where` takes one.
Python numbers take the type of the Value they meet, so that no literal ever widens a float32.

Nothing here allows LLVM to reassociate or to ignore NaN: the instructions are the IEEE operations as written.
`muladd` alone rounds once or twice, as the machine prefers.
"""

import platform

import numpy as np
from llvmlite import ir
from numba.core import config
from numba.core.codegen import get_host_cpu_features

FLOATS = {32: ir.FloatType(), 64: ir.DoubleType()}
INTS = {width: ir.IntType(width) for width in (1, 32, 64)}
NUMPY_FLOATS = {32: np.float32, 64: np.float64}


def has_fma():
    """Whether the machine that Numba compiles for multiplies and adds at once: elsewhere that is a call."""
    if platform.machine() not in ("x86_64", "AMD64", "i686", "x86"):
        return True
    return "+fma" in (config.CPU_FEATURES or get_host_cpu_features()).split(",")


HAS_FMA = has_fma()


def arithmetic(of_floats, of_ints):
    """The operator that appends the instruction of either name, and the operator with operands swapped."""
    def operator(self, other):
        return self.emit(of_floats if self.is_float else of_ints, self, other)

    def swapped(self, other):
        return self.emit(of_floats if self.is_float else of_ints, other, self)

    return operator, swapped


def comparison(relation):
    return lambda self, other: self.compare(relation, other)


class Value:
    """One scalar of a kernel: float, int or bool by the type of `ir`."""

    __slots__ = ("builder", "ir")
    __hash__ = None

    def __init__(self, builder, ir_value):
        self.builder, self.ir = builder, ir_value

    @property
    def is_float(self):
        return not isinstance(self.ir.type, ir.IntType)

    @property
    def width(self):
        """Bits of the type."""
        if isinstance(self.ir.type, ir.IntType):
            return self.ir.type.width
        return 32 if self.ir.type == FLOATS[32] else 64

    def like(self, other):
        """`other` as a Value of this one's type, if it is a number."""
        return other if isinstance(other, Value) else Value(self.builder, constant(self.ir.type, other))

    def emit(self, instruction, *operands):
        operands = [self.like(each).ir for each in operands]
        return Value(self.builder, getattr(self.builder, instruction)(*operands))

    def compare(self, relation, other):
        if not self.is_float:
            return Value(self.builder, self.builder.icmp_signed(relation, self.ir, self.like(other).ir))
        compare = self.builder.fcmp_unordered if relation == "!=" else self.builder.fcmp_ordered
        return Value(self.builder, compare(relation, self.ir, self.like(other).ir))

    __add__, __radd__ = arithmetic("fadd", "add")
    __sub__, __rsub__ = arithmetic("fsub", "sub")
    __mul__, __rmul__ = arithmetic("fmul", "mul")
    __truediv__, __rtruediv__ = arithmetic("fdiv", None)
    __and__, _ = arithmetic(None, "and_")
    __or__, _ = arithmetic(None, "or_")
    __xor__, _ = arithmetic(None, "xor")
    __lshift__, _ = arithmetic(None, "shl")
    __rshift__, _ = arithmetic(None, "lshr")      # logical: AVX2 has no arithmetic one for 64 bits
    __eq__, __ne__ = comparison("=="), comparison("!=")
    __lt__, __le__ = comparison("<"), comparison("<=")
    __gt__, __ge__ = comparison(">"), comparison(">=")

    def __neg__(self):
        return self.emit("fneg" if self.is_float else "neg", self)

    def __invert__(self):
        return self.emit("not_", self)

    def convert(self, instruction, to):
        return Value(self.builder, getattr(self.builder, instruction)(self.ir, to))

    def bits(self):
        """The float's bits, as an int of its width."""
        return self.convert("bitcast", INTS[self.width])

    def as_float(self):
        """The float that has these bits."""
        return self.convert("bitcast", FLOATS[self.width])

    def double(self):
        return self if self.width == 64 else self.convert("fpext", FLOATS[64])

    def single(self):
        return self if self.width == 32 else self.convert("fptrunc", FLOATS[32])


def constant(ir_type, number):
    if isinstance(ir_type, ir.IntType):
        return ir.Constant(ir_type, int(number))
    return ir.Constant(ir_type, float(np.float32(number)) if ir_type == FLOATS[32] else float(number))


def llvm_call(name, *operands):
    """LLVM's own function of that name at the operands' type: each has a vector form."""
    builder, ir_type = operands[0].builder, operands[0].ir.type
    function = builder.module.declare_intrinsic(f"llvm.{name}", [ir_type], ir.FunctionType(
        ir_type, [ir_type] * len(operands)))
    return Value(builder, builder.call(function, [each.ir for each in operands]))


def where(condition, chosen, otherwise):
    one = chosen if isinstance(chosen, Value) else otherwise
    return Value(one.builder, one.builder.select(condition.ir, one.like(chosen).ir, one.like(otherwise).ir))


def unary(name):
    return lambda x: llvm_call(name, x)


sqrt, fabs, rint, floor, ceil, trunc = (unary(name) for name in "sqrt fabs rint floor ceil trunc".split())


def copysign(x, sign):
    return llvm_call("copysign", x, x.like(sign))


def inputs(a, b, c):
    one = next(each for each in (a, b, c) if isinstance(each, Value))
    return [one.like(each) for each in (a, b, c)]


def muladd(a, b, c):
    """a b + c, where one rounding or two makes no difference that matters."""
    a, b, c = inputs(a, b, c)
    return llvm_call("fma", a, b, c) if HAS_FMA else a * b + c


def clamp(x, low, high):
    """NaN stays."""
    x = where(x > high, high, x)
    return where(x < low, low, x)


def polynomial(coefficients, t, accuracy=None):
    """Horner's scheme, lowest coefficient first, of those for t's width or for that accuracy."""
    *rest, value = coefficients[accuracy or t.width]
    for each in reversed(rest):
        value = muladd(value, t, each)
    return value


def lookup(name, numbers, index):
    """The float64 numbers[index]: from a constant of the module, which a vector gathers."""
    builder = index.builder
    table_type = ir.ArrayType(FLOATS[64], len(numbers))
    table = builder.module.globals.get(name)
    if table is None:
        table = ir.GlobalVariable(builder.module, table_type, name)
        table.linkage, table.global_constant, table.align = "internal", True, 64
        table.initializer = ir.Constant(table_type, [float(each) for each in numbers])
    return Value(builder, builder.load(builder.gep(table, [INTS[64](0), index.ir], inbounds=True)))


def is_nan(x):
    return x != x
