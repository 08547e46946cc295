"""Tags: metadata that travels with a value through a run.

Invariants:
  * a tag belongs to one run (a context instance and what `replace` made of it): another run, of the same
    class too, neither sees nor strips it;
  * `untag(ctx, tag(ctx, x)) is x`; tags of different runs nest, each knows the run of the one within.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wrapt

from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

if TYPE_CHECKING:
    from ctxdispatch.dispatch.context import Context, Run

    _Proxy = wrapt.ObjectProxy[Any]
else:
    _Proxy = wrapt.ObjectProxy


class Tagged(_Proxy):
    """A transparent proxy: to code that does not know about tags it is the value."""

    def __init__(self, value: Any, run: Run, metadata: Any) -> None:
        super().__init__(value)
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
        import copy

        return Tagged(copy.copy(self.__wrapped__), self._self_run, self._self_metadata)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tagged:
        import copy

        value, metadata = copy.deepcopy((self.__wrapped__, self._self_metadata), memo)
        return Tagged(value, self._self_run, metadata)


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


def called(f: Tagged, ctx: Context) -> Any:
    """What `ctx` runs in place of a tagged callable."""
    from ctxdispatch.dispatch.overdub import native, resolve

    return native(ctx, f) if has(ctx._run, f) else resolve(ctx, f.__wrapped__)


def parent(value: Any) -> Run | None:
    """The run whose tag lies within the tag of `value`; None if there is none."""
    return value._self_parent if type(value) is Tagged else None


def _own(ctx: Context, value: Any) -> bool:
    return type(value) is Tagged and value._self_run is ctx._run
