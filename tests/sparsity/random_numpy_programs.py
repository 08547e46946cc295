"""Random programs of arrays, as text: what sparsity detection must not miss anything of.

`write(pick)` asks pick(options) wherever there is a choice, so that whatever chooses can also shrink.
Variables a, b, c are arrays of N elements, s, t floats, xs a list of floats, box an object.
"""

N = 5

ARRAYS, SCALARS = ("a", "b", "c"), ("s", "t")

ARRAY_EXPRESSIONS = (
    "{A} + {B}", "{A} * {B}", "{A} - {S} * {B}", "np.sin({A})", "np.tanh({A} * {B})",
    "{A} / (2.0 + {B} ** 2)",
    "np.roll({A}, {I})", "{A}[::-1]", "{A}[::-1].copy()", "np.concatenate([{A}[{I}:], {B}[:{I}]])",
    "np.where({A} > {S}, {A}, {B})", "np.where(MASK, {A}, {B})", "M @ {A}", "{A} @ M", "np.cumsum({A})",
    "np.sort({A})", "np.outer({A}, {B})[{I}]", "np.outer({A}, {B}).sum(axis=0)", "np.maximum({A}, {B})",
    "{A}.reshape(1, -1).T[:, 0]", "np.stack([{A}, {B}]).mean(axis=0)", "np.full(N, {S})", "np.zeros(N)",
    "np.array([{S}, {T}, 1.0, {A}[{I}], {S} * {T}])", "np.array([x * {S} for x in {A}])", "helper({A}, {S})",
    "{A}.copy()", "{A}", "{A}[MASK.argsort()]", "np.clip({A}, -{S}, 0.5)", "np.diff(np.append({A}, {S}))",
    "{A}[np.argsort({B})]", "np.floor({A}) * {B}", "np.einsum('i,ij->j', {A}, M)",
    "np.convolve({A}, K, 'same')",
    "np.pad({A}[1:-1], 1)", "np.repeat({A}[:1], N)", "np.prod(np.stack([{A}, {B}]), axis=0)",
    "box.scaled({A})",
    "np.array(sorted({A}))", "np.median(np.outer({A}, {B}), axis=1)", "np.interp({A}, GRID, {B})",
    "np.linalg.solve(M + 3 * np.eye(N), {A})", "np.minimum.accumulate({A})", "np.tile({A}[:1], N) + {B}",
    "np.array(xs[:1] * N)", "np.take({A}, [{I}] * N)", "np.array([max(x, {S}) for x in {B}])",
    "np.kron({A}[:1], {B})", "np.multiply.outer({A}, {B})[:, {I}]", "np.diag(np.outer({A}, {B}))",
    "np.split(np.tile({A}, 2), 2)[1]", "np.tril(np.outer({A}, {B}))[{I}]", "np.real({A}) * np.sign({B})",
    "np.select([{A} > 0, {A} < {S}], [{A}, {B}], default={T})", "np.nan_to_num({A})", "np.flip({A})",
    "np.tensordot(np.outer({A}, {B}), {A}, 1)", "np.vstack([{A}, {B}])[{J}]",
    "np.broadcast_to({S}, (N,)) + 0",
    "{A} * {B}[:1]", "np.append(({A}[:4].reshape(2, 2) * {B}[:4].reshape(2, 2)[:1]).ravel(), {S})",
    "np.var(np.outer({A}, {B}), axis=1)", "np.gradient({A})", "np.correlate({A}, K, 'same')",
)  # fmt: skip

SCALAR_EXPRESSIONS = (
    "{A}[{I}]", "{S} * {T}", "{S} + {A}[-1]", "np.sum({A})", "{A} @ {B}", "float({A}[{I}])", "math.sin({S})",
    "np.max({A})", "sum(x for x in {A})", "{A}.mean()", "np.linalg.norm({A} + 3.0)", "abs({S})", "0.5",
    "max({S}, {T})", "{A}[int(np.argmax({B}))]", "{S} if {S} > {T} else {A}[{I}]", "xs[{J}]", "sum(xs)",
    "helper({S}, {T})", "np.dot({A}[1:], {B}[:-1])", "{A}.sum() // 1.0", "box.weight", "len(xs) * {S}",
    "min([x * {T} for x in xs])", "{A}[[0, {I}]].prod()", "math.exp(-abs({S}))", "round({S})",
    "(lambda u: u * {T})({S})", "{A}.item({I})", "recursive({S}, {I})", "dict(p={S}, q={T})['p']",
)  # fmt: skip

