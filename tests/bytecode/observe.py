"""All that a run of a program shows to anybody who looks.

Result or exception with the places of its frames and their locals; what was logged, printed, warned of or
could not be raised; where traced, also every event of `sys.settrace` with the locals of its frame. Values
become plain data at once, so that looking keeps nothing alive. Invariant: a program and a faithful rewriting
of it give equal observations.
"""

import dis
import gc
import inspect
import io
import sys
import types
import warnings
from contextlib import contextmanager, redirect_stdout
from threading import Thread

LOG = []
PLAIN = (int, float, complex, str, bytes, bool, types.NoneType, range, types.EllipsisType)
LOCALS_CRASH = sys.version_info[:3] == (3, 13, 0)
"""That version crashes where locals are read while an inlined comprehension has a cell of the function."""
MOST_FRAMES = 20  # of each end of a traceback


# -- what programs use -----------------------------------------------------------------------------


def program(*cases):
    """Registers a function under test, to be called with each of these tuples of arguments."""

    def register(function):
        function.cases = cases or ((),)
        return function

    return register


def log(*values):
    """Gives the last value back, so that expressions can be logged where they stand."""
    LOG.append(describe(values))
    return values[-1] if values else None


class Life:
    """An object that logs its end, if that comes before the run's."""

    run = 0

    def __init__(self, name):
        self.name, self.born = name, Life.run

    def __del__(self):
        if self.born == Life.run:
            LOG.append(f"end of {self.name}")


class Manager:
    """A context manager, also an asynchronous one, which logs and may suppress."""

    def __init__(self, name, suppresses=False):
        self.name, self.suppresses = name, suppresses

    def __enter__(self):
        log("enter", self.name)
        return self.name

    def __exit__(self, kind, error, trace):
        log("exit", self.name, kind, error, trace is not None)
        return self.suppresses

    async def __aenter__(self):
        await nap("entering")
        return self.__enter__()

    async def __aexit__(self, *raised):
        await nap("leaving")
        return self.__exit__(*raised)


@types.coroutine
def nap(value=None):
    """Suspends; gives what is sent."""
    return (yield value)


async def naps(*values):
    """An asynchronous iterator that suspends before each item."""
    for value in values:
        yield await nap(value)


def run(coroutine, most=1000):
    """Runs it to its end: what it suspends with is logged and sent back."""
    sent = None
    for _ in range(most):
        try:
            sent = log("suspended", coroutine.send(sent))
        except StopIteration as stop:
            return stop.value
    coroutine.close()
    return None


def drain(iterator):
    """Items and the value returned."""
    items = []
    while True:
        try:
            items.append(next(iterator))
        except StopIteration as stop:
            return items, stop.value


# -- values as data --------------------------------------------------------------------------------


def describe(value, depth=5):
    """Comparable plain data, no repr of what programs define."""
    kind = type(value)
    if kind in PLAIN:
        return value if not isinstance(value, (float, complex)) else repr(value)
    if depth == 0:
        return kind.__name__
    row = ROWS.get(kind)
    if row:
        return (kind.__name__, *row(value, depth - 1))
    if isinstance(value, BaseException):
        return kind.__qualname__, describe(value.args, depth - 1)
    if isinstance(value, type):
        return "class", value.__qualname__
    return ("a", kind.__qualname__)


def _items(value, depth):
    return [describe(v, depth) for v in value]


def _unordered(value, depth):
    return sorted(_items(value, depth), key=repr)


def _pairs(value, depth):
    return [(describe(k, depth), describe(v, depth)) for k, v in value.items()]


def _function(value, depth):
    defaults = describe((value.__defaults__, value.__kwdefaults__), depth)
    return value.__qualname__, value.__doc__, inspect.getargs(value.__code__), defaults


def _slice(value, depth):
    return _items((value.start, value.stop, value.step), depth)


ROWS = {
    tuple: _items,
    list: _items,
    dict: _pairs,
    set: _unordered,
    frozenset: _unordered,
    types.FunctionType: _function,
    slice: _slice,
}


# -- exceptions ------------------------------------------------------------------------------------


def failure(error, filename, depth=8):
    """The exception, where it was raised, and those it came from."""
    if error is None or depth == 0:
        return None
    chain = [failure(e, filename, depth - 1) for e in (error.__cause__, error.__context__)]
    inner = [failure(e, filename, depth - 1) for e in getattr(error, "exceptions", ())]
    notes = getattr(error, "__notes__", None)
    what = describe(error), str(error), error.__suppress_context__, notes
    return {"what": what, "frames": frames(error.__traceback__, filename), "chain": chain, "inner": inner}


def frames(trace, filename):
    found = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == filename:
            found.append((code.co_name, trace.tb_lineno, place(code, trace.tb_lasti), trace.tb_frame))
        trace = trace.tb_next
    ends = found if len(found) <= 2 * MOST_FRAMES else found[:MOST_FRAMES] + found[-MOST_FRAMES:]
    return len(found), [(*where, variables(frame)) for *where, frame in ends]


