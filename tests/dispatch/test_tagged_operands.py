"""What a context does with operands that have tags: what it does with those without.

Each operation runs twice, on operands and on the same with tags: the results agree, the same rules are asked,
and the same methods of the user's classes run under the context.
"""

import builtins
import math
import operator

import numpy as np
import pytest

from ctxdispatch import Context, overdub, recurse, untag
from ctxdispatch.ir import primitives


class Number:
    """Every special method in Python code."""

    def __init__(self, value):
        self.value = value

    def __iter__(self):
        return Steps([self.value, 2 * self.value])

    def __contains__(self, item):
        return as_int(item) == self.value

    def __getitem__(self, key):
        return self.value + as_int(key)

    def __setitem__(self, key, item):
        self.value += as_int(key) * as_int(item)

    def __delitem__(self, key):
        self.value -= as_int(key)

    def __enter__(self):
        return self.value

    def __exit__(self, *error):
        return False

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{name} of {self.value}"

    @property
    def doubled(self):
        return 2 * self.value

    @doubled.setter
    def doubled(self, value):
        self.value = value

    def method(self, other):
        return self.value * as_int(other)

    def __call__(self, other):
        return self.value - as_int(other)

    def __hash__(self):
        return hash(self.value)

    def __bool__(self):
        return self.value > 4

    def __len__(self):
        return self.value

    def __repr__(self):
        return f"Number({self.value})"

    def __format__(self, spec):
        return f"<{spec}{self.value}>"

    def __round__(self, digits=0):
        return self.value * 10


class InPlace(Number):
    pass


class Steps:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return self

    def __next__(self):
        if not self.items:
            raise StopIteration
        return self.items.pop(0)


def as_int(other):
    return other.value if isinstance(other, Number) else int(other)


def _binary(f):
    return lambda self, other: Number(f(self.value, as_int(other)))


def _in_place(f):
    def run(self, other):
        self.value = f(self.value, as_int(other))
        return self

    return run


ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "truediv": "/", "matmul": "@",
    "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^", "pow": "**",
}  # fmt: skip
COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}

for _name in ARITHMETIC:
    _f = operator.mul if _name == "matmul" else getattr(operator, f"__{_name}__")
    setattr(Number, f"__{_name}__", _binary(_f))
    setattr(Number, f"__r{_name}__", _binary(_f))
    setattr(InPlace, f"__i{_name}__", _in_place(_f))
for _name in COMPARED:
    _f = getattr(operator, _name)
    setattr(Number, f"__{_name}__", lambda self, other, f=_f: f(self.value, as_int(other)))
for _name in ("neg", "pos", "abs", "invert", "int", "float", "index", "trunc", "floor", "ceil"):
    _f = {"trunc": math.trunc, "floor": math.floor, "ceil": math.ceil, "int": int, "float": float}.get(_name)
    setattr(Number, f"__{_name}__", lambda self, f=_f or getattr(operator, f"__{_name}__"): f(self.value))

WRITTEN = {
    **{f"x {sign} y": f"return x {sign} y" for sign in (*ARITHMETIC.values(), *COMPARED.values())},
    **{f"x {sign}= y": f"x {sign}= y; x {sign}= y; return x" for sign in ARITHMETIC.values()},
    "-x": "return (-x, +x, ~x)", "abs": "return abs(x)", "not": "return not x",
    "divmod": "return divmod(x, y)", "if": "return 1 if x else 2",
    "in": "return (y in [1, 2], y not in [1, 2])",
    "round": "return (round(x), round(x, 1))", "pow": "return pow(x, y)", "int": "return (int(x), float(x))",
    "index": "return [1, 2, 3, 4][y]", "str": "return (str(x), repr(x))", "format": "return f'{x} {x:3}'",
    "hash": "return hash(x)", "math": "return (math.floor(x), math.ceil(x), math.trunc(x))",
    "sorted": "return [as_int(v) for v in sorted([x, y])]", "max": "return as_int(max(x, y))",
    "sum": "return as_int(sum([x, y]))", "range": "return list(range(y))", "bool": "return bool(x)",
    "isinstance": "return isinstance(x, type(3))",
}  # fmt: skip
OF_OBJECTS = {
    "in it": "return (y in x, 1 in x)", "item": "return x[y]", "store": "x[y] = y; return x.value",
    "del": "del x[y]; return x.value", "iter": "return [v for v in x]", "list": "return list(x)",
    "next": "it = iter(x); return (next(it), next(it), next(it, None))", "unpack": "a, b = x; return a * b",
    "len": "return len(x)", "attribute": "return (x.value, x.doubled, x.missing, hasattr(x, 'doubled'))",
    "set": "x.doubled = 7; return x.value", "setattr": "setattr(x, 'value', 8); return x.value",
    "method": "return x.method(y)", "call": "return x(y)", "with": "with x as v:\n  return v",
    "star": "return (lambda a, b: a - b)(*x)", "any": "return any(x)",
}  # fmt: skip
OF_CONTAINERS = {
    "in": "return 2 in x", "item": "return (x[0], x[-1], x[0:2])", "len": "return len(x)",
    "iter": "return [v for v in x]", "unpack": "a, b, c = x; return a + b + c", "list": "return list(x)",
    "store": "x[1] = 5; return list(x)", "next": "return next(iter(x))", "call": "return (lambda *a: a)(*x)",
    "reversed": "return list(reversed(x))", "sum": "return sum(x)", "sorted": "return sorted(x)",
    "*": "x *= 2; return list(x)", "extend": "x.extend([4]) if isinstance(x, list) else None; return list(x)",
}  # fmt: skip


def function_of(body):
    lines = body.split("\n") if "\n" in body else body.split("; ")
    namespace = {"math": math, "as_int": as_int}
    exec("def f(x, y):\n" + "\n".join(f"  {line}" for line in lines), namespace)
    return namespace["f"]


