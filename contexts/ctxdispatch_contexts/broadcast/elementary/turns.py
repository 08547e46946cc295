"""2**(STEP j) 2/pi modulo 4, each in four floats that do not overlap, for the j of every finite float64."""

STEP = 8
ROWS = (1024 - 23) // STEP + 1      # those past (1023 - 52) // STEP are for infinities and NaN
BITS = 1300     # of 2/pi below the point: those of the last row's fourth float, and some
KEPT = 300      # of a row: those of its four floats, and some


def arccot(n, unit):
    """unit * arccot(n), by its Taylor series in integers."""
    power = total = unit // n
    k, sign = 1, 1
    while power:
        power //= n * n
        k, sign = k + 2, -sign
        total += sign * (power // k)
    return total


def two_over_pi():
    """In units of 2**-BITS, by Machin's formula: pi/4 = 4 arccot(5) - arccot(239)."""
    unit = 1 << BITS + 64
    quarter = 4 * arccot(5, unit) - arccot(239, unit)
    return (unit << BITS - 1) // quarter


def in_floats(x, unit, count):
    """The integer x in units of 2**-unit as a sum of floats, each nearest to what is left."""
    for _ in range(count):
        part = float(x)
        yield part * 2.0**-unit
        x -= int(part)


def rows():
    inverse, turn = two_over_pi(), 4 << BITS
    for j in range(ROWS):
        rest = (inverse << STEP * j) % turn
        rest = rest - turn if 2 * rest > turn else rest
        yield from in_floats(rest >> BITS - KEPT, KEPT, 4)


TURNS = tuple(rows())
