"""What SciPy solves: minima, roots and integrals, by what holds of the result and not by how it was found.

    g(x, p) = 0      dx/dp = -(dg/dx)^-1 dg/dp         roots; minima, g being the gradient
    y = integral of f(t, p) from a to b     dy/dp = integral of df/dp,  dy/db = f(b),  dy/da = -f(a)

SciPy runs as it is, outside of the record. Then what it solved is run once more, where it was found, and is
written down: whatever it captured takes part, in either mode. One step of Newton's method carries it to the
result, x - (dg/dx)^-1 (g - g0), in which g0 is the value of g: the step is zero, its derivative is not. An
outer run follows this code too, and there neither x nor dg/dx is a constant: further derivatives are right.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch_contexts.programs.errors import MissingRuleError, user_position
from ctxdispatch_contexts.recording import constraints
from ctxdispatch_contexts.recording.leaves import is_number
from ctxdispatch_contexts.recording.memory import changed
from ctxdispatch_contexts.recording.numerics import gauss, integral, newton_step, scaled, with_value

Rule = Callable[..., Any]

_RULES: dict[tuple[str, str], Rule] = {}
"""By library and name."""

FUNCTIONS: dict[Any, Rule] = {}
"""Those of them that this process has imported."""

_modules = 0
"""How many modules there were when FUNCTIONS was last brought up to date."""


def rule(library: str, *names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        _RULES.update({(library, name): function for name in names})
        return function

    return register


def imported() -> dict[Any, Rule]:
    """The functions that have rules here, of the libraries that are there by now. Not every version of a
    library has all of them."""
    global _modules
    if _modules != len(sys.modules):
        _modules = len(sys.modules)
        for (library, name), function in _RULES.items():
            found: Any = sys.modules.get(library)
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is not None:
                FUNCTIONS[found] = function
    return FUNCTIONS


def arguments(f: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """By name, defaults included."""
    bound = inspect.signature(f).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def tupled(args: Any) -> tuple[Any, ...]:
    return args if issubclass(type(args), tuple) else (args,)


def refused(message: str) -> MissingRuleError:
    return MissingRuleError(message, user_position())


def plainly(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    """f(*args, **kwargs), which is not written down; refused where it stores into arrays of the run."""
    kept = ctx.record.memory.copies()
    out = f(*args, **kwargs)
    if changed(kept):
        raise refused(
            f"what {f.__module__}.{f.__name__} calls stores into an array that is differentiated; have it "
            "make an array of its own"
        )
    return out


def depends(ctx: Any, value: Any) -> bool:
    return bool(ctx.record.any_active(value))


def refuse_if(ctx: Any, given: dict[str, Any], f: Any, *names: str) -> None:
    """The result's derivative with respect to these is not known."""
    for name in names:
        if depends(ctx, (given.get(name),)):
            raise refused(
                f"the derivative of {f.__module__}.{f.__name__} with respect to {name!r} is not known; "
                "keep it out of the derivative with `stop_gradient`"
            )


def apart(value: Any) -> Any:
    """Equal to `value`, and no object that the run may know."""
    if issubclass(type(value), np.ndarray):
        return np.array(value)
    return type(value)(np.array(value)[()]) if is_number(value) else value


# -- roots ---------------------------------------------------------------------------------------------------


