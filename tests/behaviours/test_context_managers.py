"""`with` over context managers of the user's, generators foremost: how they are spelled, crossed with how the
body is left, where the state is that they change, and modes. State afterwards is that of the plain run."""

import contextlib
import copy
import itertools
from contextlib import contextmanager

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jvp, vjp
from ctxdispatch_contexts.programs.journal import note_attribute, note_length, put_back, trial

X = 1.3


class Box:
    def __init__(self):
        self.scale, self.log = 1.0, []

    def state(self):
        return self.scale, self.log


# -- managers: they change the scale, and give 3 x -----------------------------------------------------------


@contextmanager
def guarded(box, x):
    before, box.scale = box.scale, box.scale + 1.0
    box.log.append("in")
    try:
        yield 3.0 * x
    finally:
        box.scale = before
        box.log.append("out")


@contextmanager
def unguarded(box, x):
    box.scale = box.scale * 2.0
    yield x * 3.0
    box.scale = box.scale / 2.0


@contextmanager
def swallowing(box, x, *, by=2.0):
    try:
        box.scale *= by
        yield 3.0 * x
        box.log.append("fine")
    except ValueError:
        box.log.append("caught")
    else:
        box.log.append("else")
    box.scale /= by


@contextmanager
def branching(box, x):
    if box.scale < 0.0:
        raise RuntimeError("negative")
    before = box.scale
    for k in range(3):
        box.scale += k
    y = 3.0 * x if x > 0.0 else 3.0 * x + 0.0
    yield y
    for _ in range(3):
        box.scale -= 1.0
    if before == box.scale:
        return
    box.scale = before


@contextmanager
def through_others(box, x):
    with guarded(box, x) as a, unguarded(box, x):
        yield a


def factory(factor):
    @contextmanager
    def made(box, x):
        before = box.scale
        box.scale = factor
        try:
            yield factor * x
        finally:
            box.scale = before

    return made


captured = factory(3.0)


def made_in_the_program(box, x):
    @contextmanager
    def local(k):
        box.scale += k
        yield x * k
        box.scale -= k

    return local(3.0)


class Owner:
    factor = 3.0

    @contextmanager
    def of_method(self, box, x):
        with guarded(box, x):
            yield self.factor * x

    @staticmethod
    @contextmanager
    def of_static_method(box, x):
        box.scale += 1.5
        yield 3.0 * x
        box.scale -= 1.5


OWNER = Owner()


def of_method(box, x):
    return OWNER.of_method(box, x)


class Scope:
    def __init__(self, box, x):
        self.box, self.x = box, x

    def __enter__(self):
        self.before, self.box.scale = self.box.scale, self.box.scale * 4.0
        return self.x * 3.0

    def __exit__(self, *raised):
        self.box.scale = self.before


class Told(Scope):
    def __exit__(self, kind, error, trace):
        super().__exit__(kind, error, trace)
        self.box.log.append(kind is None)
        return kind is not None and issubclass(kind, ValueError)


MANAGERS = [
    guarded, unguarded, swallowing, branching, through_others, captured, made_in_the_program, of_method,
    Owner.of_static_method, Scope, Told,
]  # fmt: skip


# -- how the body is left ------------------------------------------------------------------------------------


def falls_through(manager, box, x):
    with manager(box, x) as k:
        y = x * k * box.scale
    return y + x * box.scale


def returns(manager, box, x):
    with manager(box, x) as k:
        if k > 0.0:
            return x * k * box.scale
        y = x
    return y


def breaks(manager, box, x):
    y = 0.0
    for i in range(4):
        with manager(box, x) as k:
            if i == 1:
                continue
            y = y + k * x * i * box.scale
            if i == 2:
                break
        y = y + box.scale
    return y * box.scale


def nests(manager, box, x):
    with manager(box, x) as a, manager(box, 2.0 * x) as b:
        y = a * b * box.scale
        with manager(box, a) as c:
            y = y + c * box.scale
    return y * box.scale


