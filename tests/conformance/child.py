"""One test module of CPython in this process, under one mode; what happens is written down as it happens."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import random
import sys
import sysconfig
import traceback
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

from .events import Events
from .hook import RewritingFinder
from .modes import rewriter
from .purge import purge

ROOTS = [Path(sysconfig.get_path("stdlib"))]
TEXT_LIMIT = 20_000


def install(mode: str, drop: int) -> RewritingFinder:
    """`drop` entries at the front of `sys.path` were there for this harness only."""
    finder = RewritingFinder(rewriter(mode), ROOTS)
    del sys.path[:drop]
    purge(ROOTS)
    sys.meta_path.insert(0, finder)
    return finder


def main(finder: RewritingFinder, module: str, path: str, without: Collection[str] = ()) -> NoReturn:
    """`without`: the tests that earlier processes began, up to one that took its process down."""
    faulthandler.enable()
    events = Events(path)
    before = set(finder.rewritten)
    try:
        status = {"end": "ok", "text": ""}
        run(module, events, without)
    except BaseException as error:
        status = ended(error)
    with contextlib.suppress(Exception):  # it may be closed, or somebody else's
        sys.stdout.flush()
    refused = {name: shorten(error) for name, error in finder.refused.items()}
    events.write(**status, refused=refused, rewritten=list(finder.rewritten.keys() - before))
    os._exit(0)  # the threads that some tests leave behind would keep the process


def ended(error: BaseException) -> dict[str, str]:
    """SkipTest by name: there are two of them, and the tests raise the one imported later."""
    skipped = any(cls.__name__ == "SkipTest" for cls in type(error).__mro__)
    return {"end": "skip" if skipped else "broken", "text": shorten(error)}


def run(name: str, events: Events, without: Collection[str] = ()) -> None:
    unittest = importlib.import_module("unittest")
    prepare()
    suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(name))
    ids = Ids()
    ids.number(suite)
    events.write(collected=list(ids.names.values()))
    result = recorder(unittest, events, ids)
    result.begun.update(without)
    limit = sys.getrecursionlimit()
    while True:
        if result.begun:
            suite = unittest.TestSuite(test for test in ids.tests if ids.of(test) not in result.begun)
        try:
            suite.run(result)
            return
        except RecursionError as error:
            sys.setrecursionlimit(limit)
            if result.running is None:
                raise
            result.end_with(error)


def prepare() -> None:
    """As CPython's own runner does: no network, GUI, audio or large files; repeatable."""
    support = importlib.import_module("test.support")
    support.use_resources = ()
    support.verbose = 0
    importlib.import_module("tempfile").tempdir = None  # asks for TMPDIR again
    sys.argv[:] = ["-c"]
    random.seed(0)
    importlib.import_module("random").seed(0)


class Ids:
    """The names of tests: doctests and parametrised ones may share an id, and then are counted through."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.seen: dict[str, int] = {}
        self.tests: list[Any] = []

    def number(self, suite: Any) -> None:
        for test in suite:
            if hasattr(test, "__iter__"):
                self.number(test)
            else:
                self.of(test)

    def of(self, test: Any) -> str:
        if id(test) not in self.names:
            name = test.id()
            count = self.seen[name] = self.seen.get(name, 0) + 1
            self.names[id(test)] = name if count == 1 else f"{name} #{count}"
            self.tests.append(test)  # suites drop the tests that have run, and ids would come again
        return self.names[id(test)]


WORST = ("pass", "xfail", "skip", "xpass", "fail", "error")


def recorder(unittest: Any, events: Events, ids: Ids) -> Any:
    """A TestResult of this very `unittest`, which is a rewritten copy."""

    class Recorder(unittest.TestResult):  # type: ignore[misc,name-defined]
        """Of several outcomes of one test (its subtests, its clean-up) the worst counts."""

        outcomes: list[tuple[str, str]] | None = None
        running: Any = None

        def __init__(self) -> None:
            super().__init__()
            self.begun: set[str] = set()

        def end_with(self, error: BaseException) -> None:
            """A test has left so low a limit of recursion that `unittest` itself could not end it."""
            self.note(self.running, "error", shorten(error))
            self.stopTest(self.running)

        def startTest(self, test: Any) -> None:
            super().startTest(test)
            self.outcomes, self.running = [], test
            self.begun.add(ids.of(test))
            events.write(start=ids.of(test))

        def stopTest(self, test: Any) -> None:
            super().stopTest(test)
            if self.outcomes is None:  # 3.12.1 does not start a test that it skips
                return
            outcome = max((o for o, _ in self.outcomes), key=WORST.index, default="pass")
            texts = "\n".join(text for _, text in self.outcomes if text)
            self.outcomes = self.running = None
            events.write(id=ids.of(test), outcome=outcome, text=texts[:TEXT_LIMIT])

        def note(self, test: Any, outcome: str, text: str = "") -> None:
            if self.outcomes is None:  # of a class or a module as a whole
                events.write(id=ids.of(test), outcome=outcome, text=text[:TEXT_LIMIT])
            else:
                self.outcomes.append((outcome, text))

        def addSuccess(self, test: Any) -> None:
            self.note(test, "pass")

        def addError(self, test: Any, err: Any) -> None:
            self.note(test, "error", shorten(err[1]))

        def addFailure(self, test: Any, err: Any) -> None:
            self.note(test, "fail", shorten(err[1]))

        def addSkip(self, test: Any, reason: str) -> None:
            if not hasattr(test, "test_case"):  # a skipped subtest leaves the test what the others make of it
                self.note(test, "skip", reason)

        def addExpectedFailure(self, test: Any, err: Any) -> None:
            self.note(test, "xfail")

        def addUnexpectedSuccess(self, test: Any) -> None:
            self.note(test, "xpass")

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            if err is not None:
                outcome = "fail" if issubclass(err[0], test.failureException) else "error"
                self.note(test, outcome, f"{subtest}\n{shorten(err[1])}")

    return Recorder()


def shorten(error: BaseException) -> str:
    """The traceback, from both ends where it is too long; some exceptions break the printing of them."""
    try:
        text = "".join(traceback.format_exception(error))
    except Exception as failure:
        text = f"{type(error).__name__}, not printable: {type(failure).__name__}"
    half = TEXT_LIMIT // 2
    return text if len(text) <= TEXT_LIMIT else f"{text[:half]}\n[...]\n{text[-half:]}"
