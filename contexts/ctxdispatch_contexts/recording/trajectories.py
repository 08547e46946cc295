"""Solutions of differential equations that SciPy finds in C, or by solving equations in each step.

    y' = f(t, y, p),  y(t0) = y0         d' = f_y d + f_p dp,  d(t0) = dy0 - f dt0

SciPy runs as it is. Then f is written down once at each stage of a mesh, where the solution goes; the
equation of d is solved on it by collocation (`collocation.py`), and d is linear in y0 and in what f gave. So
whatever f captured takes part, forward and reverse mode are transposes, and an outer run follows it all.
The mesh is refined until the equation of d is solved as well as that of y.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch.overdub import beyond_rules, resolve
from ctxdispatch_contexts.recording import collocation
from ctxdispatch_contexts.recording.solvers import (
    apart,
    arguments,
    depends,
    imported,
    plainly,
    refused,
    rule,
    tupled,
)

TOLERANCE = 1e-8
"""Of an interval of the mesh, relative."""
_TIGHT = {"rtol": 1e-11, "atol": 1e-16, "mxstep": 100_000}
_MOST = 20_000
"""Intervals."""
_DONE = "Integration successful."


class Equation(NamedTuple):
    """y' = f(t, y, *rest), or f(y, t, *rest); y has one dimension."""

    f: Callable[..., Any]
    tfirst: bool
    rest: tuple[Any, ...]
    breaks: tuple[float, ...] = ()
    """Times at which f may jump."""


def slope(equation: Equation, t: Any, y: Any) -> Any:
    at = (t, y) if equation.tfirst else (y, t)
    return np.reshape(np.asarray(equation.f(*at, *equation.rest)), -1)


