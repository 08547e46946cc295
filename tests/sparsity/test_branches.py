"""Branches and loops on values: both arms, a fixpoint, or a refusal."""

import numpy as np
import pytest
from sparsity_checks import rows

from ctxdispatch import jacobian_sparsity
from ctxdispatch_contexts.sparsity import SparsityError

X = np.array([0.3, -1.2, 0.7])


def either(x):
    if x[0] > 0:
        y = x[1]
    else:
        y = np.sin(x[2])
    return y


def early(x):
    if x[0] > 0:
        return x[1:2]
    return x[2:] * 1.0


def in_one_arm(x):
    y = np.zeros(2)
    box = {"k": 0.0}
    if x[0] > 0:
        y[0] = x[1]
        box["k"] = x[2]
    y[1] = box["k"]
    return y


def rolling(x):
    y = x.copy()
    while y[0] < 1.0:
        y = np.append(y[1:], y[0] + 1.0)
    return y


def newton(x):
    y = 1.0
    for _ in range(20):
        step = (y * y - x[0]) / (2.0 * y)
        y = y - step
        if abs(step) < 1e-9:
            break
    return y + x[1]


def unless_it_raises(x):
    if x[0] > 5.0:
        raise ValueError(f"too large: {x[0]}")
    assert x[1] < 3.0
    return x[2]


def recursive(x, k=3):
    if x[0] > 1.0 or k == 0:
        return x[1]
    return recursive(x + x[2], k - 1)


def counting(x):
    k = 0
    while k < 2 and x[k] < 1.0:
        k += 1
    return x[k]


def unknown_index(x):
    return x[1:][int(np.argmax(x[1:]))]


def clamped(x):
    y = x * 1.0
    y[y < 0] = 0.0
    y[y > 1] = x[0]
    return y


def chained(x):
    return x[1] if x[0] > 0 else x[2] if x[0] < -1 else 0.0


def term(x):
    forcing = x[:2] if x[2] > 0 else 0.0
    return x[:2][::-1] + forcing


CASES = [
    (either, ".xx"), (early, ".xx"), (in_one_arm, ".x.", "..x"), (rolling, "xxx", "xxx", "xxx"),
    (newton, "xx."), (unless_it_raises, "..x"), (recursive, ".xx"), (counting, "xxx"), (unknown_index, ".xx"),
    (clamped, "x..", "xx.", "x.x"), (chained, ".xx"), (term, "xx.", "xx."),
]  # fmt: skip


@pytest.mark.parametrize("f, lines", [(case[0], case[1:]) for case in CASES])
@pytest.mark.parametrize("x", [X, -X, 3.0 * X[::-1].copy()], ids="abc")
def test_pattern_is_for_all_arguments(f, lines, x):
    if f is unless_it_raises and x[0] > 1:
        x = X
    assert jacobian_sparsity(f, x) == rows(*lines)


def test_local_takes_the_branch_at_hand():
    assert jacobian_sparsity(either, X, mode="local") == rows(".x.")
    assert jacobian_sparsity(either, -X, mode="local") == rows("..x")
    assert jacobian_sparsity(lambda x: x[x > 0], X, mode="local") == rows("x..", "..x")


def test_other_float_arguments_are_unknown_too():
    def f(t, y):
        return y[:1] if t > 1.0 else y[1:2]

    assert jacobian_sparsity(f, 0.0, X, argnums=1) == rows("xx.")
    assert jacobian_sparsity(f, 0.0, X, argnums=1, mode="local") == rows(".x.")
    assert jacobian_sparsity(f, 0, X, argnums=1) == rows(".x.")


def test_a_loop_that_rotates_takes_as_many_passes_as_it_needs():
    def f(x):
        y = x
        while y.sum() > 1.0:
            y = np.roll(y, 1) * 0.5
        return y

    assert jacobian_sparsity(f, np.ones(150)).nnz == 150 * 150


def test_the_samples_of_an_arm_not_taken_may_be_out_of_its_domain():
    import math

    assert jacobian_sparsity(lambda x: math.sqrt(x) if x > 0 else 0.0, -1.0) == rows("x")
    assert jacobian_sparsity(lambda x: 1.0 / x if x != 0 else 0.0, 0.0) == rows("x")


def refused(f, match, **kwargs):
    with pytest.raises(SparsityError, match=match) as info:
        jacobian_sparsity(f, X, **kwargs)
    return str(info.value)


def test_shapes_that_depend_on_values_are_refused_at_the_line():
    line = lambda x: x[x > 0]  # noqa: E731
    message = refused(line, "shape of this selection depends on the inputs' values.*np.where")
    assert f"test_branches.py:{line.__code__.co_firstlineno}" in message
    refused(lambda x: np.unique(x), "shape of what .*unique returns")
    refused(lambda x: np.zeros(int(x[0])), "shape of what .*zeros returns")
    refused(lambda x: sum(x[0] for _ in range(int(x[1]))), "shape of what range returns")
    refused(lambda x: x[: int(x[0])], "shape of this selection")


