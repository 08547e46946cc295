"""Programs that run an event loop: values and derivatives, reverse and forward.

Each runs in a process of its own with a time limit, all at once: what hangs is told by name.
"""

import asyncio
import subprocess
import sys

import pytest


async def square(y):
    await asyncio.sleep(0)
    return y * y


async def awaited(x):
    return (await square(x)) * x


async def gathered(x):
    a, b = await asyncio.gather(square(x), square(2.0 * x))
    return a * b


async def gathered_with_errors(x):
    async def fails():
        await asyncio.sleep(0)
        raise ValueError

    a, error = await asyncio.gather(square(x), fails(), return_exceptions=True)
    return a if isinstance(error, ValueError) else 0.0


async def gathered_within(x):
    a, (b, c) = await asyncio.gather(square(x), asyncio.gather(square(x), square(3.0 * x)))
    return a + b * c


async def tasks(x):
    first, second = asyncio.create_task(square(x)), asyncio.create_task(square(x * 2.0))
    return (await first) * (await second)


async def a_group_of_tasks(x):
    async with asyncio.TaskGroup() as group:
        first, second = group.create_task(square(x)), group.create_task(square(x * 2.0))
    return first.result() * second.result()


async def called_soon(x):
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_soon(lambda: future.set_result(x * x))
    return await future


async def called_later(x):
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_later(0.0, lambda y: future.set_result(y * y), x)
    return await future


async def callbacks_of_a_future(x):
    future, found = asyncio.get_running_loop().create_future(), []
    future.add_done_callback(lambda done: found.append(done.result() * x))
    future.set_result(x)
    await asyncio.sleep(0)
    return found[0]


async def in_an_executor(x):
    return await asyncio.get_running_loop().run_in_executor(None, lambda: x * x * x)


async def in_a_thread(x):
    return await asyncio.to_thread(lambda y: y * y * y, x)


async def waited_for(x):
    return await asyncio.wait_for(square(x), 60.0)


async def shielded(x):
    return await asyncio.shield(square(x))


async def waited(x):
    done, _ = await asyncio.wait([asyncio.create_task(square(x)), asyncio.create_task(square(2.0 * x))])
    return sum(task.result() for task in done)


async def as_they_complete(x):
    total = 0.0
    for each in asyncio.as_completed([square(x), square(2.0 * x)]):
        total += await each
    return total


async def within_a_time(x):
    async with asyncio.timeout(60.0):
        return await square(x)


async def too_late(x):
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.001)
    except TimeoutError:
        return x * x


async def cancelled(x):
    found = []

    async def waits():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            found.append(x * x)
            raise

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return found[0]


async def a_queue(x):
    queue = asyncio.Queue(1)

    async def produce():
        for i in range(3):
            await queue.put(x * i)
        await queue.put(None)

    async def consume():
        total = 0.0
        while (item := await queue.get()) is not None:
            total += item * item
        return total

    return (await asyncio.gather(produce(), consume()))[1]


async def locks(x):
    lock, event = asyncio.Lock(), asyncio.Event()
    async with lock:
        y = x * x
    event.set()
    await event.wait()
    return y


async def an_asynchronous_generator(x):
    async def items():
        for i in range(3):
            await asyncio.sleep(0)
            yield x * i

    total = 0.0
    async for item in items():
        total += item * item
    return total + sum([item * x async for item in items()])


async def an_asynchronous_iterator(x):
    class Items:
        def __init__(self):
            self.left = 3

        def __aiter__(self):
            return self

        async def __anext__(self):
            if not self.left:
                raise StopAsyncIteration
            self.left -= 1
            return x * self.left

    return sum([item * item async for item in Items()])


async def an_object_that_is_awaited(x):
    class Later:
        def __await__(self):
            yield from asyncio.sleep(0).__await__()
            return x * x

    return await Later()


async def a_context_variable(x):
    import contextvars

    scale = contextvars.ContextVar("scale")
    scale.set(x)
    return await asyncio.create_task(_scaled(scale, x))


async def _scaled(scale, x):
    return scale.get() * x


PROGRAMS = {
    name: value
    for name, value in list(vars().items())
    if asyncio.iscoroutinefunction(value) and not name.startswith("_") and name != "square"
}


def main(names):
    import numpy as np

    from ctxdispatch import grad, jacfwd

    for name in names:
        print(name, end=" ", flush=True)
        program = PROGRAMS[name]

        def f(x, program=program):
            return asyncio.run(program(x))

        slope = (f(1.5 + 1e-5) - f(1.5 - 1e-5)) / 2e-5
        for derivative in (grad(f)(1.5), jacfwd(f)(1.5)):
            np.testing.assert_allclose(derivative, slope, rtol=1e-6)
        print("is right", flush=True)


@pytest.mark.parametrize("part", range(2))
def test_values_and_derivatives(part):
    names = [*PROGRAMS][part::2]
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, *names], capture_output=True, text=True, timeout=300
        )
    except subprocess.TimeoutExpired as error:
        pytest.fail(f"hangs: {error.stdout}")
    assert done.stdout.split("\n")[:-1] == [f"{name} is right" for name in names], done.stderr[-2000:]


if __name__ == "__main__":
    main(sys.argv[1:])
