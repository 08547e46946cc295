"""Results that an earlier call left, and a later one returns: each way to keep them, with ways to ask for
them, with who called before, and with modes. The derivative is right, or refused; never a silent zero."""

import functools
import json

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd
from ctxdispatch_contexts.programs.errors import DerivativeError

X = np.array([1.0, 2.0])


def computed(p):
    return np.sum(p**2)


# -- one result, beside the argument that it is of -----------------------------------------------------------

SAME = {
    "array_equal": "np.array_equal(p, {last})", "all_equal": "(p == {last}).all()",
    "none_differs": "not np.any(p != {last})", "close": "np.allclose({last}, p)",
    "all_close": "np.isclose(p, {last}).all()", "tuples": "tuple(p) == tuple({last})",
    "lists": "{last}.tolist() == p.tolist()", "one_by_one": "p[0] == {last}[0] and p[1] == {last}[1]",
}  # fmt: skip
KEPT = {
    "attribute": "class M: pass\nm = M()\nm.last = m.value = None\n",
    "cell": "",
    "variable": "last = value = None\n",
    "item": "m = {'last': None, 'value': None}\n",
    "place": "m = [None, None]\n",
    "function": "def m(): pass\nm.last = m.value = None\n",
    "in_place": "filled, m = [], np.zeros((2, 2))\n",
}
NAMES = {
    "attribute": ("m.last", "m.value"), "cell": ("last", "value"), "variable": ("last", "value"),
    "item": ("m['last']", "m['value']"), "place": ("m[0]", "m[1]"), "function": ("m.last", "m.value"),
    "in_place": ("m[0]", "m[1, 0]"),
}  # fmt: skip
BODIES = {
    "returned": """
def f(p):
    {scope}
    if {there} and {same}:
        return {value}
    {store}
    return {value}
""",
    "filled": """
def f(p):
    {scope}
    if not ({there} and {same}):
        {store}
    return {value} * 1.0
""",
    "by_a_helper": """
def is_known(p):
    {scope}
    return {there} and {same}
def fill(p):
    {scope}
    {store}
def f(p):
    if not is_known(p):
        fill(p)
    return 1.0 * {value}
""",
}


def remembering(kept, same, body):
    """A function of its own, which remembers."""
    last, value = NAMES[kept]
    scope = {"cell": "nonlocal last, value", "variable": "global last, value"}.get(kept, "pass")
    store = f"{last} = p.copy(); {value} = computed(p)"
    there = f"{last} is not None"
    if kept == "in_place":
        store, there = f"m[0, :] = p; {value} = computed(p); filled.append(1)", "filled"
    test = SAME[same].format(last=last)
    text = BODIES[body].format(scope=scope, there=there, same=test, store=store, value=value)
    if kept == "cell":
        lines = "".join(f"    {line}\n" for line in text.splitlines())
        text = f"def around():\n    last = value = None\n{lines}    return f\nf = around()\n"
    names = {"np": np, "computed": computed, "__name__": "remembering"}
    exec(KEPT[kept] + text, names)
    return names["f"]


BEFORE = {
    "nobody": lambda f: None, "a_plain_call": lambda f: f(X), "reverse": lambda f: grad(f)(X),
    "forward": lambda f: jacfwd(f)(X),
}  # fmt: skip
MODES = {grad: 2.0 * X, jacfwd: 2.0 * X, hessian: 2.0 * np.eye(2)}


PAIRS = [
    ("nobody", grad), ("a_plain_call", jacfwd), ("reverse", grad), ("forward", grad), ("a_plain_call", grad),
    ("reverse", jacfwd), ("nobody", jacfwd), ("a_plain_call", hessian), ("forward", jacfwd),
]  # fmt: skip


def check(make, number, count=2):
    """Right or refused, whoever called before; and answered where nobody has. `count` of the pairs."""
    for at in range(count):
        before, mode = PAIRS[(number + at) % len(PAIRS)]
        f = make()
        BEFORE[before](f)
        try:
            np.testing.assert_allclose(mode(f)(X), MODES[mode])
        except DerivativeError:
            assert before != "nobody"


