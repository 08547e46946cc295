"""Numbers that come out of an array of objects: what makes an array of floats of them keeps their derivative.

Each way to make one, or to store into one, in each mode.
"""

import numpy as np
import pytest

from ctxdispatch import grad, jacobian_sparsity, jvp
from ctxdispatch_contexts.programs.errors import Refused

X = np.array([0.2, 0.9, -0.6])
WEIGHTS = np.array([0.7, -1.3])


def objects(x):
    return np.array([x[2] * x[2], x.max()], object)


def stored(store):
    def made(x):
        b = np.zeros(2)
        store(b, objects(x))
        return b

    return made


def _item(b, o):
    b[:] = o


def _by_mask(b, o):
    b[np.array([True, True])] = o


def _by_indices(b, o):
    b[[0, 1]] = o


def _of_lists(b, o):
    b[:] = [*o]


def _back(b, o):
    b[::-1] = o[::-1]


def _copied_where(b, o):
    np.copyto(b, o, casting="unsafe", where=[True, True])


WAYS = {
    "astype": lambda x: objects(x).astype(float),
    "__array__": lambda x: objects(x).__array__(float),
    "__array__ by name": lambda x: objects(x).__array__(dtype=np.dtype(float)),
    "array": lambda x: np.array(objects(x), float),
    "asarray": lambda x: np.asarray(objects(x), float),
    "asanyarray": lambda x: np.asanyarray(objects(x), dtype=float),
    "asfortranarray": lambda x: np.asfortranarray(objects(x), float),
    "ascontiguousarray": lambda x: np.ascontiguousarray(objects(x), float),
    "asarray_chkfinite": lambda x: np.asarray_chkfinite(objects(x), float),
    "require": lambda x: np.require(objects(x), float),
    "fromiter": lambda x: np.fromiter(objects(x), float),
    "concatenate": lambda x: np.concatenate([objects(x)], dtype=float, casting="unsafe"),
    "flat": lambda x: objects(x).flat.__array__(float),
    "items": stored(_item),
    "by a mask": stored(_by_mask),
    "by indices": stored(_by_indices),
    "of a list": stored(_of_lists),
    "backwards": stored(_back),
    "copyto": stored(lambda b, o: np.copyto(b, o, casting="unsafe")),
    "copyto where": stored(_copied_where),
    "put": stored(lambda b, o: b.put([0, 1], o)),
    "np.put": stored(lambda b, o: np.put(b, [0, 1], o)),
    "place": stored(lambda b, o: np.place(b, [True, True], o)),
    "putmask": stored(lambda b, o: np.putmask(b, [True, True], o)),
    "__setitem__": stored(lambda b, o: b.__setitem__(..., o)),
    "setfield": stored(lambda b, o: b.setfield(o, float)),
    "flat store": stored(lambda b, o: b.flat.__setitem__(slice(None), o)),
}


def loss(way):
    return lambda x: WEIGHTS @ WAYS[way](x)


EXPECTED = np.array([0.0, -1.3, 2 * 0.7 * X[2]])


@pytest.mark.every(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["grad", "jvp", "pattern"])
def test_they_are_the_same_numbers(way, mode):
    f = loss(way)
    try:
        if mode == "grad":
            found = grad(f)(X)
        elif mode == "jvp":
            found = np.array([jvp(f, (X,), (e,))[1] for e in np.eye(3)])
        else:
            found = jacobian_sparsity(lambda x: WAYS[way](x), X).toarray().any(axis=0) * EXPECTED
    except Refused as error:
        assert ";" in str(error)
        return
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-12)


def test_most_are_answered():
    refused = []
    for way in WAYS:
        try:
            grad(loss(way))(X)
        except Refused:
            refused.append(way)
    assert len(refused) <= 2, refused