def place(code, lasti):
    """(line, end line, column, end column) of the instruction at `lasti`."""
    return list(code.co_positions())[lasti // 2] if lasti >= 0 else None


def variables(frame):
    if LOCALS_CRASH and frame.f_code.co_cellvars:
        return []
    named = {k: v for k, v in frame.f_locals.items() if not (k.startswith("__") and k.endswith("__"))}
    return [(name, describe(value, 3)) for name, value in named.items()]


# -- runs ------------------------------------------------------------------------------------------


class Tracer:
    """Every event of the frames of one file."""

    def __init__(self, filename, most=20_000):
        self.filename, self.most, self.events = filename, most, []

    def __call__(self, frame, event, arg):
        if frame.f_code.co_filename != self.filename or len(self.events) >= self.most:
            return None
        shown = describe(arg[:2], 3) if event == "exception" else describe(arg, 3)
        self.events.append((event, frame.f_code.co_name, frame.f_lineno, shown, variables(frame)))
        return self


@contextmanager
def uncollected():
    """Cycles end where programs say so."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def unraisable():
    """Logs what `__del__` and the closing of generators raise."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda raised: LOG.append(("unraisable", describe(raised.exc_value)))
    try:
        yield
    finally:
        sys.unraisablehook = before


def observe(call, filename, traced=False):
    """`call()` and all it shows, on a stack of its own: its depth shows too."""
    shown = []
    thread = Thread(target=lambda: shown.append(_observe(call, filename, traced)))
    thread.start()
    thread.join()
    return shown[0]


def _observe(call, filename, traced):
    LOG.clear()
    Life.run += 1
    tracer = Tracer(filename)
    with redirect_stdout(io.StringIO()) as printed, uncollected(), unraisable():
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            outcome = _outcome(call, filename, tracer if traced else None)
        logged = LOG[:]
    told = [(w.category.__name__, str(w.message), w.lineno) for w in warned if w.filename == filename]
    shown = {"outcome": outcome, "log": logged, "printed": printed.getvalue(), "warned": told}
    return shown | ({"events": tracer.events} if traced else {})


def _outcome(call, filename, tracer):
    before = sys.gettrace()
    try:
        if tracer:
            sys.settrace(tracer)
        try:
            result = call()
        finally:
            sys.settrace(before)
        return "returned", describe(result)
    except BaseException as error:
        return "raised", failure(error, filename)


def difference(plain, other):
    """The first place where two observations part, as a text; empty where they are equal."""
    for key, wanted in plain.items():
        if other[key] != wanted:
            return f"{key}:\n{first_difference(wanted, other[key])}"
    return ""


def first_difference(wanted, got, path=""):
    if isinstance(wanted, dict) and isinstance(got, dict) and wanted.keys() == got.keys():
        parts = [(f"{path}[{k!r}]", wanted[k], got[k]) for k in wanted]
    elif type(wanted) is type(got) and isinstance(wanted, (list, tuple)):
        parts = [(f"{path}[{k}]", a, b) for k, (a, b) in enumerate(zip(wanted, got))]
    else:
        parts = []
    for where, a, b in parts:
        if a != b:
            return first_difference(a, b, where)
    return f"  at {path or 'the top'}\n  wanted {wanted!r}\n  got    {got!r}"


def without_frames(observed):
    """What an observation says of what was computed, not of where."""
    outcome, what = observed["outcome"]
    return observed | {"outcome": (outcome, _whats(what) if outcome == "raised" else what)}


def _whats(failed):
    if failed is None:
        return None
    inner = [[_whats(e) for e in failed[key]] for key in ("chain", "inner")]
    return failed["what"], inner


# -- code objects ----------------------------------------------------------------------------------

SAME = """co_name co_qualname co_flags co_filename co_firstlineno co_argcount co_posonlyargcount
co_kwonlyargcount co_cellvars co_freevars""".split()


def children(code):
    """Nested code objects in the order of their places, whatever the order of the constants."""
    found = {id(c): c for c in code.co_consts if isinstance(c, types.CodeType)}
    return sorted(found.values(), key=lambda c: (c.co_firstlineno, first_place(c), c.co_name))


def first_place(code):
    known = [p for p in code.co_positions() if None not in p]
    return min(known, default=(0, 0, 0, 0))


def metadata(code):
    """What `inspect` and debuggers read of a code object and those nested in it."""
    same = {name: getattr(code, name) for name in SAME}
    return same | {"doc": docstring(code), "nested": [metadata(c) for c in children(code)]}


def docstring(code):
    cells = tuple(types.CellType() for _ in code.co_freevars)
    return types.FunctionType(code, {}, None, None, cells).__doc__


def reached(code):
    """The instructions that can be reached: compilers leave others, as the handler of `try: pass`."""
    instructions = [*dis.get_instructions(code)]
    at = {i.offset: k for k, i in enumerate(instructions)}
    table = dis._parse_exception_table(code)
    seen, work = set(), [0]
    while work:
        k = work.pop()
        if k in seen:
            continue
        seen.add(k)
        i = instructions[k]
        work += [at[e.target] for e in table if e.start <= i.offset < e.end]
        if i.opcode in dis.hasjrel:
            work.append(at[i.argval])
        if i.opname not in LAST:
            work.append(k + 1)
    return [instructions[k] for k in sorted(seen)]


LAST = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT"}  # fmt: skip


def code_difference(plain, other):
    """As `difference`, of code objects; slots may be added behind the user's variables."""
    if metadata(plain) != metadata(other):
        return first_difference(metadata(plain), metadata(other))
    for a, b in zip(children(plain), children(other)):
        if deeper := code_difference(a, b):
            return deeper
    kept = other.co_varnames[: len(plain.co_varnames)]
    return "" if kept == plain.co_varnames else f"{plain.co_name}: slots {plain.co_varnames} became {kept}"
