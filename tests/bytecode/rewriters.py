"""The rewriters under test, each `code -> code`: the one place that knows the engine's names for them.

What the engine does not have yet is absent; until it has `round_trip`, a copy of the code object stands in.
"""

import importlib
import importlib.util
import sys
from types import CodeType

TABLE = f"ctxdispatch.bytecode.v{sys.version_info.major}{sys.version_info.minor}"


def part(module, name):
    """`module.name`, or None where there is no such module yet, or none for this Python."""
    there = all(importlib.util.find_spec(m) for m in (TABLE, module))
    return getattr(importlib.import_module(module), name, None) if there else None


def copied(code):
    """A new code object, made by the constructor."""
    consts = tuple(copied(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_code=code.co_code, co_consts=consts)


def dispatched(dispatch_code):
    """Under a context that intercepts everything, and has neither rules nor hooks."""
    everything = tuple(part("ctxdispatch.dispatch.plan", "KINDS"))
    context = part("ctxdispatch.dispatch.context", "Context")
    identity = type("Identity", (context,), {"intercepts": everything})()
    return lambda code: dispatch_code(identity, code)


round_trip = part("ctxdispatch.bytecode.faithful", "round_trip")
dispatch_code = part("ctxdispatch.dispatch.static", "dispatch_code")

REWRITERS = {"round_trip": round_trip} if round_trip else {"copied": copied}
if dispatch_code:
    REWRITERS["dispatch_code"] = dispatched(dispatch_code)

ALL = dict(REWRITERS)
if rewrite := part("ctxdispatch.bytecode.faithful", "rewrite"):
    verify = part("ctxdispatch.ir", "verify")
    ALL = {"verified": lambda code: rewrite(code, verify), **ALL}  # the round trip, each graph verified
