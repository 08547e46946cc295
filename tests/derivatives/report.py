"""Every name that must have a derivative, and how it does.

    python -m tests.derivatives.report [--jobs N] [--examples N] [--only TEXT] [--json FILE]

Per name, over random arguments (shapes, memory layouts, flags): reverse mode, forward mode and second order
against central differences; complex arguments, wherever the function takes them; each keyword argument that
it documents: given and right, refused and why, or never given. What the running NumPy and SciPy lack is said
so. The exit status is 1 if a derivative is wrong, a name has none, or was not examined.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from report_examples import MODES  # noqa: E402
from report_rows import Row, examine  # noqa: E402
from subjects import subjects  # noqa: E402

TITLES = f"{'name':46} {'examples':>8} {'reverse':>8} {'forward':>8} {'second':>7} {'complex':>8}  keywords"


def row_of(name: str, n: int) -> Row:
    return examine(subjects()[name], n)


def examined(names: list[str], n: int, jobs: int) -> Iterator[Row]:
    """The rows, in the order in which they are ready."""
    if jobs == 1:
        yield from map(partial(row_of, n=n), names)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for future in as_completed([pool.submit(row_of, name, n) for name in names]):
            yield future.result()


# -- printed -------------------------------------------------------------------------------------------------


def grouped(reasons: dict[str, str]) -> dict[str, list[str]]:
    """reason -> names"""
    found: dict[str, list[str]] = {}
    for name, why in sorted(reasons.items()):
        found.setdefault(why, []).append(name)
    return found


def lines_of(row: Row) -> Iterator[str]:
    if row.absent:
        yield f"{row.name:46} not in the running version"
        return
    modes = [f"{row.right[mode]}/{row.examples}" for mode in MODES]
    complex_ = f"{row.complex_right}/{row.complex_examples}" if row.takes_complex else "-"
    right = " ".join(row.of_keywords("right"))
    yield (
        f"{row.name:46} {row.examples:8} {modes[0]:>8} {modes[1]:>8} {modes[2]:>7} {complex_:>8}  {right}"
    ).rstrip()
    for why, names in grouped(row.refused_keywords).items():
        yield f"    {' '.join(f'{name}=' for name in names)} refused: {why}"
    if left := row.of_keywords("never given"):
        yield f"    never given: {' '.join(left)}"
    yield from (f"    refused: {why}" for why in sorted(set(row.refused)))
    yield from (f"    WRONG: {problem}" for problem in sorted(set(row.problems)))


def summary(rows: list[Row]) -> dict[str, list[str]]:
    """What there is to do, by kind."""
    return {
        "missing": [r.name for r in rows if r.missing],
        "wrong in some example": [r.name for r in rows if r.wrong],
        "without an example": [r.name for r in rows if r.without_example],
        "complex numbers taken and never given": [r.name for r in rows if r.without_complex],
        "keywords refused": [f"{r.name}: {' '.join(r.refused_keywords)}" for r in rows if r.refused_keywords],
        "keywords never given": [
            f"{r.name}: {' '.join(left)}" for r in rows if (left := r.of_keywords("never given"))
        ],
        "not in the running version": [r.name for r in rows if r.absent],
    }


FAILING = ("missing", "wrong in some example", "without an example", "complex numbers taken and never given")


def print_report(rows: list[Row]) -> None:
    paragraph = None
    for row in rows:
        if row.paragraph != paragraph:
            paragraph = row.paragraph
            print(f"\n{paragraph}\n{TITLES}")
        print(*lines_of(row), sep="\n")
    there = [r for r in rows if not r.absent]
    print(f"\n{len(rows)} names, {len(there)} of them in the running versions; "
          f"{sum(r.examples for r in there)} examples, {sum(r.complex_examples for r in there)} of them "
          f"complex; keyword arguments: {sum(len(r.of_keywords('right')) for r in there)} right, "
          f"{sum(len(r.refused_keywords) for r in there)} refused, "
          f"{sum(len(r.of_keywords('never given')) for r in there)} never given")  # fmt: skip
    for kind, names in summary(rows).items():
        print(f"{kind}: {'; '.join(names) or 'none'}")


# -- the command ---------------------------------------------------------------------------------------------


def options_of(arguments: list[str] | None) -> Any:
    raw, name = argparse.RawDescriptionHelpFormatter, "python -m tests.derivatives.report"
    parser = argparse.ArgumentParser(name, description=__doc__, formatter_class=raw)
    parser.add_argument("--examples", type=int, default=2, metavar="N", help="of each case of a name (2)")
    parser.add_argument("--only", default="", metavar="TEXT", help="names that contain this")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (1)")
    parser.add_argument("--json", metavar="FILE", help="the rows and the summary, as JSON")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    from tqdm import tqdm

    options = options_of(arguments)
    names = [name for name in subjects() if options.only in name]
    ready = tqdm(examined(names, options.examples, options.jobs), total=len(names), unit="name",
                 disable=not sys.stderr.isatty())  # fmt: skip
    by_name = {row.name: row for row in ready}
    rows = [by_name[name] for name in names]
    print_report(rows)
    found = summary(rows)
    if options.json:
        written = {"rows": [r.as_json() for r in rows], "summary": found}
        Path(options.json).write_text(json.dumps(written, indent=1))
    return int(any(found[kind] for kind in FAILING))


if __name__ == "__main__":
    sys.exit(main())
