import random

from ctxdispatch import overdub

from ctxdispatch_watch import WatchContext


def roll():
    return random.randint(1, 6)


def test_calls_are_counted_by_place():
    ctx = WatchContext.of(random.randint)
    overdub(ctx, lambda: [roll() for _ in range(3)])
    (place,) = ctx.places
    assert ctx.places[place] == 3 and place.endswith("in roll")
