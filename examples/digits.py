"""Train a network written in plain NumPy (digits_model.py) on real images of handwritten digits.

The gradient comes from running the model's own code under `ADContext`. At the end the same step is timed with
that gradient and with the one written by hand (digits_by_hand.py).
"""

import argparse
import copy
import statistics
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

from ctxdispatch import ADContext, overdub

import digits_by_hand
from digits_model import Network, loss

LEARNING_RATE, MOMENTUM = 0.05, 0.9


def main():
    options = parse_options()
    (x, labels), (x_test, labels_test) = load_data(options.seed)
    rng = np.random.default_rng(options.seed)
    network = Network(rng, [x.shape[1], options.width, options.width, 10])
    check_gradient(network, x[: options.batch], labels[: options.batch])
    train(network, x, labels, rng, options)
    print(f"test accuracy     {np.mean(network.predict(x_test) == labels_test):.4f}")
    compare_steps(network, x[: options.batch], labels[: options.batch])


def parse_options():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0, help="of split, initial weights and batches")
    parser.add_argument("--width", type=int, default=256, help="units in each of the two hidden layers")
    parser.add_argument("--batch", type=int, default=64, help="images in a minibatch")
    return parser.parse_args()


def load_data(seed):
    """(images, labels) for training and for testing: 1,797 images of 8 x 8 pixels, a quarter for testing."""
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images / 16.0, labels, test_size=0.25, random_state=seed, stratify=labels)
    x, x_test, labels, labels_test = split
    return (x, labels), (x_test, labels_test)


def gradient(network, x, labels):
    """The loss, and its gradient with respect to the network: a namespace with the network's own fields."""
    value, pullback = overdub(ADContext(argnums=0), loss, network, x, labels)
    network_bar, _x_bar, _labels_bar = pullback(1.0)
    return value, network_bar


def train(network, x, labels, rng, options):
    velocity = zero_velocity(network)
    with tqdm(range(options.epochs), unit="epoch") as epochs:
        for _ in epochs:
            losses = [
                step(network, velocity, gradient, x[batch], labels[batch])
                for batch in minibatches(rng, len(x), options.batch)
            ]
            epochs.set_postfix(loss=f"{np.mean(losses):.4f}")


def minibatches(rng, n, size):
    order = rng.permutation(n)
    return [order[start : start + size] for start in range(0, n, size)]


def zero_velocity(network):
    return [(np.zeros_like(layer.W), np.zeros_like(layer.b)) for layer in network.layers]


def step(network, velocity, gradient, x, labels):
    """One step of gradient descent with momentum, on the network in place; returns the loss before it."""
    value, network_bar = gradient(network, x, labels)
    for layer, layer_bar, (v_W, v_b) in zip(network.layers, network_bar.layers, velocity):
        for parameter, parameter_bar, v in (layer.W, layer_bar.W, v_W), (layer.b, layer_bar.b, v_b):
            v *= MOMENTUM
            v -= LEARNING_RATE * parameter_bar
            parameter += v
    return value


def check_gradient(network, x, labels):
    value, ours = gradient(network, x, labels)
    value_by_hand, by_hand = digits_by_hand.loss_and_gradient(network, x, labels)
    np.testing.assert_allclose(value, value_by_hand, rtol=1e-12)
    for layer, layer_by_hand in zip(ours.layers, by_hand.layers, strict=True):
        np.testing.assert_allclose(layer.W, layer_by_hand.W, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(layer.b, layer_by_hand.b, rtol=1e-9, atol=1e-14)
    print("gradient          equals the one written by hand")


def compare_steps(network, x, labels, rounds=40):
    """Print the time of a step with either gradient: bursts taken in turn, so both see the same machine."""
    ours, by_hand = [], []
    for _ in tqdm(range(rounds), unit="round", desc="timing", leave=False):
        ours.append(time_steps(gradient, network, x, labels))
        by_hand.append(time_steps(digits_by_hand.loss_and_gradient, network, x, labels))
    ratio = statistics.median(a / b for a, b in zip(ours, by_hand))
    print(f"step, overdub     {statistics.median(ours) * 1e6:.0f} µs")
    print(f"step, by hand     {statistics.median(by_hand) * 1e6:.0f} µs")
    print(f"overdub / by hand {ratio:.3f}")


def time_steps(gradient, network, x, labels, count=10):
    """Seconds per step, over `count` steps of a copy of the network."""
    network = copy.deepcopy(network)
    velocity = zero_velocity(network)
    start = time.perf_counter()
    for _ in range(count):
        step(network, velocity, gradient, x, labels)
    return (time.perf_counter() - start) / count


if __name__ == "__main__":
    main()
