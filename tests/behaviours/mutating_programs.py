"""Runs random programs that change what they work on (`changing_programs.py`), each a function of an array
of three numbers, and judges their derivatives.

    python -m tests.behaviours.mutating_programs --minutes 30 --seed 1

runs them (with `--stores` those of `storing_programs.py`, with `--followed` those of them that are mostly
compiled, with `--containers` those of `containing_programs.py`) until the time is up, and says which has a
wrong derivative: value, gradient, tangent and what is left behind are compared with the plain call and with
central differences. With `--hypothesis`, Hypothesis draws what they are written by, and a wrong one is shown
as short as it can be made.
"""

from __future__ import annotations

import argparse
import linecache
import math
import random
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from tests.behaviours import changing_programs, containing_programs, storing_programs
except ImportError:  # among the tests, whose folder is on the path
    import changing_programs
    import containing_programs
    import storing_programs

WRITERS: dict[str, Callable[[random.Random], Any]] = {
    "things": changing_programs.Writer,
    "stores": storing_programs.Writer,
    "followed": storing_programs.Followed,
    "containers": containing_programs.Writer,
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
    except Exception as error:
        return f"no program: {type(error).__name__}: {error}"
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
    except Exception:
        return f"WRONG: plainly {plain}, but {traceback.format_exc()}"
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


def run(minutes: float, seed: int, kind: str) -> Counter[str]:
    """How the programs from a seed on did until the time was up; those that are wrong are printed."""
    from tqdm import tqdm

    tally: Counter[str] = Counter()
    end = time.monotonic() + 60 * minutes
    with tqdm(total=math.ceil(60 * minutes), unit="s", disable=not sys.stderr.isatty()) as bar:
        while (left := end - time.monotonic()) > 0:
            outcome = examine(seed, kind)
            tally[verdict(outcome)] += 1
            if verdict(outcome) == "WRONG":
                print(f"seed {seed}: {outcome}\n{written(random.Random(seed), kind)}", flush=True)
            seed += 1
            bar.n = math.ceil(60 * minutes - left)
            bar.set_postfix(tally)
    return tally


def verdict(outcome: str) -> str:
    return outcome.partition(":")[0]


def told(tally: Counter[str]) -> str:
    return f"{tally.total()} programs: " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(tally.items()))


def hypothesis_writes(
    examples: int, kind: str, seed: int | None = None, further: bool = False, **profile
) -> Counter[str]:
    """How so many programs did that Hypothesis wrote, from a seed on or its own. A wrong one is an
    AssertionError with the shortest that is.

    What is drawn goes by nothing but what was drawn before, not by the time either: else Hypothesis raises
    FlakyStrategyDefinition."""
    import hypothesis
    from hypothesis import HealthCheck, given, note, settings
    from hypothesis import strategies as st

    tally: Counter[str] = Counter()

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), **profile)
    @given(st.randoms(use_true_random=False), st.integers(0, 9))
    def one(chance, at):
        source = written(chance, kind)
        note(source)
        outcome = judged(source, point(at), further)
        tally[verdict(outcome)] += 1
        assert verdict(outcome) != "WRONG", f"{outcome}\n{source}"

    (one if seed is None else hypothesis.seed(seed)(one))()
    return tally


def hypothesis_runs(minutes: float, seed: int, kind: str, at_once: int = 100) -> Counter[str]:
    """How the programs did that Hypothesis wrote until the time was up, so many from each of the seeds. The
    clock is read between them, so that nothing is drawn by it."""
    tally: Counter[str] = Counter()
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        tally += hypothesis_writes(at_once, kind, seed, kind in FURTHER, database=None)
        print(f"up to seed {seed}: {told(tally)}", flush=True)
        seed += 1
    return tally


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--show", action="store_true", help="print the program of the seed, and how it does")
    parser.set_defaults(kind="things")
    for kind in list(WRITERS)[1:]:
        parser.add_argument(f"--{kind}", action="store_const", const=kind, dest="kind", help="these programs")
    parser.add_argument("--hypothesis", action="store_true", help="Hypothesis writes them")
    options = parser.parse_args()
    if options.show:
        print(written(random.Random(options.seed), options.kind))
        print(examine(options.seed, options.kind))
        return
    runs = hypothesis_runs if options.hypothesis else run
    tally = runs(options.minutes, options.seed, options.kind)
    print(told(tally))
    sys.exit("WRONG" in tally)


if __name__ == "__main__":
    main()
