"""Behaviours 16, 22, 39 to 41, 44 to 46, 56 to 60, 84 to 86, 93 and 99: iterators and generators, closures
that rebind, objects of all kinds, exceptions, random numbers, threads.

57: the exception is taken, and the derivative is that of the path which is.
"""

import abc
import collections
import contextlib
import dataclasses
import functools
import heapq
import itertools
import logging
import operator
import threading
import types
import typing
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from mutation_checks import both_modes, second_order

from ctxdispatch import grad, hessian, hessian_sparsity, jacfwd, jacobian_sparsity, jvp

X = np.array([0.5, 2.0, 3.0])


def each(*programs):
    return pytest.mark.parametrize("f", programs, ids=lambda f: f.__name__)


# -- 16, 93: iterators, generators ---------------------------------------------------------------------------


def enumerated(x):
    total = 0.0
    for i, v in enumerate(x):
        total += i * v * v
    for v, w in zip(x, reversed(x), strict=True):
        total += v * w
    return total


def generator_expression(x):
    total = 0.0
    for v in (u * u for u in x if u > 1):
        total += v
    return total + max(v for v in x) + sum(v * w for v in x for w in x)


def products(x):
    total = 0.0
    for a, b in itertools.product([x[0], 2.0], [3.0, x[1]]):
        total += a * b
    for group in itertools.combinations(x, 2):
        total += group[0] * group[1]
    for v in filter(lambda u: u > 1, itertools.chain(x, [x[0] * 5])):
        total += v
    for v in itertools.islice(itertools.cycle(x), 5):
        total += v * v
    return total + sum(itertools.accumulate(x)) + sum(map(operator.mul, x, x[1:]))


def generator_function(x):
    def powers(n):
        y = x[0]
        for _ in range(n):
            yield y
            y = y * x[1]

    total = 0.0
    for v in powers(4):
        total += v
    return total


def delegated_and_sent(x):
    def inner():
        for v in x:
            yield v * v
        return x[0]

    def outer():
        first = yield from inner()
        second = yield first * 2
        yield second * first if second is not None else first

    it = outer()
    total = next(it)
    for _ in range(3):
        total += next(it)
    return total + it.send(x[1])


def closed_early(x):
    events = []

    def endless():
        y = x[0]
        try:
            while True:
                y = y * x[1]
                yield y
        finally:
            events.append(y)

    it = endless()
    total = next(it) + next(it)
    it.close()
    return total * events[0]


def interleaved(x):
    """What the consumer changes, the generator sees."""
    state = {"scale": x[0]}

    def scaled():
        for v in x:
            yield v * state["scale"]

    total = 0.0
    for v in scaled():
        total += v
        state["scale"] *= x[2]
    return total


@pytest.mark.every(3)
@each(enumerated, generator_expression, products)
def test_016_iterators(f):
    both_modes(f, X)
    second_order(f, X)


@pytest.mark.every(3)
@each(generator_function, delegated_and_sent, closed_early, interleaved)
def test_093_generators(f):
    both_modes(f, X)
    second_order(f, X)


# -- 22: closures that rebind --------------------------------------------------------------------------------


def nonlocal_product(x):
    state = x

    def step():
        nonlocal state
        state = state * x

    step()
    step()
    return state


def counter_of_calls(x):
    calls = 0

    def f(v):
        nonlocal calls
        calls += 1
        return v * calls

    return f(x) * f(x) * f(x)


@pytest.mark.every(3)
@each(nonlocal_product, counter_of_calls)
def test_022_closures_that_rebind(f):
    both_modes(f, 2.0)
    second_order(f, 2.0)


def test_022_a_map_with_state():
    def running(xs):
        total = 0.0
        out = []

        def add(v):
            nonlocal total
            total += v
            return total

        for v in xs:
            out.append(add(v))
        return sum(out)

    assert grad(running)([float(i) for i in range(1, 11)]) == [float(i) for i in range(10, 0, -1)]


# -- 39 to 41, 99: objects -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Point:
    x: float
    y: float = 1.0
    parts: list = dataclasses.field(default_factory=list)


