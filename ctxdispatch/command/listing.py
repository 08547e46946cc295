"""`python -m ctxdispatch contexts`: what is installed, broken plugins included."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import EntryPoint
from typing import Any

from ctxdispatch.command.parsing import Parser, program_name
from ctxdispatch.dispatch.context import Context


@dataclass
class Installed:
    """A registered context. `error`: why it cannot be loaded, else None; then what only its class knows is
    empty."""

    name: str
    summary: str
    distribution: str
    version: str
    module: str
    file: str
    options: list[str]
    error: str | None = None


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        prog=f"{program_name()} contexts",
        description="List the contexts that are installed, bundled and by other packages (entry-point group "
        "ctxdispatch.contexts). One that cannot be loaded is listed with its error.",
    )
    parser.add_argument("--json", action="store_true", help="as a JSON array of objects, with every field")
    options = parser.parse_args(argv)
    found = installed()
    print(json.dumps([asdict(each) for each in found], indent=2) if options.json else _text(found))
    return 0


def installed() -> list[Installed]:
    """Every registered context, loaded."""
    from ctxdispatch.contexts import registered

    return [_described(point) for point in registered()]


def _described(point: EntryPoint) -> Installed:
    dist = point.dist
    owner = (dist.name, dist.version) if dist else ("unknown", "")
    found = Installed(point.name, "", *owner, point.module, "", [])
    try:
        cls = point.load()
        if not (issubclass(type(cls), type) and issubclass(cls, Context)):
            raise TypeError(f"{point.value} is no context class, it is {cls!r}")
        found.summary, found.options = _summary(cls), _options(cls)
        found.file = inspect.getsourcefile(cls) or ""
    except (Exception, SystemExit) as error:
        found.error = f"{type(error).__name__}: {error}"
    return found


def _summary(cls: Any) -> str:
    """What its own docstring begins with, in one line (that which dataclasses write says nothing)."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "").partition("\n\n")[0]
    return "" if text.startswith(f"{cls.__name__}(") else textwrap.shorten(text, 120, placeholder=" ...")


def _options(cls: Any) -> list[str]:
    parser = Parser(add_help=False)
    cls.add_options(parser)
    return list(parser._option_string_actions)


def _text(found: Sequence[Installed]) -> str:
    return "\n".join(line for each in found for line in _lines(each)) or "no contexts are installed"


def _lines(each: Installed) -> list[str]:
    rows = [
        ("from", f"{each.distribution} {each.version}".strip()),
        ("module", each.module),
        ("file", each.file),
        ("options", " ".join(each.options)),
        ("error", each.error or ""),
    ]
    title = f"{each.name}: {each.summary}" if each.summary else each.name
    return [title, *(f"    {label:<8} {value}" for label, value in rows if value)]
