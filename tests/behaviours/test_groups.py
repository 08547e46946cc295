"""Numbers that are put into groups: lists in dicts that the program makes, under keys that it knows. Value,
state, error and gradient are plain Python's, whatever else is done with the dict."""

from collections import defaultdict

import numpy as np
import pytest

from ctxdispatch import explain, grad, jvp
from tests.recording import RECORDED

X = np.array([0.5, -1.5, 2.0, 0.25, -0.75, 1.25])
KEYS = ["a", "b", "a", "c", "b", "a"]
SOURCE = """
g = {}
for i, k in enumerate(KEYS):
    g.setdefault(k, []).append(x[i])
return sum(sum(v) ** 2 for v in g.values())

setdefault_zipped:
g = {}
for k, v in zip(KEYS, x):
    g.setdefault(k, []).append(v * v)
t = 0.0
for k, vs in g.items():
    t = t + sum(vs) ** 2 * len(vs) * (1.0 + len(k))
return t

defaults:
g = defaultdict(list)
for k, v in zip(KEYS, x):
    g[k].append(v)
return sum(np.prod(np.array(v)) for v in g.values()) * len(g)

not_in:
g = {}
for k, v in zip(KEYS, x):
    if k not in g:
        g[k] = []
    g[k].append(v * v)
return sum(np.mean(v) for v in g.values())

within:
g = {}
for k, v in zip(KEYS, x):
    if k in g:
        g[k].append(v)
    else:
        g[k] = [v, v * v]
return np.sum(g["a"]) * np.sum(g["b"]) * g["c"][0]

counted:
g = {}
for k, v in zip(KEYS, x):
    g[k] = g.get(k, 0.0) + v * v
return sum(v ** 2 for v in g.values())

summed:
g = defaultdict(float)
for k, v in zip(KEYS, x):
    g[k] += v * v
return g["a"] * g["b"] + g["c"] + g["missing"]

of_keys:
g = {}
for k, v in zip(KEYS, x):
    g.setdefault(k, []).append(v)
return sum([g[k][-1] * len(k) for k in sorted(g)]) * len(list(g)) * max(len(v) for v in g.values())

two_levels:
g = {}
for (k, j), v in zip([("a", 1), ("b", 2), ("a", 2), ("a", 1)], x):
    g.setdefault(k, {}).setdefault(j, []).append(v)
return sum(g["a"][1]) * sum(g["a"][2]) + g["b"][2][0] ** 2

pairs:
g = {}
for k, v in zip([(0, 1), (1, 0), (0, 1)], x):
    g.setdefault(k, []).append(v)
return sum(g[0, 1]) ** 2 * g[1, 0][0]

numbers:
g = {}
for k, v in zip([0, 1, 0, 2], x):
    g.setdefault(k, []).append(v * v)
return sum(sum(v) * (k + 1.0) for k, v in g.items())

equal_keys:
g = {}
g.setdefault(1, []).append(x[0])
g.setdefault(True, []).append(x[1])
g.setdefault(1.0, []).append(x[2])
return sum(sum(v) ** 2 for v in g.values()) * len(g)

default_that_is_made_in_vain:
g, made = {"a": [x[0]]}, []
def new():
    made.append(1)
    return []
g.setdefault("a", new()).append(x[1])
return sum(g["a"]) ** 2 * len(made)

no_default:
g = {"a": x[0]}
g.setdefault("b")
return g["a"] ** 2 * (1.0 if g["b"] is None and g.get("c") is None else 2.0)

put_in_again:
g = {"a": [x[0]], "b": [x[1]]}
g["a"] = [x[2]]
g.setdefault("c", []).append(x[3])
del g["b"]
g["b"] = [x[4]]
return sum((i + 1.0) * v[0] ** 2 for i, v in enumerate(g.values()))

popped:
g = {}
for k, v in zip(KEYS, x):
    g.setdefault(k, []).append(v)
last = g.pop("a")
g.setdefault("a", []).append(x[0])
return sum(last) ** 2 + sum(sum(v) * (i + 1.0) for i, v in enumerate(g.values()))

another_name:
g = {}
h = g
h.setdefault("a", []).append(x[0])
g.setdefault("a", []).append(x[1])
return sum(h["a"]) ** 2 * len(g)

one_or_two_dicts:
g = {}
h = g if x[0] > 0 else {}
h.setdefault("a", []).append(x[1])
g.setdefault("a", []).append(x[2])
return sum(g["a"]) ** 2 + sum(h["a"])

dicts_that_are_swapped:
g, h = {"a": x[0]}, {"a": x[1]}
for i in range(5):
    g, h = h, g
    g["a"] = g.get("a", 0.0) * 2.0 + h.setdefault("b", x[2])
return g["a"] * h["a"]

kept_by_a_function:
g = {}
def put(k, v):
    g.setdefault(k, []).append(v)
for k, v in zip(KEYS, x):
    put(k, v)
return sum(sum(v) ** 2 for v in g.values())

one_list_under_two_keys:
g, own = {}, []
g.setdefault("a", own).append(x[0])
g.setdefault("b", own).append(x[1])
own.append(x[2])
return sum(g["a"]) ** 2 * len(g["b"])

given_away:
g = {"a": [x[0]]}
change(g)
g.setdefault("b", []).append(x[1])
return sum(sum(v) ** 2 for v in g.values())

looked_through_by_another:
g = {"a": [x[0]]}
g.setdefault("b", []).append(x[1])
return total(g) * len(g)

view_that_is_kept:
g = {"a": x[0]}
view = g.values()
g["b"] = x[1]
return sum(view) ** 2

view_of_later:
g = {"a": x[0] * 2.0}
items = g.items()
g["a"] = x[1] * 3.0
return sum(v * v for k, v in items)

added_in_place:
g, out = {"a": []}, []
for v in x:
    g["a"] += [v * v]
    out += (v, 2.0 * v)
same = out
out += g["a"]
return sum(g["a"]) ** 2 + sum(v * v for v in same)

array_added_in_place:
out = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
out += x
return np.sum(out * x)

that_varies:
g = {}
for i in range(6):
    g.setdefault("a" if x[i] > 0 else "b", []).append(x[i])
return sum(sum(v) ** 2 for v in g.values())

made_under_a_condition:
g = {}
if x[0] > 0:
    g["b"] = x[1]
g["a"] = x[2]
g.setdefault("b", x[3])
return sum((i + 1.0) * v ** 2 for i, v in enumerate(g.values()))

in_a_loop:
t = 0.0
for j in range(20):
    g = {}
    for k, v in zip(["a", "b", "a"], x):
        g.setdefault(k, []).append(v * j)
    t = t + sum(sum(v) ** 2 for v in g.values())
return t

over_several_rounds:
g, t = {}, 0.0
for j in range(20):
    g.setdefault("a", []).append(x[j % 6])
    t = t + sum(g["a"]) ** 2
return t

more_keys_than_numbers:
g = {}
for k, v in zip(KEYS + ["d"], x):
    g.setdefault(k, []).append(v)
return sum(sum(v) ** 2 for v in g.values())

changed_meanwhile:
g = {"a": x[0]}
for k in g:
    g.setdefault(k + "a", x[1])
return sum(g.values())

deleted_meanwhile:
g = {"a": x[0], "b": x[1]}
for k, v in g.items():
    g.pop("b", None)
return sum(g.values())

changed_values_meanwhile:
g = {"a": x[0], "b": x[1]}
t = 0.0
for k, v in g.items():
    g["b"] = x[2] * 2.0
    t = t + v * v
return t

no_such_key:
g = {}
g.setdefault("a", []).append(x[0])
return sum(g["b"])

no_list:
g = {"a": x[0]}
g.setdefault("a", []).append(x[0])
return x[0]

as_it_is_shown:
g = {"a": 1}
g.setdefault("b", 2)
name = type(g.values()).__name__
return x[0] ** 2 * len(str(g)) * len(repr(g.items())) * len(name)

copied:
g = {"a": x[0]}
g.setdefault("b", x[1])
h = dict(g)
h["c"] = x[2]
return sum(v ** 2 for v in h.values()) * len(g) * len({**g, "d": 1}) * len(g.keys() | {"z"})

returned_by_a_function:
g = grouped(x)
g["a"].append(x[5])
return sum(sum(v) ** 3 for v in g.values())
"""
COMPILED = (
    "setdefault setdefault_zipped not_in within counted summed two_levels pairs numbers "
    "returned_by_a_function"
).split()
RAISE = {"changed_meanwhile": RuntimeError, "deleted_meanwhile": RuntimeError, "no_such_key": KeyError,
         "no_list": AttributeError}  # fmt: skip


