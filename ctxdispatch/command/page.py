"""What `ir` shows as one HTML page, complete in itself: it needs no server and no network.

The page is `page_files/page.html` with the style, the script and the data (JSON) put in. Invariant: nothing
of the data can end the script element that it is in.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from ctxdispatch.command.examined import Examined
from ctxdispatch.command.stages import Line, Part, Pipeline

FILES = ("page.css", "page.js")


def page(found: Examined) -> str:
    """The text of the page."""
    folder = files("ctxdispatch.command") / "page_files"
    text = (folder / "page.html").read_text(encoding="utf-8")
    for name in FILES:
        text = text.replace(f"/*{name}*/", (folder / name).read_text(encoding="utf-8"))
    return text.replace("/*data*/", embedded(data(found)))


def embedded(value: Any) -> str:
    """JSON for a script element: of ASCII, without any `<`."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def data(found: Examined) -> dict[str, Any]:
    """Lines are [text] or [text, line, column, end line, end column]; parts are [head, lines]."""
    return {
        "title": found.title,
        "call": found.call,
        "file": found.filename,
        "first": found.first_line,
        "source": found.source,
        "pipelines": [*map(_pipeline, found.pipelines)],
        "bytecodes": [{"name": name, "parts": _parts(parts)} for name, parts in found.bytecodes.items()],
        "adjoint": found.texts.get("adjoint") or f"not available: {found.errors['adjoint']}",
        "errors": found.errors,
    }


def _pipeline(pipeline: Pipeline) -> dict[str, Any]:
    stages = [
        {"name": stage.name, "parts": _parts(stage.parts), "gone": stage.gone, "new": stage.new}
        for stage in pipeline.stages
    ]
    return {"title": pipeline.title, "stages": stages}


def _parts(parts: Sequence[Part]) -> list[Any]:
    return [[part.head, [*map(_line, part.lines)]] for part in parts]


def _line(line: Line) -> list[Any]:
    return [line.text] if line.line is None else list(line)