def test_what_cannot_be_joined_is_refused_when_it_is_used():
    def lengths(x):
        out = []
        if x[0] > 0:
            out.append(x[1])
        return np.array(out)

    def kinds(x):
        how = "sin" if x[0] > 0 else "cos"
        return getattr(np, how)(x)

    def aliases(x):
        a, b = np.zeros(3), np.ones(3)
        c = a if x[0] > 0 else b
        c[0] = x[1]
        return a

    refused(lengths, "one number of items or another")
    refused(kinds, "one thing or another")
    refused(aliases, "changes in place what may be one of two objects")


def test_bad_input():
    refused(lambda x: "text", "returns a str: outputs must be numbers")
    refused(lambda x: None, "returns None")
    refused(lambda x: x + 1j, "complex")
    with pytest.raises(SparsityError, match="argument 0 is an array of int64.*make it float"):
        jacobian_sparsity(either, np.arange(3))
    with pytest.raises(SparsityError, match="argument 0 is an int"):
        jacobian_sparsity(either, 3)
    with pytest.raises(ValueError, match="argnums 2 is out of range"):
        jacobian_sparsity(either, X, argnums=2)
    with pytest.raises(ValueError, match="mode"):
        jacobian_sparsity(either, X, mode="globe")
    with pytest.raises(SparsityError, match="first argument must be a function"):
        jacobian_sparsity(X, either)


def test_the_user_s_own_errors_come_through():
    with pytest.raises(IndexError):
        jacobian_sparsity(lambda x: x[7], X)
    with pytest.raises(ValueError, match="shapes|broadcast"):
        jacobian_sparsity(lambda x: x + x[:2], X)
    with pytest.raises(KeyError):
        jacobian_sparsity(lambda x: {}["k"] * x, X)


def test_recursion_without_a_bound_is_dense_and_says_so():
    from ctxdispatch_contexts.sparsity import OpaqueCallWarning

    def fib(u):
        return u if u < 2.0 else fib(u - 1.0) + fib(u - 2.0)

    with pytest.warns(OpaqueCallWarning, match="fib is not looked into .it calls itself under branches"):
        assert jacobian_sparsity(lambda x: fib(x[0]) + x[2], X) == rows("x.x")


def test_a_long_loop_that_may_be_left():
    def f(x):
        total = 0.0
        for v in x:
            if v > 2.0:
                break
            total += v
        return total

    assert jacobian_sparsity(f, np.ones(1000)).nnz == 1000


def test_code_that_is_not_followed_may_read_what_was_stored():
    buffer = np.zeros(2)
    scope = {"buffer": buffer}
    exec("def read():\n    try:\n        return buffer[0] * 2.0\n    finally:\n        pass", scope)
    read = scope["read"]

    def f(x):
        buffer[0] = x[1]
        return read() + x[0]

    with pytest.warns(UserWarning, match="read is not looked into"):
        assert jacobian_sparsity(f, X) == rows("xx.")


def test_a_class_made_of_tracked_values_is_refused():
    def f(x):
        class Holder:
            w = x

        return Holder.w * 2.0

    with pytest.warns(UserWarning, match="__build_class__ is not looked into"):
        refused(f, "takes an object that holds values")


def test_generators_that_see_nothing_tracked_run_as_they_are():
    def pairs(n):
        for i in range(n - 1):
            yield i, i + 1

    assert jacobian_sparsity(lambda x: np.array([x[i] * x[j] for i, j in pairs(3)]), X) == rows("xx.", ".xx")


def test_complex_intermediates():
    def f(x):
        z = x[:2] + 1j * x[1:]
        z.real[0] = 0.0
        return np.append(z.imag, abs(z))

    assert rows(".x.", "..x", ".x.", ".xx").issubset(jacobian_sparsity(f, X))


def test_code_that_is_not_followed_may_store():
    from ctxdispatch_contexts.sparsity import OpaqueCallWarning

    buffer = np.zeros(2)
    scope = {"buffer": buffer, "np": np}
    lines = ["def fill(u):", "    try:", "        buffer[:] = u; return buffer"]
    lines += ["    finally:", "        pass"]
    exec("\n".join(lines), scope)

    def through_a_global(x):
        scope["fill"](x[1:])
        return buffer[0] + x[0]

    def through_its_result(x):
        out = scope["fill"](x[1:])
        buffer[0] = x[0]
        return out

    def through_a_view(x):
        y = x.copy()
        y.view()[0] = x[1]
        return y

    for f, lines in [
        (through_a_global, ["xxx"]),
        (through_its_result, ["x..", ".xx"]),
        (through_a_view, [".x.", "xxx", "xxx"]),
    ]:
        with pytest.warns(OpaqueCallWarning):
            assert jacobian_sparsity(f, X) == rows(*lines)
    assert not buffer.any()


def test_code_that_is_not_followed_takes_no_objects():
    class Holder:
        def __init__(self, w):
            self.w = w

        def doubled(self):
            try:
                return self.w * 2.0
            finally:
                pass

    with pytest.warns(UserWarning, match="doubled is not looked into"):
        refused(lambda x: Holder(x).doubled(), "takes an object that holds values")


@pytest.mark.parametrize("x", [X, -X], ids="ab")
def test_a_maximum_may_be_an_integer_here_and_a_float_elsewhere(x):
    assert jacobian_sparsity(lambda x: max(x[0], 0) * 2, x) == rows("x..")
    assert jacobian_sparsity(lambda x: min(0, x[0], x[1]), x) == rows("xx.")
