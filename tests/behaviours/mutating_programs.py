"""Random programs that change what they work on: arrays, their views, lists, dicts, objects, variables of
functions around, in loops, branches, generators and handlers. Each is a function of an array of three
numbers.

    python -m tests.behaviours.mutating_programs --minutes 30 --seed 1

runs them (with `--stores` those of `storing_programs.py`, with `--followed` those of them that are mostly
compiled) until the time is up, and says which has a wrong
derivative: value, gradient, tangent and what is left behind are compared with the plain call and with
central differences. With `--hypothesis`, Hypothesis draws what they are written by, and a wrong one is
shown as short as it can be made.
"""

from __future__ import annotations

import argparse
import linecache
import math
import random
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

try:
    from tests.behaviours import storing_programs
except ImportError:  # among the tests, whose folder is on the path
    import storing_programs

HEADER = """
import math
import numpy as np

class Box:
    def __init__(self, v, a):
        self.v, self.a, self.items = v, a, [v]

    @property
    def double(self):
        return self.v * 2.0

    def scale(self, by):
        self.v = math.sin(self.v * by)
        self.a *= by

    def __iadd__(self, other):
        self.v += other
        return self
"""


class Writer:
    """Writes one program, from what a generator of random numbers says."""

    def __init__(self, chance: random.Random) -> None:
        self.random = chance
        self.lines: list[str] = []
        self.depth = 1
        self.scalars, self.arrays = ["s0"], ["a0"]
        self.count = 0

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def scalar(self) -> str:
        pick = self.random.choice
        return pick([
            pick(self.scalars), f"{self.array()}[{self.random.randrange(3)}]", f"{self.array()}.sum()",
            "items[-1]", "table['k']", "box.v", "box.double", "sum(items)", "total",
            f"{self.random.uniform(-1, 1):.3f}",
        ])  # fmt: skip

    def array(self) -> str:
        return self.random.choice([*self.arrays, "box.a", "rows[0]", "rows[-1]"])

    def new_scalar(self) -> str:
        self.count += 1
        name = f"s{self.count}"
        return name

    def expression(self) -> str:
        a, b = self.scalar(), self.scalar()
        return self.random.choice([
            f"{a} * {b}", f"math.sin({a})", f"{a} + {b}", f"math.tanh({a} - {b})",
            f"max({a}, {b})", f"abs({a}) * 0.5",
            f"{a} ** 2 * 0.3", f"sorted([{a}, {b}, 0.1])[1]",
        ])  # fmt: skip

    def vector(self) -> str:
        a, b = self.array(), self.array()
        return self.random.choice([
            f"np.tanh({a})", f"{a} * {self.scalar()}", f"np.sin({a} + {b})", f"{a}[::-1] * 0.5",
            f"{a}.copy()",
            f"np.where({a} > 0.1, {b}, {a} * 0.2)", f"np.array([{self.scalar()}, {self.scalar()}, 0.3])",
            f"np.cumsum({a}) * 0.3", f"np.clip({a}, -0.8, 0.8)", f"np.maximum({a}, {b})",
        ])  # fmt: skip

    # -- statements ------------------------------------------------------------------------------------------

    def statement(self) -> None:
        kinds = [self.assign] * 2 + [self.store] * 5 + [self.change] * 5
        if self.depth < 4:
            kinds += [self.branch, self.loop, self.handler, self.generator, self.closure]
        self.random.choice(kinds)()

    def body(self) -> None:
        """A block whose own names are gone afterwards."""
        scalars, arrays = [*self.scalars], [*self.arrays]
        self.depth += 1
        for _ in range(self.random.randint(1, 3)):
            self.statement()
        self.depth -= 1
        self.scalars, self.arrays = scalars, arrays

    def assign(self) -> None:
        if self.random.random() < 0.6:
            name = self.new_scalar()
            self.write(f"{name} = {self.expression()}")
            self.scalars.append(name)
            return
        self.count += 1
        name = f"a{self.count}"
        self.write(f"{name} = {self.random.choice([self.vector(), self.array(), self.array() + '[::-1]'])}")
        self.arrays.append(name)

    def store(self) -> None:
        a, i = self.array(), self.random.randrange(-3, 3)
        self.write(self.random.choice([
            f"{a}[{i}] = {self.expression()}", f"{a}[{i}] *= {self.scalar()}", f"{a} *= {self.scalar()}",
            f"{a} += {self.vector()}", f"{a}[1:] = {self.array()}[:-1]", f"{a}[:2] += {self.array()}[1:]",
            f"{a}[[0, 2]] = {self.array()}[[2, 1]]", f"{a}[{a} > 0.2] *= 0.7", f"{a}[:] = {self.vector()}",
            f"np.multiply({a}, {self.array()}, out={a})", f"np.add.at({a}, [0, 0], {self.scalar()})",
            f"{a}.reshape(3, 1)[{i}, 0] = {self.scalar()}", f"np.copyto({a}, {self.vector()})",
            f"{a}.fill({self.scalar()})", f"np.put({a}, [{i % 3}], {self.scalar()})", f"{a}.sort()",
            f"{a}[...] = np.tanh({a})",
        ]))  # fmt: skip

    def change(self) -> None:
        e, pick = self.expression(), self.random.choice
        self.write(pick([
            f"items.append({e})", f"items[{pick([0, -1])}] = {e}", "items.reverse()", f"items.insert(0, {e})",
            "items[:] = items[-4:]", f"items += [{e}]", "items.sort(key=lambda v: -v)",
            f"table['k'] = {e}", f"table.update(k={e})", f"table['k'] += {self.scalar()}",
            "table = {**table, 'k': table['k'] * 0.5}", f"table.setdefault('j', {e})",
            f"box.v = {e}", "box.scale(0.9)", f"box += {self.scalar()}", f"box.a = {self.vector()}",
            f"box.items.append({e})", "items.append(box.items[-1])", f"rows.append({self.vector()})",
            f"rows[0] = {self.array()}", "rows[0], rows[-1] = rows[-1], rows[0]",
            f"total = math.tanh(total + {e})",
            "items.append(items.pop(0))",
        ]))  # fmt: skip

    def branch(self) -> None:
        self.write(f"if {self.scalar()} > {self.random.uniform(-0.5, 0.5):.2f}:")
        self.body()
        if self.random.random() < 0.6:
            self.write("else:")
            self.body()

    def loop(self) -> None:
        self.count += 1
        self.write(self.random.choice([
            f"for i{self.count} in range({self.random.randint(1, 3)}):",
            f"for v{self.count} in {self.array()}.copy():",
            "for v in items[:2]:", "for key in [*table]:",
        ]))  # fmt: skip
        self.body()
        if self.random.random() < 0.3:
            self.depth += 1
            self.write(f"if {self.scalar()} > 0.3:")
            self.write(f"    {self.random.choice(['break', 'continue'])}")
            self.depth -= 1

    def handler(self) -> None:
        self.write("try:")
        self.body()
        self.depth += 1
        trouble = self.random.choice([
            f"if {self.scalar()} > 0.1: raise ValueError({self.scalar()})", "[][0]", "{}['none']",
            "pass", "1 // 0",
        ])  # fmt: skip
        self.write(trouble)
        self.depth -= 1
        self.write("except (ValueError, LookupError, ZeroDivisionError) as error:")
        self.depth += 1
        self.write("if error.args and isinstance(error.args[0], float): total += error.args[0] * 0.1")
        self.depth -= 1
        self.body()
        if self.random.random() < 0.5:
            self.write(self.random.choice(["finally:", "else:"]))
            self.body()

    def generator(self) -> None:
        self.count += 1
        name = f"g{self.count}"
        self.write(f"def {name}(a):")
        self.write("    for v in a:")
        self.write(f"        yield v * {self.scalar()}")
        self.write(f"        {self.random.choice(['box.v *= 0.9', 'items[0] *= 0.5', 'pass'])}")
        self.write(f"for v in {name}({self.array()}):")
        self.body()

    def closure(self) -> None:
        self.count += 1
        name = f"f{self.count}"
        self.write(f"def {name}(v):")
        self.write("    nonlocal total")
        self.write("    total = math.tanh(total + v)")
        more = ["items[-1] = total", "box.a[0] = v", "return v * total", "pass"]
        self.write(f"    {self.random.choice(more)}")
        self.write(f"{name}({self.scalar()})")

    def program(self) -> str:
        self.lines = ["def outer():", "    total = 0.1", "    def f(x):", "        nonlocal total"]
        self.depth = 2
        for line in (
            "total = 0.1", "s0 = x[0] * x[1]", "a0 = x * 1.0", "items = [x[0], x[2] * 0.5]",
            "table = {'k': x[1]}", "box = Box(x[2], x * 0.7)", "rows = [x * 0.3, x]",
        ):  # fmt: skip
            self.write(line)
        for _ in range(self.random.randint(4, 10)):
            self.statement()
        self.write(
            "return total + s0 + sum(items) + a0.sum() + table['k'] + box.v + box.a[1] * rows[0].sum() "
            "+ rows[-1] @ a0 + sum(box.items) + x[0]"
        )
        self.lines.append("    return f")
        return HEADER + "\n".join(self.lines) + "\nf = outer()\n"


