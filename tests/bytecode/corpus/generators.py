"""Generators: send, throw, close, delegation, what `inspect` sees of them."""

# ruff: noqa: E401, F401, F541, F631, F811, F821, F842, I001

import inspect
import itertools
import sys

from observe import Life, drain, log, program


@program((0,), (3,))
def counts(n):
    def count():
        for i in range(n):
            yield i
        return "done"

    return drain(count())


@program()
def bare_yields():
    def g():
        yield
        x = yield
        y = (yield 1), (yield 2)
        log(x, y, [(yield 3), (yield 4)], {(yield 5): (yield 6)})
        yield (yield (yield 7))
        log("args", (yield 8), *(yield (1, 2)), key=(yield 9)) if False else log((yield 8))

    it = g()
    return [next(it), *[it.send(k) for k in range(11)], next(it, "end")]


@program()
def sends():
    def average():
        total, n, mean = 0, 0, None
        while True:
            x = yield mean
            if x is None:
                return total, n
            total, n = total + x, n + 1
            mean = total / n

    it = average()
    next(it)
    return [it.send(x) for x in (1, 2, 6)], drain(it)


@program((ValueError("in"),), (KeyError("in"),), (StopIteration("in"),), (GeneratorExit(),))
def throws(error):
    def g():
        while True:
            try:
                yield "waiting"
            except ValueError as e:
                got = yield "caught", repr(e)
                log(got)
            finally:
                log("finally")

    it = g()
    log(next(it))
    log(it.throw(error))
    log(it.send("after"))
    it.close()
    return drain(it)


@program((ValueError,), (GeneratorExit,), (StopIteration,))
def throws_before_the_start(kind):
    def g():
        try:
            yield 1
        finally:
            log("never")

    return g().throw(kind("early"))


@program()
def closes():
    def g(k):
        try:
            yield k
        except GeneratorExit:
            log("exit", k)
            if k == 1:
                return "value"
            if k == 2:
                raise
            if k == 3:
                raise KeyError(k)
            if k == 4:
                yield "ignored"
        finally:
            log("finally", k)

    for k in range(6):
        it = g(k)
        next(it)
        try:
            log(it.close())
        except BaseException as e:
            log(e)
    fresh = g(9)
    fresh.close()
    return drain(fresh)


@program()
def dropped_early():
    def g(name):
        life = Life("in " + name)
        try:
            yield 1
            yield 2
        finally:
            log("closing", name, sys.exc_info()[0])

    for x in g("for"):
        log(x)
        break
    log("after for")
    it = g("del")
    next(it)
    del it
    log("after del")
    next(g("temporary"))
    log("after temporary")
    a, *b = g("star")
    return a, b


@program()
def raises_when_dropped():
    def g():
        try:
            yield 1
        finally:
            raise KeyError("lost")

    next(g())
    log("on")


@program()
def stop_iteration_inside():
    def g():
        yield 1
        next(iter(()))

    it = g()
    log(next(it))
    try:
        next(it)
    except RuntimeError as e:
        log(e, e.__cause__, e.__suppress_context__)
        raise


@program()
def running_and_attributes():
    def g():
        log(it.gi_running, it.gi_yieldfrom, it.gi_frame.f_lineno - start)
        try:
            next(it)
        except ValueError as e:
            log(e)
        x = yield 1
        yield from inner
        log(inspect.getgeneratorstate(it))

    def h():
        log(it.gi_yieldfrom is inner, it.gi_running, inner.gi_running)
        yield "h"

    start = g.__code__.co_firstlineno
    it, inner = g(), h()
    log(inspect.getgeneratorstate(it), it.__name__, it.__qualname__, it.gi_frame.f_lasti)
    log(inspect.getgeneratorlocals(it))
    log(next(it), inspect.getgeneratorstate(it), it.gi_frame.f_lineno - start)
    log(list(it.gi_frame.f_locals), it.gi_suspended)
    log(it.send("sent"), it.gi_yieldfrom is inner, inspect.getgeneratorlocals(it)["x"])
    log(drain(it), inspect.getgeneratorstate(it), it.gi_frame, it.gi_code is g.__code__)


@program()
def delegates():
    def inner(name):
        try:
            got = yield name, 1
            log(name, "got", got)
            got = yield name, 2
            log(name, "got", got)
        except ValueError as e:
            log(name, e)
            yield "recovered"
        finally:
            log(name, "finally")
        return name + " result"

    def outer():
        a = yield from inner("a")
        b = yield from inner("b")
        c = yield from (x * 2 for x in [5])
        d = yield from "xy"
        return a, b, c, d, (yield from inner("c")), [(yield from ())]

    it = outer()
    log(next(it), it.send(10), it.send(20))
    log(it.throw(ValueError("for b")))
    log(next(it), next(it), next(it), next(it))
    log(it.gi_yieldfrom)
    try:
        it.throw(KeyError("for c"))
    finally:
        log(drain(it))


