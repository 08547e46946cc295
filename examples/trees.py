"""Fit a soft decision tree: nested dataclasses, recursion, `match`, a log of what leaves were reached. The
gradient is a tree of the same shape, and so is the step.

(Irsoy, Yildiz, Alpaydin: "Soft decision trees", 2012.)
"""

import argparse
import math
from dataclasses import dataclass, field

import numpy as np
from checking import compare
from tqdm import tqdm

from ctxdispatch import grad, value_and_grad


@dataclass
class Leaf:
    value: float
    reached: list = field(default_factory=list)


@dataclass
class Split:
    weights: np.ndarray
    bias: float
    left: "Leaf | Split"
    right: "Leaf | Split"


def predict(node, x):
    match node:
        case Leaf(value=value):
            node.reached.append(x[0])
            return value
        case Split(weights=w, bias=b, left=left, right=right):
            go_right = 1.0 / (1.0 + math.exp(-(w @ x + b)))
            return (1.0 - go_right) * predict(left, x) + go_right * predict(right, x)
        case other:
            raise TypeError(f"no node: {other!r}")


def loss(tree, xs, ys):
    total = 0.0
    for x, y in zip(xs, ys, strict=True):
        try:
            total += (predict(tree, x) - y) ** 2
        except OverflowError:  # a split that is too sure of itself
            total += 1.0
    return total / len(ys)


def grown(rng, depth):
    if depth == 0:
        return Leaf(rng.normal() * 0.1)
    return Split(rng.normal(size=2), rng.normal() * 0.1, grown(rng, depth - 1), grown(rng, depth - 1))


def moved(node, by, rate):
    """One step of gradient descent; `by` has the fields of `node`."""
    if isinstance(node, Leaf):
        return Leaf(node.value - rate * by.value)
    return Split(
        node.weights - rate * by.weights, node.bias - rate * by.bias,
        moved(node.left, by.left, rate), moved(node.right, by.right, rate),
    )  # fmt: skip


def check(tree, xs, ys):
    """Against central differences in the bias of the root, a weight, and a leaf."""
    slope = grad(loss)(tree, xs, ys)
    leaf, leaf_slope = tree, slope
    while isinstance(leaf, Split):
        leaf, leaf_slope = leaf.left, leaf_slope.left
    for name, node, by in (("bias", tree, slope), ("value", leaf, leaf_slope)):
        kept = getattr(node, name)
        above, below = [], []
        for values, step in ((above, 1e-6), (below, -1e-6)):
            setattr(node, name, kept + step)
            values.append(loss(tree, xs, ys))
        setattr(node, name, kept)
        expected = (above[0] - below[0]) / 2e-6
        print(f"{'d loss / d ' + name:34} {getattr(by, name):+.8f}, central differences {expected:+.8f}")
        assert abs(getattr(by, name) - expected) < 1e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--iterations", type=int, default=60)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    xs = rng.uniform(-1, 1, (options.points, 2))
    ys = [float(math.hypot(*x) < 0.7) for x in xs]
    tree = grown(rng, options.depth)
    check(tree, xs, ys)
    gradient = value_and_grad(loss)
    before = loss(tree, xs, ys)
    for _ in tqdm(range(options.iterations), desc="growing"):
        _, slope = gradient(tree, xs, ys)
        tree = moved(tree, slope, 2.0)
    print(f"loss {before:.4f} before, {loss(tree, xs, ys):.4f} afterwards")
    compare(lambda: loss(tree, xs, ys), lambda: gradient(tree, xs, ys))


if __name__ == "__main__":
    main()
