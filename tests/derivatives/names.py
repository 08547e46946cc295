"""The names that must have a derivative, by paragraph: what the best-covered libraries handle, what they
leave out, what is zero by rule, methods, operators, and `math` and `cmath` whole.

    PARAGRAPHS     paragraph -> {prefix: names}
    WHOLE          modules of which every function counts
    listed()       (paragraph, "prefix.name") of all of them

`subjects.py` says what each name is called with.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

CONTINUOUS = "pdf logpdf cdf logcdf sf logsf"
OPERATORS = "add sub mul truediv floordiv mod pow matmul"

PARAGRAPHS = {
    "numpy": {"numpy": """
        abs absolute acos arccos acosh arccosh add amax amin angle arcsin asin arcsinh asinh arctan atan
        arctan2 atan2 arctanh atanh array_split astype atleast_1d atleast_2d atleast_3d broadcast_to clip
        conj conjugate cos cosh cross cumsum deg2rad degrees diag diagonal diff divide true_divide dot
        dsplit einsum exp exp2 expand_dims expm1 fabs fliplr flipud fmax fmin full gradient hsplit hypot
        imag inner kron linspace log log10 log1p log2 logaddexp logaddexp2 matmul max maximum min minimum
        mod remainder moveaxis multiply nan_to_num negative outer pad partition permute_dims transpose
        pow power prod rad2deg radians ravel real real_if_close reciprocal repeat reshape roll rollaxis
        rot90 sin sinc sinh sort split sqrt square squeeze subtract sum swapaxes tan tanh tensordot tile
        trace tril triu vsplit
        """},
    "numpy.fft": {"numpy.fft": """
        fft fft2 fftn fftshift ifft ifft2 ifftn ifftshift irfft irfft2 irfftn rfft rfft2 rfftn
        """},
    "numpy.linalg": {"numpy.linalg": "norm cholesky det eig eigh inv pinv slogdet solve svd"},
    "scipy.special": {"scipy.special": """
        beta betainc betaln digamma erf erfc erfcinv erfinv expit gamma gammainc gammaincc gammaln i0 i1
        iv ive j0 j1 jn logit logsumexp multigammaln polygamma psi rgamma y0 y1 yn
        """},
    "scipy.linalg": {"scipy.linalg": "solve_banded solve_sylvester solve_triangular sqrtm"},
    "scipy.signal": {"scipy.signal": "convolve"},
    "scipy.integrate": {"scipy.integrate": "odeint"},
    "scipy.stats": {
        **{f"scipy.stats.{name}": CONTINUOUS for name in ("beta", "chi2", "gamma", "norm", "t")},
        "scipy.stats.dirichlet": "pdf logpdf",
        "scipy.stats.multivariate_normal": "pdf logpdf cdf logcdf",
        "scipy.stats.poisson": "pmf logpmf cdf logcdf sf logsf",
    },
    "also": {"numpy": """
        where mean std var array concatenate vstack hstack column_stack row_stack stack append select r_ c_
        """},
    "left out by others": {
        "numpy": """
            apply_along_axis average bincount block broadcast_arrays cbrt choose compress convolve correlate
            copy copysign corrcoef cov cumprod delete diagflat dstack ediff1d extract flip float_power fmod
            frexp geomspace heaviside i0 identity eye ones zeros insert interp ldexp logspace median
            meshgrid modf nanmax nanmin nansum nanmean nanstd nanvar nanprod nancumsum nancumprod nanmedian
            nanpercentile nanquantile nanargmax nanargmin percentile quantile piecewise place poly polyadd
            polyder polydiv polyfit polyint polymul polysub polyval poly1d ptp put put_along_axis putmask
            copyto resize roots sort_complex take take_along_axis trapezoid trim_zeros unique unstack unwrap
            vander vdot vecdot matvec vecmat
            """,
        "numpy.linalg": """
            cond eigvals eigvalsh lstsq matrix_norm matrix_power multi_dot qr svdvals tensorinv tensorsolve
            vecdot vector_norm
            """,
        "numpy.fft": "hfft ihfft",
    },
    "zero by rule": {"numpy": """
        all allclose any argmax argmin argpartition argsort argwhere around array_equal array_equiv ceil
        count_nonzero empty_like equal fix flatnonzero floor floor_divide full_like greater greater_equal
        isclose iscomplex iscomplexobj isfinite isinf isnan isneginf isposinf isreal isscalar less
        less_equal logical_and logical_not logical_or logical_xor ndim nonzero not_equal ones_like
        result_type rint round searchsorted shape sign size trunc zeros_like
        """},
    "ndarray": {
        "numpy.ndarray": """
            all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy cumprod
            cumsum diagonal dot fill flatten item max mean min nonzero partition prod put ravel repeat reshape
            round searchsorted sort squeeze std sum swapaxes take tolist trace transpose var view
            flat real imag T mT shape ndim size
            __getitem__[basic] __getitem__[integers] __getitem__[booleans] __getitem__[mixed]
            __setitem__[basic] __setitem__[integers] __setitem__[booleans] __setitem__[mixed]
            """,
        "in place": OPERATORS,
        "numpy.add": "at reduce accumulate outer",
        "numpy.multiply": "at reduce accumulate outer",
        "numpy.maximum": "at reduce accumulate outer",
        "numpy.minimum": "at reduce accumulate outer",
        "numpy.subtract": "at outer",
        "numpy.divide": "at outer",
        "numpy.power": "at outer",
        "numpy.logaddexp": "reduce",
        "numpy.logical_or": "reduce",
    },
    "operators": {"operator": f"{OPERATORS} neg pos abs getitem setitem eq ne lt le gt ge"},
}  # fmt: skip

WHOLE = ("math", "cmath")


def listed() -> Iterator[tuple[str, str]]:
    """(paragraph, name) in order, each once."""
    for paragraph, by_prefix in PARAGRAPHS.items():
        for prefix, names in by_prefix.items():
            yield from ((paragraph, f"{prefix}.{name}") for name in names.split())
    for module in WHOLE:
        yield from ((module, f"{module}.{name}") for name in functions_of(module))


def functions_of(module: str) -> list[str]:
    """Every function of a module: which those are, the running Python says."""
    return [n for n, f in vars(importlib.import_module(module)).items() if callable(f) and n[0] != "_"]