def dataclass_in_a_loop(x):
    p = Point(x)
    for _ in range(3):
        p.x = p.x * x
    p.x = np.sin(p.x)
    held = (p, [p])
    held[1][0].y = p.x * x
    p.parts.append(dataclasses.replace(p, x=x))
    return p.y * p.parts[0].x


class Computed:
    def __init__(self, a, b):
        self._a, self._b = a, b
        self.sum = a + b

    @property
    def product(self):
        return self._a * self._b

    @functools.cached_property
    def kept(self):
        return self._a**2

    def __getattr__(self, name):
        if name == "triple":
            return self._a * 3
        raise AttributeError(name)


def properties(x):
    d = Computed(x, x + 1)
    return d.product + d.triple + d.kept * d.kept + getattr(d, "none", x) + d.sum


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a

    def __add__(self, other):
        return Slotted(self.a + other.a)

    def __radd__(self, other):
        return Slotted(self.a + other)

    def __iadd__(self, other):
        self.a = self.a * other.a
        return self

    def __getitem__(self, key):
        return self.a * key

    def __call__(self, v):
        return self.a * v

    def __lt__(self, other):
        return self.a < other.a


def operators_of_a_class(x):
    s = Slotted(x)
    t = s
    s += Slotted(x)
    u = 1.0 + (s + t)
    return u.a + u[3] + u(x) + max([s, u]).a + sum([s, t], Slotted(0.0)).a


class Account:
    rate = 2.0

    @classmethod
    def make(cls, x):
        self = cls()
        self.v = x
        return self

    @staticmethod
    def square(x):
        return x * x

    @property
    def twice(self):
        return self.v * self.rate

    @twice.setter
    def twice(self, value):
        self.v = value / self.rate


class Savings(Account):
    rate = 3.0

    @classmethod
    def make(cls, x):
        self = super().make(x)
        self.twice = self.twice * self.v
        return self

    def square(self, x):
        return super().square(x) * self.v


def inheritance(x):
    s = Savings.make(x)
    return s.twice + s.square(s.v) + Account.square(x)


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


@dataclasses.dataclass(frozen=True)
class Square(Shape):
    side: float

    def area(self):
        return self.side**2


class Pair(typing.NamedTuple):
    first: float
    second: float

    @property
    def both(self):
        return self.first * self.second


def of_many_kinds(x):
    shapes = [Square(x), Square(x * 2)]
    p = Pair(x, shapes[0].area())
    first, second = p._replace(first=x * x)
    return p.both + first * second + sum(s.area() for s in shapes)


@pytest.mark.every(3)
@each(dataclass_in_a_loop)
def test_039_dataclasses_that_are_changed(f):
    both_modes(f, 1.2)
    second_order(f, 1.2)


@pytest.mark.every(3)
@each(properties, operators_of_a_class, of_many_kinds)
def test_040_properties_and_operators(f):
    both_modes(f, 1.2)
    second_order(f, 1.2)


def test_041_constructed_inside_with_a_computed_field():
    both_modes(lambda x: Computed(x, x * x).sum * Computed(2.0, x).product, 1.2)


@pytest.mark.every(3)
@each(inheritance)
def test_099_methods_and_inheritance(f):
    both_modes(f, 1.2)
    second_order(f, 1.2)


class Body:
    def __init__(self, mass, position):
        self.mass, self.position = mass, np.array(position)
        self.history = []

    def move(self, dt):
        self.position += dt * self.mass
        self.history.append(self.position.copy())


