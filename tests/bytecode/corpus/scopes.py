"""Names: locals, eval, exec, dir, frames, globals, nonlocal, unbound variables, cells, imports, recursion."""

# ruff: noqa: E401, F401, F541, F631, F811, F821, F842, I001

import builtins
import sys

from observe import Life, log, program


@program()
def locals_and_friends():
    a, b = 1, [2]
    c = locals()
    log(sorted(c), sorted(dir()), sorted(vars()), c is locals() and False)
    d = a + 1
    log(list(locals()), "d" in c and False)
    return eval("a + d + b[0]"), [*eval("(x for x in b)")], eval("locals()")["a"], eval("lambda: 5")()


@program()
def exec_within():
    a = 1
    exec("a = 2; b = 3")
    log(a, "b" in globals())
    scope = {}
    exec("def f(x): return x + 1\ny = f(1)", scope)
    exec("log('seen', a)", globals(), {"a": a})
    try:
        exec("1 / 0")
    except ZeroDivisionError:
        log("caught")
    return scope["y"], eval(compile("a + 1", "<text>", "eval"))


@program()
def cells_in_locals():
    a = 1
    b = 2

    def f():
        nonlocal b
        b += a
        return sorted(locals().items())

    log(sorted(k for k in locals()), f(), locals()["b"])
    del a
    return sorted(k for k in locals())


@program()
def frames():
    def inner():
        frame = sys._getframe(1)
        log(frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno, sorted(frame.f_locals))
        return sys._getframe().f_back is frame, frame.f_back.f_code.co_name == "frames"

    x = "seen"
    here = sys._getframe()
    inner(); y = 2
    return (
        inner(),
        here.f_locals["x"],
        here.f_code.co_varnames[:2],
        here is sys._getframe(),
        here.f_lineno - here.f_code.co_firstlineno,
        [sys._getframe(k).f_code.co_name for k in range(1)],
    )


@program()
def the_frame_of_a_function_that_returned():
    def f(a):
        b = a + 1
        return sys._getframe()

    frame = f(1)
    return frame.f_locals, frame.f_lineno - frame.f_code.co_firstlineno, frame.clear()


@program((True,), (False,))
def unbound(bind):
    if bind:
        a = b = c = 1
    for f in (lambda: c,):
        try:
            log(f())
        except NameError as e:
            log(str(e), e.name)
    try:
        log(a)
    except UnboundLocalError as e:
        log(str(e))
    try:
        log(a + b, b)
    except UnboundLocalError as e:
        log(str(e))
    return b


@program()
def unbound_at_every_place():
    for k in range(8):
        try:
            if k == 0: x
            elif k == 1: x.a
            elif k == 2: x[0]
            elif k == 3: x + 1
            elif k == 4: log(x)
            elif k == 5: del x
            elif k == 6: [x for _ in "a"]
            else: return x
        except NameError as e:
            log(k, str(e))
            if k == 7:
                raise
        finally:
            if k == 8:
                x = 1


@program()
def unbound_in_loops():
    for k in range(3):
        try:
            log(v)
        except UnboundLocalError:
            log("unbound", k)
        if k == 1:
            del v
        else:
            v = k
    for v in ():
        pass
    for w in ():
        pass
    return v, w


@program()
def globals_of_all_kinds():
    global made, counted
    made = 1
    made += 1
    counted = made

    def f():
        global made
        made = "in f"
        return counted

    log(f(), made)

    class C:
        global made
        made = "in C"
        own = made

    for made in range(2):
        pass
    try:
        raise ValueError
    except ValueError as counted:
        pass
    log("counted" in globals())
    import math as made
    log(made.__name__)
    def made(): return "function"
    log(made(), made.__qualname__)
    del made
    return made


@program()
def builtins_that_are_shadowed():
    def len(x):
        return "mine"

    log(len([]))
    try:
        print(undefined_name)
    except NameError as e:
        log(str(e))
    if builtins:
        max = builtins.max
    globals()["abs"] = lambda x: "global abs"
    try:
        return max(1, 2), abs(-1)
    finally:
        del globals()["abs"]
        log(abs(-1))


@program()
def nonlocals():
    def outer():
        x = 0

        def middle():
            def inner():
                nonlocal x
                x += 1
                return x

            inner()
            return inner

        f = middle()
        log(f(), x)
        x = 10
        log(f())

        def deletes():
            nonlocal x
            del x

        deletes()
        try:
            x
        except UnboundLocalError as e:
            log(str(e))
        return f

    try:
        outer()()
    except NameError as e:
        log(str(e))

    def loops():
        fs = []
        for i in range(3):
            fs.append(lambda: i)
        with open(__file__) as i:
            pass
        return [f() is i for f in fs]

    return loops()


@program()
def cells_keep_alive():
    def f():
        a, b = Life("a"), Life("b")
        g = lambda: a
        log("made")
        return g

    g = f()
    log("returned")
    g.__closure__[0].cell_contents = None
    log("replaced")


