"""What each name is called with: `subject("numpy.sum").calls(4)`.

A name of a function has the cases of the rules (`derivative_cases`, `program_cases`); what changes an array,
or says several things, has programs of its own (`changing_cases`, `further_cases`, `distribution_cases`).
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import count
from typing import Any, NamedTuple

import further_cases  # noqa: F401 (which registers its cases)
import numpy as np
from changing_cases import NAMED
from derivative_cases import CASES, Case
from derivative_checker import leaves, replace
from derivative_programs import ATTRIBUTES, DESCRIPTORS
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from names import listed
from program_cases import ARGUMENTS, MORE, SPACE, VARY, ZEROS

if importlib.util.find_spec("scipy"):
    import distribution_cases  # noqa: F401


UP_TO_PHASES = (np.linalg.eig, np.linalg.eigh, np.linalg.svd)
"""Of complex matrices their vectors have phases, which the library chooses: `further_cases` has programs that
do not depend on them."""


class Call(NamedTuple):
    """`callee(*args, **kwargs)`; `documented`: the function whose keyword arguments it may be given, of which
    `given` are."""

    callee: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    documented: Any
    given: frozenset[str]
    active: tuple[int, ...] | None = None
    real: bool = False
    """It is not given complex numbers instead."""


@dataclass
class Subject:
    paragraph: str
    name: str
    function: Any = None
    """None: the name stands for a program, or is one that the running versions lack."""
    cases: list[tuple[Case, Any]] = field(default_factory=list)

    @property
    def absent(self) -> bool:
        """The running NumPy, SciPy or Python lacks it."""
        return self.function is None and not self.cases

    def calls(self, n: int) -> Iterator[list[Call]]:
        """Per case, so many."""
        for case, documented in self.cases:
            yield [_call(case, documented, drawn) for drawn in _drawn(case, n)]


def _call(case: Case, documented: Any, drawn: Any) -> Call:
    options = case.options
    *program, args, kwargs = drawn
    callee = case.callee or program[0] or documented
    given = frozenset(options.get("given", "").split())
    return Call(callee, args, kwargs, documented, given, options.get("active"), callee in UP_TO_PHASES)


def _drawn(case: Case, n: int) -> list[Any]:
    """Spread over what the strategy draws, which begins with the smallest."""
    found: list[Any] = []

    @settings(max_examples=4 * n, database=None, deadline=None, derandomize=True, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case.arguments)
    def collect(example: Any) -> None:
        found.append(example)

    collect()
    found = [drawn for drawn in found if all(np.size(x) for x in leaves(drawn[-2]))]
    return found[:: -max(len(found) // n, 1)][:n]


# -- of names ------------------------------------------------------------------------------------------------


@cache
def subjects() -> dict[str, Subject]:
    """All names, in the order of the list."""
    return {name: _subject(paragraph, name) for paragraph, name in listed()}


def _subject(paragraph: str, name: str) -> Subject:
    function = _resolved(name)
    cases = [] if function is None else _cases_by_callee().get(function, [])
    return Subject(paragraph, name, function, [*NAMED[name], *((case, function) for case in cases)])


def _resolved(name: str) -> Any:
    """The function of that name, or None."""
    module, *path = _split(name)
    try:
        found: Any = importlib.import_module(module)
    except ImportError:
        return None
    for attribute in path:
        found = getattr(found, attribute, None)
    return found


def _split(name: str) -> list[str]:
    """The module, and the attributes from there."""
    parts = name.split(".")
    for n in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:n])
        try:
            if importlib.util.find_spec(module):
                return [module, *parts[n:]]
        except (ModuleNotFoundError, ValueError):
            continue
    return parts


@cache
def _cases_by_callee() -> dict[Any, list[Case]]:
    found: dict[Any, list[Case]] = defaultdict(list)
    for case in [*CASES, *MORE]:
        found[case.callee].append(case)
    for callee, text in ZEROS:
        if getattr(callee, "__name__", "") not in VARY:
            found[callee] += _zero_cases(callee, text)
    return found


def _zero_cases(callee: Any, text: str) -> list[Case]:
    """The arguments of a call that is written out, `np.all(a)`, `a.all()`, `a.shape`. Of whole numbers only,
    its result is a factor."""
    node = ast.parse(text, mode="eval").body
    method = isinstance(callee, (*DESCRIPTORS, *ATTRIBUTES))
    call = node.func if isinstance(node, ast.Call) else node
    if not isinstance(node, ast.Call) and not method:
        return []
    nodes = ([call.value] if method else []) + (node.args if isinstance(node, ast.Call) else [])
    args = tuple(_value(each) for each in nodes)
    if not leaves(args):
        callee, args = partial(_factor, callee), (1.3, *args)
    return [Case(text, callee, st.just((replace(args, map(_between, leaves(args), count(1))), {})))]


def _factor(callee: Any, x: float, *args: Any, **kwargs: Any) -> Any:
    return x * callee(*args, **kwargs)


def _between(x: Any, i: int) -> Any:
    """Away from the halves and whole numbers, where roundings jump, and from the other arguments."""
    return x + 0.03 * i


def _value(node: ast.expr) -> Any:
    return eval(compile(ast.Expression(node), "<argument>", "eval"), {**SPACE, **ARGUMENTS})
