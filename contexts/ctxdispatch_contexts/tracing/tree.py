"""Call trees: `Node`, and `Tree`, which has one root per thread.

Programs may call as deep as they like, so nothing here recurs: trees are lists of rows, parents first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Self

from ctxdispatch_contexts.tracing.naming import full_name
from ctxdispatch_contexts.tracing.recording import Call, outline

FORMAT = "ctxdispatch call tree 1"


@dataclass(slots=True, eq=False)
class Node:
    """A call, or `calls` equal ones. `site`: the place of the call, `file:line`, "" where it is not known or
    there are several. `start`, `total`: in nanoseconds, from the first event of the trace. `raised`: how many
    were left by an exception. `arguments`, `result`: text, "" where they were not recorded. `resumed`: a
    generator or coroutine, from its first call after it was resumed to the last before it yielded."""

    name: str
    site: str = ""
    start: int = 0
    total: int = 0
    calls: int = 1
    raised: int = 0
    arguments: str = ""
    result: str = ""
    resumed: bool = False
    children: list[Node] = field(default_factory=list)

    @property
    def own(self) -> int:
        """The time, in nanoseconds, that is not its children's."""
        return max(0, self.total - sum(child.total for child in self.children))

    def __repr__(self) -> str:
        children = len(self.children)
        return f"<Node {self.name}: {self.calls} calls, {milliseconds(self.total)}, {children} children>"


FIELDS = ("name", "site", "start", "total", "calls", "raised", "arguments", "result", "resumed")
DEFAULTS = {name: getattr(Node(""), name) for name in FIELDS}


