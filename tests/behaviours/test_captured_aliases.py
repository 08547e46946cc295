"""One object, list or dict under several names: variables, what variables hold, attributes of classes,
arguments that are held fixed. What is stored by one of them is read by the others."""

import threading

import numpy as np
import pytest

from ctxdispatch import grad, jvp

SOURCE = """
import numpy as np

class Box:
    def __init__(self, w): self.w = w

class Once(Box):
    def __call__(self, x): return x * self.w

class Twice(Box):
    def __call__(self, x): return x * x * self.w

box, items, entries = Box(2.0), [Once(2.0), Twice(3.0)], {"a": 2.0, "b": Once(1.0)}
same, list_, dict_ = box, items, entries
of_box, of_items, all_ = Box(box), Box(items), (box, items, entries)
class Kept: box, items, entries = box, items, entries

"""
STORES = {
    "attribute": ("box.w = np.array([1.0, 2.0, 3.0])", "np.sum(x * same.w)"),
    "varied attribute": ("box.w = x", "np.sum(x * same.w)"),
    "attribute of held": ("of_box.w.w = x * 2.0", "np.sum(x * box.w * same.w)"),
    "by tuple": ("all_[0].w = x * 2.0", "np.sum(x * same.w * of_box.w.w)"),
    "by class": ("Kept.box.w = x", "np.sum(x * same.w)"),
    "by dict": ("vars(box)['w'] = x", "np.sum(x * same.w)"),
    "augmented": ("box.w *= 3.0", "np.sum(x * same.w)"),
    "class": ("box.__class__ = Once", "np.sum(same(x))"),
    "of an item": ("items[0].w = x", "np.sum(list_[0](x))"),
    "append": ("items.append(Twice(1.0))", "sum([np.sum(f(x)) for f in list_]) * len(of_items.w)"),
    "append by class": ("Kept.items.append(Twice(1.0))", "sum([np.sum(f(x)) for f in list_])"),
    "item": ("items[0] = Twice(4.0)", "np.sum(list_[0](x) + of_items.w[0](x))"),
    "item by tuple": ("all_[1][0] = Twice(4.0)", "np.sum(list_[0](x))"),
    "swapped": ("items[0], items[1] = items[1], items[0]", "np.sum(list_[0](x))"),
    "deleted": ("del items[0]", "np.sum(list_[0](x)) * len(list_)"),
    "reversed": ("items.reverse()", "np.sum(list_[0](x))"),
    "entry": ("entries['a'] = x", "np.sum(dict_['a'] * x)"),
    "entry by class": ("Kept.entries['a'] = x * x", "np.sum(dict_['a'] * x)"),
    "new entry": ("entries['c'] = 3.0", "np.sum(x) * len(dict_) * sum(k == 3.0 for k in dict_.values())"),
    "popped": ("v = entries.pop('a')", "np.sum(x) * len(dict_) * v"),
    "updated": ("entries.update(a=np.array([5.0, 6.0, 7.0]))", "np.sum(dict_['a'] * x)"),
    "keywords": ("entries['b'] = 7.0", "(lambda a, b: np.sum(x * a * b))(**dict_)"),
    "attribute of argument": ("o.w = np.array([1.0, 2.0, 3.0])", "np.sum(x * same.w)"),
    "varied of argument": ("o.w = x", "np.sum(x * same.w)"),
    "argument's": ("same.w = x", "np.sum(x * o.w)"),
    "append to argument": ("p.append(Twice(2.0))", "sum([np.sum(f(x)) for f in list_])"),
    "item of argument": ("p[0] = Twice(2.0)", "np.sum(list_[0](x))"),
    "entry of argument": ("q['a'] = x", "np.sum(x * dict_['a'])"),
    "argument's entry": ("dict_['a'] = x", "np.sum(x * q['a'])"),
}
X, D = np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 0.5])


def made(name, calls=0):
    """The variables, after so many calls."""
    space = {"__name__": __name__}
    store, result = STORES[name]
    exec(f"{SOURCE}\ndef f(x, o, p, q):\n    {store}\n    return {result}", space)
    for _ in range(calls):
        called(space, X)
    return space


def called(space, x):
    return space["f"](x, *arguments(space))


def arguments(space):
    return space["box"], space["items"], space["entries"]


def central(name, calls):
    steps = 1e-6 * np.eye(3)
    both = [[called(made(name, calls), X + sign * step) for sign in (1.0, -1.0)] for step in steps]
    return np.array([(above - below) / 2e-6 for above, below in both])


def reverse(space):
    return grad(space["f"])(X, *arguments(space))


def recorded(space):
    def within(*args):
        with threading.RLock():
            return space["f"](*args)

    return grad(within)(X, *arguments(space))


def forward(space):
    return jvp(space["f"], (X, *arguments(space)), (D, None, None, None))[1]


def state(space):
    return [text(space[name]) for name in ("box", "items", "entries", "of_items")]


def text(value):
    if isinstance(value, (list, tuple)):
        return [text(each) for each in value]
    if isinstance(value, dict):
        return {name: text(each) for name, each in value.items()}
    return (type(value).__name__, text(vars(value))) if hasattr(value, "__dict__") else repr(value)


@pytest.mark.every(1)
@pytest.mark.parametrize("mode", [reverse, recorded, forward])
@pytest.mark.parametrize("name", STORES)
def test_stored_by_one_and_read_by_another(name, mode):
    ours = made(name)
    for calls in range(2):
        try:
            want = central(name, calls)
        except Exception as error:  # nothing is left to take away
            with pytest.raises(type(error)):
                mode(ours)
            return
        found = mode(ours)
        assert np.allclose(found, np.sum(want * D) if mode is forward else want, atol=1e-5)
        assert state(ours) == state(made(name, calls + 1))
