"""A classifier for images of digits, in plain NumPy. Nothing here knows that it will be differentiated."""

import numpy as np

WEIGHT_DECAY = 1e-4


class Layer:
    """An affine map: x of shape (n, fan_in) to (n, fan_out)."""

    def __init__(self, rng, fan_in, fan_out):
        self.W = rng.normal(0.0, 1.0 / np.sqrt(fan_in), (fan_in, fan_out))
        self.b = np.zeros(fan_out)

    def __call__(self, x):
        return x @ self.W + self.b


class Network:
    """Layers with tanh between them; maps images (n, sizes[0]) to one score per class (n, sizes[-1])."""

    def __init__(self, rng, sizes):
        self.layers = [Layer(rng, fan_in, fan_out) for fan_in, fan_out in zip(sizes, sizes[1:])]

    def __call__(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i < len(self.layers) - 1:
                x = np.tanh(x)
        return x

    def predict(self, x):
        return np.argmax(self(x), axis=1)


def cross_entropy(scores, labels):
    """Mean negative log-likelihood of the labels under softmax(scores)."""
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    log_norm = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_norm - shifted[np.arange(len(labels)), labels])


def loss(network, x, labels):
    penalty = sum([np.sum(layer.W**2) for layer in network.layers])
    return cross_entropy(network(x), labels) + WEIGHT_DECAY * penalty
