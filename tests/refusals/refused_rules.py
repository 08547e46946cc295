"""Rules of the user's that do not fit their functions, and markers that do not fit where they stand."""

import functools
from typing import Any

import numpy as np

from ctxdispatch import (
    ADContext,
    DualContext,
    checkpoint,
    custom_rule,
    grad,
    insert_grad_of,
    jacrev,
    overdub,
    stop_gradient,
)
from tests.refusals.refusal_table import refused

X = np.array([1.0, 2.0])


def doubled(a):
    return a * 2.0


def pair(a):  # here
    return a, a * 2.0


# -- rules of the user's -------------------------------------------------------------------------------------


def scaled(a, k):
    return a * k


def without_pullback(a):
    return a


def halved(a):
    return a / 2.0


def by_keyword(a, *, k):
    return a * k


def squared(a):
    return a * a


custom_rule(scaled)(lambda a, k: (a * k, lambda g: (g,)))
custom_rule(without_pullback)(lambda a: a)
custom_rule(halved)(lambda a: (a / 2.0, lambda g: np.ones(5)))
custom_rule(by_keyword)(lambda a, *, k: (a * k, lambda g: (g * k,)))
custom_rule(squared)(lambda a: (a * a, lambda g: g * g))


@refused(
    "the pullback of the rule for tests.refusals.refused_rules.scaled gave 1 cotangents for 2 "
    "arguments; give one per positional argument, None where there is none",
    "grad",
    "jvp",
)
def too_few_cotangents(x):
    return scaled(x, 2.0).sum()  # here


@refused(
    "the rule for tests.refusals.refused_rules.without_pullback returned a ndarray; a rule returns "
    "(y, pullback)",
    "grad",
    "jvp",
)
def a_rule_without_pullback(x):
    return without_pullback(x).sum()  # here


@refused(
    "the pullback of the rule for tests.refusals.refused_rules.halved gave a cotangent of shape "
    "(5,) for argument 0 of shape (2,); a cotangent has the shape of its argument",
    "grad",
)
def a_rule_of_another_shape(x):
    return halved(x).sum()  # here


@refused(
    "the pullback of the rule for tests.refusals.refused_rules.by_keyword gave a cotangent of shape "
    "(2,) for argument 0 of shape (); a cotangent has the shape of its argument",
    "grad",
)
def a_keyword_without_cotangent(x):
    return by_keyword(2.0, k=x).sum()  # here


@refused(
    "the rule for tests.refusals.refused_rules.by_keyword gives no derivative for keyword "
    "arguments, and one of them varies; let its pullback return one cotangent per keyword argument, "
    "too",
    "jvp",
)
def a_keyword_without_tangent(x):
    return by_keyword(2.0, k=x).sum()  # here


@refused(
    "the pullback of the rule for tests.refusals.refused_rules.squared is not linear in its "
    "cotangent, so forward mode cannot transpose it; give forward mode a rule of its own with "
    "@DualContext.rule",
    "jvp",
)
def a_rule_that_is_not_linear(x):
    return squared(x).sum()  # here


# -- markers -------------------------------------------------------------------------------------------------


@refused(
    "checkpoint has the policies 'nothing' and 'everything', or a function of f that says whether "
    "everything is kept, not 'some'; put a checkpoint around the parts that are to be computed again"
)
def a_policy_that_there_is_not():
    checkpoint(doubled, "some")  # here


@refused(
    "stop_gradient: there is no part 'v' in what it was given; name one that is there by its keys, "
    "attributes and indices",
    "grad",
)
def no_such_part(x):
    return stop_gradient({"u": x}, "v")["u"].sum()  # here


@refused(
    "three contexts are stacked; write the innermost into a function, `lambda x: overdub(ctx, f, "
    "x)` or `jvp` or `grad`, and stack two on that"
)
def three_contexts():
    overdub(DualContext(), overdub, ADContext(), overdub, ADContext(), doubled, 1.0)  # here


