"""A call tree as one HTML file: `flame.html` with the style, the script and the data put in.

Invariant: nothing of the data can end the script element that it is in; the page asks for no other file.
"""

from __future__ import annotations

import html
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from ctxdispatch_contexts.tracing.tree import Node, Tree, preorder

COLUMNS = ("name", "parent", "total", "calls", "raised", "site", "text", "resumed")
"""Of a thread: a list each, with an entry per node, the root's first. `name`, `site` and `text` (arguments
and result) are numbers of strings."""


def to_html(tree: Tree, title: str = "Call tree") -> str:
    """The page as text."""
    folder = files("ctxdispatch_contexts.tracing")
    text = (folder / "flame.html").read_text("utf-8")
    parts = {name: (folder / name).read_text("utf-8") for name in ("flame.css", "flame.js")}
    for name, part in {**parts, "title": html.escape(title), "data": embedded(data(tree))}.items():
        text = text.replace(f"/*{name}*/", part)
    return text


def write_html(tree: Tree, path: str | Path, title: str = "Call tree") -> None:
    """Write the page to a file, which a browser opens as it is."""
    Path(path).write_text(to_html(tree, title), "utf-8")


def embedded(value: Any) -> str:
    """JSON for a script element: of ASCII, without any `<`, and without what marks the parts."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").replace("/*", "\\u002f*")


def data(tree: Tree) -> dict[str, Any]:
    strings: dict[str, int] = {"": 0}
    threads = [{"thread": root.name, **_columns(root, strings)} for root in tree.roots]
    return {"strings": [*strings], "threads": threads}


def _columns(root: Node, strings: dict[str, int]) -> dict[str, list[int]]:
    rows = [_row(node, parent, strings) for parent, _, node in preorder(root)]
    return {name: [*column] for name, column in zip(COLUMNS, zip(*rows))}


def _row(node: Node, parent: int, strings: dict[str, int]) -> tuple[int, ...]:
    text = node.arguments + (f" -> {node.result}" if node.result else "")
    name, site, shown = (strings.setdefault(each, len(strings)) for each in (node.name, node.site, text))
    return name, parent, node.total, node.calls, node.raised, site, shown, int(node.resumed)
