"""Lists and dicts that lose and move their items: random programs, which are linear in what they are given,
so that their derivative is what they make of the unit vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxdispatch import DerivativeError, explain, grad, jvp, value_and_grad

X = np.array([0.3, -1.1, 0.8])
W = np.array([1.0, -1.0])
UNITS = np.eye(3)

number = st.sampled_from(["x[0]", "x[1] * 2.0", "x[2] * -0.5", "s * 0.25"])
place = st.sampled_from(["0", "1", "-1", "-2", "2"])
key = st.sampled_from(["'a'", "'b'", "'c'"])
any_list, any_dict = st.sampled_from(["xs", "xs", "xs", "ys"]), st.sampled_from(["d", "d", "d", "e"])


def text(pattern, **parts):
    return st.builds(lambda **given: pattern.format(**given), **parts)


LISTS = st.one_of(
    text("v = {t}.pop(); s = s + v", t=any_list),
    text("s = s + {t}.pop({i})", t=any_list, i=place),
    text("{t}.insert({i}, {n})", t=any_list, i=place, n=number),
    text("{t}.append({n})", t=any_list, n=number),
    text("{t}.reverse()", t=any_list),
    text("del {t}[{i}]", t=any_list, i=place),
    text("{t}[{i}] = {n}", t=any_list, i=place, n=number),
    text("s = s + 3.0 * {t}[{i}]", t=any_list, i=place),
    text("for a in {t}: s = 0.5 * s + a", t=any_list),
    text("s = s + len({t}) * {n}", t=any_list, n=number),
    st.sampled_from([
        "ys = xs", "ys = list(xs)", "ys = xs[:]", "ys = xs[1:]", "ys = xs.copy()", "ys = [*xs]",
        "ys = xs + ys", "zs = [xs]; s = s + sum(zs[0])", "xs, ys = ys, xs",
        "held = lambda: xs", "s = s + sum(held())",
        "it = iter(xs)", "s = s + next(it, 0.0)", "xs = [a * 2.0 for a in xs]",
        "for i in range(len(xs)): xs[i] = xs[i] * 2.0 + s", "for i, a in enumerate(xs): xs[-i] = a * 0.5",
        "for i in range(1, len(xs)): xs[i - 1], xs[i] = xs[i], xs[i - 1] + s", "xs = [s] * 4",
        "for i in range(2): xs[i] += x[i]", "xs[:2] = [s, x[1], s]", "ys = [0.0] * 3; ys[1] = x[0]",
    ]),
)  # fmt: skip
DICTS = st.one_of(
    text("s = s + {t}.pop({k})", t=any_dict, k=key),
    text("s = s + {t}.pop({k}, {n})", t=any_dict, k=key, n=number),
    text("del {t}[{k}]", t=any_dict, k=key),
    text("{t}[{k}] = {n}", t=any_dict, k=key, n=number),
    text("s = s + {t}.setdefault({k}, {n})", t=any_dict, k=key, n=number),
    text("s = s + {t}.get({k}, {n})", t=any_dict, k=key, n=number),
    text("{t}.update(b={n})", t=any_dict, n=number),
    text("s = s + ({k} in {t}) * {n}", t=any_dict, k=key, n=number),
    text("for k, v in {t}.items(): s = 0.5 * s + v", t=any_dict),
    text("s = s + len({t}) * {n}", t=any_dict, n=number),
    text("s = s + called(**{t})", t=any_dict),
    st.sampled_from([
        "e = d", "e = dict(d)", "e = d.copy()", "e = {**d, 'c': s}", "e.update(d)", "e |= d", "d, e = e, d",
        "held = [d]; s = s + sum(held[0].values())", "d = {k: v * 2.0 for k, v in d.items() if k != 'b'}",
        "s = s + x[1] if d else s", "f = lambda: d", "s = s + sum(f().values())",
        "for i, k in enumerate('abc'): d[k] = x[i] * 3.0 + d.get(k, 0.0)",
        "for k in list(d): d[k] = d[k] + s",
        "for k in d: d[k] *= 2.0", "for k in 'ab': e[k] = s", "for k in 'bc': s = s + d.pop(k, 0.0)",
    ]),
)  # fmt: skip
HEAD = {"list": "xs, ys, held, it = {given}, [], list, iter(())", "dict": "d, e, f = {given}, {{}}, dict"}
GIVEN = {
    "list": ["[x[0], x[1], x[2]]", "list(x)", "[2.0 * a for a in x]", "list(p)", "p[:]"],
    "dict": ["{'a': x[0], 'b': x[1]}", "dict(a=x[2])", "dict(q)", "{**q}", "q.copy()"],
}  # fmt: skip
TAIL = {
    "list": "return s + sum([(i + 1.0) * a for i, a in enumerate(xs)]) + 7.0 * sum(ys)",
    "dict": "return s + sum([ord(k) * v for k, v in d.items()]) + 7.0 * sum(e.values())",
}  # fmt: skip


def program(kind):
    statement = {"list": LISTS, "dict": DICTS}[kind]
    nested = st.builds(
        lambda head, inside: [head, *("    " + each for each in inside)],
        st.sampled_from(["if w[0] > 0.0:", "if w[1] > 0.0:", "for _ in range(2):", "try:"]),
        st.lists(statement, min_size=1, max_size=3),
    ).map(lambda lines: [*lines, "except LookupError: s = s - x[2]"] if lines[0] == "try:" else lines)
    body = st.lists(st.one_of(statement.map(lambda line: [line]), nested), min_size=1, max_size=6)
    head = st.sampled_from(GIVEN[kind]).map(lambda given: HEAD[kind].format(given=given))
    return st.builds(lambda head, body: [head, *sum(body, []), TAIL[kind]], head, body)


def called(a=0.0, b=0.0, c=0.0):
    return a - 2.0 * b + c * 3.0


def made(lines):
    space = {"called": called}
    exec("def f(x, w, p, q):\n    s = 0.0\n" + "".join(f"    {line}\n" for line in lines), space)
    f = space["f"]

    def of_one(x):
        return f(x, W, [x[0], x[1] * 2.0], {"b": x[1], "a": x[2] * 0.5})

    return of_one


def check(lines):
    f = made(lines)
    try:
        value = f(X)
    except (LookupError, TypeError, RuntimeError) as error:
        for derivative in (grad(f), lambda x: jvp(f, (x,), (UNITS[0],))):
            with pytest.raises((type(error), DerivativeError)) as found:
                derivative(X.copy())
            assert isinstance(found.value, DerivativeError) or str(found.value) == str(error)
        return
    wanted = np.array([f(unit) for unit in UNITS])
    try:
        found = value_and_grad(f)(X.copy())
    except DerivativeError:
        return
    assert found[0] == value
    np.testing.assert_allclose(found[1], wanted, atol=1e-9)
    tangents = [jvp(f, (X.copy(),), (unit,))[1] for unit in UNITS]
    np.testing.assert_allclose(tangents, wanted, atol=1e-9)


@settings(max_examples=20)
@given(program("list"))
def test_lists(lines):
    check(lines)


@settings(max_examples=20)
@given(program("dict"))
def test_dicts(lines):
    check(lines)


ORDINARY = {
    "the last layer": """
