"""The tables: what plain gives, per mode what changed, and which tests these are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from .catalog import Module
from .compare import Comparison
from .modes import BASELINE
from .store import FINISHED, VERSION, Result, Store, fingerprint

KINDS = ("library", "introspection")
HEADER = ("mode", "class", "modules", "tests", "new failures", "expected", "unexpected", "pass")
SHOWN = 12


def report(store: Store, modules: list[Module], found: list[Comparison], modes: Iterable[str]) -> str:
    parts = [
        baseline(store, modules), summary(found, modes), *per_module(found), *refused(found), *stale(found),
        *outdated(store, modules, modes),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part)


def baseline(store: Store, modules: Iterable[Module]) -> str:
    results = [result for m in modules if (result := store.load(BASELINE, m.name)) is not None]
    outcomes = Counter(outcome for result in results for outcome in result.outcomes.values())
    counted = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    unfinished = [f"{r.module} ({r.status})" for r in results if r.status not in FINISHED]
    left_out = f"\nnot compared, as plain did not finish: {', '.join(unfinished)}" if unfinished else ""
    return f"CPython {VERSION}, plain: {len(results)} modules, {counted or 'no results'}{left_out}"


def summary(found: list[Comparison], modes: Iterable[str]) -> str:
    groups = [(mode, kind, pick(found, mode, kind)) for mode in modes for kind in KINDS]
    rows = [row(*group) for group in groups if group[-1]]
    return table([HEADER, *rows]) if rows else ""


def pick(found: Iterable[Comparison], mode: str, kind: str) -> list[Comparison]:
    return [c for c in found if c.mode == mode and c.module.kind == kind]


def row(mode: str, kind: str, chosen: list[Comparison]) -> tuple[str, ...]:
    tests = sum(c.passing for c in chosen)
    new, known = sum(len(c.failures) for c in chosen), sum(len(c.expected) for c in chosen)
    percent = f"{100 * (tests - new) / tests:.2f} %" if tests else "-"
    return mode, kind, *map(str, (len(chosen), tests, new, known, new - known)), percent


def table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(map(align, range(len(widths)), line, widths)).rstrip() for line in rows)


def align(column: int, text: str, width: int) -> str:
    return text.ljust(width) if column < 2 else text.rjust(width)


def per_module(found: Iterable[Comparison], shown: int = SHOWN) -> Iterator[str]:
    for c in found:
        if c.unexpected:
            lines = some(c, shown) if c.status in FINISHED else [f"  {c.status} {place(c)}"]
            yield "\n".join([f"{c.mode}: {c.module.name}: {len(c.unexpected)} of {c.passing}", *lines])


def some(c: Comparison, shown: int) -> list[str]:
    lines = [f"  {became:8} {test}" for test, became in list(c.unexpected.items())[:shown]]
    more = len(c.unexpected) - len(lines)
    return [*lines, f"  ... and {more} more: --show {c.module.name}"] if more else lines


def place(c: Comparison) -> str:
    """The test that a crash or timeout was in, and the innermost frame; of an exception what it says."""
    if c.status == "broken":
        return last_line(c.text)
    lines = c.text.splitlines()
    return ", ".join([*lines[:1], *[line.strip() for line in lines if line.startswith('  File "')][:1]])


def refused(found: Iterable[Comparison]) -> Iterator[str]:
    """The modules that ran as they are, and what the rewriter said."""
    errors = {(c.mode, name): text for c in found for name, text in c.refused.items()}
    if errors:
        lines = [f"  {mode}: {name}: {last_line(text)}" for (mode, name), text in sorted(errors.items())]
        yield "\n".join([f"not rewritten, as the rewriter raised: {len(errors)}", *lines])


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def stale(found: Iterable[Comparison]) -> Iterator[str]:
    lines = [f"  {c.mode}: {c.module.name}: {pattern}" for c in found for pattern in c.stale]
    if lines:
        yield "\n".join(["in expected.toml, but not failing (any more):", *lines])


def outdated(store: Store, modules: Iterable[Module], modes: Iterable[str]) -> Iterator[str]:
    results = [store.load(mode, module.name) for mode in modes for module in modules]
    old = sum(r is not None and r.made_by != fingerprint(r.mode) for r in results)
    if old:
        yield f"{old} results are of other sources than these (run again without --report)"


def show(results: Iterable[tuple[Comparison, Result]]) -> Iterator[str]:
    """The texts of new failures."""
    for c, result in results:
        yield f"== {c.mode}: {c.module.name}: {c.status}, {len(c.failures)} new failures of {c.passing}"
        if c.status not in FINISHED:
            yield result.text
        for test, became in c.failures.items():
            reason = f" (expected: {c.expected[test]})" if test in c.expected else ""
            if c.status in FINISHED or test in result.texts:
                yield f"-- {became}: {test}{reason}\n{result.texts.get(test, '')}"
        for name, text in result.refused.items():
            yield f"-- not rewritten: {name}\n{text}"
