"""What the programs of `changing_programs.py` are made of.

In a row, `$` and a letter is drawn from the table of that name:

    $s a number        $e a number that is computed      $x a variable of one
    $t an array that may be assigned to (a name, a field, a part)    $a an array, or a view by a call
    $v an array that is computed      $y a variable of one
    $i -3 to 2     $j 0 to 2     $c a constant     $n, $m new names, of a row     $T one $t, of a row
    $names all variables     $body statements; $body(n) with a number n, $body[n] with an array
"""

HEADER = """
import collections, contextlib, copy, functools, heapq, itertools, math, operator
import numpy as np

kept = 0.2

class Box:
    shared = 0.3

    def __init__(self, v, a):
        self.v, self.a, self.items = v, a, [v]

    @property
    def double(self):
        return self.v * 2.0

    @double.setter
    def double(self, w):
        self.v = w * 0.5

    def scale(self, by):
        self.v = math.sin(self.v * by)
        self.a *= by

    def __iadd__(self, other):
        self.v += other
        return self

    def __getitem__(self, i):
        return self.a[i]

    def __setitem__(self, i, w):
        self.a[i] = w

    def __call__(self, w):
        self.items.append(w * self.v)

    def __iter__(self):
        for v in self.items[:2]:
            self.v *= 0.9
            yield v * self.v

    def __enter__(self):
        self.v *= 0.9
        return self

    def __exit__(self, kind, error, where):
        self.v += 0.1
        return kind is not None and issubclass(kind, ValueError)

class Child(Box):
    def scale(self, by):
        super().scale(by)
        self.items[-1] = self.v

class Trouble(ValueError):
    def __init__(self, v, a):
        self.v, self.a = v, a

def put(a, i, s):
    a[i] = s

def scaled(things, s):
    for i, v in enumerate(things):
        things[i] = v * s

def damp(*arrays, by=0.5):
    for a in arrays:
        a *= by

def deep(a, n):
    if n:
        a[n - 1] *= 0.8
        deep(a, n - 1)

def remember(s):
    global kept
    kept = math.tanh(kept + s)

def share(s):
    Box.shared = Box.shared * 0.5 + s * 0.1

def fail(a, s):
    a[0] = s * 0.5
    if s > 0.1:
        raise Trouble(s, a)

def parts(a):
    for i in range(3):
        yield a[i:i + 1]
    return a.sum()

def mean_so_far():
    t = 0.0
    while True:
        t = 0.5 * (t + (yield t))

def first_of(a):
    last = yield from parts(a)
    yield a[:1]
    a[0] = last * 0.3

@contextlib.contextmanager
def damped(a):
    a *= 0.5
    try:
        yield a[1:]
    finally:
        a += 0.1

def again(f):
    @functools.wraps(f)
    def twice(*args):
        f(*args)
        f(*args)
    return twice
"""

# -- what a program has --------------------------------------------------------------------------------------

THINGS = {  # name: how it begins, what the result takes of it
    "total": ("total = 0.1", "total"),
    "items": ("items = [x[0], x[2] * 0.5]", "sum(items)"),
    "table": ("table = {'k': x[1]}", "table['k'] + 0.1 * sum(table.values())"),
    "box": ("box = Box(x[2], x * 0.7)", "box.v + box.a[1] + sum(box.items)"),
    "child": ("child = Child(x[1], x[::-1])", "child.v * child.a[0] + sum(child.items)"),
    "rows": ("rows = [x * 0.3, x]", "rows[0].sum() + rows[-1] @ x"),
    "grid": ("grid = np.outer(x, x) + 0.1", "(grid * grid).sum() + grid[0] @ grid[:, 1]"),
    "z": ("z = x + 0.5j * x[::-1]", "z.real @ z.imag + z.imag[0]"),
    "queue": ("queue = collections.deque([x[1], 0.3, x[0]], 4)", "queue[0] * queue[-1] + sum(queue)"),
    "pair": ("pair = (x * 0.4, [x[1]])", "pair[0].sum() + pair[1][-1]"),
    "kept": ("kept = x[1] * 0.5", "kept"),
    "Box.shared": ("Box.shared = x[0] * 0.4", "Box.shared"),
}
IN_OUTER = ("total",)  # variables of the function around
OF_MODULE = ("kept",)
FIELDS = ("Box.shared",)  # no variables

