"""Memory for time: what is computed again on the way back.

The second run must be the first one again. So random numbers are drawn from where they were drawn first, and
a result that differs (the function reads what has changed, or changed its arguments) is refused.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import natively
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.errors import DerivativeError, described, user_position
from ctxdispatch_contexts.reverse import context as ad
from ctxdispatch_contexts.reverse.context import ADContext

POLICIES = ("nothing", "everything")


class Checkpointed:
    """`f`, its intermediate values not kept but computed again in the reverse sweep. See `checkpoint`."""

    def __init__(self, function: Callable[..., Any], policy: Any) -> None:
        self.function = function
        self.policy = policy
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def checkpoint(f: Callable[..., Any], policy: str | Callable[[Any], Any] = "nothing") -> Checkpointed:
    """`f`, except that under reverse mode it keeps its arguments only: the reverse sweep runs it once more.

    `policy` says what is kept: "nothing"; "everything", which is `f` itself; or a function of `f` that is
    true where everything is. Checkpoints may contain others. NumPy's and Python's global random numbers, and
    generators among the arguments, are the same in the second run. Raises DerivativeError on the way back
    where that gives another result than the first.

    Memory for time, as in Griewank and Walther, "Evaluating Derivatives", 2008, chapter 12. In recorded runs
    everything is kept.
    """
    if policy != "nothing":
        _check_policy(policy)
    return Checkpointed(f, policy)


def _check_policy(policy: Any) -> None:
    if not callable(policy) and policy not in POLICIES:
        raise DerivativeError(
            f"checkpoint has the policies {' and '.join(map(repr, POLICIES))}, or a function of f that says "
            f"whether everything is kept, not {policy!r}; put a checkpoint around the parts that are to be "
            "computed again",
            user_position(),
        )


def _keeps(checkpointed: Checkpointed) -> bool:
    policy = checkpointed.policy
    return bool(policy(checkpointed.function)) if callable(policy) else policy == "everything"


@ADContext.rule(Checkpointed.__call__)
def _checkpointed(ctx: ADContext, checkpointed: Checkpointed, *args: Any, **kwargs: Any) -> Any:
    operands, names = (*args, *kwargs.values()), tuple(kwargs)
    if _keeps(checkpointed):
        y, again = ad.call_any(type(ctx), checkpointed.function, operands, names)
        return y, functools.partial(_through, again)
    drawn = random_state(operands)
    y = checkpointed.function(*args, **kwargs)
    seen = summary(y)

    def pullback(ybar: Any) -> tuple[Any, ...]:
        now = random_state(operands)
        rewind(operands, drawn)
        y_again, again = ad.call_any(type(ctx), checkpointed.function, operands, names)
        rewind(operands, now)
        check_same(checkpointed.function, seen, y_again)
        return _through(again, ybar)

    return y, pullback


def _through(pullback: Any, ybar: Any) -> tuple[Any, ...]:
    """The cotangent of the checkpointed function is that of the function in it."""
    function, *rest = pullback(ybar)
    return (None if function is None else SimpleNamespace(function=function), *rest)


# -- the second run is the first again -----------------------------------------------------------------------


def random_state(operands: tuple[Any, ...]) -> Any:
    """Of the global generators, and of those among the operands."""
    own = [_generator_state(o) for o in operands]
    return random.getstate(), np.random.get_state(), own


def rewind(operands: tuple[Any, ...], state: Any) -> None:
    python, numpy, own = state
    random.setstate(python)
    np.random.set_state(numpy)
    for operand, each in zip(operands, own, strict=True):
        if isinstance(operand, np.random.Generator):
            operand.bit_generator.state = each
        elif isinstance(operand, np.random.RandomState):
            operand.set_state(each)
        elif isinstance(operand, random.Random):
            operand.setstate(each)


def _generator_state(operand: Any) -> Any:
    if isinstance(operand, np.random.Generator):
        return operand.bit_generator.state
    if isinstance(operand, np.random.RandomState):
        return operand.get_state()
    return operand.getstate() if isinstance(operand, random.Random) else None


def summary(y: Any) -> tuple[tuple[Any, float, Any, float], ...]:
    """Of each number and array in `y`: shape, size, a weighted sum, and how well sums can be known."""
    if isinstance(y, dict):
        return tuple([s for part in y.values() for s in summary(part)])
    if isinstance(y, (tuple, list)):
        return tuple([s for part in y for s in summary(part)])
    if not isinstance(y, (int, float, complex, np.ndarray, np.generic)):
        return ()
    flat = np.asarray(y).ravel()
    if flat.dtype.kind not in "fc":
        return ((np.shape(y), 0.0, flat.tobytes(), 0.0),)
    weights = np.cos(np.arange(flat.size))
    return ((np.shape(y), float(np.abs(flat).sum()), (flat * weights).sum(), _rounding(flat.dtype)),)


def _rounding(dtype: Any) -> float:
    return float(np.finfo(dtype).eps) ** 0.5


def check_same(f: Any, seen: Any, y: Any) -> None:
    again = summary(y)
    if len(again) == len(seen) and all(map(_agree, seen, again)):
        return
    raise DerivativeError(
        f"{described(f)} is checkpointed, and gave another result when it was run again: it changes its "
        "arguments, or reads what has changed since; take the checkpoint away, or pass it all that it reads",
        user_position(),
    )


def _agree(a: Any, b: Any) -> bool:
    if a[0] != b[0] or isinstance(a[2], bytes):
        return bool(a == b)
    near = a[3] * a[1]
    return all(np.isclose(a[i], b[i], rtol=0.0, atol=near, equal_nan=True) or a[i] == b[i] for i in (1, 2))


for _f in (random_state, rewind, summary, check_same):
    ZERO_BY_RULE.add(_f)
    natively(_f)
