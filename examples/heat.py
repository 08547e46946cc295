"""Which initial temperature gives the one that is measured later? The heat equation on a plate, as it is
written in courses: two arrays that take turns, boundary conditions by slice assignment, a hole by a mask.
"""

import argparse

import numpy as np
from checking import check, compare
from tqdm import tqdm

from ctxdispatch import value_and_grad


def step(u, new, hole, rate):
    new[1:-1, 1:-1] = u[1:-1, 1:-1] + rate * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
    )
    new[0], new[-1] = 1.0, 0.0  # held warm above, cold below
    new[:, 0] = new[:, 1]  # insulated at the sides
    new[:, -1] = new[:, -2]
    new[hole] = 0.0


def evolve(u, hole, steps, rate=0.2):
    u = u.copy()
    new = np.empty_like(u)
    for _ in range(steps):
        step(u, new, hole, rate)
        u, new = new, u
    return u


def loss(u, measured, hole, steps):
    return ((evolve(u, hole, steps) - measured) ** 2).mean()


def by_torch(u, measured, hole, steps, rate=0.2):
    """PyTorch takes this program nearly as it is: its in-place stores are differentiated too."""
    import torch

    still, keep = torch.tensor(measured), torch.tensor(hole)

    def run():
        start = torch.tensor(u, requires_grad=True)
        v = start.clone()
        for _ in range(steps):
            new = torch.empty_like(v)
            new[1:-1, 1:-1] = v[1:-1, 1:-1] + rate * (
                v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4.0 * v[1:-1, 1:-1]
            )
            new[0], new[-1] = 1.0, 0.0
            new[:, 0] = new[:, 1].clone()
            new[:, -1] = new[:, -2].clone()
            new[keep] = 0.0
            v = new
        ((v - still) ** 2).mean().backward()
        return start.grad.numpy()

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=60)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0 : options.size, 0 : options.size] / options.size
    truth = np.exp(-20 * ((x - 0.6) ** 2 + (y - 0.3) ** 2))
    hole = (x - 0.3) ** 2 + (y - 0.7) ** 2 < 0.01
    measured = evolve(truth, hole, options.steps)
    u = np.zeros_like(truth)
    gradient = value_and_grad(loss)
    slope = gradient(u, measured, hole, options.steps)[1]
    check("gradient of the plate", lambda v: loss(v, measured, hole, options.steps), u, slope, rng)
    before = loss(u, measured, hole, options.steps)
    momentum = np.zeros_like(u)
    for _ in tqdm(range(options.iterations), desc="cooling"):
        _, slope = gradient(u, measured, hole, options.steps)
        momentum = 0.9 * momentum - 0.2 * u.size * slope
        u += momentum
    print(f"misfit {before:.2e} before, {loss(u, measured, hole, options.steps):.2e} afterwards")
    peer = None
    try:
        peer = by_torch(u, measured, hole, options.steps)
        ours = gradient(u, measured, hole, options.steps)[1]
        np.testing.assert_allclose(peer(), ours, rtol=1e-6, atol=1e-12)
    except ImportError:
        print("PyTorch is not installed: no comparison")
    what = (u, measured, hole, options.steps)
    compare(lambda: loss(*what), lambda: gradient(*what), peer, "written for PyTorch")


if __name__ == "__main__":
    main()
