"""Whatever is looked for in what depends on what is differentiated: found as in the plain run, or raised."""

import numpy as np
import pytest

from ctxdispatch import jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import DerivativeError
from tests.recording import recorded

X = np.array([0.7, -0.4, 1.3])
CONTAINERS = [
    "x", "[x]", "[x[0], 2.0]", "(x[0],)", "{'a': x}", "{x[0]: 1.0}", "{x[0]}", "x[:0]", "[{'a': x}]",
    "iter([x[0]])",
]  # fmt: skip
KEYS = ["x", "x[0]", "{'a': x}", "[x]", "'a'", "0.7", "(x[0],)", "None", "np.array(0.7)"]
WAYS = ["{key} in {container}", "{container}.__contains__({key})", "operator.contains({container}, {key})"]


def program(way, container, key):
    given = {"np": np}
    found = way.format(key=key, container=container)
    exec(f"import operator\ndef f(x):\n    return np.sum(x * x) * (2.0 if {found} else 3.0)", given)
    return given["f"]


def outcome(run):
    try:
        return run()
    except DerivativeError:
        return "refused"
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("how", [lambda f: f, recorded], ids=["as it is", "recorded"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("key", KEYS)
def test_what_is_found(key, container, way, how):
    f = program(way, container, key)
    expected = outcome(lambda: f(X.copy()))
    for run in (lambda: value_and_grad(how(f))(X.copy()), lambda: jvp(how(f), (X.copy(),), (X.copy(),))):
        found = outcome(run)
        if type(expected) is type or type(found) in (type, str):
            assert found == expected or found == "refused"
        else:
            factor = expected / np.sum(X * X)
            assert found[0] == expected
            np.testing.assert_allclose(found[1], factor * 2 * (X if np.ndim(found[1]) else X @ X))
