"""Which of NumPy's functions have the type of their result found out by samples, and how (`numpy_types`)."""

REDUCTIONS = "sum mean prod max min var std argmax argmin any all ptp cumsum cumprod argsort"

SAMPLED = f"""{REDUCTIONS} sort amax amin median average nansum nanmean nanmax nanmin nanprod nanvar
    nanstd nanmedian count_nonzero transpose swapaxes moveaxis rollaxis expand_dims squeeze atleast_1d
    atleast_2d atleast_3d matrix_transpose flip fliplr flipud rot90 roll zeros_like ones_like empty_like
    copy ravel diagonal diag trace triu tril diff ascontiguousarray asfortranarray nan_to_num real imag
    angle conj broadcast_to iscomplexobj isrealobj cumulative_sum ndim result_type trapezoid gradient tile
    repeat einsum tensordot astype sort_complex"""

DATA = """dot vdot inner outer kron concatenate stack vstack hstack column_stack dstack clip
    full_like round around interp searchsorted isclose allclose array_equal cross polyval append shape size
    where matmul row_stack vecdot matvec vecmat"""
"""Sampled, and integers among their positional arguments are data."""

RANKED = """convolve correlate hsplit vsplit dsplit pad take compress delete insert
    diagflat ediff1d digitize fix i0 iscomplex isreal isneginf isposinf isin partition argpartition sinc
    unwrap nanargmax nanargmin nonzero flatnonzero argwhere meshgrid broadcast_arrays resize extract block
    choose unravel_index ravel_multi_index trim_zeros diag_indices_from tril_indices_from
    triu_indices_from tril_indices triu_indices unique cov corrcoef percentile quantile nanpercentile
    nanquantile vander take_along_axis select diag_indices ix_ setdiff1d union1d intersect1d setxor1d
    kron block geomspace logspace"""
"""Of their results the samples say rank and dtype, for data decide the lengths, or how they compare does."""

METHODS = f"""{REDUCTIONS} transpose swapaxes squeeze astype copy ravel flatten diagonal trace round clip dot
    conj conjugate repeat item"""

LINALG_RANKED = """cond diagonal matmul matrix_norm matrix_transpose outer tensorsolve trace vecdot
    vector_norm cross tensordot"""

LINALG = (
    "inv solve det norm cholesky slogdet pinv eigh eigvalsh qr svd svdvals matrix_power multi_dot matrix_rank"
)

FFT = "fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn hfft ihfft fftshift ifftshift"

SAME_SHAPE = """roll flip fliplr flipud sort zeros_like ones_like empty_like copy conj nan_to_num real imag
    angle tril triu around round"""
