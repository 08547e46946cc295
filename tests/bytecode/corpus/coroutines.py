"""Coroutines, asynchronous generators, loops, managers and comprehensions."""

# ruff: noqa: E401, F401, F541, F631, F811, F821, F842, I001

import inspect
import sys

from observe import Life, Manager, log, nap, naps, program, run


@program()
def awaits():
    async def f(x):
        return await nap(x) + await nap(x + 1)

    async def g():
        log(await f(1))
        return await f(2), [await nap(k) for k in (1, 2)], (await nap(5)
            or await nap(6)) if await nap(0) else 7

    return run(g())


@program()
def attributes():
    async def f():
        "Its documentation."
        log(c.cr_running, c.cr_await)
        await nap(1)

    c = f()
    log(inspect.getcoroutinestate(c), c.__qualname__, c.cr_frame.f_lineno - f.__code__.co_firstlineno,
        f.__doc__)
    c.send(None)
    log(inspect.getcoroutinestate(c), c.cr_await is not None, c.cr_suspended, c.cr_origin)
    c.close()
    log(inspect.getcoroutinestate(c), c.cr_frame, inspect.iscoroutinefunction(f))
    return run(c)


@program()
def never_awaited():
    async def forgotten():
        pass

    forgotten()
    log("on")


@program()
def not_awaitable():
    async def f(x):
        return await x

    for x in (5, None, [1], "s"):
        try:
            run(f(x))
        except TypeError as e:
            log(str(e))
    return run(f(3))


@program()
def throws_and_closes():
    async def f():
        try:
            await nap(1)
        except ValueError as e:
            log("caught", e)
            await nap(2)
        finally:
            log("finally", await nap(3))
        return "end"

    c = f()
    log(c.send(None), c.throw(ValueError("v")), c.send(None))
    try:
        c.send("sent")
    except StopIteration as stop:
        log(stop.value)
    d = f()
    d.send(None)
    return d.close()


@program()
def custom_awaitable():
    class Wait:
        def __init__(self, n):
            self.n = n

        def __await__(self):
            for k in range(self.n):
                yield k
            return self.n

    class Bad:
        def __await__(self):
            return 5

    async def f():
        return await Wait(2), await Wait(0)

    async def g():
        await Bad()

    log(run(f()))
    return run(g())


@program()
def loops():
    async def f(stop):
        out = []
        async for x in naps(1, 2, 3, 4):
            if x == 2:
                continue
            if x == stop:
                break
            out.append(x)
        else:
            out.append("else")
        return out

    async def nested():
        async for x in naps(1, 2):
            async for y in naps(3, 4):
                if y == 4 and x == 1:
                    break
                log(x, y)
            else:
                return "returned", x
        return None

    return run(f(4)), run(f(9)), run(nested())


@program()
def loops_over_what_is_not():
    class NoNext:
        def __aiter__(self):
            return 5

    class BadNext:
        def __aiter__(self):
            return self

        def __anext__(self):
            return 5

    class Raises(BadNext):
        async def __anext__(self):
            raise KeyError("next")

    async def f(xs):
        async for x in xs:
            pass

    for xs in ([1], NoNext(), BadNext(), Raises()):
        try:
            run(f(xs))
        except Exception as e:
            log(e, e.__cause__)
    return run(f(3))


@program((False,), (True,))
def managers(suppresses):
    async def f():
        async with Manager("a", suppresses) as a, Manager("b") as b:
            log(a, b)
            await nap(1)
            raise ValueError("within")
        return "after"

    async def g():
        for k in range(3):
            async with Manager(k):
                if k == 1:
                    continue
                if k == 2:
                    return k

    async def h():
        async with (Manager("x"), Manager("y") as y):
            async with Manager("z"):
                return y

    log(run(g()), run(h()))
    return run(f())


