"""Small programs of numbers and arrays, as people write them: of x, four numbers, A, three by three, and s,
one number. What they change is what they were given."""

import math

import numpy as np

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


for _text in """
x + s; s - x; x * x; x / (s + 3.0); -x; abs(x); x**2; x**-2; x**0.5; 2.0**x; s**3; s % 0.75; s // 0.4
divmod(s, 0.7); x % 0.9; x // 0.3; x @ x; A @ A; A @ x[:3]; x[:3] @ A; round(s); math.floor(s); math.ceil(s)
math.trunc(s); math.sqrt(s); math.exp(-s); math.hypot(s, 2.0); math.hypot(s, s, s); math.atan2(s, 1.5)
math.log(s, 3.0); math.pow(s, 2.0); math.fsum([s, s, 1.0]); math.dist([s, 0.0], [1.0, s]); pow(s, 3)
sum([s, 2.0, s]); max(s, 0.5); min(s, 0.5, 3.0); max([s, s + 1.0]); sorted([s + 3.0, s]); np.sum(A)
np.sum(A, axis=0); np.sum(A, axis=1, keepdims=True); A.sum(0); A.sum(axis=(0, 1)); np.add.reduce(A)
np.add.reduce(A, axis=1); np.multiply.reduce(x); np.prod(A, axis=1); np.cumsum(x); np.cumsum(A, axis=1)
A.cumsum(); np.cumprod(x); np.mean(A, axis=0); A.mean(); np.max(A, axis=0); A.min(1); np.maximum.reduce(A)
np.trace(A); np.dot(x, x); np.dot(A, A); np.dot(A, x[:3]); np.dot(s, x); np.dot(A[None], A); np.inner(A, A)
np.inner(x, x); np.vdot(A, A); np.outer(x, x); np.tensordot(A, A); np.tensordot(A, A, axes=1)
np.tensordot(A, A, ([0], [1])); np.matmul(A[None], A); np.exp(x); np.log(x); np.sqrt(A); np.sin(x)
np.cos(A); np.tanh(x); np.arctan(x); np.log1p(x); np.maximum(x, 1.0); np.minimum(x, s); np.hypot(x, s)
np.arctan2(x, s); np.clip(x, 0.8, 1.4); x.clip(0.8, None); np.where(x > 0.0, x, -x); np.square(x)
np.reciprocal(x); np.negative(x); np.positive(x); np.float_power(x, 2.0); x.reshape(2, 2)
np.reshape(x, (2, -1)); x.reshape(2, 2, order="F"); A.ravel(); A.ravel("F"); A.flatten(); A.T
A.transpose(1, 0); np.transpose(A); A[0]; A[:, 1]; A[1, 2]; A[::2, ::-1]; A[[2, 0]]; A[A > 0.0]
A[..., None]; x[-1]; x.copy(); np.copy(x); x.tolist(); s * np.ones(3); np.ones(3) * s; [i * 2.0 for i in x]
[*x]; x.take([0, 2]); np.concatenate([x, x]); np.stack([x, x], axis=1); np.vstack([A, A]); np.hstack([A, A])
np.column_stack([x, x]); np.repeat(x, 2); np.tile(x, 2); np.flip(x); np.roll(A, 1, axis=0)
np.squeeze(A[None]); np.expand_dims(x, 1); np.swapaxes(A, 0, 1); np.moveaxis(A[None], 0, 2)
np.broadcast_to(x, (2, 4)); np.diag(A); np.diagonal(A); np.tril(A); np.diff(x); np.diff(A, axis=0)
np.diff(x, 2); np.zeros_like(A); np.ones_like(x); np.full_like(x, 2.0); np.array([s, 1.0, s])
np.asarray([s, s]); np.array([x, x]); np.array(x); np.ascontiguousarray(A.T); x.shape; x.ndim; len(A)
x.size; np.shape(A); x.dtype; x < 100.0; (x > 0.0).all(); x == 100.0; x != 100.0; 100.0 in x
A.squeeze().swapaxes(0, 1).diagonal(); x.item(2); np.linalg.norm(x); np.std(x); np.median(x); np.argmax(x)
np.sort(x); np.linalg.det(A); np.linalg.solve(A, x[:3]); np.interp(s, [0.0, 9.0], [1.0, 2.0])
np.einsum("ij,jk", A, A); np.round(x, 1); f"{s:.3f}" * 0; bool(s); not s; s and 2.0; s or 2.0
s if s > 0.0 else -s; float(s) + 0.0; int(s); str(s)[:0]; x.std()
""".replace("\n", ";").split(";"):
    if _text.strip():
        PROGRAMS[_text.strip()] = eval(f"lambda x, A, s: {_text}", {"np": np, "math": math})


