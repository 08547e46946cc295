"""What programs are written with. A row is text with slots, which `programs.py` fills:

`$n $a $v`      an expression that is a number, an array of three numbers, anything
`$N $A $L $D $O $U $V`      a name of such a number, array, list, dict, `Box`, other object, of anything
`$i $w`         a position, whole numbers
`$b $r`         a ufunc of two operands, a function of an iterable
`$y`            a new name
`$s`            a simple statement

The first row of each is what others are made shorter to. `ROWLESS..` is what has no row of facts, mostly.
"""

from __future__ import annotations

import numpy as np

NUMBERS = (
    "x[$i]", "$n * $n", "$n + $n", "-$n", "math.sin($n)", "$a[$i]", "$a.sum()", "np.sum($a * $a)", "0.75",
    "math.exp(-$n * $n)", "$n / (1.5 + $n * $n)", "abs($n)", "($n if $n > 0.1 else 0.5)", "float($n)",
    "np.float64($n)", "$O.v", "$a @ $a", "np.tanh($n)",
)  # fmt: skip
ARRAYS = (
    "x", "np.sin($a)", "$a * $n", "$a + $a", "$a.copy()", "np.array([$n, $n, 1.5])", "np.ones(3) * 0.5",
    "$a[::-1]", "np.where($a > 0.1, $a, $n)", "np.cumsum($a)", "np.maximum($a, $n)", "np.asarray($a)",
    "np.$b($a, $w)", "np.$b($w, $a)", "$a * $w", "$w - $a",
)  # fmt: skip
OTHERS = (
    "2", "0", "'a'", "None", "[$n, 2.0]", "($n, $n)", "(lambda *p: p[0] * $n)", "(1, 0)", "{'a': $n}",
    "[1, 0]", "operator.mul", "'d'", "slice(0, 2)", "[$v, $v]", "iter([$n, 1.5])", "float", "[$a, $a]",
    "b'abcdefgh'", "np.array([True, False, True])", "np.array([2, 0, 1])", "-1", "$a.reshape(3, 1)",
    "np.outer($a, $a) + np.eye(3)", "(lambda p, q: p)", "True", "[('a', $n)]", "math.sin", "np.array($n)",
    "complex($n, 1.0)", "{$n, 2.0}", "$w",
)  # fmt: skip
"""Operands of calls, besides numbers, arrays and names."""

MAKE = (
    "$y = $n", "$y = $a", "$y = [$n, $n]", "$y = $V", "$y = [$v, $v]", "$y = ($n, $v)",
    "$y = {'a': $v, 'b': $n}", "$y = Box($v)", "$y = $A[1:]", "$y = $A[::-1]", "$y = $A.reshape(3, 1)",
    "$y = collections.deque([$n, $v])", "$y = types.SimpleNamespace(a=$v)", "$y = $L[0]", "$y = $D['a']",
    "$y = $O.get()", "$y = iter($L)", "$y = (p * $n for p in $a)", "$y = lambda *p: $v",
    "$y = np.array($n)", "$y = complex($n, $n)", "$y = {$n}", "$y = np.array([$n, $n], object)",
    "$y = zip($L, $a)", "$y = map(math.sin, $a)", "$y = np.outer($a, $a)",
    "$y = functools.partial(operator.mul, $n)", "$y = $O + $n", "$y = {k: p for k, p in $D.items()}",
    "$y = [p * 2.0 for p in $a]", "$y = np.vstack([$a, $a])", "$y = $O.get", "$y = $V, $V",
)  # fmt: skip
CHANGE = (
    "$A[$i] = $n", "$A[1:] = $n", "$A += $a", "$A *= $n", "$A[:] = $a", "np.copyto($A, $a)", "$N += $n",
    "np.multiply($a, $n, out=$A)", "$A[$A > 0.1] = $n", "$L.append($v)", "$L[0] = $v", "$L += [$n]",
    "$y = $L.pop()", "$L[0], $L[-1] = $L[-1], $L[0]", "$D['a'] = $v", "$D['c'] = $v", "$D.update(b=$v)",
    "del $D['a']", "$O.v = $v", "$O.put($v)", "$L.extend([$n])", "$L *= 2", "setattr($O, 'v', $v)",
    "$A[[0, 2]] = $n", "$y = next($U)", "$L.insert(0, $v)", "$y = $D.pop('a')",
    "np.add.at($A, [0, 0], $n)", "$A.fill($n)", "$L.sort()", "$O.__dict__['v'] = $v", "$A.sort()",
    "$A.flat = $n", "$L[:] = [$n]", "$y = $D.setdefault('d', $v)",
)  # fmt: skip
AROUND = (
    "for i in range(3):\n    $s",
    "if $n > 0.1:\n    $s\nelse:\n    $s",
    "for $y in $V:\n    $s",
    "try:\n    $s\n    raise ValueError($v)\nexcept ValueError as e:\n    $y = e.args[0]",
    "try:\n    $s\n    $L[9]\nexcept IndexError:\n    $s",
    "try:\n    $s\nfinally:\n    $s",
    "with contextlib.suppress(KeyError):\n    $s\n    $D['z']",
    "while len($L) < 4:\n    $L.append($n)",
    "def $y(p, q=$v):\n    $N\n    return p * $n",
    "$y = (lambda p: p * $n)($n)",
    "class C:\n    w = $v\n\n    def m(self, p=$n):\n        return p * $n\n$y = C.w\n$y = C().m()",
    "for p, q in zip($V, $V):\n    $s",
    "h = functools.lru_cache(4)(lambda p, *q: p * $n)\n$y = h($n) * h($n, $n)\n$y = h($v)",
    "@functools.cache\ndef h(p):\n    $A\n    return [p, $n]\n$y = [h($n), h($n)]\n$y = h($n)[0]",
    "def g():\n    for p in $V:\n        $s\n        yield $V\n$y = $r(g())\n$y = $r(g())",
    "def g():\n    for p in range(3):\n        $A[p] = $n\n        yield $A\n$y = $r(g())",
    "$y = $r($V for p in $V)",
    "try:\n    $c\nexcept Exception:\n    $y = $n",
)

