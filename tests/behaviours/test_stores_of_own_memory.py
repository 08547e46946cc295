"""Stores of a value that lies in the array that is stored to: the derivative goes by what NumPy reads, which
is not always what was there before. Judged by central differences, second derivatives too."""

import mutating_programs
import numpy as np
import pytest

from ctxdispatch import code_adjoint, jacfwd

X = np.array([-0.065, 0.748, -0.394])
STORES = [
    # another stride along one axis: NumPy reads elements that it has written
    "a[:3] = a[::2]", "a[::2] = a[:3]", "a[::2] = a[1:4]", "a[1:4] = a[::2]", "w = a[::2]; a[:3] = w",
    "k = x.size - 1; a[::k] = a[:3]", "k = x.size - 1; a[:3] = a[::k]", "np.copyto(a[:3], a[::2])",
    "m = a[:4].reshape(2, 2); m[0] = m[:, 1]", "m = a[:4].reshape(2, 2).T; m[0, :] = m[:, 1]; m *= 2",
    "a[:3] = a[::2].reshape(3)", "a[None, :3] = a[::2]", "a[...,:3] = a[None, ::2]",
    "a[(slice(0, 3),)] = a[::2]", "operator.setitem(a, slice(0, 3), a[::2])",
    "a.__setitem__(slice(0, 3), a[::2])", "b = a.view(); b[:3] = a[::2]", "a[:3], a[2:] = a[::2], a[:3]",
    "np.copyto(a[:3], a[::2], where=a[:3] < 0.5)",
    "z = a + 1j * a[::-1]; z[:3] = z[::2]; a[:] = z.real * z.imag",
    "z = a + 1j * a[::-1]; z.real[:3] = z.imag[::2]; a[:] = z.real * z.imag",
    # by a mask, by positions
    "a[a > -9] = a[::-1]", "a[np.array([1, 0, 1, 0, 1], bool)] = a[2:]",
    "a[[True, False, True, False, True]] = a[:3]", "a[[0, 1, 2]] = a[::-1][:3]",
    "a[np.array([2, 1, 0])] = a[1:4]", "a[[0, 1, 2]] += a[::-1][:3]", "np.putmask(a, a < 9, a[::-1])",
    "np.place(a, a < 9, a[::-1])", "np.put(a, [0, 1, 2], a[::-1])", "np.copyto(a, a[::-1], where=a < 0.5)",
    "np.fill_diagonal(a[:4].reshape(2, 2), a[1:3])",
    # through `flat`, in the order of its elements
    "a.flat[[1, 0, 2]] = a[:3]", "a.flat[1:] = a[:-1]", "a.flat[1:] = a[:2]", "a.flat[3] = a.flat[0] * 2",
    "b = a[4:1:-1]; b.flat = a[1:4]", "m = a[:4].reshape(2, 2).T; m.flat = a[1:]; m.flat[::2] = a[2:4]",
    "m = a[:4].reshape(2, 2).T; m.flat[np.array([1, 0, 1, 1], bool)] = a[1:4]", "a.flat = a[2::-1]",
    "a.flat = [x[0], 2.0]", "f = a.flat; next(f); f[0] = 3.0 * next(f)", "a.flat[[0, 0, 1]] = a[2:]",
    # one operand after the other
    "np.concatenate([a[1:], a[:1]], out=a)", "np.concatenate((x[:2], a[:3]), 0, out=a)",
    "m = a[:4].reshape(2, 2); np.concatenate([m[:, 1:], m[:, :1]], axis=-1, out=m)",
    "m = a[:4].reshape(2, 2); np.stack([m[1], m[0]], out=m)",
    "m = a[:4].reshape(2, 2); np.stack([a[:2], a[2:4]], axis=1, out=m)",
    # as if it was copied
    "a[1:] = a[:-1]", "a[:-1] = a[1:]", "a[:] = a[::-1]", "a[1::2] = a[::2][:2]",
    "i = int(x[0] < 5); a[i:i + 4] = a[:4]", "a[:3] = a[1:2]", "a[::2] += a[:3]",
    "m = a[:4].reshape(2, 2); m[:] = m.T", "np.take(a, [2, 1, 0, 3, 4], out=a)",
]  # fmt: skip


@pytest.mark.every(12)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("names", ["", "rows = [a]; rows.append(rows[0])"])
def test_values_in_the_memory_that_is_stored_to(store, names):
    lines = ["a = np.concatenate([x, x[:2] * 2.0])", names or "pass", store]
    body = "".join(f"    {line}\n" for line in lines)
    result = "    return (a * a * np.arange(5.0)).sum() + a @ a[::-1]\n"
    program = f"import operator\nimport numpy as np\ndef f(x):\n{body}{result}"
    assert mutating_programs.judged(program, X, further=not names) == "right"


def test_of_another_dtype_it_is_refused():
    program = "def f(x):\n    z = x + 1j * x[::-1]\n    z[:2] = z.real[::2]\n    return z.real @ z.imag\n"
    assert "lies in its own memory and is of another dtype" in mutating_programs.judged(program, X)


def test_parts_of_an_array_that_lie_in_it_are_joined_along_an_axis():
    program = "import numpy as np\ndef f(x):\n    a = x * 2.0\n"
    program += "    np.concatenate([a[1:], a[:1]], axis=None, out=a)\n    return a @ a\n"
    assert "of parts of `a` itself has no derivative" in mutating_programs.judged(program, X)


@pytest.mark.parametrize("call", ["np.divmod(x, 0.3, out=(a[::-1], a))", "np.modf(x, a[:], a)"])
def test_two_results_are_not_written_to_one_place(call):
    program = f"import numpy as np\ndef f(x):\n    a = x * 2.0\n    {call}\n    return a @ a\n"
    assert "writes two results into arrays that share memory" in mutating_programs.judged(program, X)


def test_shifted_parts_stay_compiled():
    def shifted(x):
        a = x * 2.0
        a[1:] = a[:-1]
        a[::2] = a[-1::-2]
        return a @ a

    assert "shifted" in str(code_adjoint(shifted)(X))


@pytest.mark.parametrize("value", ["x[::-1]", "x[0]", "2.0"])
@pytest.mark.parametrize("name", ["flat", "real", "imag"])
def test_attributes_that_are_stores(name, value):
    """A block of tangents has another order of elements, and other axes."""
    program = f"import numpy as np\ndef f(x):\n    a = x * {'1j' if name == 'imag' else '1.0'}\n"
    program += f"    a.{name} = {value}\n    a *= np.arange(3.0)\n    return (a.real * x + a.imag).sum()\n"
    assert mutating_programs.judged(program, X) == "right"
    f = mutating_programs.compiled(program, "<program>")
    assert np.allclose(jacfwd(f)(X), mutating_programs.differences(f, X, 1e-6))
