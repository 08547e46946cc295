"""`sparse_jacobian` and `sparse_hessian`: compressed derivatives, unpacked into SciPy's compressed rows.

    columns    dy = J @ seeds        one forward pass with a tangent per color
    rows       seeds @ J             one pullback, a cotangent per color
    symmetric  H @ seeds             one forward pass through the gradient

Pattern, coloring and the place of every entry in the compressed block are found once. A call is the block,
one `take`, one matrix around it; or, where `nonzeros.py` knows how, the entries without the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, Literal

import numpy as np

from ctxdispatch_contexts.programs.errors import user_position
from ctxdispatch_contexts.sparsity.api import hessian_sparsity, jacobian_sparsity
from ctxdispatch_contexts.sparsity.coloring import Coloring, color, gather
from ctxdispatch_contexts.sparsity.errors import SparsityError, described
from ctxdispatch_contexts.sparsity.journal import fields
from ctxdispatch_contexts.sparsity.pattern import SparsityPattern

Mode = Literal["auto", "forward", "reverse"]
Make = Callable[[Callable[..., Any], int, Any, "Unpack"], Callable[[Sequence[Any]], Any]]
"""make(f, argnum, seeds, unpack)(args): the entries of the derivative, row by row; seeds in the argument's
shape"""


def sparse_jacobian(
    f: Callable[..., Any], *args: Any, argnums: int = 0, pattern: Any = None,
    coloring: Coloring | None = None,
    mode: Mode = "auto",
) -> SparseDerivative:  # fmt: skip
    """The function jac(*args) -> `scipy.sparse.csr_array` (m, n), the Jacobian of `f` with respect to
    argument `argnums`, an array of n floats of any shape; `f` returns a float or an array of m.

    `args` are arguments to start from: shapes and dtypes count, and what is no float. A `pattern` (a
    SparsityPattern, or a sparse matrix) spares the detection, a `coloring` of it the coloring; a pattern that
    lacks entries is refused at the first call, by the product with a random vector.
    mode="forward": columns by jvps; "reverse": rows by vjps; "auto": whichever takes fewer passes.

    `f` may store into its arguments, f(du, u) with argnums=1 for one, and leaves them as one call does; where
    they share memory then, it is refused (DerivativeError), or right. What is returned counts, not what is
    stored.

    SciPy takes it as it is: `least_squares(jac=)`, `solve_ivp(jac=)` with argnums=1, `NonlinearConstraint`;
    its `pattern.scipy()` is a `jac_sparsity`.
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f'mode is "auto", "forward" or "reverse", not {mode!r}')
    argnum = _checked(args, argnums)
    given = jacobian_sparsity(f, *args, argnums=argnum) if pattern is None else _pattern(pattern)
    if given.shape[1] != args[argnum].size:
        raise SparsityError(
            f"a pattern of shape {given.shape} for an argument of {args[argnum].size} elements; it must "
            "have as "
            "many columns"
        )
    return SparseDerivative(f, args, argnum, given, coloring or _coloring(given, mode))


def sparse_hessian(
    f: Callable[..., Any], *args: Any, argnums: int = 0, pattern: Any = None, coloring: Coloring | None = None
) -> SparseDerivative:  # fmt: skip
    """The function hess(*args) -> `scipy.sparse.csr_array` (n, n), the Hessian of the scalar function `f`
    with respect to argument `argnums`, an array of n floats of any shape. Arguments as in `sparse_jacobian`.
    """
    argnum = _checked(args, argnums)
    given = hessian_sparsity(f, *args, argnums=argnum) if pattern is None else _pattern(pattern)
    n = args[argnum].size
    if given.shape != (n, n):
        raise SparsityError(
            f"a pattern of shape {given.shape} for the Hessian in an argument of {n} elements; it "
            f"must be {(n, n)}"
        )
    return SparseDerivative(f, args, argnum, given, coloring or color(given, "symmetric"))


def _checked(args: Sequence[Any], argnums: int) -> int:
    if not isinstance(argnums, (int, np.integer)):
        raise SparsityError(
            f"argnums is one index here, not {argnums!r}; make a sparse derivative for each array"
        )
    if not -len(args) <= argnums < len(args):
        raise ValueError(f"argnums {argnums} is out of range: there are {len(args)} arguments")
    x = args[argnums]
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        raise SparsityError(
            f"argument {argnums} must be an array of floats, not {_kind(x)}; pass `np.asarray(x, float)`",
            user_position(),
        )
    return int(argnums) % len(args)


