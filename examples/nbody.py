"""Where should the planets have started? A leapfrog simulation, as found in the wild: bodies in a dict,
positions and velocities updated in place, the energy logged on the way; its gradient with respect to the
initial velocities.

Gradient descent moves them so that the planets meet given places at the end.
"""

import argparse

import numpy as np
from checking import check, compare
from tqdm import tqdm

from ctxdispatch import value_and_grad

G = 39.478  # AU^3 / (solar mass year^2)


class Body:
    def __init__(self, mass, position, velocity):
        self.mass = mass
        self.position = np.array(position, float)
        self.velocity = np.array(velocity, float)
        self.acceleration = np.zeros(3)


def system(velocities):
    """Sun, Earth, Mars; the planets' initial velocities are given."""
    return {
        "sun": Body(1.0, [0, 0, 0], [0, 0, 0]),
        "earth": Body(3.0e-6, [1, 0, 0], velocities[0]),
        "mars": Body(3.2e-7, [0, 1.52, 0], velocities[1]),
    }


def accelerate(bodies):
    for body in bodies.values():
        body.acceleration.fill(0.0)
    names = list(bodies)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            apart = bodies[b].position - bodies[a].position
            pull = G * apart / (apart @ apart) ** 1.5
            bodies[a].acceleration += bodies[b].mass * pull
            bodies[b].acceleration -= bodies[a].mass * pull


def simulate(bodies, steps, dt, log=None):
    accelerate(bodies)
    for _ in range(steps):
        for body in bodies.values():
            body.velocity += 0.5 * dt * body.acceleration
            body.position += dt * body.velocity
        accelerate(bodies)
        for body in bodies.values():
            body.velocity += 0.5 * dt * body.acceleration
        if log is not None:
            log.append(sum(0.5 * b.mass * (b.velocity @ b.velocity) for b in bodies.values()))


def miss(velocities, targets, steps=60, dt=0.01):
    """How far the planets are from their targets in the end."""
    bodies = system(velocities)
    simulate(bodies, steps, dt, log=[])
    return sum(((bodies[name].position - target) ** 2).sum() for name, target in targets.items())


def by_torch(velocities, targets, steps=60, dt=0.01):
    """The same, written anew for PyTorch, which cannot differentiate the program above: nothing in place."""
    import torch

    def run():
        start = torch.tensor(velocities, requires_grad=True)
        v = [torch.zeros(3, dtype=torch.float64), start[0], start[1]]
        x = [torch.tensor(b.position) for b in system(velocities).values()]
        m = [b.mass for b in system(velocities).values()]

        def pulls():
            a = [torch.zeros(3, dtype=torch.float64) for _ in x]
            for i in range(3):
                for j in range(i + 1, 3):
                    apart = x[j] - x[i]
                    pull = G * apart / (apart @ apart) ** 1.5
                    a[i], a[j] = a[i] + m[j] * pull, a[j] - m[i] * pull
            return a

        a = pulls()
        for _ in range(steps):
            v = [vi + 0.5 * dt * ai for vi, ai in zip(v, a, strict=True)]
            x = [xi + dt * vi for xi, vi in zip(x, v, strict=True)]
            a = pulls()
            v = [vi + 0.5 * dt * ai for vi, ai in zip(v, a, strict=True)]
        ends = zip((1, 2), targets.values(), strict=True)
        sum(((x[k] - torch.tensor(t)) ** 2).sum() for k, t in ends).backward()
        return start.grad.numpy()

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=40)
    options = parser.parse_args()
    velocities = np.array([[0.0, 6.28, 0.0], [-5.08, 0.0, 0.0]])
    targets = {"earth": np.array([-0.75, -0.6, 0.05]), "mars": np.array([-1.4, 0.2, -0.05])}
    gradient = value_and_grad(miss)
    value, slope = gradient(velocities, targets)
    check("gradient of the leapfrog", lambda v: miss(v, targets), velocities, slope, np.random.default_rng(0))
    print(f"{'miss before':34} {value:.6f}")
    for _ in tqdm(range(options.iterations), desc="aiming"):
        value, slope = gradient(velocities, targets)
        velocities -= 0.4 * slope
    print(f"{'miss afterwards':34} {miss(velocities, targets):.6f}")
    peer = None
    try:
        peer = by_torch(velocities, targets)
        np.testing.assert_allclose(peer(), gradient(velocities, targets)[1], rtol=1e-6, atol=1e-9)
    except ImportError:
        print("PyTorch is not installed: no comparison")
    what = (velocities, targets)
    compare(lambda: miss(*what), lambda: gradient(*what), peer, "written anew for PyTorch")


if __name__ == "__main__":
    main()
