"""Lifting changes nothing: the graph of f computes f, or f is refused by name and place."""

import copy
import importlib.util
import inspect
import operator
import types

import pytest
from programs import CASES

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.bytecode.lift import is_generator, lift, lift_code, lift_generator
from ctxdispatch.ir import interpret, verify
from ctxdispatch.ir.graph import Iterate
from ctxdispatch.ir.prune import prune
from ctxdispatch.passes.generators import as_list


def outcome(call, *args):
    """The result and what became of the arguments, or the exception as the user sees it."""
    args = copy.deepcopy(args)
    try:
        return plain(call(*args)), plain(args)
    except Exception as error:
        cause = error.__cause__
        return type(error), str(error), type(cause), plain(args)


def plain(value):
    """Comparable: objects by their state, functions and iterators by kind."""
    if isinstance(value, (list, tuple)):
        return type(value), [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if hasattr(value, "__dict__") and not isinstance(value, (type, types.ModuleType)):
        return type(value), plain(vars(value))
    return type(value), value


def run_graph(f):
    graph = verify(lift(f))

    def run(*args):
        bound = inspect.signature(f).bind(*args)
        bound.apply_defaults()
        by_name = bound.arguments
        return interpret(graph, [by_name[name] for name in graph.signature.names], f.__closure__ or ())

    return run


@pytest.mark.parametrize(
    "f, args",
    [pytest.param(f, a, id=f"{f.__qualname__}-{n}") for f, cases in CASES for n, a in enumerate(cases)],
)
def test_the_graph_computes_the_function(f, args):
    assert outcome(run_graph(f), *args) == outcome(f, *args)


@pytest.mark.parametrize("f", [pytest.param(f, id=f.__qualname__) for f, _ in CASES])
def test_pruning_again_changes_nothing(f):
    graph = lift(f)
    text = str(graph)
    assert str(prune(graph)) == text


# -- the shape of the graph ------------------------------------------------------------------------


def power(x, n):
    r = 1.0
    while n > 0:
        r = r * x
        n = n - 1
    return r


def text_of(f):
    return str(lift(f))


def test_a_loop_has_a_parameter_for_what_it_changes_only():
    graph = lift(power)
    assert {p.name for b in graph.blocks[1:] for p in b.params} == {"n", "r"}


def test_a_condition_that_is_a_bool_is_not_converted():
    def f(x, xs):
        return 1 if x is None or x in xs else 2

    assert text_of(f).count("bool(") == 0
    assert text_of(power).count("bool(") in (1, 2)  # some compilers test at both ends of the loop


def test_display_of_constants():
    assert "build_list(1, 2, 3)" in text_of(lambda: [1, 2, 3])


def test_iterators_do_not_become_parameters():
    def f(xs, ys):
        out = 0
        for x in xs:
            for y in ys:
                out += x * y
        return out

    graph = lift(f)
    assert sum(isinstance(b.terminator, Iterate) for b in graph.blocks) == 2
    assert {p.name for b in graph.blocks for p in b.params} <= {"xs", "ys", "x", "y", "out"}


def test_bound_locals_are_not_checked():
    def f(c):
        total = 0
        for k in range(c):
            v = k if k > 1 else -k
            total += v
        return total

    assert "check_bound" not in text_of(f)


def test_positions():
    def f(a, b):
        return a.x + power(
            b,
        )

    graph = lift(f)
    first = f.__code__.co_firstlineno
    by_name = {str(op.callee): op.pos for _, op in graph.ops()}
    add = next(op.pos for _, op in graph.ops() if getattr(op.callee, "value", None) is operator.add)
    assert (add.line, add.end_line, add.filename) == (first + 1, first + 3, __file__)
    assert add.function.endswith("f") and add.column is not None and len(by_name) >= 4


def test_what_a_graph_knows_of_its_function():
    def outer():
        k = 1

        def f(a, /, b, *c, d=1, **e):
            return a, b, c, d, e, k

        return f

    f = outer()
    graph = lift(f)
    assert graph.name == f.__qualname__ and graph.code is f.__code__ and graph.namespace is f.__globals__
    assert graph.signature == (("a", "b", "d", "c", "e"), 2, 1, 1, True, True)
    assert graph.cellnames == ("k",) and [c.name for c in graph.cells] == ["k"]
    assert graph.line == f.__code__.co_firstlineno and graph.filename == __file__


def test_long_programs_need_no_deep_recursion():
    source = "def f(x):\n y = 0\n" + " if x: x -= 1\n" * 3000 + " return x, y\n"
    scope = {}
    exec(source, scope)
    assert interpret(lift(scope["f"]), [2000]) == (0, 0)


def test_a_name_super_that_is_no_builtin_gets_no_arguments():
    scope = {"super": lambda *args: args}
    exec("class A:\n def m(self):\n  return super(), super(1, 2), __class__", scope)
    m = scope["A"].m
    assert interpret(lift(m), [None], m.__closure__) == m(None)


# -- generator expressions -------------------------------------------------------------------------


def generator_code(f):
    return next(c for c in f.__code__.co_consts if isinstance(c, types.CodeType))


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda xs: sum(x * x for x in xs), [0, 1, 4, 9]),
        (lambda xs: list(x + y for x in xs if x > 1 for y in range(x)), [2, 3, 3, 4, 5]),
        (lambda xs: any((x or None) for x in xs), [None, 1, 2, 3]),
    ],
)
def test_eager_generator_expression(f, expected):
    graph = verify(as_list(lift_generator(generator_code(f), globals())))
    assert interpret(graph, [iter(range(4))]) == expected


