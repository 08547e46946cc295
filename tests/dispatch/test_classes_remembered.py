"""What runs in the place of a class is remembered, and follows what the class becomes."""

import abc
import collections
import dataclasses
import gc
import math
import weakref

import pytest

from ctxdispatch import Context, overdub


class Doubles(Context):
    pass


@Doubles.rule(math.sqrt)
def _(ctx, x):
    return 2 * math.sqrt(x)


class Hooks(Doubles):
    seen: list
    intercepts = ("call",)

    def prehook(self, f, args, kwargs):
        self.seen.append(f)


class Root:
    def __init__(self, x, *, by=1):
        self.x = math.sqrt(x) * by


class Derived(Root):
    def __init__(self, x):
        super().__init__(x, by=2)


class Slots:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = math.sqrt(x)


class Made:
    def __new__(cls, x):
        made = super().__new__(cls)
        made.x = math.sqrt(x)
        return made


class Abstract(abc.ABC):
    def __init__(self, x):
        self.x = math.sqrt(x)

    @abc.abstractmethod
    def needed(self): ...


class Concrete(Abstract):
    def needed(self): ...


class Wrong:
    def __init__(self, x):
        self.x = math.sqrt(x)
        return x


class Bare:
    x = 4.0


CLASSES = [Root, Derived, Slots, Made, Concrete]


def build(cls, x):
    return cls(x).x


@pytest.mark.parametrize("cls", CLASSES)
def test_one_place_many_classes(cls):
    run = Doubles().program(build, (cls, 4.0), {})
    for other in (cls, *CLASSES, cls):
        assert run(other, 4.0) == 2 * build(other, 4.0)
        assert run(other, 9.0) == 2 * build(other, 9.0)
    if cls is not Made:  # whose `__new__` asks `super`
        assert type(overdub(Doubles(), cls, 4.0)) is cls


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_contexts_within_contexts(depth):
    run = build
    for _ in range(depth):
        run = Doubles().program(run, (Root, 4.0), {})
    for cls in (*CLASSES, *CLASSES):
        assert run(cls, 4.0) == 2**depth * build(cls, 4.0)


def test_hooks_are_told_of_the_class():
    hooks = Hooks([])
    assert overdub(hooks, lambda: (Root(4.0).x, Root(4.0).x)) == (4.0, 4.0)
    assert hooks.seen.count(Root) == 2
    hooks = Hooks([])
    assert overdub(hooks, overdub, Doubles(), lambda: (Root(4.0).x, Root(4.0).x)) == (8.0, 8.0)
    assert hooks.seen.count(Root) == 2


@pytest.mark.parametrize("cls, args", [
    (Root, ()), (Root, (1, 2)), (Root, (-1.0,)), (Derived, ()), (Abstract, (1.0,)), (Wrong, (4.0,)),
    (Bare, (1,)),
])  # fmt: skip
def test_errors_are_those_of_the_class(cls, args):
    with pytest.raises(Exception) as plain:
        cls(*args)
    run = Doubles().program(lambda: cls(*args), (), {})
    for _ in range(2):
        with pytest.raises(type(plain.value)) as error:
            run()
        assert str(error.value) == str(plain.value)


def test_a_class_that_becomes_another():
    run = Doubles().program(build, (Root, 4.0), {})
    assert run(Root, 4.0) == run(Root, 4.0) == 4.0
    was = Root.__init__

    def other(self, x):
        self.x = math.sqrt(x) + 1

    try:
        Root.__init__ = other
        assert run(Root, 4.0) == 5.0
        Root.__init__ = was
        assert run(Root, 4.0) == 4.0
        code, Root.__init__.__code__ = Root.__init__.__code__, (lambda self, x, *, by=1: None).__code__
        try:
            again = Doubles().program(lambda: hasattr(Root(4.0), "x"), (), {})
            assert not again()
        finally:
            was.__code__ = code
        assert run(Root, 4.0) == 4.0
    finally:
        Root.__init__ = was


class Later:
    def __init__(self, x):
        self.x += math.sqrt(x)

    x = 0.0


