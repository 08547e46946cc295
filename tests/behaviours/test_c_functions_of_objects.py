"""C functions called with objects that hold what varies: right or refused, and never a constant."""

import pytest

from tests.behaviours.probing import CALLS, CLASSES, functions, verdict

RAISE = {"numpy.bincount", "numpy.histogramdd"}
"""With an object for a flag or for bins they end with an error of NumPy's, which the plain call does not."""

FUNCTIONS = dict(functions())
PAIRS = [(cls, call) for cls in CLASSES for call in CALLS]


@pytest.mark.night("numpy")
@pytest.mark.parametrize("module", ["builtins", "math", "cmath", "operator", "numpy"])
def test_c_functions(module):
    """Of NumPy's functions each is called in every fourth way, others in all."""
    step = 4 if module == "numpy" else 1
    found = {"right": 0, "refused": 0}
    for i, (name, f) in enumerate((n, f) for n, f in FUNCTIONS.items() if n.startswith(f"{module}.")):
        for cls, call in PAIRS[i % step :: step]:
            said = verdict(f, cls, call)
            if said in found:
                found[said] += 1
            elif said is not None:
                assert name in RAISE and not said.startswith("wrong"), (name, cls, call, said)
    assert found["right"] > max(10, 2 * found["refused"])
