"""More of what programs call, to be tested through `vjp`: attributes, methods of NumPy scalars, conversions,
aliases; and a call of everything whose derivative is zero by rule.

    MORE             cases as in `derivative_cases`
    CONVERSIONS      classes and methods that make one number of another
    ZEROS            (callee, expression that calls it): in terms of x, a, v (real), z (complex), n, m, t, s
"""

from __future__ import annotations

import bisect
import builtins
import cmath
import logging
import math
import operator
import time
import warnings
from typing import Any

import numpy as np
from derivative_cases import Case, array, axis_of, elements, flag, laid_out, number, regular, shape_of
from hypothesis import strategies as st

from ctxdispatch_contexts.derivatives import lowerings

MORE: list[Case] = []


def more(*callees: Any, label: str = "") -> Any:
    """Register the function below, which draws (args, kwargs), as a case of each of the callees."""

    def register(draw_arguments: Any) -> Any:
        for callee in callees:
            owner = getattr(
                getattr(callee, "__objclass__", None), "__name__", getattr(callee, "__module__", "")
            )
            name = f"{owner}.{callee.__name__}" + (f"[{label}]" if label else "")
            MORE.append(Case(name, callee, st.composite(draw_arguments)()))
        return draw_arguments

    return register


def of(owner: Any, names: str) -> list[Any]:
    return [getattr(owner, name) for name in names.split() if hasattr(owner, name)]


import keyword_cases  # noqa: E402

keyword_cases.register(more)

# -- attributes ----------------------------------------------------------------------------------------------


@more(*of(np.ndarray, "T real imag __copy__ conjugate"), *of(np, "asanyarray asfortranarray"))
def _(draw):
    return (array(draw, shape_of(draw), complex_=True),), {}


@more(np.ndarray.__deepcopy__)
def _(draw):
    return (array(draw, shape_of(draw), complex_=True), {}), {}


@more(*of(np.ndarray, "mT"), *of(np, "matrix_transpose"), *of(np.linalg, "matrix_transpose"))
def _(draw):
    return (array(draw, shape_of(draw, 2, 3)),), {}


@more(complex.real, complex.imag, complex.conjugate)
def _(draw):
    return (complex(number(draw), number(draw)),), {}


@more(float.real, float.imag, float.conjugate, float.__float__)
def _(draw):
    return (number(draw),), {}


# -- methods -------------------------------------------------------------------------------------------------


@more(np.ndarray.swapaxes)
def _(draw):
    return (array(draw, (2, 3, 4)), axis_of(draw, 3, False), axis_of(draw, 3, False)), {}


@more(np.ndarray.__getitem__)
def _(draw):
    return (array(draw, (3, 2)), draw(st.sampled_from([0, slice(1, None), (2, 1)]))), {}


@more(np.ndarray.choose)
def _(draw):
    return (np.array([0, 1, 1]), [array(draw, (3,)), array(draw, (3,))]), {}


@more(*of(np.generic, "__deepcopy__"))
def _(draw):
    return (np.float64(number(draw)), {}), {}


@more(*of(np.generic, "ravel flatten squeeze transpose T copy __copy__ real imag conj conjugate item tolist"),
      *of(np.generic, "sum mean max min prod cumsum cumprod"))  # fmt: skip
def _(draw):
    value = number(draw, 0.2, 2)
    return (np.complex128(complex(value, number(draw))) if flag(draw) else np.float64(value),), {}


@more(np.generic.reshape, np.generic.repeat)
def _(draw):
    return (np.float64(number(draw)), 1), {}


@more(np.generic.astype)
def _(draw):
    return (np.float64(number(draw)), complex), {}


@more(np.generic.var, np.generic.std)
def _(draw):
    return (np.float64(number(draw)),), {"ddof": 0}


@more(np.generic.__getitem__)
def _(draw):
    return (np.float64(number(draw)), ()), {}


@more(np.generic.take)
def _(draw):
    return (np.float64(number(draw)), 0), {}


