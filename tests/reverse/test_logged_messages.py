"""Messages that programs log: as in the plain run, once each, and what their handlers do is done. Where
nobody listens, the program is compiled."""

import logging

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, jvp, value_and_grad
from tests.behaviours.mutation_checks import central

X = np.array([0.3, 0.4, -0.5])
ALONG = np.array([1.0, -2.0, 0.5])
LOGGER = logging.getLogger("tests.messages")
W = {"w": np.array([1.0, 2.0, 3.0])}


class Own(logging.Logger):
    def isEnabledFor(self, level):
        W["w"] = W["w"] + 1.0
        return False


class Counting(logging.Handler):
    """What it does, later statements see."""

    def emit(self, record):
        record.getMessage()
        W["w"] = W["w"] * 2.0


def once(x):
    LOGGER.debug("norm %.2f", np.sum(x * x))
    return np.sum(np.sin(x) * W["w"])


def written(x):
    y = x * 2.0
    LOGGER.info(f"mean {y.mean():.3f} of {y}")
    return np.sum(y * y * W["w"])


def in_loop(x):
    total = 0.0
    for i in range(3):
        total = total + np.sum(x**2) * (i + W["w"][0])
        LOGGER.debug("step %d: %g", i, total)
    return total


def where_needed(x):
    if np.sum(x) > 10.0:
        LOGGER.warning("large: %s", x)
    return np.sum(x * W["w"])


def by_argument(x, logger=LOGGER):
    logger.error("nothing")
    return np.sum(np.exp(x) * W["w"])


PROGRAMS = [once, written, in_loop, where_needed, by_argument]


@pytest.fixture(autouse=True)
def level():
    W["w"] = np.array([1.0, 2.0, 3.0])
    LOGGER.propagate = False
    yield LOGGER.setLevel
    LOGGER.setLevel(logging.NOTSET)
    for handler in [*LOGGER.handlers]:
        LOGGER.removeHandler(handler)


@pytest.mark.parametrize("f", PROGRAMS)
def test_nobody_listens(f, level):
    level(logging.CRITICAL + 1)
    for value, gradient in (value_and_grad(f)(X) for _ in range(3)):
        assert value == pytest.approx(f(X))
        np.testing.assert_allclose(gradient, central(f, X), rtol=1e-6)
    assert jvp(f, (X,), (ALONG,))[1] == pytest.approx(central(f, X) @ ALONG)
    rows = [central(lambda x, i=i: grad(f)(x)[i], X) for i in range(3)]
    np.testing.assert_allclose(hessian(f)(X), rows, atol=1e-5)
    assert {r.tier for r in explain(grad(f))(X).regions} <= {"compiled whole", "compiled as an attempt"}


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("way", ["value_and_grad", "jvp"])
def test_each_message_is_told_once(f, way, level, caplog):
    LOGGER.propagate = True
    level(logging.DEBUG)
    caplog.clear()
    f(X)
    expected = [record.getMessage() for record in caplog.records]
    for _ in range(4):
        caplog.clear()
        value_and_grad(f)(X) if way == "value_and_grad" else jvp(f, (X,), (ALONG,))
        assert [record.getMessage() for record in caplog.records] == expected


@pytest.mark.parametrize("f", [once, written])
def test_what_handlers_do_is_seen(f, level):
    level(logging.DEBUG)
    LOGGER.addHandler(Counting())
    g = value_and_grad(f)
    for _ in range(3):
        W["w"] = np.array([1.0, 2.0, 3.0])
        value, gradient = g(X)
        np.testing.assert_array_equal(W["w"], [2.0, 4.0, 6.0])
        level(logging.CRITICAL)
        assert value == pytest.approx(f(X))
        np.testing.assert_allclose(gradient, central(f, X), rtol=1e-6)
        level(logging.DEBUG)


def test_levels_that_change(level, caplog):
    LOGGER.propagate = True
    g = grad(once)
    for turn in range(6):
        caplog.clear()
        level(logging.DEBUG if turn % 2 else logging.ERROR)
        once(X)
        told = len(caplog.records)
        np.testing.assert_allclose(g(X), np.cos(X) * W["w"])
        assert len(caplog.records) == 2 * told and (told > 0) is (turn % 2 == 1)


def test_loggers_of_the_users_own_are_asked():
    own = Own("own")
    for _ in range(3):
        W["w"] = np.array([1.0, 2.0, 3.0])
        found = grad(lambda x: by_argument(x, own))(X)
        np.testing.assert_array_equal(W["w"], [2.0, 3.0, 4.0])
        np.testing.assert_allclose(found, np.exp(X) * [2.0, 3.0, 4.0])
