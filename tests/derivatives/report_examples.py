"""One call of a name, differentiated in each mode, against central differences.

    example = Example(call)         # loss(p0, p1, ..) = sum of the weighted parts of what the call returns
    example.modes()                 # {"reverse": True, "forward": True, "second": True}; None at a kink

The call is written as users write it, of the real and complex numbers and arrays among its arguments. To the
loss their sums are added, so that a derivative that is zero is told from one that there is not.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from derivative_checker import is_leaf, leaves, random_like, shifted
from derivative_programs import MODULES, displayed, literal, spelled

from ctxdispatch import grad, jvp, value_and_grad

STEP = 1e-5
NEAR = {"rtol": 1e-4, "atol": 1e-5}
NEAR_SECOND = {"rtol": 1e-3, "atol": 1e-4}
MODES = ("reverse", "forward", "second")


class Fresh:
    """A keyword's value that each run of the program makes for itself."""

    def __init__(self, text: str) -> None:
        self.text = text


class Spelling:
    """The call as text, its points, and what the other names in it mean."""

    def __init__(self, call: Any) -> None:
        self.points: list[Any] = []
        self.space: dict[str, Any] = {
            **{name: module for name, module in MODULES.items() if "." not in name},
            "callee": call.callee,
        }  # fmt: skip
        texts = [self._argument(x, call.active is None or i in call.active) for i, x in enumerate(call.args)]
        keywords = [f"{name}={self._constant(x)}" for name, x in call.kwargs.items()]
        index = call.args[1] if len(call.args) > 1 else None
        self.expression = spelled(call.callee, texts, keywords, index)

    def _argument(self, x: Any, active: bool) -> str:
        if active and is_leaf(x):
            self.points.append(x)
            return f"p{len(self.points) - 1}"
        if active and isinstance(x, (list, tuple)) and leaves(x):
            return displayed(x, [self._argument(item, active) for item in x])
        return self._constant(x)

    def _constant(self, x: Any) -> str:
        if isinstance(x, Fresh):
            return x.text
        text = literal(x)
        if text is not None:
            return text
        name = f"k{len(self.space)}"
        self.space[name] = x
        return name

    @property
    def parameters(self) -> str:
        return ", ".join(f"p{i}" for i in range(len(self.points)))

    def define(self, lines: list[str]) -> Any:
        exec(f"def program({self.parameters}):\n" + "\n".join(f"    {line}" for line in lines), self.space)
        return self.space["program"]


def numeric_parts(y: Any, path: str = "y") -> Iterator[tuple[str, Any]]:
    """(expression, value) of the numbers and arrays in a result, whole ones too."""
    if isinstance(y, (list, tuple)):
        for i, item in enumerate(y):
            yield from numeric_parts(item, f"{path}[{i}]")
    elif isinstance(y, (bool, int, float, complex)) or (
        isinstance(y, (np.ndarray, np.generic)) and y.dtype.kind in "biufc"
    ):
        yield path, y


class Example:
    """One call of a name; `points`: the numbers and arrays that it is differentiated with respect to."""

    def __init__(self, call: Any) -> None:
        self.spelling = Spelling(call)
        self.points = self.spelling.points
        self.value = self.spelling.define([f"return {self.spelling.expression}"])(*self.points)
        self._rng = np.random.default_rng(0)
        self.along = [random_like(p, self._rng) for p in self.points]
        self.loss = self._loss()
        self.wrt = tuple(range(len(self.points)))

    @property
    def is_complex(self) -> bool:
        return any(map(np.iscomplexobj, self.points))

    @property
    def empty(self) -> bool:
        return not self.points or not all(np.size(p) for p in self.points)

    def _loss(self) -> Any:
        parts = list(numeric_parts(self.value))
        terms = []
        for i, (path, y) in enumerate(parts):
            self.spelling.space[f"w{i}"] = random_like(np.asarray(y) * 1.0, self._rng)
            terms.append(f"np.sum((w{i} * {path}).real)")
        terms += [f"np.sum(p{i}.real)" for i in range(len(self.points))]
        return self.spelling.define([f"y = {self.spelling.expression}", f"return {' + '.join(terms)}"])

    def _slope(self, gradient: Any) -> Any:
        """The inner product of the gradient with the direction."""
        self.spelling.space["gradient"] = gradient
        self.spelling.space |= {f"d{i}": d for i, d in enumerate(self.along)}
        terms = [f"np.sum((g[{i}] * d{i}).real)" for i in self.wrt]
        made = f"g = gradient({self.spelling.parameters})"
        return self.spelling.define([made, f"return {' + '.join(terms)}"])

    def _moved(self, t: float) -> list[Any]:
        return [shifted(p, t * d) for p, d in zip(self.points, self.along, strict=True)]

    def _differences(self, f: Any) -> list[float]:
        return [(f(*self._moved(h)) - f(*self._moved(-h))) / (2 * h) for h in (STEP, STEP / 4)]

    def modes(self) -> dict[str, bool] | None:
        """By mode, whether it agrees with the differences; None where these do not agree with each other."""
        slopes = self._differences(self.loss)
        if not np.isclose(*slopes, rtol=1e-4, atol=1e-6):
            return None
        gradient = grad(self.loss, self.wrt)
        slope = self._slope(gradient)
        value, found = value_and_grad(self.loss, self.wrt)(*self.points)
        pushed = jvp(self.loss, self.points, self.along)
        along = sum(np.sum(np.real(np.multiply(g, d))) for g, d in zip(found, self.along, strict=True))
        values = np.allclose([value, pushed[0]], self.loss(*self.points), rtol=1e-9, atol=1e-11)
        return {
            "reverse": bool(values and np.isclose(along, slopes[0], **NEAR)),
            "forward": bool(values and np.isclose(pushed[1], slopes[0], **NEAR)),
            "second": self._second(slope),
        }

    def _second(self, slope: Any) -> bool:
        bends = self._differences(slope)
        second = jvp(slope, self.points, self.along)[1]
        return bool(np.isclose(second, bends[0], **NEAR_SECOND) or not np.isclose(*bends, **NEAR_SECOND))


def complex_call(call: Any) -> Any:
    """The call with complex numbers for the real ones, all of them or the first argument that may be; None
    where it takes none."""
    n = 0 if call.real else len(call.args)
    for chosen in (range(n), *([i] for i in range(n))):
        args = tuple(_turned(x) if i in chosen else x for i, x in enumerate(call.args))
        changed = call._replace(args=args)
        if _takes(changed) and Example(changed).is_complex:
            return changed
    return None


def _turned(x: Any) -> Any:
    """With an imaginary part, in the memory order of x."""
    if isinstance(x, (list, tuple)):
        return type(x)([_turned(item) for item in x])
    if not is_leaf(x) or np.iscomplexobj(x):
        return x
    if not isinstance(x, np.ndarray):
        return x + 0.3j
    turned = np.empty_like(x, np.result_type(x, np.complex64))
    turned[...] = x + 0.1j * np.linspace(1.0, 3.0, x.size).reshape(x.shape)
    return turned


REFUSED_BY_THE_FUNCTION = (
    TypeError, ValueError, NotImplementedError, AttributeError, IndexError, np.exceptions.ComplexWarning,
)  # fmt: skip


def _takes(call: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            Example(call)
        except REFUSED_BY_THE_FUNCTION:
            return False
    return True