RULED = [
    *(getattr(operator, name) for name in dir(operator) if not name.startswith("_") and name != "index"),
    *(getattr(builtins, name) for name in (
        "abs bool divmod float hash int iter len max min next pow range repr reversed round sorted str sum "
        "list isinstance any getattr setattr hasattr format"
    ).split()),
    math.floor, math.ceil, math.trunc, primitives.not_contains,
]  # fmt: skip
RULED = [f for f in RULED if not isinstance(f, type) or f.__module__ == "builtins"]


class Asked(Context):
    """Rules for every operation, which write down that they were asked."""

    log: list


for _f in RULED:

    @Asked.rule(_f)
    def _(ctx, *args, _f=_f, **kwargs):
        ctx.log.append(_f)
        return recurse(ctx, _f, *args, **kwargs)


class Called(Context):
    """Rules for the methods of the user's classes only."""

    log: list


for _cls in (Number, InPlace, Steps):
    for _name, _method in vars(_cls).items():
        _run = _method.fget if isinstance(_method, property) else _method
        if callable(_run):

            @Called.rule(_run)
            def _(ctx, *args, _f=_run, _name=_name):
                ctx.log.append(_name)
                return recurse(ctx, _f, *args)


def outcome(context, f, tagged, x, y):
    ctx = context([])
    if tagged:
        x, y = ctx.tag(x, "x"), ctx.tag(y, "y")
    try:
        out = untag(ctx, overdub(ctx, f, x, y))
    except (TypeError, ZeroDivisionError, AttributeError) as error:
        out = type(error).__name__  # its text may name the function of C code that was asked
    return shown(out), ctx.log


def shown(out):
    if isinstance(out, (tuple, list)) and not isinstance(out, type):
        return type(out), [shown(each) for each in out]
    return type(out), repr(out.value) if isinstance(out, Number) else repr(out)


KINDS = (
    (WRITTEN, ("ints", "floats", "numbers", "in place", "mixed")),
    (OF_OBJECTS, ("numbers", "in place")),
    (OF_CONTAINERS, ("list", "array")),
)
CASES = [(name, body, kind) for table, kinds in KINDS for name, body in table.items() for kind in kinds]
OPERANDS = {
    "ints": lambda: (7, 2), "floats": lambda: (7.5, 2.0), "numbers": lambda: (Number(7), Number(2)),
    "in place": lambda: (InPlace(7), Number(2)), "mixed": lambda: (5, Number(2)),
    "list": lambda: ([1, 2, 3], 0), "array": lambda: (np.array([1, 2, 3]), 0),
}  # fmt: skip


@pytest.mark.parametrize("context", [Asked, Called])
@pytest.mark.parametrize("name, body, kind", CASES, ids=lambda each: each if len(str(each)) < 12 else "")
def test_operations(name, body, kind, context):
    f = function_of(body)
    plain = outcome(context, f, False, *OPERANDS[kind]())
    assert outcome(context, f, True, *OPERANDS[kind]()) == plain


@pytest.mark.parametrize("sign", [sign for sign in ARITHMETIC.values() if sign != "@"])
def test_in_place_without_a_context(sign):
    f = function_of(f"z = x; x {sign}= y; return x, z")
    ctx = Context()
    x, z = f(ctx.tag(7, "x"), 2)
    assert type(x) is type(f(7, 2)[0]) and x == f(7, 2)[0] and z == 7 and ctx.metadata(z) == "x"
    x, z = f(ctx.tag(InPlace(7), "x"), 2)
    assert x is z and ctx.metadata(x) == "x"


@pytest.mark.parametrize("make", [lambda: [1], lambda: np.ones(2), lambda: InPlace(3), lambda: {1: 2}])
def test_what_is_changed_in_place_keeps_its_tag(make):
    class Plain(Context):
        intercepts = ("operator",)

    f = function_of("x |= {3: 4}; return x" if isinstance(make(), dict) else "x += [2]; return x")
    f = function_of("x += 1; return x") if isinstance(make(), InPlace) else f
    ctx = Plain()
    value = make()
    out = overdub(ctx, f, ctx.tag(value, "x"), None)
    assert ctx.untag(out) is value and ctx.metadata(out) == "x"


def test_rules_on_types_are_for_the_value():
    class Typed(Context):
        pass

    @Typed.rule(operator.add, float, float)
    def _(ctx, a, b):
        return ctx.metadata(a), ctx.metadata(b)

    @Typed.rule(abs, Number)
    def _(ctx, a):
        return "number"

    ctx = Typed()
    f = function_of("return x + y")
    assert overdub(ctx, f, ctx.tag(1.0, "a"), ctx.tag(2.0, "b")) == ("a", "b")
    assert overdub(ctx, f, ctx.tag(1, "a"), ctx.tag(2.0, "b")) == 3.0
    assert overdub(ctx, function_of("x += y; return x"), ctx.tag(1.0, "a"), 2.0) == ("a", None)
    assert overdub(ctx, function_of("return abs(x)"), ctx.tag(Number(1), "a"), None) == "number"


def test_tagged_functions_are_followed():
    class Counts(Context):
        log: list

    @Counts.rule(math.sin)
    def _(ctx, x):
        ctx.log.append(x)
        return math.sin(x)

    def double(x):
        return 2.0 * math.sin(x)

    def f(g, x):
        return g(x)

    ctx = Counts([])
    assert overdub(ctx, f, ctx.tag(double, "g"), 1.0) == 2.0 * math.sin(1.0)
    assert overdub(ctx, f, ctx.tag(math.sin, "g"), 2.0) == math.sin(2.0)
    assert ctx.log == [1.0, 2.0]
