"""Random programs, compiled and run plain and rewritten; and what they call."""

import functools
import itertools
import warnings
from types import CodeType

from observe import Manager, difference, log, nap, naps, observe, run

FILENAME = "<random>"


# -- what the programs use -------------------------------------------------------------------------


class Exhausted(BaseException):
    pass


class Box:
    x = 1

    def __repr__(self):
        return "Box()"

    def __matmul__(self, other):
        return log("matmul", other)


class Fuel:
    def __init__(self, left=40):
        self.left = left

    def __repr__(self):
        return "Fuel()"

    def tick(self):
        self.left -= 1
        if self.left < 0:
            raise Exhausted
        return True

    def items(self, n=3):
        for k in range(n % 4 if isinstance(n, int) else 2):
            self.tick()
            yield k

    def decorate(self, value):
        log("decorate", value)
        return lambda made: made


def manage(n):
    if n == 5:
        raise KeyError("no manager")
    return Manager(n, suppresses=isinstance(n, int) and n % 3 == 1)


def use(made, how):
    """Runs a generator, a coroutine, or what comes of neither."""
    if hasattr(made, "asend"):
        made = run_all(made, how)
    if hasattr(made, "cr_frame"):
        return run(made, 12)
    if not hasattr(made, "gi_frame"):
        return made
    return WAYS[how % len(WAYS) if isinstance(how, int) else 0](made)


async def run_all(made, how):
    found = []
    if how == 1:
        found.append(await anext(made, "nothing"))
        await made.aclose()
    elif how == 3:
        found += [await anext(made, "nothing"), await anext(made, "nothing")]
        found.append(await made.athrow(ValueError("thrown")))
    async for x in made:
        found.append(x)
        if len(found) > 6:
            await made.aclose()
    return found


def close(made):
    return next(made, "nothing"), made.close()


def throw(made):
    return next(made, "nothing"), next(made, "nothing"), made.throw(ValueError("thrown")), *limited(made)


def send(made):
    return next(made, "nothing"), made.send(1), made.send(2), *limited(made)


def drop(made):
    return next(made, "nothing")


def limited(made):
    """Of a generator that never ends, some items."""
    return list(itertools.islice(made, 6))


WAYS = [limited, send, limited, throw, limited, close, limited, drop]


def namespace():
    """A new one for each run."""
    fuel = Fuel()
    functions = Box, Manager, log, nap, naps, run, use, manage, fuel.tick, fuel.items, fuel.decorate
    named = {f.__name__: f for f in functions}
    return named | {"__name__": "random", "box": Box(), "table": {0: 1, "k": 2}, "data": [1, 2, 3], "z": 0}


# -- runs ------------------------------------------------------------------------------------------

@functools.lru_cache(100)
def compiled(text: str) -> CodeType | None:
    """The module that defines `f`; None where the compiler refuses what was drawn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compile(text, FILENAME, "exec", dont_inherit=True)
        except SyntaxError:
            return None


def differs(code: CodeType, rewritten: CodeType, arguments: tuple, how: int) -> str:
    """In what the runs differ, with and without a tracer; empty where they do not.

    Only what differs each time counts: once in some thousands of runs CPython 3.11 gives a frame a stale
    line. Nor is code compared that has run more often than the other: of `d, b = b, d`, where one is unbound,
    the error is at another column once two loads have become one instruction.
    """
    for traced in (False, True):
        for _ in range(4):
            codes = (cold(code), cold(rewritten))
            wanted, got = (observe(call(c, arguments, how), FILENAME, traced) for c in codes)
            wrong = difference(wanted, got)
            if not wrong:
                break
        else:
            return wrong
    return ""


def cold(code):
    """A copy that has never run, nor has the code in it."""
    return code.replace(co_consts=tuple(cold(c) if isinstance(c, CodeType) else c for c in code.co_consts))


def call(code, arguments, how):
    space = namespace()
    exec(code, space)
    return lambda: use(space["f"](*arguments), how)
