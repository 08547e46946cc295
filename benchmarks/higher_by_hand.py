"""Derivatives of higher order as a careful person writes them, and as a perfect generator could.

`wobble`: for f = x g, g = sin(cos(x)),   f^(k) = x g^(k) + k g^(k-1).   By hand: closed forms of g^(k). The
ideal program knows none: derivatives of all orders go through the program together (Taylor mode), every
subexpression once, constants folded.
"""

import math

import numpy as np

# -- derivatives of x * sin(cos(x)) --------------------------------------------------------------------------


def wobble_1(x):
    c = math.cos(x)
    return math.sin(c) - x * math.cos(c) * math.sin(x)


def wobble_2(x):
    c, s = math.cos(x), math.sin(x)
    g, h = math.sin(c), math.cos(c)
    return -x * (g * s * s + h * c) - 2.0 * h * s


def wobble_3(x):
    c, s = math.cos(x), math.sin(x)
    g, h = math.sin(c), math.cos(c)
    return x * s * (h * (s * s + 1.0) - 3.0 * g * c) - 3.0 * (g * s * s + h * c)


def wobble_4(x):
    c, s = math.cos(x), math.sin(x)
    g, h = math.sin(c), math.cos(c)
    s2 = s * s
    fourth = g * (s2 * (s2 + 4.0) - 3.0 * c * c) + h * c * (6.0 * s2 + 1.0)
    return x * fourth + 4.0 * s * (h * (s2 + 1.0) - 3.0 * g * c)


def ideal_wobble_1(x):
    c = math.cos(x)
    return math.sin(c) - x * (math.cos(c) * math.sin(x))


def ideal_wobble_2(x):
    c, s = math.cos(x), math.sin(x)
    g, h = math.sin(c), math.cos(c)
    hs = h * s
    return -x * (g * s * s + h * c) - (hs + hs)


def ideal_wobble_3(x):
    c, s = math.cos(x), math.sin(x)
    g, h = math.sin(c), math.cos(c)
    hs, h1 = h * s, g * s  # -g', h'
    h2 = g * c - hs * s
    g3 = hs - h2 * s - 2.0 * (h1 * c)
    return x * g3 - 3.0 * (h1 * s + h * c)


def ideal_wobble_4(x):
    c, s = math.cos(x), math.sin(x)
    g, h = math.sin(c), math.cos(c)
    hs, h1 = h * s, g * s
    hc = h * c
    g2 = h1 * s + hc  # -g''
    h2 = g * c - hs * s
    h3 = g2 * s + 2.0 * (hs * c) + h1  # -h'''
    g3 = hs - h2 * s - 2.0 * (h1 * c)
    return x * (h3 * s + 3.0 * (h1 * s - h2 * c) + hc) + 4.0 * g3


# -- Rosenbrock ----------------------------------------------------------------------------------------------


def rosenbrock_gradient(x):
    left = x[:-1]
    t = 200.0 * (x[1:] - left * left)
    g = np.zeros_like(x)
    g[1:] = t
    g[:-1] -= 2.0 * (t * left + 1.0 - left)
    return g


def rosenbrock_hessian(x):
    """Tridiagonal, as SciPy's own `rosen_hess` writes it."""
    diagonal = np.zeros(len(x))
    diagonal[:-1] = 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    diagonal[1:] += 200.0
    off = -400.0 * x[:-1]
    return np.diag(off, 1) + np.diag(off, -1) + np.diag(diagonal)


def rosenbrock_hessian_in_bands(x):
    """The bands written with strides into a flat matrix."""
    n = len(x)
    left = x[:-1]
    H = np.zeros((n, n))
    flat = H.reshape(-1)
    diagonal = flat[:: n + 1]
    diagonal[:-1] = (1200.0 * left) * left - 400.0 * x[1:] + 2.0
    diagonal[1:] += 200.0
    flat[1 :: n + 1] = flat[n :: n + 1] = -400.0 * left
    return H


def ideal_rosenbrock_hessian(x):
    """The gradient's derivative along all unit vectors at once, which is all that a program without knowledge
    of the pattern can do."""
    n = len(x)
    E = np.eye(n)
    left, left_dot = x[:-1], E[:, :-1]
    t = 200.0 * (x[1:] - left * left)
    t_dot = E[:, 1:] - left_dot * (2.0 * left)
    t_dot *= 200.0
    H = np.zeros((n, n))
    H[:, 1:] = t_dot
    t_dot *= left
    t_dot += left_dot * (t - 1.0)
    t_dot *= 2.0
    H[:, :-1] -= t_dot
    return H


