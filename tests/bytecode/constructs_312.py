"""Texts that need CPython 3.12 (type parameters and aliases, nested f-strings) or 3.13 (their defaults)."""

SOURCES = {
    "type_aliases": """
from observe import log
type A = int | "str"
type B[T, *Ts, **P] = tuple[T, *Ts] | A
type Lazy = undefined_name
log(A.__name__, B.__type_params__, [p.__name__ for p in B.__type_params__])
try:
    Lazy.__value__
except NameError as e:
    log(str(e))
undefined_name = 5
log(Lazy.__value__)
class C:
    x = int
    type D = list[x]
    type E[T] = dict[T, x]
log(str(C.D.__value__), str(C.E.__value__))
def f(local):
    type F = local
    local = "changed"
    return F.__value__
log(f("at first"))
""",
    "type_parameters_of_functions": """
from observe import log
def f[T](x: T, y: log("annotation") = log("default", 1)) -> T:
    "Said."
    return x, y, T.__name__
def g[T: int, U: (str, bytes), *Ts, **P](x: T, *a: *Ts, k: U = None) -> P:
    return T.__bound__, U.__constraints__, Ts, P
log(f(5), f.__type_params__, f.__doc__, f.__qualname__, f.__code__.co_freevars, f.__annotations__ is not None)
log(g(1), [p.__name__ for p in g.__type_params__])
def bad[T: 1 / 0](): return T
try:
    bad().__bound__
except ZeroDivisionError as e:
    log(str(e))
def outer[T](x):
    def inner[U](y: T):
        nonlocal x
        x += y
        return T.__name__, U.__name__, x
    return inner(x)
log(outer(2))
async def co[T](): return T
def gen[T]():
    yield T
    yield from (T for _ in range(1))
log([t.__name__ for t in gen()])
@log
def decorated[T](a=lambda: 3): return a
class K:
    y = 1
    def m[T](self, x: y = y): return x, T.__name__, __class__.__name__
    def s[T](self): return super().__init__()
log(K().m(), K().s())
""",
    "type_parameters_of_classes": """
from observe import log
class A[T]:
    x: T
    inside = T.__name__
    def m(self): return T.__name__, __class__
    def g[U](self): return T, U, super().__repr__ is not None
    class B[V](list[V]):
        z = V, T
class D[T](A[T], metaclass=type): ...
class E[T: "later"](dict, **{}): y = T
log(A.__type_params__, A.inside, A().m(), [t.__name__ for t in A().g()[:2]], A.B.__orig_bases__ is not None)
log(D.__mro__, D.__type_params__, str(D[int]), A.__qualname__, A.B.z, str(E.y))
def f():
    free = 3
    class F[T]:
        z = free
        def m[T](self, T=None): return T, free
    return F.z, F().m(), F.__qualname__
log(f())
class Failing[T](1 / 0): ...
""",
    "fstrings_anew": r'''
from observe import log
a = {"k": 1}
log(f"{a["k"]}", f"{f"{f"{1 + 1}"}"}", f"{'\n'.join(["x", "y"])}", f"{
    a["k"]  # a comment
    :>{5}}", f"{a!r:{"^"}{20}}", f"{(lambda: f"{a["k"]}")()}", f"{a["k"]=}", f"{[x for x in f"{a}"][:2]}")
log(f"{a["missing"]}")
''',
    "comprehensions_inlined": """
from observe import log, Life
import sys
def f(x):
    a = [[(x, y) for y in range(x)] for x in range(3)]
    b = [lambda: x for x in range(2)]
    c = [x for x in [x, 1]]
    try:
        d = [1 / x for x in (1, 0)]
    except ZeroDivisionError:
        log(x, sys._getframe().f_lineno)
    e = [(x, k) for k in range(2)]
    return a, [g() for g in b], c, x, e
def g(p):
    h = lambda: p
    q = [p for p in range(3)]
    r = [(lambda: p)() for p in range(3)]
    del p
    s = [p for p in "ab"]
    try: p
    except NameError as e: log(str(e))
    return q, r, s
log(f(1))
log(g(1))
class C:
    x = [i for i in range(2)]
    y = [[j for j in range(k)] for k in x]
    i = 7
    z = [lambda: i for i in x]
    w = [i for _ in x] if 0 else i
log(C.x, C.y, [f() for f in C.z], C.w)
log([x.name for x in [Life("a"), Life("b")]])
""",
}

NEWER = {
    "defaults_of_type_parameters": """
from observe import log
def f[T = int, *Ts = *tuple[int, str], **P = [int]](): return T.__default__, P.__default__
class A[T = log("lazily", str)]: x = T
type B[T = list["B"]] = T
log(f(), A.x.__default__, B.__type_params__[0].__default__, A.x.has_default())
class C[T = undefined]: t = T
try:
    C.t.__default__
except NameError as e:
    log(str(e))
""",
}
