"""Random control flow: nested loops, breaks, early returns, deletions, locals that may be unbound."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir import interpret, verify
from ctxdispatch.ir.prune import prune

NAMES = st.sampled_from("abcd")
ATOMS = NAMES | st.integers(-2, 3).map(str)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(inner, st.sampled_from(["<", "==", "and", "or", "!="]), inner).map(
            lambda t: f"({' '.join(t)})"
        ),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} < {t[1]} < {t[2]})"),
        st.tuples(NAMES, inner).map(lambda t: f"sum([{t[0]} + {t[1]} for {t[0]} in range(3)])"),
        inner.map(lambda e: f"(not {e})"),
    ),
    max_leaves=5,
)
SIMPLE = st.one_of(
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: [f"{t[0]} = {t[1]}"]),
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: [f"{t[0]} -= {t[1]}"]),
    st.tuples(NAMES, NAMES).map(lambda t: [f"{t[0]}, {t[1]} = {t[1]}, {t[0]}"]),
    NAMES.map(lambda v: [f"del {v}"]),
    EXPRESSIONS.map(lambda e: [f"log.append({e})"]),
    EXPRESSIONS.map(lambda e: [f"if {e}: return {e}"]),
    EXPRESSIONS.map(lambda e: [f"assert {e}"]),
)
LEAVES = st.one_of(
    EXPRESSIONS.map(lambda e: [f"if {e}: break"]), EXPRESSIONS.map(lambda e: [f"if {e}: continue"])
)


def block(lines):
    return [f" {line}" for line in itertools.chain.from_iterable(lines)] or [" pass"]


def conditional(t):
    test, then, orelse = t
    return [f"if {test}:", *block(then), "else:", *block(orelse)]


def for_loop(t):
    name, test, body, orelse = t
    return [f"for {name} in range({test} % 4):", *block(body), "else:", *block(orelse)]


def while_loop(t):
    test, body, orelse = t
    counted = [["fuel -= 1"], *body]
    return [f"while fuel > 0 and {test}:", *block(counted), "else:", *block(orelse)]


def statements(inner):
    some = st.lists(inner | SIMPLE, max_size=3)
    in_loop = st.lists(inner | SIMPLE | LEAVES, max_size=4)
    return st.one_of(
        st.tuples(EXPRESSIONS, some, some).map(conditional),
        st.tuples(NAMES, EXPRESSIONS, in_loop, some).map(for_loop),
        st.tuples(EXPRESSIONS, in_loop, some).map(while_loop),
    )


PROGRAMS = st.lists(st.recursive(SIMPLE, statements, max_leaves=12), min_size=1, max_size=6)


def outcome(run, a, b):
    log = []
    try:
        return run(a, b, 12, log), log
    except Exception as error:
        return type(error), str(error), log


@settings(max_examples=150, deadline=None, derandomize=True)
@given(PROGRAMS, st.integers(-1, 3), st.integers(-1, 3))
def test_random_programs(lines, a, b):
    source = "\n".join(["def f(a, b, fuel, log):", *block(lines), " return a, b"])
    scope = {}
    exec(source, scope)
    f = scope["f"]
    graph = verify(lift(f))
    assert outcome(lambda *args: interpret(graph, args), a, b) == outcome(f, a, b)
    verify(prune(graph))
    assert outcome(lambda *args: interpret(graph, args), a, b) == outcome(f, a, b)
