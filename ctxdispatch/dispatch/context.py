"""`Context`: what a run dispatches on.

    class Count(Context):
        calls: collections.Counter                     # fields, as in a frozen dataclass

        def prehook(self, f, args, kwargs):
            self.calls[f] += 1

    overdub(Count(Counter()), f, x)

Invariants: an instance never changes (`replace` makes another); what a class intercepts depends on the
class alone, so one rewritten code object serves all its instances.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from types import CellType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

from ctxdispatch.dispatch import checks, rules
from ctxdispatch.dispatch.memory import Memory
from ctxdispatch.facts import canonical
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ctxdispatch.ir.values import Position

F = TypeVar("F", bound=Callable[..., Any])
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


@dataclass_transform(frozen_default=True)
@dataclasses.dataclass(frozen=True)
class Context(metaclass=rules.Registered):
    """Subclass it; annotations become fields.

    Hooks watch the program: they run as they are, and contexts further out are not asked about them. Rules
    and `fallback` are parts of the program: contexts further out see what they do.

    `intercepts` names the kinds of operation that are dispatched (see `transform.KINDS`) and single functions
    (`operator.mul`). None: those that have a rule; if a hook or `fallback` is overridden,
    `transform.HOOKED` too. `rules_are_shortcuts`: each rule gives what following the function gives, so that
    nobody need be warned where a context further in keeps it from running.
    """

    intercepts: ClassVar[Iterable[Any] | None] = None
    rules_are_shortcuts: ClassVar[bool] = False
    _twins: ClassVar[dict[int, Any]]
    _looks_everywhere: ClassVar[bool] = False  # also into modules with `__undispatched__`
    _sees_objects: ClassVar[bool] = False  # `_new` makes those of classes without `__new__`, too
    _beforehand: ClassVar[bool] = False  # of an instance, True: all code is rewritten already (`static`)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self.__dict__["_twins"] = {}  # no field: the functions rewritten for this instance, by id
        return self

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        checks.check_class(cls)
        dataclasses.dataclass(frozen=True)(cls)
        for name in ("__setattr__", "__delattr__"):
            type.__setattr__(cls, name, checks.refuse_change)

    # -- to override -------------------------------------------------------------------------------

    def prehook(self, f: Any, args: Args, kwargs: Kwargs) -> None:
        """Runs before every dispatched call f(*args, **kwargs); the outermost function is not one.

        What the code of the hooks does not name is not made: whoever looks into the frame of such a hook
        finds (), {} and, for a method, None there."""

    def posthook(self, out: Any, f: Any, args: Args, kwargs: Kwargs) -> None:
        """Runs after every dispatched call that returned `out`; not after an exception."""

    def fallback(self, f: Any, args: Args, kwargs: Kwargs) -> Any:
        """Runs a callee that has neither a rule nor Python code."""
        return f(*args, **kwargs)

    def transform(self, graph: Graph) -> Graph:
        """The rewritten program. Depends on the class alone: its result is shared by all instances."""
        from ctxdispatch.dispatch.transform import dispatch_calls

        return dispatch_calls(graph, type(self))

    def program(self, f: Any, args: Args, kwargs: Kwargs) -> Callable[..., Any]:
        """The callable that, called with these arguments, is `f` under this context.

        An outer context rewrites what this returns: so it is the program, not the machinery.
        """
        from ctxdispatch.dispatch.overdub import program

        return program(self, f)

    def enter(self, f: Any, args: Args, kwargs: Kwargs) -> Any:
        """What `overdub(self, f, *args, **kwargs)` does."""
        return self.program(f, args, kwargs)(*args, **kwargs)

    def replace(self, **fields: Any) -> Self:
        """This context with other values for some fields. It belongs to the same run: tags stay its own."""
        other = dataclasses.replace(self, **fields)
        other.__dict__["_run_id"] = self._run
        return other

    def where(self) -> Position | None:
        """The place in the user's program that a hook, a rule or `fallback` was called for: file, function,
        line, columns. `str` of it is `file:line in function`. None where no program of a context is on the
        stack."""
        from ctxdispatch.dispatch.where import caller, position

        frame = caller(self, sys._getframe(1))
        return None if frame is None else position(frame)

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        """Declare the options that `python -m ctxdispatch run --context NAME` takes for this context."""

    @classmethod
    def from_options(cls, options: Namespace) -> Self:
        """The instance for options that were given there."""
        return cls()

    def report(self, options: Namespace) -> str:
        """What to print when the program has ended, after an exception too."""
        return ""

    # -- rules -------------------------------------------------------------------------------------

    @classmethod
    def rule(cls, callee: Any, *types: type) -> Callable[[F], F]:
        """Decorator: `function(ctx, *args, **kwargs)` runs in place of `callee`; with `types`, when the
        positional arguments are instances of them.

        A bound method stands for the function that it binds, for all instances, so the rule is given the
        instance too: `@Mock.rule(random.random)` is for `def rule(ctx, generator): ...`.
        """

        checks.check_callee(cls, callee, types)

        def register(function: F) -> F:
            checks.check_rule(cls, callee, types, function)
            rules.add(cls, callee, types, function)
            return function

        return register

    @classmethod
    def unrule(cls, *callees: Any) -> None:
        """Take back the rules for `callees`, for this class the inherited ones too. KeyError if there are
        none."""
        for callee in callees:
            rules.remove(cls, callee)

    @classmethod
    def find_rule(cls, callee: Any, argtypes: tuple[type, ...] = ()) -> rules.Rule | None:
        """The rule for `callee` called with positional arguments of these types."""
        function, bound = canonical(callee)
        return rules.find(cls, function, (*map(type, bound), *argtypes))

    @classmethod
    def has_rules(cls, callee: Any) -> bool:
        """Whether the class, or one that it comes of, has a rule for `callee`, for whatever types."""
        return bool(rules.sets(cls, canonical(callee)[0]))

    # -- tags --------------------------------------------------------------------------------------

    def tag(self, value: Any, metadata: Any = None) -> Any:
        """`value` with `metadata`, for this run; a tag of this run that it has already is replaced."""
        from ctxdispatch.dispatch.tags import tag

        return tag(self, value, metadata)

    def untag(self, value: Any) -> Any:
        """`value` without the tag of this run. Values without one, and other runs' tags, are left alone."""
        from ctxdispatch.dispatch.tags import untag

        return untag(self, value)

    def metadata(self, value: Any, default: Any = None) -> Any:
        """What the tag of this run on `value` holds; `default` where it has none."""
        from ctxdispatch.dispatch.tags import metadata

        return metadata(self, value, default)

    # -- per instance, not fields ------------------------------------------------------------------

    @property
    def _cell(self) -> CellType:
        """The closure cell by which rewritten code reaches this instance."""
        cell: CellType | None = self.__dict__.get("_ctx_cell")
        return cell or self.__dict__.setdefault("_ctx_cell", CellType(self))

    @property
    def _memory(self) -> Memory:
        """What code that was rewritten for this instance remembers."""
        memory: Memory | None = self.__dict__.get("_remembered")
        return memory or self.__dict__.setdefault("_remembered", Memory(self))

    @property
    def _run(self) -> Any:
        """The identity of the run: what a tag belongs to."""
        return self.__dict__.get("_run_id") or self.__dict__.setdefault("_run_id", Run())

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if hasattr(self, f.name)}


class Run:
    """Identity is all that counts; and what was refused in it."""

    refusals: Any = None
