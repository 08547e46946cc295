"""The import hook: source and frozen modules under `roots` are rewritten, all else is imported as ever.

Nothing but the code may differ from a plain import.  So the specs and loaders are CPython's own; a source
loader keeps its class, its cached bytecode (of the original code: what is rewritten is never written to
disk), its `get_source`, and runs the module body from the frozen importlib, which tracebacks leave out.
"""

from __future__ import annotations

import _imp
import sys
from collections.abc import Iterable
from importlib.machinery import FrozenImporter, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from threading import get_ident
from types import CodeType, ModuleType
from typing import Any

from .modes import Rewrite

call_with_frames_removed = sys.modules["_frozen_importlib"]._call_with_frames_removed


class RewritingFinder:
    """A meta path finder; put it first.

    `refused` holds the modules that the rewriter raised for, with the exception: they run as they are, so
    that one refusal does not fail the thousands of tests that import the module.
    """

    def __init__(self, rewrite: Rewrite, roots: Iterable[Path]) -> None:
        self.rewrite = rewrite
        self.roots = tuple(f"{root}/" for root in roots)
        self.rewritten: dict[tuple[str, str | None], CodeType] = {}
        self.refused: dict[str, BaseException] = {}
        self.rewriting: set[int] = set()

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name in sys.builtin_module_names or get_ident() in self.rewriting:  # the rewriter may import
            return None
        spec = FrozenImporter.find_spec(name, path, target) or PathFinder.find_spec(name, path, target)
        return spec if spec is not None and self._take(spec) else None

    def _take(self, spec: ModuleSpec) -> bool:
        loader = spec.loader
        if loader is FrozenImporter:
            spec.loader = _Frozen(self, spec)  # type: ignore[assignment]
        elif type(loader) is SourceFileLoader and self._within(spec.origin):
            get_code = loader.get_code
            loader.get_code = lambda name: self.code(name, spec.origin, get_code(name))  # type: ignore
        else:
            return False
        return True

    def _within(self, origin: str | None) -> bool:
        """Packages that are installed beneath the standard library are not part of it."""
        return origin is not None and origin.startswith(self.roots) and "-packages/" not in origin

    def code(self, name: str, origin: str | None, original: CodeType) -> CodeType:
        """The rewritten code; tests import many modules several times."""
        known = self.rewritten.get((name, origin))
        if known is None:
            known = self.rewritten[name, origin] = self._rewrite(name, original)
        return known

    def _rewrite(self, name: str, original: CodeType) -> CodeType:
        self.rewriting.add(get_ident())
        try:
            return self.rewrite(original)
        except Exception as error:
            self.refused[name] = error
            return original
        finally:
            self.rewriting.discard(get_ident())


class _Frozen:
    """The loader of one frozen module until it runs; the module itself then has the usual one."""

    def __init__(self, finder: RewritingFinder, spec: ModuleSpec) -> None:
        self.finder = finder
        self.spec = spec

    def __getattr__(self, name: str) -> Any:
        return getattr(FrozenImporter, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return FrozenImporter.create_module(spec)

    def get_code(self, name: str) -> CodeType:
        return self.finder.code(name, self.spec.origin, _imp.get_frozen_object(name))

    def exec_module(self, module: ModuleType) -> None:
        code = self.get_code(self.spec.name)
        self.spec.loader = module.__loader__ = FrozenImporter
        call_with_frames_removed(exec, code, vars(module))