def in_turn(every, others):
    """Each of `every`, with one of the others."""
    return [(each, others[i % len(others)]) for i, each in enumerate(every)]


CROSS = [(kept, *pair) for kept in KEPT for pair in in_turn(list(SAME)[:3], list(BODIES))]
CROSS += [("attribute", same, body) for same, body in in_turn(list(SAME)[3:], list(BODIES))]
CASES = [(number, *case) for number, case in enumerate(CROSS)]


@pytest.mark.parametrize("number, kept, same, body", CASES, ids=["-".join(c) for c in CROSS])
def test_a_result_beside_its_argument(number, kept, same, body):
    check(lambda: remembering(kept, same, body), number)


# -- results by keys -----------------------------------------------------------------------------------------

KEYS = {
    "tuple": tuple, "list": lambda p: (*p.tolist(),), "text": str, "shown": repr, "formatted": "{}".format,
    "rounded": lambda p: tuple(p * 1.0), "number": lambda p: p[0] + 10.0 * p[1],
    "hex": lambda p: float(p[0]).hex() + "!" + p[1].hex(), "joined": lambda p: "-".join(map(str, p)),
    "upper": lambda p: str(p).upper(), "part": lambda p: str(p)[1:], "split": lambda p: (*str(p).split(),),
    "encoded": lambda p: json.dumps(p.tolist()),
}  # fmt: skip


def in_a_dict(key):
    memo = {}

    def f(p):
        k = key(p)
        if k not in memo:
            memo[k] = computed(p)
        return memo[k]

    return f


def by_get(key):
    memo = {}

    def f(p):
        found = memo.get(key(p))
        if found is None:
            found = memo[key(p)] = computed(p)
        return found * 1.0

    return f


def by_exception(key):
    memo = {}

    def f(p):
        try:
            return memo[key(p)]
        except KeyError:
            memo[key(p)] = computed(p)
            return memo[key(p)]

    return f


def by_attribute(key):
    class Model:
        def __init__(self):
            self.memo = {}

        def __call__(self, p):
            if key(p) in self.memo:
                return self.memo[key(p)][0] * 1.0
            self.memo[key(p)] = [computed(p)]
            return self.memo[key(p)][0]

    return Model()


WAYS = [in_a_dict, by_get, by_exception, by_attribute]
BY_KEYS = [(number, key, WAYS[number % len(WAYS)]) for number, key in enumerate([*KEYS, *KEYS])]


@pytest.mark.parametrize("number, key, way", BY_KEYS, ids=lambda part: getattr(part, "__name__", str(part)))
def test_results_by_keys(number, key, way):
    check(lambda: way(KEYS[key]), number)


def in_two_lists():
    points, values = [], []

    def f(p):
        for q, v in zip(points, values):
            if np.array_equal(p, q):
                return v
        points.append(p.copy())
        values.append(computed(p))
        return values[-1]

    return f


def by_functools():
    @functools.lru_cache
    def cached(*p):
        return sum(q * q for q in p)

    return lambda p: cached(*p)


def by_scipy():
    memoised = pytest.importorskip("scipy.optimize._optimize").MemoizeJac
    return memoised(lambda p: (computed(p), 2.0 * p))


def the_gradient_of_scipy():
    memoised = pytest.importorskip("scipy.optimize._optimize").MemoizeJac(lambda p: (computed(p), 2.0 * p))
    return lambda p: np.sum(memoised.derivative(p) ** 2) / 4.0


@pytest.mark.parametrize(
    "make", [in_two_lists, by_functools, by_scipy, the_gradient_of_scipy], ids=lambda f: f.__name__
)
def test_other_ways_to_remember(make):
    check(make, 1, 3)


# -- what is read only, and was put there by others ----------------------------------------------------------