def _pattern(pattern: Any) -> SparsityPattern:
    if isinstance(pattern, SparsityPattern):
        return pattern
    if hasattr(pattern, "tocsr"):
        return SparsityPattern.from_scipy(pattern)
    raise SparsityError(
        "a pattern is a SparsityPattern or a SciPy sparse matrix, not "
        f"{_kind(pattern)}; of a dense array make one by SparsityPattern.from_dense"
    )


def _coloring(pattern: SparsityPattern, mode: Mode) -> Coloring:
    if mode == "forward":
        return color(pattern, "column")
    if mode == "reverse":
        return color(pattern, "row")
    columns = color(pattern, "column")
    widest = int(np.bincount(pattern.cols, minlength=1).max(initial=0))  # rows need at least as many colors
    if columns.number <= 2 * widest:
        return columns
    rows = color(pattern, "row")
    return rows if 2 * rows.number < columns.number else columns  # a pullback costs about two passes


class SparseDerivative:
    """A function of f's arguments that returns a derivative of `f` as a `scipy.sparse.csr_array`. `pattern`
    and `coloring` may be read. The matrices share read-only `indices` and `indptr`: copy one to change its
    pattern."""

    def __init__(
        self, f: Any, args: Sequence[Any], argnum: int, pattern: SparsityPattern, coloring: Coloring
    ) -> None:
        if not isinstance(coloring, Coloring):
            raise SparsityError(
                f"`coloring` is a Coloring, not a {type(coloring).__name__}; make one with color(pattern)"
            )
        vertices = pattern.shape[0 if coloring.mode == "row" else 1]
        if len(coloring.colors) != vertices:
            raise SparsityError(
                f"a coloring of {len(coloring.colors)} for a pattern of shape {pattern.shape}; make "
                "one with color(pattern)"
            )
        x = args[argnum]
        self.function, self.pattern, self.coloring = f, pattern, coloring
        self.__wrapped__ = f
        self._argnum, self._shape, self._count = argnum, x.shape, len(args)
        self._made: dict[Any, Callable[[Sequence[Any]], Any]] = {}
        self._unpack = Unpack(f, pattern, coloring)
        self._template: Any = None
        self._others = [(i, _frozen(a)) for i, a in enumerate(args) if i != argnum and not _is_smooth(a)]

    def __call__(self, *args: Any) -> Any:
        """The derivative at `args`; `scipy.sparse.csr_array` of the result's dtype."""
        if len(args) <= self._argnum:
            raise TypeError(f"{described(self.function)} was given as a function of {self._count} arguments")
        for i, value in self._others:
            if i >= len(args) or not _same_value(args[i], value):
                raise SparsityError(
                    f"argument {i} was {_kind(value)} when the pattern was made, and now has another "
                    "value, for "
                    "which the pattern may be another; make a sparse derivative for it (or start from a "
                    "float, "
                    "which may vary)"
                )
        x = np.asarray(args[self._argnum])
        if x.shape != self._shape or x.dtype.kind != "f":
            raise SparsityError(
                f"an array of {x.dtype} of shape {x.shape}, where the pattern is for floats of shape "
                f"{self._shape}; pass such an array, or make a sparse derivative for this one"
            )
        if not self.coloring.number or not self.pattern.nnz:
            return self._matrix(np.zeros(self.pattern.nnz, x.dtype))
        if x is not args[self._argnum]:
            args = (*args[: self._argnum], x, *args[self._argnum + 1 :])
        before = list(map(_frozen, args)) if self._unpack.stores else []
        found = self._matrix(self._entries(x)(args))
        if self._unpack.unverified or self._unpack.depends_on_state:
            self._unpack.unverified = False
            _rewind(args, before)
            check_pattern(self.function, self.coloring.mode, args, self._argnum, found)
        return found

    def _entries(self, x: Any) -> Callable[[Sequence[Any]], Any]:
        """(args) -> the entries, row by row, for arguments like x: made once per dtype."""
        found = self._made.get(x.dtype)
        if found is None:
            make = ENTRIES[self.coloring.mode]
            found = self._made[x.dtype] = make(self.function, self._argnum, self._seed(x), self._unpack)
        return found

    def _seed(self, x: Any) -> Any:
        """The seeds in the shape of x (of rows, flat: the shape of the result comes later)."""
        flat = self.coloring.seeds(x.dtype)
        shape = flat.shape[1:] if self.coloring.mode == "row" else x.shape
        found = flat.reshape(len(flat), *shape)
        found.setflags(write=False)
        return found

    def _matrix(self, data: Any) -> Any:
        """SciPy checks indices once; later matrices are the first one with other data."""
        from scipy.sparse import csr_array  # type: ignore[import-untyped, unused-ignore]

        if self._template is None:
            self._template = csr_array((data, self.pattern.indices, self.pattern.indptr), self.pattern.shape)
            self._template.has_canonical_format = True
        return csr_array(
            (data, self._template.indices, self._template.indptr), self.pattern.shape, copy=False
        )

    def __repr__(self) -> str:
        m, n = self.pattern.shape
        size = f"{m} × {n}, nnz {self.pattern.nnz}"
        return f"<sparse derivative of {described(self.function)}: {size}, {self.coloring}>"


