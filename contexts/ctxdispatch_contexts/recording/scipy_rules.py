"""The functions of SciPy's that recorded runs have rules for: these modules register them."""

from __future__ import annotations

from ctxdispatch_contexts.recording import distributions, searches, solvers, splines, trajectories

MODULES = (distributions, searches, solvers, splines, trajectories)
imported = solvers.imported

__all__ = ["MODULES", "imported"]
