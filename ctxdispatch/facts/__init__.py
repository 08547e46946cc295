"""What a callable that is no Python code does with what it is given: said once, a row per callable or family.

Read `fact.py` (what a row says), `table.py` (which row a callable has), then the rows: `python_rows.py`,
`immutable_rows.py`, `container_rows.py`, `library_rows.py`, `numpy_rows.py`. Rows are written by hand;
`tests/facts` calls what they are of, and fails where it sees what a row does not allow. What has no row is
not known: whoever asks takes it for unsafe.
"""

from ctxdispatch.facts import container_rows, library_rows, numpy_rows, python_rows
from ctxdispatch.facts.binding import canonical
from ctxdispatch.facts.fact import NONE, Fact, Operands, Shares, Source, fact, operands
from ctxdispatch.facts.immutable_rows import IMMUTABLE
from ctxdispatch.facts.numpy_rows import (
    AS_ARRAY,
    CONVERTS,
    COPIES,
    DTYPE_AT,
    FINITENESS,
    JOINS,
    MATRIX_PRODUCTS,
    MOVES,
    SAME_PLACES,
    UFUNC_OF,
    VALUE_FREE,
    VALUE_SHAPED,
    VIEWS,
)
from ctxdispatch.facts.table import (
    callable_objects,
    fact_of,
    fact_on,
    family,
    has_row,
    rows,
    says,
    storing_methods,
    with_rows,
)
from ctxdispatch.ir.operators import (
    ARITHMETIC,
    ATTRIBUTES,
    BINARY,
    BITWISE,
    COMPARISONS,
    DICT_VIEWS,
    DIVISIONS,
    ELEMENTWISE,
    IDENTITY,
    INPLACE,
    ITEMS,
    MERGES,
    NAMESPACES,
    OF_FRAME,
    ORDERING,
    PRODUCTS,
    READS,
    ROUNDING,
    RUNS_TEXT,
    SET_OPERATORS,
    SETS_ATTRIBUTE,
    SIGNS,
    SUMS,
    SYMBOLS,
    TO_INT,
    TRUTH,
    UNARY,
    UNITS,
)  # fmt: skip

__all__ = [
    "ARITHMETIC", "AS_ARRAY", "ATTRIBUTES", "BINARY", "BITWISE", "COMPARISONS", "CONVERTS", "COPIES",
    "DICT_VIEWS", "DIVISIONS", "DTYPE_AT", "ELEMENTWISE", "FINITENESS", "IDENTITY", "IMMUTABLE",
    "INPLACE", "ITEMS", "JOINS", "MATRIX_PRODUCTS", "MERGES", "MOVES", "NAMESPACES", "NONE", "OF_FRAME",
    "ORDERING", "PRODUCTS", "READS", "ROUNDING", "RUNS_TEXT", "SAME_PLACES", "SETS_ATTRIBUTE",
    "SET_OPERATORS", "SIGNS", "SUMS", "SYMBOLS", "TO_INT", "TRUTH", "UFUNC_OF", "UNARY", "UNITS",
    "VALUE_FREE", "VALUE_SHAPED", "VIEWS", "Fact", "Operands", "Shares", "Source", "callable_objects",
    "canonical", "container_rows", "fact", "fact_of", "fact_on", "family", "has_row", "library_rows",
    "numpy_rows", "operands", "python_rows", "rows", "says", "storing_methods", "with_rows",
]  # fmt: skip
