"""Random programs: no nonzero of the true Jacobian is missing from the pattern."""

import linecache
import warnings

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_numpy_programs import write
from sparsity_checks import jacobian_by_differences

from ctxdispatch import jacobian_sparsity
from ctxdispatch_contexts.sparsity import OpaqueCallWarning, SparsityError

INPUTS = [np.random.default_rng(seed).normal(size=5) for seed in range(4)]


@st.composite
def programs(draw):
    return write(lambda options: draw(st.sampled_from(list(options))))


def compiled(source):
    namespace = {}
    linecache.cache["<program>"] = (len(source), None, source.splitlines(True), "<program>")
    exec(compile(source, "<program>", "exec"), namespace)
    return namespace["f"]


def where_it_runs(f):
    """Inputs at which `f` does not raise, and differences can be taken."""
    for x in INPUTS:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield x, jacobian_by_differences(lambda x: f(x.copy()), x)
        except Exception:  # whatever the program raises: it has no Jacobian there
            continue


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(programs(), st.sampled_from(["global", "local"]))
def test_no_nonzero_is_missing(source, mode):
    f = compiled(source)
    points = list(where_it_runs(f))
    assume(points)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OpaqueCallWarning)
            pattern = jacobian_sparsity(f, points[0][0], mode=mode)
    except SparsityError:
        return  # refused, in so many words
    found = pattern.toarray()
    for _, jacobian in points if mode == "global" else points[:1]:
        if jacobian.shape == found.shape:
            assert not (jacobian != 0)[~found].any(), f"\n{jacobian}\n{found.astype(int)}\n{source}"


def test_most_programs_are_not_refused():
    """So that the test above tests something."""
    import random

    done = refused = 0
    for seed in range(60):
        f = compiled(write(random.Random(seed).choice, statements=3))
        if list(where_it_runs(f)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", OpaqueCallWarning)
                    done += not jacobian_sparsity(f, INPUTS[0]).toarray().all()
            except (SparsityError, ValueError, IndexError):
                refused += 1
    assert done > 3 * refused and done > 25
