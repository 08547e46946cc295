"""Every name that must have a derivative, and how it does.

    python -m tests.derivatives.report [--examples N] [--only NAME]

Per name, over random arguments (shapes, memory layouts, flags): reverse mode, forward mode and second order
against central differences; whether arguments were complex; which keyword arguments were given; which others
were, one at a time (`keyword_values.py`), and which it refused or was not given at all.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from keyword_values import documented, positional, variants  # noqa: E402
from names import IN_RECORDED_RUNS, NAMES, ZERO  # noqa: E402

STEP = 1e-5


def functions():
    """(module name, name, function)"""
    for module, names in NAMES.items():
        home = importlib.import_module(module)
        for name in names.split():
            if hasattr(home, name):  # older NumPy lacks some
                yield module, name, getattr(home, name)


def missing():
    """Names without a derivative."""
    from ctxdispatch_contexts.derivatives import table
    from ctxdispatch_contexts.programs.activity import has_derivative, has_zero_derivative

    found = [
        f"{module}.{name}"
        for module, name, f in functions()
        if name not in IN_RECORDED_RUNS and not (has_derivative(f) or table.lowering(f) is not None)
    ]
    return found + [f"numpy.{name}" for name in ZERO.split() if not has_zero_derivative(getattr(np, name))]


def cases_of(f):
    from derivative_cases import CASES

    return [case for case in CASES if case.callee is f]


def drawn(case, n):
    """So many (args, kwargs) of a case."""
    from hypothesis import HealthCheck, Phase, given, settings

    found = []

    @settings(max_examples=n, database=None, deadline=None, derandomize=True, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case.arguments)
    def collect(example):
        found.append(example)

    collect()
    return found


class Row:
    """What was seen of one name."""

    def __init__(self, name):
        self.name = name
        self.reverse = self.forward = self.second = self.examples = 0
        self.complex = False
        self.keywords = set()
        self.right = set()
        self.refused = {}
        self.problems = []

    def left_out(self, f):
        """Documented keyword arguments that were never given."""
        return [name for name in documented(f) if name not in {*self.keywords, *self.right, *self.refused}]


def examine(module, name, f, n, keywords=True):
    row = Row(f"{module}.{name}")
    for case in cases_of(f):
        through, largest = case.options.get("through", lambda a: a), (0, None)
        for args, kwargs in drawn(case, n):
            before = row.examples
            try:
                _examine(row, f, args, kwargs, through)
            except Exception as error:  # reported, not hidden
                row.problems.append(_first_line(error))
            if row.examples > before:
                largest = max(largest, (_size(args), (args, kwargs)), key=lambda each: each[0])
        if keywords and largest[1] is not None:
            _give_keywords(row, f, *largest[1], through)
    return row


def _size(args):
    from derivative_checker import leaves

    return sum(map(np.size, leaves(args)))


def _give_keywords(row, f, args, kwargs, through):
    """Each other keyword that there is a value for."""
    for name, g in variants(f, args, kwargs):
        if name in {*row.keywords, *row.right}:
            continue
        seen = Row(name)
        try:
            _examine(seen, g, args, kwargs, through)
        except (TypeError, NotImplementedError) as error:
            row.refused[name] = _first_line(error)
            continue
        if min(seen.reverse, seen.forward, seen.second) < seen.examples:
            row.problems.append(f"WRONG with {name}=")
        elif seen.examples:
            row.right.add(name)


def _first_line(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:110]


def _examine(row, f, args, kwargs, through):
    """`through`: what makes the first argument one that `f` is for."""
    from derivative_checker import leaves, random_like, replace

    from ctxdispatch import grad, jvp, value_and_grad

    rng = np.random.default_rng(0)
    points = leaves(args)
    if not points or not all(np.size(p) for p in points):
        return

    def applied(first, *others):
        return f(through(first), *others, **kwargs)

    w = [random_like(y, rng) for y in leaves(applied(*args))]

    def loss(*xs):
        y = applied(*replace(args, iter(xs)))
        return sum(np.sum(np.real(np.multiply(a, b))) for a, b in zip(w, leaves(y), strict=True))

    along = [random_like(p, rng) for p in points]

    def moved(t):
        return [p + t * d for p, d in zip(points, along, strict=True)]

    def inner(gs):
        return sum(np.sum(np.real(np.multiply(g, d))) for g, d in zip(gs, along, strict=True))

    wrt = tuple(range(len(points)))
    slopes = [(loss(*moved(h)) - loss(*moved(-h))) / (2 * h) for h in (STEP, STEP / 4)]
    if not np.isclose(*slopes, rtol=1e-4, atol=1e-6):
        return  # at a kink
    row.examples += 1
    row.complex |= any(map(np.iscomplexobj, points))
    row.keywords |= {*kwargs, *positional(f, args)[1:]}
    gradient = grad(loss, wrt)
    value, found = value_and_grad(loss, wrt)(*points)
    row.reverse += bool(np.isclose(inner(found), slopes[0], rtol=1e-4, atol=1e-5))
    pushed = jvp(loss, points, along)[1]
    row.forward += bool(np.isclose(pushed, slopes[0], rtol=1e-4, atol=1e-5))
    steps = (STEP, STEP / 4)
    bends = [(inner(gradient(*moved(h))) - inner(gradient(*moved(-h)))) / (2 * h) for h in steps]
    second = jvp(lambda *xs: inner(gradient(*xs)), points, along)[1]
    near = {"rtol": 1e-3, "atol": 1e-4}
    row.second += bool(np.isclose(second, bends[0], **near) or not np.isclose(*bends, **near))


def _wrong_keyword(row):
    return any(problem.startswith("WRONG") for problem in row.problems)


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--examples", type=int, default=4, help="for each case of a function")
    parser.add_argument("--only", default="", help="names that contain this")
    options = parser.parse_args()
    from tqdm import tqdm

    warnings.simplefilter("ignore")
    chosen = [each for each in functions() if options.only in f"{each[0]}.{each[1]}"]
    functions_by_name = {f"{module}.{name}": f for module, name, f in chosen}
    rows = [examine(*each, options.examples) for each in tqdm(chosen, disable=not sys.stderr.isatty())]
    print(f"{'name':32} {'examples':>8} {'reverse':>8} {'forward':>8} {'second':>7} complex  given")
    for row in rows:
        print(
            f"{row.name:32} {row.examples:8} {row.reverse:8} {row.forward:8} {row.second:7} "
            f"{'yes' if row.complex else '':8} {' '.join(sorted(row.keywords))}"
        )
        if row.right:
            print(f"    and with {' '.join(sorted(row.right))}")
        for name, why in sorted(row.refused.items()):
            print(f"    refused: {name}: {why}")
        if left := row.left_out(functions_by_name[row.name]):
            print(f"    never given: {' '.join(left)}")
        for problem in sorted(set(row.problems)):
            print(f"    {problem}")
    wrong = [r.name for r in rows if min(r.reverse, r.forward, r.second) < r.examples or _wrong_keyword(r)]
    none = [r.name for r in rows if not r.examples]
    print(f"{len(rows)} names; without a derivative: {missing() or 'none'};")
    print(f"in some example wrong: {wrong or 'none'};")
    print(f"without an example (they have cases of their own in the tests): {none or 'none'}")


if __name__ == "__main__":
    main()
