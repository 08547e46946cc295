"""Programs of one call each, of whatever Python's own C modules have: `programs(seed, count)`.

A callable gets operands that are drawn at random, one at least of which depends on x. What the call returns,
and what its operands hold afterwards, is read as a plain run shows that it can be: numbers at a few paths.
`verdict(source)` runs every mode on it.
"""

import array
import bisect
import cmath
import collections
import copy
import datetime
import decimal
import fractions
import functools
import heapq
import itertools
import json
import math
import operator
import os
import random
import re
import statistics
import struct
import textwrap
import warnings
from types import SimpleNamespace

import numpy as np

from ctxdispatch import DerivativeError, grad, jacfwd
from ctxdispatch_contexts.sparsity import SparsityError, jacobian_sparsity

MORE = int(os.environ.get("TESTS_MORE", "1"))
"""So many times the sample that the tests are otherwise."""

MODULES = {
    m.__name__: m
    for m in (
        operator, itertools, collections, datetime, decimal, fractions, statistics, struct, array, heapq,
        bisect, copy, functools, random, re, json, math, cmath,
    )
}  # fmt: skip
NAMESPACE = {**MODULES, "builtins": __import__("builtins"), "np": np, "SimpleNamespace": SimpleNamespace}

ACTIVE = (
    "x", "x * x", "[x, 2.0]", "[x * x, x]", "(x, 3.0)", '{"a": x}', "{x}", "collections.deque([x, 2.0])",
    "iter([x, 2.0])", "(v * x for v in (1.0, 2.0))", "(lambda *v: v[0] * x)", "np.array([x, 2.0])",
    "np.array(x)", "map(lambda v: v * x, (1.0, 2.0))", "[[x, 1.0], [2.0, x]]", '[("a", x)]',
    "zip([x], [2.0])", "SimpleNamespace(a=x)", "complex(x, 1.0)", "np.float64(x)",
    'collections.OrderedDict(a=x)',
)  # fmt: skip
INACTIVE = (
    "2", "0", "1.25", "[1.25, 2.0]", "(2.0, 3.0)", '{"a": 2.0}', "operator.mul", '"abc"', '"d"', "None",
    "datetime.timedelta(seconds=1)", 'decimal.Decimal("2")', "fractions.Fraction(3, 2)",
    'array.array("d", [1.0, 2.0])', "collections.Counter(a=2)", "collections.deque([1.0])", "bytearray(8)",
    "(lambda *v: v[0])", "slice(0, 1)", "iter([1, 0])", "range(2)", "{2.0}",
    "datetime.datetime(2020, 1, 1)", "np.array([1.0, 2.0])", "list", "float", "[]", "(1, 0)",
    '[("a", 2.0)]',
)  # fmt: skip
INSTANCES = (
    "datetime.timedelta(seconds=1)", "datetime.datetime(2020, 1, 1)", "datetime.date(2020, 1, 1)",
    'decimal.Decimal("2")', "fractions.Fraction(3, 2)", 'array.array("d", [1.0, 2.0])',
    "collections.Counter(a=x)", "collections.deque([x, 1.0])", "[x, 2.0]", "(x, 2.0)", '{"a": x}',
    "{x, 2.0}", "frozenset([x])", "1.5", "x", "2", '"abc"', "bytearray(16)", 'struct.Struct("d")',
    're.compile("a")', "random.Random(1)", "itertools.count(x)", "itertools.cycle([x, 2.0])",
    "itertools.chain([x], [2.0])", "iter([x, 2.0])", "map(lambda v: v * x, (1.0, 2.0))", "zip([x], [2.0])",
    "itertools.zip_longest([x, x], [x], fillvalue=0.0)", "itertools.accumulate([x, x])",
    "itertools.product([x], [x, 2.0])", "enumerate([x, 2.0])", "reversed([x, 2.0])",
    "itertools.repeat(x, 2)", "itertools.groupby([x, x, 2.0])", "itertools.islice([x, x], 2)",
    "itertools.tee([x, 2.0])[0]", "collections.OrderedDict(a=x)", "slice(x, x)",
    'collections.defaultdict(float, a=x)', "collections.ChainMap({'a': x})",
    "memoryview(np.array([x, 2.0]))", "functools.partial(operator.mul, x)", "{'a': x}.values()",
    "{'a': x}.items()", 'decimal.Context()', "json.JSONEncoder()", "np.array([x, 2.0])", "range(2)",
    "complex(x, 2.0)", 'statistics.NormalDist(1.0, 2.0)', "filter(None, [x, 2.0])",
    "itertools.starmap(operator.mul, [(x, x)])", "itertools.takewhile(lambda v: v < 9, [x, 2.0])",
    "itertools.combinations([x, x, 2.0], 2)", "itertools.permutations([x, 2.0])",
    "itertools.compress([x, x], [1, 1])", "itertools.pairwise([x, x, 2.0])", "operator.itemgetter(0)",
    "iter((x, 2.0))", "iter({'a': x}.values())", "iter(lambda: x, None)", "collections.UserList([x, 2.0])",
    "datetime.time(1)", "heapq.merge([x], [2.0])",
)  # fmt: skip

