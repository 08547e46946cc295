"""What a run refuses is raised, whoever catches it: {what is refused} x {who catches it} x {modes}.

Each program goes on after the refusal and returns a number that the refused operation has a part in.
"""

import asyncio
import concurrent.futures
import contextlib
import faulthandler
import itertools
import logging
import queue
import struct
import threading
import weakref

import numpy as np
import pytest
from scipy import special

from ctxdispatch import Context, Refused, grad, jacfwd, jvp, overdub, vjp
from tests.recording import RECORDED

X = np.array([0.3, 1.2, 0.7])

# -- what is refused -----------------------------------------------------------------------------------------


def of_c_code(x):
    return struct.unpack("d", struct.pack("d", x[0]))[0]


def of_evaluated_code(x):
    return eval("x[0] * 2.0", {}, {"x": x})


def of_a_store(x):
    made = bytearray(8)
    made[:] = x[:1]
    return made[0]


def of_a_rule(x):
    return np.partition(x, 1)[0] + special.zeta(2.0 + x[0], 1.0 + x[1])


def of_an_iterator(x):
    next(OUTSIDE)
    return OUTSIDE.send(x)[0]


def _outside():
    while True:
        yield X * 2.0


OUTSIDE = _outside()


def of_memory(x):
    return x.data.cast("B")[7]


REFUSED = [of_c_code, of_evaluated_code, of_a_store, of_a_rule, of_an_iterator, of_memory]

# -- who catches it ------------------------------------------------------------------------------------------


def by_a_handler(refuse):
    try:
        refuse()
    except Exception:
        return 1.0


def by_a_bare_handler(refuse):
    try:
        refuse()
    except:  # noqa: E722
        return 1.0


def by_a_handler_of_groups(refuse):
    try:
        refuse()
    except* TypeError:
        pass


def by_finally(refuse):
    try:
        refuse()
    finally:
        return 1.0  # noqa: B012


def by_another_error(refuse):
    try:
        refuse()
    except Exception:
        raise ValueError("it went wrong") from None


def by_suppress(refuse):
    with contextlib.suppress(TypeError):
        refuse()


def by_an_exit_stack(refuse):
    with contextlib.ExitStack() as stack:
        stack.push(lambda *exception: True)
        refuse()


def by_a_new_try(refuse):
    while True:
        try:
            refuse()
            break
        except Exception:
            continue


def by_no_attribute(refuse):
    class C:
        @property
        def value(self):
            try:
                refuse()
            except TypeError:
                raise AttributeError("value") from None

    return hasattr(C(), "value"), getattr(C(), "value", None)


def by_a_hint_of_length(refuse):
    class C:
        def __iter__(self):
            return iter([1.0])

        def __len__(self):
            refuse()
            return 1

    return list(C())


def by_a_weak_reference(refuse):
    class C:
        pass

    held = C()
    reference = weakref.ref(held, lambda _: refuse())
    del held
    return reference


def by_weakref_finalize(refuse):
    class C:
        pass

    held = C()
    weakref.finalize(held, refuse)
    del held


def by_a_generator_that_goes(refuse):
    def items():
        try:
            yield 1.0
        finally:
            refuse()

    made = items()
    next(made)
    del made


def by_a_generator(refuse):
    def items():
        try:
            yield 1.0
        finally:
            with contextlib.suppress(TypeError):
                refuse()

    for item in items():
        return item


def by_a_generator_that_is_closed(refuse):
    def items():
        try:
            yield 1.0
        except GeneratorExit:
            with contextlib.suppress(TypeError):
                refuse()

    made = items()
    next(made)
    made.close()


def by_a_thread(refuse):
    thread = threading.Thread(target=refuse)
    thread.start()
    thread.join()


def by_a_thread_that_serves(refuse):
    asked, answered = queue.Queue(), queue.Queue()

    def serve():
        while asked.get() is not None:
            refuse()
            answered.put(1.0)

    thread = threading.Thread(target=serve)
    thread.start()
    asked.put(1)
    answer = answered.get()
    asked.put(None)
    thread.join()
    return answer


def by_an_executor(refuse):
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        executor.submit(refuse)


def by_a_future_callback(refuse):
    future = concurrent.futures.Future()
    future.add_done_callback(lambda _: refuse())
    future.set_result(1.0)


def by_a_log(refuse):
    class Handler(logging.Handler):
        def emit(self, record):
            try:
                refuse()
            except Exception:
                self.handleError(record)

    log = logging.Logger("of a test")
    log.addHandler(Handler())
    log.warning("here")


def by_a_loop(refuse):
    async def main():
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def callback():
            refuse()
            future.set_result(1.0)

        loop.call_soon(callback)
        return await future

    return asyncio.run(main())


def by_a_task_that_nobody_awaits(refuse):
    async def fail():
        refuse()

    async def main():
        task = asyncio.create_task(fail())
        await asyncio.sleep(0)
        return task.done()

    return asyncio.run(main())


def by_gathering(refuse):
    async def fail():
        await asyncio.sleep(0)
        refuse()

    async def main():
        return await asyncio.gather(fail(), fail(), return_exceptions=True)

    return asyncio.run(main())


def by_a_group_of_tasks(refuse):
    async def fail():
        refuse()

    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())

    try:
        asyncio.run(main())
    except ExceptionGroup:
        pass


def by_the_executor_of_a_loop(refuse):
    async def main():
        await asyncio.get_running_loop().run_in_executor(None, lambda: by_a_handler(refuse))

    asyncio.run(main())