@more(np.generic.clip)
def _(draw):
    return (np.float64(number(draw, -0.4, 0.4)), -0.5, 0.5), {}


# -- functions by other names --------------------------------------------------------------------------------


@more(*of(np, "amax amin"))
def _(draw):
    return (array(draw, (2, 3)),), {"axis": axis_of(draw, 2)}


@more(np.fmin.reduce)
def _(draw):
    return (array(draw, (3, 2)),), {}


@more(*of(np, "row_stack"))
def _(draw):
    return ([array(draw, (3,)), array(draw, (3,))],), {}


@more(*of(np, "astype"))
def _(draw):
    return (array(draw, (2,)), complex), {}


@more(*of(np.linalg, "trace diagonal"))
def _(draw):
    return (array(draw, (2, 3, 2)),), {"offset": draw(st.integers(-1, 1))}


@more(*of(np.linalg, "matmul tensordot vecdot outer cross"))
def _(draw):
    return (array(draw, (3,)), array(draw, (3,))), {}


def tensordot_axes(cases):
    """tensordot of two vectors needs axes=1; the others take the vectors as they are."""
    for case in cases:
        if case.name.endswith("tensordot"):
            case.arguments = case.arguments.map(lambda drawn: (drawn[0], {"axes": 1}))
        if case.name.endswith("matmul"):
            case.arguments = case.arguments.map(
                lambda drawn: ((np.multiply.outer(*drawn[0]), drawn[0][1]), {})
            )


tensordot_axes(MORE)


@more(*of(np.linalg, "svdvals"))
def _(draw):
    return (array(draw, (2, 3)) + np.diag([8.0, 4.0, 2.0])[:2],), {}


@more(np.linalg.eig)
def _(draw):
    n = draw(st.integers(1, 3))
    return (regular(draw, n) + np.diag(np.arange(n) * 4.0),), {}


@more(np.sort_complex)
def _(draw):
    seed = draw(st.integers(0, 99))
    return (laid_out(elements((4,), -2, 2, seed) + 1j * elements((4,), -1, 1, seed + 1), "strided"),), {}


@more(operator.concat)
def _(draw):
    return ([number(draw), number(draw)], [number(draw)]), {}


@more(np.nextafter)
def _(draw):
    return (array(draw, (2,)), 3.0), {}


@more(math.nextafter)
def _(draw):
    return (number(draw), 3.0), {}


@more(lowerings.sum_of, label="numbers and arrays")
def _(draw):
    return ([number(draw), array(draw, (2, 3)), array(draw, (3,))], draw(st.sampled_from([0, 1.5]))), {}


@more(builtins.sum, label="arrays")
def _(draw):
    shapes = draw(st.sampled_from([[(2, 3), (3,)], [(), (2,)], [(2,)]]))
    return ([array(draw, shape) for shape in shapes],), {}


# -- numbers of numbers --------------------------------------------------------------------------------------

CONVERSIONS = [
    float, complex, *of(np, "float16 float32 float64 longdouble complex64 complex128 clongdouble"),
]  # fmt: skip

# -- zero by rule --------------------------------------------------------------------------------------------

SPACE = {
    "np": np, "math": math, "operator": operator, "time": time, "warnings": warnings, "logging": logging,
    "builtins": builtins, "cmath": cmath, "bisect": bisect,
    **{c.__name__: c for c in (float, int, str, tuple, list, dict, set, frozenset)},
}  # fmt: skip

