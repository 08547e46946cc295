"""What C code makes of objects, records and bytes, where it is not followed."""

import numpy as np

from tests.refusals.refusal_table import BOTH, REVERSE, refused


class Factor:
    def __init__(self, value):
        self.value = value

    def __rmul__(self, other):
        return other * self.value


@refused(
    "numpy.multiply is given an object of the class Factor, which holds what is differentiated: what it "
    "makes of the object, by methods of the class, is not followed; give it numbers or arrays (what the "
    "object holds), or call the methods",
    *BOTH,
)
def an_object_among_elements(x):
    return (np.ones(2) * Factor(x[0])).sum()  # here


class Key:
    def __init__(self, values):
        self.values = values

    def __hash__(self):
        self.values[0] *= 2.0
        return 1


@refused(
    "a set runs a special method of the class Key, which stores into what the derivative reads, where that "
    "is not followed; have the method store nothing, or call it beforehand and give what it returns",
    *BOTH,
)
def a_key_that_stores(x):
    y = x * 2.0
    try:
        keys = {Key(y)}  # here
    except TypeError:
        return 0.0
    return y.sum() * len(keys)


@refused(
    "a view shows an array of dtype float64 that depends on what is differentiated as one of dtype float32, "
    "of which the numbers are others; convert it (`.astype`), or look at what is no part of the derivative "
    "(`stop_gradient(x)`)",
    *BOTH,
)
def bytes_as_other_numbers(x):
    return float(x.view("f4")[1])  # here


@refused(
    "a view shows an array of dtype complex128 that depends on what is differentiated as one of dtype "
    "float64, of which the numbers are others; convert it (`.astype`), or look at what is no part of the "
    "derivative (`stop_gradient(x)`)",
    *BOTH,
)
def halves_of_two_numbers(x):
    return (x * (1.0 + 2.0j)).getfield(float, 4).sum()  # here


@refused(
    "numpy.generic.tolist of a record of an array whose fields depend on what is differentiated has no "
    "derivative rule; read the fields (`r[i]['name']`)",
    *BOTH,
)
def a_record_as_a_tuple(x):
    r = np.zeros(2, [("a", "f8")])
    r["a"] = x
    return sum(r[1].tolist())  # here


# -- stores that cannot be followed to their end -------------------------------------------------------------


@refused(
    "numpy.put raised a IndexError when it had stored some of what depends on what is differentiated, and "
    "the program goes on; store it where nothing is raised",
    *BOTH,
)
def a_store_that_raises_midway(x):
    y = x * 1.0
    try:
        np.put(y, [0, 17], x[0] * 2.0)  # here
    except IndexError:
        pass
    return y.sum()


@refused(
    "an array of which elements share memory is stored into, and which value stays there is not followed "
    "back; store into the array that it is a view of",
    *REVERSE,
)
def elements_that_share_memory(x):
    y = np.zeros(1)
    np.lib.stride_tricks.as_strided(y, x.shape, (0,))[:] = x  # here
    return y.sum()


# -- records -------------------------------------------------------------------------------------------------


@refused(
    "numpy.concatenate of an array of records whose fields depend on what is differentiated has no "
    "derivative rule; apply it to the fields (`r['name']`), and store what comes of it into those of another "
    "array",
    *BOTH,
)
def records_one_after_another(x):
    r = np.zeros(2, [("a", "f8")])
    r["a"] = x
    return np.concatenate([r, r])["a"].sum()  # here