def made_before(manager, box, x):
    outer = manager(box, x * x)
    box.scale += 1.0
    with outer as k:
        return k * box.scale


def raises(manager, box, x):
    y = x
    try:
        with manager(box, x) as k:
            y = x * k * box.scale
            if y > 0.0:
                raise ValueError("positive")
            y = 0.0
    except ValueError:
        y = y * x
    return y * x * box.scale


def raises_out(manager, box, x):
    try:
        with manager(box, x) as k:
            y = x * k * box.scale
            raise KeyError("always")
    except KeyError:
        y = x * box.scale
    return y * x


QUIET = [falls_through, returns, breaks, nests, made_before]
EXITS = [*QUIET, raises, raises_out]
GLOBAL = Box()


def own(leave, manager):
    return lambda x: leave(manager, Box(), x)


def of_variable(leave, manager):
    return lambda x: leave(manager, GLOBAL, x)


def of_argument(leave, manager):
    def f(x, box=GLOBAL):
        return leave(manager, box, x)

    return f


def of_closure(leave, manager):
    box = GLOBAL

    def f(x):
        return leave(manager, box, x)

    return f


def of_its_own_code(f, count=itertools.count()):
    """Functions of one code share what is known of it."""
    f.__code__ = f.__code__.replace(co_name=f"f{next(count)}")
    return f


PLACES = [own, of_variable, of_argument, of_closure]


# -- modes ---------------------------------------------------------------------------------------------------


def slope(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)


def bend(f, x, h=1e-3):
    return (f(x + h) - 2 * f(x) + f(x - h)) / (h * h)


MODES = {
    "grad": (lambda f: grad(f)(X), slope),
    "vjp": (lambda f: vjp(f, X)[1](1.0)[0], slope),
    "jvp": (lambda f: jvp(f, (X,), (1.0,))[1], slope),
    "hessian": (lambda f: hessian(f)(X), bend),
    "twice": (lambda f: grad(grad(f))(X), bend),
}


def after(run):
    """What a run leaves, begun with a fresh box; and what it gives, or raises."""
    GLOBAL.__init__()
    try:
        found = run()
    except Exception as error:
        found = type(error)
    return found, copy.deepcopy(GLOBAL.state())


@pytest.mark.every(300)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("leave", EXITS)
@pytest.mark.parametrize("manager", MANAGERS)
def test_derivatives_and_state(manager, leave, place, mode):
    f = of_its_own_code(place(leave, manager))
    way, differences = MODES[mode]
    plain, state = after(lambda: f(X))
    expected = plain if isinstance(plain, type) else after(lambda: differences(restarted(f), X))[0]
    for _ in range(3):  # recorded, with noted types, as a program
        found, left = after(lambda: way(f))
        assert left == state
        if isinstance(expected, type):
            assert found is expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-4)


def restarted(f):
    def g(x):
        GLOBAL.__init__()
        return f(x)

    return g


@pytest.mark.every(100)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("leave", QUIET)
@pytest.mark.parametrize("manager", MANAGERS)
def test_what_raises_nothing_is_compiled(manager, leave, place, recorded):
    f = of_its_own_code(place(leave, manager))
    ways = grad(f), lambda x: jvp(f, (x,), (1.0,))
    for way, k in itertools.product(ways, range(4)):
        recorded.clear()
        after(lambda: way(X))
    assert not recorded, k


# -- what is no such program ---------------------------------------------------------------------------------


@contextmanager
def either(box, x):
    if box.scale < 2.0:
        yield x * 2.0
        box.scale += 1.0
        return
    yield x * 3.0


@contextmanager
def retrying(box, x):
    while box.scale < 5.0:
        box.scale += 3.0
        if box.scale > 5.0:
            yield x * 2.0


@contextmanager
def silent(box, x):
    if box.scale > 5.0:
        yield x


