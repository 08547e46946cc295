"""Mistakes in classes of contexts, in rules and calls: refused where they are made, with what to write."""

import math
from dataclasses import FrozenInstanceError

import pytest

from ctxdispatch import Context, overdub, recurse
from ctxdispatch.contexts import DebugContext, MockContext, NaNContext


class Plain(Context):
    pass


def body(**names):
    return type(Context)("Mine", (Context,), {"__module__": __name__, **names})


def root(x):
    return math.sqrt(x)


def prehook(self, f, args):
    pass


def splatted(self, f, *args, **kwargs):
    pass


@pytest.mark.parametrize(
    "names, message",
    [
        ({"intercepts": ("calls",)}, "Mine.intercepts: no kind 'calls'; did you mean 'call'"),
        ({"intercepts": "call"}, r'Mine.intercepts is a tuple of kinds, \("call",\)'),
        ({"prehok": splatted}, "Mine.prehok .*test_mistakes.py:.* did you mean 'prehook'"),
        ({"pre_hook": splatted}, "did you mean 'prehook'"),
        ({"prehook": prehook}, r"Mine.prehook \(.*:\d+\) must be prehook\(self, f, args, kwargs\)"),
        ({"prehook": splatted}, r"must be prehook\(self, f, args, kwargs\), not .*\*args, \*\*kwargs"),
        ({"from_options": root}, "Mine.from_options .* write @classmethod above it"),
    ],
)
def test_classes(names, message):
    with pytest.raises((TypeError, ValueError), match=message):
        body(**names)


def test_hooks_that_can_be_called_are_fine():
    body(prehook=lambda self, *a: None, posthook=lambda self, out, *a, **k: None, hook=root)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Plain.rule(3), "takes the function that the rule is for, not 3"),
        (lambda: Plain.rule("math.sin"), "not 'math.sin'"),
        (lambda: Plain.rule(math.sin, root), r"is no type of an argument: write @Plain.rule"),
        (lambda: Plain.rule(math.sin)(5), r"a rule of Plain is a function of \(ctx, \*arguments\), not 5"),
        (lambda: Plain.rule(math.sin, float)(lambda x: x), r"rule of Plain for sin .*\(ctx, float, ...\)"),
        (lambda: MockContext({math.sqrt: 1}), r"write MockContext.of\("),
        (lambda: NaNContext(allow={"math.sqrt"}), "allow is a set of functions"),
        (lambda: NaNContext(allow=math.sqrt), "allow is a set of functions"),
        (lambda: NaNContext(ignore="*/x"), "ignore is a tuple of patterns"),
        (lambda: DebugContext(["c"]), r"write DebugContext.of\(\['c'\]\)"),
        (lambda: overdub(Plain, root, 1.0), r"takes an instance: Plain\(...\), not"),
        (lambda: overdub(root, 1.0), "takes a context first, not <function root"),
        (lambda: overdub("nan", root), r"ctxdispatch.contexts.find\('nan'\)"),
        (lambda: overdub((Plain(), Plain()), root), r"overdub\(outer, overdub, inner, f"),
        (lambda: overdub(Plain(), Plain(), root, 1.0), r"overdub\(outer, overdub, inner, f"),
        (lambda: recurse(root, 1.0), "recurse.* takes a context first"),
        (lambda: overdub(body(transform=lambda self, graph: None)(), root, 1.0), "transform returned None"),
    ],
)
def test_rules_fields_and_calls(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_a_rule_without_parentheses():
    def _(ctx, x):
        return x

    with pytest.raises(TypeError, match=r"write @Plain.rule\(function\) above it"):
        Plain.rule(_)


def test_state_in_the_instance():
    class Counts(Context):
        n: int = 0
        intercepts = ("call",)

        def prehook(self, f, args, kwargs):
            self.n += 1

    with pytest.raises(FrozenInstanceError, match=r"an instance of Counts never changes.*default_factory"):
        overdub(Counts(), root, 1.0)


def test_a_rule_that_calls_itself():
    class Mine(Context):
        pass

    Mine.rule(root)(lambda ctx, x: overdub(ctx, root, x))
    with pytest.raises(RecursionError) as caught:
        overdub(Mine(), root, 1.0)
    assert "recurse" in caught.value.__notes__[0] and len(caught.value.__notes__) == 1


def test_names_of_contexts():
    from ctxdispatch import contexts

    assert not hasattr(contexts, "Foo")
    with pytest.raises(ImportError, match="did you mean 'NaNContext'"):
        from ctxdispatch.contexts import NanContext  # noqa: F401
