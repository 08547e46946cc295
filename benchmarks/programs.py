"""The programs that are differentiated: plain Python and NumPy, of flat arguments.

Peers run the same code objects with their own `np` and `math` (peers.py): keep to what those modules have.
"""

import math

import numpy as np


def sincos(x):
    return math.sin(math.cos(x))


def power(x, n):
    r = 1.0
    while n > 0:
        r = r * x
        n = n - 1
    return r


def sin_loop(x, n):
    y = 0.0
    for _ in range(n):
        y = y + math.sin(x)
    return y


def count_up(x):
    while x < 10000:
        x = x + 1
    return x


def logsumexp(x):
    return np.log(np.sum(np.exp(x)))


def logistic_regression(W, b, x, y):
    """Cross-entropy of softmax(W x + b) against the one-hot y; shapes (k, m), (k,), (m,), (k,)."""
    z = W @ x + b
    return np.log(np.sum(np.exp(z))) - np.sum(y * z)


def mlp(W1, b1, W2, b2, x, y):
    """Mean cross-entropy of a network with one hidden layer; x of shape (n, m), y one-hot of shape (n, k)."""
    h = np.tanh(x @ W1 + b1)
    z = h @ W2 + b2
    log_norm = np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(np.sum(y * (z - log_norm), axis=1))


def recurrence(W, h, n):
    """The mean of the last of n states h = tanh(W h), of shapes (k, k) and (k,)."""
    for _ in range(n):
        h = np.tanh(W @ h)
    return np.mean(h)


# -- of the second table: derivatives of higher order --------------------------------------------------------


def wobble(x):
    return math.sin(math.cos(x)) * x


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def flat_mlp(p, x, y):
    """Mean cross-entropy of a network 4-5-4, whose 49 parameters are one vector; x, y (n, 4), y one-hot."""
    h = np.tanh(x @ p[:20].reshape(4, 5) + p[20:25])
    z = h @ p[25:45].reshape(5, 4) + p[45:]
    log_norm = np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(np.sum(y * (z - log_norm), axis=1))


def gated(x, A):
    return np.tanh(A @ x) * x
