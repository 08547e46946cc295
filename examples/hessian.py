"""Minimise the Rosenbrock function, written in plain NumPy, by Newton's method with exact second derivatives.

    n up to --dense      H p = -g       with H from `hessian`, damped to positive definite (Nocedal and
                                        Wright, "Numerical Optimization", 2006, algorithm 3.3)
    larger n             the same by conjugate gradients, which ask for H v alone: `hvp` (algorithm 7.1)

At the end: SciPy's Newton-CG with the same derivatives, and the Hessian against one by finite differences.
"""

import argparse
import time

import numpy as np

from ctxdispatch import grad, hessian, hvp

ARMIJO = 1e-4  # the decrease that a step must bring, as a part of what the slope promises


def rosenbrock(x):
    """Its minimum is 0, at (1, ..., 1); from n = 4 on there is a second one, near (-1, 1, ..., 1)."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


gradient, full_hessian = grad(rosenbrock), hessian(rosenbrock)


def main():
    options = parse_options()
    start = np.resize([1.3, 0.7, 0.8, 1.9, 1.2], options.n)
    direction, method = (newton, "Newton") if options.n <= options.dense else (newton_cg, "Newton-CG")
    print(f"{method}, n = {options.n}")
    began = time.perf_counter()
    x, converged = minimise(start, direction, options)
    print(f"{'converged' if converged else 'not converged'} in {time.perf_counter() - began:.3f} s")
    print(f"f = {rosenbrock(x):.3e}, |x - 1| = {np.abs(x - 1.0).max():.3e}")
    compare_with_scipy(start, options)
    if options.n <= options.dense:
        compare_with_differences(start)


def parse_options():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--n", type=int, default=10, help="variables, at least 2")
    parser.add_argument("--tol", type=float, default=1e-8, help="stop where the gradient's norm is below")
    parser.add_argument("--max-iter", type=int, default=1000)
    parser.add_argument("--dense", type=int, default=500, help="largest n for which the Hessian is a matrix")
    options = parser.parse_args()
    if options.n < 2:
        parser.error("--n must be at least 2")
    return options


# -- the method ----------------------------------------------------------------------------------------------


def minimise(x, direction, options):
    """(x, whether its gradient is below the tolerance)"""
    print(f"{'iteration':>9}  {'f':>12}  {'|g|':>10}  {'step':>8}")
    with progress(options.max_iter) as show:
        for iteration in range(options.max_iter):
            g = gradient(x)
            norm = np.linalg.norm(g)
            if norm < options.tol:
                break
            p = direction(x, g)
            step = line_search(x, g, p)
            show(f"{iteration:9}  {rosenbrock(x):12.4e}  {norm:10.3e}  {step:8.2g}")
            x = x + step * p
    norm = np.linalg.norm(gradient(x))
    print(f"{'last':>9}  {rosenbrock(x):12.4e}  {norm:10.3e}")
    return x, norm < options.tol


def newton(x, g):
    """The solution of (H + shift I) p = -g, with a shift that makes the matrix positive definite."""
    H = full_hessian(x)
    smallest = H.diagonal().min()
    shift = 0.0 if smallest > 0 else 1e-3 - smallest
    while True:
        try:
            np.linalg.cholesky(H + shift * np.eye(len(x)))  # the test, and an error where it fails
            return -np.linalg.solve(H + shift * np.eye(len(x)), g)
        except np.linalg.LinAlgError:
            shift = max(2.0 * shift, 1e-3)


def newton_cg(x, g):
    """Conjugate gradients on H p = -g, until the residual is small against g or the curvature negative."""
    norm = np.linalg.norm(g)
    p, r, d = np.zeros_like(x), g, -g
    for _ in range(len(x)):
        Hd = hvp(rosenbrock, (x,), (d,))
        curvature = d @ Hd
        if curvature <= 0.0:
            return p if p.any() else -g
        squared = r @ r
        alpha = squared / curvature
        p = p + alpha * d
        r = r + alpha * Hd
        if np.linalg.norm(r) <= min(0.5, np.sqrt(norm)) * norm:
            break
        d = -r + (r @ r) / squared * d
    return p


def line_search(x, g, p):
    """Half the step until f falls as it should."""
    value, slope, step = rosenbrock(x), g @ p, 1.0
    while rosenbrock(x + step * p) > value + ARMIJO * step * slope and step > 1e-12:
        step /= 2.0
    return step


class progress:  # noqa: N801 - used like a function
    """`with progress(total) as show`: show(line) prints the line above a bar, where tqdm is installed."""

    def __init__(self, total):
        self.total = total

    def __enter__(self):
        try:
            from tqdm import tqdm
        except ImportError:
            self.bar = None
            return print
        self.bar = tqdm(total=self.total, unit="iteration", leave=False)
        return self.show

    def show(self, line):
        self.bar.write(line)
        self.bar.update()

    def __exit__(self, *error):
        if self.bar is not None:
            self.bar.close()


# -- comparisons ---------------------------------------------------------------------------------------------


def compare_with_scipy(start, options):
    try:
        from scipy.optimize import minimize
    except ImportError:
        print("SciPy's Newton-CG    not installed")
        return
    began = time.perf_counter()
    found = minimize(
        rosenbrock, start, method="Newton-CG", jac=gradient, hessp=lambda x, v: hvp(rosenbrock, (x,), (v,)),
        options={"maxiter": options.max_iter, "xtol": options.tol},
    )  # fmt: skip
    taken = time.perf_counter() - began
    print(f"SciPy's Newton-CG    {found.nit} iterations, {taken:.3f} s, f = {found.fun:.3e}")


def compare_with_differences(x, repeat=20):
    """The Hessian's error and time, of ours and of central differences of the gradient and of f."""
    ours = full_hessian(x)
    print(f"Hessian, ours        {fastest(full_hessian, x, repeat) * 1e6:9.1f} µs")
    for name, differences in ("gradients", differences_of_gradients), ("values", differences_of_values):
        found = differences(x)
        error = np.abs(found - ours).max() / np.abs(ours).max()
        taken = fastest(differences, x, 3)
        print(f"differences, {name:9}{taken * 1e6:9.1f} µs, relative error {error:.1e}")


def differences_of_gradients(x, h=1e-5):
    return np.array([(gradient(x + e) - gradient(x - e)) / (2.0 * h) for e in h * np.eye(len(x))])


def differences_of_values(x, h=1e-4):
    """What is left without any derivative."""
    steps, f = h * np.eye(len(x)), rosenbrock
    mixed = [[f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b) for b in steps] for a in steps]
    return np.array(mixed) / (4.0 * h * h)


def fastest(function, x, repeat):
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        function(x)
        times.append(time.perf_counter() - began)
    return min(times)


if __name__ == "__main__":
    main()
