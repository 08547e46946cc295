"""Second derivatives of random programs, by all four pairs of modes: they agree with each other and with what
they should be, or are refused by name; they are never silently different.

Scalars: the programs of test_random_programs.py (loops, branches, lists, dicts, closures, objects) on `Jet`s,
truncated Taylor polynomials. Arrays: straight and branching code on vectors, against central differences of
the gradient.
"""

import importlib.util
import random

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from test_random_programs import Programs

from ctxdispatch import grad, hvp, jacfwd, jacrev, jvp
from ctxdispatch_contexts.reverse import DerivativeError


class Jet:
    """f, f', f'' in one direction."""

    def __init__(self, *terms):
        self.terms = terms

    @property
    def real(self):
        return self.terms[0]

    def __add__(self, other):
        return Jet(*(a + b for a, b in zip(self.terms, _terms(other))))

    def __neg__(self):
        return Jet(*(-a for a in self.terms))

    def __sub__(self, other):
        return self + -1.0 * (other if isinstance(other, Jet) else Jet(*_terms(other)))

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        (a, da, dda), (b, db, ddb) = self.terms, _terms(other)
        return Jet(a * b, da * b + a * db, dda * b + 2 * da * db + a * ddb)

    __radd__, __rmul__ = __add__, __mul__


def _terms(value):
    return value.terms if isinstance(value, Jet) else (value, 0.0, 0.0)


def reverse(f):
    return grad(f)


def forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


PAIRS = [
    pytest.param(a, b, id=f"{a.__name__}-over-{b.__name__}")
    for a in (reverse, forward)
    for b in (reverse, forward)
]


def loaded(source, path):
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SEEDS = (100, 101, 102, 103, 104, 108, 112)


@pytest.mark.every(3)
@pytest.mark.parametrize("outer, inner", PAIRS)
def test_scalar_programs(outer, inner, tmp_path):
    computed = 0
    for seed in SEEDS:
        f = loaded(Programs(seed).source(), tmp_path / f"program_{seed}.py").f
        for y, flag in ((0.7, True), (0.2, False)):
            jet = f(Jet(0.4, 1.0, 0.0), y, flag)
            _, slope, bend = _terms(jet)
            if not abs(bend) < 1e6:
                continue  # a polynomial of high degree
            along_x = lambda x: f(x, y, flag)  # noqa: B023, E731
            try:
                first, second = inner(along_x)(0.4), outer(inner(along_x))(0.4)
            except DerivativeError:
                continue
            computed += 1
            assert first == pytest.approx(slope, rel=1e-9, abs=1e-9), seed
            assert second == pytest.approx(bend, rel=1e-8, abs=1e-8), seed
    assert computed >= len(SEEDS) // 2


# -- arrays --------------------------------------------------------------------------------------------------

UNARY = [
    "np.sin({a})", "np.exp(-{a} * {a})", "np.tanh({a})", "{a}[::-1] * {a}", "np.roll({a}, 1) * {a}",
    "{a} ** 3",
    "np.cumsum({a})", "W @ {a}", "np.concatenate([{a}[1:], {a}[:1]]) * {a}",
    "np.where({a} > 0.1, {a} * {a}, {a})",
    "{a}[np.array([0, 2, 2])] * {a}", "np.outer({a}, {a})[1]", "np.sqrt(1.0 + {a} * {a})",
    "np.maximum({a}, 0.2 * {a})",
    "np.stack([{a}, 2.0 * {a}]).sum(axis=0) * {a}", "helper({a}, {a}[0])",
    "np.einsum('ij,j->i', W, {a} * {a})",
    "np.array([{a}[0] * {a}[1], {a}[2], {a}[1]])", "np.linalg.norm({a} + 2.0) * {a}",
    "np.transpose(np.reshape(np.tile({a}, 2), (2, 3)))[:, 1] * {a}",
]  # fmt: skip
BINARY = ["{a} * {b}", "{a} + {b} * {b}", "{a} - 0.5 * {b}", "{a} / (1.5 + {b} * {b})"]
SCALAR = [
    "np.sum({a})",
    "np.mean({a} * {a})",
    "{a} @ {a}",
    "np.log(np.sum(np.exp({a})))",
    "np.prod(1.0 + 0.1 * {a})",
]


def array_program(seed):
    rng = random.Random(seed)
    names, lines = ["x"], []
    for i in range(rng.randint(1, 4)):
        template = rng.choice(UNARY + BINARY)
        value = template.format(a=rng.choice(names), b=rng.choice(names))
        kind = rng.randrange(5)
        if kind == 0:
            lines += [
                f"if np.sum({rng.choice(names)}) > 0.3:",
                f"    v{i} = {value}",
                "else:",
                f"    v{i} = 2.0 * x",
            ]
        elif kind == 1:
            lines += [f"v{i} = x", "for k in range(2):", f"    v{i} = 0.5 * v{i} + k * {value}"]
        else:
            lines.append(f"v{i} = {value}")
        names.append(f"v{i}")
    result = rng.choice(SCALAR).format(a=names[-1])
    head = "import numpy as np\nW = np.arange(9.0).reshape(3, 3) / 9.0\n"
    head += "def helper(a, s):\n    return a * s + a\n"
    return head + "def f(x):\n" + "".join(f"    {line}\n" for line in [*lines, f"return {result}"])


X, V = np.array([0.3, -0.4, 0.7]), np.array([0.5, 1.0, -0.3])

PRODUCTS = {
    "forward over reverse": lambda f: hvp(f, (X,), (V,)),
    "reverse over reverse": lambda f: grad(lambda x: grad(f)(x) @ V)(X),
    "reverse over forward": lambda f: grad(lambda x: jvp(f, (x,), (V,))[1])(X),
    "forward over forward": lambda f: np.array(
        [jvp(lambda x: jvp(f, (x,), (V,))[1], (X,), (e,))[1] for e in np.eye(3)]  # noqa: B023
    ),
    "blocks": lambda f: jacfwd(grad(f))(X) @ V,
    "blocks of cotangents": lambda f: jacrev(grad(f))(X) @ V,
}


@pytest.mark.night
@settings(max_examples=3, phases=[Phase.explicit, Phase.generate])  # a seed does not shrink
@given(seed=st.integers(0, 10**6))
@example(seed=113)
@example(seed=172)
@example(seed=689)
def test_array_programs(seed):
    compare(seed)


def compare(seed):
    space = {}
    source = array_program(seed)
    exec(compile(source, f"<program {seed}>", "exec"), space)
    f, h = space["f"], 1e-5
    central = (grad(f)(X + h * V) - grad(f)(X - h * V)) / (2 * h)
    along = (f(X + 1e-6 * V) - f(X - 1e-6 * V)) / 2e-6
    assert grad(f)(X) @ V == pytest.approx(along, rel=1e-6, abs=1e-7), source
    refused = []
    for name, product in PRODUCTS.items():
        try:
            found = product(f)
        except DerivativeError as refusal:
            refused.append((name, str(refusal)))
        else:
            np.testing.assert_allclose(found, central, rtol=1e-5, atol=1e-6, err_msg=f"{name}\n{source}")
    assert len(refused) < len(PRODUCTS), refused