class Known:
    def __init__(self):
        self.point, self.value, self.table = X.copy(), 5.0, {"p": X.copy(), "v": 5.0}
        self.by_key, self.points = {1.0: 1.0}, [0.5, 1.0]

    def returned(self, p):
        if np.array_equal(p, self.point):
            return self.value
        return computed(p)

    def on_one_path(self, p):
        found = self.value if (p == self.point).all() else computed(p)
        return found * 1.0

    def in_part(self, p):
        value = self.value if p[0] == self.point[0] else p[0] ** 2 + 4.0
        return value + p[1] ** 2 - 4.0

    def in_part_within_try(self, p):
        try:
            value = self.value if p[0] == self.point[0] else p[0] ** 2 + 4.0
            return value + p[1] ** 2 - 4.0
        finally:
            pass

    def by_distance(self, p):
        return self.value if abs(p[0] - self.point[0]) < 1e-9 else computed(p)

    def by_distance_of_arrays(self, p):
        if np.max(np.abs(self.point - p)) > 1e-9:
            return computed(p)
        return self.value

    def by_norm_within_try(self, p):
        try:
            return self.value if 1e-9 >= np.linalg.norm(p - self.point) else computed(p)
        finally:
            pass

    def by_norm(self, p):
        return self.value if np.linalg.norm(p - self.point) < 1e-9 else computed(p)

    def by_key_in_part(self, p):
        value = self.by_key[p[0]] if p[0] in self.by_key else p[0] ** 2
        return value + p[1] ** 2

    def got_in_part(self, p):
        value = self.by_key.get(p[0])
        if value is None:
            value = p[0] ** 2
        return value + p[1] ** 2

    def in_a_list_in_part(self, p):
        value = self.value if p[0] in self.points else p[0] ** 2 + 4.0
        return value + p[1] ** 2 - 4.0

    def in_a_table(self, p):
        return self.table["v"] if np.allclose(p, self.table["p"]) else computed(p)


@pytest.mark.parametrize("name", [name for name in vars(Known) if not name.startswith("__")])
@pytest.mark.parametrize("mode", [grad, jacfwd])
def test_what_others_have_put_there(mode, name):
    with pytest.raises(DerivativeError):
        mode(getattr(Known(), name))(X)
    np.testing.assert_allclose(mode(getattr(Known(), name))(X + 1.0), 2.0 * (X + 1.0))


# -- what remembers nothing ----------------------------------------------------------------------------------


class Model:
    """Compares, and has data that nothing stores to."""

    def __init__(self):
        self.low, self.scale, self.n, self.start = 1.0, 3.0, 2, X.copy()
        self.data, self.calls, self.table = np.array([[1.0, 2.0], [3.0, 4.0]]), 0, {"w": np.array([1.0, 2.0])}

    def at_a_bound(self, p):
        return self.scale * p[0] if p[0] == self.low else p[0] * p[1]

    def by_a_count(self, p):
        return self.scale * p[0] if self.n == 2 else p[1]

    def at_the_start(self, p):
        if np.array_equal(p, self.start):
            self.calls += 1
        return np.sum(self.data @ p)

    def that_converges(self, p):
        root = p[0] * 1.0
        while abs(root * root - p[0]) > 1e-12:
            root = 0.5 * (root + p[0] / root)
        return root * self.scale

    def within_reach(self, p):
        return self.scale if abs(p[0] - self.n) < 0.5 else p[1] * p[0]

    def in_a_handler(self, p):
        try:
            if np.array_equal(p, self.start):
                self.calls += 1
            return np.sum(self.data @ p)
        finally:
            self.calls += 1

    def of_literals(self, p):
        try:
            return self.scale * p[0] if p[0] == 1.0 else p[1]
        finally:
            self.calls += 1

    def of_two_arguments(self, p):
        try:
            return self.scale * p[0] if p[0] == p[1] - 1.0 else p[1]
        finally:
            self.calls += 1


INNOCENT = {
    "at_a_bound": [3.0, 0.0], "that_converges": [3.0, 0.0], "within_reach": [2.0, 1.0],
    "by_a_count": [3.0, 0.0], "at_the_start": [4.0, 6.0],
    "in_a_handler": [4.0, 6.0], "of_literals": [3.0, 0.0], "of_two_arguments": [3.0, 0.0],
}  # fmt: skip


@pytest.mark.parametrize("name", INNOCENT)
@pytest.mark.parametrize("mode", [grad, jacfwd])
def test_what_compares_and_remembers_nothing(mode, name):
    f = getattr(Model(), name)
    for _ in range(2):
        np.testing.assert_allclose(mode(f)(X), INNOCENT[name])
