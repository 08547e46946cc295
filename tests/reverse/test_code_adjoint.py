"""`code_adjoint(f)(*args)`: the derivative as Python, with the user's lines as comments; and `ir`."""

import inspect
import linecache
import math
import re
import textwrap
import threading

import numpy as np
import pytest

from ctxdispatch import code_adjoint, grad, ir
from ctxdispatch_contexts.programs.errors import DerivativeError

COMMENT = re.compile(r"# test_code_adjoint\.py:(\d+): (.*)$", flags=re.M)


def square(x):
    return x * x


def branch(x):
    if x > 0:
        y = math.exp(x)
    else:
        y = x * x
    return y * 3.0


def horner(x, coefficients):
    total = 0.0
    for c in coefficients:
        total = total * x + c
    return total


def helper(a, b):
    return a * b + b


def inlined(x):
    return helper(x, helper(x, 2.0))


def layer(w, x):
    h = np.tanh(w @ x)
    return np.sum(h * h)


def triangle(x):
    r = 0.0
    for i in range(3):
        for j in range(i):
            r = r + x * j
    return r


def power(x, n):
    r = 1.0
    while n > 0:
        r = r * x
        n = n - 1
    return r


def first_above(x, values):
    for v in values:
        if v > x:
            return v * x
    return x


def squares(values):
    return sum([v * v for v in values])


def pair(t):
    a, b = t
    return a * b


def shifted(x):
    return np.sum(x[1:] * x[:-1])


TEXTS = {
    square: """
        def square(x):
            # return x * x
            return 2.0 * x
        """,
    branch: """
        def branch(x):
            # if x > 0:
            if x > 0:
                came = False
                # y = math.exp(x)
                t = math.exp(x)
            else:
                came = True
                t = None
            # return y * 3.0
            if came:
                # y = x * x
                dx = 6.0 * x
            else:
                # y = math.exp(x)
                dx = 3.0 * t
            return dx
        """,
    horner: """
        def horner(x, coefficients):
            totals = []
            total = 0.0
            # for c in coefficients:
            for c in coefficients:
                totals.append(total)
                # total = total * x + c
                total = total * x + c
            dtotal = 1.0
            dx = 0.0
            for total in reversed(totals):
                dtotal, dx = dtotal * x, dx + dtotal * total
            return dx
        """,
    inlined: """
        def inlined(x):
            # return a * b + b
            return x * 2.0 + 2.0 + (1.0 + x) * 2.0
        """,
    layer: """
        def layer(w, x):
            # h = np.tanh(w @ x)
            h = np.tanh(w @ x)
            return (2.0 * h * (1.0 - h * h))[:, None] * x
        """,
}

ARGUMENTS = {
    square: (3.0,),
    branch: (1.5,),
    horner: (2.0, [1.0, 2.0, 3.0]),
    inlined: (2.0,),
    layer: (np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([1.0, 2.0])),
    triangle: (2.0,),
    power: (2.0, 3),
    first_above: (2.0, [1.0, 3.0]),
    squares: ([1.0, 2.0],),
    pair: ((2.0, 3.0),),
}

named = pytest.mark.parametrize("f", ARGUMENTS, ids=lambda f: f.__name__)


def shown(f, **options):
    return str(code_adjoint(f, **options)(*ARGUMENTS[f]))


@pytest.mark.parametrize("f", TEXTS, ids=lambda f: f.__name__)
def test_the_text(f):
    assert COMMENT.sub(r"# \2", shown(f)) == textwrap.dedent(TEXTS[f]).lstrip("\n")


@named
def test_the_text_is_the_same_each_time(f):
    assert shown(f) == shown(f)


@named
def test_the_text_is_a_program_that_computes_the_gradient(f):
    namespace = dict(f.__globals__)
    exec(compile(shown(f), f.__name__, "exec"), namespace)
    found, expected = namespace[f.__name__](*ARGUMENTS[f]), grad(f)(*ARGUMENTS[f])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@named
def test_comments_are_the_users_lines(f):
    comments = COMMENT.findall(shown(f))
    lines, _ = inspect.getsourcelines(f)
    assert comments
    for number, text in comments:
        assert linecache.getline(__file__, int(number)).strip() == text
    assert {text for _, text in comments} <= {
        line.strip() for line in [*lines, *inspect.getsourcelines(helper)[0]]
    }


def test_argnums_choose_what_is_computed():
    assert "@ w" in shown(layer, argnums=(0, 1)) and "@ w" not in shown(layer)
    assert shown(layer, argnums=1).endswith("@ w\n")


def test_a_list_of_what_a_loop_keeps_is_there_only_where_it_is_read():
    assert "append" in shown(horner)
    assert "append" not in str(code_adjoint(lambda x, n: sum_of(x, n))(2.0, 3))


def sum_of(x, n):
    total = 0.0
    for _ in range(n):
        total = total + x
    return total


