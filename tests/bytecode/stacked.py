"""Random programs under contexts, one and several deep, against the same programs plain.

A program runs three times, so that what its code remembers is used: results, exceptions and what is logged
are compared; not the frames, of which the engine has its own.
"""

import contextlib
import math

from observe import difference, log, observe, without_frames
from random_programs import FILENAME, namespace, use

from ctxdispatch import Context
from ctxdispatch.dispatch.plan import KINDS

RUNS = 3


class Calls(Context):
    """A rule for something that no program calls."""


@Calls.rule(math.gamma)
def _(ctx, x):
    return x


class Everything(Calls):
    intercepts = tuple(KINDS)


class Operators(Context):
    intercepts = ("operator", "compare", "item")


class Hooks(Context):
    intercepts = tuple(KINDS)

    def prehook(self, f, args, kwargs):
        pass

    def posthook(self, out, f, args, kwargs):
        pass


STACKS = {
    "calls": (Calls,),
    "everything": (Everything,),
    "hooks": (Hooks,),
    "calls under calls": (Calls, Calls),
    "everything under everything": (Everything, Everything),
    "everything under operators": (Everything, Operators),
    "calls under hooks": (Calls, Hooks),
    "hooks under everything": (Hooks, Everything),
    "three": (Everything, Calls, Everything),
    "three and hooks": (Calls, Everything, Hooks),
}
"""Classes, from the inside out."""


def under(contexts, f, *args):
    """What runs for `overdub(outermost, overdub, .., f, *args)`."""
    for ctx in contexts:
        f = ctx.program(f, args, {})
    return f


def differs_under(stack, code, arguments, how):
    """In what the runs differ; empty where they do not."""
    wanted, got = (
        observe(repeated(code, arguments, how, classes), FILENAME) for classes in ((), STACKS[stack])
    )
    return difference(without_frames(wanted), without_frames(got))


def repeated(code, arguments, how, classes):
    space = namespace()
    exec(code, space)
    fuel = space["tick"].__self__
    f = under([cls() for cls in classes], space["f"], *arguments)

    def run():
        for _ in range(RUNS - 1):
            fuel.left = 40
            with contextlib.suppress(BaseException):
                log(use(f(*arguments), how))
        fuel.left = 40
        return use(f(*arguments), how)

    return run
