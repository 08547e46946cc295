"""No store is missed: through `out`, by keyword or position, of whatever NumPy has; and by other ways into an
array."""

import array
import functools
import inspect
import warnings

import numpy as np
import pytest
from sparsity_checks import jacobian_by_differences

from ctxdispatch import jacobian_sparsity
from ctxdispatch.passes.outputs import of_ufunc, out_at, takes_out
from ctxdispatch_contexts.sparsity import SparsityError, SparsityPattern

X = np.array([0.3, 0.7, 0.5, 0.2, 0.9, 0.4])
UFUNCS = sorted({f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}.items())

SPECIAL = {
    "dot": lambda m: (m, m.T), "outer": lambda m: (m[0], m[1]), "take": lambda m: (m, [0, 1, 1], 1),
    "choose": lambda m: ([0, 1, 0], m), "compress": lambda m: ([True, False, True], m, 1),
    "clip": lambda m: (m, 0.1, 0.6), "concatenate": lambda m: ((m, m), 1), "concat": lambda m: ((m, m), 1),
    "stack": lambda m: ((m, m), 1), "trace": lambda m: (m, 0, 0, 1, None),
    "multi_dot": lambda m: ([m, m.T, m],),
    "einsum": lambda m: ("ij,kj->ik", m, m), "around": lambda m: (m, 1), "round": lambda m: (m, 1),
    "fix": lambda m: (m,), "isneginf": lambda m: (m,), "isposinf": lambda m: (m,),
}  # fmt: skip
METHODS = {"choose": lambda m: (np.array([0, 1, 0]), m), "compress": lambda m: (m, [True, False, True], 1)}
SKIPPED = {"busday_count", "busday_offset", "is_busday"}
"""Of dates."""


def arguments_of(name, at, m):
    """Those before `out`."""
    if name in SPECIAL:
        return SPECIAL[name](m)
    if "quantile" in name or "percentile" in name:
        return (m, 0.3, 1)
    return (m, 1, None)[: 2 if at is None else at]


def functions():
    for module in (np, np.linalg):
        for name, f in sorted(vars(module).items()):
            if takes_out(f) and not isinstance(f, np.ufunc) and name not in SKIPPED:
                yield pytest.param(f, lambda m, n=name, at=out_at(f): arguments_of(n, at, m), id=f"np.{name}")


def methods():
    for name in sorted(dir(np.ndarray)):
        f = getattr(np.ndarray, name)
        if takes_out(f):
            arguments = METHODS.get(name, lambda m, n=name, at=out_at(f): arguments_of(n, at, m))
            yield pytest.param(f, arguments, id=f"ndarray.{name}")


def ufuncs():
    for name, f in UFUNCS:
        if f.signature is None:
            yield pytest.param(f, lambda m, f=f: (m, m + 0.1, m)[: f.nin], id=name)
        elif f in (np.matmul, getattr(np, "vecdot", None)):
            yield pytest.param(f, lambda m, f=f: (m, m if f is not np.matmul else m.T), id=name)


def ufunc_methods():
    for name, f in UFUNCS:
        if f.nin == 2 and f.nout == 1 and f.signature is None:
            for method, rest in (
                ("reduce", (1, None)),
                ("accumulate", (1, None)),
                ("reduceat", ([0, 2], 1, None)),
            ):
                yield pytest.param(getattr(f, method), lambda m, rest=rest: (m, *rest), id=f"{name}.{method}")
            yield pytest.param(f.outer, lambda m: (m, m[0]), id=f"{name}.outer")


