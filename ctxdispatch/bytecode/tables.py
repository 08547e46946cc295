"""The opcode tables of the running CPython, chosen once. The only test of the version in the project."""

from __future__ import annotations

import importlib
import sys

from ctxdispatch.bytecode.dialect import Dialect, FrameLocals
from ctxdispatch.bytecode.machine import Handler

VERSIONS = {(3, 11): "v311", (3, 12): "v312", (3, 13): "v313", (3, 14): "v314"}

if sys.version_info[:2] not in VERSIONS:
    raise ImportError(
        f"no opcode table for Python {sys.version_info[0]}.{sys.version_info[1]}: "
        f"ctxdispatch runs on {', '.join(f'{a}.{b}' for a, b in VERSIONS)}"
    )

table = importlib.import_module(f"ctxdispatch.bytecode.{VERSIONS[sys.version_info[:2]]}")

LIFT: dict[str, Handler] = table.LIFT
FRAME: dict[str, Handler] = table.FRAME
"""What the frame form lifts in another way."""
EMIT: Dialect = table.EMIT
LOCALS: FrameLocals = table.LOCALS
