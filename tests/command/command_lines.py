"""Running command lines, plainly and under contexts, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ctxdispatch import contexts

ROOT = Path(__file__).parent.parent.parent
CONTEXTS = """
import collections
from ctxdispatch import Context

class Count(Context):
    '''Counts calls by name.'''
    calls: collections.Counter
    top: int = 2

    def prehook(self, f, args, kwargs):
        self.calls[getattr(f, "__name__", type(f).__name__)] += 1

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--top", type=int, default=2, help="so many names")
        parser.add_argument("--quiet", action="store_true")

    @classmethod
    def from_options(cls, options):
        if options.top < 1:
            raise ValueError("--top must be positive")
        return cls(collections.Counter(), options.top)

    def report(self, options):
        if options.quiet:
            return ""
        return f"calls: {self.calls.most_common(self.top)}; of f: {self.calls['f']}"

class Everything(Context):
    '''Hooks and a fallback around every operation that hooks are for.'''
    outs: list

    def prehook(self, f, args, kwargs):
        pass

    def posthook(self, out, f, args, kwargs):
        self.outs.append(None)
        del self.outs[100:]

    def fallback(self, f, args, kwargs):
        return f(*args, **kwargs)

    @classmethod
    def from_options(cls, options):
        return cls([])

    def report(self, options):
        return f"results: {len(self.outs) > 0}"

class Failing(Context):
    def prehook(self, f, args, kwargs):
        if f is abs:
            raise FloatingPointError("abs is forbidden")

    def report(self, options):
        raise RuntimeError("no report")
"""


def python(*words, cwd, stdin="", **environment):
    """The finished process of `python words`."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "contexts")])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore", **environment}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=cwd, env=env, input=stdin, timeout=300
    )


def run(*words, context="mine:Count", cwd, **options):
    """The same under a context, or several."""
    names = (context,) if isinstance(context, str) else context
    chosen = [word for name in names for word in ("--context", name)]
    return python("-m", "ctxdispatch", "run", *chosen, *words, cwd=cwd, **options)


def is_installed(name):
    try:
        contexts.find(name)
    except ImportError:
        return False
    return True


def same(words, *, cwd, context="mine:Count", stdin=""):
    """Run both ways; stdout and status must agree. The two processes."""
    plain = python(*words, cwd=cwd, stdin=stdin)
    other = run(*words, context=context, cwd=cwd, stdin=stdin)
    assert (other.stdout, other.returncode) == (plain.stdout, plain.returncode), other.stderr
    return plain, other
