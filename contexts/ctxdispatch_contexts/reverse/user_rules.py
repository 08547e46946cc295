"""Rules of the user's for reverse mode, and so, transposed, for forward mode.

@custom_rule(f)                             calls of f
@custom_rule(f, Matrix, float)              those with arguments of these types
@custom_rule("scipy.special:zeta")          of what a module has under a name, once it is imported
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import wrapt

from ctxdispatch_contexts.programs import debugging
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.reverse.context import ADContext

Rule = Callable[..., Any]


def custom_rule(
    f: Callable[..., Any] | str, *types: type | str, examples: Sequence[Sequence[Any]] = ()
) -> Callable[[Rule], Rule]:
    """Decorator: the function below differentiates `f`, on these types of positional arguments if any are
    given.

        @custom_rule(np.sinc)
        def _(x):
            y = np.sinc(x)
            return y, lambda ybar: ybar * ...

    It is called with f's arguments and returns (y, pullback); the pullback gives one cotangent per positional
    argument (one alone need not be in a tuple; None or NotImplemented: no derivative), and then, if keyword
    arguments are to be differentiated too, one per keyword argument.

    `f` and types may be names, "package.module:name" or "package.module.name": nothing is imported for them,
    the rule is there once the program has imported the module. Raises AttributeError where the module has no
    such name: at once, or from the import.

    `examples` are tuples of arguments. In debug mode (`debug_rules`) the rule is checked at each of them when
    it is defined: its value, its cotangents, what it changes. Raises WrongRule (an AssertionError).
    """
    where, checked = user_position(), debugging.is_on()

    def register(rule: Rule) -> Rule:
        @functools.wraps(rule)
        def with_context(ctx: Any, *args: Any, **kwargs: Any) -> Any:
            return rule(*args, **kwargs)

        def add(function: Any, *classes: Any) -> None:
            if checked:
                for arguments in examples:
                    _checking().check_rule(function, rule, tuple(arguments), where)
            ADContext.rule(function, *classes)(with_context)

        _when_there((f, *types), add, where)
        return rule

    return register


def _checking() -> Any:
    return import_module("ctxdispatch_contexts.recording.checking")


def _when_there(wanted: Sequence[Any], use: Callable[..., None], where: str | None) -> None:
    """Call use(*wanted) once all that is wanted by name is there."""
    i = next((i for i, w in enumerate(wanted) if isinstance(w, str)), None)
    if i is None:
        use(*wanted)
        return

    def found(value: Any) -> None:
        _when_there((*wanted[:i], value, *wanted[i + 1 :]), use, where)

    _by_name(wanted[i], found, where)


def _by_name(name: str, found: Callable[[Any], None], where: str | None) -> None:
    """Call found(object) once the module of the name is imported."""
    modules = _modules(name, where)
    done: list[bool] = []

    def imported(module: Any) -> None:
        path = name[len(module.__name__) + 1 :].split(".")
        try:
            value = functools.reduce(getattr, path, module)
        except AttributeError as error:
            if module.__name__ != modules[0] and any(m not in sys.modules for m in modules):
                return  # a module further in has it
            raise AttributeError(f"{where}: custom_rule({name!r}): {error}") from None
        if not done:
            done.append(True)
            found(value)

    for module in modules:
        if not done:
            wrapt.register_post_import_hook(imported, module)


def _modules(name: str, where: str | None) -> list[str]:
    """Those that may have it, the innermost first."""
    module, colon, rest = name.partition(":")
    if colon and module and rest:
        return [module]
    parts = name.split(".")
    if colon or len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise DerivativeError(
            f"custom_rule({name!r}) names no function; write package.module:function or "
            "package.module.function",
            where,
        )
    return [".".join(parts[:k]) for k in range(len(parts) - 1, 0, -1)]
