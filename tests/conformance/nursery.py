"""A process per mode that has rewritten and imported what every test module needs, and forks for each one.

Rewriting `unittest`, `test.support` and all that they import costs more than most test modules take.  What a
fork finds is what CPython's own runner has loaded too; otherwise it is a process of its own, in a session of
its own that is killed as a whole.  The code (not the module) of what two of them imported is kept for
the rest.

It says "ready"; then, one JSON object a line, a task {"module", "folder", "timeout", "without": [test, ...]}
comes in, and {"exit": status, "timeout": bool} goes out.  The folder then has `events` (see events.py) and
`log`, what was printed.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import signal
import sys
import time
from collections import Counter
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from . import child
from .events import read_events
from .hook import RewritingFinder

COMMON = ("unittest", "test.support", *(
    f"test.support.{name}_helper" for name in ("os", "import", "script", "warnings", "threading")
))  # fmt: skip
DUMP_SECONDS = 2
running: list[int] = []


def serve(mode: str, drop: int) -> None:
    signal.signal(signal.SIGTERM, stop)
    faulthandler.enable()
    finder = child.install(mode, drop)
    imports: Counter[tuple[str, str]] = Counter()
    for name in COMMON:
        with contextlib.suppress(Exception):  # the test module will raise it again, where it can be reported
            importlib.import_module(name)
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        task = json.loads(line)
        print(json.dumps(attend(finder, **task)), flush=True)
        learn(finder, imports, Path(task["folder"]))


def learn(finder: RewritingFinder, imports: Counter[tuple[str, str]], folder: Path) -> None:
    """Rewrite what was imported for the second time, if by files that are there."""
    for event in read_events(folder / "events"):
        for name, origin in event.get("rewritten", ()):
            imports[name, origin] += 1
            if imports[name, origin] == 2 and os.path.exists(origin):
                finder.code(name, origin, SourceFileLoader(name, origin).get_code(name))


def attend(
    finder: RewritingFinder, module: str, folder: str, timeout: float, without: list[str]
) -> dict[str, Any]:
    pid = os.fork()
    if pid == 0:
        isolate(folder)
        child.main(finder, module, f"{folder}/events", without)
    running.append(pid)
    status = wait(pid, timeout)
    late = status is None
    if late:
        os.kill(pid, signal.SIGABRT)  # faulthandler writes where the threads are
        status = wait(pid, DUMP_SECONDS)
    kill(pid)
    exit_code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1] if status is None else status)
    running.clear()
    return {"exit": exit_code, "timeout": late}


def isolate(folder: str) -> None:
    """A session, standard streams, a current folder and temporary files of its own; an interrupt is heard,
    also where the shell that started all this has it ignored."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    work = f"{folder}/work"
    os.makedirs(work, exist_ok=True)
    os.chdir(work)
    os.environ["TMPDIR"] = work
    redirect(os.devnull, os.O_RDONLY, 0)
    redirect(f"{folder}/log", os.O_WRONLY | os.O_CREAT, 1, 2)


def redirect(path: str, flags: int, *fds: int) -> None:
    file = os.open(path, flags)
    for fd in fds:
        os.dup2(file, fd)
    os.close(file)


def wait(pid: int, timeout: float) -> int | None:
    """The wait status; None: it is still running."""
    end, pause = time.monotonic() + timeout, 0.001
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return None


def kill(pid: int) -> None:
    """With everything that it started."""
    for stop_it in (os.killpg, os.kill):  # it may not have come to setsid yet
        with contextlib.suppress(ProcessLookupError):
            stop_it(pid, signal.SIGKILL)


def stop(*what: Any) -> None:
    for pid in running:
        kill(pid)
    os._exit(1)
