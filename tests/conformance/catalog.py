"""Which test modules are run: `modules.txt`, a module per line with what is to be known of it.

    test_dis        introspection          it tests tracing, profiling, frames or bytecode: counted apart
    test_grammar    fast                   part of the subset for CI
    test_tstring    since=3.14             also until=3.12
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_name("modules.txt")
Version = tuple[int, int]
STDLIB = Path(sysconfig.get_path("stdlib"))
RUNNING: Version = sys.version_info[:2]


class Module(NamedTuple):
    name: str
    introspection: bool = False
    fast: bool = False
    since: Version = (3, 0)
    until: Version = (3, 99)

    @property
    def kind(self) -> str:
        return "introspection" if self.introspection else "library"

    def runs_on(self, version: Version = RUNNING) -> bool:
        return self.since <= version <= self.until

    @property
    def installed(self) -> bool:
        """Some distributions leave the `test` package out, or parts of it."""
        base = STDLIB.joinpath("test", *self.name.split("."))
        return base.with_name(f"{base.name}.py").exists() or (base / "__init__.py").exists()


def read(lines: Iterable[str]) -> list[Module]:
    stripped = (line.partition("#")[0].split() for line in lines)
    modules = [parse(*words) for words in stripped if words]
    twice = {m.name for m in modules if sum(m.name == other.name for other in modules) > 1}
    if twice:
        raise ValueError(f"listed twice: {', '.join(sorted(twice))}")
    return modules


def parse(name: str, *marks: str) -> Module:
    return Module(name, **dict(field(name, mark) for mark in marks))


def field(name: str, mark: str) -> tuple[str, object]:
    key, _, value = mark.partition("=")
    if key in ("introspection", "fast") and not value:
        return key, True
    if key in ("since", "until") and value:
        return key, version(value)
    raise ValueError(f"{name}: unknown mark {mark!r}")


def version(text: str) -> Version:
    major, minor = text.split(".")
    return int(major), int(minor)


def catalog() -> list[Module]:
    """What is run on this version."""
    return [module for module in read(LIST.read_text().splitlines()) if module.runs_on()]


def choose(names: Iterable[str], fast: bool) -> list[Module]:
    """The modules of these names, listed or not; without names all, or the fast ones."""
    listed = catalog()
    known = {module.name: module for module in listed}
    if names:
        return [known.get(name, Module(name)) for name in (n.removeprefix("test.") for n in names)]
    return [module for module in listed if module.fast or not fast]
