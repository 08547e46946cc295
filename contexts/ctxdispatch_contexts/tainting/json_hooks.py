"""`json` with functions of the user's in it (`object_hook`, `default`, ..) runs by its Python code.

Its code in C calls them by itself, with values that it has just made: what they are given, and what they
give, would have no labels.
"""

from __future__ import annotations

import json
import types
from typing import Any

from ctxdispatch.dispatch import Context, recurse
from ctxdispatch.dispatch.overdub import resolve


def _scanner(ctx: Context, decoder: Any) -> Any:
    if _has_hooks(decoder):
        return resolve(ctx, json.scanner.py_make_scanner)(decoder)  # type: ignore[attr-defined]
    return json.scanner.make_scanner(decoder)


def _encoded(ctx: Context, encoder: Any, value: Any, _one_shot: bool = False) -> Any:
    own = getattr(encoder.default, "__func__", None) is not json.JSONEncoder.default
    return recurse(ctx, json.JSONEncoder.iterencode, encoder, value, _one_shot and not own)


def _has_hooks(decoder: Any) -> bool:
    """Something that it calls is neither a type of Python's nor made in C."""
    hooks = (getattr(decoder, f"{name}_hook", None) for name in ("object", "object_pairs", "array"))
    parsers = (decoder.parse_float, decoder.parse_int, decoder.parse_constant)
    return any(h is not None for h in hooks) or not all(map(_is_of_c, parsers))


def _is_of_c(function: Any) -> bool:
    return function in (float, int) or type(function) is types.BuiltinMethodType


RULES: dict[Any, Any] = {json.scanner.make_scanner: _scanner, json.JSONEncoder.iterencode: _encoded}