def f(p):
    p = list(p)
    w = p.pop()
    return sum([(q ** 2).sum() for q in p]) * w.sum()
""",
    "the first": """
def f(p):
    first, p = p[0], [q * 2.0 for q in p]
    p.pop(0)
    p.insert(0, first)
    return sum([q.sum() * (i + 1) for i, q in enumerate(p)])
""",
    "collected": """
def f(p):
    hs = []
    for q in p:
        hs.append(np.tanh(q))
    last = hs.pop()
    hs.reverse()
    return last.sum() + sum([(h ** 2).sum() for h in hs])
""",
    "options": """
def g(q, **options):
    scale = options.pop("scale", 2.0)
    options.setdefault("shift", q[0])
    return h(q, **options) * scale
def h(q, shift, factor=1.0):
    return (q * factor + shift).sum()
def f(p):
    return g(p[0], factor=p[1]) + g(p[1], scale=p[0].sum())
""",
    "entries": """
def f(p):
    d = {"w": p[0], "b": p[1]}
    e = dict(d)
    e.update(b=e["b"] * 2.0)
    del d["b"]
    e |= d
    return sum([(v ** 2).sum() for v in e.values()]) + sum([v.sum() for k, v in d.items() if k != "b"])
""",
    "steps": """
def f(p):
    d = {"w": p[0], "b": p[1]}
    for _ in range(3):
        g = {k: v * v for k, v in d.items()}
        d = {k: d[k] - 0.1 * g[k] for k in d}
    return sum([(v ** 2).sum() for v in d.values()])
""",
    "steps from entries given": """
def g(d):
    for _ in range(3):
        d = {k: d[k] - 0.1 * d[k] ** 2 for k in d}
    return sum([(v ** 2).sum() for v in d.values()])
def f(p):
    return g(dict(w=p[0])) * g({"b": p[1]})
""",
    "recurrence": """
def f(p):
    u = [0.0] * 6
    for i in range(2, 6):
        u[i] = 0.5 * u[i - 1] - u[i - 2] + p[0][i % 2] * p[1][0]
    return u[-1] * u[-3]
""",
    "grid of rows": """
def f(p):
    u = [p[0][0], p[0][1], p[1][0], p[1][1]]
    for _ in range(5):
        v = list(u)
        for i in range(1, 3):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u = v
    return sum([q * q for q in u])
""",
    "table": """
def f(p):
    d = {0: p[0][0], 1: p[1][0]}
    for i in range(2, 12):
        d[i] = d[i - 1] * 0.5 + d[i - 2] * p[0][1]
    return d[11]
""",
    "history": """
def f(p):
    h, hs = p[0], ()
    for i in range(4):
        h = np.tanh(h * p[1] + i)
        hs = hs + (h,)
    return sum([(i + 1.0) * h.sum() for i, h in enumerate(hs)])
""",
}  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_ones_have_a_program(name):
    space = {"np": np}
    exec(ORDINARY[name], space)
    f, p = space["f"], [np.array([0.3, -0.2]), np.array([1.1, 0.4]), np.array([0.5])][: 3 - (name in CUT)]
    assert {region.tier for region in explain(grad(f))(p).regions} == {"compiled whole"}
    for i, array in enumerate(p):
        for at in range(array.size):
            step = [a.copy() for a in p], [a.copy() for a in p]
            step[0][i][at] += 1e-6
            step[1][i][at] -= 1e-6
            slope = (f(step[0]) - f(step[1])) / 2e-6
            assert grad(f)(p)[i][at] == pytest.approx(slope, rel=1e-5, abs=1e-7)


CUT = {*ORDINARY} - {"the last layer", "the first", "collected"}
