"""Random functions over all kinds of statements and expressions, as text.

They end: loops ask `tick` or take `items`, which raise when the fuel is out; no function calls itself.
Names hold scalars, so that nothing grows: containers are made, looked at and dropped within one expression.
"""

import ast
from dataclasses import dataclass, replace
from functools import cache

from hypothesis import strategies as st

NAMES = "a b c d".split()  # parameters of the outermost function
KINDS = "function generator coroutine asyncgen".split()
NEW = {name: hasattr(ast, name) for name in ("TypeAlias", "TemplateStr")}
DEEPEST = 5  # blocks within blocks that hold blocks
WAYS = 8  # to use what a function gives

SIGNATURES = [("", ""), ("p, q={}", "1, 2"), ("p, /, *q, k={}, **r", "1, 2, 3, m=4"), ("*, p={}", "")]
"""(parameters, arguments)"""

# What is between braces is drawn, form by form.
FORMS = {
    "arithmetic": r"""
        ({} + {})
        ({} - {})
        ({} & {})
        (({}) % 7 * (({}) % 5))
        (({}) % 3 ** (({}) % 3))
        ({} // {})
        ({} | {})
        (({}) % 4 << (({}) % 3))
        ({} ^ {})
        ({} / {})
        ({} % {})
        ({} - 1 if box @ {} else 2)
        (({}) % 9 >> (({}) % 3))
    """,
    "comparison": r"""
        ({} < {})
        ({} == {})
        ({} < {} <= {})
        ({} is {})
        ({} is not None)
        ({} in ({}, {}))
        ({} != {} is not {})
        ({} not in [{}])
        ({} > {} >= {} == 0)
    """,
    "boolean": r"""
        ({} and {})
        ({} or {})
        (not {})
        ({} and {} or {})
        (({} or {}) and {})
        (not ({} and {}))
    """,
    "unary": r"""
        (-{})
        (+{})
        (~{})
    """,
    "logged": r"""
        log({})
        log({}, {})
        log(*[{}], {})
        log(*({}, {}), **{{}})
        log({}, *())
    """,
    "container": r"""
        len([{}, {}])
        ({}, {})[0]
        len({{{}: {}}})
        len({{{}, {}}})
        [{}, *items(), {}][0]
        len({{'k': {}, **{{'m': {}}}}})
        [{}, {}][1]
        len((*items(), {}, {}))
        data[{}:{}][0]
        dict(k={}, m={})['k']
        len({{*items(), {}}})
        table[{}]
        data[0:2:1][0]
    """,
    "comprehension": r"""
        sum([{v} for {v} in items()])
        len({{{x} for {v} in items() if {y}}})
        len({{{v}: {x} for {v} in items()}})
        max(({v} for {v} in items()), default={d})
        [[{v}, j] for {v} in items() for j in items({v})][0][0]
        [lambda: {v} for {v} in items()][0]()
        len([{w} for {v} in items()])
        [{x} for {v} in items() if {v} if {v} > 0][0]
        [[{v} for {v} in items()] for j in items()][0][1]
    """,
    "text": r"""
        len(f"{{{}}} {{{}!r}}")
        len(f"{{{}:>{{{}}}}}")
        len(f"{{{}=}}")
        len(f"{{{}!s:4}}")
    """,
    "function": r"""
        (lambda p: {})({})
        (lambda p, *q, k={1}, **m: {0})(1)
        (lambda: {})()
    """,
    "suspension in generator": r"""
        (yield {})
        (yield)
        (yield from items({}))
    """,
    "suspension in coroutine": r"""
        (await nap({}))
        len([i async for i in naps(1, {})])
        (await nap())
    """,
    "suspension in asyncgen": r"""
        (await nap({}))
        (yield {})
        len({{i: await nap(i) async for i in naps({})}})
    """,
    "assignment": r"""
        {x} = {v}
        {x}, {y} = {v}, {w}
        {x} = {y} = {v}
        box.x = {v}
        table[{w}] = {v}
        ({x}, *_), {y} = [{v}, {w}], 1
        data[0:1] = [{v}]
        [{x}, box.x] = {v}, {w}
        {x}, {y} = {y}, {x}
        {x}, _, *{y} = items({v})
    """,
    "annotated": r"""
        t: int = {}
        box.x: 'text' = {}
        t: int
    """,
    "deletion": r"""
        del {x}
        del box.x
        del table[0]
        del data[{x}:]
        del {x}, box.x
    """,
    "manager": r"""
        manage({v}) as {x}
        manage({v}), manage({w}) as {x}
        (manage({v}) as box.x, manage(1))
    """,
    "raising": r"""
        raise ValueError({})
        raise KeyError
        raise
        raise TypeError({}) from None
        raise OSError from {}
        raise ExceptionGroup('g', [ValueError({}), KeyError()])
        raise {}
    """,
    "error": r"""
        ValueError
        KeyError
        (TypeError, NameError)
        Exception
        log(OSError)
        ArithmeticError
    """,
    "importing": r"""
        import math as {x}
        import os.path
        from operator import add, sub as s
        import os.path as {x}
        from string import digits
    """,
    "subject": r"""
        {v}
        ({v}, {w})
        [{v}, {w}, 0]
        {{'k': {v}, 'm': {w}}}
        box
    """,
    "pattern": r"""
        0 | 1
        [{x}, *_]
        {{'k': {x}, **rest}}
        int({x})
        Box(x={x})
        None
        str() as {x}
        ({x}, 0 | 1 as {y})
        -1 | 'a'
        {{'k': [{x}, _]}}
        ({x}, {y}) | [{y}, {x}, _]
        Box.x
    """,
    "declaration": r"""
        nonlocal {x}
        global z
        nonlocal {x}; global z
    """,
}
FORMS = {kind: [line.strip() for line in text.strip().splitlines()] for kind, text in FORMS.items()}
if NEW["TemplateStr"]:
    FORMS["text"].append('len(t"{{{}}}".values)')


