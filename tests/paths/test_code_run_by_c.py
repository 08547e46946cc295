"""Python code that C code runs for its own ends, and that stores what is differentiated, wherever it stores
it: right on every path, or refused at the user's line."""

import itertools

import pytest

from tests.paths.judging import PATHS, judged
from tests.paths.programs import Program

KEEPS = {
    "a list": ("log = []", "log.append({} * 2.0)", "log.pop()"),
    "an array": ("table = np.ones(1)", "table[0] = {} * 2.0", "table[0]"),
    "an object": ("class Thing:\n    pass\nthing = Thing()", "thing.w = {} * 2.0", "thing.w"),
}
MAKING = {
    "__new__": (
        "class M(type):\n    def __new__(m, n, b, d):\n        KEEP(d['v'])\n"
        "        return super().__new__(m, n, b, d)",
        "class C(metaclass=M):\n    v = x[0]",
    ),
    "__init__": (
        "class M(type):\n    def __init__(c, n, b, d):\n        KEEP(d['v'])",
        "class C(metaclass=M):\n    v = x[0]",
    ),
    "__prepare__": (
        "class M(type):\n    @classmethod\n"
        "    def __prepare__(m, n, b, k):\n        KEEP(k)\n        return {}\n"
        "    def __new__(m, n, b, d, k):\n        return super().__new__(m, n, b, d)\n"
        "    def __init__(c, n, b, d, k):\n        pass",
        "class C(metaclass=M, k=x[0]):\n    pass",
    ),
    "__init_subclass__": (
        "class B:\n    def __init_subclass__(cls, k):\n        KEEP(k)", "class C(B, k=x[0]):\n    pass",
    ),
    "of a base by type": (
        "class B:\n    def __init_subclass__(cls, k):\n        KEEP(k)", "C = type('C', (B,), {}, k=x[0])",
    ),
    "of a base by new_class": (
        "import types\nclass B:\n    def __init_subclass__(cls, k):\n        KEEP(k)",
        "C = types.new_class('C', (B,), {'k': x[0]})",
    ),
    "__set_name__": (
        "class D:\n    def __init__(d, v):\n        d.v = v\n"
        "    def __set_name__(d, c, n):\n        KEEP(d.v)",
        "class C:\n    d = D(x[0])",
    ),
    "__set_name__ by type": (
        "class D:\n    def __init__(d, v):\n        d.v = v\n"
        "    def __set_name__(d, c, n):\n        KEEP(d.v)",
        "C = type('C', (), {'d': D(x[0])})",
    ),
    "__call__": (
        "class M(type):\n    def __call__(c, v):\n        KEEP(v)\n        return super().__call__(v)\n"
        "class C(metaclass=M):\n    def __init__(c, v):\n        c.v = v",
        "C(x[0])",
    ),
}  # fmt: skip
BEHIND = {
    "a cache": ("import functools\n@functools.cache\ndef g(v):\n    KEEP(v)\n    return 1.0", "g(x[0])"),
    "np.vectorize": ("@np.vectorize\ndef g(v):\n    KEEP(v)\n    return 1.0", "g(x[0])"),
    "a metaclass": (
        "class M(type):\n    def __getattr__(c, n):\n        KEEP(c.v)\n        return 1.0\n"
        "class C(metaclass=M):\n    pass",
        "C.v = x[0]\nC.q",
    ),
}  # fmt: skip
SHOWN = "class S:\n    def __init__(s, v):\n        s.v = v\n" + "".join(
    f"    def {name}(s, *args):\n        KEEP(s.v)\n        return {out}\n"
    for name, out in [
        ("__str__", "'a'"), ("__repr__", "'a'"), ("__format__", "'a'"), ("__float__", "1.0"),
        ("__bytes__", "b'a'"), ("__getitem__", "'a'"), ("__getattr__", "'a'"),
    ]
)  # fmt: skip
SHOWING = (
    "f'{s}'", "f'{s!r}'", "format(s, '')", "'{:>3}'.format(s)", "'{a[0]}'.format(a=[s])", "'{0.q}'.format(s)",
    "str(s)", "'%s' % s", "'%r' % [s]", "'%(b)s' % s", "'%f' % s", "repr([s])", "str({1: s})", "b'%b' % s",
    "str(Exception(s))",
)  # fmt: skip


class Written(Program):
    """A program whose body has the header in it."""

    def source(self, within=""):
        head, body = self.body
        written = Program((body,), self.result, self.point, False).source(within)
        return written.replace("def f(x):", f"{head}\ndef f(x):", 1)


CASES = MAKING | BEHIND | {e: (SHOWN, f"s = S(x[0])\nt = {e}") for e in SHOWING}


@pytest.mark.parametrize("keep, case", itertools.product(KEEPS, CASES))
def test_what_it_stores_is_not_lost(keep, case):
    start, store, read = KEEPS[keep]
    given, body = CASES[case]
    lines = []
    for line in given.splitlines():
        before, keeps, value = line.partition("KEEP(")
        lines.append(before + store.format(value[:-1]) if keeps else line)
    head = "\n".join(["import numpy as np", start, *lines])
    outcomes = judged(Written((head, body), f"{read} * x[1]", (0.7, -0.4, 1.3), False))
    assert outcomes["plain"] == "right"
    assert {outcomes[path] for path in PATHS} <= {"right", "refused"}, outcomes
