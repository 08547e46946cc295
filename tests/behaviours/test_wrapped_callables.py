"""What is around a callable runs as well, and what it stands for: in every mode, with the same result as the
product of both, or it is refused."""

import itertools
import operator
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ctxdispatch import Context, broadcast, grad, hessian, jacfwd, jacobian_sparsity, overdub, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from tests.behaviours.wrapped_callables import AROUND, CALLABLES, FACTOR, MOCKS, square

ROOT = Path(__file__).parent.parent.parent
AT = 0.7
XS = np.array([0.7, 1.3])


class Multiplications(Context):
    seen: list


@Multiplications.rule(operator.mul)
def _(ctx, a, b):
    ctx.seen.append((a, b))
    return a * b


def multiplied(f):
    ctx = Multiplications([])
    return overdub(ctx, f, AT), ctx.seen


MODES = {
    "overdub": lambda f: multiplied(f)[0],
    "value": lambda f: value_and_grad(f)(AT)[0],
    "grad": lambda f: grad(f)(AT),
    "jacfwd": lambda f: jacfwd(f)(AT),
    "hessian": lambda f: hessian(f)(AT),
    "grad of grad": lambda f: grad(grad(f))(AT),
    "broadcast": lambda f: broadcast(f, XS),
}
WAYS = {"called": lambda f: eval("lambda x: f(x)", {"f": f}), "itself": lambda f: f}
DRAWN = random.Random(3).sample([*itertools.product(CALLABLES, AROUND, MODES, WAYS)], 60)
OF_ONE = [*itertools.product(["square"], AROUND, ["overdub", "grad", "jacfwd", "broadcast"], WAYS)]


def outcome(mode, f):
    try:
        return MODES[mode](f)
    except Refused as refusal:
        return refusal


@pytest.mark.every(8)
@pytest.mark.parametrize("name, around, mode, way", [*OF_ONE, *DRAWN])
def test_wrapper_and_wrapped_both_count(name, around, mode, way):
    f = CALLABLES[name]
    wanted, found = outcome(mode, f), outcome(mode, WAYS[way](AROUND[around](f)))
    if not isinstance(found, Refused):
        assert not isinstance(wanted, Refused)
        np.testing.assert_allclose(found, FACTOR * np.asarray(wanted), rtol=1e-12)
    else:
        unknown = around in UNKNOWN_TO_KERNELS or way == "itself"
        assert isinstance(wanted, Refused) or (mode == "broadcast" and unknown), found


UNKNOWN_TO_KERNELS = ("wrapt asked", "wrapt derived", "wrapt method")
"""What these call is decided while they are called; and what an object holds is an operand of its kernel."""


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", ["square", "method", "object", "partial", "closure"])
def test_a_rule_is_asked_of_the_multiplications_of_both(name, around):
    f = CALLABLES[name]
    plain, seen = multiplied(f)
    found, all_seen = multiplied(lambda x: AROUND[around](f)(x))
    assert found == pytest.approx(FACTOR * plain)
    assert [each for each in all_seen if each in seen] == seen
    assert len(all_seen) == len(seen) + (2 if around == "wrapt twice" else 1)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", ["looping", "ufunc", "square", "builtin"])
def test_patterns_see_through_both(name, around):
    f = CALLABLES[name]
    assert jacobian_sparsity(lambda v: np.array([AROUND[around](f)(x) for x in v]), XS).nnz == 2


def test_wrappers_in_python_are_followed_as_those_in_c_are():
    environment = {**os.environ, "WRAPT_DISABLE_EXTENSIONS": "1"}
    run = [sys.executable, "-c", IN_PYTHON]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


IN_PYTHON = """
import numpy as np, wrapt
from ctxdispatch import broadcast, grad, hessian, jacfwd
from tests.behaviours.wrapped_callables import AROUND, CALLABLES
assert wrapt.FunctionWrapper.__call__.__code__
for name in ("square", "method", "builtin"):
    f = AROUND["wrapt"](CALLABLES[name])
    for g in (f, lambda x: f(x)):
        for mode in (grad, jacfwd):
            assert np.isclose(mode(g)(0.7), 3.0 * grad(CALLABLES[name])(0.7)), (name, mode)
        assert np.allclose(broadcast(g, np.array([0.7])), f(0.7)), name
"""


@pytest.mark.parametrize("mode", ["grad", "jacfwd", "broadcast"])
@pytest.mark.parametrize("mock", MOCKS)
def test_what_a_mock_does_instead_is_differentiated(mock, mode):
    stand_in = MOCKS[mock](square)
    found = outcome(mode, lambda x: stand_in(x))
    assert isinstance(found, Refused) or np.allclose(found, MODES[mode](square))
    assert stand_in.call_count or isinstance(found, Refused)
