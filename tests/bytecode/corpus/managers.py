"""with: several managers, suppression, exits of every kind within, what is not a manager."""

# ruff: noqa: E401, F401, F541, F631, F811, F821, F842, I001

import sys

from observe import Life, Manager, log, program


@program((False,), (True,))
def suppression(suppresses):
    with Manager("a", suppresses) as a:
        log(a)
        raise ValueError("within")
    return "after"


@program((False, False), (False, True), (True, False))
def several(first, second):
    with Manager("a", first) as a, Manager("b", second):
        raise ValueError(a)
    log("after")
    with (
        Manager("c") as c,
        Manager("d") as d,
    ):
        return c, d


@program((0,), (1,), (2,), (3,))
def exits(k):
    for i in range(3):
        with Manager(i, suppresses=True):
            if k == 0:
                return log("returned", i)
            if k == 1:
                break
            if k == 2 and i == 1:
                continue
            if k == 3:
                1 / i
            log("end", i)
        log("after", i)
    else:
        log("else")
    return k


@program()
def targets():
    class Box:
        pass

    box, xs = Box(), [None]
    with Manager("a") as box.x, Manager("b") as xs[0], Manager(("c", "d")) as (c, d):
        log(box.x, xs, c, d)
    with Manager("xyz") as (first, *rest):
        return first, rest


@program()
def a_target_that_fails():
    with Manager("ab") as (a, b, c):
        log("never")


@program()
def failures_of_managers():
    class EnterFails(Manager):
        def __enter__(self):
            raise KeyError("enter")

    class ExitFails(Manager):
        def __exit__(self, *raised):
            raise OSError("exit")

    try:
        with Manager("outer"), EnterFails("inner"):
            log("never")
    except KeyError as e:
        log(e.__context__)
    try:
        with Manager("outer"), ExitFails("inner"):
            raise ValueError("body")
    except OSError as e:
        log(e.__context__)
    with ExitFails("plain"):
        return 1


@program()
def not_managers():
    class Half:
        def __enter__(self):
            return 1

    class Other:
        def __exit__(self, *raised):
            return 1

    class Truth(Manager):
        def __exit__(self, *raised):
            class T:
                def __bool__(self):
                    log("asked")
                    return True

            return T()

    for m in (Half(), Other(), 5, None):
        try:
            with m:
                log("never")
        except (TypeError, AttributeError) as e:
            log(str(e))
    with Truth("t"):
        raise ValueError
    with Truth("t"):
        pass
    log("after")
    with Half() as x:
        return x


@program()
def looked_up_on_the_type():
    m = Manager("m")
    m.__enter__ = m.__exit__ = lambda *args: log("never")
    with m:
        return m.name


@program()
def nested_with_try():
    try:
        with Manager("a"):
            try:
                with Manager("b"):
                    try:
                        raise ValueError
                    finally:
                        log("innermost")
            except KeyError:
                log("no")
            else:
                log("no")
            finally:
                log("middle")
    except ValueError:
        with Manager("c"):
            log(sys.exc_info()[0])
        log(sys.exc_info()[0])
        with Manager("d", True):
            raise KeyError
        log(sys.exc_info()[0])
    return sys.exc_info()


@program()
def in_a_finally():
    def f():
        try:
            return "value"
        finally:
            with Manager("f", True):
                1 / 0
            log("end of finally")

    return f()


@program()
def lifetimes():
    class M:
        def __init__(self, name):
            self.life = Life(name)

        def __enter__(self):
            return Life("entered")

        def __exit__(self, *raised):
            log("exit")

    with M("temporary"):
        log("body")
    log("after the first")
    with M("bound") as x:
        log("body")
    log("after the second")
    x = None
    log("end")


@program((True,), (False,))
def return_values_survive(suppresses):
    def f():
        with Manager("m", suppresses):
            x = [1]
            return x + [x[5]]
        return "fell through"

    return f()


@program()
def in_a_loop_with_else():
    out = []
    for k in range(4):
        with Manager(k, True) as m:
            while m:
                m -= 1
                if m == 1:
                    break
                if m == 2:
                    raise ValueError
            else:
                out.append(k)
    return out
