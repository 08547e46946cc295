"""Draws programs, of calls of whatever the probe of `tests/facts` knows and of what has no row of facts, and
runs each down every path: plainly, compiled, attempted, recorded, traced, forward, differences, pattern. Each
is right, or refuses with line and remedy; one that is WRONG is printed, as short as it can be made, and the
exit status is 1."""

from __future__ import annotations

import argparse
import faulthandler
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.paths.hunting import Tally, hunt, told

EXAMPLES = """\
examples:
  python -m tests.paths                                 a minute, from seed 0
  python -m tests.paths --minutes 30 --seed 1000        longer, other programs
  python -m tests.paths --rowless 0.7                   more calls of what has no row
  python -m tests.paths --seed 12 --minutes 0           the programs of this seed alone

Each seed is a round of programs in a process of its own, so that one that ends the interpreter is found too.
"""


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.round is not None:
        return _round(options)
    from tqdm import tqdm

    tally: Tally = Counter()
    end = time.monotonic() + 60 * options.minutes
    bar = tqdm(desc="programs", unit="", disable=None, smoothing=0.05)
    for seed in _seeds(options.seed, end):
        for line in _lines(options, seed):
            if "tally" in line:
                tally.update({tuple(k.split("|")): n for k, n in line["tally"].items()})
            if "wrong" in line:
                tally[("rounds", "WRONG")] += 1
                print(f"\n# seed {seed}{line['wrong']}", flush=True)
            bar.update("program" in line)
        bar.set_postfix(seed=seed, wrong=tally[("rounds", "WRONG")])
    bar.close()
    print(told(+tally))
    return int(tally[("rounds", "WRONG")] > 0)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m tests.paths", description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("--minutes", type=float, default=1.0, help="no round begins after them (default 1)")
    add("--seed", type=int, default=0, help="of the first round (default 0)")
    add("--rowless", type=float, default=0.3, help="share of statements about what has no row (default 0.3)")
    add("--examples", type=int, default=100, help="programs of a round (default 100)")
    add("--silent", action="store_true", help="go on after what an error tells of")
    add("--round", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _seeds(first: int, end: float) -> Iterator[int]:
    yield first
    while time.monotonic() < end:
        first += 1
        yield first


# -- a round, in a process of its own ------------------------------------------------------------------------


def _lines(options: argparse.Namespace, seed: int) -> Iterator[dict]:
    """What the process of a round says, and that it ended by itself."""
    with tempfile.TemporaryDirectory() as folder:
        now = Path(folder, "program.py")
        command = [
            sys.executable, "-m", "tests.paths", "--round", str(now), "--seed", str(seed),
            "--rowless", str(options.rowless), "--examples", str(options.examples),
            *(["--silent"] if options.silent else []),
        ]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            yield from (json.loads(line) for line in child.stdout if line.startswith("{"))
        if child.returncode:
            last = now.read_text() if now.exists() else ""
            yield {"wrong": f": the process ended with {child.returncode}, in\n{last}"}


def _round(options: argparse.Namespace) -> int:
    faulthandler.enable()
    out = sys.stdout

    def say(**line: object) -> None:
        print(json.dumps(line), file=out, flush=True)

    def before(program) -> None:
        options.round.write_text(program.shown())

    for tally, wrong in hunt(options.examples, options.seed, options.rowless, before, silent=options.silent):
        say(program=1, tally={"|".join(k): n for k, n in tally.items()})
        if wrong is not None:
            say(wrong=str(wrong))
    return 0


if __name__ == "__main__":
    sys.exit(main())
