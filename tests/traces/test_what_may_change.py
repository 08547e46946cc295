"""Functions that are traced from their first call on, and what may be something else another time: each call
is as the plain one. What a trace does not know of, it does not do."""

import builtins
import collections
import enum
import functools
import itertools
import math
import sys
import textwrap
import types
import typing

import numpy as np
import pytest

from ctxdispatch import value_and_grad
from ctxdispatch_contexts.traces import straight

PROGRAMS = {
    "a list of whole numbers from an array": """
        def f(x): return sum(x[i]*k for k, i in enumerate(np.argsort(x).tolist()))
        calls(f, np.array([1., 1.5, 4.]))
        calls(f, np.array([4., 3., 2.]))
        """,
    "sorted in place by what a number says": """
        def f(x):
            l = [0, 1, 2]; l.sort(key=lambda i: x[i]); return x[l[0]]**2
        calls(f, [1., 1.5, 4.])
        calls(f, [4., 0.5, 2.])
        """,
    "parameters with names of lines": """
        def f(v2, v1): return v2**2*v1
        calls(f, 3.0, 5.0)
        """,
    "a parameter with the name of a constant": """
        def f(k7): return math.sin(k7*2.5)+np.exp(k7*0.1)
        calls(f, 2.0)
        """,
    "a function of C in a module": """
        M = types.ModuleType("M"); M.op = math.sin
        def f(x): return M.op(x)
        calls(f, 2.0)
        M.op = math.cos
        calls(f, 2.0)
        """,
    "a classmethod": """
        class C:
            @classmethod
            def m(cls, x): return x*x
        def f(x): return C.m(x)
        calls(f, 2.0)
        C.m = classmethod(lambda cls, x: x*5)
        calls(f, 2.0)
        """,
    "a number that is a literal, too": """
        class Config: scale = 2.0
        def f(x): return x*2.0*Config.scale
        calls(f, 3.0)
        Config.scale = 5.0
        calls(f, 3.0)
        """,
    "a list by two ways": """
        D = {"k": 2.0}; M = types.ModuleType("M"); M.D = D
        def f(x): return D["k"]*x+M.D["k"]*x*x
        calls(f, 3.0)
        M.D = {"k": 9.0}
        calls(f, 3.0)
        """,
    "a cell beside a literal": """
        def make():
            a = 2.5
            def f(x): return x*x*2.5+x*a
            def set_a(v):
                nonlocal a
                a = v
            return f, set_a
        f, set_a = make()
        calls(f, 3.0)
        set_a(8.0)
        calls(f, 3.0)
        """,
    "a name that was not there": """
        def f(x):
            try: k = SCALE
            except NameError: k = 1.0
            return x*x*k
        calls(f, 3.0)
        SCALE = 5.0
        calls(f, 3.0)
        """,
    "hasattr of a module": """
        M = types.ModuleType("M")
        def f(x): return x*x if hasattr(M, "flag") else x
        calls(f, 3.0)
        M.flag = 1
        calls(f, 3.0)
        """,
    "a builtin": """
        def f(x): return abs(x)*x
        calls(f, 2.0)
        builtins.abs = lambda v: 5*v
        calls(f, 2.0)
        """,
    "the name of an attribute from a number": """
        o = types.SimpleNamespace(w1=2.0, w2=7.0)
        def f(x): return x*x*getattr(o, f"w{x:.0f}")
        calls(f, 1.1)
        calls(f, 2.1)
        """,
    "a letter of a text of a number": """
        def f(x): return x*(5 if [*f"{x:.1f}"][0] == "1" else 2)
        calls(f, 1.12)
        calls(f, 2.32)
        """,
    "flat of an array": """
        def f(x):
            y = np.zeros(2); y.flat = [1.0, 2.0]; return (y*x).sum()
        calls(f, np.array([1.5, 1.6]))
        """,
    "the shape of an array": """
        def f(x):
            y = np.arange(4.0); y.shape = (2, 2); return (y[0]*x).sum()
        calls(f, np.array([1.5, 1.6]))
        """,
    "how many dimensions": """
        def f(x):
            y = np.squeeze(x[x > 0]); return (x*x).sum() if y.ndim == 0 else x.sum()
        calls(f, np.array([1., -1, -2]))
        calls(f, np.array([1., 1, -2]))
        """,
    "the class of a power": """
        def f(x): return x*3 if isinstance(x**0.5, complex) else x
        calls(f, 2.0)
        calls(f, -2.0)
        """,
    "an attribute of a member of an enum": """
        class E(enum.Enum):
            A = 1
        E.A.w = 2
        def f(x): return x*x*E.A.w
        calls(f, 2.0)
        E.A.w = 5
        calls(f, 2.0)
        """,
    "a method of a named tuple": """
        class P(NamedTuple):
            a: float
            def m(self, x): return x*x*self.a
        def f(x, p): return p.m(x)
        calls(f, 2.0, P(2.0))
        P.m = lambda s, x: x*5
        calls(f, 2.0, P(2.0))
        """,
    "a range": """
        def f(x, r): return x*r.stop
        calls(f, 2.0, range(0, 3, 2))
        calls(f, 2.0, range(0, 4, 2))
        """,
    "the order of a frozenset": """
        def f(x, s):
            for k in s: x = x*(k+1)+k+3
            return x
        calls(f, 2.0, frozenset([8, 0]))
        calls(f, 2.0, frozenset([0, 8]))
        """,
    "a key that is equal": """
        def f(x, d):
            for k in d: x = x*(3.0 if k is True else 2.0)
            return x
        calls(f, 2.0, {1: 1.0})
        calls(f, 2.0, {True: 1.0})
        """,
    "a field of a descriptor": """
        class D:
            def __init__(s, k): s.k = k
            def __get__(s, o, t=None): return o.v*s.k
        class C:
            d = D(3)
            def __init__(s, v): s.v = v
        def f(x): return C(x).d
        calls(f, 2.0)
        vars(C)["d"].k = 5
        calls(f, 2.0)
        """,
    "a set that a method is bound to": """
        S = {1}; has = S.__contains__
        class C: has = S.__contains__
        def f(x): return x*x if C.has(2) else x
        calls(f, 3.0)
        S.add(2)
        calls(f, 3.0)
        """,
    "a slot that was empty": """
        class O: __slots__ = ("a", "b")
        o = O(); o.a = 2
        def f(x): return x*x*getattr(o, "b", 1)
        calls(f, 3.0)
        o.b = 5
        calls(f, 3.0)
        """,
    "a method of a metaclass": """
        class Me(type):
            def __len__(c): return 2
        class C(metaclass=Me): pass
        def f(x): return x*len(C)
        calls(f, 2.0)
        Me.__len__ = lambda c: 5
        calls(f, 2.0)
        """,
    "the bases of a class": """
        class A: pass
        class B: pass
        class C(A): pass
        def f(x): return x*x if issubclass(C, A) else x
        calls(f, 3.0)
        C.__bases__ = (B,)
        calls(f, 3.0)
        """,
    "an option of NumPy": """
        def f(x): return x*np.get_printoptions()["precision"]
        calls(f, 2.0)
        np.set_printoptions(precision=3)
        calls(f, 2.0)
        """,
    "an option of the interpreter": """
        def f(x): return x*sys.getrecursionlimit()
        calls(f, 2.0)
        sys.setrecursionlimit(1500)
        calls(f, 2.0)
        """,
    "the errors of NumPy": """
        def f(x): return x*x if np.geterr()["divide"] == "warn" else x
        calls(f, 3.0)
        """,
    "by the identity of an array": """
        a = np.ones(2); REG = {id(a): 3}
        def f(x): return x.sum()*REG.get(id(x), 1)
        calls(f, a)
        """,
    "the base of a view": """
        B = np.arange(4.0)
        def f(x): return (x*x).sum() if x.base is None else x.sum()
        calls(f, np.arange(3.0))
        calls(f, B[1:])
        """,
    "one number twice": """
        def f(x, y): return x*x if x is y else x*y*3
        t = 2.5
        calls(f, t, t)
        """,
    "errors that are to be raised": """
        def f(x):
            try: np.log(x)
            except FloatingPointError: return (3.0*x).sum()
            return (x*x).sum()
        calls(f, np.array([2.0]))
        np.seterr(invalid="raise")
        calls(f, np.array([-3.0]))
        """,
    "what a function decides that NumPy calls": """
        def f(x): return x[0]*np.fromfunction(lambda i, j: i+j+(1 if x[0] > 1 else 2), (2, 2)).sum()
        calls(f, [1.5])
        calls(f, [0.2])
        """,
    "the truth of objects": """
        class P:
            def __init__(s, v): s.v = v
            def __bool__(s): return s.v > 1
        def f(x): return sum(p.v**2 for p in filter(None, [P(v) for v in x]))
        calls(f, [1.5, 1.7])
        calls(f, [1.5, 0.5])
        """,
    "a property in a pattern": """
        K = 3
        class P:
            @property
            def p(s): return K
        def f(x):
            match P():
                case P(p=k): return x*k
        calls(f, 2.0)
        K = 5
        calls(f, 2.0)
        """,
    "a factory": """
        D = collections.defaultdict(int)
        def f(x): return x*(D.default_factory()+2)
        calls(f, 2.0)
        D.default_factory = lambda: 7
        calls(f, 2.0)
        """,
    "a module that is imported": """
        m1, m2 = types.ModuleType("fakeq"), types.ModuleType("fakeq")
        m1.k, m2.k, sys.modules["fakeq"] = 2, 5, m1
        def f(x):
            import fakeq
            return x*fakeq.k
        calls(f, 2.0)
        sys.modules["fakeq"] = m2
        calls(f, 2.0)
        """,
    "the bases of an exception": """
        class E1(Exception): pass
        class E2(Exception): pass
        class E3(E1): pass
        def f(x):
            try: raise E3
            except E1: return x*x
            except E2: return x*3
        calls(f, 2.0); E3.__bases__ = (E2,)
        calls(f, 2.0)
        """,
    "a field of a member of a frozenset": """
        o = types.SimpleNamespace(k=2); F = frozenset([o.__class__])
        class O: __hash__ = object.__hash__
        o = O(); o.k = 2; F = frozenset([o])
        def f(x):
            for q in F: x = x*q.k
            return x
        calls(f, 2.0)
        o.k = 5
        calls(f, 2.0)
        """,
    "a method by super": """
        class A:
            @staticmethod
            def k(x): return x*x
        class B(A):
            @classmethod
            def m(cls, x): return super().k(x)
        def f(x): return B.m(x)
        calls(f, 2.0)
        A.k = staticmethod(lambda x: x*5)
        calls(f, 2.0)
        """,
    "an attribute by type": """
        class M: K = 3
        def f(x): return x*type.__getattribute__(M, "K")
        calls(f, 2.0)
        M.K = 5
        calls(f, 2.0)
        """,
    "a count in a namespace": """
        S = types.SimpleNamespace(n=0)
        def f(x): S.n = 1 - S.n; return x*(S.n + 1)
        plain, S.n = f(2.0), 0
        assert [value_and_grad(f)(2.0)[0] for _ in range(4)] == [4.0, 2.0, 4.0, 2.0]
        """,
    "an object that notes what it is given": """
        class O:
            def __setattr__(s, n, v): object.__setattr__(s, n, v*2)
        o = O(); o.a = 1
        def f(x): o.a = o.a + 1; return x*o.a
        assert [value_and_grad(f)(2.0)[0] for _ in range(2)] == [12.0, 28.0]
        """,
    "an attribute of a method": """
        class C:
            def m(self, x): return x*self.m.n
        C.m.n = 3; o = C()
        def f(x): return o.m(x)
        calls(f, 3.0)
        C.m.n = 5
        calls(f, 3.0)
        """,
    "an attribute of a partial": """
        p = functools.partial(pow); p.n = 3
        def f(x): return x*p.n
        calls(f, 3.0)
        p.n = 5
        calls(f, 3.0)
        """,
    "what a class holds, as a dict": """
        class C: L = [1, 2]
        def f(x): return x*vars(C)["L"][0]
        calls(f, 3.0)
        C.L[0] = 9
        calls(f, 3.0)
        """,
    "the order of items and keys": """
        def f(x):
            b = np.zeros(1)
            def g():
                for i in (3, 1, 2): b[0] = x*i; yield i
            return min(g(), key=lambda v: b[0])*x
        calls(f, 2.5)
        """,
    "groups of what is not equal to itself": """
        def f(x):
            n = x*math.inf*0
            return x*len(list(itertools.groupby([n, n, n])))
        calls(f, 2.0)
        """,
    "names of arguments": """
        def f(x): return sum(itertools.compress(selectors=[1, 0, 1], data=[x, 2*x, 3*x]))
        calls(f, 2.0)
        """,
    "a cache that holds nothing": """
        def f(x):
            c = [0]
            @functools.lru_cache(maxsize=0)
            def g(n): c[0] += 1; return n
            g(1); g(1); g(1)
            return x*c[0]
        calls(f, 2.0)
        """,
    "a generator that is dropped": """
        def f(x):
            out = []
            def gen():
                try:
                    for i in range(3): yield x*i
                finally: out.append(x)
            for i in gen(): break
            return sum(out) + len(out)*x*x
        calls(f, 2.0)
        """,
    "a sort that raises": """
        class P:
            def __init__(s, v): s.v = v
            def __lt__(s, o):
                if s.v == 1 or o.v == 1: raise ValueError
                return s.v < o.v
        def f(x):
            l = [P(9), P(5), P(7), P(1), P(3)]
            try: l.sort()
            except ValueError: pass
            return sum(x**i*p.v for i, p in enumerate(l))
        calls(f, 2.0)
        """,
    "whatever is raised is dropped": """
        def f(x):
            while True:
                try: y = float(str(2.0)); break
                except: pass
            return y*x
        calls(f, 2.0)
        """,
    "a pattern of a class that takes none": """
        def f(x):
            try:
                match np.float32(x):
                    case np.float32(v): return x*2
            except TypeError: return x*3
        calls(f, 2.0)
        """,
}