def checked(f, x=X):
    """The pattern of f misses nothing; or it is refused, at a line of this file."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            pattern = jacobian_sparsity(f, x).toarray()
        except SparsityError as error:
            assert "test_stores_through_out.py:" in str(error)
            return None
        jacobian = jacobian_by_differences(f, x, h=1e-6)
    assert not (jacobian != 0)[~pattern].any()
    return pattern


@pytest.mark.parametrize("callee, arguments", [*functions(), *methods(), *ufuncs(), *ufunc_methods()])
@pytest.mark.parametrize("by_position", [False, True], ids=["keyword", "position"])
def test_out_of_everything(callee, arguments, by_position):
    at = out_at(callee)
    plain = arguments(X.reshape(2, 3))
    if by_position and (at is None or len(plain) != at):
        pytest.skip("by keyword only")
    if not by_position and of_ufunc(callee) is not callee:
        pytest.skip("by position only")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made = callee(*plain)
        except TypeError:
            pytest.skip("not of floats")
    results = made if isinstance(made, tuple) else (made,)
    kinds = [(np.shape(r), np.asarray(r).dtype) for r in results]

    def f(x):
        targets = tuple([np.ones(shape, dtype) for shape, dtype in kinds])
        args = arguments(x.reshape(2, 3))
        if by_position:
            callee(*args, *targets)
        else:
            callee(*args, out=targets if len(targets) > 1 else targets[0])
        return [np.ravel(t) * 2.0 for t in targets][0]

    pattern = checked(f)
    if pattern is not None:
        without = checked(lambda x: np.ravel(results_of(callee, arguments(x.reshape(2, 3)))) * 2.0)
        assert without is None or (pattern == without).all()


def results_of(callee, args):
    made = callee(*args)
    return made[0] if isinstance(made, tuple) else made


def test_every_function_with_out_is_known():
    for name, f in vars(np).items():
        try:
            parameters = list(inspect.signature(f).parameters)
        except (TypeError, ValueError):
            continue
        if "out" in parameters and not isinstance(f, type):
            assert takes_out(f), name


FOLLOWED = [
    "np.add.__call__(x, x, A)", "A.setfield(x, float)", "A.put([0], x[:1])", "np.ndarray(3, buffer=A)[:] = x",
    "np.fft.irfft(x + 0j, 3, -1, None, A)", "np.matmul(np.eye(3), x, A)", "np.divmod(x, 0.3, B, A)",
    "functools.partial(np.add, x, x)(A)", "list(map(A.__setitem__, [0, 1], x))",
    "np.frombuffer(A)[:] = x", "np.vecdot(np.outer(x, x), x, A) if hasattr(np, 'vecdot') else 0",
    "np.clip(x, -1, 1, out=A)", "x.clip(-1, 1, A)", "np.add.reduce(np.outer(x, x), 0, None, A)",
    "np.add.accumulate(x, 0, None, A)", "np.mean(np.outer(x, x), 0, None, A)", "np.round(x * 3, 0, A)",
    "np.choose([0, 0, 0], [x, x], out=A)", "np.add(x, x, A)", "np.dot(np.eye(3), x, A)",
    "x.dot(np.eye(3), A)", "np.modf(x, A, B)", "np.modf(x, out=(B, A))", "np.modf(x, out=(None, A))",
    "np.take(x, [0, 1, 1], 0, A, 'clip')", "np.add(x, 1, out=(A,), where=[True, False, True])",
    "np.add(x, A, out=A)", "np.cumsum(x, out=A); np.multiply(A[::-1], x, out=A)",
    "np.std(np.outer(x, x), 0, None, A, 1)", "np.add.reduce(np.outer(x, x), 0, None, A, False, 1.0)",
    "A.__iadd__(x)", "A.__setitem__(0, x[0])", "np.subtract(x, 1, out=A[:])", "A.flat.__setitem__(0, x[0])",
    "A.flat = x", "A.flat[0] = x[0]", "i = A.flat; A[0] = x[0]; A[1] = i[0]",
    "i = np.lib.stride_tricks.as_strided(A); A[0] = x[0]; A[1] = i[0]",
    "if x[0] > 0: np.add(B, 1.0, out=(A,))\n    A *= x", "if x[0] > 0: np.multiply(x, x, A)",
    "A.real = x", "setattr(A, 'real', x)",
]  # fmt: skip
"""Stores into A."""
REFUSED = [
    "for i, v in np.ndenumerate(x): A[i] = v", "array.array('d').append(x[0])",
    "a = array.array('d', [0.0]); a.__setitem__(0, x[0])", "a = array.array('d', [0.0]); a[0] = x[0]",
    "[v.__setitem__(..., x[0]) for v in np.nditer(A, op_flags=['readwrite'])]",
    "for v in np.nditer(A, op_flags=['readwrite']): v[...] = x[0]",
    "i = np.nditer(A); A[0] = x[0]; A[1] = next(i)", "i = A.flat; A[0] = x[0]; A[1] = next(i)",
    "memoryview(A)[0] = x[0]",
    "m = memoryview(A); A[0] = x[0]; A[1] = m[0]", "A.data[0] = x[0]",
    "m = A.data; A[0] = x[0]; A[1] = m[0]", "np.asarray(memoryview(A))[0] = x[0]", "memoryview(x)[0]",
    "np.median(x, None, None, True); A *= x", "np.median(x, overwrite_input=True); A *= x",
    "np.percentile(x, 30, None, None, True); A *= x",
]  # fmt: skip
"""At the line."""


@pytest.mark.parametrize("result", ["A.sum()", "A * 2"])
@pytest.mark.parametrize("body", [*FOLLOWED, *REFUSED])
def test_stores(body, result):
    scope = {"np": np, "array": array, "functools": functools}
    text = f"def f(x):\n    A = np.zeros(3); B = np.zeros(3)\n    {body}\n    return {result}\n"
    exec(compile(text, "test_stores_through_out.py", "exec"), scope)
    found = checked(scope["f"], X[:3])
    assert (found is not None) == (body in FOLLOWED)


def test_positions():
    assert out_at(np.add) == 2 and out_at(np.modf) == 1
    assert out_at(np.add.reduce) == out_at(np.hypot.accumulate) == 3 and out_at(np.add.reduceat) == 4
    assert out_at(np.add.outer) is None and out_at(np.add.at) is None and out_at(np.einsum) is None
    assert out_at(np.take) == out_at(np.ndarray.take) == 3 and out_at(np.ndarray.choose) == 2
    assert out_at(np.zeros) is None and out_at(len) is None and out_at([]) is None


@pytest.mark.parametrize("argnums", ["x", None, 1.5, [0.0], ["x"], True])
def test_argnums_that_are_no_positions(argnums):
    with pytest.raises(ValueError, match="argnums"):
        jacobian_sparsity(lambda x: x, X, argnums=argnums)


def test_from_scipy_of_what_is_not_sparse():
    with pytest.raises(SparsityError, match="not a ndarray.*from_dense"):
        SparsityPattern.from_scipy(np.eye(3))


def test_what_is_no_array_to_write_into_raises_as_it_does_plainly():
    for out in (True, [0.0], (2.0,)):
        with pytest.raises(TypeError) as plain:
            np.add(np.ones(3), [0.0, 2.0], out=out)
        with pytest.raises(TypeError) as found:
            jacobian_sparsity(lambda x, out=out: np.add(x, [0.0, 2.0], out=out), np.ones(3))
        assert str(found.value) == str(plain.value)
