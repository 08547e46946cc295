"""What `explain` says to write in place of what is recorded: each program beside the one that follows it,
which is compiled, and has the same gradient."""

import numpy as np
import pytest

from ctxdispatch import explain, grad, stop_gradient
from ctxdispatch_contexts.programs.live import forget_all

X = np.array([0.5, 1.5])
KEPT, BY_NAME = [], {}


class Model:
    def __init__(self):
        self.last = None


MODEL = Model()

ROWS = {}


def row(reason, remedy, **how):
    """Around a class with the programs `before` and `after`."""

    def enter(cls):
        ROWS[cls.__name__] = cls.before, cls.after, reason, remedy, how
        return cls

    return enter


@row("the method `sum` of `x * np.random.default_rng(1).choice(2, size=2)`", "call `np.sum(..)`")
class Random:
    def before(x):
        return (x * np.random.default_rng(1).choice(2, size=2)).sum()

    def after(x):
        return np.sum(x * np.random.default_rng(1).choice(2, size=2))


@row("what `[np.sin, np.cos][int(x[0])](x)` does", "by the name that its module gives it")
class FunctionInAList:
    def before(x):
        return np.sum([np.sin, np.cos][int(x[0])](x))

    def after(x):
        return np.sum(np.sin(x))


@row("numpy.histogram has no derivative rule", "stop_gradient")
class NoRule:
    def before(x):
        return np.sum(np.histogram(x, 2)[0]) * np.sum(x)

    def after(x):
        return np.sum(np.histogram(stop_gradient(x), 2)[0]) * np.sum(x)


@row("list.append changes differentiated data", "has_aux=True", has_aux=True)
class Append:
    def before(x):
        KEPT.append(np.sum(x))
        return np.sum(x * x)

    def after(x):
        return np.sum(x * x), np.sum(x)


@row("item assignment changes differentiated data", "has_aux=True", has_aux=True)
class Item:
    def before(x):
        BY_NAME["sum"] = np.sum(x)
        return np.sum(x * x)

    def after(x):
        return np.sum(x * x), np.sum(x)


@row("item assignment changes differentiated data", "np.concatenate")
class OwnMemory:
    def before(x):
        y = np.outer(x, x)
        y[0] = y[:, 0]
        return np.sum(y)

    def after(x):
        y = np.outer(x, x)
        return np.sum(np.concatenate([y[None, :, 0], y[1:]]))


@row("numpy.ndarray.sort changes differentiated data", "np.sort")
class Sort:
    def before(x):
        y = np.sin(x)
        y.sort()
        return y[0]

    def after(x):
        return np.sort(np.sin(x))[0]


@row("list.sort changes differentiated data", "sorted")
class SortList:
    def before(x):
        y = [x[1], x[0]]
        y.sort()
        return y[0] * 2.0

    def after(x):
        return sorted([x[1], x[0]])[0] * 2.0


@row("numpy.nditer may change, or keep, differentiated data", "for v in x")
class Nditer:
    def before(x):
        return sum(float(v) * 2.0 for v in np.nditer(x))

    def after(x):
        return sum(v * 2.0 for v in x)


@row("the global variable 'TOTAL' is given a value", "return the value", has_aux=True)
class Variable:
    def before(x):
        global TOTAL
        TOTAL = np.sum(x)
        return TOTAL * 2.0

    def after(x):
        total = np.sum(x)
        return total * 2.0, total


@row("generator function has no program", "build a list and return it")
class Generator:
    def before(x):
        def items():
            for v in x:
                yield v * 2.0

        return sum(a * b for a, b in zip(items(), items()))

    def after(x):
        items = [v * 2.0 for v in x]
        return sum([a * b for a, b in zip(items, items)])


def compiles(f, **how):
    report = explain(grad(f, **how))(X)
    return [region.tier for region in report.regions] == ["compiled whole"] * len(report.regions)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ROWS)
def test_what_is_said_helps(name):
    before, after, reason, remedy, how = ROWS[name]
    region = explain(grad(before))(X).regions[0]
    line = before.__code__.co_firstlineno
    at = int(region.line.partition(" in ")[0].rpartition(":")[2])
    assert line < at <= max(n for *_, n in before.__code__.co_lines() if n) + 1 or name == "Generator"
    assert reason in region.reason and remedy in region.remedy
    assert "(in place)" not in region.reason
    assert compiles(after, **how)
    found = grad(after, **how)(X)
    np.testing.assert_allclose(found[0] if how else found, grad(before)(X))


def test_columns_are_those_of_what_is_meant():
    def recorded(x):
        return np.sum(x) + [np.sin, np.cos][int(x[0])](x)[0]

    column = explain(grad(recorded))(X).regions[0].column
    assert column == len("        return np.sum(x) + ")
    forget_all()
