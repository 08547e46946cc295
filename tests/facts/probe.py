"""Calls what rows are of, on operands that say what is done to them, and finds what a row does not allow.

    python -m tests.facts.probe                         all modules, each in a process of its own
    python -m tests.facts.probe numpy itertools         these
    python -m tests.facts.probe --only list.append      one callable, and what was seen of it
    python -m tests.facts.probe --mutations             fails for entries of rows that no call shows, too

What is seen of a call is a set of `Demand`s; `allows(row, demand)` is the check. No row is written here.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ctxdispatch.facts import Fact, Operands, Shares, fact, fact_of
from ctxdispatch.facts.table import ARRAY_METHODS
from tests.facts.callables import NUMPY, PYTHON, SCIPY, Probed, callables, modules
from tests.facts.observing import BESIDE, Deadline, Demand
from tests.facts.tuples import Call, calls

WHOLE, SAMPLE = 400, 60
"""How many calls each, about."""
LONGEST = 30.0
"""Seconds for the calls of one callable; after half of them there are no more."""


def allows(row: Fact, demand: Demand) -> bool:
    column, operand, detail = demand
    if column == "gives":
        overridden = "__array_function__" in row.methods  # an operand may decide
        return row.gives is None or row.gives.__name__ == detail or overridden
    if column in ("looks", "inside"):
        if "__array_ufunc__" in row.methods and detail in _OF_ARRAYS:
            return _has(row.looks, operand)
        return _has(getattr(row, column), operand) and detail in row.methods
    if column == "result":
        kinds = [Shares[kind] for kind in detail.split()]
        if operand in ("out", row.out):  # of an array that is written into, a view is as good
            kinds.append(Shares.ITSELF)
        return not row.known or any(s.shares in kinds and _has(s.operands, operand) for s in row.result)
    if detail == BESIDE and "__array_ufunc__" in row.methods and _has(row.looks, operand):
        return True
    return _has(getattr(row, column), operand)


_OF_ARRAYS = fact(methods=ARRAY_METHODS).methods
"""What is asked of others where one operand is an array."""


def _has(operands: Operands, operand: int | str) -> bool:
    return operands.has_name(operand) if isinstance(operand, str) else operands.has(operand)


class Outcome(NamedTuple):
    """What was seen of a callable."""

    probed: Probed
    returned: int
    """How many calls did not raise."""
    demands: dict[Demand, str]
    """With one call that showed it."""

    def faults(self) -> Iterator[str]:
        """What its row does not allow; where there is none, what is stored, called or shared."""
        row = fact_of(self.probed.callee)
        if row is None and self.probed.name.startswith("scipy."):
            return  # what has no row is unsafe: SciPy's functions have none
        for demand, call in sorted(self.demands.items(), key=str):
            if row is None and demand.column in ("looks", "inside", "iterates", "gives"):
                continue
            if row is None or not allows(row, demand):
                yield f"{self.probed.name}: {'no row' if row is None else 'row'}: {demand}    {call}"


def probe(probed: Probed, tries: int) -> Outcome:
    """What calls of it show."""
    found: dict[Demand, str] = {}
    returned = 0
    late = time.monotonic() + LONGEST / 2
    for call in calls(probed, tries):
        if time.monotonic() > late:
            break
        returned += call.seen.returned
        for demand in call.seen.demands - found.keys():
            found[demand] = shown(call)
    return Outcome(probed, returned, found)


def shown(call: Call) -> str:
    def one(make: Callable[[], Any]) -> str:
        made = make()
        return f"{type(made).__name__} {made!r}"[:60].replace("\n", "")

    return ", ".join([*map(one, call.makers), *[f"{k}={one(m)}" for k, m in call.named.items()]])


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What is probed prints, warns, writes files and never returns: not here."""

    def late(*_: Any) -> None:
        raise Deadline

    before, here = signal.signal(signal.SIGALRM, late), os.getcwd()
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)
            signal.signal(signal.SIGALRM, before)


# -- the command ---------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.facts.probe", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("modules", nargs="*", default=modules([*PYTHON, *NUMPY, *SCIPY]))
    parser.add_argument("--tries", type=int, default=WHOLE, help="calls of each callable, about")
    parser.add_argument("--only", help="callables whose name contains this, and all that is seen of them")
    parser.add_argument("--mutations", action="store_true", help="list entries of rows that no call shows")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--after", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.json:
        return _of_module(options.modules[0], options.tries, options.after)
    if options.only:
        return _only(options)
    return _all(options)


