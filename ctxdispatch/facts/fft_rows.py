"""Rows of `numpy.fft`. Loaded once a program has imported that."""

from __future__ import annotations

import numpy as np

from ctxdispatch.facts.numpy_rows import array_fact, functions_of, writing
from ctxdispatch.facts.table import has_row, rows

_ALONG_AXES = (np.fft.fft2, np.fft.ifft2, np.fft.fftn, np.fft.ifftn)
"""Along no axes they do nothing."""
rows(writing("4", result="itself 0, view 0"), _ALONG_AXES)
_SHIFTS = (np.fft.fftshift, np.fft.ifftshift, np.fft.fftfreq, np.fft.rfftfreq)
rows(array_fact(), _SHIFTS)
rows(writing("4"), [f for f in functions_of((np.fft,)) if not has_row(f)])
