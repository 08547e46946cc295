"""A headless Chromium for pages that are files. Skips where there is none."""

import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def browser():
    """A browser; skips where playwright or Chromium is not there."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("needs Chromium")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


@contextmanager
def opened(running, path, **options):
    """The page at `path`; at the end, that nothing was written to its console, and nothing was loaded."""
    page = running.new_page(**{"viewport": {"width": 1500, "height": 800}, **options})
    said, loaded = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert said == [] and [url for url in loaded if not url.startswith("data:")] == [path.as_uri()]