@program()
def lifetimes_of_locals():
    a = Life("a")
    b = Life("never read")
    a = Life("a again")
    log("rebound")
    c = a
    a = None
    log("still held by c")
    del c
    log("gone")
    for b in (Life("loop 1"), Life("loop 2")):
        log("body")
    log("after the loop")
    d = [Life("in a list")]
    d.clear()
    log("cleared")
    return log("end")


@program()
def lifetimes_of_arguments():
    def f(a, *rest, k=None, **more):
        log("in f")
        a = None
        log("a dropped")
        return more

    f(Life("a"), Life("rest"), k=Life("k"), m=Life("m"))
    log("after")
    g = lambda x: log("in g", x.name)
    g(Life("argument"))
    log("end")


@program()
def lifetimes_across_branches():
    for k in range(3):
        if k == 1:
            x = Life(f"x {k}")
        elif k:
            y = Life(f"y {k}")
            x = y
        log("round", k)
    try:
        z = Life("z")
        raise ValueError
    except ValueError:
        log("handler")
        x = None
    while True:
        w = Life("w")
        break
    log("end")


@program()
def imports():
    import json.decoder
    import os.path as path
    import math, string as s
    from collections import OrderedDict, abc as a
    from json import (
        decoder,
        encoder as e,
    )
    import xml.etree.ElementTree as tree

    log(json.__name__, path.sep, math.pi, s.digits, OrderedDict.__name__, a.__name__, decoder.__name__,
        e.__name__)
    for f in (
        lambda: __import__("missing_module"),
        lambda: exec("import missing_module.part"),
        lambda: exec("from math import missing"),
        lambda: exec("from . import x"),
        lambda: exec("from ..far import x", {"__name__": "top"}),
    ):
        try:
            f()
        except ImportError as error:
            log(type(error), str(error))
    from math import (
        pi,
        not_there,
    )


@program()
def import_hooks():
    def hooked(name, globals=None, locals=None, fromlist=(), level=0):
        log("import", name, fromlist, level)
        return builtins.__import__(name, globals, locals, fromlist, level)

    scope = {"__builtins__": {**vars(builtins), "__import__": hooked}}
    exec("import os.path, sys as s\nfrom math import pi as p, tau\nimport os.path as q", scope)
    return sorted(k for k in scope if k != "__builtins__")


@program((50,))
def recursion(n):
    def even(k):
        return True if k == 0 else odd(k - 1)

    def odd(k):
        return False if k == 0 else even(k - 1)

    fact = lambda k: 1 if k <= 1 else k * fact(k - 1)
    return even(n), fact(n)


@program()
def depth_of_recursion():
    def down():
        nonlocal depth
        depth += 1
        down()

    def height(frame):
        return 1 + height(frame.f_back) if frame else 0

    depth = 0
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(height(sys._getframe()) + 200)
    try:
        down()
    except RecursionError as e:
        reached = str(e)
    finally:
        sys.setrecursionlimit(before)
    return depth, reached


@program()
def a_debugger():
    """A local trace function that changes where it looks."""
    events = []

    def trace(frame, event, arg):
        if frame.f_code.co_name != "watched":
            return None
        events.append((event, frame.f_lineno - frame.f_code.co_firstlineno, sorted(frame.f_locals)))
        return trace

    def watched(n):
        total = 0
        for i in range(n):
            if i % 2:
                continue
            total += (
                i
                * n
            )
        try:
            1 / 0
        except ZeroDivisionError:
            pass
        with Silent() as s:
            x = [j for j in "ab"]
        return total if n else None

    class Silent:
        def __enter__(self):
            return 1

        def __exit__(self, *raised):
            return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        watched(3)
    finally:
        sys.settrace(before)
    return events


@program()
def a_profiler():
    events = []

    def profile(frame, event, arg):
        if frame.f_code.co_filename == __file__:
            events.append((event, frame.f_code.co_name,
                getattr(arg, "__name__", None) if "c_" in event else None))

    def watched():
        len([])
        [x for x in (1, 2)]
        sorted((2, 1), key=lambda k: k)
        next(y for y in (1,))
        try:
            {}["k"]
        except KeyError:
            abs(-1)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        watched()
    finally:
        sys.setprofile(before)
    return events


@program()
def jumps_of_a_debugger():
    """`f_lineno` can be set by a trace function: over a line that must not run."""

    def watched():
        x = 1
        x = 2
        x = 3
        return x

    def trace(frame, event, arg):
        if frame.f_code is not watched.__code__:
            return None
        if event == "line" and frame.f_lineno == watched.__code__.co_firstlineno + 3:
            frame.f_lineno += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return watched()
    finally:
        sys.settrace(before)


@program()
def locals_changed_from_outside():
    """What `pdb` does; shown by 3.13 and later."""

    def change():
        sys._getframe(1).f_locals["x"] = "changed"

    x = "own"
    change()
    return x if sys.version_info >= (3, 13) else "unspecified"
