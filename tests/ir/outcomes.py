"""What a run comes to: its result or exception, and what became of its arguments."""

from __future__ import annotations

import copy
import types

from ctxdispatch.ir import interpret


def outcome(run, program, function, args):
    args = copy.deepcopy(args)
    try:
        result = run(program, function, args)
    except Exception as error:
        return type(error), str(error), repr(error.__cause__), _state(args)
    return repr(result), _state(args)


def _state(args):
    return [repr(vars(a)) if hasattr(a, "__dict__") and not callable(a) else repr(a) for a in args]


def fresh_cells(function):
    return [types.CellType(c.cell_contents) for c in function.__closure__ or ()]


def run_graph(graph, function, args):
    return interpret(graph, args, fresh_cells(function))


def run_function(program, function, args):
    """Call with arguments that are bound already, in the order of the signature."""
    code = function.__code__
    plain, end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    keywords = dict(zip(code.co_varnames[plain:end], args[plain:end], strict=True))
    stars = list(args[end:])
    rest = stars.pop(0) if code.co_flags & 4 else ()
    closed = types.FunctionType(
        program.__code__,
        program.__globals__,
        closure=tuple(fresh_cells(function)) if program is function else None,
    )
    return closed(*args[:plain], *rest, **keywords, **(stars[0] if stars else {}))
