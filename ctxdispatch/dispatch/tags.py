"""Tags: metadata that travels with a value through a run.

Invariants:
  * a tag belongs to one run (a context instance and what `replace` made of it): another run, of the same
    class too, neither sees nor strips it;
  * `untag(ctx, tag(ctx, x)) is x`; tags of different runs nest, each knows the run of the one within.
"""

from __future__ import annotations

import functools
import operator
import weakref
from typing import TYPE_CHECKING, Any, ClassVar

import wrapt

from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

if TYPE_CHECKING:
    from ctxdispatch.dispatch.context import Context, Run

    _Proxy = wrapt.ObjectProxy[Any]
else:
    _Proxy = wrapt.ObjectProxy


class Tagged(_Proxy):
    """A transparent proxy: to code that does not know about tags it is the value."""

    alive: ClassVar[dict[int, Any]] = {}
    """By identity (what is wrapped may have no hash): while there are none, nobody need look for them."""

    def __init__(self, value: Any, run: Run, metadata: Any) -> None:
        super().__init__(value)
        Tagged.alive[id(self)] = weakref.ref(self, functools.partial(_ended, id(self)))
        self._self_run = run
        self._self_metadata = metadata
        self._self_parent = value._self_run if type(value) is Tagged else None

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a tag belongs to one run: untag the value before it is pickled")

    def __overdub__(self, ctx: Context, /, *args: Any, **kwargs: Any) -> Any:
        return called(self, ctx)(*args, **kwargs)

    def __copy__(self) -> Tagged:
        return _copied(_called, self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tagged:
        return _deeply_copied(_called, self, memo)


def _ended(identity: int, reference: Any) -> None:
    Tagged.alive.pop(identity, None)


def _called(f: Any, /, *args: Any) -> Any:
    return f(*args)


def _copied(call: Any, value: Tagged) -> Tagged:
    import copy

    return Tagged(call(copy.copy, value.__wrapped__), value._self_run, value._self_metadata)


def _deeply_copied(call: Any, value: Tagged, memo: dict[int, Any]) -> Tagged:
    import copy

    made, metadata = call(copy.deepcopy, (value.__wrapped__, value._self_metadata), memo)
    return Tagged(made, value._self_run, metadata)


def _under(run: Any) -> Any:
    """What a context runs in the place of a method that copies: the value is copied under the context."""

    def under(ctx: Context, *args: Any) -> Any:
        from ctxdispatch.dispatch.overdub import resolve

        return run(lambda f, *given: resolve(ctx, f)(*given), *args)

    return under


Tagged.__copy__.__overdub__ = _under(_copied)  # type: ignore[attr-defined]
Tagged.__deepcopy__.__overdub__ = _under(_deeply_copied)  # type: ignore[attr-defined]


def _in_place(f: Any, name: str) -> Any:
    """`x += y` of what has no `__iadd__` is `x + y`, which has no tag. (The proxy's own may make another.)"""

    def run(self: Any, other: Any) -> Any:
        out = f(self.__wrapped__, other)
        changed = out is self.__wrapped__ and hasattr(type(bare(self)), name)
        return self if changed else out

    return run


for _name in "add sub mul matmul truediv floordiv mod pow lshift rshift and or xor".split():
    setattr(Tagged, f"__i{_name}__", _in_place(getattr(operator, f"__i{_name}__"), f"__i{_name}__"))


class _OfValue:
    """A method that is the value's, bound to that: `with` finds Python code behind it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else getattr(instance.__wrapped__, self.name)


for _name in ("__enter__", "__exit__", "__aenter__", "__aexit__"):
    setattr(Tagged, _name, _OfValue(_name))


def tag(ctx: Context, value: Any, metadata: Any = None) -> Any:
    """`value` with `metadata`; a tag of this run that it has already is replaced."""
    return Tagged(untag(ctx, value), ctx._run, metadata)


def untag(ctx: Context, value: Any) -> Any:
    """`value` without this run's tag; values without one, and other runs' tags, are left alone."""
    return value.__wrapped__ if _own(ctx, value) else value


def metadata(ctx: Context, value: Any, default: Any = None) -> Any:
    """What this run's tag on `value` holds."""
    return value._self_metadata if _own(ctx, value) else default


def without(run: Run, value: Any) -> Any:
    """`value` without the tag of `run`, also where that lies within tags of other runs."""
    if type(value) is not Tagged:
        return value
    if value._self_run is run:
        return value.__wrapped__
    inner = without(run, value.__wrapped__)
    return value if inner is value.__wrapped__ else Tagged(inner, value._self_run, value._self_metadata)


def has(run: Run, value: Any) -> bool:
    """Whether `without` would take something off."""
    while type(value) is Tagged:
        if value._self_run is run:
            return True
        value = value.__wrapped__
    return False


def bare(value: Any) -> Any:
    """`value` without the tags of any run: what the interpreter's protocols ask."""
    while type(value) is Tagged:
        value = value.__wrapped__
    return value


def kind(value: Any) -> type:
    """The class that they ask."""
    cls = type(value)
    return cls if cls is not Tagged else type(bare(value))


def of_proxy(name: str) -> bool:
    """An attribute of the tag, not of the value."""
    return name in _OF_PROXIES or name.startswith("_self_")


_OF_PROXIES = ("__wrapped__", "__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__overdub__")


def called(f: Tagged, ctx: Context) -> Any:
    """What `ctx` runs in place of a tagged callable."""
    from ctxdispatch.dispatch.overdub import native, resolve

    told = getattr(type(ctx), "_carries_tags", False) and has(ctx._run, f)
    return native(ctx, f) if told else resolve(ctx, f.__wrapped__)


def parent(value: Any) -> Run | None:
    """The run whose tag lies within the tag of `value`; None if there is none."""
    return value._self_parent if type(value) is Tagged else None


def _own(ctx: Context, value: Any) -> bool:
    return type(value) is Tagged and value._self_run is ctx._run
