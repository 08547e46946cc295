"""Programs that store into arrays, functions of an array of four numbers: those whose stores are followed,
and those that see them by another name."""

import numpy as np

X = np.array([0.7, -0.4, 1.3, 0.2])


def element(x):
    a = np.zeros(4)
    for i in range(4):
        a[i] = x[i] * x[i - 1]
        a[i] += a[i - 1] * 0.5
    return a @ a


def overwritten(x):
    a = x * 2.0
    y = np.sin(a).sum()
    a[1] = 3.0
    y += np.exp(a * 0.1).sum()
    a[:2] = a[2:] * a[:2]
    return y + (a * a).sum()


def shifted(x):
    a = x.copy()
    a[1:] = a[:-1]
    a[1:] += a[:-1]
    a[::2] *= a[1::2]
    return np.sum(np.cos(a))


def operators(x):
    a = np.ones(4)
    a += x
    a *= x
    a -= x[0]
    a /= 2.0 + x * x
    a *= x[1]
    a /= 1.5
    return np.sum(a**3)


def rows(x):
    m = np.zeros((3, 4))
    m[0] = x
    for i in range(1, 3):
        above = m[i - 1]
        m[i, 1:] = above[:-1] * x[i]
        m[i][0] = above[3]
        m[i] *= 0.5
    return np.sum(np.tanh(m))


def views_of_views(x):
    m = np.outer(x, x)
    block = m[1:, 1:]
    corner = block[:2, 1]
    corner[0] = x[3] * 2.0
    corner *= x[0]
    block[1] += corner[1]
    return np.sum(m * m)


def scatter(x):
    a = np.zeros(5)
    a[[0, 2, 2]] = x[:3]
    a[[1, 1, 3]] += x[1:]
    a[a > 0.5] = x[0]
    return np.sum(np.exp(a))


def positions(x):
    a = x * 1.5
    a[[0, 1, 1]] *= x[1]
    a[np.arange(4) % 2 == 0] = x[3]
    return np.sum(a * a)


def broadcast(x):
    m = np.zeros((2, 3, 4))
    m[:] = x
    m[0] += x[:3, None]
    m[1, :, 2] = x[0]
    m[..., 0] -= x[:2].reshape(2, 1)
    m[0, 0] = x[None, :]
    return np.sum(np.sin(m))


def branches(x):
    if x[0] > 0.0:
        a = np.zeros(4)
        a[0] = x[1]
    else:
        a = x.copy()
    if x[1] < 0.0:
        a[1] = a[0] * x[2]
        b = a * a
        b[0] = x[0]
        a[2] += b[1]
    return np.sum(a * x)


def new_one_each_time(x):
    u = x.copy()
    for _ in range(3):
        new = u.copy()
        new[1:-1] = u[1:-1] + 0.1 * (u[2:] - u[:-2])
        new[0] = new[1] * u[0]
        u = new
    return np.sum(u * u)


def in_inner_loops(x):
    total = 0.0
    for i in range(3):
        work = np.zeros(4)
        for j in range(4):
            if j > i:
                work[j] = x[j] * x[i]
            work[j] *= x[i]
            total += work[j] * work[j - 1]
    return total


def constants(x):
    c = np.arange(4.0)
    y = np.sum(x * c)
    c[0] = 5.0
    c *= 2.0
    return y + np.sum(np.sin(x) * c)


def result_is_stored_to(x):
    y = np.exp(x)
    s = y.sum()
    y[0] = 0.0
    return s * np.sum(y)


def put(a, i, v):
    a[i] = v
    a *= v


def by_a_function(x):
    a = np.ones(4)
    put(a, 1, x[2])
    put(a, 2, x[0] * a[1])
    return np.sum(a)


def until(x):
    a = x.copy()
    n = 0
    while a[0] < 3.0 and n < 6:
        a[0] += x[2] * a[1] + 0.8
        a[1] *= 0.9
        n += 1
        if a[1] < 0.01 and a[0] > 2.0:
            break
    return a[0] * a[1]


def copied_into(x):
    a = np.zeros(4)
    np.copyto(a, x)
    a[1] *= a[0]
    return np.sum(a * a)


def filled(x):
    a = x * 2.0
    s = np.sum(a)
    a.fill(s * x[0])
    return np.sum(a * x)


def written_by_ufuncs(x):
    a = np.zeros(5)
    np.multiply(x, x, out=a[1:])
    np.sin(a, a)
    b = np.add(a, x[0], out=a)
    b[0] = a[1] * b[2]
    return np.sum(a**3)


def negated_before(x):
    a = x * 2.0
    y = -a
    a[0] = 5.0
    z = -a
    z[1] = x[0]
    return np.sum(y * y * x + a - y * z)


AT = np.array([0, 2, 2])


def arrays_of_positions(x):
    m = np.outer(x, x)
    m[AT] = x * m[1]
    m[..., AT] += x[:, None]
    m[m > 1.0] *= 0.5
    m[AT, 1] -= x[1:]
    return np.sum(m**3)


FOLLOWED = [
    element, overwritten, shifted, operators, rows, views_of_views, scatter, positions, broadcast, branches,
    new_one_each_time, in_inner_loops, constants, result_is_stored_to, by_a_function, until,
    negated_before, copied_into, filled, written_by_ufuncs, arrays_of_positions,
]  # fmt: skip


def differences(f, x, step=1e-6):
    return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))])


# -- seen by another name: not followed, and right all the same ----------------------------------------------


def transposed(x):
    m = np.outer(x, x)
    t = m.T
    m[0, 1] = x[3]
    return np.sum(t[1] * x)


def held(x):
    a = x * 2.0
    pair = (a, x[0])
    a[0] = x[3]
    return np.sum(pair[0] * x)


def in_a_list(x):
    rows = [np.zeros(4), np.ones(4)]
    rows[0][1] = x[0]
    rows[1] *= x
    return np.sum(rows[0] * rows[1])


def swapped(x):
    a, b = x.copy(), np.zeros(4)
    for _ in range(3):
        b[1:] = a[:-1] * x[0]
        a, b = b, a
    return np.sum(a * a)


def either(x):
    a, b = x * 2.0, x * 3.0
    c = a if x[0] > 0.0 else b
    c[0] = x[1]
    return np.sum(a * b)


def iterated(x):
    m = np.outer(x, x)
    total = 0.0
    for row in m:
        m[3] = x
        total += np.sum(row * row)
    return total


def shared(x):
    a = x * 2.0
    b = a.astype(float, copy=False)
    a[0] = x[1]
    return np.sum(b * b)


def in_a_closure(x):
    a = x * 2.0

    def last():
        return a[-1] * a[0]

    a[0] = x[3]
    return last()


NOT_FOLLOWED = [transposed, held, in_a_list, swapped, either, iterated, shared, in_a_closure]