def test_099_with_respect_to_the_fields_of_objects():
    def final(bodies, dt):
        for _ in range(3):
            for body in bodies.values():
                body.move(dt)
                body.mass *= 0.5
        return sum((b.position**2).sum() + b.history[0].sum() for b in bodies.values())

    def made():
        return {"a": Body(2.0, [1.0, 2.0]), "b": Body(3.0, [0.0, 1.0])}

    found, slope = grad(final, (0, 1))(made(), 0.1)
    for name in "ab":
        for step in (1e-6,):
            up, down = made(), made()
            up[name].mass += step
            down[name].mass -= step
            expected = (final(up, 0.1) - final(down, 0.1)) / (2 * step)
            assert found[name].mass == pytest.approx(expected, rel=1e-6)
            for k in range(2):
                up, down = made(), made()
                up[name].position[k] += step
                down[name].position[k] -= step
                expected = (final(up, 0.1) - final(down, 0.1)) / (2 * step)
                assert found[name].position[k] == pytest.approx(expected, rel=1e-6)
    expected = (final(made(), 0.1 + 1e-6) - final(made(), 0.1 - 1e-6)) / 2e-6
    assert slope == pytest.approx(expected, rel=1e-6)
    bodies, plain = made(), made()
    grad(final)(bodies, 0.1)
    final(plain, 0.1)
    for name in "ab":
        np.testing.assert_array_equal(bodies[name].position, plain[name].position)
        assert bodies[name].mass == plain[name].mass and type(bodies[name].mass) is float


def test_039_items_of_equal_numbers_have_a_cotangent_each():
    def f(items):
        items.append(items[0] * 2)
        return items.pop() * items[1]

    assert grad(f)([1.0] * 3) == [2.0, 2.0, 0.0]


# -- 44 to 46: keys, mixed types -----------------------------------------------------------------------------


def keyed_by_tuples(x):
    table = {(1, "a"): x}
    table[2, "b"] = table[1, "a"] * x
    return table[2, "b"] * x


def mixed(x):
    total = 0.0
    for v in [None, x, "text", 3, {"k": x}, (x, 1)]:
        match v:
            case float():
                total += v * v
            case {"k": w}:
                total += w
            case (w, n) if n:
                total *= w
            case int(n) if n > 2:
                total += n * x
            case _:
                pass
    return total


def of_different_lengths(x):
    return sum(a * b for a, b in zip([x, x * x], [x, 2.0, 3.0])) + sum(  # noqa: B905
        a * b for a, b in itertools.zip_longest([x], [1.0, x], fillvalue=x)
    )


def test_044_keys_that_are_tuples():
    both_modes(keyed_by_tuples, 1.2)
    second_order(keyed_by_tuples, 1.2)


def test_045_containers_of_mixed_types():
    both_modes(mixed, 1.2)
    second_order(mixed, 1.2)


def test_046_lengths_that_differ():
    both_modes(of_different_lengths, 1.2)
    second_order(of_different_lengths, 1.2)


# -- 56 to 60: exceptions ------------------------------------------------------------------------------------


def not_raised(x):
    try:
        y = x * x
    except ValueError:
        y = 0.0
    else:
        y = y * x
    finally:
        z = x
    return y * z


def pow_try(x):
    try:
        return x * x
    finally:
        x = 0.0


def raised_and_caught(x):
    try:
        if x > 1:
            raise ValueError("no", x * 3)
        y = x
    except ValueError as error:
        y = 2 * x * error.args[1]
    return y


def by_c_code(x):
    try:
        y = x * np.array([1.0])[3]
    except IndexError:
        y = x**2
    try:
        {}["a"]
    except LookupError:
        y *= x
    return y


def nested(x):
    y = x
    try:
        y = y * 2
        try:
            y = y * 3
            raise KeyError(y)
        except KeyError:
            y = y * 5
            raise RuntimeError from None
        finally:
            y = y * x
    except RuntimeError:
        y += x
    finally:
        y *= x
    return y


def returns_in_finally(x):
    for i in range(3):
        try:
            if i == 1:
                return x * i + x * x
        finally:
            x = x * 2
    return 0.0


def retried(x):
    for attempt in itertools.count():
        try:
            if attempt < 3:
                raise OSError
            return x * attempt
        except OSError:
            x = x * x
    return None


class Scaled:
    def __init__(self, x):
        self.x = x

    def __enter__(self):
        return self.x * 2

    def __exit__(self, kind, error, where):
        self.x = self.x**2
        return kind is ZeroDivisionError


def with_blocks(x):
    scaled = Scaled(x)
    with scaled as y:
        z = y * x
    with scaled as y, contextlib.suppress(ValueError):
        z += y
        raise ValueError
    with scaled:
        z / 0.0 if isinstance(z, int) else 1 // 0
    return z * scaled.x