def test_only_generators_are_lifted_as_such():
    with pytest.raises(ValueError, match="is no generator"):
        lift_generator(power.__code__, {})


# -- refusals --------------------------------------------------------------------------------------


def try_except(x):
    y = x
    try:
        y += 1
    except ValueError:
        return 0
    return y


def try_bare(x):
    try:
        return x + 1
    except:
        return 0


def try_finally(x):
    try:
        x += 1
    finally:
        x += 2
    return x


def try_star(x):
    try:
        x += 1
    except* ValueError:
        return_value = 0
    return x


def with_block(x):
    x += 1
    with x as y:
        y += 1
    return y


def generator(x):
    yield x


async def coroutine(x):
    await x


async def async_generator(x):
    yield x


REFUSED = [
    (try_except, "try/except", 2),
    (try_bare, "try/except", 1),
    (try_finally, "try/finally", 1),
    (try_star, "try/except*", 1),
    (with_block, "with", 2),
    (generator, "generator function", 0),
    (coroutine, "async", 0),
    (async_generator, "async", 0),
]


@pytest.mark.parametrize("f, construct, line", REFUSED, ids=lambda v: getattr(v, "__name__", str(v)))
def test_refused_by_name_and_place(f, construct, line):
    with pytest.raises(UnsupportedSyntax) as caught:
        lift(f)
    error = caught.value
    assert (error.construct, error.line) == (construct, f.__code__.co_firstlineno + line)
    assert (error.filename, error.function) == (__file__, f.__qualname__)
    for part in (construct, f"{__file__}:{error.line}", error.remedy):
        assert part in str(error)


def test_a_handler_that_is_never_reached_is_no_matter():
    def f(x):
        return x
        try:
            x()
        except ValueError:
            pass

    assert interpret(lift(f), [3]) == 3


def test_class_bodies_are_refused():
    with pytest.raises(UnsupportedSyntax, match="class body"):
        lift_code(compile("x = 1", "m.py", "exec"), {})


# -- the standard library --------------------------------------------------------------------------

MODULES = """argparse ast calendar collections configparser copy csv dataclasses difflib fnmatch fractions
    functools heapq inspect json.decoder json.encoder logging pprint random statistics string textwrap
    turtle""".split()


def code_objects(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from code_objects(const)


@pytest.mark.parametrize("module", MODULES)
def test_the_standard_library_lifts_or_is_refused(module):
    spec = importlib.util.find_spec(module)
    with open(spec.origin, encoding="utf-8") as file:
        whole = compile(file.read(), spec.origin, "exec", dont_inherit=True)
    lifted = 0
    for code in code_objects(whole):
        try:
            graph = lift_generator(code, {}) if is_generator(code) else lift_code(code, {})
        except UnsupportedSyntax as refusal:
            assert refusal.line is not None
        else:
            verify(graph)
            lifted += 1
    assert lifted
