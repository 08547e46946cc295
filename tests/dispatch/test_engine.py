"""The engine end to end: hooks, what recursion reaches, fallback, native code where nothing is to do."""

import builtins
import collections
import contextlib
import functools
import itertools
import math
import operator
import threading
import warnings

import numpy as np
import pytest

from ctxdispatch.dispatch import Context, fallback, overdub, recurse
from ctxdispatch.dispatch import cache as code_cache


class Log(Context):
    """Every call that is written as one."""

    events: list
    intercepts = ("call",)

    def prehook(self, f, args, kwargs):
        self.events.append(("pre", f, args, kwargs))

    def posthook(self, out, f, args, kwargs):
        self.events.append(("post", f, out))


class Mullify(Context):
    """Replace * by +."""


@Mullify.rule(operator.mul)
def _(ctx, a, b):
    return a + b


class Cosine(Context):
    pass


@Cosine.rule(math.sin)
def _(ctx, x):
    return math.cos(x)


def callees(ctx):
    return [e[1] for e in ctx.events if e[0] == "pre"]


# -- hooks -----------------------------------------------------------------------------------------


def inner(a, b=2, *rest, key=None):
    return abs(a)


def outer(x, *args):
    return inner(x, *args, key=3) + inner(x, 5) + inner(b=4, a=x)


def test_hook_order_is_exact_and_leaves_out_the_outermost():
    ctx = Log([])
    assert overdub(ctx, outer, -1, 7, 8) == 3
    assert ctx.events == [
        ("pre", inner, (-1, 7, 8), {"key": 3}), ("pre", abs, (-1,), {}), ("post", abs, 1), ("post", inner, 1),
        ("pre", inner, (-1, 5), {}), ("pre", abs, (-1,), {}), ("post", abs, 1), ("post", inner, 1),
        ("pre", inner, (), {"b": 4, "a": -1}), ("pre", abs, (-1,), {}), ("post", abs, 1), ("post", inner, 1),
    ]  # fmt: skip


def test_no_posthook_after_an_exception():
    def fail(x):
        return x.index(3)

    def call(x):
        return fail(x)

    ctx = Log([])
    with pytest.raises(ValueError):
        overdub(ctx, call, [1])
    assert [e[0] for e in ctx.events] == ["pre", "pre"]


def test_hooks_see_operators_subscripts_and_attributes_unless_the_class_says_otherwise():
    class All(Context):
        seen: list

        def prehook(self, f, args, kwargs):
            self.seen.append(f)

    def f(x, i):
        return -x.real[i] + i < 3

    ctx = All([])
    assert overdub(ctx, f, np.arange(3.0), 1)
    assert ctx.seen == [getattr, operator.getitem, operator.neg, operator.add, operator.lt]


def test_hooks_set_and_removed_after_the_first_run_take_effect():
    class Ctx(Context):
        seen: list

    def f(x):
        return abs(x)

    old = Ctx([])
    overdub(old, f, 1)
    Ctx.prehook = lambda self, f, args, kwargs: self.seen.append(f)
    overdub(old, f, 1)
    new = Ctx([])
    overdub(new, f, 1)
    assert old.seen == [abs] and new.seen == [abs]
    Ctx.prehook = lambda self, f, args, kwargs: self.seen.append("other")
    overdub(new, f, 1)
    del Ctx.prehook
    overdub(new, f, 1)
    assert new.seen == [abs, "other"]


def test_calls_above_a_threshold_by_a_typed_rule_and_opaque_calls_by_fallback():
    class Count(Context):
        opaque: collections.Counter

        def fallback(self, f, args, kwargs):
            self.opaque[f] += 1
            return f(*args, **kwargs)

    def f(x):
        return math.sin(x) + math.sin(2 * x)

    ctx = Count(collections.Counter())
    assert overdub(ctx, f, 0.5) == f(0.5)
    assert ctx.opaque[math.sin] == 2 and ctx.opaque[operator.mul] == 1


def test_nan_finder_names_the_line():
    class NaN(Context):
        def posthook(self, out, f, args, kwargs):
            if isinstance(out, float) and math.isnan(out):
                raise FloatingPointError(f"nan from {f.__name__}")

    def f(x):
        y = x * 2
        z = y - y
        return z + 1

    with pytest.raises(FloatingPointError, match="nan from sub") as info:
        overdub(NaN(), f, math.inf)
    entry = next(e for e in info.traceback if e.frame.code.raw.co_filename == __file__ and e.name == "f")
    assert str(entry.statement).strip() == "z = y - y"


