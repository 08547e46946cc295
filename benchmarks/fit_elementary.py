"""The coefficients of the elementary functions: minimax polynomials, by Remez exchange in 60 digits.

    python -m benchmarks.fit_elementary > contexts/ctxdispatch_contexts/broadcast/elementary/coefficients.py

Each row of FITS says: p(t) of the given degrees (float32, float64) nearest to f(t) on [low, high], where the
difference is weighed with w(t), the share that p has in the function's relative error.
"""

import numpy as np
from mpmath import mp, mpf

mp.dps = 60
LN2 = mp.log(2)


def extrema(errors):
    """The index of the largest error in each run of one sign."""
    best = [0]
    for i, error in enumerate(errors):
        if (error > 0) == (errors[best[-1]] > 0):
            best[-1] = max(best[-1], i, key=lambda j: abs(errors[j]))
        else:
            best.append(i)
    return best


def alternating(errors, count):
    """`count` extrema in a row; those left out are the smaller end ones."""
    best = extrema(errors)
    while len(best) > count:
        best.pop(0 if abs(errors[best[0]]) < abs(errors[best[-1]]) else -1)
    return best


def levelled(points, degree):
    """Coefficients whose weighted error is the same at all of the points, with alternating signs."""
    rows = mp.matrix(degree + 2, degree + 2)
    values = mp.matrix(degree + 2, 1)
    for i, (t, f, w) in enumerate(points):
        for k in range(degree + 1):
            rows[i, k] = t**k
        rows[i, degree + 1], values[i] = (-1) ** i / w, f
    return list(mp.lu_solve(rows, values))[:-1]


def remez(f, low, high, degree, weight, grid=600, rounds=8):
    """The minimax coefficients, lowest first, and the largest weighted error on a Chebyshev grid."""
    low, high = mpf(low), mpf(high)
    nodes = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mpf(1) / 2) / grid) for i in range(grid)]
    points = [(t, f(t), abs(weight(t))) for t in nodes]
    chosen = [round((grid - 1) * mpf(i) / (degree + 1)) for i in range(degree + 2)]
    for _ in range(rounds):
        coefficients = levelled([points[i] for i in chosen], degree)
        errors = [(mp.polyval(coefficients[::-1], t) - v) * w for t, v, w in points]
        chosen = alternating(errors, degree + 2)
        if len(chosen) < degree + 2:
            raise ValueError(f"no alternation: degree {degree} is beyond the working precision")
    return coefficients, max(abs(e) for e in errors)


HALF_LN2 = LN2 / 2 * mpf("1.0005")     # n is rounded from a rounded product
ROOT_LOW, ROOT_HIGH = mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(mpf(2)) - 1

# name: (p approximates, low, high, weight, degree in float32, degree in float64)
FITS = {
    "EXPM1": (lambda t: (mp.expm1(t) - t) / t**2, -HALF_LN2, HALF_LN2, lambda t: t**2 / mp.expm1(t), 4, 10),
    "EXP2": (lambda t: mp.expm1(t * LN2) / t, -0.5001, 0.5001, lambda t: t, 5, 11),
    "LOG1P": (lambda t: (mp.log1p(t) - t + t * t / 2) / t**3, ROOT_LOW, ROOT_HIGH,
              lambda t: t**3 / mp.log1p(t), 7, None),
    "ATANH_SQUARE": (lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) * 2 / z, mpf(10) ** -9,
                     (ROOT_HIGH / (2 + ROOT_HIGH)) ** 2, lambda z: z, None, 6),
}
ROUND = {32: lambda x: float(np.float32(float(x))), 64: float}


def parts(x, width, bits):
    """x as a sum of two floats, the first of that many bits."""
    unit = mpf(2) ** (mp.floor(mp.log(x, 2)) + 1 - bits)
    first = mp.nint(x / unit) * unit
    return float(first), ROUND[width](x - first)


# name: value, bits of the first part in float32 and float64: those that a product with an exponent leaves free
PARTS = {"LN2": (LN2, 15, 41), "LOG10_2": (mp.log10(2), 15, 41), "INVERSE_LN10": (1 / mp.log(10), 24, 53),
         "INVERSE_LN2": (1 / LN2, 24, 53)}


def show(name, by_width):
    print(f"{name} = {{")
    for width, numbers in by_width.items():
        print(f"    {width}: (")
        for number in numbers:
            print(f"        {number!r},")
        print("    ),")
    print("}")


def fitted(f, low, high, weight, *degrees):
    return {width: [ROUND[width](c) for c in remez(f, low, high, degree, weight)[0]]
            for width, degree in zip((32, 64), degrees) if degree is not None}


def main():
    print('"""Made by benchmarks/fit_elementary.py, which says what each row approximates: {bits: coefficients}."""\n')
    for name, row in FITS.items():
        show(name, fitted(*row))
    for name, (value, *bits) in PARTS.items():
        show(name, {width: parts(value, width, b) for width, b in zip((32, 64), bits)})


if __name__ == "__main__":
    main()