class Tree:
    """`roots`: a node per thread, named after it, whose children are what it ran. Trees are equal if all of
    their nodes are."""

    def __init__(self, roots: Iterable[Node] = ()) -> None:
        self.roots = [*roots]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._plain() == other._plain()

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Node]:
        """All calls, each before those that it made."""
        for root in self.roots:
            yield from (node for _, _, node in islice(preorder(root), 1, None))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def find(self, name: str) -> list[Node]:
        """The calls of the function with this name."""
        return [node for node in self if node.name == name]

    def merged(self) -> Tree:
        """Equal calls (of the same function, within the same) added up."""
        return Tree(map(_merged, self.roots))

    def without_short(self, ms: float) -> Tree:
        """Without the calls that took fewer than so many milliseconds; their time is their callers' own."""
        return Tree(_longer(root, round(ms * 1e6)) for root in self.roots)

    def summary(self) -> list[tuple[str, int, int, int]]:
        """(name, calls, own time, total time) by function, the longest own time first; times in nanoseconds.
        The total of a function that calls itself counts once."""
        sums: dict[str, list[int]] = {}
        for root in self.roots:
            _add_up(root, sums)
        rows = [(name, calls, own, total) for name, (calls, own, total) in sums.items()]
        return sorted(rows, key=lambda row: (-row[2], row[0]))

    # -- forms -------------------------------------------------------------------------------------

    def text(self, *, times: bool = True, sites: bool = False) -> str:
        """One line per call, indented by its depth, with total and own time before it. Where there are
        several threads, each begins with a line that names it."""
        heads = len(self.roots) > 1
        lines = [f"{'total':>13}{'own':>13}"] if times else []
        for root in self.roots:
            for _, depth, node in preorder(root):
                if depth or heads:
                    text = _line(node, sites) if depth else f"[{node.name}]"
                    lines.append(f"{_times(node) if times else ''}{'  ' * (depth - 1 + heads)}{text}")
        return "\n".join(lines)

    def to_json(self) -> str:
        """Per thread its name and a list of nodes: objects with the fields of `Node`, and for children the
        number of the `parent` in that list (-1: none). Fields that say nothing are left out."""
        threads = ",\n".join(map(_thread_json, self._plain()))
        return f'{{"format": "{FORMAT}", "threads": [{threads}]}}'

    @classmethod
    def from_json(cls, text: str) -> Self:
        """ValueError where `text` is not what `to_json` writes."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"not a call tree: its format is not {FORMAT!r}")
        return cls(_from_plain(thread) for thread in data["threads"])

    def _plain(self) -> list[dict[str, Any]]:
        return [{"thread": root.name, "nodes": _rows(root)} for root in self.roots]

    def to_html(self, title: str = "Call tree") -> str:
        """A page with a flame graph, complete in itself."""
        from ctxdispatch_contexts.tracing.page import to_html

        return to_html(self, title)

    def write_html(self, path: str | Path, title: str = "Call tree") -> None:
        """Write that page to a file."""
        from ctxdispatch_contexts.tracing.page import write_html

        write_html(self, path, title)


# -- rows ------------------------------------------------------------------------------------------


def preorder(root: Node) -> Iterator[tuple[int, int, Node]]:
    """(number of the parent, depth, node) of all nodes, in the order in which they were called."""
    waiting = [(-1, 0, root)]
    k = 0
    while waiting:
        parent, depth, node = waiting.pop()
        yield parent, depth, node
        waiting += [(k, depth + 1, child) for child in reversed(node.children)]
        k += 1


def _rows(root: Node) -> list[dict[str, Any]]:
    rows = []
    for parent, _, node in islice(preorder(root), 1, None):
        values = {name: getattr(node, name) for name in FIELDS}
        row = {name: value for name, value in values.items() if value != DEFAULTS[name]}
        rows.append({"parent": parent - 1, **row})
    return rows


def _thread_json(thread: dict[str, Any]) -> str:
    """A line for each node."""
    nodes = ",\n".join(map(json.dumps, thread["nodes"]))
    return f'{{"thread": {json.dumps(thread["thread"])}, "nodes": [\n{nodes}]}}'


def _from_plain(thread: dict[str, Any]) -> Node:
    root = Node(thread["thread"])
    nodes: list[Node] = []
    for row in thread["nodes"]:
        nodes.append(Node(**{name: row.get(name, default) for name, default in DEFAULTS.items()}))
        parent = root if row["parent"] < 0 else nodes[row["parent"]]
        parent.children.append(nodes[-1])
    return _with_total(root)


def _with_total(root: Node) -> Node:
    """A thread is as long as what it ran."""
    root.total = sum(child.total for child in root.children)
    root.start = root.children[0].start if root.children else 0
    return root


def _copy(node: Node) -> Node:
    """Without children."""
    return Node(*(getattr(node, name) for name in FIELDS))


def _merged(root: Node) -> Node:
    top = _copy(root)
    waiting = [(top, root.children)]
    while waiting:
        parent, children = waiting.pop()
        equal: dict[tuple[str, bool], list[Node]] = {}
        for child in children:
            equal.setdefault((child.name, child.resumed), []).append(child)
        for same in equal.values():
            parent.children.append(_sum(same))
            waiting.append((parent.children[-1], [child for node in same for child in node.children]))
    return top


def _sum(same: list[Node]) -> Node:
    made = _copy(same[0])
    for name in ("total", "calls", "raised"):
        setattr(made, name, sum(getattr(node, name) for node in same))
    for name in ("site", "arguments", "result"):
        if len({getattr(node, name) for node in same}) > 1:
            setattr(made, name, "")
    return made


def _longer(root: Node, least: int) -> Node:
    top = _copy(root)
    waiting = [(top, root.children)]
    while waiting:
        parent, children = waiting.pop()
        for child in children:
            if child.total >= least:
                parent.children.append(_copy(child))
                waiting.append((parent.children[-1], child.children))
    return top


def _add_up(root: Node, sums: dict[str, list[int]]) -> None:
    around: list[str] = []
    within: dict[str, int] = {}
    for _, depth, node in islice(preorder(root), 1, None):
        for name in around[depth - 1 :]:
            within[name] -= 1
        del around[depth - 1 :]
        found = sums.setdefault(node.name, [0, 0, 0])
        found[0] += node.calls
        found[1] += node.own
        found[2] += 0 if within.get(node.name) else node.total
        around.append(node.name)
        within[node.name] = within.get(node.name, 0) + 1


# -- text ------------------------------------------------------------------------------------------


def _line(node: Node, sites: bool) -> str:
    text = node.name + node.arguments
    text += " -> " + node.result if node.result else ""
    text += " (resumed)" if node.resumed else ""
    text += f" x {node.calls}" if node.calls > 1 else ""
    text += {0: "", node.calls: " raised"}.get(node.raised, f" {node.raised} raised")
    return f"{text}  [{node.site}]" if sites and node.site else text


def _times(node: Node) -> str:
    return f"{milliseconds(node.total):>13}{milliseconds(node.own):>13}  "


def milliseconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.3f} ms"


# -- from what was recorded ------------------------------------------------------------------------


def tree_of(threads: list[list[Call]]) -> Tree:
    """The tree of what was recorded so far."""
    rows = outline(threads)
    begins = [call.start for thread in rows for call, parent, _ in thread if parent == 0]
    first, sites = min(begins, default=0), Sites()
    return Tree(_root(thread, first, sites) for thread in rows if len(thread) > 1)


def _root(rows: list[tuple[Call, int, int]], first: int, sites: Sites) -> Node:
    nodes = [_node(call, total, first, sites) for call, _, total in rows]
    for node, (_, parent, _) in islice(zip(nodes, rows), 1, None):
        nodes[parent].children.append(node)
    return _with_total(nodes[0])


def _node(call: Call, total: int, first: int, sites: Sites) -> Node:
    name, site = full_name(call.module, call.name), sites.at(call.code, call.lasti)
    return Node(
        name, site, call.start - first, total, call.calls, call.raised, call.arguments, call.result,
        call.body is not None,
    )  # fmt: skip


class Sites:
    """The text of places in code, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], str] = {}

    def at(self, code: Any, lasti: int) -> str:
        if code is None:
            return ""
        key = id(code), lasti
        return self._known.get(key) or self._known.setdefault(key, _site(code, lasti))


def _site(code: Any, lasti: int) -> str:
    line = next((line for start, end, line in code.co_lines() if start <= lasti < end), None)
    return f"{code.co_filename}:{line or code.co_firstlineno}"
