"""Lists and dicts that a loop of a recorded run goes through, and that the program changes afterwards: the
way back has what they were."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp

X = np.array([0.7, 1.2, 0.4])
LISTS = "d.clear()", "d.pop()", "d[0] = 5.0", "d.reverse()", "d.append(7.0)", "d.sort(key=str)", "del d[1:]"
DICTS = "d.clear()", "d.popitem()", "d['a'] = 5.0", "d.pop('b', None)", "d.update(z=7.0)", "del d['a']"
LOOPS = {
    "a list": ("[x[0], x[1] * x[2]]", "for v in d: s = s + v * v", LISTS),
    "a list by index": ("[x[0], x[1] * x[2]]", "for i in range(len(d)): s = s + d[i] * d[i]", LISTS),
    "a dict": ("{'a': x[0], 'b': x[1] * x[2]}", "for v in d.values(): s = s + v * v", DICTS),
    "keys of a dict": ("{'a': x[0], 'b': x[1] * x[2]}", "for k in d: s = s + d[k] * d[k]", DICTS),
    "entries": ("dict(a=x[0], b=x[1] * x[2])", "for k, v in d.items(): s = s + v * v", DICTS),
    "lists in a list": ("[[x[0]], [x[1], x[2]]]", "for v in d: s = s + v[0] * v[-1]", (*LISTS, "d[0].pop()")),
    "lists in a dict": (
        "{'a': [x[0]], 'b': [x[2]]}", "for v in d.values(): s = s + v[0] * v[0]", (*DICTS, "d['a'][0] = 3.0"),
    ),
    "arrays in a list": ("[x[:1], x[1:]]", "for v in d: s = s + np.sum(v * v)", LISTS[:3]),
}  # fmt: skip
CASES = [(loop, change) for loop, (_, _, changes) in LOOPS.items() for change in changes]


@pytest.mark.every(3)
@pytest.mark.parametrize("loop, change", CASES)
def test_what_it_was(loop, change):
    made, line, _ = LOOPS[loop]
    space = {"np": np}
    exec(
        f"def f(x):\n    d = {made}\n    s = x[1] * 0.5\n    {line}\n    {change}\n    return s * x[0]", space
    )
    f = space["f"]
    wanted = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(grad(f)(X), wanted, rtol=1e-6)
    np.testing.assert_allclose([jvp(f, (X,), (e,))[1] for e in np.eye(3)], wanted, rtol=1e-6)


def test_one_list_stays_one():
    """Under two names, within what the loop is given."""

    def f(x):
        rows = [[x[0]], [x[1]]]
        best, s = rows[0], 0.0
        for row in rows:
            s = s + (3.0 * row[0] if row is best else row[0] * row[0])
        rows.pop().clear()
        return s + 0.0 * len(rows)

    np.testing.assert_allclose(grad(f)(X), [3.0, 2.0 * X[1], 0.0])
