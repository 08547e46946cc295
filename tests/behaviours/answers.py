"""What modes answer for results of all kinds, as text. As a script: asked in a process of its own, and in one
that has answered others, where that differs. With `--all`, all modes, results and arguments: minutes."""

import os
import random
import sys
import warnings

import numpy as np

from ctxdispatch import (
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacobian_sparsity,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)


def handled(x):
    try:
        return np.sum(x * x)
    finally:
        pass


RESULTS = {
    "number": lambda x: np.sum(np.sin(x)) * 2.0, "float": lambda x: float(np.sum(np.sin(x))),
    "complex number": lambda x: np.sum(np.exp(1j * x)), "complex": lambda x: complex(np.sum(x), 1.0) ** 2,
    "array": lambda x: np.sin(x) * x, "complex array": lambda x: np.exp(1j * x),
    "array of no dimension": lambda x: np.asarray(np.sum(x * x)), "matrix": lambda x: np.outer(x, x),
    "tuple": lambda x: (np.sum(x) * 1j, x * x), "dict": lambda x: {"a": np.sum(x * x), "b": 2.0 * x},
    "integer": lambda x: int(np.sum(x)), "nothing": lambda x: None, "text": lambda x: str(np.sum(x)),
    "constant": lambda x: 3.0, "argument": lambda x: x, "float32": lambda x: np.float32(np.sum(x * x)),
    "recorded": handled,
}  # fmt: skip
ARGUMENTS = {
    "float": 0.5, "vector": np.array([0.5, 1.5, -0.3]), "float32": np.array([0.5, 1.5], np.float32),
    "long": np.linspace(0.1, 1.0, 40), "complex": np.array([0.5 + 1j, 1.0]), "no dimension": np.array(0.5),
    "empty": np.zeros(0), "integers": np.array([1, 2]),
}  # fmt: skip


def like(x):
    return np.ones_like(x) if isinstance(x, np.ndarray) else type(x)(1)


def pulled(f, x):
    y, pullback = vjp(f, x)
    return y, pullback(y)


def linear(f, x):
    y, push = linearize(f, x)
    return y, push(like(x))


MODES = {
    "grad": lambda f, x: grad(f)(x), "value_and_grad": lambda f, x: value_and_grad(f)(x),
    "jacobian": lambda f, x: jacobian(f)(x), "jacfwd": lambda f, x: jacfwd(f)(x),
    "jacrev": lambda f, x: jacrev(f)(x), "hessian": lambda f, x: hessian(f)(x),
    "jvp": lambda f, x: jvp(f, (x,), (like(x),)), "vjp": pulled, "linearize": linear,
    "hvp": lambda f, x: hvp(f, (x,), (like(x),)),
    "pattern": lambda f, x: jacobian_sparsity(f, x).toarray(),
}  # fmt: skip
EVERY = [(mode, result, argument) for mode in MODES for result in RESULTS for argument in ARGUMENTS]
KINDS = ("complex number", "complex", "tuple", "recorded")
ITEMS = [*random.Random(1).sample(EVERY, 12), *(("jacobian", result, "vector") for result in KINDS)]


def shown(y):
    if isinstance(y, (tuple, list)):
        return f"{type(y).__name__}({', '.join(map(shown, y))})"
    if isinstance(y, dict):
        return str({k: shown(v) for k, v in y.items()})
    if isinstance(y, np.ndarray):
        return f"{y.dtype}{y.shape}{np.array2string(y, precision=6, threshold=10_000)}"
    return f"{type(y).__name__} {complex(y):.6g}" if isinstance(y, (float, complex, np.generic)) else repr(y)


def answer(f, mode, x):
    """Classes and values, or the whole error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shown(mode(f, np.copy(x) if isinstance(x, np.ndarray) else x))
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def of_item(item):
    mode, result, argument = item
    return answer(RESULTS[result], MODES[mode], ARGUMENTS[argument])


def in_a_process(item):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, of_item(item).encode()[:60_000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        found = stream.read().decode()
    os.wait()
    return found


def main(items):
    fresh = {item: in_a_process(item) for item in items}
    for item in [*items, *random.Random(2).sample(items, len(items))]:
        found = of_item(item)
        if found != fresh[item]:
            print(item, "in a fresh process:", fresh[item], "in an old one:", found, sep="\n")
    print(len(items), "items")


if __name__ == "__main__":
    main(EVERY if "--all" in sys.argv else ITEMS)
