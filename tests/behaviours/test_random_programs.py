"""Behaviours 1 to 35 mixed at random: loops, branches, jumps, tuples, lists, closures, objects and calls.

The gradient by `vjp` and `grad` against the complex step, which is exact to rounding: the programs are
polynomials on each of their paths, and branch on real parts only.
"""

import importlib.util
import random

import pytest

from ctxdispatch import grad, vjp

HEAD = """
class Pair:
    def __init__(self, p, q):
        self.p = p
        self.q = q

    def mix(self, z):
        return self.p * z + 0.3 * self.q

def several(p, *qs, r=0.5):
    t = p
    for q in qs:
        t = 0.5 * t * q + r
    return t, p * r

def f(x, y, flag):
    a, b, c, i, j, l = x, y, 0.5, 0, 0, [x, y]
"""
NAMES = "xyabc"
CONDITIONS = """i % 2 == 0; j > 1; i < 2; (i + j) % 3 == 0; flag; not flag; x.real > 0.3; a.real > b.real;
    flag and i < 1; x.real < 0.2 or j""".replace("\n", "").split("; ")


class Programs:
    """Writes one function, line by line."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = []
        self.counters = 0

    def source(self):
        self.block(1, 0, False)
        return HEAD + "\n".join(self.lines) + "\n    return a + b * c\n"

    def name(self):
        return self.rng.choice(NAMES)

    def condition(self):
        return self.rng.choice(CONDITIONS).strip()

    def expr(self, depth=0):
        e = self.expr
        if depth > 2 or self.rng.random() < 0.45:
            return self.name()
        forms = [
            lambda: f"({e(depth + 1)} + {e(depth + 1)})",
            lambda: f"({e(depth + 1)} - {e(depth + 1)})",
            lambda: f"0.5 * ({e(depth + 1)} * {e(depth + 1)})",
            lambda: f"({e(depth + 1)}, {e(depth + 1)})[{self.rng.choice('0 1 -1'.split())}]",
            lambda: f"({e(depth + 1)} if {self.condition()} else {e(depth + 1)})",
        ]
        return self.rng.choice(forms)()

    def put(self, depth, *lines):
        self.lines += ["    " * depth + line for line in lines]

    def block(self, depth, nesting, in_loop):
        for _ in range(self.rng.randint(1, 3)):
            compound = nesting < 2 and self.rng.random() < 0.45
            (self.compound if compound else self.simple)(depth, nesting, in_loop)

    def simple(self, depth, nesting, in_loop):
        e, name = self.expr, self.name
        p, q, r = self.rng.sample(NAMES, 3)
        self.put(depth, *self.rng.choice([
            [f"{p} = {e()}"],
            [f"{p} = {e()}"],
            [f"{p} = {e()}"],
            [f"{p}, {q}, {r} = {q}, {e(1)}, {p}"],
            [f"{p} += 0.1 * {e(1)}"],
            [f"l = [{e(1)}, {e(1)}]", f"l.append({e(1)})", f"{p} = l[i % 3] + l[-1] + 0.1 * sum(l)"],
            [f"for {p} in ({e(1)}, {e(1)}):", f"    c = 0.3 * c + {e(1)}"],
            [f"{p} = sum([{name()} * v for v in ({e(1)}, {e(1)}) if v.real > 0.1])"],
            [f"d = {{'u': {e(1)}, i: {e(1)}}}", f"{p} = d['u'] + d.get(j, 0.25) + 0.1 * sum(d.values())"],
            [f"g = lambda p, q={e(2)}: p * {name()} + 0.1 * q", f"{p} = g({e(1)}) + 0.1 * g({e(1)}, {e(1)})"],
            [f"{p}, {q} = several({e(1)}, *[{e(1)}, {e(1)}], r={e(1)})"],
            [f"o = Pair({e(1)}, {e(1)})", f"{p} = o.mix({e(1)}) + 0.1 * o.p"],
            [f"if {self.condition()}:", f"    {self.leave(in_loop)}"],
        ]))  # fmt: skip

    def leave(self, in_loop):
        choices = ["break", "continue"] if in_loop else []
        return self.rng.choice([*choices, f"return {self.expr()}"])

    def compound(self, depth, nesting, in_loop):
        kind = self.rng.choice(["if", "if", "for", "for", "while"])
        if kind == "if":
            self.put(depth, f"if {self.condition()}:")
        elif kind == "for":
            self.put(depth, f"for {self.rng.choice('ij')} in range({self.rng.randint(0, 4)}):")
        else:
            n = f"n{self.counters}"
            self.counters += 1
            self.put(depth, f"{n} = 0", f"while {n} < {self.rng.randint(1, 3)}:", f"    {n} += 1")
        self.block(depth + 1, nesting + 1, in_loop or kind != "if")
        if self.rng.random() < 0.4:
            self.put(depth, "else:")
            self.block(depth + 1, nesting + 1, in_loop)


@pytest.mark.parametrize("seed", range(30))
def test_random_program(seed, tmp_path):
    path = tmp_path / f"program_{seed}.py"
    path.write_text(Programs(seed).source())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for x, y, flag in ((0.4, 0.7, True), (-0.3, 0.2, False)):
        value = module.f(x, y, flag)
        if not abs(value) < 1e6:
            continue  # a polynomial of high degree
        step = 1e-30j
        slopes = module.f(x + step, y, flag).imag / 1e-30, module.f(x, y + step, flag).imag / 1e-30
        found, pullback = vjp(module.f, x, y, flag)
        assert found == value
        assert pullback(1.0) == (*(pytest.approx(s, rel=1e-9, abs=1e-9) for s in slopes), None)
        assert grad(module.f, (0, 1))(x, y, flag) == pytest.approx(slopes, rel=1e-9, abs=1e-9)