def test_a_constructor_that_comes_later():
    """Not taken back: classes that once had one never forget it (so it is in CPython)."""
    run = Doubles().program(build, (Later, 4.0), {})
    assert [run(Later, 4.0), run(Later, 4.0)] == [4.0, 4.0]

    def make(cls, x):
        made = object.__new__(cls)
        made.x = math.sqrt(x)
        return made

    Later.__new__ = make
    assert [run(Later, 4.0), run(Later, 4.0)] == [8.0, 8.0]


def test_code_that_is_assigned_to_within_a_run():
    def program(change):
        found = []
        for k in range(4):
            if k == 2:
                change()
            found.append(Slots(4.0).x)
        return found

    code = Slots.__init__.__code__

    def change():
        Slots.__init__.__code__ = shorter.__code__

    def shorter(self, x):
        self.x = x

    try:
        assert overdub(Doubles(), program, change) == [4.0, 4.0, 4.0, 4.0]
        assert Slots.__init__.__code__ is shorter.__code__
    finally:
        Slots.__init__.__code__ = code


def test_an_initialiser_that_comes_later():
    run = Doubles().program(lambda: Bare().x, (), {})
    assert [run(), run()] == [4.0, 4.0]

    def init(self):
        self.x = math.sqrt(4.0)

    Bare.__init__ = init
    try:
        assert [run(), run()] == [4.0, 4.0]
    finally:
        del Bare.__init__


def test_rules_for_classes():
    class Own(Doubles):
        pass

    def program(change):
        found = []
        for k in range(4):
            if k == 2:
                change()
            found.append(Root(4.0))
        return found

    def change():
        Own.rule(Root)(lambda ctx, x: "ruled")

    first, second, *rest = overdub(Own(), program, change)
    assert first.x == second.x == 4.0 and rest == ["ruled", "ruled"]
    assert overdub(Own(), program, lambda: None) == ["ruled"] * 4


def test_classes_made_by_the_program_are_not_kept():
    ctx = Doubles()

    def program():
        class Local:
            def __init__(self, x):
                self.x = math.sqrt(x)

        return weakref.ref(Local), Local(4.0).x

    found = [overdub(ctx, program) for _ in range(3)]
    gc.collect()
    assert [x for _, x in found] == [4.0] * 3
    assert [ref() for ref, _ in found] == [None] * 3


# -- classes of classes ----------------------------------------------------------------------------


class Counting(abc.ABCMeta):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.x += math.sqrt(10_000.0)
        return made


class Plain(abc.ABC):
    def __init__(self, x):
        self.x = math.sqrt(x)


def test_a_class_whose_class_changes():
    def program(change):
        out = [Plain(4.0).x]
        change()
        return [*out, Plain(4.0).x]

    def change():
        Plain.__class__ = Counting

    def back():
        Plain.__class__ = abc.ABCMeta

    ctx = Doubles()
    for _ in range(2):
        assert overdub(ctx, program, change) == [4.0, 204.0]
        assert overdub(ctx, program, back) == [204.0, 4.0]


def test_a_call_that_comes_to_abcmeta(monkeypatch):
    def program():
        out = [Plain(4.0).x]
        monkeypatch.setattr(abc.ABCMeta, "__call__", Counting.__call__, raising=False)
        out.append(Plain(4.0).x)
        monkeypatch.undo()
        return [*out, Plain(4.0).x]

    monkeypatch.setattr(Counting, "__call__", lambda cls, x: math.sqrt(x) and type.__call__(cls, x * 4))
    ctx = Doubles()
    for _ in range(2):
        assert overdub(ctx, program) == [4.0, 8.0, 4.0]


# -- names -----------------------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Data:
    x: int
    y: int = 3


def renamed(x):
    return math.sqrt(x)


renamed.__qualname__ = "Other.name"


@pytest.mark.parametrize(
    "f",
    [lambda: Pair(1), lambda: Data(), lambda: Data(1, 2, 3), lambda: Data(z=1), lambda: renamed()],
    ids=["namedtuple", "too few", "too many", "keyword", "renamed"],
)
@pytest.mark.parametrize("make", [Doubles, lambda: Hooks([])], ids=["rules", "hooks"])
def test_errors_have_the_name_that_the_function_has(f, make):
    with pytest.raises(TypeError) as plain:
        f()
    for _ in range(2):
        with pytest.raises(TypeError) as error:
            overdub(make(), f)
        assert str(error.value) == str(plain.value)
