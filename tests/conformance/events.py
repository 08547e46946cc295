"""What happens in a test process, a line of JSON each: a crash or a timeout leaves everything up to it.

The events of the process that goes on after a crash come behind it.

    {"collected": [id, ...]}
    {"start": id}
    {"id": id, "outcome": outcome, "text": traceback}
    {"end": status, "text": traceback, "refused": {module: traceback}, "rewritten": [[module, file], ...]}
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


class Events:
    """The file is opened for each event: there are tests that close every file descriptor they find."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.pid = os.getpid()

    def write(self, **event: Any) -> None:
        """On a line of its own, also behind one that was cut short."""
        if os.getpid() != self.pid:  # a test forked, and the copy came back here
            return
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, b"\n" + json.dumps(event).encode() + b"\n")
        os.close(file)


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The last line of a process may be cut short."""
    for line in path.read_text().splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def interrupted(events: Iterable[dict[str, Any]]) -> str:
    """What had begun and did not end."""
    running = "its import"
    for event in events:
        running = event.get("start", "" if {"id", "collected"} & set(event) else running)
    return running