def _only(options: Any) -> int:
    for module in options.modules:
        for probed in callables(module):
            if options.only in probed.name:
                with quiet():
                    outcome = probe(probed, options.tries)
                print(
                    probed.name,
                    outcome.returned,
                    fact_of(probed.callee),
                    *map(str, outcome.demands.items()),
                    sep="\n  ",
                )
                print(*outcome.faults(), sep="\n")
    return 0


def _of_module(module: str, tries: int, after: str | None) -> int:
    """Each callable's outcome as a line, after one with its name: so one knows what ended the process."""
    from tests.facts.mutations import judged

    out = sys.stdout
    found = callables(module)
    names = [probed.name for probed in found]
    with quiet():
        for probed in found[names.index(after) + 1 if after else 0 :]:
            print(json.dumps({"begun": probed.name}), file=out, flush=True)
            # some C code never comes to a signal
            faulthandler.dump_traceback_later(LONGEST, exit=True, file=sys.__stderr__)
            outcome = probe(probed, tries)
            faulthandler.cancel_dump_traceback_later()
            done = {
                "name": probed.name,
                "returned": outcome.returned,
                "row": fact_of(probed.callee) is not None,
                "faults": list(outcome.faults()),
                "entries": dict(judged(outcome)),
            }
            print(json.dumps(done), file=out, flush=True)
    return 0


def _all(options: Any) -> int:
    from tqdm import tqdm

    results: list[dict[str, Any]] = []
    bar = tqdm(options.modules, file=sys.stderr)
    for module in bar:
        bar.set_description(module)
        found = run(module, options.tries)
        for ended in [r["name"] for r in found if "ended" in r]:
            bar.write(f"{ended} ended its process", file=sys.stderr)
        results += found
    unshown = not_shown(results) if options.mutations else []
    print(*unshown, sep="\n")
    return report(results) or int(bool(unshown))


def not_shown(results: list[dict[str, Any]]) -> list[str]:
    """Entries of rows that no callable shows which has the row, and that are not there for caution."""
    from tests.facts.mutations import cautious

    shown: dict[str, bool] = {}
    for entries in [r.get("entries", {}) for r in results]:
        for name, seen in entries.items():
            shown[name] = seen or shown.get(name, False)
    missing = [name for name, seen in shown.items() if not seen]
    unshown = [name for name in missing if not cautious(name)]
    print(
        f"{len(shown)} entries of rows, {len(missing) - len(unshown)} for caution, not shown: {len(unshown)}"
    )
    return unshown


def run(module: str, tries: int) -> list[dict[str, Any]]:
    """In processes of their own: one more after each callable that ends one."""
    done: list[dict[str, Any]] = []
    after, error = "", ""
    while True:
        ended = _process(module, tries, after)
        lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
        done += [line for line in lines if "name" in line]
        if not ended.returncode:
            return done
        begun = [line["begun"] for line in lines if "begun" in line]
        error = f"the process ended with {ended.returncode}: {ended.stderr[-300:]}"
        done.append({"name": begun[-1] if begun else module, "returned": 0, "row": False, "ended": error})
        if not begun:
            return done
        after = begun[-1]


def _process(module: str, tries: int, after: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.facts.probe", module, "--json", "--tries", str(tries)]
    command += ["--after", after] if after else []
    return subprocess.run(command, capture_output=True, text=True, timeout=3600)


def report(results: list[dict[str, Any]]) -> int:
    """Some of SciPy's functions end the process on operands that they do not expect: no row says so."""
    found = [fault for r in results for fault in r.get("faults", ())]
    ended = [f"{r['name']}: {r['ended']}" for r in results if "ended" in r]
    found += [line for line in ended if not line.startswith("scipy.")]
    print("ended its process:", *ended, sep="\n")
    never = [r["name"] for r in results if not r["returned"]]
    print(*found, sep="\n")
    print(f"\n{len(results)} callables, {len(results) - len(never)} returned from a call")
    print("never returned:", *never)
    print("no row:", *[r["name"] for r in results if not r["row"]])
    print(f"{len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