# -- rules -----------------------------------------------------------------------------------------


def product(xs):
    out = 1
    for x in xs:
        out = out * x
    return out


def product_in_place(xs):
    out = 1
    for x in xs:
        out *= x
    return out


def test_mullify_deep():
    def call(f, xs):
        return f(xs)

    assert overdub(Mullify(), product, [5, 10]) == 16
    assert overdub(Mullify(), call, product_in_place, [5, 10]) == 16
    assert overdub(Mullify(), lambda a, b: a * b, 5, 10) == 15


def test_a_rule_for_one_function_deep_and_as_the_outermost():
    def f(x):
        return [math.sin(v) for v in x]

    assert overdub(Cosine(), f, [0.0, 1.0]) == [1.0, math.cos(1.0)]
    assert overdub(Cosine(), math.sin, 0.0) == 1.0


def test_rules_on_types_fall_through():
    class Ctx(Context):
        pass

    @Ctx.rule(operator.add, str, int)
    def _(ctx, a, b):
        return a + str(b)

    def f(x, y):
        return x + y

    assert overdub(Ctx(), f, "a", 1) == "a1"
    assert overdub(Ctx(), f, 1, 2) == 3
    with pytest.raises(TypeError):
        overdub(Ctx(), f, 1, "a")


def test_a_rule_added_after_the_first_run_a_redefined_helper_and_a_replaced_code():
    class Ctx(Context):
        intercepts = ("call",)

    def helper(x):
        return abs(x)

    def f(x):
        return helper(x)

    ctx = Ctx()
    assert overdub(ctx, f, -2) == 2
    Ctx.rule(abs)(lambda ctx, x: "ruled")
    assert overdub(ctx, f, -2) == "ruled"
    helper.__code__ = (lambda x: x * 2).__code__
    assert overdub(ctx, f, -2) == -4
    f.__code__ = product.__code__ if f.__closure__ is None else f.__code__
    Ctx.unrule(abs)
    helper = abs
    assert overdub(ctx, f, -2) == 2


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Memo(Context):
    memo: dict
    entries: list


@Memo.rule(fib)
def _(ctx, n):
    if n not in ctx.memo:
        ctx.entries.append(n)
        ctx.memo[n] = recurse(ctx, fib, n)
    return ctx.memo[n]


def test_memoised_fib_by_recurse_inside_a_rule():
    ctx = Memo({}, [])
    assert overdub(ctx, fib, 60) == 1548008755920
    assert len(ctx.entries) == 61


def test_the_call_tree_is_the_same_by_hooks_and_by_rules():
    def leaf(x, scale=1):
        return x * scale

    def branch(x):
        return leaf(x) + leaf(x, scale=2)

    def root(x):
        return branch(x) + leaf(x)

    class ByHooks(Context):
        stack: list
        intercepts = ("call",)

        def prehook(self, f, args, kwargs):
            self.stack.append([f.__name__, args, kwargs, []])

        def posthook(self, out, f, args, kwargs):
            node = self.stack.pop()
            self.stack[-1][3].append(node)

    class ByRules(Context):
        children: list

    def record(f):
        @ByRules.rule(f)
        def _(ctx, *args, **kwargs):
            below = ctx.replace(children=[])
            out = recurse(below, f, *args, **kwargs)
            ctx.children.append([f.__name__, args, kwargs, below.children])
            return out

    record(leaf)
    record(branch)
    hooks, by_rules = ByHooks([[None, (), {}, []]]), ByRules([])
    assert overdub(hooks, root, 3) == overdub(by_rules, root, 3) == root(3)
    assert hooks.stack[0][3] == by_rules.children
    assert [c[0] for c in by_rules.children] == ["branch", "leaf"] and len(by_rules.children[0][3]) == 2


# -- what recursion reaches ------------------------------------------------------------------------


def plain(x):
    return math.sin(x)


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


