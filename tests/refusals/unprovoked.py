"""Texts that no program of the table provokes yet. The list only gets shorter: new refusals have programs."""

DERIVATIVES = [
    (
        "the derivative of ... was taken at run time by a rule, or by no function of Python's, and "
        "cannot be differentiated again there; pass what varies as arguments of a function"
    ),
    "a block of cotangents of a sequence came as numbers, which is not followed; use jacfwd",
]

ELSEWHERE = [
    "backend='compiled' needs the extra `jit`; pip install 'ctxdispatch[jit]'",
    "arrays of a GPU need CuPy (...); pip install 'ctxdispatch[cuda]'",
    "arrays of a GPU need one, and CuPy finds no CUDA device; check the driver",
    "operand ... of ... is a ......., others are on the GPU; move it there first: cupy.asarray",
    "... of (...) cannot be part of a kernel that runs on a GPU; run it on arrays of NumPy",
    (
        "the machine code of this kernel calls ..., which the process does not have: this processor lacks an "
        "instruction, such as conversions of float16; use other dtypes, or backend='reference'"
    ),
]
"""Of machines and installations: tests/broadcast has those that can be played on any."""

KERNELS = [
    "a kernel is given a ..., and takes arrays and numbers; pass np.asarray(x)",
    "... of (...) is not there in compiled kernels; use backend='reference'",
    "a variable of the kernel may be unbound; give it a value on every path",
]

UNPROVOKED = [*DERIVATIVES, *ELSEWHERE, *KERNELS]
