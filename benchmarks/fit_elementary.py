"""The coefficients of the elementary functions: minimax polynomials, by Remez exchange in 60 digits.

    python -m benchmarks.fit_elementary > contexts/ctxdispatch_contexts/broadcast/elementary/coefficients.py

Each row of FITS says: p(t) of the given degrees nearest to f(t) on [low, high], where the difference is
weighed with w(t), the share that p has in the function's relative error.
"""

import textwrap

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
    middle, radius = (mpf(low) + high) / 2, (mpf(high) - low) / 2
    nodes = [middle - radius * mp.cos(mp.pi * (i + mpf(1) / 2) / grid) for i in range(grid)]
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
TINY = mpf(10) ** -9
EIGHTH = (mp.pi / 4) ** 2 * mpf("1.001")


def odd_part(f, z):
    """(f(t) / t - 1) / t^2 with z = t^2."""
    t = mp.sqrt(z)
    return (f(t) / t - 1) / z


ERFC_MIDDLE = 3


def turned(x):
    return (mpf(x) - ERFC_MIDDLE) / (x + ERFC_MIDDLE)


def scaled_erfcx(q):
    """(1 + 2 x) exp(x^2) erfc(x), which stays between 1 and 1.2, of q = turned(x)."""
    x = ERFC_MIDDLE * (1 + q) / (1 - q)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def stirling(u):
    """z times what Stirling's formula lacks of log(gamma(z)), of u = 1 / z^2."""
    z = 1 / mp.sqrt(u)
    return z * (mp.loggamma(z) - (z - mpf(1) / 2) * mp.log(z) + z - mp.log(2 * mp.pi) / 2)


# name: (p approximates, low, high, weight, {accuracy: degree}). 32 and 64 are the formats; 24 has float32's
# accuracy in float64's arithmetic.
FITS = {
    "EXPM1": (lambda t: (mp.expm1(t) - t) / t**2, -HALF_LN2, HALF_LN2, lambda t: t**2 / mp.expm1(t),
              {24: 5, 32: 4, 64: 10}),
    "EXP2": (lambda t: mp.expm1(t * LN2) / t, -0.5001, 0.5001, lambda t: t, {32: 5, 64: 11}),
    "LOG1P": (lambda t: (mp.log1p(t) - t + t * t / 2) / t**3, ROOT_LOW, ROOT_HIGH,
              lambda t: t**3 / mp.log1p(t), {32: 7}),
    "ATANH_SQUARE": (lambda z: 2 * odd_part(mp.atanh, z), TINY, (ROOT_HIGH / (2 + ROOT_HIGH)) ** 2,
                     lambda z: z, {24: 3, 64: 6}),
    "SIN": (lambda z: odd_part(mp.sin, z), TINY, EIGHTH, lambda z: z, {24: 3, 64: 5}),
    "COS": (lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, TINY, EIGHTH, lambda z: z**2, {24: 3, 64: 5}),
    "ARCTAN": (lambda z: odd_part(mp.atan, z), TINY, (mp.sqrt(2) - 1) ** 2 * mpf("1.001"), lambda z: z,
               {32: 4, 64: 11}),
    "ARCSIN": (lambda z: odd_part(mp.asin, z), TINY, mpf(1) / 4, lambda z: z, {32: 4, 64: 12}),
    "CBRT": (lambda m: mp.cbrt(m), ROOT_LOW + 1, ROOT_HIGH + 1, lambda m: 1 / mp.cbrt(m), {32: 3, 64: 5}),
    "ATANH_POWER": (lambda z: (2 * odd_part(mp.atanh, z) - mpf(2) / 3) / z, TINY,
                    (ROOT_HIGH / (2 + ROOT_HIGH)) ** 2, lambda z: z**2, {64: 6}),
    "ERF": (lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, TINY, 1, lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
            {24: 7, 64: 12}),
    "ERFCX": (scaled_erfcx, turned(mpf("0.49")), turned(28), lambda q: 1 / scaled_erfcx(q), {24: 10, 64: 21}),
    "I0_NEAR": (lambda z: (mp.besseli(0, mp.sqrt(z)) - 1) / z, TINY, 64, lambda z: z / mp.besseli(0,
    mp.sqrt(z)),             {24: 9, 64: 14}),
    "I0_FAR": (lambda u: mp.besseli(0, 1 / u) * mp.exp(-1 / u) / mp.sqrt(u), mpf(1) / 800, mpf(1) / 8,
               lambda u: 1, {24: 6, 64: 22}),
    "STIRLING": (stirling, TINY, mpf(1) / 9, mp.sqrt, {64: 12}),
}
INDENT = {"initial_indent": " " * 8, "subsequent_indent": " " * 8, "break_on_hyphens": False}
ROUND = {24: float, 32: lambda x: float(np.float32(float(x))), 64: float}


def parts(x, width, *bits):
    """x as a sum of floats, the first ones of so many bits."""
    result = []
    for count in bits:
        unit = mpf(2) ** (mp.floor(mp.log(abs(x), 2)) + 1 - count)
        result.append(mp.nint(x / unit) * unit)
        x -= result[-1]
    return [ROUND[width](part) for part in (*result, x)]


# name: value, bits of the first parts: as many as a product with an exponent, or with turns, leaves free.
PARTS = {
    "LN2": (LN2, {32: [15], 64: [41]}),
    "LOG10_2": (mp.log10(2), {32: [15], 64: [41]}),
    "INVERSE_LN10": (1 / mp.log(10), {32: [24], 64: [53]}),
    "INVERSE_LN2": (1 / LN2, {32: [24], 64: [53]}),
    "HALF_PI": (mp.pi / 2, {24: [22, 22], 64: [53, 53]}),
    "QUARTER_PI": (mp.pi / 4, {32: [21], 64: [50]}),      # exact four times, and three times
    "TWO_THIRDS": (mpf(2) / 3, {64: [53]}),
    "HALF_LOG_TURN": (mp.log(2 * mp.pi) / 2, {64: [53]}),
}


def show(name, by_accuracy):
    print(f"{name} = {{")
    for accuracy, numbers in by_accuracy.items():
        print(f"    {accuracy}: (")
        print(textwrap.fill(", ".join(map(repr, numbers)) + ",", 106, **INDENT))
        print("    ),")
    print("}")


def fitted(f, low, high, weight, degrees):
    return {accuracy: [ROUND[accuracy](c) for c in remez(f, low, high, degree, weight)[0]]
            for accuracy, degree in degrees.items()}


def main():
    print('"""Made by benchmarks/fit_elementary.py, which says what each is: {accuracy: numbers}."""\n')
    for name, row in FITS.items():
        show(name, fitted(*row))
    for name, (value, bits) in PARTS.items():
        show(name, {accuracy: parts(value, accuracy, *counts) for accuracy, counts in bits.items()})


if __name__ == "__main__":
    main()
