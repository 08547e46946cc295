"""The derivatives of programs.py as a careful person writes them: the yardstick of every column."""

import math

import numpy as np


def sincos(x):
    return -math.cos(math.cos(x)) * math.sin(x)


def power(x, n):
    before = []
    r = 1.0
    while n > 0:
        before.append(r)
        r = r * x
        n = n - 1
    x_bar, r_bar = 0.0, 1.0
    for r in reversed(before):
        x_bar += r_bar * r
        r_bar *= x
    return x_bar


def sin_loop(x, n):
    # Statement by statement, the partial taken out of the loop. (Knowing the sum, it is n * cos(x).)
    y = 0.0
    for _ in range(n):
        y = y + math.sin(x)
    x_bar, y_bar = 0.0, 1.0
    partial = math.cos(x)
    for _ in range(n):
        x_bar = x_bar + y_bar * partial
    return x_bar


def count_up(x):
    return 1.0


def logsumexp(x):
    e = np.exp(x)
    return e / e.sum()


def logistic_regression(W, b, x, y):
    """The gradients in W and b."""
    e = np.exp(W @ x + b)
    z_bar = e / np.sum(e) - y
    return np.outer(z_bar, x), z_bar


def mlp(W1, b1, W2, b2, x, y):
    """The gradients in W1, b1, W2 and b2."""
    h = np.tanh(x @ W1 + b1)
    e = np.exp(h @ W2 + b2)
    z_bar = (e / np.sum(e, axis=1, keepdims=True) - y) / len(x)
    a_bar = (z_bar @ W2.T) * (1 - h**2)
    return x.T @ a_bar, a_bar.sum(axis=0), h.T @ z_bar, z_bar.sum(axis=0)


def recurrence(W, h, n):
    """The gradients in W and h."""
    states = [h]
    for _ in range(n):
        states.append(np.tanh(W @ states[-1]))
    W_bar, h_bar = np.zeros_like(W), np.full_like(h, 1.0 / len(h))
    for before, after in zip(states[-2::-1], states[:0:-1]):
        a_bar = h_bar * (1.0 - after**2)
        W_bar += np.outer(a_bar, before)
        h_bar = a_bar @ W
    return W_bar, h_bar
