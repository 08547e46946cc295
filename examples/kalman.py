"""Fit a Kalman filter: an object that keeps its state and updates it in place, measurement by measurement.
The gradient of the negative log-likelihood with respect to the logarithms of its noise levels goes to SciPy's
L-BFGS.
"""

import argparse
import math

import numpy as np
from checking import check, compare
from scipy.optimize import minimize

from ctxdispatch import value_and_grad


class KalmanFilter:
    """Position and velocity, of which the position is measured (Kalman 1960)."""

    def __init__(self, process, measurement, dt=1.0):
        self.F = np.array([[1.0, dt], [0.0, 1.0]])
        self.H = np.array([1.0, 0.0])
        self.Q = process**2 * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
        self.r = measurement**2
        self.mean = np.zeros(2)
        self.covariance = np.eye(2) * 10.0
        self.log_likelihood = 0.0

    @property
    def predicted(self):
        return self.H @ self.mean

    def predict(self):
        self.mean = self.F @ self.mean
        self.covariance[:] = self.F @ self.covariance @ self.F.T
        self.covariance += self.Q

    def update(self, z):
        innovation = z - self.predicted
        s = self.H @ self.covariance @ self.H + self.r
        gain = self.covariance @ self.H / s
        self.mean += gain * innovation
        self.covariance -= np.outer(gain, self.H @ self.covariance)
        self.log_likelihood -= 0.5 * (innovation**2 / s + math.log(2 * math.pi * s))

    def run(self, measurements):
        for z in measurements:
            self.predict()
            if math.isnan(z):
                continue  # nothing was measured
            self.update(z)
        return self.log_likelihood


def loss(log_levels, measurements):
    process, measurement = np.exp(log_levels)
    return -KalmanFilter(process, measurement).run(measurements)


def simulated(rng, n, process, measurement):
    state, found = np.zeros(2), []
    for _ in range(n):
        noise = rng.multivariate_normal([0, 0], process**2 * np.array([[1 / 3, 1 / 2], [1 / 2, 1]]))
        state = np.array([[1.0, 1.0], [0.0, 1.0]]) @ state + noise
        found.append(state[0] + measurement * rng.normal() if rng.random() > 0.1 else math.nan)
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=int, default=200)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    data = simulated(rng, options.measurements, 0.3, 2.0)
    gradient = value_and_grad(loss)
    start = np.log([1.0, 1.0])
    check("gradient of the filter", lambda x: loss(x, data), start, gradient(start, data)[1], rng)
    steps = []
    found = minimize(lambda x: gradient(x, data), start, jac=True, method="L-BFGS-B", callback=steps.append)
    process, measurement = np.exp(found.x)
    print(f"after {len(steps)} steps of L-BFGS: noise {process:.3f} (0.3) and {measurement:.3f} (2.0)")
    assert found.success and abs(measurement - 2.0) < 0.5
    compare(lambda: loss(start, data), lambda: gradient(start, data))


if __name__ == "__main__":
    main()
