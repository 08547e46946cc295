"""Work buffers that outlive runs: each run writes them before it reads them. What an earlier run has left
there is no matter then, whatever reads it; where some of it is still there, the run is refused."""

import numpy as np
import pytest

from ctxdispatch import Refused, grad, jacfwd
from tests.behaviours.mutation_checks import central

X = np.array([1.0, 2.0, 3.0])

WRITES = {
    "all": "G[:] = 0.5",
    "all that varies": "G[:] = x * x",
    "every element": "G[...] = x * 2.0",
    "fill": "G.fill(x[0])",
    "copyto": "np.copyto(G, x * x)",
    "out": "np.multiply(x, x, out=G)",
    "one by one": "for i in range(3): G[i] = x[i] * 3.0",
    "a view": "G.reshape(3, 1)[:, 0] = x * x",
    "a mask, then": "G[:] = 0.5; G[x > 1.5] = x[0]",
}
READS = {
    "itself": "(G**2).sum() * x[0]",
    "stack": "(np.stack([x, G])[1] ** 2).sum()",
    "concatenate": "(np.concatenate((G, x)) ** 2).sum()",
    "array": "(np.array([x, G]) ** 2).sum()",
    "dict": "sum((a**2).sum() for a in {'a': x, 'b': G}.values())",
    "where": "(np.where(x > 1.5, G, x) ** 2).sum()",
    "einsum": "np.einsum('i,i->', G, x)",
}


def program(write, read, around, G):
    lines = [write, f"return {read}"]
    if around == "recorded":
        lines = ["try:", *(f"    {line}" for line in lines), "except KeyError: pass"]
    space = {"G": G, "np": np, "__name__": __name__}
    exec("def f(x):\n" + "".join(f"    {line}\n" for line in lines), space)
    return space["f"]


@pytest.mark.every(8)
@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("around", ["alone", "recorded"])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("write", WRITES)
def test_every_call_is_right(write, read, around, mode):
    f = program(WRITES[write], READS[read], around, np.zeros(3))
    for x in (X, X + 0.25, X):
        np.testing.assert_allclose(mode(f)(x), central(f, x.copy()), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("around", ["alone", "recorded"])
@pytest.mark.parametrize("read", READS)
def test_what_is_left_of_it_is_refused(read, around, mode):
    G = np.zeros(3)
    grad(program("G[:] = x * x", READS["itself"], around, G))(X)
    f = program("G[0] = x[0]", READS[read], around, G)
    with pytest.raises(Refused, match="left here"):
        mode(f)(X)
