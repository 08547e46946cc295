"""Generators, and loops over them. What both do is logged, in order."""

LOG = []


def log(*what):
    LOG.append(what)
    return what[-1]


# -- generators ----------------------------------------------------------------------------------------------


def straight(v, n):
    yield log("a", v[0])
    log("between")
    yield v[1] * 2.0
    log("end")


def looped(v, n):
    for i in range(n):
        yield log(i, v[i] + 1.0)
    log("after", n)


def endless(v, n):
    k = 0
    while True:
        yield log("endless", v[k % 3])
        k = k + 1
        if k > 40:
            raise OverflowError("nobody stops")


def by_branches(v, n):
    for x in v:
        if x > 1.0:
            yield x
        elif x < 0.0:
            log("negative")
            continue
        else:
            yield log("small", -x)
            yield x * 10.0
        log("next", x)


def empty(v, n):
    if n > 100:
        yield 1.0
    log("nothing")


def ends_early(v, n):
    for x in v:
        if x > 2.0:
            return
        yield x
    log("all")


def changes(v, n):
    for i in range(len(v)):
        v[i] = v[i] + 1.0
        yield v[i]


def delegates(v, n):
    yield 5.0
    yield from looped(v, n)
    log("delegated")
    yield from v
    yield 6.0


def by_assignment(v, n):
    found = 0.0
    for x in v:
        found = found + x
        sent = yield found
        log("sent", sent)


def raises(v, n):
    yield v[0]
    raise KeyError("in the generator")


GENERATORS = [
    straight, looped, endless, by_branches, empty, ends_early, changes, delegates, by_assignment, raises,
]


# -- loops ---------------------------------------------------------------------------------------------------


def summed(v, n):
    s = 0.0
    for x in made(v, n):
        s = s + x
        if s > 60.0:
            break
    return s


def counted(v, n):
    s, k = 0.0, 0
    for x in made(v, n):
        if k > 3:
            break
        log("body", x)
        s, k = s + x * k, k + 1
    else:
        log("else")
        k = -k
    return s, k, x


def found(v, n):
    for x in made(v, n):
        if x > 1.5:
            return "found", x
        if x == 0.25:
            raise LookupError(x)
    return "none", n


def nested(v, n):
    total = []
    for k in range(n):
        for x in made(v, k):
            if len(total) > 8:
                return total
            for y in (1.0, 2.0):
                if x * y > 2.5:
                    break
                total.append(log("inner", k, x * y))
            else:
                total.append(-1.0)
                continue
            log("broke", y)
    return total


def stores(v, n):
    last = None
    for x in made(v, n):
        v[len(v) - 1] = x
        if last is not None and last == x:
            return last
        last, before = x, last
    return before, v


def twice(v, n):
    s = 0.0
    for x in made(v, n):
        s = s + x
        if s > 7.0:
            break
    for y in made(v, n):
        s = s * 2.0 - y
        if s < -5.0 or s > 50.0:
            return s, x, y
    return s


def swapped(v, n):
    a, b = 1.0, 2.0
    for x in made(v, n):
        a, b = b, a + x
        if a > 20.0:
            break
    return a, b


def passed(v, n):
    k = 0
    for _ in made(v, n):
        k += 1
        if k == 5:
            break
    return k


LOOPS = [summed, counted, found, nested, stores, twice, swapped, passed]


def made(v, n):
    raise AssertionError("a test puts a generator here")