def test_constants_that_have_no_name_are_explained_at_the_top():
    text = str(code_adjoint(shifted)(np.array([1.0, 2.0, 4.0])))
    assert "\n# _c0: dtype('float64')\ndef shifted(x):" in text
    assert "x[1:]" in text and "x[:-1]" in text


def test_several_returns_are_one_result_of_one_type():
    text = str(code_adjoint(sign_of)(2.0))
    assert "scalar_seed" not in text and "or_zero" not in text


def sign_of(x):
    if x < 0:
        return -x
    if x > 10:
        return 10.0
    return x


def test_no_value_is_boxed_and_no_closure_made():
    for f in (square, branch, horner, inlined, layer, triangle, power):
        text = shown(f)
        assert "lambda" not in text and text.count("def ") == 1 and "import" not in text


def test_what_grad_refuses_code_adjoint_refuses():
    with pytest.raises(TypeError, match="argument 'x' .* is of type int"):
        code_adjoint(square)(3)


# The IR that it starts from


def test_ir_prints_blocks_with_arguments():
    tested_at_both_ends = """
        power(%x, %n):
          b0(): %0 = gt(%n, 0); %1 = bool(%0); branch %1 b1(%n, 1.0) b2(1.0)
          b1(%n2, %r):
            %r2 = mul(%r, %x)
            %n3 = sub(%n2, 1)
            %2 = gt(%n3, 0)
            %3 = bool(%2)
            branch %3 b1(%n3, %r2) b2(%r2)
          b2(%r3): return %r3
        """
    tested_once = """
        power(%x, %n):
          b0(): jump b1(%n, 1.0)
          b1(%n2, %r): %0 = gt(%n2, 0); %1 = bool(%0); branch %1 b2() b3()
          b2(): %r2 = mul(%r, %x); %n3 = sub(%n2, 1); jump b1(%n3, %r2)
          b3(): return %r
        """
    compilers = [textwrap.dedent(text).strip("\n") for text in (tested_at_both_ends, tested_once)]
    assert str(ir(power)()) in compilers


def test_ir_types_follow_the_arguments_and_have_no_addresses():
    text = str(ir(layer)(*ARGUMENTS[layer]))
    assert "%w: float64[n,n]" in text and "%h: float64[n] =" in text
    assert "Known(np.tanh)" in text and "0x" not in text
    assert "float32" in str(ir(square)(np.float32(1.0)))


def test_arguments_that_have_defaults_may_be_left_out():
    def scaled(x, factor=3.0):
        return x * factor

    assert "return 3.0" in str(code_adjoint(scaled)(2.0))
    assert "return factor" in str(code_adjoint(scaled)(2.0, 4.0))


def test_a_constant_cotangent_needs_no_function_of_the_engine():
    for f in (lambda x: x * 2, lambda x: 2 * x, lambda x: x / 2, lambda x: x - 3):
        assert "import" not in str(code_adjoint(f)(3.0)) and grad(f)(3.0) == f(1.0) - f(0.0)


LOCK = threading.Lock()


def test_what_is_recorded_as_it_runs_has_no_program_to_show():
    def locked(x):
        with LOCK:  # line 1 of it
            return 1 / x

    assert grad(locked)(2.0) == -0.25
    with pytest.raises(DerivativeError, match="from outside .* has no program; do it before") as caught:
        code_adjoint(locked)(2.0)
    assert f":{locked.__code__.co_firstlineno + 1} in " in caught.value.position
    with pytest.raises(DerivativeError, match="argnums 1 is out of range"):
        code_adjoint(square, argnums=1)(2.0)


def test_what_calls_something_that_is_recorded_is_not_shown():
    def inner(x):
        yield x * x

    with pytest.raises(DerivativeError, match="generator function cannot be transformed"):
        code_adjoint(lambda x: next(inner(x)) * 2.0)(2.0)


def test_of_a_function_with_handlers_the_attempt_is_shown():
    def attempt(x):
        try:
            return 1 / x
        except ZeroDivisionError:
            return 0.0

    assert "ZeroDivisionError" not in re.sub("#.*", "", str(code_adjoint(attempt)(2.0)))


TABLE = np.array([0.4, -0.3, 0.8])


@pytest.mark.parametrize("make", [list, tuple, set, dict.fromkeys])
def test_what_a_loop_reads_is_not_all_that_there_is(make):
    """A constant lies beside what is active, and in a dict that a loop stores to: neither is the other."""

    def f(x):
        total = 0.0
        for part in [x, TABLE]:
            total = total + np.sum(part * part)
        for entry in [{"a": TABLE}]:
            for key in make(["b", "c"]):
                entry[key] = TABLE
        return total

    assert code_adjoint(f)(TABLE + 1.0)
    np.testing.assert_allclose(grad(f)(TABLE + 1.0), 2.0 * (TABLE + 1.0))
