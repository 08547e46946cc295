"""The pytest plugin: tests that run under contexts, and `check_grads` as a fixture.

    pytest --ctxdispatch-context=nan                        every test, under NaNContext
    @pytest.mark.ctxdispatch("nan", inf=False)              one test, with fields of the context
    @pytest.mark.ctxdispatch(context=Mine)                  under a class that is not installed
    def test_gradient(check_grads): ...

What runs under a context is the body of the test and what it calls; fixtures run plainly. Names are those of
`ctxdispatch.contexts.find`. Loaded when pytest starts, it imports nothing of the engine until a test asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ctxdispatch.dispatch import Context

OPTION = "--ctxdispatch-context"
MARKER = "ctxdispatch"


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
    from_option = config.getoption("ctxdispatch_contexts")
    for name in from_option:
        _find(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    contexts = _contexts(item)
    if not contexts or not isinstance(item, pytest.Function):
        return (yield)
    plain = item.obj
    item.obj = _under(contexts, plain)
    try:
        return (yield)
    finally:
        item.obj = plain
        _report(item, contexts)


def _under(contexts: list[Context], f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` under these contexts, the first the innermost. It takes what pytest gives by name."""
    from ctxdispatch.dispatch import overdub

    def run(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        call: tuple[Any, ...] = (f,)
        for ctx in contexts:
            call = (overdub, ctx, *call)
        return call[0](*call[1:], *args, **kwargs)

    return run


def _contexts(item: pytest.Item) -> list[Context]:
    """Those of the markers, then those of the command line: new instances for each test."""
    asked = [_marked(marker) for marker in item.iter_markers(MARKER)]
    asked += [(name, {}) for name in item.config.getoption("ctxdispatch_contexts")]
    return [_find(name)(**options) for name, options in asked]


def _marked(marker: pytest.Mark) -> tuple[Any, dict[str, Any]]:
    options = dict(marker.kwargs)
    names = [*marker.args, *([options.pop("context")] if "context" in options else ())]
    if len(names) != 1:
        raise pytest.UsageError(f"@pytest.mark.{MARKER} takes the name of one context, not {names}")
    return names[0], options


def _find(name: Any) -> Any:
    from ctxdispatch.contexts import find

    if not isinstance(name, str):
        return name  # a class that is not installed
    try:
        return find(name)
    except ImportError as error:
        raise pytest.UsageError(str(error)) from None


def _report(item: pytest.Item, contexts: list[Context]) -> None:
    """What a context has to say goes into the report of the test, shown with what it printed."""
    for ctx in contexts:
        text = ctx.report(_default_options(ctx))
        if text:
            item.add_report_section("call", type(ctx).__name__, text)


def _default_options(ctx: Context) -> Any:
    from argparse import ArgumentParser

    parser = ArgumentParser()
    type(ctx).add_options(parser)
    return parser.parse_args([])
