"""Random programs under contexts, one and several deep, against the same programs plain.

A program runs three times, so that what its code remembers is used: results, exceptions and what is logged
are compared; not the frames, of which the engine has its own.
"""

import contextlib
import math

from observe import difference, log, observe, without_frames
from random_programs import FILENAME, namespace, use

from ctxdispatch import Context
from ctxdispatch.contexts import CountContext, TraceContext
from ctxdispatch.dispatch import Editor
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


class Edited(Context):
    """A pass that puts a call before and after everything, and threads a value through."""

    intercepts = tuple(KINDS)

    def transform(self, graph):
        edit = Editor(graph)
        count = edit.variable(0)
        edit.at_entry(seen, edit.context)
        edit.at_return(seen, edit.context)
        for op in edit.calls():
            edit.before(op, seen, edit.context, *edit.operands(op))
            if len(op.results) == 1:
                edit.after(op, seen, edit.context, count.read(op), op.result)
                count.write(op, 1)
        return super().transform(edit.finish())


def seen(*values):
    pass


class Named(Context):
    """A hook that reads nothing but the callee."""

    intercepts = tuple(KINDS)

    def prehook(self, f, args, kwargs):
        pass

    def posthook(self, out, f, args, kwargs):
        len(args)


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
    "edited": (Edited,),
    "edited under edited": (Edited, Edited),
    "edited under hooks": (Edited, Named),
    "hooks under edited": (Named, Edited),
    "counting": (CountContext,),
    "tracing": (TraceContext,),
    "counting under tracing": (CountContext, TraceContext),
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