SCALARS = [
    "$x", "$x", "$x", "$a[$i]", "$a[$i]", "$a.sum()", "$t.item($j)", "float($a[$i])", "$c", "$c", "$a.max()",
    "items[-1]", "items[0]", "sum(items)", "table['k']", "table.get('j', 0.2)", "box.v", "box.double",
    "box[$j]", "getattr(box, 'v')", "child.v", "child.items[-1]", "total", "total", "kept", "kept",
    "Box.shared", "queue[0]", "queue[-1]", "grid[$j, $j]", "grid.sum() * 0.1", "abs(z[$j])", "z[$j].imag",
    "pair[1][-1]", "min($a)",
]  # fmt: skip
EXPRESSIONS = [
    "$s * $s", "math.sin($s)", "$s + $s", "math.tanh($s - $s)", "max($s, $s)", "abs($s) * 0.5",
    "$s ** 2 * 0.3", "sorted([$s, $s, 0.1])[1]", "$a @ $a", "-$s", "$s if $s > 0.05 else $s",
    "(lambda p, q=$s: p * q)($s)", "sum(w * 0.5 for w in $a)", "sum([w * $s for w in $a if w > 0.1])",
    "functools.reduce(operator.mul, [$s, $s, 0.7])", "sum(map(math.sin, [$s, $s]))",
]  # fmt: skip
TARGETS = [
    "$y", "$y", "$y", "box.a", "child.a", "rows[0]", "rows[-1]", "grid[$i]", "grid[:, $j]", "grid.T[$j]",
    "z.real", "z.imag", "$y[::-1]", "$y[[2, 0, 1]]", "grid[0, :]", "grid[np.arange(3), np.arange(3)]",
]  # fmt: skip
ARRAYS = [
    "$t", "$t", "$t", "$t", "$t[::-1]", "$t.view()", "np.asarray($t)", "$t.reshape(1, 3)[0]", "np.ravel($t)",
    "$t[None][0]", "$t.reshape(3, 1).T[0]", "np.atleast_2d($t)[0]", "pair[0]", "np.squeeze($t[:, None])",
    "np.swapaxes(grid, 0, 1)[$j]", "grid.reshape(9)[3:6]", "grid.ravel()[::3]", "np.moveaxis(grid, 0, 1)[$j]",
    "np.split(grid, 3)[$j][0]", "copy.copy($t)", "[*rows][-1]", "np.expand_dims($t, 0)[0]",
    "grid.diagonal().copy()", "np.require($t)",
]  # fmt: skip
VECTORS = [
    "np.tanh($a)", "$a * $s", "np.sin($a + $a)", "$a[::-1] * 0.5", "$a.copy()", "$a", "$a - $a",
    "np.where($a > 0.1, $a, $a * 0.2)", "np.array([$s, $s, 0.3])", "np.cumsum($a) * 0.3",
    "np.clip($a, -0.8, 0.8)", "np.maximum($a, $a)", "np.array([w * $s for w in $a])", "np.roll($a, 1)",
    "np.sort($a)", "np.append($a[:2], $s)", "np.full(3, $s)", "-$a", "np.concatenate([$a[1:], $a[:1]])",
]  # fmt: skip

# -- statements ----------------------------------------------------------------------------------------------