@refused(
    "the block runs in the reverse sweep, and cannot return from its function; give "
    "`insert_grad_of` a function, insert_grad_of(x, hook)",
    "grad",
)
def a_block_that_returns(x):
    y = x * 2.0
    with insert_grad_of(y) as dy:  # here
        return dy
    return y.sum()


@refused("`insert_grad_of(x) as` is followed by one name; write `with insert_grad_of(x) as dx:`", "grad")
def a_block_with_two_names(x):
    y = x * 2.0
    with insert_grad_of(y) as (a, b):  # here
        pass
    return y.sum()


@refused(
    "the same list is given as two arguments, with respect to one of which is differentiated; give "
    "one of them as a copy (`copy.deepcopy`)"
)
def the_same_array_twice():
    grad(lambda a, b: (a[0] * b[1]).sum(), argnums=0)(*[X.tolist()] * 2)  # here


@refused("jacrev has no has_aux for arrays; use jacfwd", where=pair)
def jacrev_with_more_results():
    jacrev(pair, has_aux=True)(X)


@refused(
    "the block of insert_grad_of leaves a cotangent of shape () for shape (2,); a cotangent has the "
    "form of its value",
    "grad",
)
def a_block_that_leaves_text(x):
    y = x * 2.0
    with insert_grad_of(y) as dy:  # here
        dy = "text"
    return y.sum()


# -- more of them --------------------------------------------------------------------------------------------


def total(parts):
    return parts[0] + parts[1]


def by_two(a, *, k):
    return a * k


custom_rule(total)(lambda parts: (parts[0] + parts[1], lambda g: g))
custom_rule(by_two)(lambda a, *, k: (a * k, lambda g: (g * k,)))


@refused(
    "the pullback of the rule for tests.refusals.refused_rules.total gave a cotangent of shape () for "
    "argument 0 of length 2; a cotangent has the shape of its argument",
    "grad",
    "vjp",
)
def a_number_for_a_list(x):
    return total([x[0], x[1]]) * 2.0  # here


FORGOTTEN = (
    "the pullback of the rule for tests.refusals.refused_rules.by_two gave no cotangent for a differentiated "
    "keyword argument; give one per argument, those of keyword arguments last, or pass the argument by "
    "position"
)


@refused(FORGOTTEN, "grad", "vjp", "checkpoint")
def a_forgotten_keyword(x):
    return by_two(2.0, k=x[0]) * 1.0  # here


@refused(FORGOTTEN, "grad", "vjp", "checkpoint")
def an_argument_by_position_and_keyword(x):
    return by_two(x, k=x).sum()  # here


class Matrix:
    pass


BUFFER = np.zeros(2)
sine_into_buffer = functools.partial(np.sin, out=BUFFER)
custom_rule(sine_into_buffer, Matrix)(lambda a: (a, lambda g: g))


@refused(
    "numpy.sin (in place) writes into an array (out=) what depends on what is differentiated, which is not "
    "supported yet; use its result instead",
    "jvp",
)
def an_array_that_a_ruled_partial_writes(x):
    return sine_into_buffer(x).sum()  # here


@refused(
    "a `with` statement with more than `insert_grad_of` is no block of one cotangent; write one `with` "
    "within the other, or give `insert_grad_of` a function, insert_grad_of(x, hook)",
    "grad",
)
def a_block_of_two(x):
    y, z = x * 1.0, x * 2.0
    with insert_grad_of(y) as dy, insert_grad_of(z):  # here
        dy = dy * 2.0  # noqa: F841
    return (y * z).sum()


WITHOUT_SOURCE: dict[str, Any] = {"insert_grad_of": insert_grad_of}
exec(
    "def a_block_without_source(x):\n"
    "    y = x * 1.0\n"
    "    with insert_grad_of(y) as dy:\n"
    "        dy = dy * 2.0\n"
    "    return y.sum()\n",
    WITHOUT_SOURCE,
)
refused(
    "there is no source of this block; give `insert_grad_of` a function, insert_grad_of(x, hook)", "grad",
    where="<string>:3 in ",
)(WITHOUT_SOURCE["a_block_without_source"])  # fmt: skip
