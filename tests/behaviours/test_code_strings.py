"""Code in strings, with a dict of variables of its own: it is followed as that of a module."""

import numpy as np
import pytest

from ctxdispatch import grad, jacfwd
from ctxdispatch_contexts.programs.errors import MissingRuleError
from tests.behaviours.mutation_checks import central

X = np.array([2.0, 3.0, 5.0])


def an_expression(x):
    return eval("  p * 2.0", {"p": x[0]}) * x[1]


def a_store(x):
    q = x * 1.0
    exec("q[0] = p", {"p": x[1] * 2.0, "q": q})
    return q[0] * x[0]


def a_module(x):
    space = {"x": x}
    exec("def h(a):\n    return a * x[0]\ny = h(x[1])\nfor i in range(2):\n    y = y * h(i + 1.0)", space)
    return space["y"]


def a_class(x):
    space = {"x": x}
    exec("class C:\n    w = x[1]\n    def m(self): return self.w * x[0]\ny = C().m()", space)
    return space["y"] + space["C"].w


def an_error(x):
    space = {"x": x}
    try:
        exec("y = x[0] * 2.0\nraise ValueError(y)", space)
    except ValueError as error:
        return error.args[0] * space["y"]


def compiled_before(x):
    return eval(compile("sum(x) * x[0]", "<code>", "eval"), {"x": x, "sum": sum})


def by_what_a_function_holds(x):
    return eval("f(2.0)", {"f": lambda k: k * x[0]}) * x[1]


def a_comprehension(x):
    return sum(eval("[v * v for v in x if v > 2.5]", {"x": x}))


def what_it_sees(x):
    space = {"x": x}
    exec("import math\nnames = sorted(n for n in globals() if n[:2] != '__')\ny = math.sin(x[0])", space)
    return space["y"] * len(space["names"]) * ("__builtins__" in space)


PROGRAMS = [
    an_expression, a_store, a_module, a_class, an_error, compiled_before, by_what_a_function_holds,
    a_comprehension, what_it_sees,
]  # fmt: skip


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_it_is_followed(f, mode):
    np.testing.assert_allclose(mode(f)(X.copy()), central(f, X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", [grad, jacfwd])
def test_variables_of_the_caller_are_refused(mode):
    with pytest.raises(MissingRuleError, match="local variables"):
        mode(lambda x: eval("v * 2.0", None, {"v": x[0]}))(X)