NEW = {  # which names more there are after it
    "scalars": ["$n = $e", "$n = $e", "$n = $s", "$n, _ = $e, $s", "_, *_, $n = $a", "$n = w = $e"],
    "arrays": ["$n = $v", "$n = $a", "$n = $y", "$n = $t[::-1]", "$n = $y if $s > 0.1 else $y", "$n = w = $v",
               "$n = copy.deepcopy($a)", "$n = $a.astype(float, copy=False)"],
}  # fmt: skip
STORES = [
    "$a[$i] = $e", "$a[$i] *= $s", "$t *= $s", "$t += $v", "$t -= $v", "$a[1:] = $a[:-1]", "$a[:2] += $a[1:]",
    "$a[[0, 2]] = $a[[2, 1]]", "$t[$t > 0.2] *= 0.7", "$a[:] = $v", "np.multiply($T, $a, out=$T)",
    "np.add.at($t, [0, 0], $s)", "$a.reshape(3, 1)[$i, 0] = $s", "np.copyto($t, $v)", "$a.fill($s)",
    "np.put($t, [$j], $s)", "$t.sort()", "$t[...] = np.tanh($t)", "$a[$j], $a[$j] = $s, $s", "$t **= 2",
    "$t /= 1.5 + abs($s)", "$a[::2] = $a[1:]", "$a[[0, 1]] += $a[1:]", "$a[[1, 1]] *= $s",
    "$t[:, None][1] = $s", "np.copyto($t, $v, where=$a > 0.1)", "np.putmask($t, $t > 0.1, $v)",
    "np.place($t, $t > 0.3, [$s])", "$t.put([$j, $j], $s)", "np.put_along_axis($t, np.array([$j]), $s, 0)",
    "np.sin($a, $t)", "np.add($a, $a, out=$t, where=$t > 0.0)", "np.cumsum($a, out=$t)",
    "np.clip($a, -0.5, 0.5, out=$t)", "$a.clip(-0.5, 0.5, out=$t)", "np.add.accumulate($a, out=$t)",
    "np.take($a, [2, 0, 1], out=$t)", "np.subtract.at($t, np.array([0, 2, 2]), $a)",
    "np.multiply.at($t, [1, 1], $s)", "$t.flat[$j] = $s", "$t.flat = $v", "$t.__setitem__($i, $s)",
    "operator.setitem($a, slice(1, 3), $a[:2])", "operator.iadd($a, $v)", "$a.__imul__($s)",
    "np.maximum.at($t, [0], $s)", "$a[slice(None, 2)] -= $s", "$a[(0,)] = $s", "$a[..., 1] = $s",
    "$a[$a.argmax()] = $s", "$a[np.array([True, False, True])] = $a[1:]", "$a[-2:][0] = $s",
    "$a[1:][::-1][0] += $s", "$t.partition(1)", "np.negative($T, out=$T)",
    "np.dot(np.diag($a), $a, out=$t.view())", "np.nan_to_num($t, copy=False)",
    "np.reciprocal(1.5 + abs($a), out=$t)", "np.fill_diagonal(grid, $a)",
    "grid[1:, 1:] = $s", "grid[np.ix_([0, 2], [1])] *= $s", "grid[:] = $a", "grid[grid > 0.2] = $s",
    "grid += $a[:, None]", "grid[[0, 1]] = grid[[1, 0]]", "grid.T[1:] *= $s", "grid[1] = grid[0] * $s",
    "np.dot(grid.copy(), $a, out=$y)", "grid.sum(axis=0, out=$y)", "grid[[0, 0], [1, 1]] += $s",
    "np.matmul(grid, $a.copy(), out=$y)", "grid.sort(axis=0)", "np.einsum('ij,j->i', grid, $a, out=$y)",
    "z[$j] = complex($s, $s)", "z *= 1j", "z.real[1:] = $a[:2]", "z.imag = $v", "z[1:] *= $s",
    "np.add(z, $a, out=z)", "z.view(float)[$j] = $s", "np.conjugate(z, out=z)",
]  # fmt: skip
CHANGES = [
    "items.append($e)", "items[$i] = $e", "items[-1] *= $s", "items.reverse()", "items.insert(0, $e)",
    "items[:] = items[-4:]", "items += [$e]", "items.sort(key=lambda w: -w)", "items.append(items.pop(0))",
    "items.extend([$s, $s])", "items.extend(w * 0.5 for w in $a)", "items[1:1] = [$e]",
    "items *= 2; del items[3:]", "del items[:-2]", "items[::2] = [w * 0.5 for w in items[::2]]",
    "items = items + [$e]", "items, _ = items[:], items", "heapq.heapify(items); heapq.heappush(items, $e)",
    "items = sorted(items)", "[items.append($s) for w in range(2)]",
    "items.remove(min(items)); items += [$s, $s]", "list(map(items.append, [$s, $s]))",
    "items[0], items[-1] = items[-1], items[0]", "scaled(items, $s)", "items.__setitem__(0, $e)",
    "operator.setitem(items, -1, $e)", "items = [*map(math.sin, items)]", "table['k'] = $e",
    "table.update(k=$e)", "table['k'] += $s", "table = {**table, 'k': table['k'] * 0.5}",
    "table.setdefault('j', $e)", "table |= {'j': $e}", "table['k'], table['m'] = $s, $s",
    "table['j'] = table.pop('k') * 0.5; table['k'] = $s", "table.update({w: table[w] * $s for w in table})",
    "table = dict(table, k=$s)", "table.update(zip('kj', $a))", "operator.setitem(table, 'k', $e)",
    "table['l'] = $s; del table['l']", "box.v = $e", "box.scale(0.9)", "box += $s", "box.a = $v",
    "box.items.append($e)", "box.double = $e", "box[$j] = $e", "box[$j] *= $s", "box($s)",
    "setattr(box, 'v', $e)", "vars(box)['v'] = $e", "box.__dict__.update(v=$e)", "box.a = $y",
    "box = copy.copy(box); box.items = box.items[:]", "box.v, box.a[0] = $s, $s", "box = copy.deepcopy(box)",
    "object.__setattr__(box, 'v', $e)", "[*box]", "items.extend(box)", "box.items = items", "box.a = child.a",
    "child.scale(0.8)", "child.v += box.v", "child = box", "child.a[1:] = box.a[:2]", "Box.scale(child, 0.9)",
    "child.scale = lambda by: box.scale(by)", "items.append(box.items[-1])", "rows.append($v)",
    "rows[0] = $a", "rows[0], rows[-1] = rows[-1], rows[0]", "rows[0] += rows[-1]",
    "rows = [w * 0.9 for w in rows]", "rows.insert(0, $y)", "rows = rows[::-1]", "damp(*rows)",
    "rows[:] = [$v, $a]", "rows[-1][$j] = $e", "total = math.tanh(total + $e)", "total += $s", "total *= 0.5",
    "kept = $e", "kept += $s", "kept *= 0.9", "remember($s)", "Box.shared = $e", "Box.shared *= 0.5",
    "share($s)", "setattr(Box, 'shared', $s)", "queue.append($e)", "queue.appendleft($e)", "queue.rotate(1)",
    "queue[0] = $e", "queue.extend([$s, $s])", "queue.append(queue.popleft())", "queue[-1] *= $s",
    "pair[1].append($e)", "pair[0][$j] = $e", "pair[1][0] = $e", "pair = (pair[1] and $v, pair[1])",
    "pair[1].extend($a)",
]  # fmt: skip
CALLS = [
    "put($a, $i, $s)", "damp($a, $a)", "damp($a, by=$s)", "deep($a, 3)", "again(put)($a, $j, $s)",
    "put(*[$a, $j], s=$s)", "functools.partial(put, $a, $j)($s)",
    "list(map(put, [$a, $a], [0, 1], [$s, $s]))", "put(i=$j, **{'a': $a, 's': $s})", "again(damp)($a)",
    "(lambda w: operator.imul(w, $s))($a)", "sorted([$a, $a], key=lambda w: operator.imul(w, 0.9).sum())",
    "any(put(w, 0, $s) for w in [$a, $a])", "[put($T, w, $s) for w in range(2)]",
    "{w: deep($T, w) for w in range(3)}", "getattr($t, 'fill')($s)", "operator.methodcaller('fill', $s)($t)",
    "np.vectorize(lambda w: w * 0.5)($a)", "[operator.imul(w, $s) for w in parts($a)]",
    "for w in first_of($a): w *= $s", "for w, v in zip(parts($a), $a): w += v",
    "for w in itertools.chain([$a], [$a]): w *= 0.9",

    "$n = mean_so_far(); next($n); total = $n.send($s); $n.close()", "w = [$a]; w[0] *= $s",
    "w = {'p': $a}; w['p'][$j] = $s", "w = ($a,); put(w[0], $j, $s)", "w = $a; w += $s",
    "w = lambda p=$a: put(p, 0, $s); w()", "w = $a.fill; w($s)", "if (w := $a).sum() > 0.1: w[0] = $s",
    "match [$s, $a]:\n    case [v, w]: w[1] = v", "for i, w in enumerate($a.copy()): $T[i] = w * $s",
    "assert $a.sum() < 1e9", "w = np.array([$a, $a]); w[0] = w[1] * $s; $T[:] = w[0]",
    "for w in grid: w *= $s", "[put(w, 0, $s) for w in grid]",
    "w = np.empty(2, object); w[0] = $a; w[0] *= 0.9",
    "$n = contextlib.ExitStack(); $n.callback(put, $a, 0, $s); $n.close()",
]  # fmt: skip
BLOCKS = [
    "if $s > $c:\n    $body", "if $s > $c:\n    $body\nelse:\n    $body",
    "if $s > $c and $s > $c:\n    $body\nelif $s < $c:\n    $body", "for $n in range($j + 1):\n    $body",
    "for $n in $a.copy():\n    $body($n)", "for w in items[:2]:\n    $body",
    "for $n in [*table.values()][:2]:\n    $body($n)", "for $n in [*rows][:3]:\n    $body[$n]",
    "for $n in grid:\n    $body[$n]",
    "for $n in $a.copy():\n    $body($n)\n    if $s > $c: break\nelse:\n    $body",
    "for w in range(3):\n    if $s > $c: continue\n    $body",
    "$n = 0\nwhile $n < 2:\n    $n += 1\n    $body",
    "$n = 0\nwhile $s < $c and $n < 3:\n    $body\n    $n += 1",
    "for $n in range(2):\n    $a[$n] = $s\n    $body($n)", "for $n in box:\n    $body($n)",
    "for $n, w in zip($a, $a.copy()):\n    $body($n)",
    ("try:\n    $body\n    $trouble\nexcept (ValueError, LookupError, ZeroDivisionError) as error:\n"
     "    $caught\n    $body"),
    ("try:\n    $body\n    $trouble\nexcept (ValueError, LookupError, ZeroDivisionError):\n    $body\n"
     "else:\n    $body"),
    ("try:\n    try:\n        $body\n        $trouble\n    finally:\n        $body\n"
     "except (ValueError, LookupError, ZeroDivisionError):\n    $body"),
    ("try:\n    $body\n    raise Trouble($s, $a)\nexcept Trouble as error:\n"
     "    error.a[0] = error.v * 0.5\n    $body"),
    ("try:\n    try:\n        $trouble\n    except Exception as $m:\n        $body\n"
     "        raise Trouble($s, $a) from $m\nexcept Trouble as error:\n    error.a *= error.v"),
    ("with contextlib.suppress(ValueError, LookupError, ZeroDivisionError):\n    $body\n    $trouble\n"
     "    $body"),
    "with box:\n    $body\n    fail($a, $s)\n    $body", "with damped($a):\n    $body",
    "with damped($a) as $n:\n    $n[0] = $s\n    $body", "def $n(w):\n    nonlocal $names\n    $body\n$n($s)",
    "def $n($m):\n    nonlocal $names\n    $body($m)\n    return $m * $s\ntotal = $n($s)",
    "def $n($m):\n    nonlocal $names\n    $body[$m]\n$n($a)\n$n($a)",
    "def $n(w):\n    w[0] = $s\n    $free\nlist(map($n, [$a, $a]))",
    "def $n(a):\n    for $m in a:\n        yield $m * $s\n        $free\nfor $m in $n($a):\n    $body($m)",
    ("def $n(a):\n    nonlocal $names\n    for $m in a:\n        $body($m)\n        yield $m * $s\n"
     "for $m in $n($a.copy()):\n    $body($m)"),
    "class $n(Box):\n    def scale(self, by):\n        self.a[0] = by\n        $free\n$n($s, $a).scale($s)",
    "match $s > $c, $s:\n    case True, $m:\n        $body($m)\n    case _:\n        $body",
    "if $s > 0.6:\n    return $s + $a.sum()",
]  # fmt: skip
TROUBLE = [
    "if $s > 0.1: raise ValueError($s)", "[][0]", "{}['none']", "pass", "1 // 0", "fail($a, $s)",
    "assert True", "$a[[0, 7]] = $s", "[].pop()", "raise LookupError($s, $a)",
]  # fmt: skip
CAUGHT = [
    "if error.args and isinstance(error.args[0], float): $t[0] = error.args[0] * 0.1", "pass",
    "error.v = $s; $t[1] = error.v", "if len(error.args) == 2: error.args[-1][0] = $s",
    "$t *= len(error.args) * 0.5",
]  # fmt: skip
FREE = [
    "box.v *= 0.9", "items[0] *= 0.5", "table['k'] = $s", "rows[0][0] = $s", "pass", "grid[0] = $s",
    "queue[0] = $s",
]  # fmt: skip


TABLES = {
    "s": SCALARS, "e": EXPRESSIONS, "t": TARGETS, "a": ARRAYS, "v": VECTORS, "trouble": TROUBLE,
    "caught": CAUGHT, "free": FREE, "i": [*map(str, range(-3, 3))], "j": ["0", "1", "2"],
    "c": ["0.1", "0.7", "-0.4", "-0.05", "0.35", "1.2"],
    "scalars": NEW["scalars"], "arrays": NEW["arrays"], "stores": STORES, "changes": CHANGES, "calls": CALLS,
    "blocks": BLOCKS,
}  # fmt: skip
