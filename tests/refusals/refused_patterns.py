"""What sparsity and sparse derivatives do not take as arguments."""

import numpy as np

from ctxdispatch import (
    SparsityPattern,
    color,
    hessian_sparsity,
    jacobian_sparsity,
    overdub,
    sparse_hessian,
    sparse_jacobian,
)
from ctxdispatch_contexts.sparsity import SparsityContext
from tests.refusals.refusal_table import refused

X = np.array([1.0, 2.0])


def doubled(v):
    return v * 2.0


def summed(v):
    return (v * v).sum()


# -- arguments and results -----------------------------------------------------------------------------------


@refused(
    "argument 0 is an array of int64: inputs are floats, arrays of floats, or tuples, lists and dicts "
    "of these; make it float",
)
def an_array_of_whole_numbers():
    jacobian_sparsity(doubled, np.arange(3))  # here


@refused(
    "the first argument must be a function, not an array of float64; write jacobian_sparsity(f, x)",
)
def no_function():
    jacobian_sparsity(X, doubled)  # here


@refused(
    "hessian_sparsity needs a function with one float as its result, and "
    "tests.refusals.refused_patterns.doubled returns an array of float64; sum or choose the outputs",
)
def hessian_of_an_array():
    hessian_sparsity(doubled, X)  # here


@refused(
    "tests.refusals.refused_patterns.a_result_of_text.<locals>.<lambda> returns a str: outputs must be "
    "numbers, arrays of numbers, or tuples, lists and dicts of these (of complex ones return real and "
    "imaginary parts); return an array",
)
def a_result_of_text():
    jacobian_sparsity(lambda v: "text", X)  # here


@refused(
    "SparsityContext takes positional arguments; bind others with functools.partial",
)
def keyword_arguments():
    overdub(SparsityContext(), doubled, v=X)  # here


# -- patterns and colorings ----------------------------------------------------------------------------------

EYE = SparsityPattern.from_dense(np.eye(5))


@refused(
    "color() takes a SparsityPattern, not a ndarray; SparsityPattern.from_scipy and from_dense make one",
)
def a_color_of_an_array():
    color(np.eye(3))  # here


@refused(
    'mode="symmetric" needs a symmetric pattern; take p | p.T, or another mode',
)
def a_symmetric_coloring():
    color(SparsityPattern.from_dense(np.eye(3, 4)), mode="symmetric")  # here


@refused(
    "a pattern has two dimensions, not 3; reshape the array",
)
def a_pattern_of_three_dimensions():
    SparsityPattern.from_dense(np.ones((2, 2, 2)))  # here


@refused(
    "from_scipy takes a SciPy sparse matrix or array, not a list; of a dense array make a pattern by "
    "from_dense",
)
def a_pattern_of_a_list():
    SparsityPattern.from_scipy([[1.0]])  # here


@refused(
    "patterns of different shapes: (5, 5) and (3, 3); make them of arguments of the same sizes",
)
def patterns_of_two_shapes():
    EYE | SparsityPattern.from_dense(np.eye(3))  # here


@refused(
    "a pattern is a SparsityPattern or a SciPy sparse matrix, not a str; of a dense array make one by "
    "SparsityPattern.from_dense",
)
def a_pattern_of_text():
    sparse_jacobian(doubled, X, pattern="dense")  # here


@refused(
    "a pattern of shape (5, 5) for an argument of 2 elements; it must have as many columns",
)
def a_pattern_of_another_size():
    sparse_jacobian(doubled, X, pattern=EYE)  # here


@refused(
    "a pattern of shape (5, 5) for the Hessian in an argument of 2 elements; it must be (2, 2)",
)
def a_hessian_pattern_of_another_size():
    sparse_hessian(summed, X, pattern=EYE)  # here


@refused(
    "argnums is one index here, not (0,); make a sparse derivative for each array",
)
def two_arguments():
    sparse_jacobian(doubled, X, argnums=(0,))  # here


@refused(
    "argument 0 must be an array of floats, not a float; pass `np.asarray(x, float)`",
)
def a_float():
    sparse_jacobian(doubled, 1.0)  # here


@refused(
    "`coloring` is a Coloring, not a int; make one with color(pattern)",
)
def a_coloring_of_numbers():
    sparse_jacobian(doubled, X, coloring=3)  # here


@refused(
    "a coloring of 5 for a pattern of shape (2, 2); make one with color(pattern)",
)
def a_coloring_of_another_pattern():
    sparse_jacobian(doubled, X, coloring=color(EYE))  # here


@refused(
    "Coloring(column, 1 colors of 2) is no column coloring of this pattern: entries coincide; make one "
    "with color(pattern)",
)
def a_coloring_that_collides():
    sparse_jacobian(lambda v: v * v.sum(), X, coloring=color(SparsityPattern.from_dense(np.eye(2))))  # here


@refused(
    "an array of float64 of shape (3,), where the pattern is for floats of shape (2,); pass such an "
    "array, or make a sparse derivative for this one",
)
def an_array_of_another_shape():
    sparse_jacobian(doubled, X)(np.ones(3))  # here


@refused(
    "tests.refusals.refused_patterns.doubled gave a derivative of shape (2, 2) for a pattern of shape "
    "(4, 2), with 2 colors; its result must have the size it had when the pattern was made",
)
def a_pattern_with_other_rows():
    sparse_jacobian(doubled, X, pattern=SparsityPattern.from_dense(np.ones((4, 2))))(X)  # here


@refused(
    "the pattern of the derivative of "
    "tests.refusals.refused_patterns.a_pattern_without_entries.<locals>.<lambda> lacks entries in 2 of "
    "2 rows: it was given, or made when what the function reads (globals, attributes, arrays that it "
    "captured) was something else; make a new sparse derivative",
)
def a_pattern_without_entries():
    sparse_jacobian(lambda v: v * v.sum(), X, pattern=SparsityPattern.from_dense(np.eye(2)))(X)  # here


@refused(
    "tests.refusals.refused_patterns.two_results.<locals>.<lambda> returns a tuple; a sparse derivative"
    " needs a float or an array of floats: concatenate several",
)
def two_results():
    sparse_jacobian(lambda v: (v, v * 2.0), X)(X)  # here


@refused(
    "argument 1 was a int when the pattern was made, and now has another value, for which the pattern "
    "may be another; make a sparse derivative for it (or start from a float, which may vary)",
)
def another_argument():
    sparse_jacobian(lambda v, n: v * n, X, 2)(X, 3)  # here


SIZE = [2]


def of_a_size(v):
    return np.outer(np.ones(SIZE[0]), v)


@refused(
    "tests.refusals.refused_patterns.of_a_size gave a derivative of shape (1, 3, 2) for a pattern of "
    "shape (4, 2), with 1 colors; its result must have the size it had when the pattern was made",
)
def another_size_of_result():
    SIZE[0] = 2
    jac = sparse_jacobian(of_a_size, X)
    SIZE[0] = 3
    jac(X)  # here


@refused(
    "tests.refusals.refused_patterns.doubled returns 2 numbers, where the pattern has 4 rows; give the "
    "pattern of this function",
)
def a_pattern_with_other_columns():
    jac = sparse_jacobian(doubled, X, pattern=SparsityPattern.from_dense(np.ones((4, 2))), mode="reverse")
    jac(X)  # here
