"""The derivatives of functions without Python code, each said once; every context of derivatives reads them here.

`rows.py` has the elementwise functions, a table of partial derivatives as expressions. The structural rules stand by
family: `reductions products shapes stacking indexing sorting linalg scalars`. `lowerings.py` has functions that are
differentiated as Python, `zeros.py` those whose derivative is zero, `linear.py` the linear operations that rules are
written with. `table.py` is the way in.
"""
