"""What is wrong is said where it stands: of a context or rule where it is declared, of a call at the call."""

import math
import operator
import warnings

import pytest

from ctxdispatch import Context, grad, overdub, recurse


class Plain(Context):
    pass


def f(x):
    return math.sin(x)


@pytest.mark.parametrize("intercepts, message", [
    (("calls",), "'calls': no kind of operation.* call, operator"),
    ("call", r'Wrong.intercepts is a tuple: intercepts = \("call"\,\)'),
    ((operator.mul, 3), "3: no kind"),
])  # fmt: skip
def test_what_is_intercepted(intercepts, message):
    with pytest.raises(TypeError, match=message):
        type("Wrong", (Context,), {"intercepts": intercepts})


@pytest.mark.parametrize("name, meant", [
    ("prehok", "prehook"), ("pre_hook", "prehook"), ("postHook", "posthook"), ("fall_back", "fallback"),
])  # fmt: skip
def test_what_looks_like_a_hook(name, meant):
    with pytest.warns(RuntimeWarning, match=f"{name} is no hook; is it to be `{meant}`") as found:
        type("Misspelt", (Context,), {name: lambda self, *args: None})
    assert found[0].filename == __file__
    with pytest.warns(RuntimeWarning) as found:

        class Misspelt(Context):
            def pre_hook(self, f, args, kwargs):
                pass

    assert found[0].filename == __file__


def test_other_methods_are_nobodys_business():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        type("Own", (Context,), {"hook": f, "transformed_name": f, "prehook": lambda self, f, a, k: None})


def test_rules_that_could_never_apply():
    for callee in (3, "math.sin", None):
        with pytest.raises(TypeError, match="Plain.rule is for a function, not for"):
            Plain.rule(callee)(f)
    with pytest.raises(TypeError, match="is no class. After the function come the types"):
        Plain.rule(math.sin, f)(f)
    with pytest.raises(TypeError, match="the rule is a function"):
        Plain.rule(math.sin)(5)


@pytest.mark.parametrize("call, message", [
    (lambda: overdub(Plain, f, 1.0), r"overdub\(Plain\(..\), f, ..\)"),
    (lambda: overdub(f, 1.0), "the first argument is the context, .*; f is none"),
    (lambda: overdub("nan", f, 1.0), "'nan' is none"),
    (lambda: overdub(grad, f, 1.0), "grad is none"),
    (lambda: overdub((Plain(), Plain()), f, 1.0), "one context at a time"),
    (lambda: overdub(Plain(), Plain(), f, 1.0), r"overdub\(outer, overdub, Plain\(..\), f, ..\)"),
    (lambda: recurse(f, 1.0), "f is none"),
])  # fmt: skip
def test_first_arguments(call, message):
    with pytest.raises(TypeError, match=message):
        call()
