"""The command line: choose, run, compare."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from . import catalog, expected
from .compare import Comparison, comparisons, failures
from .modes import BASELINE, MODES
from .report import report, show
from .runner import Runner, Task
from .store import FINISHED, ROOT, VERSION, Result, Store

EXAMPLES = """\
examples:
  python -m tests.conformance                              everything that is not done yet, in all modes
  python -m tests.conformance --fast --mode roundtrip      the small subset
  python -m tests.conformance --fresh test_json test_re    these modules, again
  python -m tests.conformance --show test_json             why its new failures fail
  python -m tests.conformance --report                     the table of what is there

Modules without results in the mode "plain" are run in it first. The exit status is 1 where a test fails that
passes in plain and is not in expected.toml, or where the rewriter refused a module.
"""


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    modules = catalog.choose(options.modules, options.fast)
    store = Store(options.results)
    modes = [mode for mode in options.mode if mode != BASELINE]
    if options.list:
        print("\n".join(listing(store, modules)))
        return 0
    entries = expected.load()
    if not (options.report or options.show):
        run(options, store, modules)
    found = comparisons(store, modules, modes, entries)
    print("\n".join(texts(store, found)) if options.show else report(store, modules, found, modes))
    return int(any(c.unexpected or c.refused for c in found))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m tests.conformance", description="CPython's test suite on a rewritten standard library.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("modules", nargs="*", metavar="MODULE", help="default: those of modules.txt")
    add("--mode", action="append", choices=list(MODES), help="repeatable; default: all")
    add("--fast", action="store_true", help="only the modules that are marked fast in modules.txt")
    add("--jobs", type=int, default=1, metavar="N", help="processes at a time (default 1)")
    add("--timeout", type=float, default=600, metavar="S", help="seconds for a module in a mode (600)")
    add("--fresh", action="store_true", help="run also what has results of these very sources")
    add("--resume", action="store_false", dest="fresh", help="run only what has none (default)")
    add("--results", type=Path, default=ROOT / ".conformance", metavar="DIR", help="default: .conformance")
    add("--list", action="store_true", help="the modules, and what their last runs gave")
    add("--report", action="store_true", help="run nothing, only show the table")
    add("--show", action="store_true", help="run nothing, only show the tracebacks of new failures")
    options = parser.parse_args(arguments)
    options.mode = options.mode or list(MODES)
    return options


def run(options: argparse.Namespace, store: Store, modules: list[catalog.Module]) -> None:
    tasks = todo(store, modules, options.mode, options.fresh)
    counts = dict.fromkeys(MODES, 0)
    with tqdm(total=len(tasks), unit="module", disable=None, smoothing=0.05) as bar:
        for result in Runner(store, options.timeout, options.jobs).run(tasks):
            counts[result.mode] += new_failures(store, result)
            bar.set_postfix({**{m: n for m, n in counts.items() if m != BASELINE}, "last": result.module})
            bar.update()


def todo(store: Store, modules: list[catalog.Module], modes: list[str], fresh: bool) -> list[Task]:
    """Plain first: the other modes are compared with it. It is run again only where it is asked for."""
    names = [module.name for module in modules if module.installed]
    again = {mode for mode in modes if fresh}
    ordered = [BASELINE, *(mode for mode in MODES if mode in modes and mode != BASELINE)]
    return [
        (mode, name) for mode in ordered for name in names if mode in again or not store.current(mode, name)
    ]  # fmt: skip


def new_failures(store: Store, result: Result) -> int:
    plain = store.load(BASELINE, result.module)
    return len(failures(plain, result)) if plain is not None else 0


def texts(store: Store, found: list[Comparison]) -> list[str]:
    pairs = ((c, store.load(c.mode, c.module.name)) for c in found if c.failures or c.refused)
    return list(show((c, result) for c, result in pairs if result is not None))


def listing(store: Store, modules: list[catalog.Module]) -> list[str]:
    return [f"CPython {VERSION}, {len(modules)} modules"] + [
        "  ".join([module.name.ljust(36), module.kind, *states(store, module)]) for module in modules
    ]


def states(store: Store, module: catalog.Module) -> list[str]:
    if not module.installed:
        return ["not installed"]
    results = [result for mode in MODES if (result := store.load(mode, module.name)) is not None]
    return [state(result) for result in results]


def state(result: Result) -> str:
    passed = sum(outcome in ("pass", "xfail") for outcome in result.outcomes.values())
    how = "" if result.status in FINISHED else f" {result.status}"
    return f"{result.mode} {passed}/{len(result.outcomes)} in {result.seconds:.0f} s{how}"


if __name__ == "__main__":
    sys.exit(main())
