"""`expected.toml`: the tests that legitimately differ from the plain run, each with the reason.

    [[expected]]
    modes = ["identity", "hooks"]
    module = "test_dis"
    tests = ["test.test_dis.DisTests.test_*", ...]     # ids, or globs of ids
    versions = ["3.11", "3.12"]                        # all of them where it is left out
    reason = "reads the bytecode of its own functions"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .modes import BASELINE, MODES
from .store import VERSION

FILE = Path(__file__).with_name("expected.toml")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
ALLOWED = {"modes": set(MODES) - {BASELINE}, "versions": set(VERSIONS)}


class InvalidExpectation(ValueError):
    """The file says something that cannot be meant."""


@dataclass(frozen=True)
class Expected:
    modes: tuple[str, ...]
    module: str
    tests: tuple[str, ...]
    reason: str
    versions: tuple[str, ...] = VERSIONS

    def concerns(self, mode: str, module: str) -> bool:
        return mode in self.modes and module == self.module and VERSION in self.versions

    def matches(self, test: str) -> bool:
        return any(fnmatchcase(test, pattern) for pattern in self.tests)


def load(path: Path = FILE) -> list[Expected]:
    return parse(path.read_text()) if path.exists() else []


def parse(text: str) -> list[Expected]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidExpectation(str(error)) from None
    if set(tables) - {"expected"}:
        raise InvalidExpectation(f"not [[expected]]: {', '.join(set(tables) - {'expected'})}")
    return [entry(number, table) for number, table in enumerate(tables.get("expected", []), 1)]


def entry(number: int, table: dict[str, Any]) -> Expected:
    where = f"entry {number} ({table.get('module', 'no module')})"
    names = {f.name for f in fields(Expected)}
    missing = names - {"versions"} - set(table)
    if missing or set(table) - names:
        raise InvalidExpectation(f"{where}: missing {sorted(missing)}, unknown {sorted(set(table) - names)}")
    for name in ("modes", "tests", "versions"):
        check_list(where, name, table.get(name, list(VERSIONS)))
    for name in ("module", "reason"):
        if not (isinstance(table[name], str) and table[name].strip()):
            raise InvalidExpectation(f"{where}: {name} is to be a text that says something")
    return Expected(**{name: tuple(v) if isinstance(v, list) else v for name, v in table.items()})


def check_list(where: str, name: str, value: Any) -> None:
    if not (isinstance(value, list) and value and all(isinstance(v, str) and v for v in value)):
        raise InvalidExpectation(f"{where}: {name} is to be a list of texts, not {value!r}")
    unknown = set(value) - ALLOWED.get(name, set(value))
    if unknown:
        raise InvalidExpectation(f"{where}: {name} has {sorted(unknown)}, not in {sorted(ALLOWED[name])}")


def stale(entries: Iterable[Expected], mode: str, module: str, failures: Iterable[str]) -> list[str]:
    """The patterns that no new failure of the module matches any more."""
    failing = list(failures)
    patterns = [p for e in entries if e.concerns(mode, module) for p in e.tests]
    return [p for p in patterns if not any(fnmatchcase(test, p) for test in failing)]
