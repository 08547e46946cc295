"""Formulas become LLVM instructions: a `Value` is a scalar of the kernel, and its operators append to the block.

A formula such as `exp` is plain Python over Values, run once while a kernel is compiled. Straight-line code is all
that it can write, which is what LLVM's loop vectoriser wants: alternatives are `where(condition, a, b)`, a select.
Python numbers take the type of the Value they meet, so that no literal ever widens a float32.

Nothing here allows LLVM to reassociate or to ignore NaN: the instructions are the IEEE operations as written.
`fma(a, b, c)` rounds once, on every machine. `muladd` rounds once or twice, as the machine prefers.
"""

import platform

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import config

FLOATS = {32: ir.FloatType(), 64: ir.DoubleType()}
INTS = {width: ir.IntType(width) for width in (1, 32, 64)}
NUMPY_FLOATS = {32: np.float32, 64: np.float64}


def has_fma():
    """Whether the machine that Numba compiles for multiplies and adds in one instruction. Else it is a slow call."""
    if platform.machine() not in ("x86_64", "AMD64", "i686", "x86"):
        return True
    if config.CPU_FEATURES is not None:
        return "+fma" in config.CPU_FEATURES.split(",")
    return config.CPU_NAME is None and llvm.get_host_cpu_features().get("fma", False)


HAS_FMA = has_fma()


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

    def arithmetic(self, name, left, right):
        return self.emit(("f" if self.is_float else "") + name, left, right)

    def compare(self, relation, other):
        if not self.is_float:
            return Value(self.builder, self.builder.icmp_signed(relation, self.ir, self.like(other).ir))
        compare = self.builder.fcmp_unordered if relation == "!=" else self.builder.fcmp_ordered
        return Value(self.builder, compare(relation, self.ir, self.like(other).ir))

    def __add__(self, other): return self.arithmetic("add", self, other)
    def __radd__(self, other): return self.arithmetic("add", other, self)
    def __sub__(self, other): return self.arithmetic("sub", self, other)
    def __rsub__(self, other): return self.arithmetic("sub", other, self)
    def __mul__(self, other): return self.arithmetic("mul", self, other)
    def __rmul__(self, other): return self.arithmetic("mul", other, self)
    def __truediv__(self, other): return self.emit("fdiv", self, other)
    def __rtruediv__(self, other): return self.emit("fdiv", other, self)
    def __neg__(self): return self.emit("fneg" if self.is_float else "neg", self)
    def __eq__(self, other): return self.compare("==", other)
    def __ne__(self, other): return self.compare("!=", other)
    def __lt__(self, other): return self.compare("<", other)
    def __le__(self, other): return self.compare("<=", other)
    def __gt__(self, other): return self.compare(">", other)
    def __ge__(self, other): return self.compare(">=", other)
    def __and__(self, other): return self.emit("and_", self, other)
    def __or__(self, other): return self.emit("or_", self, other)
    def __xor__(self, other): return self.emit("xor", self, other)
    def __invert__(self): return self.emit("not_", self)
    def __lshift__(self, other): return self.emit("shl", self, other)
    def __rshift__(self, other): return self.emit("lshr", self, other)    # logical: AVX2 has no arithmetic one

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


def sqrt(x): return llvm_call("sqrt", x)
def fabs(x): return llvm_call("fabs", x)
def rint(x): return llvm_call("rint", x)
def floor(x): return llvm_call("floor", x)
def ceil(x): return llvm_call("ceil", x)
def trunc(x): return llvm_call("trunc", x)
def copysign(x, sign): return llvm_call("copysign", x, x.like(sign))
def is_nan(x): return x != x


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


def polynomial(coefficients, t):
    """Horner's scheme, lowest coefficient first, of those of t's width."""
    *rest, value = coefficients[t.width]
    for each in reversed(rest):
        value = muladd(value, t, each)
    return value
