"""A call tree as one HTML file: a flame graph that zooms, folds and searches, with nothing from elsewhere."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from ctxdispatch_contexts.tracing.tree import Node, Tree


def to_html(tree: Tree, title: str = "Call tree") -> str:
    """The page as text."""
    template = files(__package__).joinpath("flame.html").read_text("utf-8")
    # A "</script>" in a name must not end the script.
    data = json.dumps(_columns(tree), separators=(",", ":")).replace("<", "\\u003c")
    return template.replace("{{title}}", html.escape(title)).replace("{{data}}", data)


def write_html(tree: Tree, path: str | Path, title: str = "Call tree") -> None:
    """Write the page to a file, which a browser opens as it is."""
    Path(path).write_text(to_html(tree, title), "utf-8")


def _columns(tree: Tree) -> dict[str, Any]:
    """Names once; then per thread a row per node, parents before children: [name, parent, start, total, own,
    calls, raised, site, arguments]. A parent is the number of a row, the root's is -1; times in ns. Children
    start one after the other, without a gap: a flame graph shows shares."""
    names: dict[str, int] = {}
    threads = [{"name": root.name, "rows": _rows(root, names)} for root in tree.roots]
    return {"names": [*names], "threads": threads}


def _rows(root: Node, names: dict[str, int]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    whole = max(root.total, sum(child.total for child in root.children))
    waiting: list[tuple[Node, int, int]] = [(root, -1, 0)]
    while waiting:
        node, parent, start = waiting.pop()
        number = names.setdefault(node.name, len(names))
        total = whole if parent < 0 else node.total
        arguments = node.arguments + (f" -> {node.result}" if node.result else "")
        site = node.site if type(node.site) is str else ""
        own = max(0, total - sum(child.total for child in node.children))
        rows.append([number, parent, start, total, own, node.calls, int(node.raised), site, arguments])
        at = len(rows) - 1
        for child in node.children:
            waiting.append((child, at, start))
            start += child.total
    return rows