UNFIT = {
    "builtins": """print input open breakpoint exit quit help copyright credits license eval exec compile
        __import__ globals locals vars dir id hash __build_class__ __loader__ object super type _""",
    "statistics": "main",
    "random": "seed SystemRandom setstate",
    "json": "main test",
    "re": "purge template",
    "decimal": "setcontext getcontext localcontext",
    "functools": "singledispatch singledispatchmethod wraps",
}
METHODS_LEFT_OUT = """
    __init_subclass__ __subclasshook__ __class__ __new__ __getattribute__ __delattr__ __dir__ __doc__ __repr__
    __str__ __format__ __hash__ __reduce__ __reduce_ex__ __getstate__ __sizeof__ __class_getitem__ seed
    __setattr__
""".split()
"""What ends the process or waits, tells of addresses, or has another number as its state."""


def callables():
    """(how it is written, None) of functions, and (the instance, the method) of methods."""
    for name, module in {"builtins": NAMESPACE["builtins"], **MODULES}.items():
        out = UNFIT.get(name, "").split()
        public = [n for n in sorted(vars(module)) if is_public(n) and n not in out]
        for n in public:
            f = getattr(module, n)
            if callable(f) and not (isinstance(f, type) and issubclass(f, (BaseException, Warning))):
                yield f"{name}.{n}", None
    for instance in INSTANCES:
        made = eval(instance, {**NAMESPACE, "x": 1.5})
        for n in sorted(set(dir(type(made)))):
            if n not in METHODS_LEFT_OUT and callable(getattr(type(made), n, None)) and is_public(n):
                yield instance, n


def is_public(name):
    return not name.startswith("_") or name.endswith("__")


def programs(seed, count, tries=12):
    """Sources of `count` programs whose plain runs give numbers."""
    rng, every, seen = random.Random(seed), [*callables()], set()
    while len(seen) < count:
        f, method = rng.choice(every)
        for _ in range(tries):
            source = drawn(rng, f, method)
            if source is not None and source not in seen:
                seen.add(source)
                yield source
                break


def drawn(rng, f, method):
    """One call of it with operands drawn, None where it shows nothing."""
    n = rng.choice((0, 1, 1, 2)) if method else rng.choice((1, 1, 2, 2, 2, 3))
    operands = [rng.choice(ACTIVE if rng.random() < 0.6 else INACTIVE) for _ in range(n)]
    if not any("x" in o for o in (f, *operands)):
        return None
    names = [f"a{i}" for i in range(n)]
    lines = [f"{a} = {o}" for a, o in zip(names, operands)]
    if method:
        lines.insert(0, f"s = {f}")
    call = f"s.{method}({', '.join(names)})" if method else f"{f}({', '.join(names)})"
    body = [*lines, f"y = {call}"]
    given = _namespace(body)
    if given is None:
        return None
    terms = [
        f"{w} * {path}"
        for path, w in zip(_all_paths(given, [*(["s"] if method else []), *names, "y"]), WEIGHTS)
    ]
    if not terms:
        return None
    return "def f(x):\n" + textwrap.indent("\n".join([*body, f"return {' + '.join(terms)}"]), "    ") + "\n"


WEIGHTS = (1.0, 0.5, 2.0, 0.25, 4.0, 3.0)


def _namespace(body):
    given = {**NAMESPACE, "x": 1.5}
    random.seed(0)
    try:
        exec("\n".join(body), given)
    except Exception:
        return None
    return given


