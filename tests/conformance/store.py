"""Results on disk: one JSON file per version, mode and test module, so that a run can be cut off and resumed.

A result is resumed only where the sources that made it are the same: the harness's own, and in the modes that
rewrite the engine's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .catalog import RUNNING
from .events import interrupted
from .modes import BASELINE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VERSION = "%d.%d" % RUNNING
RUN_BY = ("modes", "hook", "purge", "events", "child", "nursery")

FINISHED = ("ok", "skip")
"""The statuses of a module that came to its end; the others: broken (by an exception), crash, timeout."""


@dataclass
class Result:
    """One test module under one mode: outcome and text per test id."""

    module: str
    mode: str
    status: str
    seconds: float = 0.0
    text: str = ""
    outcomes: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    made_by: str = ""


@dataclass
class Store:
    folder: Path

    def path(self, mode: str, module: str) -> Path:
        return self.folder / VERSION / mode / f"{module}.json"

    def load(self, mode: str, module: str) -> Result | None:
        try:
            return Result(**json.loads(self.path(mode, module).read_text()))
        except (OSError, ValueError, TypeError):  # not there, cut short, or of another layout
            return None

    def save(self, result: Result) -> None:
        path = self.path(result.mode, result.module)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(result)))
        part.replace(path)

    def current(self, mode: str, module: str) -> bool:
        result = self.load(mode, module)
        return result is not None and result.made_by == fingerprint(mode)


@cache
def fingerprint(mode: str) -> str:
    """Of the sources that a result depends on."""
    sources = [HERE / f"{name}.py" for name in RUN_BY]
    if mode != BASELINE:
        sources += sorted((ROOT / "ctxdispatch").rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


def collect(module: str, mode: str, events: Iterable[dict[str, Any]], ended: str) -> Result:
    """The result of a process from its events; `ended`: how it came to an end, if not by itself."""
    events = list(events)
    result = Result(module, mode, ended, made_by=fingerprint(mode))
    for event in events:
        note(result, event)
    if result.status not in FINISHED and (running := interrupted(events)):
        result.text = f"in {running}\n{result.text}"
    return result


def note(result: Result, event: dict[str, Any]) -> None:
    if "collected" in event:  # again, by each process that goes on where one before it was taken down
        result.outcomes = dict.fromkeys(event["collected"], "missing") | result.outcomes
    elif "id" in event:
        result.outcomes[event["id"]] = event["outcome"]
        result.texts.update({event["id"]: event["text"]} if event["text"] else {})
    elif "end" in event:
        result.status, result.text, result.refused = event["end"], event["text"], event["refused"]
