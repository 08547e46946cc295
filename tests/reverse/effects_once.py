"""What a program does that can be seen from outside, each as the body of a loop over `v`: `s` is what it
computes. `before` is done before each run, `after` says what was done."""

import itertools
import random
import time
import warnings

import numpy as np


class Box:
    def __init__(self):
        self.n = 0

    def __enter__(self):
        self.n += 1
        return self

    def __exit__(self, *exc):
        self.n += 10

    def put(self, v):
        self.n += 1
        return v


box = Box()
out, kept, names = [], {}, set()
buf = np.zeros(2)
rng = np.random.default_rng(0)
old = np.random.RandomState(0)
dice = random.Random(0)
it = itertools.count()
total = 0
append = out.append


def before():
    global rng, old, dice, it, total
    box.n, total = 0, 0
    out.clear(), kept.clear(), names.clear()
    buf[:] = 0
    rng, old = np.random.default_rng(0), np.random.RandomState(0)
    dice, it = random.Random(0), itertools.count()
    random.seed(0)
    np.random.seed(0)


def after():
    drawn = rng.random(), old.rand(), dice.random(), random.random(), np.random.rand()
    return box.n, [*out], {**kept}, {*names}, buf.tolist(), drawn, next(it), total, np.geterr()["over"]


def bump():
    global total
    total += 1
    return 1.0


EFFECTS = {
    "generator": "s = s + v * rng.normal()",
    "old generator": "s = s + v * old.rand()",
    "global generator": "s = s + v * np.random.rand()",
    "seed": "np.random.seed(1); s = s + v",
    "dice": "s = s + v * dice.random()",
    "random": "s = s + v * random.random()",
    "uniform": "s = s + v * random.uniform(0, 1)",
    "shuffled": "q = [1.0, 2.0, 3.0]; random.shuffle(q); s = s + v * q[0]",
    "next of a global": "s = s + v * next(it)",
    "append": "out.append(1); s = s + v * len(out)",
    "bound append": "append(1); s = s + v * len(out)",
    "extend": "out.extend([1, 2]); s = s + v",
    "item of a dict": "kept['a'] = kept.get('a', 0) + 1; s = s + v * kept['a']",
    "setdefault": "kept.setdefault('b', 3); s = s + v",
    "add to a set": "names.add(len(names)); s = s + v",
    "attribute": "box.n = box.n + 1; s = s + v * box.n",
    "setattr": "setattr(box, 'n', box.n + 1); s = s + v",
    "method": "s = s + box.put(v)",
    "manager": "\n        with box:\n            s = s + v * box.n",
    "global number": "s = s + v * bump()",
    "array": "buf[0] = buf[0] + 1; s = s + v * buf[0]",
    "array in place": "b = buf; b += 1; s = s + v",
    "row of an array": "buf[:1] += 1; s = s + v",
    "out": "np.add(buf, 1, out=buf); s = s + v",
    "copyto": "np.copyto(buf, 2.0); s = s + v",
    "fill": "buf.fill(3.0); s = s + v",
    "seterr": "np.seterr(over=np.geterr()['over']); s = s + v",
    "warning": "warnings.warn('w'); s = s + v",
    "clock": "time.perf_counter(); s = s + v",
    "pop": "out.append(2); s = s + v * out.pop()",
    "iterator": "s = s + v * sum(itertools.islice(it, 2))",
}


def program(effect, kind):
    """f(x, n), with the effect in a loop in a `with`, or in a `try`, or before something that raises."""
    body = EFFECTS[effect]
    lines = {
        "with": f"""
    s = x
    with np.errstate(all="ignore"):
        for v in [x, 2 * x]:
            {body.replace(chr(10) + "        ", chr(10) + "            ")}
    return s""",
        "try": f"""
    s, v = x, 2 * x
    try:
        {body}
    except ValueError:
        s = x
    return s""",
        "raised": f"""
    s, v = x, 2 * x
    try:
        {body}
        s = [s][int(x) + 5]
    except IndexError:
        s = s * 2
    return s""",
    }[kind]
    space = dict(globals())
    exec(compile("def f(x):" + lines, f"<{effect}, {kind}>", "exec"), globals(), space)
    return space["f"]


__all__ = ["EFFECTS", "after", "before", "program", "time", "warnings"]
