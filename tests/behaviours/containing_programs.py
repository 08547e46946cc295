"""Random programs of containers in containers, which hold what varies beside what does not: lists of arrays,
lists of lists, dicts of arrays and of lists, objects. They are mostly compiled, since nothing in them is out
of sight. Each is a function of an array of three numbers; `mutating_programs.py` runs them.

In a row, `$` and a letter is drawn from the table of that name: `$v` an array that varies or not, `$c` one
that does not, `$l` a list of arrays, `$d` a dict of arrays, `$o` an object, `$j` a place, `$q` a condition.
"""

from __future__ import annotations

import random
import re

HEADER = """
import numpy as np

C = np.array([0.4, -0.3, 0.8])

class Node:
    def __init__(self, v, items):
        self.v, self.items = v, items

    def put(self, v):
        self.items.append(v)

def put_first(items, v):
    items.append(v)
    items[0] = v

def total(items):
    return sum([np.sum(w * w * w) for w in items])
"""

BEGIN = {
    "flat": ["flat = [x, C]", "flat = [x * w for w in (0.5, 1.5)]", "flat = [C, C * 0.5]"],
    "rows": ["rows = [[x, x * 2.0] for _ in range(2)]", "rows = [[x, C], [C, C]]",
             "rows = [flat[:], [C, x]]"],
    "table": ["table = {'a': x, 'b': C}", "table = {w: x * 0.7 for w in 'ab'}", "table = {'a': C, 'b': C}"],
    "lists": ["lists = {'a': [x, C], 'b': [C, C]}", "lists = {w: [x, x] for w in 'ab'}"],
    "nodes": ["nodes = [Node(x, [C, x]), Node(C, [x, x])]", "nodes = [Node(x, [x, C]) for _ in range(2)]"],
    "pairs": ["pairs = [(x, [x, C]), (C, [C, x])]", "pairs = [(w, [w, x]) for w in (x, C)]"],
    "tables": ["tables = [{'a': x, 'b': C} for _ in range(2)]",
             "tables = [{'a': C, 'b': x}, {'a': C, 'b': C}]"],
}  # fmt: skip

TABLES = {
    "v": ["x", "x * 0.5", "np.sin(x)", "C", "C", "C * 0.5", "$l[0]", "$l[-1] * 0.9", "$d['a']", "$o.v",
    "x + C"],
    "c": ["C", "C * 2.0", "1.0", "np.ones(3)"],
    "l": ["flat", "rows[$j]", "lists['a']", "lists['b']", "nodes[$j].items", "pairs[$j][1]", "[*rows][$j]"],
    "d": ["table", "tables[$j]"],
    "o": ["nodes[$j]"],
    "j": ["0", "1", "-1"],
    "q": ["x[0] > 0.1", "C[0] > 0.1", "len($l) > 2", "$l[0][0] > 0.2"],
}  # fmt: skip

