"""Programs are drawn, all paths run them, and what is wrong is shown as short as it can be made."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator

from tests.facts.probe import quiet
from tests.paths.judging import PATHS, is_silent, judged
from tests.paths.programs import Program, drawn

Tally = Counter[tuple[str, str]]
"""(path, outcome), and ("programs" or "programs with rowless calls", answered, partly, refused, ..)."""


def verdict(outcome: str) -> str:
    return outcome.partition(":")[0]


class Wrong(AssertionError):
    """Of a program, as short as it could be made."""

    def __init__(self, program: Program, outcomes: dict[str, str]) -> None:
        self.program, self.outcomes = program, outcomes
        told = "\n".join(f"# {path}: {said}" for path, said in outcomes.items())
        super().__init__(f"\n{program.shown()}{told}")


class Hunt:
    """Judges what is drawn; what is wrong on a path is made as short as it can be while it is wrong in the
    same way, on that path alone, for so many seconds."""

    def __init__(self, seconds: float, silent: bool, before: Callable[[Program], None]) -> None:
        self.seconds, self.silent, self.before = seconds, silent, before
        self.tally: Tally = Counter()

    def one(self, program: Program) -> Wrong | None:
        outcomes = self.judge(program, (*PATHS,))
        self.tally.update(counted(program, outcomes))
        for path, said in outcomes.items():
            if is_silent(said) or (verdict(said) == "WRONG" and not self.silent):
                self.end = time.monotonic() + self.seconds
                return self.shortened(Wrong(program, outcomes), path)
        return None

    def shortened(self, wrong: Wrong, path: str) -> Wrong:
        """Line by line, term by term, expression by expression."""
        for program in wrong.program.shorter():
            if time.monotonic() > self.end:
                break
            outcomes = self.judge(program, (path,))
            if _alike(outcomes, wrong.outcomes, path):
                return self.shortened(Wrong(program, outcomes), path)
        return wrong

    def judge(self, program: Program, paths: tuple[str, ...]) -> dict[str, str]:
        self.before(program)
        return judged(program, paths)


def _alike(one: dict[str, str], two: dict[str, str], path: str) -> bool:
    return one["plain"] == two["plain"] and kind(one.get(path, "")) == kind(two[path])


def kind(said: str) -> str:
    return " ".join(said.split()[: 3 if "raises" in said else 2])


def hunt(
    examples: int, seed: int, rowless: float, before: Callable[[Program], None] = lambda program: None,
    seconds: float = 30.0, silent: bool = False,
) -> Iterator[tuple[Tally, Wrong | None]]:  # fmt: skip
    """How each of so many programs did, and whether it is wrong; `before` is called with each that is run.
    `seconds`: for making one shorter. `silent`: what an error tells of is counted only."""
    chance = random.Random(seed)
    for _ in range(examples):
        hunting = Hunt(seconds, silent, before)
        with quiet():
            wrong = hunting.one(drawn(chance, rowless))
        yield hunting.tally, wrong


def counted(program: Program, outcomes: dict[str, str]) -> list[tuple[str, str]]:
    """Each path's outcome, and whether derivatives are answered."""
    kind = "programs with rowless calls" if program.rowless else "programs"
    return [*[(path, verdict(said)) for path, said in outcomes.items()], (kind, answer(outcomes))]


def answer(outcomes: dict[str, str]) -> str:
    said = {verdict(said) for path, said in outcomes.items() if path not in ("plain", "pattern")}
    if outcomes["plain"] not in ("right", "raises", "no derivative"):
        return "no program"
    if "WRONG" in map(verdict, outcomes.values()):
        return "WRONG"
    return "answered" if "refused" not in said else "refused" if said == {"refused"} else "partly refused"


def told(tally: Tally) -> str:
    """A table of it."""
    rows = []
    for path in dict.fromkeys(path for path, _ in tally):
        of = {said: n for (p, said), n in tally.items() if p == path}
        whole = sum(of.values())
        shares = [f"{n} {said} ({n / whole:.0%})" for said, n in sorted(of.items(), key=lambda i: -i[1])]
        rows.append(f"{path:28}{', '.join(shares)}")
    return "\n".join(rows)