EFFECTS = {
    "items are made": """
        class P:
            def __iter__(s): done(); return iter([3])
        def f(x): return x*[*P()][0]
        """,
    "a text is made": """
        class P:
            def __str__(s): done(); return "a"
        def f(x): return x*(2 if f"{P()}" == "a" else 3)
        """,
    "a class is made": """
        class B:
            def __init_subclass__(cls): done()
        def f(x):
            class D(B): k = 2
            return x*D.k
        """,
    "an object of a class is called": """
        class S:
            n = 0
            def __call__(s, x): s.n += 1; done(); return x*x
        class C: g = staticmethod(S())
        c = C()
        def f(x): return c.g(x)
        """,
    "a whole number is asked for": """
        class P:
            def __index__(s): done(); return 1
        def f(x): return x*len("abc"[P():])
        """,
    "an object is written": """
        class Stream:
            def write(s, text): done()
        stream = Stream()
        def f(x):
            print("a", file=stream)
            return x*x
        """,
    "what is there is asked for": """
        class P:
            def __dir__(s): done(); return ["a"]
        def f(x): return x*len(dir(P()))
        """,
    "a property is read in a pattern": """
        class P:
            @property
            def p(s): done(); return 3
        def f(x):
            match P():
                case P(p=k): return x*k
        """,
    "a number is compared": """
        class P:
            def __init__(s, v): s.v = v
            def __lt__(s, o): done(); return s.v < o.v
        def f(x): return sorted([P(x), P(2.0*x)])[0].v
        """,
}

