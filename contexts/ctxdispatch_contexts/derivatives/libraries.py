"""Libraries that need not be there. A callee of one is met only where a program has imported it: then its
rules are loaded, and nothing here imports a library on its own.

    loaded()                    ("scipy.special",): those that this process has imported
    load(loaded())              their rules are in the registry
    rows("scipy.special")       row name -> Row
    callees(library, name)      the functions that row is for
    namespace(library)          what the names in its rows mean
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from ctxdispatch.passes import numpy_types
from ctxdispatch_contexts.derivatives.rows import Row

RULES = {
    "scipy.special": "special_functions", "scipy.linalg": "scipy_linalg",
    "scipy.signal": "scipy_signal", "scipy.stats._stats_pythran": "scipy_normal",
    "scipy.stats._continuous_distns": "scipy_distributions",
    "statistics": "python_statistics", "numpy.random": "shuffling",
}  # fmt: skip
"""The modules of rules, by library."""

ROWS = {"scipy.special": "special_rows"}
"""The modules of rows, and of what they are written with."""


TYPES = {
    "scipy.special": (numpy_types.by_sampling, "softmax log_softmax logsumexp multigammaln"),
    "scipy.linalg": (
        numpy_types.by_sampling_data,
        "cholesky cho_factor cho_solve solve solve_triangular solve_sylvester inv det expm",
    ),
    "scipy.signal": (numpy_types.by_rank, "convolve fftconvolve oaconvolve correlate"),
}
"""Of which functions of a library samples tell what they return, and how. (What `sqrtm` and `eig` return, the
values in an array decide.)"""


_missing = dict.fromkeys(RULES)
_loaded: tuple[str, ...] = ()


def loaded() -> tuple[str, ...]:
    """Whose import is over. Asked at every lookup: what was found is kept."""
    global _loaded
    for name in tuple(_missing):
        if name in sys.modules and not _in_progress(sys.modules[name]):
            found = {*_loaded, name}
            _loaded = tuple([n for n in RULES if n in found])
            _missing.pop(name, None)
    return _loaded


def _in_progress(module: Any) -> bool:
    return getattr(getattr(module, "__spec__", None), "_initializing", False)


@cache
def load(libraries: tuple[str, ...]) -> None:
    for library in libraries:
        import_module(f"ctxdispatch_contexts.derivatives.{RULES[library]}")
        rule, names = TYPES.get(library, (numpy_types.by_sampling, ""))
        for name in names.split():
            numpy_types.RULES.setdefault(getattr(sys.modules[library], name), rule)


def rows(library: str) -> dict[str, Row]:
    """The rows of a library's elementwise functions; {} where it has none."""
    return dict(_row_module(library).ROWS) if library in ROWS else {}


def real_only(library: str) -> frozenset[str]:
    """The rows that hold for real arguments only."""
    return frozenset(_row_module(library).REAL_ONLY)


def callees(library: str, name: str) -> Iterator[Any]:
    """The function of that name, where this version of the library has it. Its types are those of a ufunc."""
    found: Any = sys.modules[library]
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not None:
        numpy_types.RULES.setdefault(found, numpy_types.elementwise)
        yield found


@cache
def namespace(library: str) -> dict[str, Any]:
    """For numbers and arrays alike."""
    module = import_module(f"ctxdispatch_contexts.derivatives.{RULES[library]}")
    return dict(module.NAMESPACE)


def _row_module(library: str) -> Any:
    return import_module(f"ctxdispatch_contexts.derivatives.{ROWS[library]}")