# -- scopes ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scope:
    kind: str = "function"
    loop: bool = False
    leaves: bool = True  # not in `except*`
    binds: bool = True  # whether `:=` may stand here
    depth: int = 0

    @property
    def is_async(self):
        return self.kind in ("coroutine", "asyncgen")

    @property
    def yields(self):
        return self.kind in ("generator", "asyncgen")

    def inner(self, kind):
        return Scope(kind, depth=self.depth)


@cache
def below(n):
    return st.integers(0, n - 1)


def indent(lines):
    return [f"    {line}" for line in lines]


class Text:
    """Draws one program. Methods of `STATEMENTS` give lines, those of `EXPRESSIONS` a text."""

    def __init__(self, draw, statements=30):
        self.draw, self.left, self.made = draw, statements, 0

    def number(self, n):
        return self.draw(below(n))

    def one(self, options):
        return options[self.number(len(options))]

    def form(self, kind):
        return self.one(FORMS[kind])

    def name(self):
        return self.one(NAMES)

    def new(self, prefix):
        self.made += 1
        return f"{prefix}{self.made}"

    # -- expressions: scalars -----------------------------------------------------------------------

    def value(self, scope, depth=2):
        if depth == 0:
            return self.atom(scope, depth)
        make = self.one(EXPRESSIONS)
        return make(self, scope, depth - 1) or self.atom(scope, depth)

    def atom(self, scope, depth):
        return self.one([*NAMES, *NAMES, "0", "1", "2", "3", "1", "2", "z", "box.x", "table[0]", "None"])

    def arithmetic(self, scope, depth):
        return self.form("arithmetic").format(self.value(scope, depth), self.value(scope, depth))

    def comparison(self, scope, depth):
        return self.form("comparison").format(*(self.value(scope, depth) for _ in range(3)))

    def boolean(self, scope, depth):
        return self.form("boolean").format(*(self.value(scope, depth) for _ in range(3)))

    def unary(self, scope, depth):
        return self.form("unary").format(self.value(scope, depth))

    def conditional(self, scope, depth):
        x, y, w = (self.value(scope, depth) for _ in range(3))
        return f"({x} if {y} else {w})"

    def logged(self, scope, depth):
        return self.form("logged").format(self.value(scope, depth), self.value(scope, depth))

    def container(self, scope, depth):
        return self.form("container").format(self.value(scope, depth), self.value(scope, depth))

    def comprehension(self, scope, depth):
        inner = replace(scope, binds=False, kind="class" if scope.kind == "class" else "comprehension")
        x, y = self.value(inner, depth), self.value(inner, depth)
        v = self.one(["i", *NAMES])
        walrus = f"(w := {v})" if scope.binds and scope.kind != "class" else v
        return self.form("comprehension").format(v=v, x=x, y=y, w=walrus, d=self.name())

    def walrus(self, scope, depth):
        return f"({self.name()} := {self.value(scope, depth)})" if scope.binds else ""

    def text(self, scope, depth):
        return self.form("text").format(self.name(), self.name())

    def function(self, scope, depth):
        inner = replace(scope, kind="lambda", loop=False)
        return self.form("function").format(self.value(inner, depth), self.value(scope, depth))

    def suspension(self, scope, depth):
        kind = f"suspension in {scope.kind}"
        return self.form(kind).format(self.value(scope, depth)) if kind in FORMS else ""

    # -- statements --------------------------------------------------------------------------------

    def block(self, scope, most=3):
        lines, scope = [], replace(scope, depth=scope.depth + 1)
        for _ in range(1 + self.number(most)):
            if self.left <= 0:
                break
            self.left -= 1
            lines += self.statement(scope)
        return indent(lines or ["pass"])

    def statement(self, scope):
        return self.one(STATEMENTS if scope.depth < DEEPEST else SIMPLE)(self,
            scope) or self.expression(scope)

    def expression(self, scope):
        return [f"log({self.value(scope)})"]

    def bare(self, scope):
        return [self.value(scope)]

    def nothing(self, scope):
        return ["pass"]

    def assignment(self, scope):
        v, w = self.value(scope), self.value(scope)
        return [self.form("assignment").format(x=self.name(), y=self.name(), v=v, w=w)]

    def augmented(self, scope):
        target = self.one([*NAMES, "box.x", "table[0]", "data[0]", "table[log('k')]"])
        return [f"{target} {self.one(['+=', '-=', '|=', '&=', '//='])} {self.value(scope)}"]

    def annotated(self, scope):
        inner = replace(scope, binds=False, kind="annotation") if scope.kind == "class" else scope
        return [self.form("annotated").format(self.value(inner, 1))]

    def deletion(self, scope):
        return [self.form("deletion").format(x=self.name())]

    def choice(self, scope):
        lines = [f"if {self.value(scope)}:", *self.block(scope)]
        if self.number(3) == 1:
            lines += [f"elif {self.value(scope)}:", *self.block(scope)]
        return lines + self.otherwise(scope)

    def otherwise(self, scope):
        return ["else:", *self.block(scope)] if self.number(2) else []

    def for_loop(self, scope):
        target = self.one([*NAMES, "box.x", "a, b", "table[0]"])
        values = f"zip(items(), items({self.name()}))" if target == "a, b" else f"items({self.value(scope)})"
        return [f"for {target} in {values}:", *self.block(replace(scope, loop=True)), *self.otherwise(scope)]

    def while_loop(self, scope):
        head = f"while tick() and {self.value(scope)}:"
        return [head, *self.block(replace(scope, loop=True)), *self.otherwise(scope)]

    def leave(self, scope):
        ways = ["break", "continue"] if scope.loop else []
        if scope.kind in KINDS:
            ways.append(f"return {self.value(scope)}" if scope.kind != "asyncgen" else "return")
        if not ways or not scope.leaves:
            return []
        return self.perhaps(self.one(ways), scope)

    def perhaps(self, statement, scope):
        """Mostly under a condition: what follows shall run too."""
        return [f"if {self.value(scope, 1)}:", f"    {statement}"] if self.number(4) else [statement]

    def with_statement(self, scope):
        v, w = self.value(scope, 1), self.value(scope, 1)
        head = self.form("manager").format(v=v, w=w, x=self.name())
        prefix = "async " if scope.is_async and self.number(2) else ""
        return [f"{prefix}with {head}:", *self.block(scope)]

    def raising(self, scope):
        return self.perhaps(self.form("raising").format(self.value(scope, 1)), scope)

    def trying(self, scope):
        lines = ["try:", *self.block(scope)]
        handlers = self.number(3)
        for kind in [self.form("error") for _ in range(handlers)]:
            named = f" as {self.name()}" if self.number(2) else ""
            lines += [f"except {kind}{named}:", *self.block(scope)]
        if handlers and self.number(3) == 1:
            lines += ["except:", *self.block(scope)]
        if handlers:
            lines += self.otherwise(scope)
        return lines + (["finally:", *self.block(scope)] if not handlers or self.number(2) else [])

    def trying_groups(self, scope):
        inside = replace(scope, leaves=False, loop=False)
        lines = ["try:", *self.block(scope), f"except* ValueError as {self.name()}:", *self.block(inside)]
        if self.number(2):
            lines += ["except* (KeyError, TypeError):", *self.block(inside)]
        return lines + self.otherwise(scope) + (["finally:", *self.block(scope)] if self.number(2) else [])

    def assertion(self, scope):
        return [f"assert {self.value(scope)}" + (f", {self.value(scope, 1)}" if self.number(2) else "")]

    def importing(self, scope):
        return [self.form("importing").format(x=self.name())]

    def matching(self, scope):
        x, y = self.name(), self.name()
        subject = self.form("subject").format(v=self.value(scope), w=self.value(scope))
        lines = [f"match {subject}:"]
        for _ in range(1 + self.number(3)):
            pattern = self.form("pattern").format(x=x, y=y if y != x else "e")
            guard = f" if {self.value(scope, 1)}" if self.number(2) else ""
            lines += indent([f"case {pattern}{guard}:", *self.block(scope, 2)])
        last = [f"case {self.one(['_', x])}:", *self.block(scope, 2)] if self.number(2) else []
        return lines + indent(last)

    def definition(self, scope):
        name, kind = self.new("f"), self.one(KINDS)
        inner = scope.inner(kind)
        parameters, arguments = self.one(SIGNATURES)
        doc = indent(["'Said.'"]) if self.number(4) == 1 else []
        body = [*self.declarations(scope), *self.first_yield(kind), *self.block(inner)]
        head = f"{'async ' if inner.is_async else ''}def {name}{self.parameter_of_type()}"
        head += f"({parameters.format(self.value(scope, 1))}):"
        return [*self.decorator(scope), head, *doc, *body, f"log({self.used(name, arguments, kind, scope)})"]

    def used(self, name, arguments, kind, scope):
        call = f"{name}({arguments})"
        if kind == "coroutine" and scope.is_async:
            return f"await {call}"
        return f"use({call}, {self.value(scope, 1)})"

    def decorator(self, scope):
        return [f"@decorate({self.value(scope, 1)})"] if self.number(4) == 1 else []

    def parameter_of_type(self):
        return "[T, *U]" if NEW["TypeAlias"] and self.number(4) == 1 else ""

    def declarations(self, scope):
        return indent([self.form("declaration").format(x=self.name())] if self.number(2) else [])

    def first_yield(self, kind):
        return indent(["yield 'first'"] if kind in ("generator", "asyncgen") else [])

    def asynchronous_loop(self, scope):
        if not scope.is_async:
            return []
        head = f"async for {self.name()} in naps({self.value(scope, 1)}, 1):"
        return [head, *self.block(replace(scope, loop=True)), *self.otherwise(scope)]

    def class_definition(self, scope):
        name = self.new("C")
        head = f"class {name}{self.parameter_of_type()}({self.one(['', 'Box', 'Box, metaclass=type'])}):"
        lines = [*self.decorator(scope), head, *self.block(scope.inner("class"))]
        if not self.number(2):
            return [*lines, f"log({name}.__name__)"]
        method = ["def m(self, p=1):", "    super().__init__()", *self.block(scope.inner("function"), 2)]
        return [*lines, *indent(method), f"log({name}().m())"]

    def alias(self, scope):
        if not NEW["TypeAlias"]:
            return []
        name, value = self.new("A"), self.value(Scope("annotation", binds=False), 1)
        return [f"type {name}[T] = ({value}, T)", f"log({name}.__value__[0])"]

    def program(self):
        kind = self.one(KINDS)
        head = f"{'async ' if kind in ('coroutine', 'asyncgen') else ''}def f(a, b, c=0, *, d=1):"
        return "\n".join([head, *self.first_yield(kind), *self.block(Scope(kind), 6), ""])


EXPRESSIONS = [
    Text.atom, Text.atom, Text.arithmetic, Text.comparison, Text.boolean, Text.conditional, Text.logged,
    Text.unary, Text.container, Text.comprehension, Text.walrus, Text.text, Text.function, Text.suspension,
    Text.suspension,
]  # fmt: skip
SIMPLE = [
    Text.nothing, Text.expression, Text.expression, Text.assignment, Text.assignment, Text.augmented,
    Text.leave, Text.leave, Text.raising, Text.deletion, Text.assertion, Text.annotated, Text.importing,
    Text.alias, Text.bare,
]  # fmt: skip
STATEMENTS = [
    *SIMPLE, Text.choice, Text.for_loop, Text.for_loop, Text.while_loop, Text.trying, Text.trying,
    Text.definition, Text.definition, Text.with_statement, Text.matching, Text.trying_groups,
    Text.class_definition, Text.asynchronous_loop,
]  # fmt: skip


@st.composite
def programs(draw):
    return Text(draw).program()


PROGRAMS = programs()
ARGUMENTS = st.tuples(st.integers(-1, 3), st.integers(-1, 3))
HOW = st.integers(0, WAYS - 1)
