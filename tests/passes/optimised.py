"""Programs through all passes, and every value they compute against the type inferred for it."""

import copy
import importlib.util
import inspect
import types
import warnings
from pathlib import Path

import numpy as np

from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir import interpret, verify
from ctxdispatch.ir.prune import prune
from ctxdispatch.passes.cse import cse
from ctxdispatch.passes.dce import dce
from ctxdispatch.passes.fold import fold
from ctxdispatch.passes.infer import infer
from ctxdispatch.passes.types import type_of
from tests.passes.covering import covers


def load_cases():
    """The programs that lifting is tested on."""
    path = Path(__file__).parent.parent / "bytecode" / "programs.py"
    spec = importlib.util.spec_from_file_location("lifted_programs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CASES


def optimise(graph, types, cells=()):
    inference = infer(graph, types, cells=cells)
    for run in (lambda g: fold(g, inference), prune, cse, dce, prune):
        verify(run(graph))
    return inference


def bind(graph, f, args):
    bound = inspect.signature(f).bind(*args)
    bound.apply_defaults()
    return [bound.arguments[name] for name in graph.signature.names]


def outcome(call, *args):
    args = copy.deepcopy(args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(call(*args)), plain(args)
        except Exception as error:
            return type(error), str(error), type(error.__cause__), plain(args)


def plain(value):
    """Comparable, bitwise for numbers."""
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value), value.dtype, value.shape, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value), [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (float, complex)):
        return type(value), repr(value)
    if hasattr(value, "__dict__") and not isinstance(value, (type, types.ModuleType)):
        return type(value), plain(vars(value))
    return type(value), value


def run_optimised(f):
    def run(*args):
        graph = lift(f)
        bound = bind(graph, f, args)
        optimise(graph, [type_of(a) for a in bound], f.__closure__ or ())
        return interpret(graph, bound, f.__closure__ or ())

    return run


def check_types(f, args):
    """Run the graph as lifted; each value must be of its type when it is made."""
    args = copy.deepcopy(args)
    graph = lift(f)
    bound = bind(graph, f, args)
    infer(graph, [type_of(a) for a in bound], cells=f.__closure__ or ())

    wrong = []

    def trace(block, op, values):
        for result, value in zip(op.results, values):
            if not covers(result.type, value):
                wrong.append(f"{op} -> {result.type}, but got {value!r}\n{graph}")

    try:
        interpret(graph, bound, f.__closure__ or (), trace=trace)
    except Exception:
        pass
    assert not wrong, wrong[0]
