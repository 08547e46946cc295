"""Which function has which formula, by NumPy's names and scipy.special's."""

from . import bessel, errors, exact, exponentials, gamma, inverses, logarithms, powers, sums, trigonometric

MODULES = {
    exponentials: "exp exp2 expm1 tanh sinh cosh expit",
    logarithms: "log log2 log10 log1p",
    trigonometric: "sin cos tan",
    inverses: "arcsin arccos arctan arctan2 arcsinh arccosh arctanh",
    powers: "power cbrt hypot",
    errors: "erf erfc erfinv",
    bessel: "i0",
    gamma: "gamma lgamma",
    sums: "logaddexp logaddexp2",
    exact: "sqrt fabs rint floor ceil trunc copysign maximum minimum fmax fmin fmod remainder floor_divide "
           "sinc",
}
FORMULAS = {name: getattr(module, name) for module, names in MODULES.items() for name in names.split()}

_FAST = {trigonometric: "sin cos tan", powers: "power", exact: "fmod remainder floor_divide sinc"}
FAST = {
    name: getattr(module, f"{name}_fast")
    for module, names in _FAST.items() for name in names.split()
}