class Thing:
    def __init__(self, x):
        self.x = math.sin(x)

    def method(self):
        return math.sin(self.x)

    @staticmethod
    def static(x):
        return math.sin(x)

    @classmethod
    def cls(cls, x):
        return math.sin(x)

    @property
    def prop(self):
        return math.sin(self.x)

    def __call__(self, x):
        return math.sin(x)

    def __add__(self, other):
        return math.sin(other)

    def __radd__(self, other):
        return math.sin(other)

    def __getitem__(self, x):
        return math.sin(x)

    def __len__(self):
        return int(math.sin(0.0))

    def __lt__(self, other):
        return math.sin(0.0) == 1.0


class Made:
    def __new__(cls, x):
        made = object.__new__(cls)
        made.x = math.sin(x)
        return made


class Meta(type):
    def __call__(cls, x):
        return math.sin(x)


class WithMeta(metaclass=Meta):
    pass


THING = Thing(0.25)

REACHED = {
    "function": (lambda x: plain(x), 1.0),
    "closure": (lambda x: (lambda: math.sin(x))(), 1.0),
    "method": (lambda x: THING.method(), math.cos(THING.x)),
    "static": (lambda x: Thing.static(x), 1.0),
    "class": (lambda x: Thing.cls(x), 1.0),
    "partial": (functools.partial(plain, 0.0), 1.0),
    "partial inside": (lambda x: functools.partial(plain, x)(), 1.0),
    "init": (lambda x: Thing(x).x, 1.0),
    "new": (lambda x: Made(x).x, 1.0),
    "metaclass": (lambda x: WithMeta(x), 1.0),
    "object": (lambda x: THING(x), 1.0),
    "decorated": (lambda x: decorated(plain)(x), 1.0),
    "splat": (lambda x: plain(*[x], **{}), 1.0),
    "sorted": (lambda x: sorted([0.0, 3.0], key=math.sin)[0], 3.0),
    "sorted lambda": (lambda x: sorted([0.0, 3.0], key=lambda v: math.sin(v))[0], 3.0),
    "list.sort": (lambda x: (lambda v: (v.sort(key=plain), v)[1][0])([0.0, 3.0]), 3.0),
    "map": (lambda x: list(map(plain, [x]))[0], 1.0),
    "filter": (lambda x: list(filter(plain, [x])), [0.0]),
    "reduce": (lambda x: functools.reduce(lambda a, b: plain(b), [x, x]), 1.0),
    "max": (lambda x: max(0.0, 3.0, key=plain), 0.0),
    "starmap": (lambda x: list(itertools.starmap(plain, [(x,)])), [1.0]),
    "comprehension": (lambda x: [plain(v) for v in [x]], [1.0]),
    "dict comprehension": (lambda x: {v: plain(v) for v in [x]}, {0.0: 1.0}),
}


@pytest.mark.filterwarnings("ignore::ctxdispatch.dispatch.NativeCallWarning")
@pytest.mark.parametrize("name", REACHED)
def test_recursion_reaches(name):
    f, expected = REACHED[name]
    args = () if isinstance(f, functools.partial) else (0.0,)
    assert overdub(Cosine(), f, *args) == expected


OPERATORS = {
    "add": (lambda x: THING + x, 1.0),
    "iadd": (lambda x: operator.iadd(THING, x), 1.0),
    "radd": (lambda x: x + THING, 1.0),
    "list radd": (lambda x: [] + Reflected(), 1.0),
    "getitem": (lambda x: THING[x], 1.0),
    "len": (lambda x: len(THING), 1),
    "property": (lambda x: THING.prop, math.cos(THING.x)),
    "lt": (lambda x: THING < 1, True),
    "gt": (lambda x: 1 > THING, True),
}


class Reflected:
    def __radd__(self, other):
        return math.sin(0.0)


class CosineAll(Cosine):
    intercepts = ("call", "operator", "compare", "item", "attribute")


@pytest.mark.parametrize("name", OPERATORS)
def test_recursion_reaches_operators_where_they_are_intercepted(name):
    f, expected = OPERATORS[name]
    if name not in ("lt", "gt"):
        assert overdub(CosineAll(), f, 0.0) == expected
    else:
        assert overdub(CosineAll(), f, 0.0) is expected


