"""Rules: inheritance, types, ambiguity, taking back, versions."""

import operator

import numpy as np
import pytest

from ctxdispatch.dispatch import AmbiguousRule, Context, overdub, subscribe, version
from ctxdispatch.dispatch import cache as code_cache


def make():
    class Base(Context):
        pass

    class Sub(Base):
        pass

    return Base, Sub


def test_a_rule_is_inherited_and_overridden():
    Base, Sub = make()
    base = Base.rule(np.dot)(lambda ctx, a, b: "base")
    assert Base.find_rule(np.dot) is base and Sub.find_rule(np.dot) is base
    sub = Sub.rule(np.dot)(lambda ctx, a, b: "sub")
    assert Base.find_rule(np.dot) is base and Sub.find_rule(np.dot) is sub
    assert Sub.has_rules(np.dot) and not Sub.has_rules(np.sum)


def test_rules_on_types_then_the_default_then_the_base():
    Base, Sub = make()
    ints = Base.rule(operator.mul, int, int)(lambda ctx, a, b: "ints")
    anything = Base.rule(operator.mul)(lambda ctx, a, b: "any")
    floats = Sub.rule(operator.mul, float, object)(lambda ctx, a, b: "floats")
    assert Sub.find_rule(operator.mul, (float, int)) is floats
    assert Sub.find_rule(operator.mul, (int, int)) is ints
    assert Sub.find_rule(operator.mul, (bool, bool)) is ints
    assert Sub.find_rule(operator.mul, (str, int)) is anything
    assert Base.find_rule(operator.mul, (float, int)) is anything


def test_ambiguity_is_an_error_of_the_call_that_meets_it_and_names_both_rules():
    Base, _ = make()

    @Base.rule(np.dot, int, object)
    def left(ctx, a, b):
        pass

    @Base.rule(np.dot, object, int)
    def right(ctx, a, b):
        pass

    assert Base.find_rule(np.dot, (int, float)) is left
    with pytest.raises(AmbiguousRule) as info:
        Base.find_rule(np.dot, (int, int))
    assert "left" in str(info.value) and "right" in str(info.value) and "dot(int, int)" in str(info.value)
    both = Base.rule(np.dot, int, int)(lambda ctx, a, b: None)
    assert Base.find_rule(np.dot, (int, int)) is both


def test_taking_back_a_rule_hides_the_inherited_one_from_the_subclass_only():
    Base, Sub = make()
    rule = Base.rule(np.dot)(lambda ctx, a, b: None)
    Sub.unrule(np.dot)
    assert Sub.find_rule(np.dot) is None and Base.find_rule(np.dot) is rule
    Base.unrule(np.dot)
    assert Base.find_rule(np.dot) is None
    with pytest.raises(KeyError, match=r"dot"):
        Base.unrule(np.dot)


def test_taking_back_a_rule_leaves_those_of_other_bases():
    Base, Left = make()
    shared = Base.rule(np.dot)(lambda ctx, a, b: None)

    class Right(Base):
        pass

    class Both(Left, Right):
        pass

    Left.unrule(np.dot)
    assert Both.find_rule(np.dot) is None and Right.find_rule(np.dot) is shared
    own = Right.rule(np.dot)(lambda ctx, a, b: None)
    assert Both.find_rule(np.dot) is own and Left.find_rule(np.dot) is None


def test_methods_are_known_by_their_function():
    class Thing:
        def method(self):
            return 1

    Base, _ = make()
    method = Base.rule(Thing.method)(lambda ctx, self: 2)
    append = Base.rule(list.append)(lambda ctx, xs, x: None)
    total = Base.rule(np.ndarray.sum)(lambda ctx, x: None)
    assert Base.find_rule(Thing().method) is method
    assert Base.find_rule([].append) is append
    assert Base.find_rule(np.zeros(2).sum) is total


def test_versions_grow_in_the_class_and_its_subclasses_only():
    Base, Sub = make()
    before = Base._version, Sub._version
    Sub.rule(np.dot)(lambda ctx, a, b: None)
    assert Base._version == before[0] and Sub._version > before[1]
    before = Base._version, Sub._version
    whole = version()
    Base.prehook = lambda self, f, args, kwargs: None
    assert Base._version > before[0] and Sub._version > before[1] and version() > whole
    before = Base._version
    del Base.prehook
    assert Base._version > before


def test_subscribers_hear_of_changes_while_they_live():
    Base, _ = make()
    heard = []

    def callback(cls, callee):
        heard.append((cls, callee))

    subscribe(callback)
    Base.rule(np.dot)(lambda ctx, a, b: None)
    assert heard == [(Base, np.dot)]
    del callback
    Base.unrule(np.dot)
    assert len(heard) == 1


def test_rules_that_call_overdub_again():
    class Twice(Context):
        depth: int = 0

    def work(x):
        return x + 1

    @Twice.rule(work)
    def _(ctx, x):
        return x if ctx.depth == 2 else overdub(ctx.replace(depth=ctx.depth + 1), work, x * 10)

    assert overdub(Twice(), work, 1) == 100


def test_a_class_that_dies_takes_its_code_along():
    import gc

    def f(x):
        return abs(x)

    def run():
        class Local(Context):
            pass

        Local.rule(abs)(lambda ctx, x: "ruled")
        return overdub(Local(), f, -1)

    gc.collect()
    before = code_cache.stats().entries
    assert run() == "ruled"
    gc.collect()
    assert code_cache.stats().entries == before


def test_a_callee_need_not_be_hashable_nor_comparable():
    class Caller:
        __hash__ = None

        def __call__(self, x):
            return x

        def __eq__(self, other):
            raise AssertionError

    Base, _ = make()
    caller = Caller()
    Base.rule(caller)(lambda ctx, x: ("ruled", x))
    assert overdub(Base(), lambda: (caller(1), Caller()(2), 1 + 1)) == (("ruled", 1), 2, 2)