def _is_smooth(value: Any) -> bool:
    """Patterns hold for every value of it."""
    return isinstance(value, (float, np.floating)) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "f"
    )


def _frozen(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _rewind(args: Sequence[Any], before: Sequence[Any]) -> None:
    """Give arrays back what was in them, for what may have stored to them to run once more."""
    for a, b in zip(args, before):
        if isinstance(a, np.ndarray) and a.flags.writeable:
            a[...] = b


def _same_value(a: Any, b: Any, within: frozenset[tuple[int, int]] = frozenset()) -> bool:
    """Objects of one class are compared by what they hold: `==` of theirs may be that of arrays. `within`:
    the pairs around these two."""
    pair = (id(a), id(b))
    if a is b or pair in within:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and np.array_equal(a, b))
    plain = issubclass(type(a), (FunctionType, ModuleType, type)) or not fields(a)
    if plain and not isinstance(a, (list, tuple, dict)):
        return bool(a == b)
    return _same_parts(_parts(a), _parts(b), within | {pair})


def _same_parts(a: dict[Any, Any], b: dict[Any, Any], within: frozenset[tuple[int, int]]) -> bool:
    return a.keys() == b.keys() and all(_same_value(v, b[k], within) for k, v in a.items())


def _parts(v: Any) -> dict[Any, Any]:
    """What a container or object holds: its items by place or key, its attributes by name."""
    items = v if isinstance(v, dict) else dict(enumerate(v)) if isinstance(v, (list, tuple)) else {}
    return {**{("item", k): x for k, x in items.items()}, **fields(v)}


# -- entries -------------------------------------------------------------------------------------------------


class Unpack:
    """The entries of a derivative out of its compressed block, (number of seeds, ...). `unverified`: the
    pattern is checked after the call, `depends_on_state`: after each; `stores`: the arguments may be changed
    by it."""

    def __init__(self, f: Any, pattern: SparsityPattern, coloring: Coloring) -> None:
        self.function, self.pattern, self.number = f, pattern, coloring.number
        self.height = pattern.shape[1 if coloring.mode == "row" else 0]
        self.places = gather(pattern, coloring)
        self.unverified, self.depends_on_state = True, coloring.mode == "row"
        self.stores = True

    def __call__(self, block: Any) -> Any:
        if block.size != self.number * self.height:
            raise SparsityError(
                f"{described(self.function)} gave a derivative of shape {block.shape} for a pattern of shape "
                f"{self.pattern.shape}, with {self.number} colors; its result must have the size it had when "
                "the pattern was made"
            )
        return block.reshape(-1).take(self.places)


def _unpacked(f: Any, seeds: Any, unpack: Unpack, dy: Any, args: Sequence[Any]) -> Any:
    """The entries in a block of tangents; None is zeros."""
    if isinstance(dy, np.ndarray):
        return unpack(dy)
    y = f(*args)
    return unpack(np.zeros((len(seeds), *np.shape(_array(f, y, y))), seeds.dtype))