@program()
def delegates_to_strangers():
    class Plain:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 3:
                raise StopIteration("plain")
            return self.n

    class Throwing(Plain):
        def throw(self, *args):
            log("throw", args[0])
            raise StopIteration("thrown")

        def close(self):
            log("closed")
            raise OSError("close")

        def send(self, value):
            return "sent", value

    def g(it):
        try:
            return (yield from it)
        except Exception as e:
            log(e)
            return "failed"

    log(drain(g(Plain())))
    a, b, c, d = g(Plain()), g(Throwing()), g(Throwing()), g(5)
    log(next(a), next(b), next(c))
    for use in (lambda: a.send(1), lambda: b.throw(KeyError("k")), lambda: c.send(2), lambda: c.close(),
        d.__next__):
        try:
            log(use())
        except BaseException as e:
            log(e)


@program()
def closes_through_delegation():
    def leaf(k):
        life = Life(f"leaf {k}")
        try:
            yield k
        except GeneratorExit:
            log("leaf", k)
            raise
        finally:
            log("leaf finally", k)

    def middle(k):
        with_life = Life(f"middle {k}")
        try:
            yield from leaf(k)
        finally:
            log("middle", k)

    for k in range(2):
        it = middle(k)
        next(it)
        if k:
            it.close()
        else:
            del it
        log("closed", k)


@program()
def within_try_and_with():
    class M:
        def __enter__(self):
            log("in")
            return 5

        def __exit__(self, *raised):
            log("out", raised[0])
            return True

    def g():
        with M() as m:
            try:
                yield m
                yield 1 / 0
            except ZeroDivisionError:
                yield "zero"
                log(sys.exc_info()[0])
                raise
            else:
                yield "never"
            finally:
                yield "finally"
        yield "after"
        for k in range(2):
            try:
                yield k
                continue
            finally:
                yield "between", k

    return drain(g())


@program()
def the_exception_of_the_caller():
    def g():
        log(sys.exc_info()[0])
        yield 1
        log(sys.exc_info()[0])
        try:
            raise KeyError
        except KeyError:
            yield 2
            log(sys.exc_info()[0])
        log(sys.exc_info()[0])
        yield 3

    it = g()
    next(it)
    try:
        raise ValueError
    except ValueError:
        next(it)
        log(sys.exc_info()[0])
    try:
        raise OSError
    except OSError:
        next(it)
    return sys.exc_info()


@program()
def expressions():
    n = 3
    a = (i * n for i in range(n) if i)
    b = ((i, j) for i in range(n) for j in range(i))
    n = 10
    c = (x for x in itertools.count() if x % n == 0)
    log(a.__name__, a.__qualname__, a.gi_code.co_varnames[:1], sum(x for x in (1, 2)))
    log(list(a), list(b), next(c), next(c), max((y for y in "ab"), key=lambda s: s))
    d = (1 / i for i in (1, 0))
    next(d)
    return list(d)


@program()
def lambdas():
    f = lambda x: (yield x)
    return drain(f(4)), f.__code__.co_flags


@program((5,), (0,))
def recursive(n):
    def tree(k):
        if k:
            yield from tree(k - 1)
            yield k
            yield from tree(k - 2 if k > 1 else 0)

    return list(tree(n))


@program()
def early_arguments():
    """Arguments are bound at the call, the body runs later."""

    def g(a, *args, b=2, **k):
        "Its documentation."
        log("started")
        yield a, args, b, k
        a += 1
        yield a

    it = g(1, 2, 3, b=4, c=5)
    log("made", inspect.signature(g).parameters["b"].default, g.__doc__)
    try:
        g()
    except TypeError as e:
        log(e)
    return list(it)


@program()
def cells():
    def g(start):
        def step(k):
            nonlocal start
            start += k
            return start

        while start < 10:
            yield step
            yield start
        del start
        yield step
        return start

    it = g(1)
    next(it)(5)
    log(next(it), next(it)(5), next(it))
    next(it)(1)


@program()
def a_loop_over_itself():
    def primes(numbers):
        head = next(numbers)
        yield head
        yield from primes(x for x in numbers if x % head)

    return list(itertools.islice(primes(itertools.count(2)), 8))
