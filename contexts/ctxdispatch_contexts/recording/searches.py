"""What SciPy finds by trying, or with code of its own, and whose derivative is not that of how it was found.

Reading through gives zero, or what rounding left: where something that is differentiated comes in, these are
refused, with the function to use in their place.
"""

from __future__ import annotations

from typing import Any

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch_contexts.recording.solvers import apart, arguments, depends, plainly, refused, rule, tupled


def _by_method(name: str) -> str:
    return f"use `scipy.optimize.minimize(.., method={name!r})`"


_SCALAR = "use `scipy.optimize.minimize_scalar`"
_POLISHED = "use `scipy.optimize.minimize` from what it finds with `stop_gradient` of the arguments"
_SQUARES = "use `scipy.optimize.minimize` of the sum of squares"
_OWN = "give it one with `custom_rule`"

REMEDIES = {
    "fmin": _by_method("Nelder-Mead"),
    "fmin_powell": _by_method("Powell"),
    "fmin_cg": _by_method("CG"),
    "fmin_bfgs": _by_method("BFGS"),
    "fmin_ncg": _by_method("Newton-CG"),
    "fmin_l_bfgs_b": _by_method("L-BFGS-B"),
    "fmin_tnc": _by_method("TNC"),
    "fmin_slsqp": _by_method("SLSQP"),
    "fmin_cobyla": _by_method("COBYLA"),
    **dict.fromkeys(("golden", "brent", "fminbound"), _SCALAR),
    **dict.fromkeys(("brute", "basinhopping", "direct", "shgo"), _POLISHED),
    **dict.fromkeys(("differential_evolution", "dual_annealing"), _POLISHED),
    **dict.fromkeys(("least_squares", "leastsq", "curve_fit", "nnls", "lsq_linear"), _SQUARES),
    **dict.fromkeys(("linprog", "milp", "quadratic_assignment", "isotonic_regression"), _OWN),
}
"""By name, what to do in its place."""

_FUNCTIONS = ("func", "fun", "f")


@rule("scipy.optimize", *REMEDIES)
def searched(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    """Where nothing varies it runs as it is."""
    given = arguments(f, args, kwargs)
    found = plainly(ctx, f, args, kwargs)
    if depends(ctx, given) or depends(ctx, _tried(ctx, given, found)):
        raise refused(
            f"scipy.optimize.{f.__name__} has no derivative rule: how it finds its result says nothing of "
            f"the derivative; {REMEDIES[f.__name__]}"
        )
    return found


def _tried(ctx: Any, given: dict[str, Any], found: Any) -> Any:
    """What the function is where it was found: it may have captured what varies."""
    function = next((given[name] for name in _FUNCTIONS if callable(given.get(name))), None)
    if function is None:
        return None
    x = apart(found.x if hasattr(found, "x") else found[0] if issubclass(type(found), tuple) else found)
    if "xdata" in given:
        return resolve(ctx, function)(given["xdata"], *x)
    return resolve(ctx, function)(x, *tupled(given.get("args", ())))
