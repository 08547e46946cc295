"""Whose derivative is zero by rule: results that are whole numbers, flags, indices, text or nothing."""

from __future__ import annotations

import bisect
import builtins
import cmath
import logging
import math
import operator
import time
import types
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

_NAMES: dict[Any, str] = {
    builtins: """
        all any ascii bin bool callable chr dir format hasattr hash hex id
        input int isinstance issubclass len oct open ord print range repr round slice str type
    """,
    math: """
        ceil comb factorial floor gcd isclose isfinite isinf isnan isqrt lcm perm trunc ulp
    """,
    cmath: "isclose isfinite isinf isnan",
    operator: """
        and_ contains countOf eq floordiv ge gt index indexOf inv invert is_ is_not le length_hint
        lshift lt ne not_ or_ rshift truth xor
    """,
    np: """
        all allclose any argmax argmin argpartition argsort argwhere around array_equal array_equiv
        bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift
        bitwise_xor broadcast_shapes can_cast ceil common_type count_nonzero digitize dtype empty
        empty_like equal errstate eye finfo fix flatnonzero floor floor_divide gcd geterr greater
        greater_equal identity iinfo indices invert isclose iscomplex
        iscomplexobj isdtype isfinite isfortran isin isinf isnan isnat isneginf isposinf isreal
        isrealobj isscalar issubdtype lcm left_shift less less_equal lexsort logical_and
        logical_not logical_or logical_xor may_share_memory mintypecode min_scalar_type nanargmax
        nanargmin ndim nonzero not_equal ones ones_like promote_types ravel_multi_index result_type
        right_shift rint round searchsorted seterr shape shares_memory signbit size spacing tri
        tril_indices tril_indices_from triu_indices triu_indices_from diag_indices diag_indices_from
        mask_indices trunc unravel_index zeros zeros_like
        bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp
    """,
    np.linalg: "matrix_rank",
    np.errstate: "__enter__ __exit__",
    np.ndarray: """
        all any argmax argmin argpartition argsort nonzero round searchsorted __len__
        __bool__ __contains__ device dtype flags itemsize nbytes ndim shape size strides
        setflags
    """,
    np.generic: """
        all any argmax argmin argsort round dtype flags itemsize nbytes ndim shape size strides
    """,
    bisect: "bisect_left bisect_right",
    int: "conjugate real imag numerator denominator bit_length bit_count",
    float: """
        hex is_integer __bool__ __int__ __round__ __floor__ __ceil__ __trunc__ __repr__
        __format__
    """,
    time: "time time_ns perf_counter perf_counter_ns monotonic process_time sleep strftime",
    warnings: "warn simplefilter filterwarnings",
    logging: "debug info warning error exception critical log getLogger",
    logging.Logger: "debug info warning error exception critical log isEnabledFor",
}

_REDUCTIONS = """
    logical_and logical_or logical_xor equal not_equal less less_equal greater greater_equal
    bitwise_and bitwise_or bitwise_xor
"""


def _zeros() -> Iterable[Any]:
    for owner, names in _NAMES.items():
        for name in names.split():
            if hasattr(owner, name):
                yield getattr(owner, name)
    for name in _REDUCTIONS.split():
        yield getattr(np, name).reduce
    # len(x), x in y, x == y of the basic containers and numbers, as methods
    for cls in (tuple, list, dict, str, set, frozenset):
        yield from (
            value
            for name, value in vars(cls).items()
            if name in ("__len__", "__contains__", "index", "count")
        )
    yield from (value for value in vars(str).values() if type(value) is types.MethodDescriptorType)


ZEROS: frozenset[Any] = frozenset(_zeros())
