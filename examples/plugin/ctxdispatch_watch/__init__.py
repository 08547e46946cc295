"""Where certain functions are called."""

from collections import Counter
from importlib import import_module

from ctxdispatch import Context


class WatchContext(Context):
    """Records where a program calls some functions, and how often."""

    functions: tuple
    places: Counter
    intercepts = ("call",)

    def prehook(self, f, args, kwargs):
        if f in self.functions:
            self.places[str(self.where())] += 1

    @classmethod
    def of(cls, *functions):
        """A context that watches these functions."""
        return cls(functions, Counter())

    # For `python -m ctxdispatch run --context watch`.

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--function", action="append", default=[], metavar="MODULE.NAME")

    @classmethod
    def from_options(cls, options):
        return cls.of(*map(_named, options.function))

    def report(self, options):
        return "\n".join(f"{count:6} x {place}" for place, count in self.places.most_common())


def _named(name):
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module or "builtins"), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--function {name}: {error}") from error
