"""The derivatives of functions without Python code, each said once, for every context that reads them.

`table.py` is the way in. `rows.py` has the elementwise functions, a table of partial derivatives as
expressions. The structural rules stand by family: `reductions products shapes stacking indexing sorting
linalg scalars`; `linear.py` has the linear operations they are written with. `lowerings iterators statistics
numerical norms` have functions that are differentiated as Python, `zeros.py` those whose derivative is zero.

Forward: what is linear says so beside its vjp rule (`registry.Linear`), and `blocks.py` with its families
`block_sums block_shapes block_indexing block_products` has the linear functions of k tangents at once.
"""