FOR_A_WHILE = {
    "an attribute": "old = S.k; S.k = {}; y = x*S.k; S.k = old",
    "an entry": "old = D['k']; D['k'] = {}; y = x*D['k']; D['k'] = old",
    "another entry": "D['n'] = {}; y = x*D['n']; del D['n']",
    "all entries": "old = dict(D); D.clear(); D.update(k={}); y = x*D['k']; D.clear(); D.update(old)",
    "an item": "L.append({}); y = x*L[-1]; L.pop()",
    "a class": "old = C.k; C.k = {}; y = x*C().k; C.k = old",
    "a depth": "C.n += 1; y = x*{}*C.n; C.n -= 1",
    "not the same": "S.k = {}; y = x*S.k; S.k = 2.0*S.k",
    "the order": "old = D.pop('k'); D['k'] = old; y = x*{}",
    "a count": "S.n += 1; y = x*{}",
}


class Shown:
    """Where programs run: `calls(f, *args)` is a call of the derivative and a plain one."""

    def __init__(self):
        self.namespace = {
            "math": math, "np": np, "types": types, "enum": enum, "functools": functools, "sys": sys,
            "builtins": builtins, "collections": collections, "NamedTuple": typing.NamedTuple,
            "itertools": itertools, "value_and_grad": value_and_grad,
            "calls": self.calls, "done": self.done, "__name__": __name__,
        }  # fmt: skip
        self.count = 0

    def run(self, program):
        exec(textwrap.dedent(program), self.namespace)

    def calls(self, f, *args):
        expected = f(*args)
        for _ in range(2):
            assert np.allclose(value_and_grad(f)(*args)[0], expected)
        kept = self.namespace.setdefault(f"of {f.__name__}", value_and_grad(f))
        assert np.allclose(kept(*args)[0], expected)

    def done(self):
        self.count += 1


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    monkeypatch.setattr(straight, "AT_ONCE", True)
    monkeypatch.setattr(builtins, "abs", abs)
    monkeypatch.delitem(sys.modules, "fakeq", raising=False)
    limit = sys.getrecursionlimit()
    with np.errstate(), np.printoptions():
        yield
    sys.setrecursionlimit(limit)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_call_is_as_the_plain_one(program):
    Shown().run(PROGRAMS[program])


