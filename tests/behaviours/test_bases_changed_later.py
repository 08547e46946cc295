"""What is decided by the bases of a class, where they are others later (`C.__bases__ = ..`) or a class is
registered as one (`ABC.register`): from then on, another derivative."""

import abc
import types

import numpy as np
import pytest

from ctxdispatch import grad, jvp

X = 2.0

BASE = """
class {name}({bases}):
    k = {k}
    def __init__(self, k=None):
        self.given = {k} if k is None else k
    def go(self, x):
        return x ** {n}
    @property
    def p(self):
        return {k}
    @staticmethod
    def st(x):
        return x ** {n}
    @classmethod
    def cm(cls, x):
        return cls.k * x
    def __add__(self, x):
        return x ** {n}
    def __rmul__(self, x):
        return {k} * x
    def __call__(self, x):
        return x ** {n}
    def __len__(self):
        return {n}
    def __getitem__(self, i):
        return {k} * i
    def __contains__(self, x):
        return {k} > 4.0
    def __eq__(self, other):
        return {k} > 4.0
    def __lt__(self, x):
        return {k} > 4.0
    def __enter__(self):
        return {k}
    def __exit__(self, *args):
        return False
    def __iter__(self):
        return iter([{k}] * {n})
    def __float__(self):
        return {k}
    def __neg__(self):
        return {k}
    def extra_{name}(self):
        return {k}
"""
OWN = """
class N(A):
    pass
class C(N):
    def up(self, x):
        return super().go(x)
    def up_attr(self, x):
        return super().k * x
    def up_static(self, x):
        return super().st(x)
    def up_class(self, x):
        return super().cm(x)
    def up_property(self, x):
        return super().p * x
    def up_operator(self, x):
        return super().__add__(x)
    def up_call(self, x):
        return super().__call__(x)
    def up_item(self, x):
        return super().__getitem__(3.0) * x
class E(N):
    def __init__(self):
        super().__init__()
"""
READS = {
    "method": "return o.go(x)",
    "bound": "g = o.go\nreturn g(x) * g(x)",
    "of the class": "return C.go(o, x)",
    "attribute": "return o.k * x",
    "of class attribute": "return C.k * x",
    "property": "return o.p * x",
    "static": "return o.st(x) + C.st(x)",
    "class method": "return o.cm(x) + C.cm(x)",
    "super": "return o.up(x)",
    "super, attribute": "return o.up_attr(x)",
    "super, static": "return o.up_static(x)",
    "super, class method": "return o.up_class(x)",
    "super, property": "return o.up_property(x)",
    "super, operator": "return o.up_operator(x)",
    "super, call": "return o.up_call(x)",
    "super, item": "return o.up_item(x)",
    "super in __init__": "return E().given * x",
    "operator": "return o + x",
    "reflected": "return x * o",
    "negated": "return -o * x",
    "call": "return o(x)",
    "length": "return x ** len(o)",
    "truth": "return x * x if o else x",
    "item": "return o[x]",
    "contains": "return x * x if x in o else x",
    "equal": "return x * x if o == 1 else x",
    "less": "return x * x if o < 1 else x",
    "with": "with o as k:\n    return x * k",
    "loop": "s = 0.0\nfor v in o:\n    s = s + v * x\nreturn s",
    "list": "return x * sum(list(o))",
    "float": "return x * float(o)",
    "construction": "return C().given * x",
    "construction with": "return C(k=x).given * x",
    "isinstance": "return x * x if isinstance(o, A) else 3.0 * x",
    "isinstance, several": "return x * x if isinstance(o, (int, B)) else 3.0 * x",
    "isinstance, union": "return x * x if isinstance(o, int | B) else 3.0 * x",
    "isinstance, made": "return x * x if isinstance(C(), B) else 3.0 * x",
    "issubclass": "return x * x if issubclass(C, A) else 3.0 * x",
    "match": "match o:\n    case A():\n        return x * x\n    case _:\n        return 3.0 * x",
    "except": "try:\n    raise C()\nexcept A:\n    return x * x\nexcept Exception:\n    return 3.0 * x",
    "except, kept": "try:\n    raise o\nexcept A:\n    return x * x\nexcept Exception:\n    return 3.0 * x",
    "hasattr": "return x * x if hasattr(o, 'extra_A') else 3.0 * x",
    "getattr": "return x * getattr(o, 'extra_B', o.go)(*[2.0] * (not hasattr(o, 'extra_B')))",
    "the order": "return x * x if A in type(o).__mro__ else 3.0 * x",
    "abstract": "return x * x if isinstance(o, V) else 3.0 * x",
    "abstract, class": "return x * x if issubclass(C, V) else 3.0 * x",
    "abstract, several": "return x * x if isinstance(o, (int, (V, str))) else 3.0 * x",
    "abstract, match": "match o:\n    case V():\n        return x * x\n    case _:\n        return 3.0 * x",
    "abstract, number": "return x * x if isinstance(1, V) or isinstance(o, V) else 3.0 * x",
}  # fmt: skip


def other_base(s):
    s.C.__bases__ = s.E.__bases__ = (s.B,)


def base_between(s):
    s.C.__bases__ = s.E.__bases__ = (s.M,)


def base_of_base(s):
    s.N.__bases__ = (s.B,)


def more_bases(s):
    s.C.__bases__ = s.E.__bases__ = (s.B, s.A)


def registered(s):
    s.V.register(s.C)


def base_registered(s):
    s.V.register(s.A)


CHANGES = [other_base, base_between, base_of_base, more_bases, registered, base_registered]


def space_of(bases):
    """Classes of its own for each test, which are changed."""
    space = {"abc": abc}
    exec("class Root: pass", space)
    exec(BASE.format(name="A", k=3.0, n=2, bases=bases), space)
    exec(BASE.format(name="B", k=5.0, n=3, bases=bases), space)
    exec(BASE.format(name="M", k=7.0, n=4, bases="A"), space)
    exec(OWN, space)
    exec("class V(abc.ABC): pass", space)
    return types.SimpleNamespace(**{k: v for k, v in space.items() if not k.startswith("__")})


def made(s, source):
    names = dict(vars(s), o=s.C())
    body = "\n".join("        " + line for line in source.splitlines())
    exec(f"def make({', '.join(names)}):\n    def f(x):\n{body}\n    return f\n", names)
    return names["make"](**{k: v for k, v in names.items() if k not in ("make", "__builtins__")})


def check(f, mode):
    wanted = (f(X + 1e-6) - f(X - 1e-6)) / 2e-6
    found = grad(f)(X) if mode == "grad" else jvp(f, (X,), (1.0,))[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.every(6)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("read", READS)
def test_other_bases_count(read, mode, change):
    s = space_of("Exception" if "raise" in READS[read] else "Root")
    f = made(s, READS[read])
    for _ in range(2):
        check(f, mode)
    change(s)
    for _ in range(2):
        check(f, mode)