CALLS = {
    "builtins": {
        "{}([x > 0, x < 0])": "all any",
        "{}(x)": "ascii bool callable dir hash id int print repr round str type",
        "{}(m)": "bin bytearray bytes chr hex oct range",
        "{}(x, 'real')": "hasattr",
        "{}(s)": "len",
        "{}('a')": "ord",
        "{}()": "input",
        "{}(x, '.2f')": "format",
        "{}(x, float)": "isinstance",
        "{}(float, object)": "issubclass",
        "{}(0, m)": "slice",
        "{}('/dev/null')": "open",
    },
    "math": {
        "math.{}(x)": "ceil floor isfinite isinf isnan trunc ulp",
        "math.{}(m, 2)": "comb gcd lcm perm",
        "math.{}(m)": "factorial isqrt",
        "math.{}(x, 1.0)": "isclose",
    },
    "cmath": {"cmath.{}(z)": "isfinite isinf isnan", "cmath.{}(z, z)": "isclose"},
    "operator": {
        "operator.{}(x, 1.0)": "eq ge gt le lt ne is_ is_not",
        "x // 0.7 if operator.{}(x, 0.7) else 0.0": "floordiv",
        "operator.{}(m, 2)": "and_ or_ xor lshift rshift",
        "operator.{}(m)": "inv invert index",
        "operator.{}(x)": "not_ truth",
        "operator.{}([x, 2.0], 2.0)": "contains countOf indexOf",
        "operator.{}([x])": "length_hint",
    },
    "np": {
        "np.{}(a)": """
            all any argmax argmin argsort argwhere around ceil common_type count_nonzero empty_like fix
            flatnonzero floor
            iscomplex iscomplexobj isfinite isfortran isinf isnan isneginf isposinf isreal isrealobj
            isscalar logical_not
            nanargmax nanargmin ndim nonzero ones_like rint round shape sign signbit size spacing trunc
            zeros_like
            min_scalar_type histogram_bin_edges result_type""",
        "np.{}(a, a)": """
            allclose array_equal array_equiv equal floor_divide greater greater_equal isclose isin less
            less_equal
            logical_and logical_or logical_xor may_share_memory not_equal shares_memory""",
        "np.{}(n, n)": """
            bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift bitwise_left_shift
            bitwise_right_shift""",
        "np.{}(n)": "bitwise_count bitwise_invert invert",
        "np.{}(v, 1)": "argpartition",
        "np.{}(v, [0.0, 1.0])": "digitize",
        "np.{}([0.0, 1.0], x)": "searchsorted",
        "np.{}((v, v))": "lexsort",
        "np.{}(m, (2, 3))": "unravel_index",
        "np.{}((1, 2), (2, 3))": "ravel_multi_index",
        "np.{}((2, 1), (3,))": "broadcast_shapes",
        "np.{}('f4', 'f8')": "can_cast promote_types",
        "np.{}('f8')": "dtype finfo",
        "np.{}('i8')": "iinfo",
        "np.{}(m)": "empty eye identity ones zeros tri tril_indices triu_indices diag_indices",
        "np.{}(m, np.triu)": "mask_indices",
        "np.{}(np.outer(x, x))": "tril_indices_from triu_indices_from diag_indices_from",
        "np.{}((2, 3))": "indices",
        "np.{}(np.dtype('f8'), 'real floating')": "isdtype",
        "np.{}(np.float64, np.floating)": "issubdtype",
        "np.{}('fd')": "mintypecode",
        "np.{}()": "errstate geterr seterr",
        "np.{}([0, 1])": "ix_",
        "np.{}(np.datetime64('2020-01-01'))": "isnat",
        "np.{}(x)": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp",
    },
    "np.linalg": {"np.linalg.{}(a)": "matrix_rank"},
    "np.ndarray": {
        "a.{}()": "all any argmax argmin argsort nonzero round __len__",
        "v[:1].{}()": "__bool__",
        "v.{}(1)": "argpartition",
        "v.{}(x)": "searchsorted __contains__",
        "a.{}": "device dtype flags itemsize nbytes ndim shape size strides",
        "a.{}(write=True)": "setflags",
    },
    "np.generic": {
        "np.sum(a).{}()": "all any argmax argmin argsort round",
        "np.sum(a).{}": "dtype flags itemsize nbytes ndim shape size strides",
    },
    "int": {"m.{}()": "conjugate bit_length bit_count", "m.{}": "real imag numerator denominator"},
    "float": {
        "x.{}()": """
            hex is_integer __bool__ __int__ __round__ __floor__ __ceil__ __trunc__
            __repr__""",
        "x.{}('.2f')": "__format__",
    },
    "time": {
        "time.{}()": "time time_ns perf_counter perf_counter_ns monotonic process_time",
        "time.{}(0 * x)": "sleep",
        "time.{}('%Y')": "strftime",
    },
    "warnings": {"warnings.{}('ignore')": "simplefilter filterwarnings", "warnings.{}(str(x))": "warn"},
    "logging": {
        "logging.{}('%s', x)": "debug info warning error exception critical",
        "logging.{}(10, '%s', x)": "log",
        "logging.{}('name')": "getLogger",
    },
    "logging.Logger": {
        "logging.getLogger('tests').{}('%s', x)": "debug info warning error exception critical",
        "logging.getLogger('tests').{}(10, '%s', x)": "log",
        "logging.getLogger('tests').{}(10)": "isEnabledFor",
    },
    "str": {
        "s.{}()": """
            capitalize casefold encode expandtabs isalnum isalpha isascii isdecimal isdigit isidentifier
            islower isnumeric
            isprintable isspace istitle isupper lower lstrip rsplit rstrip split splitlines strip
            swapcase title upper
            __len__ __sizeof__ __getnewargs__""",
        "s.{}('b')": """
            count endswith find index partition removeprefix removesuffix rfind rindex rpartition
            startswith __contains__""",
        "s.{}(9)": "center ljust rjust zfill",
        "s.{}(['a', 'b'])": "join",
        "s.{}('a', 'b')": "replace",
        "s.{}({{97: 'b'}})": "translate",
        "'{{:.2f}}'.{}(x)": "format",
        "'{{x}}'.{}({{'x': x}})": "format_map",
        "s.{}('>5')": "__format__",
    },
    "tuple": {"(x, 2.0).{}()": "__len__", "(x, 2.0).{}(2.0)": "__contains__ index count"},
    "list": {"[x, 2.0].{}()": "__len__", "[x, 2.0].{}(2.0)": "__contains__ index count"},
    "dict": {"{{'k': x}}.{}()": "__len__", "{{'k': x}}.{}('k')": "__contains__"},
    "set": {"{{x, 2.0}}.{}()": "__len__", "{{x, 2.0}}.{}(2.0)": "__contains__"},
    "frozenset": {"t.{}()": "__len__", "t.{}(2.0)": "__contains__"},
    "bisect": {"bisect.{}([0.0, 1.0, 2.0], x)": "bisect_left bisect_right"},
}
REDUCED = """
    logical_and logical_or logical_xor equal not_equal less less_equal greater greater_equal bitwise_and
    bitwise_or bitwise_xor
"""
ARGUMENTS = {
    "x": 1.3, "a": np.array([[0.5, -1.2, 2.1], [1.7, 0.3, -0.4]]), "v": np.array([0.5, -1.2, 2.1]),
    "z": 0.5 + 1.5j,
    "n": np.array([1, 2, 3]), "m": 5, "t": frozenset({2.0, 3.0}), "s": "ab c",
}  # fmt: skip
VARY = set(
    """
    id open input empty empty_like time time_ns perf_counter perf_counter_ns monotonic process_time
    data errstate
    """.split()
)
"""Results that are other ones at every call."""


def _zeros() -> list[tuple[Any, str]]:
    found = []
    for path, templates in CALLS.items():
        owner = eval(path, SPACE)
        for template, names in templates.items():
            found += [(getattr(owner, n), template.format(n)) for n in names.split() if hasattr(owner, n)]
    for name in REDUCED.split():
        found.append((getattr(np, name).reduce, f"np.{name}.reduce({'n' if 'bitwise' in name else 'a > 0'})"))
    return found


ZEROS = _zeros()