def test_operator_errors_are_the_interpreter_s():
    class Odd:
        def __add__(self, other):
            return NotImplemented

        def __lt__(self, other):
            return NotImplemented

        def __eq__(self, other):
            return NotImplemented

    odd = Odd()
    for f in (lambda: odd + 1, lambda: 1 + odd, lambda: odd < 1, lambda: [1] + odd, lambda: odd - 1):
        with pytest.raises(TypeError) as plain_error:
            f()
        with pytest.raises(TypeError) as error:
            overdub(CosineAll(), f)
        assert str(error.value) == str(plain_error.value)
    assert overdub(CosineAll(), lambda: (odd == odd, odd == 1, odd != 1)) == (True, False, True)


class Child(Thing):
    def __init__(self, x):
        super().__init__(x)
        self.y = math.sin(x)


def test_super_and_frame_builtins_work_under_hooks():
    def names(a):
        return globals()["__name__"], vars(a), dir(a)

    assert overdub(Cosine(), lambda: Child(0.0).x) == 1.0
    assert overdub(Log([]), lambda: Child(0.0).x) == 0.0
    assert overdub(Log([]), names, THING) == (__name__, vars(THING), dir(THING))


# -- native ----------------------------------------------------------------------------------------


def test_a_context_with_nothing_to_do_runs_the_function_itself():
    class Nothing(Context):
        pass

    def arithmetic(a, b):
        return (a + b) * a[0] if isinstance(a, list) else a * b

    def no_calls(a, b):
        return a - b / a

    assert Nothing().program(arithmetic, (), {}) is arithmetic
    assert Cosine().program(no_calls, (), {}) is no_calls
    assert Mullify().program(no_calls, (), {}) is no_calls
    assert Cosine().program(arithmetic, (), {}) is not arithmetic


def test_generators_handlers_and_with_run_under_the_context():
    def generator(x):
        try:
            yield math.sin(x)
            raise ValueError
        except ValueError:
            yield math.sin(x) + 1.0
        finally:
            with contextlib.suppress(KeyError):
                raise KeyError

    def f(x):
        return list(generator(x))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert overdub(Cosine(), f, 0.0) == [1.0, 2.0]
        assert list(overdub(Cosine(), generator, 0.0)) == [1.0, 2.0]


def test_a_warning_stands_at_the_line_that_warns_under_a_context_with_a_fallback_too():
    class Opaque(Context):
        def fallback(self, f, args, kwargs):
            return f(*args, **kwargs)

    def helper():
        warnings.warn("of the caller", stacklevel=2)
        warnings.warn("here")

    def f():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            helper()
        return [(str(w.message), w.lineno, w.filename) for w in found]

    assert overdub(Opaque(), f) == f()


def test_fallback_is_the_context_s():
    class Ctx(Context):
        def fallback(self, f, args, kwargs):
            return "fallback"

    assert fallback(Ctx(), abs, 1) == "fallback"
    assert fallback(Cosine(), abs, -1) == 1
    assert overdub(Ctx(), lambda x: abs(x), -1) == "fallback"


def test_defaults_closures_and_keyword_only_arguments_stay():
    k = 3

    def f(a, b=math.pi, /, c=2, *rest, d=5, **more):
        return math.sin(0.0) + a + b + c + d + k + sum(rest) + sum(more.values())

    expected = f(1) + 1.0
    assert overdub(Cosine(), f, 1) == expected
    assert overdub(Cosine(), f, 1, 2.0, 3, 4, d=6, e=7) == f(1, 2.0, 3, 4, d=6, e=7) + 1.0
    with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'a'"):
        overdub(Cosine(), f)


def test_nonlocal_and_recursive_closures():
    def f(n):
        total = 0

        def down(k):
            nonlocal total
            total += math.sin(0.0)
            return total if k == 0 else down(k - 1)

        return down(n)

    assert overdub(Cosine(), f, 9) == 10.0


# -- passes ----------------------------------------------------------------------------------------