@pytest.mark.parametrize("program", EFFECTS)
def test_what_methods_do_is_done_as_often_as_plainly(program):
    shown = Shown()
    shown.run(EFFECTS[program])
    f = shown.namespace["f"]
    derivative = value_and_grad(f)
    f(2.0)
    once, shown.count = shown.count, 0
    for n in range(1, 4):
        assert derivative(2.0)[0] == f(2.0)
        assert once and shown.count == 2 * n * once


@pytest.mark.parametrize("value", ["3.0", "x", "x*x"])
@pytest.mark.parametrize("change", FOR_A_WHILE)
def test_what_changes_for_a_while(change, value):
    """Values, derivatives and what is there afterwards."""
    program = f"""
        S, D, L = types.SimpleNamespace(k=2.0, n=1), {{"k": 2.0, "m": 1.0}}, [1.0]
        class C:
            k, n = 2.0, 1
        def f(x):
            {FOR_A_WHILE[change].format(value)}
            return y + D["k"] + S.k
        """
    plain, run = Shown(), Shown()
    plain.run(program)
    run.run(program)
    derivative = value_and_grad(run.namespace["f"])
    for x in (1.5, 1.5, 2.0, -1.0):
        expected = plain.namespace["f"](x)
        assert np.allclose(derivative(x)[0], expected)
        there = [{name: n[name] for name in ("S", "D", "L")} for n in (plain.namespace, run.namespace)]
        assert there[0] == there[1] and [*there[0]["D"]] == [*there[1]["D"]]
        classes = plain.namespace["C"], run.namespace["C"]
        assert classes[0].k == classes[1].k and classes[0].n == classes[1].n


def test_what_holds_for_a_while_may_depend_on_what_is_differentiated():
    shown = Shown()
    shown.run("""
        S = types.SimpleNamespace(k=2.0)
        def g(x): return x*S.k
        def f(x):
            old, S.k = S.k, x*x
            try: return g(x)
            finally: S.k = old
        """)
    derivative = value_and_grad(shown.namespace["f"])
    for x in (1.5, 2.0, 3.0):
        assert np.allclose(derivative(x), (x**3, 3.0 * x * x))


def test_what_is_returned_is_the_program_s_own():
    shown = Shown()
    shown.run("""
        G = [1, 2]
        def there(x): return x*x, G
        def inner(x): return x*x, (lambda: x)
        def twice(x):
            a = [x]; return x*x, (a, a)
        def within(x):
            a = [x]; a.append(a); return x*x, a
        """)
    given = {name: value_and_grad(f, has_aux=True) for name, f in shown.namespace.items() if callable(f)}
    for x in (2.0, 3.0):
        assert given["there"](x)[0][1] is shown.namespace["G"]
        assert given["inner"](x)[0][1]() == x
        first, second = given["twice"](x)[0][1]
        assert first is second
        found = given["within"](x)[0][1]
        assert found[1] is found