def rosenbrock_hvp(x, v):
    left, v_left = x[:-1], v[:-1]
    off = -400.0 * left
    out = np.zeros_like(x)
    out[:-1] = ((1200.0 * left) * left - 400.0 * x[1:] + 2.0) * v_left + off * v[1:]
    out[1:] += 200.0 * v[1:] + off * v_left
    return out


# -- the network with 49 parameters --------------------------------------------------------------------------


def _layers(p):
    """W1, b1, W2, b2 of what is laid out as a network's parameters are."""
    return p[:20].reshape(4, 5), p[20:25], p[25:45].reshape(5, 4), p[45:]


def flat_mlp_gradient(p, x, y):
    W1, b1, W2, b2 = _layers(p)
    h = np.tanh(x @ W1 + b1)
    e = np.exp(h @ W2 + b2)
    z_bar = (e / np.sum(e, axis=1, keepdims=True) - y) / len(x)
    a_bar = (z_bar @ W2.T) * (1.0 - h * h)
    parts = x.T @ a_bar, a_bar.sum(axis=0), h.T @ z_bar, z_bar.sum(axis=0)
    return np.concatenate([part.ravel() for part in parts])


def flat_mlp_hvp(p, v, x, y):
    """The gradient's derivative along v, by the product rule line by line (Pearlmutter 1994)."""
    W1, b1, W2, b2 = _layers(p)
    V1, v1, V2, v2 = _layers(v)
    h = np.tanh(x @ W1 + b1)
    slope = 1.0 - h * h
    h_dot = slope * (x @ V1 + v1)
    z_dot = h_dot @ W2 + h @ V2 + v2
    e = np.exp(h @ W2 + b2)
    q = e / np.sum(e, axis=1, keepdims=True)
    z_bar = (q - y) / len(x)
    z_bar_dot = q * (z_dot - np.sum(q * z_dot, axis=1, keepdims=True)) / len(x)
    h_bar = z_bar @ W2.T
    h_bar_dot = z_bar_dot @ W2.T + z_bar @ V2.T
    a_bar_dot = h_bar_dot * slope - 2.0 * h_bar * h * h_dot
    parts = x.T @ a_bar_dot, a_bar_dot.sum(axis=0), h_dot.T @ z_bar + h.T @ z_bar_dot, z_bar_dot.sum(axis=0)
    return np.concatenate([part.ravel() for part in parts])


def flat_mlp_hessian(p, x, y):
    """H = sum over rows of J' M J + z_bar z'', J = dz/dp, M = diag(q) - q q'; the biases as one more row."""
    W1, b1, W2, b2 = _layers(p)
    n, k = y.shape
    h = np.tanh(x @ W1 + b1)
    e = np.exp(h @ W2 + b2)
    q = e / np.sum(e, axis=1, keepdims=True)
    slope, z_bar = 1.0 - h * h, (q - y) / n
    ones = np.ones((n, 1))
    x1, h1 = np.concatenate([x, ones], axis=1), np.concatenate([h, ones], axis=1)
    J = np.zeros((n, k, 49))
    np.multiply(x1[:, None, :, None], (slope[:, None, :] * W2.T)[:, :, None, :],
                out=J[:, :, :25].reshape(n, k, 5, 5))  # fmt: skip
    for i in range(k):
        J[:, i, 25 + i :: k] = h1
    MJ = (q[:, :, None] / n) * (J - q[:, None, :] @ J)
    H = J.reshape(-1, 49).T @ MJ.reshape(-1, 49)
    bend = (z_bar @ W2.T) * slope * h * -2.0
    first = np.einsum("ijkj->jik", H[:25, :25].reshape(5, 5, 5, 5))  # a view
    first += x1.T @ (bend.T[:, :, None] * x1)
    crossed = np.einsum("nj,ni,nk->ijk", slope, x1, z_bar)
    view = np.einsum("ijjk->ijk", H[:25, 25:45].reshape(5, 5, 5, 4))
    view += crossed
    H[25:45, :25] = H[:25, 25:45].T
    return H


# -- tanh(A x) * x -------------------------------------------------------------------------------------------


def gated_jacobian(x, A):
    t = np.tanh(A @ x)
    J = ((1.0 - t * t) * x)[:, None] * A
    J.reshape(-1)[:: len(x) + 1] += t
    return J