def test_a_pass_that_collects_callees_and_one_that_replaces_the_body():
    seen = []

    class Collect(Context):
        def transform(self, graph):
            seen.append((graph.name.rpartition(".")[2], tuple(graph.signature.names)))
            return super().transform(graph)

        intercepts = ("call",)

    def helper(a, b):
        return a + b

    def f(x):
        return helper(x, 2) + helper(x, 3)

    assert overdub(Collect(), f, 1) == 7
    assert seen == [("f", ("x",)), ("helper", ("a", "b"))]

    class Seven(Context):
        def transform(self, graph):
            from ctxdispatch.ir.graph import Return
            from ctxdispatch.ir.values import Const

            graph.blocks = graph.blocks[:1]
            graph.entry.ops = []
            graph.entry.terminator = Return(Const(7))
            return graph

    assert overdub(Seven(), f, 1) == 7


# -- contexts within contexts ----------------------------------------------------------------------


def test_three_contexts_deep():
    def f(x):
        return math.sin(x) * 2

    class Shift(Context):
        pass

    @Shift.rule(math.cos)
    def _(ctx, x):
        return x + 10

    assert overdub(Cosine(), f, 0.0) == 2.0
    assert overdub(Mullify(), overdub, Cosine(), f, 0.0) == 3.0
    assert overdub(Shift(), overdub, Mullify(), overdub, Cosine(), f, 0.0) == 12.0


def test_an_outer_context_sees_the_inner_s_program_whatever_protocol_the_inner_uses():
    class Count(Context):
        calls: collections.Counter

        def prehook(self, f, args, kwargs):
            self.calls[f] += 1

    def f(x):
        return abs(x) * 2 + plain(x)

    inner_count, outer_count = Count(collections.Counter()), Count(collections.Counter())
    assert overdub(outer_count, overdub, inner_count, f, 1.0) == f(1.0)
    assert inner_count.calls[abs] == outer_count.calls[abs] == 1
    assert inner_count.calls[operator.mul] == outer_count.calls[operator.mul] == 1
    assert inner_count.calls[math.sin] == outer_count.calls[math.sin] == 1


def test_a_context_run_by_overdubbed_code():
    def f(x):
        return overdub(Cosine(), plain, x) * 3

    assert overdub(Mullify(), f, 0.0) == 4.0


def test_a_context_within_a_context_of_the_same_class():
    class Level(Context):
        level: int
        seen: list

    @Level.rule(math.sin)
    def _(ctx, x):
        ctx.seen.append(ctx.level)
        return math.sin(x)

    seen = []
    assert overdub(Level(1, seen), overdub, Level(2, seen), plain, 0.5) == plain(0.5)
    assert seen == [2, 1]


def test_instances_share_one_code_object():
    def f(x):
        return abs(x)

    class Ctx(Context):
        name: str
        seen: list

        def prehook(self, f, args, kwargs):
            self.seen.append(self.name)

    code_cache.clear()
    seen = []
    for name in "abc":
        overdub(Ctx(name, seen), f, 1)
    assert seen == list("abc") and code_cache.stats().compiled == 1


def test_eight_threads_run_fifty_functions_each_compiled_once():
    source = "def f(x):\n    return math.sin(x) + {}\n"
    functions = []
    for i in range(50):
        namespace = {"math": math}
        exec(source.format(i), namespace)
        functions.append(namespace["f"])
    code_cache.clear()
    results = []

    def work():
        results.append([overdub(Cosine(), f, 0.0) for f in functions])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [[1.0 + i for i in range(50)]] * 8
    assert code_cache.stats() == (50, 50)


class Pair:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        yield from (self.x, 2)


def test_a_program_that_replaces_builtins_does_not_concern_the_engine():
    """The program has been seen before: nothing of it is compiled while they are replaced."""
    replaced = ("tuple", "list", "dict", "type", "isinstance", "len", "iter", "next", "getattr", "hasattr")
    replaced += ("zip", "any", "all", "map", "filter", "id", "range", "max", "min", "super", "vars")

    def broken(*args, **kwargs):
        raise AssertionError("a replaced builtin was called")

    def program():
        def collect(*args, key=1):
            return args

        pair = Pair(3)
        first, second = pair
        with contextlib.nullcontext(first):
            return [pair.x + 1, [*pair], {**{"a": 1}}, f"{first}{second!r}", collect(*pair, key=2), abs(-1)]

    log = Log([])
    plain = overdub(log, program)
    own = vars(builtins).copy()
    vars(builtins).update(dict.fromkeys(replaced, broken))
    try:
        out = overdub(log, program)
    finally:
        own["vars"](builtins).update(own)
    assert out == plain == program()
