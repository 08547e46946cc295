"""What is seen of one name: `examine(subject)` makes its row of the report.

Examples of each case, as they are drawn; of each case one with complex numbers, where the function takes
them; then each keyword argument that none of those had, on the largest calls until one takes it.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from derivative_checker import leaves
from keyword_values import documented, positional, variants
from report_examples import MODES, Example, complex_call

REFUSALS = (TypeError, NotImplementedError)
"""What a derivative is refused with; `DerivativeError` is a TypeError."""


@dataclass
class Row:
    paragraph: str
    name: str
    absent: bool = False
    examples: int = 0
    right: Counter[str] = field(default_factory=Counter)
    """By mode."""
    takes_complex: bool = False
    complex_examples: int = 0
    complex_right: int = 0
    keywords: dict[str, str] = field(default_factory=dict)
    """"right", "wrong", "never given", or why it is refused."""
    refused: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def missing(self) -> bool:
        """There are arguments, and the derivative is refused for all of them."""
        return bool(self.refused) and not self.examples

    @property
    def wrong(self) -> bool:
        return bool(self.problems) or any(self.right[mode] < self.examples for mode in MODES)

    @property
    def without_example(self) -> bool:
        return not (self.examples or self.absent or self.refused or self.problems)

    @property
    def without_complex(self) -> bool:
        """It takes complex numbers, and was given none. (Refused is another thing, which the row says.)"""
        return self.takes_complex and not self.complex_examples and not self.refused

    def of_keywords(self, *states: str) -> list[str]:
        return [name for name, state in self.keywords.items() if state in states]

    @property
    def refused_keywords(self) -> dict[str, str]:
        known = ("right", "wrong", "never given")
        return {name: state for name, state in self.keywords.items() if state not in known}

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "right": dict(self.right), "missing": self.missing, "wrong": self.wrong}


def examine(subject: Any, n: int = 3, keywords: bool = True) -> Row:
    """`n`: how many examples of each case."""
    row = Row(subject.paragraph, subject.name, subject.absent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = [call for of_case in subject.calls(n) for call in _seen(row, of_case)]
        if keywords:
            for call in sorted(calls, key=_size, reverse=True)[:4]:
                _give_keywords(row, call)
    for call in calls:
        for name in documented(call.documented):
            row.keywords.setdefault(name, "never given")
    return row


def _seen(row: Row, calls: list[Any]) -> list[Any]:
    """Those that were examined, and one with complex numbers."""
    seen = [call for call in calls if _see(row, call)]
    if not any(_is_complex(call) for call in seen):
        turned = (complex_call(call) for call in seen)
        call = next((call for call in turned if call is not None), None)
        if call is not None:
            row.takes_complex = True
            _see(row, call)
    return seen


def _is_complex(call: Any) -> bool:
    return any(map(np.iscomplexobj, leaves(call.args)))


def _size(call: Any) -> int:
    return sum(map(np.size, leaves(call.args)))


def _see(row: Row, call: Any) -> bool:
    """Whether the call counts as an example."""
    modes = _modes(row, call)
    if modes is None:
        return False
    row.examples += 1
    row.right.update(mode for mode, right in modes.items() if right)
    if _is_complex(call):
        row.takes_complex = True
        row.complex_examples += 1
        row.complex_right += all(modes.values())
    for name in sorted(_given(call)):
        row.keywords[name] = "right" if row.keywords.get(name) != "wrong" and all(modes.values()) else "wrong"
    return True


def _modes(row: Row, call: Any) -> dict[str, bool] | None:
    """None: nothing to differentiate, a kink, refused, or an error, which the row says."""
    try:
        example = Example(call)
        return None if example.empty else example.modes()
    except REFUSALS as error:
        row.refused.append(_first_line(error))
    except Exception as error:  # it is reported: the pass goes on to the next name
        row.problems.append(_first_line(error))
    return None


def _given(call: Any) -> set[str]:
    f = call.documented
    return ({*call.kwargs, *positional(f, call.args)[1:]} & {*documented(f)}) | call.given


def _give_keywords(row: Row, call: Any) -> None:
    f = call.documented
    if not documented(f):
        return
    y = Example(call).value
    for name, choices in variants(f, call.args, call.kwargs, y):
        if name not in row.keywords and name not in call.given:
            state = next(filter(None, (_state(call, name, more) for more in choices)), None)
            if state is not None:
                row.keywords[name] = state
                row.problems += [f"wrong with {name}="] * (state == "wrong")


def _state(call: Any, name: str, more: dict[str, Any]) -> str | None:
    """What comes of it; None where the function itself does not take it so."""
    try:
        example = Example(call._replace(kwargs={**call.kwargs, **more}))
    except Exception:  # whatever the function says to a keyword that does not fit its arguments
        return None
    try:
        modes = example.modes()
    except REFUSALS as error:
        return _first_line(error)
    except Exception as error:
        return f"wrong: {_first_line(error)}"
    if modes is None:
        return None
    return "right" if all(modes.values()) else "wrong"


def _first_line(error: Exception) -> str:
    """Without the place, where that is the call itself."""
    return f"{type(error).__name__}: {error}".splitlines()[0].replace("<string>:2 in program: ", "")