def change(g):
    g["b"] = [2.0]
    g["a"].append(3.0)


def total(g):
    return sum(sum(v) ** 2 for v in g.values())


def grouped(x):
    g = {}
    for k, v in zip(KEYS, x):
        g.setdefault(k, []).append(v)
    return g


def programs():
    found, space = {}, {**globals(), "defaultdict": defaultdict}
    for part in f"setdefault:{SOURCE}".split("\n\n"):
        name, _, body = part.partition(":\n")
        exec(f"def {name}(x):\n    " + body.strip().replace("\n", "\n    "), space, found)
    return found


PROGRAMS = programs()


def central(f, x):
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + step) - f(x - step)) / 2e-6 for step in steps])


def recorded(f):
    def within(x):
        with RECORDED:
            return f(x)

    return within


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain(name):
    f = PROGRAMS[name]
    gradient = grad(f)
    if name in RAISE:
        for each in (f, gradient, gradient, grad(recorded(f))):
            with pytest.raises(RAISE[name]):
                each(X)
        return
    for x in (X, -X, X):
        want = central(f, x)
        assert np.allclose(gradient(x), want, atol=1e-6)
        assert np.allclose(jvp(f, (x,), (np.arange(6.0),))[1], want @ np.arange(6.0), atol=1e-5)
    assert np.allclose(grad(recorded(f))(X), central(f, X), atol=1e-6)
    if name in COMPILED:
        assert "recorded" not in str(explain(gradient)(X)).splitlines()[0]


def test_another_length():
    f = PROGRAMS["setdefault_zipped"]
    gradient = grad(f)
    for n in (6, 3, 6, 1, 4, 6, 6):
        assert np.allclose(gradient(X[:n]), central(f, X[:n]), atol=1e-6)


class Own(dict):
    def __missing__(self, key):
        self[key] = [2.0]
        return self[key]

    def setdefault(self, key, default=None):
        return super().setdefault(key, [3.0])


def of_own_class(x):
    g = Own()
    g["a"].append(x[0])
    g.setdefault("b", []).append(x[1])
    return sum(g["a"]) ** 2 + sum(g["b"]) ** 2


def test_a_class_of_its_own():
    assert np.allclose(grad(of_own_class)(X), central(of_own_class, X), atol=1e-6)