WRITERS: dict[str, Callable[[random.Random], Writer | storing_programs.Writer]] = {
    "things": Writer,
    "stores": storing_programs.Writer,
    "followed": storing_programs.Followed,
}
FURTHER = ("stores", "followed")  # whose derivatives of second order are examined too


def written(chance: random.Random, kind: str = "things") -> str:
    return WRITERS[kind](chance).program()


def compiled(source: str, name: str):
    """The function of a source, which is where tracebacks find it."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict = {"__name__": "programs"}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def point(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.9, 0.9, 3)


def differences(f, x, step):
    columns = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)]
    return np.array(columns)


def examine(seed: int, kind: str = "things") -> str:
    """How the program of a seed does."""
    source = written(random.Random(seed), kind)
    return judged(source, point(seed), kind in FURTHER, f"<program {seed}>")


def judged(source: str, x: np.ndarray, further: bool = False, file: str = "<program>") -> str:
    """How it does: right, refused: .., no derivative where differences say nothing of it, WRONG: ...
    `further`: derivatives of second order too."""
    from ctxdispatch import jvp, value_and_grad
    from ctxdispatch_contexts.reverse import DerivativeError

    f = compiled(source, file)
    plain_x = x.copy()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = f(plain_x)
            one, two = differences(f, x, 1e-5), differences(f, x, 3e-6)
    except (ValueError, ArithmeticError, LookupError, RuntimeError, AttributeError) as error:
        return f"no program: {type(error).__name__}"
    if not (np.isfinite(plain) and np.allclose(one, two, rtol=1e-4, atol=1e-6)):
        return "no derivative"
    if np.abs(one).max() > 1e5:  # what moves by 1 and more in a step has sines that differences do not see
        return "no derivative"
    mine = x.copy()
    try:
        value, gradient = value_and_grad(f)(mine)
        along = np.array([0.3, -1.0, 0.7])
        pushed, tangent = jvp(f, (x.copy(),), (along,))
    except DerivativeError as error:
        if f"{file}:" not in str(error) or ";" not in str(error):
            return f"WRONG: a refusal without line or remedy: {error}"
        return f"refused: {error}"
    if not (np.allclose(value, plain, rtol=1e-12) and np.allclose(pushed, plain, rtol=1e-12)):
        return f"WRONG: value {value}, {pushed}, plainly {plain}"
    if not np.array_equal(mine, plain_x):
        return f"WRONG: leaves {mine}, plainly {plain_x}"
    scale = max(1.0, np.abs(one).max())
    if not np.allclose(gradient, one, rtol=1e-4, atol=1e-5 * scale):
        return f"WRONG: gradient {gradient}, differences {one}"
    if not np.allclose(tangent, one @ along, rtol=1e-4, atol=1e-5 * scale):
        return f"WRONG: tangent {tangent}, differences {one @ along}"
    return _examine_further(f, x, gradient, along) if further else "right"


def _examine_further(f, x, gradient, along):
    """A pullback gives the same when it is called again; a block of tangents; derivatives of the gradient."""
    from ctxdispatch import grad, hessian, jacfwd, jvp, vjp
    from ctxdispatch_contexts.reverse import DerivativeError

    _, pull = vjp(f, x.copy())
    twice = [pull(1.0)[0], pull(1.0)[0]]
    if not all(np.allclose(g, gradient, rtol=1e-9, atol=1e-12) for g in twice):
        return f"WRONG: pullbacks {twice}, gradient {gradient}"
    block = jacfwd(f)(x.copy())
    if not np.allclose(block, gradient, rtol=1e-9, atol=1e-12 * max(1.0, np.abs(gradient).max())):
        return f"WRONG: jacfwd {block}, gradient {gradient}"
    step = 1e-5
    one = (grad(f)(x + step * along) - grad(f)(x - step * along)) / (2 * step)
    two = (grad(f)(x + step / 3 * along) - grad(f)(x - step / 3 * along)) / (2 * step / 3)
    scale = max(1.0, np.abs(one).max())
    if not np.allclose(one, two, rtol=1e-4, atol=1e-6 * scale):
        return "right"  # no second derivative here
    try:
        found = {
            "forward over reverse": jvp(grad(f), (x.copy(),), (along,))[1],
            "hessian": hessian(f)(x.copy()) @ along,
            "reverse over reverse": grad(lambda x: grad(f)(x) @ along)(x.copy()),
            "reverse over forward": grad(lambda x: jvp(f, (x,), (along,))[1])(x.copy()),
        }
    except DerivativeError as error:
        return f"refused: {error}"
    for order, product in found.items():
        if not np.allclose(product, one, rtol=1e-4, atol=1e-5 * scale):
            return f"WRONG: {order} {product}, differences {one}"
    return "right"


def run(minutes: float, seed: int, kind: str) -> bool:
    """Whether none of the programs from a seed on was wrong."""
    from tqdm import tqdm

    tally: dict[str, int] = {}
    first, end = seed, time.monotonic() + 60 * minutes
    with tqdm(total=math.ceil(60 * minutes), unit="s", disable=not sys.stderr.isatty()) as bar:
        while (left := end - time.monotonic()) > 0:
            outcome = examine(seed, kind)
            verdict = outcome.partition(":")[0]
            tally[verdict] = tally.get(verdict, 0) + 1
            if verdict == "WRONG":
                print(f"seed {seed}: {outcome}\n{written(random.Random(seed), kind)}")
            seed += 1
            bar.n = math.ceil(60 * minutes - left)
            bar.set_postfix(tally)
    print(f"{seed - first} programs:", ", ".join(f"{n} {verdict}" for verdict, n in sorted(tally.items())))
    return "WRONG" not in tally


def hypothesis_writes(
    examples: int, kind: str, further: bool = False, until: float = math.inf, **profile
) -> dict[str, int]:
    """How so many programs did that Hypothesis wrote, none after a `time.monotonic`. A wrong one is an
    AssertionError with the shortest that is."""
    from hypothesis import HealthCheck, given, note, settings
    from hypothesis import strategies as st

    tally: dict[str, int] = {}

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), **profile)
    @given(st.randoms(use_true_random=False), st.integers(0, 9))
    def one(chance, at):
        if time.monotonic() > until:
            return
        source = written(chance, kind)
        note(source)
        outcome = judged(source, point(at), further)
        verdict = outcome.partition(":")[0]
        tally[verdict] = tally.get(verdict, 0) + 1
        assert verdict != "WRONG", f"{outcome}\n{source}"

    one()
    return tally


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--show", action="store_true", help="print the program of the seed, and how it does")
    parser.set_defaults(kind="things")
    for kind in FURTHER:
        parser.add_argument(f"--{kind}", action="store_const", const=kind, dest="kind", help="these programs")
    parser.add_argument("--hypothesis", action="store_true", help="Hypothesis writes them")
    options = parser.parse_args()
    if options.show:
        print(written(random.Random(options.seed), options.kind))
        print(examine(options.seed, options.kind))
    elif options.hypothesis:
        until = time.monotonic() + 60 * options.minutes
        examples = math.ceil(1000 * options.minutes)
        print(hypothesis_writes(examples, options.kind, options.kind in FURTHER, until, database=None))
    else:
        sys.exit(not run(options.minutes, options.seed, options.kind))


if __name__ == "__main__":
    main()
