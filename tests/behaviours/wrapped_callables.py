"""Callables as people have them, and what may be around them: decorators, proxies, mocks."""

import functools
import math
import operator
from unittest.mock import Mock, create_autospec

import numpy as np
import wrapt


class Model:
    def __init__(self, w):
        self.w = w

    def scaled(self, x):
        return self.w * x * x

    def __call__(self, x):
        return math.sin(self.w * x)

    @classmethod
    def made(cls, x):
        return cls(x).scaled(x)

    @staticmethod
    def halved(x):
        return x / 2.0


def square(x):
    return x * x


def with_default(x, n=3):
    return x**n


def looping(x):
    total = 0.0
    for i in range(3):
        total += i * x * x
    return total


def recursive(x, n=3):
    return x if n == 0 else x * recursive(x, n - 1)


def branching(x):
    return x * x if x > 0.5 else -x


def closure(k):
    return lambda x: k * math.exp(x)


CALLABLES = {
    "square": square, "with_default": with_default, "looping": looping, "recursive": recursive,
    "branching": branching, "closure": closure(2.0), "method": Model(2.0).scaled, "object": Model(1.5),
    "classmethod": Model.made, "staticmethod": Model.halved, "builtin": math.sin, "operator": operator.neg,
    "ufunc": np.tanh, "function of NumPy": np.sinc, "partial": functools.partial(operator.mul, 3.0),
    "partial of a method": functools.partial(Model.scaled, Model(3.0)),
}  # fmt: skip

FACTOR = 3.0


def tripled(wrapped, instance, args, kwargs):
    return FACTOR * wrapped(*args, **kwargs)


class Proxy:
    """It says that it is of the class of what it stands for, and reads its attributes."""

    def __init__(self, f):
        self._f = f

    def __call__(self, *args, **kwargs):
        return FACTOR * self._f(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._f, name)

    @property
    def __class__(self):
        return type(self._f)


class SaysClass(Proxy):
    @property
    def __class__(self):
        return type


class Switched(wrapt.FunctionWrapper):
    """A class derived from that of the decorators, with a call of its own."""

    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs) + 0.0


def twice(f):
    return wrapt.FunctionWrapper(wrapt.FunctionWrapper(f, lambda w, i, a, k: 1.5 * w(*a, **k)), _doubled)


def _doubled(wrapped, instance, args, kwargs):
    return 2.0 * wrapped(*args, **kwargs)


AROUND = {
    "wrapt": lambda f: wrapt.FunctionWrapper(f, tripled),
    "wrapt twice": twice,
    "wrapt enabled": lambda f: wrapt.FunctionWrapper(f, tripled, True),
    "wrapt asked": lambda f: wrapt.FunctionWrapper(f, tripled, lambda: True),
    "wrapt derived": lambda f: Switched(f, tripled),
    "wrapt method": lambda f: _Holder(f).decorated,
    "proxy of wrapt": lambda f: wrapt.CallableObjectProxy(Proxy(f)),
    "proxy": Proxy,
    "says that it is a class": SaysClass,
}
"""They multiply by FACTOR."""


class _Holder:
    def __init__(self, f):
        self.f = f

    @wrapt.decorator
    def _tripled(wrapped, instance, args, kwargs):  # noqa: N805
        return FACTOR * wrapped(*args, **kwargs)

    @_tripled
    def decorated(self, x):
        return self.f(x)


MOCKS = {
    "Mock": lambda f: Mock(spec=f, side_effect=f),
    "autospec": lambda f: create_autospec(f, side_effect=f),
}
