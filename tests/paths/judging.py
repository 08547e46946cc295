"""Runs a program down every path, and says of each how it does: `judged(program)`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from ctxdispatch import jacfwd, jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from ctxdispatch_contexts.programs.observed import Rounds
from ctxdispatch_contexts.sparsity import jacobian_sparsity
from ctxdispatch_contexts.traces import straight
from tests.facts.observing import Deadline
from tests.paths.programs import GLOBAL, Program, calm, namespace
from tests.paths.values import leaves, same, state, tangent

FILE = "<program>"
ALONG = np.array([0.3, -1.0, 0.7])
RAISES = "raises "
LIMIT = 20.0
"""Seconds for a path."""


class Told(NamedTuple):
    """Of a run: what it returned or raised, what it left, and which derivative it gave."""

    value: Any
    error: BaseException | None
    left: Any
    derivative: Any = None


class Argument(NamedTuple):
    """What a function is given: `made` of three numbers, `x`, and linear in them."""

    made: Callable[[np.ndarray], Any]
    x: np.ndarray
    value: Any

    def gathered(self, gradient: Any) -> Any:
        """By the three numbers; as text where it has another structure, which is a wrong derivative."""
        found = leaves(gradient)
        units = [leaves(self.made(e)) for e in np.eye(3)]
        given = {path: np.shape(part) for path, part in units[0].items()}
        if given != {path: np.shape(part) for path, part in found.items()}:
            return repr(gradient)
        return np.array([sum(np.sum(found[path] * unit[path]) for path in found) for unit in units])


Path = Callable[[Any, Argument], tuple[Any, Any]]
"""(value, derivative) of a function of the argument; None for what it does not tell."""


def _gradient(f: Any, given: Argument) -> tuple[Any, Any]:
    value, found = value_and_grad(f)(given.value)
    return value, given.gathered(found)


def _block(f: Any, given: Argument) -> tuple[Any, Any]:
    return None, np.asarray(jacfwd(lambda x: f(given.made(x)))(given.x))


def _along(f: Any, given: Argument) -> tuple[Any, Any]:
    return jvp(f, (given.value,), (tangent(given.made(ALONG)),))


def _pattern(f: Any, given: Argument) -> tuple[Any, Any]:
    found = jacobian_sparsity(lambda x: f(given.made(x)), given.x)
    return None, np.asarray(found.toarray()).ravel()


def _observed(f: Any, given: Argument) -> tuple[Any, Any]:
    """The program is made with types that runs of this and of other programs have noted."""
    with patch.object(Rounds, "times", 1):
        return _gradient(f, given)


def _traced(f: Any, given: Argument) -> tuple[Any, Any]:
    with patch.object(straight, "AT_ONCE", True):
        return _gradient(f, given)


def _traced_along(f: Any, given: Argument) -> tuple[Any, Any]:
    with patch.object(straight, "AT_ONCE", True):
        return _along(f, given)


PATHS: dict[str, tuple[str, Path]] = {
    "compiled": ("", _gradient),
    "attempted": ("try", _gradient),
    "recorded": ("with", _gradient),
    "observed": ("", _observed),
    "traced": ("", _traced),
    "forward": ("", _along),
    "forward traced": ("", _traced_along),
    "forward recorded": ("with", _along),
    "jacfwd": ("", _block),
    "pattern": ("", _pattern),
}
"""And within what the program stands."""


def run(program: Program, path: Path, within: str = "", x: np.ndarray | None = None) -> Told:
    given = namespace(program.source(within), FILE)
    x, made = program.x() if x is None else x, given.get("given", np.asarray)
    argument = Argument(made, x, made(x))
    value = derivative = error = None
    try:
        with calm(LIMIT):
            value, derivative = path(given["f"], argument)
    except (Exception, Deadline) as raised:
        error = raised
    return Told(value, error, state({"x": argument.value, **{n: given.get(n) for n in GLOBAL}}), derivative)


def _plain(f: Any, given: Argument) -> tuple[Any, Any]:
    return f(given.value), None


def judged(program: Program, names: tuple[str, ...] = (*PATHS,)) -> dict[str, str]:
    """Of each path: right, refused, raises, undefined, late, or WRONG: ...; of the plain run, what is known
    of its derivative."""
    plain, again = run(program, _plain), run(program, _plain)
    if plain.error is None and not isinstance(plain.value, (int, float, np.number)):
        return {"plain": "no number"}
    if type(plain.error) is not type(again.error) or not _close(plain, again):
        return {"plain": "another each time"}
    want = None if plain.error else central(program, plain.value)
    known = "raises" if plain.error else "no derivative" if want is None else "right"
    paths = {name: _judge(program, name, plain, want) for name in names}
    return {"plain": known, **paths}


def _close(one: Told, two: Told) -> bool:
    return same(one.left, two.left) and _near(one.value, two.value)


def _near(one: Any, two: Any) -> bool:
    if one is None or two is None:
        return one is two
    return bool(np.isclose(one, two, rtol=1e-9, atol=1e-11, equal_nan=True))


def central(program: Program, value: float) -> np.ndarray | None:
    """The gradient by differences; None where two steps or both sides do not agree, or one is not taken."""
    near, far = _sides(program, value, 3e-6), _sides(program, value, 1e-5)
    if near is None or far is None or not np.isfinite(far).all() or np.abs(far).max() > 1e4:
        return None
    one, scale = far.mean(0), max(1.0, np.abs(far).max())
    steps = np.allclose(one, near.mean(0), rtol=1e-4, atol=1e-6 * scale)
    return one if steps and np.allclose(*far, rtol=1e-2, atol=1e-2 * scale) else None


def _sides(program: Program, value: float, step: float) -> np.ndarray | None:
    """The differences on both sides of the point."""
    told = [[run(program, _plain, x=program.x() + s * e) for e in np.eye(3)] for s in (step, -step)]
    if any(t.error for side in told for t in side):
        return None
    return np.array([[(t.value - value) / s for t in side] for s, side in zip((step, -step), told)])


def _judge(program: Program, name: str, plain: Told, want: np.ndarray | None) -> str:
    within, path = PATHS[name]
    told = run(program, path, within)
    if told.error is not None:
        return _of_error(told.error, plain.error)
    if plain.error is not None:
        return "right" if name == "pattern" else f"WRONG: returns, plainly {plain.error!r}"
    if told.value is not None and not _near(told.value, plain.value):
        return f"WRONG: value {told.value!r}, plainly {plain.value!r}"
    apart = name == "pattern" or (name == "jacfwd" and program.given)  # given others than are looked at
    if not apart and not same(told.left, plain.left):
        return f"WRONG: leaves {told.left}, plainly {plain.left}"
    return _of_derivative(name, told.derivative, want)


def _of_error(error: BaseException, plain: BaseException | None) -> str:
    if isinstance(error, Refused):
        return "refused" if _is_complete(str(error)) else f"WRONG: a refusal without line or remedy: {error}"
    if isinstance(error, Deadline):
        return "late"
    return "raises" if type(error) is type(plain) else f"WRONG: {RAISES}{error!r}, plainly {plain!r}"


def is_silent(said: str) -> bool:
    """Wrong, and no error says so."""
    return said.startswith("WRONG") and not said.startswith((f"WRONG: {RAISES}", "WRONG: a refusal"))


def _is_complete(text: str) -> bool:
    """Where (in the program, or that it is all of it), what; what to write instead."""
    return re.search(re.escape(FILE) + r":\d+|programs\.f is not", text) is not None and "; " in text


def _of_derivative(name: str, found: Any, want: np.ndarray | None) -> str:
    if want is None:
        return "not compared"
    scale = max(1.0, np.abs(want).max())
    if name == "pattern":
        missing = (np.abs(want) > 1e-5 * scale) & ~found.astype(bool)
        return f"WRONG: pattern {found}, differences {want}" if missing.any() else "right"
    expected = want @ ALONG if "forward" in name else want
    if found is None or np.shape(found) != np.shape(expected):
        return f"WRONG: derivative {found!r}, differences {expected}"
    if np.isnan(found).any():
        return "undefined"
    close = np.allclose(found, expected, rtol=1e-4, atol=2e-5 * scale)
    return "right" if close else f"WRONG: derivative {found}, differences {expected}"
