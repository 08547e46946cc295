"""Stores that go to memory past the caches, for results that are larger than those.

An ordinary store reads the line of memory first that it writes into; a loop that is bound by memory saves
that, and the operands stay in the caches (Intel, "Optimization Reference Manual", 7.4.1). LLVM's vectoriser
leaves loops alone whose scalar stores ask for it, so they are marked afterwards, in the vectorised text. A
marked store must be aligned: the addresses of all rows are multiples of `ALIGNMENT`. Other threads see what
was stored after a fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

ALIGNMENT = 64
"""Bytes: a line of the caches, and the largest vector."""

MIN_STREAMED = 1 << 24
"""Bytes of results, and about as many are read: less may stay in the last cache, where what comes next finds
it."""

_LABEL = re.compile(r'^"?([\w.$-]+)"?:')
_STORE = re.compile(r"^(  store <(\d+) x (\w+)> .*), align \d+(.*)$")
_BYTES = {"half": 2, "float": 4, "double": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
_VECTORISED = ("vector.body", "vec.epilog.vector.body")

MARK = "!987654321"


def stream(module: str, lanes: int) -> str:
    """The text of an optimised module, with its vector stores so marked. Those of its outputs are the only
    ones: `lanes` elements, or in the loops that LLVM vectorised, which begin with the first column."""
    if "alloca" in module:
        return module
    lines = "\n".join(_marked(module.splitlines(), lanes))
    fenced = lines.replace("\n  ret void", "\n  fence seq_cst\n  ret void")
    return f"{fenced}\n{MARK} = !{{i32 1}}\n"


def _marked(lines: Sequence[str], lanes: int) -> Iterator[str]:
    block = ""
    for line in lines:
        label = _LABEL.match(line)
        block = label[1] if label else block
        found = _STORE.match(line)
        if found and (int(found[2]) == lanes or (lanes == 1 and block.startswith(_VECTORISED))):
            aligned = int(found[2]) * _BYTES[found[3]]
            line = f"{found[1]}, align {aligned}, !nontemporal {MARK}{found[4]}"
        yield line


def are_large(outputs: Sequence[Any]) -> bool:
    """They are no good in a cache."""
    return outputs[0].size * sum(y.itemsize for y in outputs) >= MIN_STREAMED