def context_manager_function(x):
    @contextlib.contextmanager
    def doubled(v):
        yield v * 2
        log.append(v)

    log = []
    with doubled(x) as y:
        z = y * x
    return z * log[0]


@pytest.mark.every(3)
@each(not_raised, pow_try)
def test_056_try_without_an_exception(f):
    both_modes(f, 2.0)
    second_order(f, 2.0)


@pytest.mark.every(3)
@each(raised_and_caught, by_c_code, retried)
def test_057_exceptions_that_are_taken(f):
    both_modes(f, 1.1)
    second_order(f, 1.1)


@pytest.mark.every(3)
@each(nested, returns_in_finally, with_blocks, context_manager_function)
def test_058_nested_handlers_and_with(f):
    both_modes(f, 1.1)
    second_order(f, 1.1)


def test_059_exceptions_of_the_users_code_are_unchanged():
    def fails(x):
        try:
            y = x * x
        finally:
            pass
        raise KeyError("mine", y)

    for call in (lambda: grad(fails)(2.0), lambda: jvp(fails, (2.0,), (1.0,))):
        with pytest.raises(KeyError) as caught:
            call()
        assert caught.value.args == ("mine", 4.0)
        assert caught.traceback[-1].frame.code.name == "fails"
        assert caught.traceback[-1].lineno + 1 == fails.__code__.co_firstlineno + 5

    def mismatch(x):
        x[0] = 1.0
        return (x + np.ones(5)).sum()

    with pytest.raises(ValueError, match="could not be broadcast") as plain:
        mismatch(X.copy())
    with pytest.raises(ValueError, match="could not be broadcast") as ours:
        grad(mismatch)(X.copy())
    assert str(ours.value) == str(plain.value)


def test_060_prints_and_logs_are_those_of_the_plain_call(capsys, caplog):
    def chatty(x):
        items = [x]
        items[0] = items[0] * x
        print("value", items[0], end="!")
        assert items[0] > 0, items
        logging.getLogger("mine").warning("x %s", x)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            warnings.warn(f"of {x}", stacklevel=1)
        return items[0] * len(seen)

    assert chatty(3.0) == 9.0
    plain = capsys.readouterr().out, [r.getMessage() for r in caplog.records]
    caplog.clear()
    assert grad(chatty)(3.0) == 6.0
    assert (capsys.readouterr().out, [r.getMessage() for r in caplog.records]) == plain


# -- functools -----------------------------------------------------------------------------------------------


def of_functools(x):
    @functools.lru_cache
    def power(n):
        return x**n

    @functools.singledispatch
    def kind(v):
        return 0.0

    @kind.register
    def _(v: float):
        return v * 2

    add = functools.partial(operator.add, x)
    ordered = sorted([x, 2.0, x * x], key=functools.cmp_to_key(lambda a, b: (a > b) - (a < b)))
    product = functools.reduce(operator.mul, [x, x, 3.0], 1.0)
    return power(2) + power(2) * kind(x) + add(x) * ordered[-1] + product


@pytest.mark.night
def test_functools_and_operator():
    both_modes(of_functools, 1.3)


def test_a_cache_is_left_as_it_was():
    @functools.lru_cache
    def square(v):
        return v * v

    square(2.0)
    before = square.cache_info()

    def f(x):
        items = [x]
        items[0] = square(items[0])
        return items[0] * x

    assert grad(f)(2.0) == 12.0
    assert square.cache_info() == before


def test_deep_recursion_and_long_loops():
    def down(n, x):
        try:
            return x if n == 0 else down(n - 1, x) * 1.001
        finally:
            pass

    assert grad(lambda x: down(800, x))(2.0) == pytest.approx(1.001**800)

    def long(x):
        state = {"v": x}
        for _ in range(10_000):
            state["v"] = state["v"] * 1.0001
        return state["v"]

    assert grad(long)(2.0) == pytest.approx(1.0001**10_000)


# -- 84 to 86 ------------------------------------------------------------------------------------------------


