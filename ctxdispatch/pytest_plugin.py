"""The pytest plugin: tests that run under contexts, and `check_grads` as a fixture.

    pytest --ctxdispatch-context=nan                        every test, under NaNContext
    @pytest.mark.ctxdispatch("nan", inf=False)              one test, with fields of the context
    @pytest.mark.ctxdispatch(context=make)                  under what make() returns: a class, or a function
    def test_gradient(check_grads): ...

What runs under a context is the body of the test and what it calls; fixtures run plainly, and so does what
pytest has written into its `assert`s, which says why one failed. Names are those of
`ctxdispatch.contexts.find`. Loaded when pytest starts, it imports nothing of the engine until a test asks.
"""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.assertion import rewrite, util

if TYPE_CHECKING:
    from ctxdispatch.dispatch import Context

OPTION = "--ctxdispatch-context"
MARKER = "ctxdispatch"
OF_ASSERTS = (rewrite, util)
"""What pytest writes into `assert` calls functions of these."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ctxdispatch", "contextual dispatch")
    group.addoption(
        OPTION, action="append", default=[], metavar="NAME", dest="ctxdispatch_contexts",
        help="run the tests under this context (several: the first is the innermost); "
        "`python -m ctxdispatch contexts` lists them",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(name, **fields): run the test under the context of that name, or context=Class, with "
        "these fields (several markers: the nearest is the innermost)",
    )


@pytest.fixture(scope="session")
def check_grads() -> Callable[..., None]:
    """`ctxdispatch.check_grads`: compares the gradient of a function with finite differences."""
    import ctxdispatch

    return ctxdispatch.check_grads


# -- running under contexts ------------------------------------------------------------------------


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Names that mean no context are an error before any test runs."""
    for name in config.getoption("ctxdispatch_contexts"):
        _find(name)


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> None:
    """`@pytest.mark.ctxdispatch(Mine)` marks the class, says pytest, and the test is an argument of it."""
    cls = type(obj)
    if any(marker.name == MARKER for marker in vars(cls).get("pytestmark", ())):
        message = f"{name}: write @pytest.mark.{MARKER}(context={cls.__name__}), by name"
        raise collector.CollectError(message)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    asked = functools.partial(_asked, item)
    if not _is_asked(item) or not isinstance(item, pytest.Function):
        return (yield)
    if _is_async(_innermost(item.obj)):
        item.warn(pytest.PytestWarning(f"{item.nodeid} is asynchronous: it does not run under a context"))
        return (yield)
    try:
        contexts = [_made(_find(name), fields) for name, fields in asked()]
        message = ""
    except pytest.UsageError as error:
        message = str(error)
    if message:
        file, line, _ = item.location
        pytest.fail(f"{file}:{(line or 0) + 1}: {message}", pytrace=False)
    for module in OF_ASSERTS:
        module.__undispatched__ = True  # type: ignore[attr-defined]
    try:
        with _replaced(item, functools.partial(_under, contexts)):
            return (yield)
    finally:
        for ctx in contexts:
            _report(item, ctx)


@contextmanager
def _replaced(item: pytest.Function, change: Callable[[Any], Any]) -> Iterator[None]:
    """The test function is change(itself). Of Hypothesis' it is what is run for each example."""
    handle = getattr(item.obj, "hypothesis", None)
    owner, name = (item, "obj") if handle is None else (handle, "inner_test")
    plain = getattr(owner, name)
    setattr(owner, name, change(plain))
    try:
        yield
    finally:
        setattr(owner, name, plain)


def _innermost(test: Any) -> Any:
    handle = getattr(test, "hypothesis", None)
    return inspect.unwrap(test if handle is None else handle.inner_test)


def _is_async(test: Any) -> bool:
    return inspect.iscoroutinefunction(test) or inspect.isasyncgenfunction(test)


def _under(contexts: list[Context], f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` under these contexts, the first the innermost. It looks like `f` to those who read its attributes
    (`unittest.expectedFailure`) or signature."""
    from ctxdispatch.dispatch import overdub
    from ctxdispatch.dispatch.tracebacks import clean

    @functools.wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        call: tuple[Any, ...] = (f,)
        for ctx in contexts:
            call = (overdub, ctx, *call)
        try:
            return call[0](*call[1:], *args, **kwargs)
        except BaseException as error:
            clean(error)
            raise

    return run


def _asked(item: pytest.Item) -> list[tuple[Any, dict[str, Any]]]:
    """Of the markers, then of the command line: what makes a context, and the fields to make it with."""
    asked = [_marked(marker) for marker in item.iter_markers(MARKER)]
    return asked + [(name, {}) for name in item.config.getoption("ctxdispatch_contexts")]


def _is_asked(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker(MARKER) or item.config.getoption("ctxdispatch_contexts"))


def _marked(marker: pytest.Mark) -> tuple[Any, dict[str, Any]]:
    fields = dict(marker.kwargs)
    names = [*marker.args, *([fields.pop("context")] if "context" in fields else ())]
    if len(names) != 1 or not (isinstance(names[0], str) or callable(names[0])):
        message = f"@pytest.mark.{MARKER} takes the name of one context, or context=Class, not {names}"
        raise pytest.UsageError(message)
    return names[0], fields


def _find(name: Any) -> Any:
    from ctxdispatch.contexts import find

    if not isinstance(name, str):
        return name  # a class that is not installed, or a function that makes a context
    try:
        return find(name)
    except ImportError as error:
        raise pytest.UsageError(str(error)) from None


def _made(cls: Any, fields: dict[str, Any]) -> Context:
    """The instance for one test: with these fields; without any, where the class wants some, what
    `from_options` makes of a command line without options."""
    from ctxdispatch.command.selection import lacks, required

    if not issubclass(type(cls), type):
        return cls(**fields)  # type: ignore[no-any-return]
    if fields or not required(cls):
        return _with_fields(cls, fields)
    if message := lacks(cls):
        raise pytest.UsageError(f"{message}, or give the fields to the marker")
    try:
        return cls.from_options(_options(cls))  # type: ignore[no-any-return]
    except ValueError as error:
        raise pytest.UsageError(f"{cls.__name__} without options: {error}") from None


def _with_fields(cls: Any, fields: dict[str, Any]) -> Context:
    try:
        return cls(**fields)  # type: ignore[no-any-return]
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{cls.__name__}: {error}") from None


# -- what contexts report --------------------------------------------------------------------------


def _report(item: pytest.Item, ctx: Context) -> None:
    """What a context has to say goes into the report of the test, shown with what it printed. A report that
    fails does not change the outcome of the test."""
    try:
        text = ctx.report(_options(type(ctx)))
    except Exception:
        text = f"the report failed:\n{traceback.format_exc()}"
    if text:
        item.add_report_section("call", type(ctx).__name__, text)


def _options(cls: Any) -> Any:
    """Those of a command line that gives none."""
    from argparse import ArgumentParser

    class Parser(ArgumentParser):
        def error(self, message: str) -> Any:
            raise ValueError(message)  # not an exit: an option is required that only a command line has

    parser = Parser(add_help=False)
    cls.add_options(parser)
    return parser.parse_args([])
