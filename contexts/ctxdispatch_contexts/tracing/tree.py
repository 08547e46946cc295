"""Call trees: `Node`, and `Tree`, which has one root per thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any, Self

LONGEST = 60
"""Characters of an argument that is shown."""


class Node:
    """A call, or several equal ones (`calls`). `total` is in nanoseconds; `site` is the place of the call,
    `file:line`; `arguments` and `result` are text, "" where they were not recorded."""

    __slots__ = ("name", "site", "arguments", "result", "total", "calls", "raised", "children")

    def __init__(self, name: str) -> None:
        self.name = name
        self.site: Any = ""
        self.arguments = self.result = ""
        self.total = 0
        self.calls = 1
        self.raised = False
        self.children: list[Node] = []

    @property
    def own(self) -> int:
        """The time, in nanoseconds, that is not its children's."""
        return max(0, self.total - sum(child.total for child in self.children))

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Node]]:
        """This node and all below it, with their depths, in the order in which they were called."""
        waiting = [(depth, self)]
        while waiting:
            at, node = waiting.pop()
            yield at, node
            waiting += [(at + 1, child) for child in reversed(node.children)]

    def copy(self, children: list[Node]) -> Node:
        made = Node(self.name)
        made.site = self.site if type(self.site) is str else ""
        made.arguments, made.result, made.total = self.arguments, self.result, self.total
        made.calls, made.raised, made.children = self.calls, self.raised, children
        return made


class Tree:
    """`roots`: a node per thread, named after it, that stands for the program it ran."""

    def __init__(self, roots: list[Node] | None = None) -> None:
        self.roots = roots or []
        self._lock = threading.Lock()

    def thread(self, name: str) -> Node:
        """A new root."""
        root = Node(name)
        with self._lock:
            self.roots.append(root)
        return root

    def nodes(self) -> Iterator[tuple[int, Node]]:
        """All calls, with their depths from 0 on."""
        for root in self.roots:
            for child in root.children:
                yield from child.walk()

    def merged(self) -> Tree:
        """Equal calls (of the same function, within the same) added up."""
        return Tree([root.copy(_merged(root.children)) for root in self.roots])

    def without_short(self, least: int) -> Tree:
        """Without the calls that took less than so many nanoseconds."""
        if least <= 0:
            return self
        return Tree([root.copy(_without_short(root.children, least)) for root in self.roots])

    def summary(self) -> list[tuple[str, int, int, int]]:
        """(name, calls, own time, total time) by function, the longest own time first; times in nanoseconds.
        The total of a function that calls itself counts once."""
        calls: dict[str, list[int]] = {}
        for root in self.roots:
            for names, node in _with_names(root):
                found = calls.setdefault(node.name, [0, 0, 0])
                found[0] += node.calls
                found[1] += node.own
                found[2] += 0 if node.name in names else node.total
        rows = [(name, *found) for name, found in calls.items()]
        return sorted(rows, key=lambda row: (-row[2], row[0]))  # type: ignore[return-value]

    # -- forms -------------------------------------------------------------------------------------

    def text(self, times: bool = True) -> str:
        """One line per call, indented by its depth."""
        several = len(self.roots) > 1
        lines: list[str] = []
        for root in self.roots:
            lines += [f"[{root.name}]"] if several else []
            for child in root.children:
                lines += [_line(node, depth, times) for depth, node in child.walk(several)]
        return "\n".join(lines)

    def to_json(self) -> str:
        """A list of roots; a node is an object with the fields of `Node`, those left out that say nothing."""
        return json.dumps([_plain(root) for root in self.roots])

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls([_node(data) for data in json.loads(text)])

    def to_html(self, title: str = "Call tree") -> str:
        """A page with a flame graph, in one file."""
        from ctxdispatch_contexts.tracing.page import to_html

        return to_html(self, title)


def _with_names(root: Node) -> Iterator[tuple[frozenset[str], Node]]:
    """Every call, with the names of those that it is within."""
    waiting = [(frozenset[str](), child) for child in root.children]
    while waiting:
        names, node = waiting.pop()
        yield names, node
        within = names if node.name in names else names | {node.name}
        waiting += [(within, child) for child in node.children]


def _merged(nodes: list[Node]) -> list[Node]:
    found: dict[tuple[str, bool], list[Node]] = {}
    for node in nodes:
        found.setdefault((node.name, node.raised), []).append(node)
    made = []
    for same in found.values():
        first = same[0].copy(_merged([child for node in same for child in node.children]))
        first.calls = sum(node.calls for node in same)
        first.total = sum(node.total for node in same)
        if len(same) > 1:
            first.arguments = first.result = ""
        made.append(first)
    return made


def _without_short(nodes: list[Node], least: int) -> list[Node]:
    return [node.copy(_without_short(node.children, least)) for node in nodes if node.total >= least]


def _line(node: Node, depth: int, times: bool) -> str:
    text = f"{'  ' * depth}{node.name}{node.arguments}"
    text += f" x {node.calls}" if node.calls > 1 else ""
    text += f" -> {node.result}" if node.result else ""
    text += " raised" if node.raised else ""
    return f"{text}  {milliseconds(node.total)}" if times else text


def milliseconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.3f} ms"


FIELDS = {"site": "", "arguments": "", "result": "", "total": 0, "calls": 1, "raised": False}
"""What is written down of a node besides name and children, where it is something else than this."""


def _plain(root: Node) -> dict[str, Any]:
    made: dict[int, dict[str, Any]] = {}
    for _, node in root.walk():
        site = node.site if type(node.site) is str else ""
        values = {name: getattr(node, name) for name in FIELDS} | {"site": site}
        made[id(node)] = {"name": node.name, **{k: v for k, v in values.items() if v != FIELDS[k]}}
    for _, node in root.walk():
        if node.children:
            made[id(node)]["children"] = [made[id(child)] for child in node.children]
    return made[id(root)]


def _node(data: dict[str, Any]) -> Node:
    node = Node(data["name"])
    for name, default in FIELDS.items():
        setattr(node, name, data.get(name, default))
    node.children = [*map(_node, data.get("children", ()))]
    return node


# -- names and arguments ---------------------------------------------------------------------------


def name_of(f: Any) -> str:
    """`module.qualified name`; the module is left out of the program's own and of builtins."""
    kind = type(f)
    if kind is MethodType:
        f = f.__func__
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or kind.__name__
    module = f.__module__ if kind is FunctionType else getattr(f, "__module__", None)
    return name if type(module) is not str or module in ("builtins", "__main__") else f"{module}.{name}"


def shown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """(1, x=2), each no longer than LONGEST."""
    given = [*map(_short, args), *(f"{name}={_short(value)}" for name, value in kwargs.items())]
    return f"({', '.join(given)})"


def _short(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # of the user's class: the program did not ask for it
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