ROWLESS = (
    "struct.Struct('d')", "struct.Struct('3d')", "memoryview($A)", "ctypes.c_double($n)",
    "types.MethodType(math.pow, $n)", "(ctypes.c_double * 3)($n, $n, 1.0)",
    "(ctypes.c_double * 3).from_buffer($A)", "np.ctypeslib.as_ctypes($A)",
    "contextvars.ContextVar('c', default=$v)", "queue.SimpleQueue()", "sqlite3.connect(':memory:')",
    "operator.methodcaller('append', $v)", "operator.itemgetter(0)", "operator.attrgetter('v')",
    "functools.cmp_to_key(lambda p, q: -1)", "functools.cache(lambda p: $v)",
    "functools.cache(lambda p: p * $n)", "scipy.spatial.cKDTree($a.reshape(3, 1))",
    "scipy.spatial.cKDTree(np.eye(3), copy_data=False)", "io.BytesIO()", "csv.writer(io.StringIO())",
    "re.compile('a').scanner('aab')", "types.MappingProxyType($D)", "weakref.ref($O)",
    "weakref.proxy($O)", "weakref.WeakValueDictionary(b=$O)", "array.array('d', [$n, $n])",
    "types.CellType($v)",
    "ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(('sin', ctypes.CDLL('libm.so.6')))",
    "ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda p: p * $n)",
    "np.frompyfunc(lambda p: p * $n, 1, 1)", "np.vectorize(lambda p: p * $n)", "np.nditer($A)", "$A.flat",
    "np.ndenumerate($A)", "collections.Counter(a=$n)", "np.lib.stride_tricks.sliding_window_view($A, 2)",
    "threading.local()", "json.JSONEncoder()", "mmap.mmap(-1, 24)", "decimal.Decimal($n)",
    "fractions.Fraction($n)", "datetime.timedelta(seconds=$n)", "np.random.default_rng(0)",
    "itertools.tee([$n, $n])[0]", "enumerate($L)", "reversed($L)", "zip($L, $L)",
    "functools.partial($O.put, $v)", "itertools.chain($L, $a)",
    "itertools.zip_longest($L, $a, fillvalue=$n)", "itertools.groupby([$n, $n])",
    "itertools.accumulate([$n, $n])", "itertools.islice($a, 2)",
    "itertools.starmap(operator.mul, [($n, $n)])", "statistics.NormalDist($n, 2.0)",
    "collections.ChainMap($D)", "collections.UserList([$n])", "collections.OrderedDict(a=$v)",
    "scipy.interpolate.BSpline([0.0, 0.0, 2.0, 2.0], [$n, $n], 1)",
    "scipy.sparse.csr_array(np.outer($a, $a))", "scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], $a)",
    "contextvars.copy_context()", "np.matrix($a)", "np.ma.masked_array($a, [0, 1, 0])", "np.poly1d($a)",
    "slice($n, $n)", "np.array([($n, $n)], 'f8,f8')", "functools.lru_cache(maxsize=2)(lambda p: $n)",
    "collections.defaultdict(lambda: $n)", "xml.etree.ElementTree.Element('a')",
    "types.SimpleNamespace(v=$v)", "hashlib.md5()", "bytearray(24)", "np.void(b'abcdefgh')", "$A.T",
    "$A.__array_interface__",
)  # fmt: skip
"""Things; their methods are called, mostly without rows."""