@program()
def not_managers():
    class Half:
        async def __aenter__(self):
            return 1

    class Bad:
        def __aenter__(self):
            return 1

        def __aexit__(self, *raised):
            return 2

    async def f(m):
        async with m as x:
            return x

    for m in (Half(), Bad(), 5):
        try:
            run(f(m))
        except Exception as e:
            log(str(e))


@program()
def comprehensions():
    async def f(n):
        a = [x async for x in naps(1, 2, 3) if x != 2]
        b = {x: await nap(x) async for x in naps(1, 2)}
        c = {await nap(x) for x in range(n)}
        d = [[y async for y in naps(x, x + 1)] for x in range(2)]
        e = [z async for z in (x async for x in naps(4, 5))]
        g = [(x, y) async for x in naps(1, 2) for y in range(x) if await nap(y) or x]
        h = [lambda: x async for x in naps(7, 8)]
        return a, b, c, d, e, g, [k() for k in h], [(w := x) async for x in naps(1)], w

    return run(f(2))


@program()
def generators():
    async def g(n):
        "Its documentation."
        try:
            for k in range(n):
                got = yield await nap(k)
                log("got", got)
        except ValueError as e:
            log("caught", e)
            yield "recovered"
        finally:
            log("finally", await nap("end"))

    async def f():
        it = g(4)
        log(inspect.isasyncgen(it), it.ag_running, it.ag_await, it.__name__, g.__doc__)
        log(await it.asend(None), await it.asend("s"), it.ag_frame.f_lineno - g.__code__.co_firstlineno)
        log(await it.athrow(ValueError("v")))
        await it.aclose()
        rest = [x async for x in g(2)]
        early = g(3)
        await anext(early)
        await early.aclose()
        return rest, await anext(early, "default")

    return run(f())


@program()
def dropped_generators():
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(lambda it: log("first", it.__name__), lambda it: log("finalizer", it.__name__))
    try:

        async def g():
            life = Life("in g")
            try:
                yield 1
            finally:
                log("finally")

        async def f():
            async for x in g():
                break
            log("after")

        return run(f())
    finally:
        sys.set_asyncgen_hooks(*hooks)


@program()
def bad_generators():
    async def ignores_exit():
        try:
            yield 1
        finally:
            yield 2

    async def stops(kind):
        yield 1
        raise kind("inside")

    async def f():
        it = ignores_exit()
        await anext(it)
        try:
            await it.aclose()
        except RuntimeError as e:
            log(e)
        for kind in (StopIteration, StopAsyncIteration, KeyError):
            try:
                async for x in stops(kind):
                    log(x)
            except Exception as e:
                log(e, e.__cause__)

    return run(f())


@program()
def expressions_that_are_asynchronous():
    async def f():
        it = (x + await nap(x) async for x in naps(1, 2))
        log(inspect.isasyncgen(it), it.__name__)
        return [x async for x in it]

    return run(f())


@program()
def try_within():
    async def f(k):
        for _ in range(2):
            try:
                try:
                    await nap("body")
                    if k == 0:
                        return "returned"
                    if k == 1:
                        break
                    if k == 2:
                        raise KeyError(k)
                finally:
                    await nap("inner")
            except KeyError as e:
                await nap("handler")
                log(e)
                continue
            else:
                await nap("else")
            finally:
                await nap("outer")
        return "end"

    return [run(f(k)) for k in range(4)]


@program()
def positions_of_failures():
    async def inner(x):
        await nap(1)
        return 1 / x

    async def outer():
        return (
            await inner(1),
            await inner(
                0,
            ),
        )

    return run(outer())


@program()
def a_coroutine_thrown_into_while_it_waits():
    async def leaf():
        try:
            await nap("leaf")
        except KeyError:
            log("leaf saw it")
            raise ValueError("from leaf")

    async def root():
        async with Manager("m"):
            async for x in naps(1):
                await leaf()

    c = root()
    log(c.send(None), c.send(None), c.send(None))
    return c.throw(KeyError("thrown"))
