"""Solve a stiff reaction-diffusion system, the 2-D Brusselator in plain NumPy, with its sparse Jacobian.

`solve_ivp` runs three times: as it is (SciPy estimates a dense Jacobian, one column after the other), with
the pattern that `jacobian_sparsity` finds (it estimates columns together), and with `sparse_jacobian`, which
knows pattern, coloring and derivatives. All are compared with a solution to tight tolerances.
"""

import argparse
import time

import numpy as np
from scipy.integrate import solve_ivp

from ctxdispatch import color, jacobian_sparsity, sparse_jacobian

A, B, ALPHA = 3.4, 1.0, 10.0
DENSE_LIMIT = 3000  # unknowns: beyond, a dense Jacobian is no fun


def main():
    options = parse_options()
    n = options.n
    y0 = initial(n)
    right_hand_side = brusselator(n)
    start = time.perf_counter()
    pattern = jacobian_sparsity(right_hand_side, 0.0, y0, argnums=1)
    detection = time.perf_counter() - start
    jacobian = sparse_jacobian(right_hand_side, 0.0, y0, argnums=1, pattern=pattern)
    print(f"unknowns          {y0.size}")
    print(f"pattern           {pattern.nnz} entries, found in {1e3 * detection:.1f} ms")
    print(f"coloring          {color(pattern).number} colors")
    draw(pattern, options.out)
    check_jacobian(right_hand_side, jacobian, y0)
    compare(right_hand_side, y0, options.t_end, {
        "dense": {} if y0.size <= DENSE_LIMIT else None,
        "jac_sparsity": {"jac_sparsity": pattern.scipy()},
        "sparse_jacobian": {"jac": jacobian},
    })  # fmt: skip


def parse_options():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--n", type=int, default=24, help="the grid has n x n points")
    parser.add_argument("--t-end", type=float, default=1.0)
    parser.add_argument("--out", help="file for a drawing of the pattern: with matplotlib, else as text")
    return parser.parse_args()


def brusselator(n, alpha=ALPHA):
    """The right-hand side fun(t, y) on an n x n grid, periodic (Hairer and Wanner II, IV.10)."""
    cells, h = n * n, 1.0 / n
    x, y = np.meshgrid(np.arange(n) * h, np.arange(n) * h, indexing="ij")
    spot = (x - 0.3) ** 2 + (y - 0.6) ** 2 <= 0.1**2

    def laplacian(w):
        around = np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1)
        return (around - 4.0 * w) / h**2

    def fun(t, state):
        u, v = state[:cells].reshape(n, n), state[cells:].reshape(n, n)
        reaction = u * u * v
        forcing = 5.0 * spot if t >= 1.1 else 0.0
        du = B + reaction - (A + 1.0) * u + alpha * 1e-3 * laplacian(u) + forcing
        dv = A * u - reaction + alpha * 1e-3 * laplacian(v)
        return np.concatenate([du.ravel(), dv.ravel()])

    return fun


def initial(n):
    x, y = np.meshgrid(np.arange(n) / n, np.arange(n) / n, indexing="ij")
    u, v = 22.0 * y * (1.0 - y) ** 1.5, 27.0 * x * (1.0 - x) ** 1.5
    return np.concatenate([u.ravel(), v.ravel()])


def check_jacobian(fun, jacobian, y):
    """Against a central difference in a random direction."""
    direction, h = np.random.default_rng(0).normal(size=y.size), 1e-6
    difference = (fun(0.0, y + h * direction) - fun(0.0, y - h * direction)) / (2.0 * h)
    np.testing.assert_allclose(jacobian(0.0, y) @ direction, difference, rtol=1e-5, atol=1e-5)
    print("jacobian          equals finite differences")


def compare(fun, y0, t_end, methods):
    """Print one line per method: seconds, evaluations, deviation from a solution with tight tolerances."""
    tight = {"jac": methods["sparse_jacobian"]["jac"], "rtol": 1e-9, "atol": 1e-9}
    reference = solve_ivp(fun, (0.0, t_end), y0, method="BDF", **tight).y[:, -1]
    print(f"{'':18}{'seconds':>9}{'f evals':>9}{'J evals':>9}{'LUs':>6}{'deviation':>12}")
    for name, options in methods.items():
        if options is None:
            print(f"{name:18}{'(more than ' + str(DENSE_LIMIT) + ' unknowns: left out)':>45}")
            continue
        start = time.perf_counter()
        result = solve_ivp(fun, (0.0, t_end), y0, method="BDF", rtol=1e-5, atol=1e-7, **options)
        seconds = time.perf_counter() - start
        deviation = np.max(np.abs(result.y[:, -1] - reference))
        counts = f"{result.nfev:9}{result.njev:9}{result.nlu:6}"
        print(f"{name:18}{seconds:9.3f}{counts}{deviation:12.2e}")
        assert deviation < 1e-2, f"{name} found another solution"


def draw(pattern, path):
    if path is None:
        return
    try:
        figure = pattern.plot().figure
    except ImportError:
        with open(path, "w", encoding="utf-8") as file:
            print(pattern, file=file)
    else:
        figure.savefig(path, dpi=200)
    print(f"picture           {path}")


if __name__ == "__main__":
    main()
