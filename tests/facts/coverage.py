"""How many calls of C code, in programs that nobody here wrote, facts clear.

    python -m tests.facts.coverage                       the packages below
    python -m tests.facts.coverage json numpy.linalg     these
    python -m tests.facts.coverage --seconds 600         each for ten minutes at most, not one

The tests of each package run under a context that is told of every call, in a process of its own, until
they end or their time does. A call is cleared if its callee has a row, or if nothing that it is given
holds numbers or arrays that could be active. Classes that Python made run Python code, whose calls count.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

from tqdm import tqdm

from ctxdispatch import Context
from ctxdispatch.facts import fact_of
from ctxdispatch.ir.watching import is_undispatched
from ctxdispatch_contexts.programs.converting import is_of_python
from ctxdispatch_contexts.programs.kinds import has_derivatives
from ctxdispatch_contexts.programs.opaque_values import parts

UNITTEST = {
    name: f"test.test_{name}"
    for name in "json heapq statistics fractions bisect copy textwrap difflib colorsys string".split()
}
PYTEST = {
    "numpy.linalg": "numpy.linalg.tests.test_linalg",
    "numpy.polynomial": "numpy.polynomial.tests.test_polynomial",
    "numpy.lib": "numpy.lib.tests.test_function_base",
    "scipy.optimize": "scipy.optimize.tests.test_zeros",
    "scipy.interpolate": "scipy.interpolate.tests.test_polyint",
    "scipy.linalg": "scipy.linalg.tests.test_basic",
    "sklearn.linear_model": "sklearn.linear_model.tests.test_bayes",
}


class Rows(Context):
    """Counts calls of C code by what clears them."""

    intercepts: ClassVar[Any] = ("call", "operator", "compare", "item", "iterate", "attribute")
    cleared: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    def fallback(self, f: Any, args: Any, kwargs: Any) -> Any:
        if not is_undispatched(f) and not hasattr(f, "__code__") and not _of_python(f):
            self.count(f, (*args, *kwargs.values()))
        return f(*args, **kwargs)

    def count(self, f: Any, operands: tuple[Any, ...]) -> None:
        if fact_of(f) is not None:
            self.cleared["row"] += 1
        elif not any(has_derivatives(part) for value in operands for part in parts(value)):
            self.cleared["nothing active"] += 1
        else:
            owner = getattr(f, "__objclass__", None) or type(getattr(f, "__self__", None))
            name = getattr(f, "__qualname__", type(f))
            self.unknown[f"{owner.__module__}.{owner.__qualname__} {name}"] += 1

    def report(self, options: Any) -> str:
        return json.dumps([self.cleared, self.unknown])


def _of_python(f: Any) -> bool:
    return issubclass(type(f), type) and is_of_python(f)


def measured(name: str, seconds: float) -> tuple[Counter[str], Counter[str]]:
    """(calls by what cleared them, callees of those that nothing cleared) of the tests of a package."""
    found = UNITTEST.get(name)
    run = ["unittest", "-q", found] if found else ["pytest", "-q", "-x", "--pyargs", PYTEST[name]]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report"
        context = ["--context", "tests.facts.coverage:Rows", "--report", str(file)]
        command = [sys.executable, "-m", "ctxdispatch", "run", *context, "-m", *run]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            try:
                running.wait(seconds)
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGINT)  # the report is written all the same
        text = file.read_text(encoding="utf-8")
    cleared, unknown = json.loads(text[text.index("[") :])
    return Counter(cleared), Counter(unknown)


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    parser = argparse.ArgumentParser("python -m tests.facts.coverage", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    known = [*UNITTEST, *PYTEST]
    parser.add_argument("names", nargs="*", metavar="package", help=f"of {' '.join(known)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each package")
    options = parser.parse_args(arguments)
    if other := {*options.names} - {*known}:
        parser.error(f"no package of these: {' '.join(sorted(other))}")
    for name in tqdm(options.names or known):
        cleared, unknown = measured(name, options.seconds)
        some, none = cleared.total(), unknown.total()
        share = 100.0 * some / max(some + none, 1)
        worst = ", ".join(f"{callee} {n}" for callee, n in unknown.most_common(4))
        tqdm.write(f"{name:22} {some + none:9} calls {share:7.2f} %   {worst}")


if __name__ == "__main__":
    main(sys.argv[1:])
