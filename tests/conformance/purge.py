"""What the engine imported of the standard library leaves `sys.modules`: tests import rewritten copies.

The engine and this harness keep the copies that they hold references to.  C modules stay: few of them can be
initialised twice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.machinery import FrozenImporter, SourceFileLoader
from pathlib import Path
from types import ModuleType

STARTUP = frozenset("""
    __main__ abc _collections_abc codecs encodings io os os.path posixpath genericpath stat site sitecustomize
    usercustomize _sitebuiltins zipimport _frozen_importlib _frozen_importlib_external
    importlib importlib._bootstrap importlib._bootstrap_external
""".split())
"""What the interpreter itself holds on to: codecs and their registry, the classes of files and of
`os.environ`, the path finders.  Second copies of these would be strangers to the first."""


def purge(roots: Iterable[Path]) -> list[str]:
    """Forget every pure-Python module beneath `roots` that can be imported again; their names."""
    within = tuple(f"{root}/" for root in roots)
    gone = {name: module for name, module in sys.modules.items() if removable(name, module, within)}
    for name in gone:
        del sys.modules[name]
    for name, module in gone.items():
        detach(name, module)
    return list(gone)


def removable(name: str, module: ModuleType, within: tuple[str, ...]) -> bool:
    if name in STARTUP or name.startswith("encodings."):
        return False
    spec = getattr(module, "__spec__", None)
    loader, origin = getattr(spec, "loader", None), getattr(spec, "origin", None)
    return loader is FrozenImporter or (
        type(loader) is SourceFileLoader and origin.startswith(within) and "-packages/" not in origin
    )


def detach(name: str, module: ModuleType) -> None:
    """From a package that stays. One that goes keeps its own: whoever holds it needs it whole."""
    package, _, last = name.rpartition(".")
    if package in sys.modules and getattr(sys.modules[package], last, None) is module:
        delattr(sys.modules[package], last)
