"""Formulas become LLVM instructions: a `Value` is a scalar of the kernel, its operators append to the block.

A formula such as `exp` is plain Python over Values, run once while a kernel is compiled. Straight-line code
is all that it can write, which is what LLVM's loop vectoriser wants. Of alternatives `where` takes one.
Python numbers take the type of the Value they meet, so that no literal ever widens a float32.

Nothing here allows LLVM to reassociate or to ignore NaN: the instructions are the IEEE operations as written.
`muladd` alone rounds once or twice, as the machine prefers.
"""

import platform
from functools import cache

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

FLOATS = {32: ir.FloatType(), 64: ir.DoubleType()}
INTS = {width: ir.IntType(width) for width in (1, 32, 64)}


@cache
def has_fma():
    """Whether this machine multiplies and adds at once: else that is a call."""
    if platform.machine() not in ("x86_64", "AMD64", "i686", "x86"):
        return True
    return bool(llvm.get_host_cpu_features().get("fma", False))


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


def element(ir_type):
    """Of a vector that of its elements."""
    return ir_type.element if isinstance(ir_type, ir.VectorType) else ir_type


class Value:
    """One scalar of a kernel, or a vector of several: floats, ints or bools by the type of `ir`."""

    __slots__ = ("builder", "ir")
    __hash__ = None

    def __init__(self, builder, ir_value):
        self.builder, self.ir = builder, ir_value

    @property
    def is_float(self):
        return not isinstance(element(self.ir.type), ir.IntType)

    @property
    def width(self):
        """Bits of the type of one element."""
        own = element(self.ir.type)
        if isinstance(own, ir.IntType):
            return own.width
        return 32 if own == FLOATS[32] else 64

    def shaped(self, ir_type):
        """That type, or the vector of as many as this one has."""
        own = self.ir.type
        return ir.VectorType(ir_type, own.count) if isinstance(own, ir.VectorType) else ir_type

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
        return self.convert("bitcast", self.shaped(INTS[self.width]))

    def as_float(self):
        """The float that has these bits."""
        return self.convert("bitcast", self.shaped(FLOATS[self.width]))

    def double(self):
        return self if self.width == 64 else self.convert("fpext", self.shaped(FLOATS[64]))

    def single(self):
        return self if self.width == 32 else self.convert("fptrunc", self.shaped(FLOATS[32]))


def constant(ir_type, number):
    """The number, in every element of a vector."""
    if isinstance(ir_type, ir.VectorType):
        return ir.Constant(ir_type, [constant(ir_type.element, number)] * ir_type.count)
    if isinstance(ir_type, ir.IntType):
        return ir.Constant(ir_type, int(number))
    return ir.Constant(ir_type, float(np.float32(number)) if ir_type == FLOATS[32] else float(number))


def llvm_call(name, *operands):
    """LLVM's own function of that name at the operands' type: each has a vector form."""
    builder, ir_type = operands[0].builder, operands[0].ir.type
    function = declared(builder.module, f"llvm.{name}.{mangled(ir_type)}", ir_type, [ir_type] * len(operands))
    return Value(builder, builder.call(function, [each.ir for each in operands]))


def declared(module, name, result, parameters):
    """The function of that name in the module."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, parameters), name)


def mangled(ir_type):
    """The type as the names of LLVM's functions have it."""
    if isinstance(ir_type, ir.VectorType):
        return f"v{ir_type.count}{mangled(ir_type.element)}"
    if isinstance(ir_type, ir.IntType):
        return f"i{ir_type.width}"
    return {ir.HalfType(): "f16", FLOATS[32]: "f32", FLOATS[64]: "f64"}[ir_type]


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


def in_pairs(coefficients, t, accuracy=None):
    """Estrin's scheme: more products, of which fewer wait for others, for where much else waits too."""
    terms = coefficients[accuracy or t.width]
    while len(terms) > 1:
        paired = [muladd(b, t, a) for a, b in zip(terms[::2], terms[1::2])]
        terms, t = (*paired, *terms[len(terms) // 2 * 2:]), t * t
    return terms[0]


def lookup(name, numbers, index):
    """The float64 numbers[index]: from a constant of the module, which a vector gathers."""
    builder = index.builder
    table_type = ir.ArrayType(FLOATS[64], len(numbers))
    table = builder.module.globals.get(name)
    if table is None:
        table = ir.GlobalVariable(builder.module, table_type, name)
        table.linkage, table.global_constant, table.align = "internal", True, 64
        table.initializer = ir.Constant(table_type, [float(each) for each in numbers])
    if isinstance(index.ir.type, ir.VectorType):
        return gathered(builder, table, index)
    return Value(builder, builder.load(builder.gep(table, [INTS[64](0), index.ir], inbounds=True)))


def gathered(builder, table, index):
    """One load per element: LLVM makes gathers of them where the machine has any."""
    found = ir.Constant(index.shaped(FLOATS[64]), ir.Undefined)
    for lane in range(index.ir.type.count):
        at = builder.extract_element(index.ir, INTS[32](lane))
        one = builder.load(builder.gep(table, [INTS[64](0), at], inbounds=True))
        found = builder.insert_element(found, one, INTS[32](lane))
    return Value(builder, found)


def is_nan(x):
    return x != x