@program
def an_alias_changes_too(x, A, s):
    y = x
    y += 1.0
    y *= s
    return x


@program
def views_share(x, A, s):
    y = x[1:]
    y -= 0.25
    x.reshape(2, 2)[0, 0] = 9.0
    A.T[0] = s
    A[1] /= 2.0
    return x, y, A


@program
def a_view_of_zeros(x, A, s):
    made = np.zeros_like(x)
    seen = made[1:3]
    made[1] = 7.0
    made.reshape(2, 2)[1, 0] = s
    return made, seen


@program
def copies_do_not_share(x, A, s):
    y, z, w = x.flatten(), x.copy(), x[[0, 1]]
    y[0], z[0], w[0] = 5.0, s, 6.0
    return x, y, z, w


@program
def out_of_functions(x, A, s):
    made = np.zeros_like(x)
    np.add(x, 1.0, out=made)
    np.multiply(made, x, made)
    row = np.zeros_like(A[0])
    np.sum(A, axis=0, out=row)
    return made, row


@program
def every_operator_in_place(x, A, s):
    x += 2.0
    x -= 0.5
    x *= x
    x /= 3.0
    x **= 2
    A @= A
    s += 1.0
    s *= 2.0
    return x, A, s


@program
def floors_in_place(x, A, s):
    x //= 0.4
    A %= 0.75
    return x, A


@program
def a_loop_that_stores(x, A, s):
    for i in range(1, len(x)):
        x[i] = 0.5 * x[i - 1] + x[i] * s
    return x.sum()


@program
def gauss_seidel(x, A, s):
    for i in range(3):
        A[i, i] += 10.0
    found = np.zeros_like(x)[:3]
    for _ in range(4):
        for i in range(3):
            found[i] = (x[i] - A[i] @ found + A[i, i] * found[i]) / A[i, i]
    return found


@program
def rows_change(x, A, s):
    for row in A:
        row *= 2.0
        row[0] = s
    return A


@program
def a_list_of_numbers(x, A, s):
    items = [s, 2.0 * s]
    items.append(items[0] + 1.0)
    items[1] += 1.0
    return items, sum(items) / len(items)


@program
def swaps(x, A, s):
    x[0], x[1] = x[1], x[0]
    A[[0, 1]] = A[[1, 0]]
    return x, A


@program
def masks_and_indices(x, A, s):
    A[A > 100.0] = 0.0
    x[[0, 2]] += 1.0
    x[::2] = x[1::2]
    x[...] = x * 2.0
    return x, A


@program
def an_accumulator(x, A, s):
    total = np.zeros_like(A[0])
    for row in A:
        total += row * s
    return total


@program
def newton(x, A, s):
    for _ in range(5):
        s = s - (s * s - 2.0) / (2.0 * s)
    return s


@program
def copies_into(x, A, s):
    made = np.empty_like(x)
    np.copyto(made, x)
    made.fill(2.0)
    made[1:] = x[1:]
    return made


@program
def indices_that_come_twice(x, A, s):
    np.add.at(x, [0, 0, 1], s)
    return x


@program
def ways_that_part(x, A, s):
    total = 0.0
    for value in x:
        if value > 0.0:
            total += value
        else:
            total -= 2.0 * value
    return total