CHANGES = [
    "$l.append($v)", "$l.append($c)", "$l[0] = $v", "$l[-1] = $c", "$l.insert(0, $v)", "$l.extend([$v, $c])",
    "$l.reverse()", "$l += [$c]", "put_first($l, $v)", "put_first($l, $c)",
    "acc = acc + np.sum($l.pop() * x)",
    "del $l[0]", "$l[:] = [$v, $c]", "$l.extend($l)", "$d['a'] = $v", "$d['c'] = $c", "$d.update(b=$v)",
    "acc = acc + np.sum($d.setdefault('e', $c))", "acc = acc + np.sum($d.get('c', $v))", "$o.v = $v",
    "$o.put($v)", "$o.put($c)", "$o.items = $l", "setattr($o, 'v', $c)", "rows.append([$v])", "rows[$j] = $l",
    "rows[$j] = $l[:]", "rows.append($l)", "nodes.append(Node($v, [$c, $v]))", "tables.append({'a': $v})",
    "lists['c'] = [$c, $v]", "flat = flat + [$v]", "flat = [*$l, $c]", "flat = [w * 0.5 for w in $l]",
    "rows = [*rows, [$v]]", "rows = [[*w, $c] for w in rows]", "nodes = nodes[::-1]",
    "table = {**$d, 'a': $v}",
    "first, *flat = [$v, *$l]; acc = acc + np.sum(first)", "nodes[$j], nodes[0] = nodes[0], nodes[$j]",
]  # fmt: skip
LOOPS = {
    "w": ["for w in rows:", "for w in [flat, $l]:", "for w in lists.values():", "for w in reversed(rows):",
          "for v, w in pairs:", "for i, w in enumerate(rows):", "for w, u in zip(rows, [C, x, C]):",
          "for k, w in lists.items():", "for w in [u.items for u in nodes]:"],
    "n": ["for n in nodes:", "for n, w in zip(nodes, rows):"],
    "t": ["for t in tables:", "for t in [table, $d]:"],
}  # fmt: skip
BODIES = {
    "w": ["w.append($v)", "w.append($c)", "w[0] = $v", "w[0] = $c", "w.insert(1, $v)", "w += [$c]",
          "acc = acc + np.sum(w.pop())", "put_first(w, $c)", "acc = acc + total(w)", "w.extend([$c])",
          "w.reverse()", "for u in w: acc = acc + np.sum(u * u)"],
    "n": ["n.v = $v", "n.v = $c", "n.put($c)", "n.items = [$v]", "n.items = $l", "acc = acc + np.sum(n.v)",
          "acc = acc + total(n.items)"],
    "t": ["t['a'] = $v", "t['b'] = $c", "t['d'] = $c", "acc = acc + total(t.values())"],
}  # fmt: skip
RESULTS = {
    "flat": "total(flat)", "rows": "sum(total(w) * (i + 1.0) for i, w in enumerate(rows))",
    "table": "sum(np.sum(w * w) for w in table.values())", "lists": "sum([total(w) for w in lists.values()])",
    "nodes": "sum(np.sum(n.v * n.v) * total(n.items) for n in nodes)",
    "pairs": "sum([np.sum(v) * total(w) for v, w in pairs])",
    "tables": "sum([np.sum(w * w * w) for t in tables for w in t.values()])",
}  # fmt: skip

DRAWN = re.compile(r"\$([a-z])")
THING = re.compile(r"\b(?:" + "|".join(BEGIN) + r")\b")


class Writer:
    """Writes one program, from what a generator of random numbers says."""

    def __init__(self, chance: random.Random) -> None:
        self.random = chance
        self.things = ["flat", *(name for name in list(BEGIN)[1:] if chance.random() < 0.5)]

    def has(self, row: str) -> bool:
        """Whether the program has all things that a row is about."""
        drawn = {name: any(map(self.has, TABLES[name])) for name in DRAWN.findall(row) if name in "ldo"}
        return set(THING.findall(row)) <= {*self.things} and all(drawn.values())

    def draw(self, rows: list[str]) -> str:
        row = self.random.choice([row for row in rows if self.has(row)])
        return DRAWN.sub(lambda drawn: self.draw(TABLES[drawn[1]]), row)

    def program(self) -> str:
        lines = ["acc = 0.0", *(self.draw(BEGIN[name]) for name in self.things)]
        for _ in range(self.random.randint(2, 6)):
            lines += self.statement()
        lines.append(" + ".join(["return acc", *(RESULTS[name] for name in self.things)]))
        return HEADER + "def f(x):\n" + "".join(f"    {line}\n" for line in lines)

    def statement(self) -> list[str]:
        choice = self.random.random()
        if choice < 0.5:
            return [self.draw(CHANGES)]
        if choice < 0.65:
            return [
                f"if {self.draw(TABLES['q'])}:",
                f"    {self.draw(CHANGES)}",
                "else:",
                f"    {self.draw(CHANGES)}",
            ]
        kinds = [kind for kind, rows in LOOPS.items() if any(map(self.has, rows))]
        kind = self.random.choice(kinds)
        bodies = [f"    {self.draw(BODIES[kind])}" for _ in range(self.random.randint(1, 2))]
        return [self.draw(LOOPS[kind]), *bodies]