@rule("scipy.integrate", "odeint")
def odeint(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    given = arguments(f, args, kwargs)
    y, said = plainly(ctx, f, (), {**given, "full_output": True})
    breaks = () if given["tcrit"] is None else tuple(np.ravel(given["tcrit"]).tolist())
    equation = Equation(given["func"], given["tfirst"], tupled(given["args"]), breaks)
    times = given["t"]
    out = _solution(ctx, equation, given["y0"], times, y, resolve(ctx, first_item)(times))
    if out is not y and said["message"] != _DONE:
        raise refused(f"a solution that was not found has no derivative: {said['message']}")
    return (out, said) if given["full_output"] else out


def first_item(times: Any) -> Any:
    return np.asarray(times)[0]


_IMPLICIT = ("Radau", "BDF", "LSODA")


@rule("scipy.integrate", "solve_ivp")
def solve_ivp(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    """The explicit methods are read through."""
    given = arguments(f, args, kwargs)
    method = given["method"]
    if (method if issubclass(type(method), str) else getattr(method, "__name__", "")) not in _IMPLICIT:
        return beyond_rules(ctx, f)(*args, **kwargs)
    found = plainly(ctx, f, args, kwargs)
    function = one_column(given["fun"]) if given["vectorized"] else given["fun"]
    times, values = _times(ctx, given, found.t), found.y.T
    equation = Equation(function, True, tupled(given["args"] or ()))
    y = _solution(ctx, equation, given["y0"], times, values, given["t_span"][0])
    if y is not values:
        _refuse_beyond_values(given, found)
        found["y"], found["t"] = resolve(ctx, np.transpose)(y), times
    return found


def one_column(function: Any) -> Any:
    """Of a function that takes several states at once."""
    return lambda t, y, *rest: np.reshape(function(t, np.reshape(y, (-1, 1)), *rest), -1)


def _refuse_beyond_values(given: dict[str, Any], found: Any) -> None:
    if not found.success:
        raise refused(f"a solution that was not found has no derivative: {found.message}")
    for name, remedy in (("events", "the method 'RK45'"), ("dense_output", "`t_eval`")):
        if given[name]:
            raise refused(
                f"scipy.integrate.solve_ivp with the method {given['method']!r} has derivatives of values "
                f"alone, not with {name!r}; use {remedy}"
            )


def _times(ctx: Any, given: dict[str, Any], found: Any) -> Any:
    """Those of the results: the first and last of those that the solver chose are the limits as given."""
    if given["t_eval"] is not None:
        whole = len(found) == len(given["t_eval"])
        return given["t_eval"] if whole else resolve(ctx, np.asarray)(given["t_eval"])[: len(found)]
    if not depends(ctx, tuple(given["t_span"])):
        return found
    return ctx.array([given["t_span"][0], *found[1:-1].tolist(), given["t_span"][1]])


# -- any of them ---------------------------------------------------------------------------------------------


def _solution(ctx: Any, equation: Equation, y0: Any, times: Any, found: Any, begin: Any) -> Any:
    """`found` (p, n), which was found at `times`, with its derivative; itself where it depends on nothing."""
    fixed, start, first = np.array(times, float), np.reshape(np.array(y0), -1), float(apart(begin))
    if not np.any(fixed != first):
        return found
    _check_real(start, found)
    start = np.array(start, float)
    inner = mesh_of(equation, start, first, fixed[-1])
    edges = np.concatenate([[first], inner, [fixed[-1]]])
    at, steps = np.reshape(collocation.stages(edges), -1), np.diff(edges)
    states = _states(equation, start, first, at)
    values = [resolve(ctx, slope)(equation, *pair) for pair in zip(at, states, strict=True)]
    if not depends(ctx, (values, y0, times, begin)):
        return found
    maps = collocation.maps(steps, _jacobians(equation, at, states))
    reads = collocation.readings(steps, maps, *_places(edges, fixed))
    constants = np.reshape(np.stack(values), (len(steps), -1))
    beginning = (start, first, slope(equation, first, start))
    y = resolve(ctx, carried)(found, y0, values, beginning, begin, constants, maps, reads)
    if not depends(ctx, (times,)):
        return y
    slopes = np.stack([slope(equation, *pair) for pair in zip(fixed, np.array(found), strict=True)])
    return resolve(ctx, moved)(y, times, fixed, slopes)


def carried(
    found: Any, y0: Any, values: Any, beginning: Any, begin: Any, constants: Any, maps: Any, reads: Any
) -> Any:
    """`found`, and what it changes by."""
    start, first, slope = beginning
    change = np.reshape(np.asarray(y0), -1) - start - slope * (begin - first)
    forces = np.reshape(np.stack(values), np.shape(constants)) - constants
    return collocation.along(found, change, forces, maps, reads)


def moved(y: Any, times: Any, fixed: Any, slopes: Any) -> Any:
    return y + slopes * np.reshape(np.asarray(times) - fixed, (-1, 1))


def _check_real(start: Any, found: Any) -> None:
    if np.iscomplexobj(start) or np.iscomplexobj(found):
        raise refused(
            "the derivative of a complex solution is not known; split it into real and imaginary part"
        )


def _places(edges: Any, times: Any) -> tuple[Any, Any]:
    """(which interval each time is in, which part of that is before it)"""
    sign = 1.0 if edges[-1] > edges[0] else -1.0
    where = np.clip(np.searchsorted(sign * edges, sign * times, "right") - 1, 0, len(edges) - 2)
    return where, (times - edges[where]) / np.diff(edges)[where]


def _states(equation: Equation, start: Any, first: Any, times: Any) -> Any:
    """The solution, as right as it can be had; begun again where f may jump."""
    sign, out = np.sign(times[-1] - first), []
    ahead = [t for t in equation.breaks if sign * (t - first) > 0.0]
    for end in [*sorted(ahead, reverse=bool(sign < 0)), sign * np.inf]:
        part = times[(sign * times > sign * first) & (sign * times <= sign * end)]
        if len(part):
            whole = np.concatenate([[first], part, [end] if part[-1] != end and np.isfinite(end) else []])
            every = _followed(equation, start, whole)
            out.append(every[1 : len(part) + 1])
            start = every[-1]
            first = whole[-1]
    return np.concatenate(out)


def _followed(equation: Equation, start: Any, times: Any) -> Any:
    from scipy.integrate import ODEintWarning, odeint

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ODEintWarning)
        states, said = odeint(
            equation.f, start, times, args=equation.rest, tfirst=equation.tfirst, full_output=True,
            tcrit=times[-1:], **_TIGHT,
        )  # fmt: skip
    if said["message"] != _DONE:
        raise refused(f"the solution cannot be followed closely enough for its derivative: {said['message']}")
    return states


def _jacobians(equation: Equation, times: Any, states: Any) -> Any:
    """(m, s, n, n)"""
    from ctxdispatch_contexts.higher import jacfwd

    f, tfirst, rest, _ = equation
    of_state, n = jacfwd(f, argnums=int(tfirst)), states.shape[1]
    pairs = zip(times.tolist(), states, strict=True)
    found = [np.reshape(np.asarray(of_state(*((t, y) if tfirst else (y, t)), *rest)), -1) for t, y in pairs]
    return np.reshape(np.stack(found), (-1, collocation.STAGES, n, n))


# -- the mesh ------------------------------------------------------------------------------------------------


def mesh_of(equation: Equation, start: Any, first: Any, last: Any) -> list[float]:
    """Its inner edges, constants: whatever the mesh is, the derivative is the same."""
    start, first, last = np.array(start), float(first), float(last)
    inner = [t for t in equation.breaks if min(first, last) < t < max(first, last)]
    edges = np.array([first, *sorted(inner, reverse=last < first), last])
    edges = _split(_split(edges, ...), ...)
    known = _Known(equation, start, first)
    while True:
        bad = known.errors(edges) > TOLERANCE
        if not bad.any():
            inner_edges: list[float] = edges[1:-1].tolist()
            return inner_edges
        edges = _split(edges, bad)
        if len(edges) > _MOST or np.min(np.abs(np.diff(edges))) < 1e-13 * abs(last - first):
            raise refused(
                "the derivative of the solution cannot be followed: the function is not smooth along it; "
                "give the times at which it jumps (`tcrit`), or solve from one to the next"
            )


def _split(edges: Any, which: Any) -> Any:
    middle = 0.5 * (edges[:-1] + edges[1:])[which]
    return np.insert(edges, np.arange(1, len(edges))[which], middle)


class _Known:
    """What f is along the solution, at times that came up."""

    def __init__(self, equation: Equation, start: Any, first: float) -> None:
        self.equation, self.start, self.first = equation, start, first
        self.found: dict[float, tuple[Any, Any]] = {}

    def errors(self, edges: Any) -> Any:
        """Of each interval, as `collocation.errors`."""
        fine = _split(edges, ...)
        self._find(np.concatenate([collocation.stages(e).ravel() for e in (edges, fine)]))
        (coarse, coarse_f), (halves, halves_f) = (self._maps(e) for e in (edges, fine))
        return collocation.errors(np.diff(edges), coarse, halves, coarse_f, halves_f)

    def _find(self, times: Any) -> None:
        new = [t for t in np.unique(times).tolist() if t not in self.found]
        new.sort(reverse=bool(times[-1] < self.first))
        if not new:
            return
        states = _states(self.equation, self.start, self.first, np.array(new))
        pad = -len(new) % collocation.STAGES
        every = [*range(len(new)), *[0] * pad]
        jacobians = _jacobians(self.equation, np.array(new)[every], states[every])
        for t, y, jacobian in zip(new, states, np.concatenate(jacobians), strict=False):
            self.found[t] = (slope(self.equation, t, y), jacobian)

    def _maps(self, edges: Any) -> tuple[Any, Any]:
        """(the maps of the intervals, f at their stages)"""
        at = collocation.stages(edges)
        f, jacobians = zip(*[self.found[t] for t in at.ravel().tolist()], strict=True)
        n = len(self.start)
        maps = collocation.maps(np.diff(edges), np.reshape(np.stack(jacobians), (*at.shape, n, n)))
        return maps, np.reshape(np.stack(f), (*at.shape, n))


__all__ = ["imported"]
