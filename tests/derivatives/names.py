"""The names that must have a derivative, by module: what the best-covered libraries handle, and what they
leave out."""

NAMES = {
    "numpy": """
        abs absolute acos arccos acosh arccosh add amax amin angle arcsin asin arcsinh asinh arctan atan
        arctan2 atan2 arctanh atanh array_split atleast_1d atleast_2d atleast_3d broadcast_to clip conj
        conjugate cos cosh cross cumsum deg2rad degrees diag diagonal diff divide true_divide dot dsplit
        einsum exp exp2 expand_dims expm1 fabs fliplr flipud fmax fmin full gradient hsplit hypot imag
        inner kron linspace log log10 log1p log2 logaddexp logaddexp2 matmul max maximum min minimum mod
        remainder moveaxis multiply nan_to_num negative outer pad partition permute_dims transpose pow
        power prod rad2deg radians ravel real real_if_close reciprocal repeat reshape roll rollaxis
        rot90 sin sinc sinh sort split sqrt square squeeze subtract sum swapaxes tan tanh tensordot tile
        trace tril triu vsplit where mean std var array concatenate vstack hstack column_stack stack
        append select average bincount block broadcast_arrays cbrt choose compress convolve copy
        copysign corrcoef correlate cov cumprod delete diagflat dstack ediff1d extract flip float_power
        fmod frexp geomspace heaviside i0 insert interp ldexp logspace median meshgrid modf nanmax
        nanmin nansum nanmean nanstd nanvar nanprod nancumsum nancumprod nanmedian nanpercentile
        nanquantile percentile quantile piecewise poly polyadd polyder polydiv polyfit polyint polymul
        polysub polyval ptp resize roots sort_complex take take_along_axis trapezoid trim_zeros unique
        unstack unwrap vander vdot vecdot matvec vecmat apply_along_axis put place put_along_axis
        """,
    "numpy.linalg": """
        norm cholesky det eig eigh inv pinv slogdet solve svd cond eigvals eigvalsh lstsq matrix_norm
        matrix_power multi_dot qr svdvals tensorinv tensorsolve vecdot vector_norm
        """,
    "numpy.fft": """
        fft fft2 fftn fftshift ifft ifft2 ifftn ifftshift irfft irfft2 irfftn rfft rfft2 rfftn hfft
        ihfft
        """,
    "scipy.special": """
        beta betainc betaln digamma erf erfc erfcinv erfinv expit gamma gammainc gammaincc gammaln i0 i1
        iv ive j0 j1 jn logit logsumexp multigammaln polygamma psi rgamma y0 y1 yn
        """,
    "scipy.linalg": "solve_banded solve_sylvester solve_triangular sqrtm",
    "scipy.signal": "convolve",
}

ZERO = """
    all allclose any argmax argmin argpartition argsort argwhere around array_equal array_equiv ceil
    count_nonzero empty_like equal fix flatnonzero floor floor_divide greater
    greater_equal isclose iscomplex iscomplexobj isfinite isinf isnan isneginf isposinf isreal
    isscalar less less_equal logical_and logical_not logical_or logical_xor ndim nonzero not_equal
    ones_like result_type rint round searchsorted shape sign size trunc zeros_like
    """
"""Of NumPy, those whose derivative is zero by rule."""

IN_RECORDED_RUNS = {
    "apply_along_axis", "put", "place", "put_along_axis", "nancumsum", "nancumprod", "nanmedian",
    "nanpercentile", "nanquantile", "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul",
    "polysub",
}  # fmt: skip
"""They call a function, change an array, or are NumPy's own Python code: the run says their derivative
(`test_in_recorded_runs.py`)."""