def by_an_asynchronous_generator(refuse):
    async def items():
        try:
            yield 1.0
        finally:
            with contextlib.suppress(TypeError):
                refuse()

    async def main():
        async for item in items():
            return item

    return asyncio.run(main())


CAUGHT = [value for name, value in list(vars().items()) if name.startswith("by_")]

# -- modes ---------------------------------------------------------------------------------------------------


class Nothing(Context):
    calls: list

    def prehook(self, f, args, kwargs):
        self.calls.append(f)


MODES = {
    "grad": lambda f: grad(f)(X),
    "vjp": lambda f: vjp(f, X),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "jacfwd": lambda f: jacfwd(f)(X),
    "grad of grad": lambda f: grad(lambda x: grad(f)(x) @ x)(X),
    "grad under a context": lambda f: overdub(Nothing([]), grad(f), X),
}


def program(refuse, catch):
    def f(x):
        found = [1.0]
        catch(lambda: found.append(refuse(x)))
        return (x @ x) * found[-1]

    f.__code__ = f.__code__.replace(co_name=f"of_{next(COUNT)}")  # one of its own: it may be the first of all
    return f


COUNT = itertools.count()


@pytest.fixture(autouse=True)
def watched():
    """What hangs ends the process, and says where."""
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: None)
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    monkeypatch.setattr(logging, "raiseExceptions", False)
    monkeypatch.setattr(logging.getLogger("asyncio"), "disabled", True)
    monkeypatch.setattr(logging.getLogger("concurrent.futures"), "disabled", True)


def check(refuse, catch, mode):
    with pytest.raises(Refused) as caught:
        MODES[mode](program(refuse, catch))
    assert f" in {refuse.__name__}: " in str(caught.value)


@pytest.mark.every(8)
@pytest.mark.parametrize("catch", CAUGHT, ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_whoever_catches_it(catch, mode):
    check(of_c_code, catch, mode)


@pytest.mark.every(4)
@pytest.mark.parametrize("refuse", REFUSED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_whatever_is_refused(refuse, mode):
    ways = (by_a_handler, by_a_thread, by_a_generator_that_goes)  # who catches, and what, are crossed above
    check(refuse, ways[(REFUSED.index(refuse) + (mode == "jvp")) % len(ways)], mode)


WAYS = [by_a_handler, by_finally, by_a_new_try, by_a_generator_that_goes]


@pytest.mark.every(16)
@pytest.mark.parametrize("mode, catch", [
    (mode, catch) for mode in MODES for catch in (WAYS[:1] if mode == "grad of grad" else WAYS)  # it is slow
])  # fmt: skip
def test_in_whatever_mode(catch, mode):
    check(of_c_code, catch, mode)


# -- whose refusal it is -------------------------------------------------------------------------------------


def recorded(f):
    """`f` in a program that is recorded."""

    def g(x):
        with RECORDED:
            return f(x)

    return g


INNER = {
    "grad": lambda f, x: grad(f)(x)[0],
    "jvp": lambda f, x: jvp(f, (x,), (x,))[1],
    "vjp": lambda f, x: vjp(f, x)[1](1.0)[0][0],
    "a function of another module": lambda f, x: max([x], key=grad(f))[0],
}


@pytest.mark.every(3)
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("of_inner", [lambda f: f, recorded], ids=["compiled", "recorded"])
def test_what_a_derivative_of_the_programs_own_refuses_is_the_programs_to_catch(inner, mode, of_inner):
    def f(x):
        try:
            scale = INNER[inner](of_inner(of_c_code), np.ones(3))
        except Refused:
            scale = 3.0
        return (x @ x) * scale

    expected = MODES[mode](lambda x: (x @ x) * 3.0)
    for got, want in zip(np.atleast_1d(MODES[mode](f)), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(got, want)


@pytest.mark.every(3)
@pytest.mark.parametrize("inner", INNER)
def test_what_the_run_around_it_refuses_is_not(inner):
    def f(x):
        try:
            scale = INNER[inner](lambda y: of_c_code(x) * (y @ y), np.ones(3))
        except Refused:
            scale = 3.0
        return (x @ x) * scale

    for derivative in (grad(f), jacfwd(f)):
        with pytest.raises(Refused):
            derivative(X)


def test_another_thread_is_another_run():
    entered, refused = threading.Event(), threading.Event()
    found = []

    def waits(x):
        with contextlib.suppress(ValueError):
            entered.set()
            refused.wait()
            return x @ x

    def refuses(x):
        with RECORDED:
            by_a_handler(lambda: of_c_code(x))
        return x @ x

    thread = threading.Thread(target=lambda: found.append(grad(waits)(X)))
    thread.start()
    entered.wait()
    with pytest.raises(Refused):
        grad(refuses)(X)
    refused.set()
    thread.join()
    np.testing.assert_allclose(found, [2.0 * X])


def test_cleaning_up_is_as_ever():
    lock, log = threading.Lock(), []

    class Logged:
        def __enter__(self):
            pass

        def __exit__(self, *exception):
            log.append(1 + 1)

    def f(x):
        try:
            with lock, Logged():
                by_a_generator_that_goes(lambda: of_c_code(x))
            return x @ x
        finally:
            log.append(len(log) + 1)

    with pytest.raises(Refused):
        grad(f)(X)
    assert not lock.locked() and log == [2, 2]


def test_the_next_operation_raises_it():
    log, kept = [], []

    def f(x):
        by_a_handler(lambda: kept.append(of_c_code(x)))
        log.append(1)
        return x @ x + sum(kept)

    with pytest.raises(Refused):
        grad(f)(X)
    assert log == []