@contextmanager
def again(box, x):
    yield x
    box.scale += 1.0
    yield x


def by_hand(manager, box, x):
    entered = manager(box, x)
    y = entered.__enter__() * x
    entered.__exit__(None, None, None)
    entered.__exit__(None, None, None)
    return y * box.scale


def entered_twice(manager, box, x):
    entered, y = manager(box, x), x
    for _ in range(2):
        with entered as k:
            y = y * k * box.scale
    return y


def chosen(manager, box, x):
    with manager(box, x) if x > 0.0 else manager(box, -x) as k:
        return k * x * box.scale


def on_a_stack(manager, box, x):
    with contextlib.ExitStack() as stack:
        k = stack.enter_context(manager(box, x))
        return k * x * box.scale


def as_decorator(manager, box, x):
    @manager(box, x)
    def inner(y):
        return y * y * box.scale

    return inner(x) * inner(x)


ODD = [by_hand, entered_twice, chosen, on_a_stack, as_decorator, falls_through, breaks, nests]


@pytest.mark.every(100)
@pytest.mark.parametrize("mode", ["grad", "jvp", "hessian"])
@pytest.mark.parametrize("place", [own, of_variable])
@pytest.mark.parametrize("leave", ODD)
@pytest.mark.parametrize("manager", [guarded, unguarded, either, retrying, silent, again])
def test_others_do_the_same(manager, leave, place, mode):
    test_derivatives_and_state(manager, leave, place, mode)


# -- runs in vain --------------------------------------------------------------------------------------------


def test_what_was_stored_is_undone_where_the_run_is_recorded():
    counts, seen, box = {}, [], Box()

    @contextmanager
    def counted(name):
        counts[name] = counts.get(name, 0) + 1
        seen.append(name)
        try:
            yield counts
        finally:
            box.scale += 1.0

    def f(x, items):
        with counted("outer"), counted("inner"):
            y = items[int(x)] * x
        return y * box.scale

    g = grad(f)
    for k in range(1, 6):
        assert g(1.5, [1.0, 2.0]) == 2.0 * box.scale
        assert counts == {"outer": 2 * k - 1, "inner": 2 * k - 1}
        with pytest.raises(IndexError):
            g(2.5, [1.0, 2.0])
        assert counts == {"outer": 2 * k, "inner": 2 * k} and seen == ["outer", "inner"] * 2 * k
        assert box.scale == 4.0 * k + 1.0


def test_a_run_that_is_recorded_within_and_raises_is_run_once():
    """Its types are others than those that were noted."""
    box, made = Box(), [lambda x: x * x, lambda x: np.array([x, x]), lambda x: None]

    def f(x, kind):
        with guarded(box, x):
            box.scale += 1.0
            y = eval("made[kind]", {"made": made, "kind": kind})(x)
            z = np.sum(y) * 2.0
        box.log.append(kind)
        return z + y[5] * 0.0 if kind == 1 else z

    g = grad(f)
    for kind in (0, 0, 0, 1, 0, 0, 1, 1, 0):
        before = copy.deepcopy(box.state())
        if kind == 0:
            np.testing.assert_allclose(g(X, kind), 4.0 * X)
        else:
            with pytest.raises(IndexError):
                g(X, kind)
        assert box.scale == before[0]
        assert box.log == [*before[1], "in", "out", kind]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, None])
def test_what_attempts_store_is_undone_where_they_are_left(error):
    box = Box()

    def inner():
        note_attribute(trial(), box, "scale")
        box.scale += 1.0
        note_length(trial(), box.log)
        box.log.append("in")

    def outer():
        put_back(inner)()
        put_back(inner)()
        assert box.state() == (3.0, ["in", "in"])
        if error is not None:
            raise error

    if error is None:
        put_back(outer)()
    else:
        with pytest.raises(error):
            put_back(outer)()
    assert box.state() == ((3.0, ["in", "in"]) if error is None else (1.0, []))
