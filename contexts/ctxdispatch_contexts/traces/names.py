"""Names and attributes: what is found is noted, so that it is looked for again before the trace runs."""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import beyond_rules, resolve
from ctxdispatch.dispatch.reach import HEAPTYPE, is_python, lookup
from ctxdispatch.ir import matching, primitives
from ctxdispatch_contexts.traces.checks import RULES, Args, Kwargs
from ctxdispatch_contexts.traces.kinds import NUMBER, fixed, is_leaf, is_number
from ctxdispatch_contexts.traces.origins import MISSING
from ctxdispatch_contexts.traces.run import Run
from ctxdispatch_contexts.traces.tracer import ruled

# -- names ---------------------------------------------------------------------------------------------------


def _scope(namespace: dict[str, Any]) -> dict[str, Any]:
    scope = namespace.get("__builtins__", builtins)
    return scope if type(scope) is dict else vars(scope)


@RULES.of(primitives.load_global)
def load_global(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    namespace, name = args
    where = run.lines.name(namespace)
    if name in namespace:
        run.origins.found(namespace[name], f"{where}[{name!r}]")
        return namespace[name]
    scope = _scope(namespace)
    if name not in scope:
        raise run.unfit(f"there is no {name}")
    run.origins.tests.append(f"{name!r} not in {where}")
    run.origins.found(scope[name], f"{run.lines.name(scope)}[{name!r}]")
    return scope[name]


@RULES.of(primitives.cell_get)
def cell_get(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    cell = args[0]
    if id(cell) not in run.origins.cells:
        return f(*args)
    try:
        run.origins.found(cell.cell_contents, f"{run.lines.name(cell)}.cell_contents")
    except ValueError:
        raise run.unfit(f"there is no {args[1]}") from None
    return cell.cell_contents


@RULES.of(primitives.import_name)
def import_name(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    namespace, name, _, level = args
    imports = _scope(namespace).get("__import__")
    if level or name not in sys.modules or type(imports) is not types.BuiltinFunctionType:
        raise run.unfit(f"the module {name} is imported")
    run.origins.found(imports, f"{run.lines.name(_scope(namespace))}['__import__']")
    modules = run.lines.name(sys.modules)
    for each in (name, name.partition(".")[0]):
        run.origins.tests.append(f"{modules}[{each!r}] is {run.lines.name(sys.modules[each])}")
    return f(*args)


@RULES.of(primitives.import_from)
def import_from(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    module, name = args
    if type(module) is not types.ModuleType or name not in vars(module):
        raise run.unfit(f"{name} is imported")
    run.origins.found(vars(module)[name], f"{run.lines.name(vars(module))}[{name!r}]")
    return vars(module)[name]


def _refuses(f: Any, what: str, may: Callable[[Any, Any], bool] = lambda run, first: False) -> None:
    def rule(ctx: Any, /, *args: Any) -> Any:
        if not ctx.run.closed and not may(ctx.run, args[0]):
            raise ctx.run.unfit(what)
        return f(*args)

    ruled(f)(rule)


def _is_inner(run: Run, cell: Any) -> bool:
    return id(cell) not in run.origins.cells


for _f in (primitives.cell_set, primitives.cell_delete):
    _refuses(_f, "a variable of a function that was there before changes", _is_inner)
for _f in (primitives.store_global, primitives.delete_global):
    _refuses(_f, "a global variable changes")

# -- attributes ----------------------------------------------------------------------------------------------

_BOUND = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType, types.GeneratorType)
_SIZES = ("shape", "size", "ndim", "strides", "nbytes", "itemsize")


@RULES.of(getattr)
def get_attribute(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Of a number or array."""
    owner, out = args[0], f(*args)
    if not is_number(owner) or id(out) in run.values:
        return out
    if args[1] == "__class__":
        run.of_its_class(owner)
    elif type(out) in NUMBER or type(out) is np.ndarray:
        if args[1] not in ("real", "imag", "T", "mT"):
            raise run.unfit(f"the attribute {args[1]} of an array")
        if run.holds_values(owner):
            run.register(out, run.call(f, args, kwargs))
        else:
            run.constant(out)
    elif type(out) is types.BuiltinMethodType:
        return out
    elif run.holds_values(owner):
        if args[1] not in _SIZES and args[1] != "dtype":
            raise run.unfit(f"the attribute {args[1]} of an array")
        run.lines.add(f"if {run.expression(owner)}.{args[1]} != {run.lines.name(out)}: raise Left")
    elif not fixed(out) and type(out) is not tuple:
        raise run.unfit(f"the attribute {args[1]} of an array")
    return out


@ruled(getattr)
def attribute(ctx: Any, /, *args: Any) -> Any:
    """The way to what is found is noted."""
    run, get = ctx.run, beyond_rules(ctx, getattr)
    if run.closed or is_number(args[0]):
        return get(*args)
    owner, name, *default = args
    if type(owner) is types.MethodType and name not in ("__self__", "__func__"):
        return attribute(ctx, owner.__func__, name, *default)
    if type(name) is not str or id(name) in run.texts:
        raise run.unfit("the name of an attribute is a text of a number")
    _check_way(run, owner, name)
    try:
        out = get(owner, name, MISSING) if default else get(owner, name)
    except AttributeError:
        _note_missing(run, owner, name)
        raise
    if out is MISSING:
        _note_missing(run, owner, name)
        return default[0]
    _note(run, owner, name, out)
    return out


def _check_way(run: Run, owner: Any, name: str) -> None:
    """That no code runs which is not seen, nor is known."""
    cls = type(owner)
    if is_python(lookup(cls, "__getattribute__")):
        raise run.unfit(f"a {cls.__name__} has a way of its own to attributes")
    if issubclass(cls, types.ModuleType) and "__getattr__" in vars(owner) and name not in vars(owner):
        raise run.unfit(f"a module that makes {name}")
    if name == "__dict__" and (issubclass(cls, type) or type(lookup(cls, name)) not in _IN_C):
        raise run.unfit(f"what a {cls.__name__} says that it holds")
    found = lookup(cls, name, MISSING)
    if type(found) is functools.cached_property and id(owner) not in run.inside:
        raise run.unfit(f"what an object that was there before keeps as {name}")


_SCOPES = (types.ModuleType, types.FunctionType, functools.partial, staticmethod, classmethod)
"""Of whose attributes each that is read is noted by itself."""
_IN_C = (types.GetSetDescriptorType, types.MemberDescriptorType)


def _is_scope(run: Run, owner: Any) -> bool:
    return type(owner) in _SCOPES and not run.is_made(owner) and id(owner) not in run.inside


def _note(run: Run, owner: Any, name: str, out: Any) -> None:
    origins, cls = run.origins, type(owner)
    if _is_scope(run, owner):
        origins.found(out, f"getattr({run.lines.name(owner)}, {name!r})")
        return
    of_users = cls.__flags__ & HEAPTYPE and not issubclass(cls, type)
    if of_users and not (is_leaf(owner) or run.is_known(owner) or origins.is_there(owner)):
        raise run.unfit(f"a {cls.__name__} that was come by unnoticed")
    if issubclass(cls, type) and fixed(out) and owner.__flags__ & HEAPTYPE:  # its name, say
        origins.found(out, f"getattr({run.lines.name(owner)}, {name!r})")
    for found in _in_classes(run, owner, name):
        if id(found) not in run.values:
            origins.beside(found)
    if name == "__dict__" and id(owner) in origins.paths:  # the contents of which are noted
        origins.paths[id(out)] = f"{origins.paths[id(owner)]}.__dict__"
        run.alive.append(out)
    if run.is_known(out) or id(out) in origins.paths or type(out) in _BOUND or fixed(out):
        return
    if type(out) in NUMBER or type(out) is np.ndarray:
        raise run.unfit("a number of which it is not known where it is from")
    run.made(out)  # what was there is known: the interpreter has made it


def _note_missing(run: Run, owner: Any, name: str) -> None:
    if _is_scope(run, owner):
        run.origins.missing(owner, name)
    else:
        [*_in_classes(run, owner, name)]


def _in_classes(run: Run, owner: Any, name: str) -> list[Any]:
    """What classes have under that name; they are noted."""
    looked = [type(owner)]
    if type(owner) is super:
        looked = [owner.__self_class__]
    elif issubclass(type(owner), type):
        looked.append(owner)
    found = []
    for cls in looked:
        run.origins.of_class(cls)
        found += [each for each in [lookup(cls, name, MISSING)] if each is not MISSING]
    if type(owner) is super:
        after = owner.__self_class__.__mro__
        after = after[after.index(owner.__thisclass__) + 1 :]
        found += [vars(each)[name] for each in after if name in vars(each)][:1]
    return found


@ruled(vars)
def variables(ctx: Any, /, *args: Any) -> Any:
    if ctx.run.closed:
        return vars(*args)
    if len(args) != 1 or is_number(args[0]):
        raise ctx.run.unfit("vars")
    return attribute(ctx, args[0], "__dict__")


@ruled(hasattr)
def has_attribute(ctx: Any, /, owner: Any, name: str) -> bool:
    if ctx.run.closed:
        return hasattr(owner, name)
    if is_number(owner):
        ctx.run.of_its_class(owner)
        return hasattr(owner, name)
    return attribute(ctx, owner, name, MISSING) is not MISSING


@RULES.of(setattr, delattr)
def set_attribute(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    owner, name = args[:2]
    if is_number(owner) or type(name) is not str or id(name) in run.texts:
        raise run.unfit("an attribute of an array, or one whose name is a text of a number")
    if run.is_made(owner):
        return f(*args)
    if type(lookup(type(owner), name)) is types.GetSetDescriptorType or name == "__del__":
        raise run.unfit(f"{name} of a {type(owner).__name__} changes")
    if id(owner) not in run.inside and (f is delattr or not run.changed.of_attribute(owner, name)):
        raise run.unfit(f"an attribute of a {type(owner).__name__} that was there before changes")
    return f(*args)


# -- patterns ------------------------------------------------------------------------------------------------


_MATCHES_ITSELF = 1 << 22
"""The flag of classes whose only positional sub-pattern is the object itself."""


@ruled(matching.match_class)
def match_class(ctx: Any, /, subject: Any, cls: Any, n: int, names: tuple[str, ...]) -> Any:
    """What the pattern asks is asked under the context."""
    run = ctx.run
    if run.closed:
        return matching.match_class(subject, cls, n, names)
    if not resolve(ctx, isinstance)(subject, cls):
        return None
    given = attribute(ctx, cls, "__match_args__", ()) if n else ()
    itself = [subject] if n == 1 and not given and cls.__flags__ & _MATCHES_ITSELF else []
    if len(given) + len(itself) < n:
        raise run.unfit(f"a pattern of a {cls.__name__}")
    found = itself + [attribute(ctx, subject, name, MISSING) for name in (*given[:n], *names)]
    return None if any(each is MISSING for each in found) else run.made(tuple(found))


@RULES.of(matching.match_keys)
def match_keys(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if type(args[0]) is not dict or not all(map(run.is_key, args[1])):
        raise run.unfit(f"a pattern of a {type(args[0]).__name__}")
    return run.moved(f(*args))
