"""Texts that need CPython 3.14: t-strings, deferred annotations, handlers without parentheses."""

SOURCES = {
    "the_class_within_comprehensions": """
from observe import log
class C:
    def who(self): return __class__
    whos = [lambda: (i, __class__.__name__) for i in range(2)]
log(C().who() is C, [f() for f in C.whos])
""",
    "tstrings": """
from observe import log
name, width = "x", 5
t = t"hello {name}!"
log(t.strings, t.values, [(i.value, i.expression, i.conversion, i.format_spec) for i in t.interpolations])
u = t"{name!r:>{width}}" t"{width=}{t"{name}"}" t""
log(u.strings, [(i.expression, i.conversion, i.format_spec) for i in u.interpolations])
log(t"".strings, len(t"{1}{2}".values))
def f(x):
    return t"{x}{x.missing:{x}}"
try:
    f(1)
except AttributeError as e:
    trace = e.__traceback__.tb_next
    log(str(e), list(trace.tb_frame.f_code.co_positions())[trace.tb_lasti // 2])
log((t"a{1}" + t"b{2}").strings, [t"{i}".values for i in range(2)], (lambda: t"{width}")().values)
log(rt"\\{name}".strings)
""",
    "handlers_without_parentheses": """
from observe import log
for kind in (ValueError, KeyError, OSError):
    try:
        raise kind("k")
    except ValueError, KeyError:
        log("two")
    except OSError:
        log("one")
try:
    raise ExceptionGroup("g", [ValueError(1), KeyError(2), OSError(3)])
except* ValueError, KeyError:
    log("group")
except* OSError as e:
    log(e.exceptions)
""",
    "deferred_annotations": """
import annotationlib
from observe import log
def f(a: undefined, b: log("asked", int) = 1) -> list[undefined]:
    x: never = 1
    return sorted(locals())
log(f(1))
log(annotationlib.get_annotations(f, format=annotationlib.Format.STRING))
try:
    f.__annotations__
except NameError as e:
    log(str(e))
undefined = str
log(f.__annotations__, f.__annotate__.__qualname__, f.__annotations__ is f.__annotations__)
class C:
    y = 5
    a: y
    b: "text"
    if y > 3:
        c: log("conditional", y)
    else:
        d: log("never")
    def m(self, p: y): return p
    for k in range(2):
        e: k
    (g): log("not kept")
    class D[T]:
        h: T
        i: y if False else 1
log(C.__annotations__, C.m.__annotations__, list(C.D.__annotations__))
def outer(z):
    class E:
        f: z
        def g(self, q: z): return __class__
    def h(r: (lambda: z)()): return z
    z = "late"
    return E.__annotations__, E().g.__annotations__, h.__annotations__
log(outer("early"))
v: log("of the module") = 3
if v == 3:
    w: int
log(__annotations__ if False else __annotate__(1))
""",
    "finally_that_leaves": """
import warnings
from observe import log
def f():
    for k in range(2):
        try:
            1 / 0
        finally:
            log(k)
            break
    try:
        return 1
    finally:
        return 2
log(f())
""",
    "small_and_common_constants": """
from observe import log
def f(x):
    assert x, -5 + 255 + 256
    made = any(i > 1 for i in x), all(i for i in x), tuple(i for i in x), [i in (1, 2) for i in x]
    return [0, 255, 256, -1, x[0], x[-1:], x[:2]], made
log(f([1, 2, 3]))
try:
    f([])
except AssertionError as e:
    log(e)
class any_: pass
def g(all, tuple=log):
    return all(i for i in "ab"), tuple(i for i in "c")
log(g(lambda it: list(it)))
""",
}
