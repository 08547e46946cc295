"""The plugin registry: `from ctxdispatch.contexts import NAME` loads the context registered as NAME.

A package registers its contexts in the entry-point group `ctxdispatch.contexts`:

    [project.entry-points."ctxdispatch.contexts"]
    CountContext = "my_package:CountContext"

Entry points are read when a name is first asked for, and only that one plugin is imported: one that is broken
harms nobody who does not ask for it. Failures are ImportErrors that name the plugin and its distribution.
"""

import sys
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from opcode import opmap
from types import FrameType
from typing import Any

GROUP = "ctxdispatch.contexts"


class PluginError(ImportError):
    """A registered context cannot be loaded; the message names it, its distribution and the cause."""


def installed() -> tuple[str, ...]:
    """The names of all registered contexts, sorted; none of them is loaded."""
    return tuple(sorted(_registered()))


def load(name: str) -> Any:
    """The context registered as `name`.

    Raises ImportError for a name that nobody registers (it lists those there are), and PluginError for one
    that fails to load or that several distributions register.
    """
    points = _registered().get(name)
    if points is None:
        raise ImportError(f"no context named {name!r} is installed{_near(name)}")
    if len({point.value for point in points}) > 1:
        raise PluginError(f"{name!r} is registered several times: {_listing(points)}; uninstall all but one")
    return _load(points[0])


def find(name: str) -> Any:
    """The context that people mean by `name`: the name of an installed one, in any case, with or without the
    suffix "Context", or `module:Class` for one that is not installed.

    Raises ImportError where there is none (with the nearest name that there is), and PluginError as `load`.
    """
    if ":" in name:
        return _of_module(name)
    exact = [each for each in installed() if each == name]
    found = exact or [each for each in installed() if _stem(each) == _stem(name)]
    if len(found) == 1:
        return load(found[0])
    if found:
        raise ImportError(f"{name!r} may be any of: {', '.join(found)}")
    raise ImportError(f"no context named {name!r} is installed{_near(name)}")


def _near(name: str) -> str:
    near = get_close_matches(_stem(name), map(_stem, installed()), n=1)
    hint = "".join(f"; did you mean {each!r}?" for each in installed() if _stem(each) in near)
    return hint or _there_are()


def _there_are() -> str:
    return f"; there are: {', '.join(installed()) or 'none'}"


def _stem(name: str) -> str:
    return name.lower().removesuffix("context") or name.lower()


def _of_module(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
    except Exception as error:
        raise PluginError(f"{name}: {type(error).__name__}: {error}", name=module) from error
    for part in path.split("."):
        if not hasattr(found, part):
            near = get_close_matches(part, dir(found), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ImportError(f"{name}: module {module!r} has no {path!r}{hint}", name=module)
        found = getattr(found, part)
    return found


def registered() -> tuple[EntryPoint, ...]:
    """All entry points of the group, by name; several of one name where several distributions register it."""
    return tuple(point for name in installed() for point in _registered()[name])


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        message = f"the context {_listing((point,))} cannot be loaded: {type(error).__name__}: {error}"
        raise PluginError(message, name=point.module) from error


def _listing(points: tuple[EntryPoint, ...]) -> str:
    return ", ".join(f"{p.name!r} ({p.value}, of the distribution {_distribution(p)})" for p in points)


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "unknown"


@cache
def _registered() -> dict[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=GROUP):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def refresh() -> None:
    """Read the entry points again, for packages installed or put on `sys.path` since."""
    _registered.cache_clear()


def _is_imported_by(frame: FrameType) -> bool:
    """Whether it is at `from ctxdispatch.contexts import ..`, whose error is an ImportError."""
    return frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def __getattr__(name: str) -> Any:
    # Dunders are Python asking about the module (`__path__`, `__wrapped__`), not a user naming a context.
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _registered() and not _is_imported_by(sys._getframe(1)):
        raise AttributeError(f"no context named {name!r} is installed{_near(name)}", name=name, obj=None)
    value = globals()[name] = load(name)
    return value


def __dir__() -> list[str]:
    return sorted({"find", "installed", "load", "refresh", "registered", *installed()})