ROWLESS_MAKE = (
    "$y = pickle.loads(pickle.dumps($v))", "$y = marshal.loads(marshal.dumps([$n, $n]))",
    "$y = copy.deepcopy($v)",

    "$y = struct.unpack('d', struct.pack('d', $n))[0]", "struct.pack_into('d', $A, 8, $n)",
    "$y = struct.unpack_from('d', $A, 8)[0]", "$y = np.frombuffer($a.tobytes())",
    "$y = np.frombuffer(memoryview($A))", "memoryview($A)[0] = $n", "$y = np.asarray(memoryview($A))",
    "$y = eval('p * 2.0', {'p': $n})", "exec('q[0] = p', {'p': $n, 'q': $A})", "$y = np.from_dlpack($A)",
    "$y = sqlite3.connect(':memory:').execute('select ?', ($n,)).fetchone()[0]",
    "$y = contextvars.copy_context().run(lambda: $v)",
    "$A.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[0] = $n",
    "$y = $A.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[1]",
    "$y = functools.singledispatch(lambda p: p * $n)($n)",
    "ctypes.memmove($A.ctypes.data, $a.ctypes.data, 16)",
    "$y = concurrent.futures.ThreadPoolExecutor(1).submit(lambda: $v).result()",
    "$y = operator.methodcaller('get')($O)", "$y = operator.methodcaller('sum')($a)",
    "$y = operator.itemgetter(0)($V)", "$y = vars($O)['v']", "$y = weakref.ref($O)().v",
    "$y = type('C', (), {'v': $v})().v", "$y = contextlib.nullcontext($v).enter_result",
    "$y = sorted($V)", "$y = max($V)", "$y = sum($V)", "$y = list($V)", "$y = tuple($V)",
    "$y = copy.copy($V)", "$y = list(map($V, $V))", "$y = functools.reduce($V, $V)",
    "$y = functools.reduce(operator.mul, $V, $n)", "$y = $V($v)", "$y = $V($V)", "$y = $V[$i]",
    "$y = $V()", "$V[$i] = $v", "$V[:] = $v", "$V += $V", "$y = $V + $V", "$y = $V * $n",
    "$y = np.array($V)", "$y = next(iter($V))", "$y, *_ = $V", "$y = np.asarray($V) * $n",
    "$y = bytes($V)", "$y = {**$V}", "$y = [*$V]", "$y = $V == $V", "$y = $V.v", "$V.v = $v",
    "$y = dict($V)", "$y = $V.put($v)", "$y = $V.get()", "$y = float($V)",
    "$y = $V.value", "$V.value = $v", "$y = np.fromiter($V, float)", "$y = operator.iadd($V, $V)",
    "$y = np.sin($V)", "$y = $V.set($v)", "$y = $V.cell_contents", "$V.cell_contents = $v",
    "$y = str($V)",
)  # fmt: skip

GIVEN = {
    "a dict": ("{'a': x, 'b': x[0], 'c': [x[1], x[2]]}", ("v1 = given", "x = v1['a']", "v2 = v1['c']")),
    "a list": ("[x, x[1], {'a': x[2]}]", ("v1 = given", "x, _, v2 = v1")),
    "a tuple": ("(x, [x[0], 2, 0.5 * x])", ("x, v1 = given",)),
    "an object": ("Box(x)", ("v1 = given", "x = v1.v")),
    "objects": ("[Box({'a': x, 'b': 'b'}), Box(x[2])]", ("v1, v2 = given", "x = v1.v['a']", "v1 = v1.v")),
    "a list of lists": ("[[x, x[:2] * 2.0], [x[0]]]", ("v1 = given[0]", "v2 = given[1]", "x = v1[0]")),
}
"""What functions are given, of `x`, and how their bodies begin: with `x`, and the containers under other
names."""

UFUNCS = tuple(n for n, f in vars(np).items() if type(f) is np.ufunc and (f.nin, f.nout) == (2, 1))
WHOLE = tuple(
    f"np.{dtype}({values})" if values[0] != "[" else f"np.array({values}, '{dtype}')"
    for dtype in ("uint8", "int8", "uint16", "int16", "int32", "uint64", "int64", "bool")
    for values in ("[2, 3, 1]", "[127, 3, 90]", "3", "100")
)
READERS = (
    "list", "sum", "tuple", "next", "sorted", "max", "np.array", "np.stack", "np.fromiter",
    "collections.deque", "set", "dict", "enumerate", "itertools.accumulate", "functools.partial(map, abs)",
    "functools.partial(functools.reduce, operator.add)", "(lambda p: sum(p, $a))",
    "(lambda p: np.array([*p]))", "(lambda p: sum(q.sum() for q in p))",
)  # fmt: skip
"""Of an iterable."""

HEADER = {
    r"\bnp\.": "import numpy as np",
    r"\bBox\(|\bbox\b": """class Box:
    def __init__(self, v):
        self.v = v

    def put(self, v):
        self.v = v

    def get(self):
        return self.v

    def __add__(self, other):
        return Box(self.v + other)""",
    r"\bkept\b": "kept = []",
    r"\bshelf\b": "shelf = {'a': 0.5}",
    r"\bbox\b": "box = Box(0.25)",
    r"\bboard\b": "board = np.zeros(3)",
}
"""What a program begins with, where it has this."""

MODULES = """
    array ast bisect cmath collections concurrent.futures contextlib contextvars copy csv ctypes datetime
    decimal fractions functools hashlib heapq io itertools json marshal math mmap numpy numpy.linalg numpy.fft
    numpy.random operator pickle queue random re scipy.cluster.vq scipy.fft scipy.interpolate scipy.linalg
    scipy.linalg.blas scipy.linalg.lapack scipy.optimize scipy.signal scipy.sparse scipy.spatial scipy.special
    sqlite3 statistics struct threading types weakref xml.etree.ElementTree builtins
""".split()
