"""The callables that programs are drawn from, as text: what the probe knows, and what has no row."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from ctxdispatch.facts import fact_of
from tests.facts.callables import LEFT_OUT, NUMPY, PYTHON, SCIPY, callables, modules

LEFT = {name for names in LEFT_OUT.values() for name in names.split()} | {
    *"""print id hash object count cycle repeat seed SystemRandom now today utcnow sleep acquire localcontext
    getcontext save savez savez_compressed savetxt tofile dump empty empty_like load_extension get_include
    enable_load_extension set_trace_callback set_authorizer set_progress_handler memmap get put
    join __getstate__ __sizeof__ __dir__ random_raw interrupt __subclasscheck__ getbufsize resize""".split()
}
"""What ends or waits, tells of addresses and of time, or goes on for ever."""
TRUSTING = ("scipy.linalg.lapack",)
"""Of what has no row: given other shapes than it expects it writes past the end of arrays."""
SPECIAL = """
    __add__ __call__ __contains__ __copy__ __deepcopy__ __delitem__ __enter__ __exit__ __getitem__ __iadd__
    __imul__ __init__ __iter__ __len__ __mul__ __next__ __radd__ __reversed__ __rmul__ __setitem__ __sub__
    __float__ __or__ __eq__ __lt__ __neg__ __abs__ __truediv__ __pow__ __matmul__ __array__ __setattr__
    __getattribute__ __ior__ __round__
""".split()


@functools.cache
def functions(rowless: bool) -> dict[str, list[str]]:
    """Of each module that has some."""
    found = {
        module: [p.name for p in callables(module) if not p.selves and _fits(p.name, p.callee, rowless)]
        for module in modules([*PYTHON, *NUMPY, *SCIPY])
        if not (rowless and module in TRUSTING)
    }
    return {module: names for module, names in found.items() if names}


def _fits(name: str, f: Any, rowless: bool) -> bool:
    return name.rpartition(".")[2] not in LEFT and (fact_of(f) is None) is rowless


@functools.cache
def methods(cls: type) -> list[str]:
    """Names."""
    found = [n for n in dir(cls) if n in SPECIAL or not n.startswith("_")]
    return [n for n in found if n not in LEFT - {"get", "put"} and callable(getattr(cls, n, None))]


def has_row(text: str) -> bool:
    """Of a function that is written so."""
    module, _, name = text.rpartition(".")
    return fact_of(getattr(importlib.import_module(module), name)) is not None
