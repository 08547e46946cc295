"""Test modules in processes, several at a time: each worker thread has a nursery, which forks for each."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .events import Events, interrupted, read_events
from .store import ROOT, Result, Store, collect, fingerprint

Task = tuple[str, str]
"""Mode and module."""

FRONT = [str(ROOT / "tests"), str(ROOT)]
PROGRAM = f"""\
import sys
sys.path[:0] = {FRONT!r}
from conformance.nursery import serve
serve(sys.argv[1], drop={len(FRONT)})
"""
LOG_LIMIT = 6_000
PROCESSES = 50
"""For one module, each but the last taken down by a test."""
STARTUP_SECONDS = 300
"""For rewriting what all test modules need: beyond that, the rewriter hangs."""


@dataclass
class Runner:
    store: Store
    timeout: float
    jobs: int = 1
    tasks: queue.SimpleQueue[Task | None] = field(default_factory=queue.SimpleQueue)
    results: queue.SimpleQueue[Result | BaseException] = field(default_factory=queue.SimpleQueue)
    nurseries: list[Nursery] = field(default_factory=list)
    hopeless: dict[str, str] = field(default_factory=dict)
    """The modes in which not even a nursery comes up, with what it said."""
    stopped: bool = False

    def run(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """Results as they come, saved; when the caller goes away, everything is killed."""
        tasks = list(tasks)
        for task in [*tasks, *[None] * self.jobs]:
            self.tasks.put(task)
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self.jobs)]
        for thread in threads:
            thread.start()
        try:
            for _ in tasks:
                yield self._next()
        finally:
            self._stop(threads)

    def _next(self) -> Result:
        result = self.results.get()
        if isinstance(result, BaseException):
            raise result
        self.store.save(result)
        return result

    def _stop(self, threads: list[threading.Thread]) -> None:
        self.stopped = True
        for nursery in self.nurseries:
            nursery.process.terminate()
        for thread in threads:
            thread.join()

    def _work(self) -> None:
        """A nursery serves as long as it lives and the mode is its own; a module may take it down with it."""
        nursery = None
        try:
            while not self.stopped and (task := self.tasks.get()) is not None:
                mode, module = task
                if mode not in self.hopeless:
                    nursery = self._nursery(nursery, mode)
                text = self.hopeless.get(mode)
                self.results.put(nursery.run(module, self.timeout) if text is None else failed(task, text))
        except BaseException as error:
            self.results.put(error)
        finally:
            if nursery is not None:
                nursery.close()

    def _nursery(self, last: Nursery | None, mode: str) -> Nursery:
        if last is not None and last.mode == mode and last.process.poll() is None:
            return last
        if last is not None:
            last.close()
        made = Nursery(mode)
        self.nurseries.append(made)
        if self.stopped:
            made.process.terminate()
        if not made.ready():
            self.hopeless[mode] = made.last_words()
        return made


class Nursery:
    """The process of nursery.py, and a folder for it and for what it starts."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.place = tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True)
        self.folder = Path(self.place.name)
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, mode], cwd=self.folder, env=environment(self.folder),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True, text=True,
            )  # fmt: skip

    def run(self, module: str, timeout: float, package: str = "test.") -> Result:
        """A test that takes its process down is one failure: another process runs the tests behind it."""
        start = time.perf_counter()
        folder = self.folder / module
        folder.mkdir(exist_ok=True)
        without: list[str] = []
        for _ in range(PROCESSES):
            left = start + timeout - time.perf_counter()
            answer = self._ask(module=package + module, folder=str(folder), timeout=left, without=without)
            begun = [event["start"] for event in read_events(folder / "events") if "start" in event]
            lost = interrupted(read_events(folder / "events"))
            if answer["timeout"] or lost not in begun[len(without) :] or self.process.poll() is not None:
                break
            text = f"exit status {answer['exit']}\n{tail(folder / 'log')}"
            Events(folder / "events").write(id=lost, outcome="error", text=text)
            without = begun
        ended = "timeout" if answer["timeout"] else "crash"
        result = collect(module, self.mode, read_events(folder / "events"), ended)
        result.seconds = round(time.perf_counter() - start, 2)
        if result.status == ended:
            result.text += "\n".join((f"exit status {answer['exit']}", tail(folder / "log")))
        if self.process.poll() is not None:  # it died, with the rewritten `unittest` perhaps
            result.text = self.last_words()
        return result

    def ready(self) -> bool:
        watch = threading.Timer(STARTUP_SECONDS, self.process.send_signal, [signal.SIGABRT])
        watch.start()
        line = self.process.stdout.readline()
        watch.cancel()
        return line == "ready\n"

    def last_words(self) -> str:
        self.process.terminate()
        return f"in the nursery, exit status {self.process.wait()}\n{tail(self.folder / 'log')}"

    def _ask(self, **task: Any) -> dict[str, Any]:
        try:
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]
        except (OSError, ValueError):
            return {"exit": self.process.wait(), "timeout": False}

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate()
        self.place.cleanup()


def failed(task: Task, text: str) -> Result:
    mode, module = task
    return Result(module, mode, "crash", text=text, made_by=fingerprint(mode))


def environment(folder: Path) -> dict[str, str]:
    """The user's settings of the interpreter would change what tests see; with one hash seed, runs repeat."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    return kept | {"PYTHONHASHSEED": "0", "TMPDIR": str(folder)}


def tail(path: Path) -> str:
    return path.read_bytes()[-LOG_LIMIT:].decode(errors="replace") if path.exists() else ""
