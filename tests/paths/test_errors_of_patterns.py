"""What a pattern's rules take for given, and a program need not give: the run is right, refused, or ends with
the program's own error."""

import pytest

from tests.paths.judging import PATHS, judged
from tests.paths.programs import Program

POINT = (0.7, -0.4, 1.3)


@pytest.mark.parametrize("body", [
    ("v1 = itertools.chain((lambda p: p), x)",), ("v1 = itertools.chain(5, [x])",),
    ("v1 = next(itertools.chain(x, 5))",), ("v1 = [*itertools.chain(x, 5)]",),
    ("v1 = queue.SimpleQueue()", "v1.__setattr__(x[1])"), ("object.__setattr__()",),
    ("x.__setattr__('flat')",), ("v1 = x.flat", "v1.__next__()"), ("v1 = x.flat.coords",),
    ("v1 = x.flat.nothing",), ("v1 = x.flat", "v1.__init__(iter)"), ("x.__init__(iter)",),
    ("copy.deepcopy()",), ("heapq.heappush(x)",), ("operator.getitem(x)",),
    ("v1 = (ctypes.c_double * 3).from_buffer(x)", "v1.value = 1"),
    ("v1 = (ctypes.c_double * 3).from_buffer(x)", "del v1.value"),
    ("v1 = [x] if x[0] > 0.5 else (x, 1)", "v1.value = 1"),
    ("v1 = [x] if x[0] > 0.5 else (x, 1)", "v1[0] = 1"),
    ("v1 = (x[0] > 0.5).from_bytes(x)",), ("v1 = x[0].fromhex('0x1')",),
    ("v1 = (x[0] > 0.5).from_bytes(b'a')",), ("v1 = collections.OrderedDict([x[1:]])",), ("v1 = dict(x)",),
    ("v1 = [dict(p[1:] for p in d) for d in [[(1, x[0])]]]",), ("v1 = dict(x[1:] for p in (1, 2))",),
    ("functools.reduce(x)",), ("np.add(x)",), ("np.dot(x)",), ("np.reshape()",), ("sorted()",),
])  # fmt: skip
def test_errors_are_the_programs(body):
    told = judged(Program(body, "x[0] * x[1]", POINT, True), ("recorded", "forward recorded", "pattern"))
    assert not any(told[path].startswith("WRONG") for path in PATHS if path in told), told