@rule("scipy.optimize", "brentq", "brenth", "bisect", "ridder", "toms748", "newton")
def root_of(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    given = arguments(f, args, kwargs)
    found = plainly(ctx, f, args, kwargs)
    full = bool(given.get("full_output"))
    root = carried(ctx, given[next(iter(given))], found[0] if full else found, given["args"])
    if root is None:
        return found
    if not full:
        return root
    if hasattr(found[1], "root"):
        found[1].root = root
    return (root, *found[1:])


@rule("scipy.optimize", "root_scalar")
def root_scalar(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    given = arguments(f, args, kwargs)
    found = plainly(ctx, f, args, kwargs)
    function = given["f"]
    if given["fprime"] is True or given["fprime2"] is True:
        function = first_of(function)
    root = carried(ctx, function, found.root, given["args"])
    if root is not None:
        found.root = root
    return found


def first_of(function: Any) -> Any:
    """Of one that returns its derivatives as well."""
    return lambda *args: function(*args)[0]


def carried(ctx: Any, f: Any, x: Any, args: Any) -> Any:
    """The root x of f(x, *args), each element by itself; None where it depends on nothing."""
    from ctxdispatch_contexts.forward import jvp

    x, args = apart(x), tupled(args)
    value = resolve(ctx, f)(x, *args)
    if not depends(ctx, value):
        return None
    if np.iscomplexobj(x):
        raise refused("the derivative of a complex root is not known; split it into real and imaginary part")
    _, slope = jvp(lambda at: f(at, *args), (x,), (np.ones_like(x) if np.ndim(x) else type(x)(1.0),))
    if not np.all(slope):
        raise refused(
            "a root has no derivative where that of the function is zero; keep it out of "
            "the derivative with `stop_gradient`"
        )
    _check_root(np.asarray(value) / slope, x)
    found = resolve(ctx, scaled)(x, value, apart(value), slope)
    return resolve(ctx, float)(found) if type(x) is float else found


def _check_root(step: Any, x: Any) -> None:
    """`step`: that of Newton's method, from x."""
    if not np.linalg.norm(np.array(step)) <= 1e-2 * (1.0 + np.linalg.norm(x)):
        raise refused(
            "the root was not found: the function is not zero where SciPy stopped, and so it has no "
            "derivative there; give more iterations, a smaller tolerance or another start"
        )


@rule("scipy.optimize", "root", "fsolve")
def root_of_system(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    from ctxdispatch_contexts.higher import jacfwd

    given = arguments(f, args, kwargs)
    found = plainly(ctx, f, args, kwargs)
    function, *_ = given.values()
    function = first_of(function) if given.get("jac") is True else function
    of_root = f.__name__ == "root"
    x = apart(found.x if of_root else found[0] if given["full_output"] else found)
    rest = tupled(given["args"])
    value = resolve(ctx, function)(x, *rest)
    if not depends(ctx, (value,)):
        return found
    slope = np.reshape(jacfwd(lambda at: np.asarray(function(at, *rest)))(x), (x.size, x.size))
    inverse = inverted(slope)
    _check_root(inverse @ np.ravel(np.array(value)), x)
    y = resolve(ctx, newton_step)(x, value, np.array(value), inverse)
    if of_root:
        found["x"] = y
        return found
    return (y, *found[1:]) if given["full_output"] else y


def inverted(matrix: Any) -> Any:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raise refused(
            "a solution has no derivative where the Jacobian (of a minimum: the Hessian) is "
            "singular; keep it out of the derivative with `stop_gradient`"
        ) from None


# -- minima --------------------------------------------------------------------------------------------------


@rule("scipy.optimize", "minimize")
def minimize(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    given = arguments(f, args, kwargs)
    refuse_if(ctx, given, f, "bounds")
    found = plainly(ctx, f, args, kwargs)
    rest, x = tupled(given["args"]), np.array(found.x)
    gradient, value = first_order(given["fun"], given["jac"], x, rest)
    g = resolve(ctx, gradient)(x, *rest)
    if not (depends(ctx, (g,)) or np.size(given["constraints"])):
        return found
    free = within(given["bounds"], x)
    every = [constraints.active(each, x) for each in constraints.read(given["constraints"])]
    every = [each for each in every if len(each.rows)]
    if every:
        found["x"] = constrained(ctx, gradient, x, rest, g, every, free)
    else:
        step = inverse_hessian(gradient, x, rest, np.array(g), free)
        found["x"] = resolve(ctx, newton_step)(x, g, np.array(g), step)
    found["fun"] = resolve(ctx, with_value)(found.fun, resolve(ctx, value)(found["x"]))
    return found


@rule("scipy.optimize", "minimize_scalar")
def minimize_scalar(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    given = arguments(f, args, kwargs)
    found = plainly(ctx, f, args, kwargs)
    rest, x = tupled(given["args"]), np.array([float(found.x)])
    gradient, value = first_order(given["fun"], None, x[0], rest)
    inner = ItemsOf(gradient)
    g = resolve(ctx, inner)(x, *rest)
    if not depends(ctx, (g,)):
        return found
    step = inverse_hessian(inner, x, rest, np.array(g), np.ones(1, bool))
    found["x"] = resolve(ctx, newton_step)(x, g, np.array(g), step)
    found["x"] = resolve(ctx, np.ndarray.__getitem__)(found["x"], 0)
    found["fun"] = resolve(ctx, with_value)(found.fun, resolve(ctx, value)(found["x"]))
    return found


class ItemsOf:
    """The gradient of a function of one number, as one of an array."""

    def __init__(self, gradient: Any) -> None:
        self.gradient = gradient

    def __call__(self, x: Any, *rest: Any) -> Any:
        return np.stack([self.gradient(x[0], *rest)])


def first_order(fun: Any, jac: Any, x: Any, rest: tuple[Any, ...]) -> tuple[Any, Any]:
    """((x, *rest) -> the gradient, x -> the value)"""
    from ctxdispatch_contexts.reverse import grad

    if jac is True:
        return lambda x, *rest: np.asarray(fun(x, *rest)[1]), lambda x: np.reshape(fun(x, *rest)[0], ())
    value = lambda x: np.reshape(fun(x, *rest), ())  # noqa: E731
    if callable(jac):
        return lambda x, *rest: np.asarray(jac(x, *rest)), value
    if np.ndim(fun(x, *rest)) == 0:
        return grad(fun), value
    return grad(lambda x, *rest: np.sum(fun(x, *rest))), value


def constrained(
    ctx: Any, gradient: Any, x: Any, rest: tuple[Any, ...], g: Any, every: list[Any], free: Any
) -> Any:
    """The minimum x, where of the constraints `every` are active."""
    from ctxdispatch_contexts.higher import jacfwd

    parts = constraints.written(ctx, every, x)
    if not depends(ctx, (g, parts)):
        return x
    fixed_g, a = np.array(g), np.concatenate([np.array(a) for a, _ in parts])
    multipliers = np.linalg.lstsq(a[:, free].T, fixed_g[free], rcond=None)[0]
    _check_conditions(fixed_g[free], a[:, free], multipliers, np.concatenate([each.sign for each in every]))
    hessian = np.reshape(np.asarray(jacfwd(gradient)(x, *rest)), (x.size, x.size))
    matrix = constraints.system(hessian, every, x, a, multipliers)
    kept = np.flatnonzero(np.append(free, np.ones(len(a), bool)))
    inverse = np.zeros((x.size, len(matrix)))
    inverse[np.ix_(free, kept)] = inverted(matrix[np.ix_(kept, kept)])[: np.count_nonzero(free)]
    value = resolve(ctx, constraints.conditions)(g, parts, multipliers)
    return resolve(ctx, newton_step)(x, value, np.array(value), inverse)


def _check_conditions(g: Any, a: Any, multipliers: Any, sign: Any) -> None:
    scale = 1.0 + np.linalg.norm(g)
    if np.linalg.norm(g - a.T @ multipliers) > 1e-2 * scale:
        raise refused(
            "the minimum was not found: the conditions of Karush, Kuhn and Tucker do not hold where SciPy "
            "stopped, and so it has no derivative there; give more iterations or a smaller tolerance"
        )
    if np.any((sign != 0.0) & (sign * multipliers <= constraints.ACTIVE * scale)):
        raise refused(
            "a constraint is met with equality at the minimum and its multiplier is zero: on one side of it "
            "the minimum moves in another way, and it has no derivative; leave the constraint out, or make "
            "it an equality"
        )


def within(bounds: Any, x: Any) -> Any:
    """The variables that are not at their bounds: the others do not move."""
    if bounds is None:
        return np.ones(x.shape, bool)
    if hasattr(bounds, "lb"):
        low, high = np.broadcast_to(bounds.lb, x.shape), np.broadcast_to(bounds.ub, x.shape)
    else:
        low = np.array([-np.inf if b[0] is None else b[0] for b in bounds], float)
        high = np.array([np.inf if b[1] is None else b[1] for b in bounds], float)
    near = 1e-7 * (1.0 + np.abs(x))  # solvers stop short of a bound, by rounding
    return (x - low > near) & (high - x > near)


def inverse_hessian(gradient: Any, x: Any, rest: tuple[Any, ...], g: Any, free: Any) -> Any:
    """Zero in the rows and columns of what is not free. Refused where x is no stationary point."""
    from ctxdispatch_contexts.higher import jacfwd

    hessian = np.reshape(jacfwd(gradient)(x, *rest), (x.size, x.size))
    out = np.zeros_like(hessian)
    out[np.ix_(free, free)] = inverted(hessian[np.ix_(free, free)])
    if np.linalg.norm(out @ g) > 1e-2 * (1.0 + np.linalg.norm(x)):
        raise refused(
            "the minimum was not found: the gradient is not zero where SciPy stopped, and so it has no "
            "derivative there; give more iterations or a smaller tolerance"
        )
    return out


# -- integrals -----------------------------------------------------------------------------------------------


@rule("scipy.integrate", "quad")
def quad(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    given = arguments(f, args, kwargs)
    found = plainly(ctx, f, args, kwargs)
    function, rest, limits = given["func"], tupled(given["args"]), (given["a"], given["b"])
    if not callable(function):
        if depends(ctx, (*rest, *limits)):
            raise refused("quad of a LowLevelCallable has no derivative; give it a function of Python's")
        return found
    named = {name: given[name] for name in ("epsabs", "epsrel", "limit", "points")}
    if given["weight"] is None and not given["complex_func"] and given["a"] != given["b"]:
        mesh = plainly(ctx, f, (function, *limits, rest), {**named, "full_output": 1})[2]
    else:
        mesh = {"last": 1, "alist": np.zeros(1), "blist": np.ones(1)}
    fixed = tuple(map(apart, limits))
    total = resolve(ctx, gauss)(function, rest, *fixed, mesh)
    if not depends(ctx, (total, *limits)):
        return found
    _check_integral(given, found[0], total)
    y = resolve(ctx, integral)(found[0], total, apart(total))
    for sign, at, constant in zip((-1.0, 1.0), limits, fixed, strict=True):
        if depends(ctx, (at,)):
            y = resolve(ctx, integral)(y, at, constant, sign * function(constant, *rest))
    return (resolve(ctx, float)(y), *found[1:])


def _check_integral(given: dict[str, Any], y: Any, total: Any) -> None:
    if given["weight"] is not None or given["complex_func"]:
        raise refused(
            "quad with `weight` or `complex_func` has no derivative; write the weight into the integrand, or "
            "integrate real and imaginary part"
        )
    close = max(10.0 * given["epsabs"], 10.0 * given["epsrel"] * abs(y))
    if not abs(float(total) - y) <= close:
        raise refused(
            "the integrand is singular or not smooth: its derivative cannot be integrated on the intervals "
            "that quad chose for it; substitute the variable so that it is smooth, or give `points`"
        )