STORES = (
    "{A}[{I}] = {S}", "{A}[1:-1] = {B}[2:] - {B}[:-2]", "{A} += {B}", "{A} *= {S}", "{A}[MASK] = {B}[MASK]",
    "{A}[{A} > {S}] = 0.5", "{A}[::2] += {B}[::2]", "{A}[int(np.argmin({B}))] = {S}", "xs[{J}] = {S}",
    "xs.append({S}); xs.pop(0)", "box.weight = {S}", "box.field = {A}", "{A}[:] = box.field", "{A} = {B}",
    "{A} = {B}[::-1]", "np.multiply({A}, {B}, out={A})", "view = {A}[1:]; view += {S}", "{A}.sort()",
    "{A}[:2], {A}[2:4] = {B}[2:4], {A}[:2]", "np.add.at({A}, [0, 0, {I}], {B}[:3])", "{A}.fill({S})",
    "{A}.reshape(-1)[{I}] -= {T}", "{S} = xs[{J}]", "xs = [{S}, *xs[1:]]", "xs.reverse()",
    "np.matmul(M, {A}, out={B})", "np.copyto({A}, {B})",
)  # fmt: skip

CONDITIONS = (
    "{S} > 0", "{A}[{I}] < {B}[{I}]", "np.sum({A}) > {S}", "{S} > {T} and {A}[0] > 0", "not {S} < 0.3",
    "{I} > 1",
    "np.any({A} > 1)", "{A}.argmax() == {I}", "xs[0] <= {S}", "isinstance({S}, float)",
)  # fmt: skip

PRELUDE = """
import math
import numpy as np

N = 5
M = np.array([[1., 0, 2, 0, 0], [0, 1, 0, 0, .5], [0, 0, 1, 0, 0], [3, 0, 0, 1, 0], [0, 0, 0, -1, 1]])
MASK = np.array([True, False, True, True, False])
K = np.array([1.0, 0.0, -2.0])
GRID = np.linspace(-1.0, 1.0, N)

def helper(u, w):
    if np.sum(u) > w:
        return u * w
    return u - 0.5 * w

def recursive(u, k):
    return u if k == 0 else 0.5 * recursive(u, k - 1) + (u * u if u > 0.1 else 0.0)

class Box:
    def __init__(self, weight, field):
        self.weight, self.field = weight, field

    def scaled(self, u):
        self.count = 1
        return u * self.weight
"""


def write(pick, statements=6):
    """The text of a module with a function f(x) of an array of 5 floats; its result is an array."""
    lines = ["def f(x):", "    a, b, c = x.copy(), np.ones(N), x * 1.0", "    s, t = x[0], 0.25"]
    lines += ["    xs = [x[1], 1.0, x[2]]", "    box = Box(x[3], x + 0.0)"]
    lines += _block(pick, statements, 1, looping=False)
    result = pick(["a", "b + c", "np.append(a, s)", "np.array(xs)", "a * box.weight + box.field"])
    return PRELUDE + "\n".join([*lines, f"    return np.concatenate([np.ravel({result}), [t]])"]) + "\n"


def _block(pick, count, depth, looping):
    lines = []
    for _ in range(pick(range(1, count + 1))):
        lines += _statement(pick, depth, looping)
    return [line if line.startswith("    " * depth) else "    " * depth + line for line in lines]


def _statement(pick, depth, looping):
    kind = pick(["array", "scalar", "store", "store", "if", "for", "while", "leave"])
    if kind == "array":
        return [_filled(pick, "{A} = " + pick(ARRAY_EXPRESSIONS))]
    if kind == "store":
        return [_filled(pick, pick(STORES))]
    if depth > 2 or kind == "scalar":
        return [_filled(pick, "{S} = " + pick(SCALAR_EXPRESSIONS))]
    indent = "    " * depth
    if kind == "leave":
        end = pick(["break", "continue"]) if looping else pick(["return a * s", "raise ValueError('no')"])
        if end == "return a * s":
            end = "return np.concatenate([np.ravel(a * s), [t]])"
        return [_filled(pick, f"{indent}if {pick(CONDITIONS)}:"), f"{indent}    {end}"]
    if kind == "if":
        lines = [_filled(pick, f"{indent}if {pick(CONDITIONS)}:"), *_block(pick, 2, depth + 1, looping)]
        if pick([True, False]):
            lines += [f"{indent}else:", *_block(pick, 2, depth + 1, looping)]
        return lines
    if kind == "for":
        over = pick(["i in range(3)", "i, v in enumerate(a)", "v in xs", "u, v in zip(a, b)"])
        return [f"{indent}for {over}:", *_block(pick, 3, depth + 1, True)]
    counter = f"n{depth}"
    header = _filled(pick, f"{indent}while {counter} < 3 and {pick(CONDITIONS)}:")
    body = _block(pick, 2, depth + 1, True)
    bounded = [f"{indent}{counter} = 0", header, f"{indent}    {counter} += 1", *body]
    if pick([True, False]):  # of which the bound is not known either
        bounded[0] = f"{indent}{counter} = 3.0 * (x[4] > 100)"
    return bounded


def _filled(pick, text):
    for name, options in ("A", ARRAYS), ("B", ARRAYS), ("S", SCALARS), ("T", SCALARS):
        text = text.replace("{%s}" % name, pick(options))
    return text.replace("{I}", str(pick(range(5)))).replace("{J}", str(pick(range(2))))