def test_084_random_numbers_are_those_of_the_plain_call():
    def noisy(x, rng):
        out = np.empty(3)
        for i in range(3):
            out[i] = x * rng.normal()
        return out.sum()

    plain = np.random.default_rng(1)
    value = noisy(2.0, plain)
    mine = np.random.default_rng(1)
    assert grad(noisy)(2.0, mine) == pytest.approx(value / 2.0)
    assert mine.bit_generator.state == plain.bit_generator.state


def test_085_threads():
    def threaded(x):
        results = {}

        def work(k):
            results[k] = x * k

        threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with ThreadPoolExecutor(2) as pool:
            more = list(pool.map(lambda v: v * x, [1.0, 2.0]))
        return sum(results.values()) * sum(more)

    assert grad(threaded)(2.0) == pytest.approx(2 * 9.0 * 2.0)

    def f(x):
        items = [x]
        for _ in range(20):
            items[0] = items[0] * 1.1
        return items[0]

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(grad(f), [1.0, 2.0, 3.0])] == pytest.approx([1.1**20] * 3)


def submitted(x):
    with ThreadPoolExecutor(2) as pool:
        squares = list(pool.map(np.square, x))
        last = pool.submit(np.multiply, x[0], x)
        return sum(squares) * last.result().sum()


def shown_through_a_proxy(x):
    shown = types.MappingProxyType({"a": x[0], "b": x[1]})
    return shown["a"] * shown["b"] + sum(v**2 for v in shown.values())


def smallest_and_largest(x):
    return heapq.nsmallest(2, x)[1] ** 2 + heapq.nlargest(2, list(x))[1] * x[0]


@pytest.mark.every(3)
@each(submitted, shown_through_a_proxy, smallest_and_largest)
def test_085_what_moves_through_python_s_library(f):
    both_modes(f, X)
    second_order(f, X)


def test_086_patterns_of_code_that_branches_and_changes_things():
    def rate(u):
        du = np.zeros(4)
        for i in range(4):
            if i % 2:
                du[i] = u[i] * u[i - 1]
            else:
                du[i] += u[i]
        return du

    pattern = jacobian_sparsity(rate, np.ones(4)).toarray()
    expected = np.eye(4, dtype=bool)
    expected[1, 0] = expected[3, 2] = True
    np.testing.assert_array_equal(pattern, expected)

    def energy(u):
        total = 0.0
        work = u.copy()
        work[1:] *= u[:-1]
        for v in work:
            total += v
        return total

    pattern = hessian_sparsity(energy, np.ones(4)).toarray()
    expected = np.zeros((4, 4), bool)
    for i in range(3):
        expected[i, i + 1] = expected[i + 1, i] = True
    np.testing.assert_array_equal(pattern, expected)


def test_counters_of_collections():
    def f(x):
        counter = collections.Counter({"a": x})
        counter["a"] += x
        counter.update({"b": x * x})
        ordered = collections.OrderedDict(counter)
        ordered.move_to_end("a")
        chained = collections.ChainMap({}, ordered)
        return chained["a"] * [*ordered.values()][0]

    both_modes(f, 1.3)


class Twice:
    """Stores everything twice as large."""

    def __init__(self, x):
        self.x = x

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2.0)


class Doubling:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return getattr(obj, self.name)

    def __set__(self, obj, value):
        object.__setattr__(obj, self.name, value * 2.0)


class Described:
    x = Doubling()

    def __init__(self, x):
        self.x = x


def _by_name(cls):
    def f(x):
        made = cls(0.0)
        for name in ("x", "y"):
            setattr(made, name, x)
        return made.x

    return f


@pytest.mark.every(8)
@pytest.mark.parametrize("cls", [Twice, Described])
@pytest.mark.parametrize("make", [lambda cls: lambda x: cls(x).x, _by_name])
def test_store_that_the_class_has_a_say_in(cls, make):
    f = make(cls)
    assert (grad(f)(3.0), jvp(f, (3.0,), (1.0,)), jacfwd(f)(3.0)) == (2.0, (6.0, 2.0), 2.0)
    assert hessian(lambda x: f(x) ** 2)(3.0) == 8.0
