"""Modules by their text: what only stands at the top level, or needs a module of its own."""

SOURCES = {
    "star_import": "from math import *\nfrom observe import log\nlog(pi, floor(2.5))\n",
    "module_docstring": '"""Said."""\nx: int = 1\ny: "later"\nz = __doc__, __annotations__ if 0 else None\n',
    "future_annotations": """
from __future__ import annotations
from observe import log
a: log("never") = 1
def f(x: log("never"), *y: undefined) -> log("never"): ...
class C:
    m: undefined[int]
    n: int = 3
log(f.__annotations__, C.__annotations__, __annotations__)
del annotations
""",
    "conditional_annotations": """
x = 5
if x > 3:
    a: int = 1
else:
    b: str = 2
for i in range(2):
    c: float
class C:
    if x > 3:
        d: int = 4
    else:
        e: int
keys = list(C.__annotations__)
""",
    "global_at_the_top": """
from observe import log
x = 1
def f():
    global x
    x += 1
    del x
f()
try:
    x
except NameError as e:
    log(str(e))
try:
    del x
except NameError as e:
    log(str(e))
print(sorted(k for k in globals() if k[0] != "_"))
""",
    "comprehensions_at_the_top": """
import sys
from observe import log
frame = sys._getframe
x = "global x"
y = [(x, globals()["x"], frame().f_lineno) for x in range(2)]
z = [lambda: x for x in range(2)]
log(x, y, [f() for f in z], "x" in frame().f_locals)
class C:
    x = 5
    w = [(x, frame().f_code.co_filename) for x in range(2)]
    u = frame().f_locals.get("x")
    try:
        [1 / x for x in (1, 0)]
    except ZeroDivisionError:
        pass
    t = frame().f_locals.get("x"), x
try:
    [1 / x for x in (1, 0)]
except ZeroDivisionError as e:
    log(e.__traceback__.tb_frame.f_locals.get("x"), x, C.w, C.u, C.t)
log(x, [q := k for k in range(3)], q, (lambda: [x for _ in "a"])())
""",
    "loops_at_the_top": """
from observe import log, Life, Manager
for i in range(4):
    if i == 1: continue
    if i == 3: break
    while True:
        i += 10
        break
else:
    log("never")
with Manager("m", True) as m, Manager("n"):
    1 / 0
try:
    raise ValueError("top")
except ValueError as e:
    pass
finally:
    log("e" in globals())
match [1, {"k": 2}]:
    case [a, {"k": b}]: pass
life = Life("at the top")
life = None
x, *y = range(3)
x += 1
y[0] -= 1
assert x
async def coroutine(): await coroutine()
lambda: (yield)
del y[0]
print(f"{x!r:>4}")
""",
    "fails_at_the_top": """
x = 1
def f(y):
    return y / 0
try:
    f(x)
finally:
    z = [
        f(x),
    ]
""",
    "prints": "print('a', 'b', sep='-')\nprint(*range(3), end='')\nimport sys\nsys.stdout.write('written')\n",
    "names_of_the_module": """
x = __name__, sorted(k for k in dir() if k[0] != '_'), sorted(vars()), locals() is globals()
""",
    "exec_in_a_class_scope": """
from observe import log
class Space(dict):
    def __missing__(self, key):
        if key[:2] == "__" or key not in ("p", "q"):
            raise KeyError(key)
        return log("missing", key)
space = Space()
text = "a = p + q\\nclass C: b = 1\\ntry: r\\nexcept NameError as e: c = str(e)"
exec(text, globals(), space)
result = space["a"], space.get("c")
""",
    "empty": "",
    "only_a_comment": "# nothing\n",
    "only_pass": "pass\n",
    "only_a_docstring": "'said'\n",
    "nested_definitions": """
def a():
    x = 1
    class B:
        y = x
        def c(self):
            def d():
                class E:
                    z = x, self.y
                    def f(self): return __class__, x, self.z
                return E().f()[1:]
            return d()
    return B().c()
result = a()
def outer(p):
    def middle():
        def inner(): return p
        return inner
    return middle()()
result2 = outer(7)
""",
    "lines_and_columns": """
from observe import log
def f(a): return (a.
   b.
      c)
class A: pass
a = A(); a.b = None
for g in (lambda: f(a),
          lambda: a
                  .b
                  .c(1,
                     2),
          lambda: [1,
                   a
                   [0]], lambda: {**a.b,
                                  'k': 1}):
    try: g()
    except Exception as e:
        t = e.__traceback__
        while t:
            log(t.tb_lineno, list(t.tb_frame.f_code.co_positions())[t.tb_lasti // 2], str(e)); t = t.tb_next
""",
}