def jvps(f: Any, argnum: int, seeds: Any, unpack: Unpack) -> Callable[[Sequence[Any]], Any]:
    """All tangents at once, where the program allows it at their nonzeros alone."""
    from ctxdispatch_contexts.forward import BlockDerivative
    from ctxdispatch_contexts.programs.staging import has_effects, may_change
    from ctxdispatch_contexts.sparsity.nonzeros import ShapesChanged, at_nonzeros

    unpacked = partial(_unpacked, f, seeds, unpack)

    def finish_recorded(run: Any) -> Callable[..., Any]:
        def recorded(*args: Any) -> Any:
            unpack.unverified = unpack.stores = True  # what it reads and changes is known to no program
            return unpacked(run(*args), args)

        return recorded

    def finish(online: Any) -> Callable[..., Any]:
        again = not has_effects(online.graph)  # else something would change again
        unpack.unverified, unpack.depends_on_state = again, again and online.reads_state
        n, shapes = len(online.args), tuple(map(np.shape, online.args))
        unpack.stores = may_change(online.graph, set(online.graph.entry.params[:n]))

        def densely(*operands: Any) -> Any:
            return unpacked(online.run(*operands), operands[:n])

        def sparsely(*operands: Any) -> Any:
            if tuple(map(np.shape, operands[:n])) != shapes:
                return densely(*operands)
            try:
                return entries(*operands)
            except ShapesChanged:  # of what is no argument
                return densely(*operands)

        entries = at_nonzeros(online, unpack.number * unpack.height, unpack.places)
        return densely if entries is None else sparsely

    push = BlockDerivative(f, argnum, seeds, finish, finish_recorded)
    return lambda args: push(*args)


def vjps(f: Any, argnum: int, seeds: Any, unpack: Unpack) -> Callable[[Sequence[Any]], Any]:
    """By cotangents of the argument, (k, *x.shape), one pullback per seed."""
    from ctxdispatch import ADContext, overdub

    def entries(args: Sequence[Any]) -> Any:
        y, pullback = overdub(ADContext(argnums=argnum), f, *args)
        shape = np.shape(_array(f, y, np.asarray(y)))
        out = np.zeros((len(seeds), *args[argnum].shape), args[argnum].dtype)
        if seeds.shape[1] != int(np.prod(shape)):
            raise SparsityError(
                f"{described(f)} returns {np.size(y)} numbers, where the pattern has "
                f"{seeds.shape[1]} rows; give the pattern of this function"
            )
        for k, seed in enumerate(seeds):
            found = pullback(seed.reshape(shape) if shape else float(seed[0]))[argnum]
            if found is not None:
                out[k] = found
        return unpack(out)

    return entries


def hvps(f: Any, argnum: int, seeds: Any, unpack: Unpack) -> Callable[[Sequence[Any]], Any]:
    """H @ seeds: tangents of the gradient."""
    from ctxdispatch import grad

    return jvps(grad(f, argnums=argnum), argnum, seeds, unpack)


ENTRIES: dict[str, Make] = {"column": jvps, "row": vjps, "symmetric": hvps}


def check_pattern(f: Any, mode: str, args: Sequence[Any], argnum: int, found: Any) -> None:
    """SparsityError where the pattern has less than the derivative has at `args`: its product with a random
    vector is another one than that of `found`. So it is where the user gave too small a pattern, or where
    what the function reads, besides numbers and its arguments, has changed."""
    from ctxdispatch import hvp, jvp, vjp

    x = args[argnum]
    v = np.random.default_rng(0).normal(size=found.shape[0 if mode == "row" else 1]).astype(x.dtype)
    tangents: list[Any] = [None] * len(args)
    if mode == "row":
        y, pullback = vjp(f, *args)
        found, product = found.T, pullback(v.reshape(np.shape(y)))[argnum]
    else:
        tangents[argnum] = v.reshape(x.shape)
        product = hvp(f, args, tangents) if mode == "symmetric" else jvp(f, args, tangents)[1]
    scale = abs(found) @ abs(v) + np.abs(np.ravel(product))
    error = np.abs(found @ v - np.ravel(product))
    wrong = np.count_nonzero(error > np.finfo(x.dtype).eps ** 0.4 * scale.max(initial=0.0))
    if wrong:
        raise SparsityError(
            f"the pattern of the derivative of {described(f)} lacks entries in {wrong} of {found.shape[0]} "
            f"{'columns' if mode == 'row' else 'rows'}: it was given, or made when what the function reads "
            "(globals, attributes, arrays that it captured) was something else; make a new sparse derivative"
        )


def _array(f: Any, y: Any, out: Any) -> Any:
    if not isinstance(y, (float, np.ndarray, np.floating)):
        raise SparsityError(
            f"{described(f)} returns {_kind(y)}; a sparse derivative needs a float or an array of floats: "
            "concatenate several"
        )
    return out


def _kind(v: Any) -> str:
    return f"an array of {v.dtype}" if isinstance(v, np.ndarray) else f"a {type(v).__name__}"