def _all_paths(given, names):
    return [path for name in reversed(names) for path in _paths(name, given[name], 3)]


def _paths(path, v, depth):
    """Expressions that read numbers out of v."""
    cls = type(v)
    if cls in (float, np.float64) or (cls is np.ndarray and v.ndim == 0 and v.dtype.kind == "f"):
        return [path] if math.isfinite(float(v)) else []
    if not depth:
        return []
    if cls is complex:
        return [f"{path}.real"]
    if (
        isinstance(v, (list, tuple, collections.deque, array.array, collections.UserList))
        or cls is np.ndarray
    ):
        return [p for i in range(min(len(v), 2)) for p in _paths(f"{path}[{i}]", v[i], depth - 1)]
    if isinstance(v, dict):
        return [p for k in [*v][:2] if isinstance(k, str) for p in _paths(f"{path}[{k!r}]", v[k], depth - 1)]
    if isinstance(v, (set, frozenset)):
        return [f"sum({path})"] if v and all(isinstance(i, float) for i in v) else []
    if cls is SimpleNamespace:
        return [p for k in vars(v) for p in _paths(f"{path}.{k}", vars(v)[k], depth - 1)]
    if cls is datetime.timedelta:
        return [f"{path}.total_seconds()"]
    if isinstance(v, (decimal.Decimal, fractions.Fraction)):
        return [f"float({path})"]
    if isinstance(v, bytes) and len(v) == 8:
        return [f'struct.unpack("d", {path})[0]']
    if hasattr(v, "__next__"):
        try:
            return _paths(f"next({path})", next(v), depth - 1)
        except Exception:
            return []
    if isinstance(v, statistics.NormalDist):
        return [f"{path}.mean", f"{path}.stdev"]
    return [
        p for n in ("a", "start") if hasattr(v, n) for p in _paths(f"{path}.{n}", getattr(v, n), depth - 1)
    ]


# -- what a program comes to --------------------------------------------------------------------------------


def made(source, recorded=False):
    if recorded:
        body = source.split("\n", 1)[1]
        source = (
            "def f(x):\n    try:\n" + textwrap.indent(body, "    ") + "    except KeyError:\n        raise\n"
        )
    given = dict(NAMESPACE)
    exec(compile(source, "<foreign call>", "exec"), given)
    return given["f"]


def _plain(f, x):
    random.seed(0)
    return f(x)


def central(f, x=1.5):
    """The derivative, None where two steps do not agree."""
    found = [(_plain(f, x + h) - _plain(f, x - h)) / (2 * h) for h in (1e-5, 3e-5)]
    return found[0] if np.isclose(*found, rtol=1e-4, atol=1e-5) else None


def outcome(mode, f, x=1.5):
    random.seed(0)
    try:
        return mode(f)(x)
    except (DerivativeError, SparsityError):
        return None


def by_pattern(f):
    """Whether the pattern has the one entry that there is."""

    def at(x):
        return bool(np.asarray(jacobian_sparsity(f, x).toarray()).any())

    return at


MODES = {
    "compiled": lambda s: (grad, made(s)), "recorded": lambda s: (grad, made(s, True)),
    "forward": lambda s: (jacfwd, made(s)), "forward recorded": lambda s: (jacfwd, made(s, True)),
}  # fmt: skip


def verdict(source):
    """{mode: "right", "refused", "undefined" (nan) or what is wrong}; None: there is no derivative here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = central(made(source))
        except Exception:
            return None
        if want is None:
            return None
        found = {name: _judged(*make(source), want) for name, make in MODES.items()}
        found["pattern"] = _pattern(made(source), want)
    return found


def _judged(mode, f, want):
    try:
        got = outcome(mode, f)
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"
    if got is None:
        return "refused"
    try:
        if np.isnan(got).any():
            return "undefined"
        close = np.allclose(got, want, rtol=1e-3, atol=1e-4)
        return "right" if close else f"wrong: {got}, not {want}"
    except TypeError:
        return f"wrong: {got}, not {want}"


def _pattern(f, want):
    try:
        found = outcome(by_pattern, f)
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"
    return "refused" if found is None else "right" if found or abs(want) < 1e-9 else "wrong: empty"
