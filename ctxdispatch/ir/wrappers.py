"""What Python code a call of an instance runs.

    called(cls)     the function behind the calls of instances of `cls`, or None where that is other code

That is the class's `__call__`, whatever the instance says that it is (`__class__`). Of `wrapt`'s wrappers,
whose `__call__` is C code that calls what they hold, it is the same in Python: so the wrapper and what it
wraps are parts of the program like any others.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, NamedTuple

import wrapt

PROXY: type = getattr(wrapt, "BaseObjectProxy", wrapt.ObjectProxy)
"""The class of what is equal to, and has the hash of, something else."""

__dispatched__ = True
"""The functions of this module are the user's program: contexts look into them."""


def class_attribute(cls: type, name: str) -> Any:
    """What the class itself holds under `name`, in the order of its MRO, or None."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def called(cls: type) -> FunctionType | None:
    found = class_attribute(cls, "__call__")
    known = FORMS.get(id(found))
    return known if known is not None else found if type(found) is FunctionType else None


def is_wrapper(cls: type) -> bool:
    """Of `wrapt`'s: what its instances hold is read without running code of the user's."""
    return id(class_attribute(cls, "__call__")) in FORMS


def parts(wrapper: Any) -> dict[str, Any]:
    """What a wrapper holds, itself: its `__dict__` is that of what it wraps."""
    return {name: getattr(wrapper, name) for name in _PARTS[called(type(wrapper))]}


class Wrapping(NamedTuple):
    """What a call of a wrapper consists of: wrapper(wrapped, instance, args, kwargs)."""

    wrapper: Any
    """None: wrapped(*args, **kwargs)."""
    wrapped: Any
    instance: Any


def held(f: Any) -> Wrapping | None:
    """Of a wrapper that is always enabled, while its `parts` are what they are; None where its arguments
    decide, too."""
    form, bound = called(type(f)), is_bound(f)
    if form is _callable_proxy:
        return Wrapping(None, f.__wrapped__, None)
    if not bound and form is not _function_wrapper:
        return None
    if not (f._self_enabled is None or f._self_enabled is True):
        return None
    if bound and f._self_instance is None and f._self_binding in _OF_FUNCTIONS:
        return None
    return Wrapping(f._self_wrapper, f.__wrapped__, _bound_to(f) if bound else _instance(f))


def is_bound(f: Any) -> bool:
    """What reading a decorated method makes, each time anew."""
    return called(type(f)) is _bound_function_wrapper


# -- what the C code does ------------------------------------------------------------------------------------


def _function_wrapper(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    if not _is_enabled(self._self_enabled):
        return self.__wrapped__(*args, **kwargs)
    return self._self_wrapper(self.__wrapped__, _instance(self), args, kwargs)


def _instance(wrapper: Any) -> Any:
    instance, binding = wrapper._self_instance, wrapper._self_binding
    if instance is None and binding in ("function", "instancemethod", "callable", "classmethod"):
        return getattr(wrapper.__wrapped__, "__self__", None)
    return instance


def _bound_function_wrapper(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    if not _is_enabled(self._self_enabled):
        return self.__wrapped__(*args, **kwargs)
    wrapped, instance = self.__wrapped__, _bound_to(self)
    unbound = instance is None and self._self_binding in _OF_FUNCTIONS
    if unbound and args and isinstance(args[0], getattr(self, "_self_owner", object)):  # C.method(c, ..)
        instance, args = args[0], args[1:]
        wrapped = _partial(wrapped, instance)
    return self._self_wrapper(wrapped, instance, args, kwargs)


_OF_FUNCTIONS = ("function", "callable")


def _bound_to(wrapper: Any) -> Any:
    of_function = wrapper._self_binding in _OF_FUNCTIONS
    return wrapper._self_instance if of_function else getattr(wrapper.__wrapped__, "__self__", None)


def _is_enabled(enabled: Any) -> Any:
    if enabled is None:
        return True
    return enabled() if callable(enabled) else enabled


def _callable_proxy(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    return self.__wrapped__(*args, **kwargs)


def _partial_proxy(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    return self.__wrapped__(*self._self_args, *args, **{**self._self_kwargs, **kwargs})


_partial: Any = wrapt.PartialCallableObjectProxy

_FIELDS = ("__wrapped__", "_self_wrapper", "_self_instance", "_self_enabled")
_PARTS: dict[Any, tuple[str, ...]] = {
    _function_wrapper: _FIELDS, _bound_function_wrapper: _FIELDS, _callable_proxy: _FIELDS[:1],
    _partial_proxy: ("__wrapped__", "_self_args", "_self_kwargs"),
}  # fmt: skip

WRAPPERS: dict[type, Any] = {
    wrapt.FunctionWrapper: _function_wrapper,
    wrapt.BoundFunctionWrapper: _bound_function_wrapper,
    wrapt.CallableObjectProxy: _callable_proxy,
    wrapt.PartialCallableObjectProxy: _partial_proxy,
}

CALLS: dict[Any, FunctionType] = {class_attribute(cls, "__call__"): form for cls, form in WRAPPERS.items()}
"""By the `__call__` that they stand for, C code or `wrapt`'s own Python code."""

FORMS = {id(call): form for call, form in CALLS.items()}
