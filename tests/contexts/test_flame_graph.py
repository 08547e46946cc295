"""The flame graph as a page: in a browser, from a file, without anything from elsewhere."""

import json
import os
import re
from pathlib import Path

import pytest
from browsing import browser, opened

from ctxdispatch_contexts.tracing import Node, Tree, to_html, write_html


def node(name, total, *children, **fields):
    made = Node(name)
    made.total, made.children = total, list(children)
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def example():
    """main: a(b, c, b), d; 100 ms. Another thread: worker."""
    c = node("c", 20_000_000, raised=True)
    a = node("a", 70_000_000, node("b", 30_000_000), c, node("b", 10_000_000))
    d = node("d</script><b>", 30_000_000, site="prog.py:7", arguments="(1, x='<i>')", result="2")
    return Tree([node("main", 0, a, d), node("worker", 0, node("w", 5_000_000, calls=3))])


def huge():
    root = node("main", 0)
    for k in range(40):
        root.children.append(node(f"f{k}", 10_000, *(node(f"g{j % 250}", 4) for j in range(2500))))
    return Tree([root])


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def test_the_data_survives_names_that_look_like_markup():
    data = data_of(to_html(example(), "<title>"))
    assert data["names"][:2] == ["main", "d</script><b>"] and len(data["threads"]) == 2
    text = to_html(example(), "<title>")
    assert "<title>&lt;title&gt;</title>" in text and text.count("</script>") == 2


def test_children_lie_within_their_parents():
    for thread in data_of(to_html(example()))["threads"]:
        rows = thread["rows"]
        for _, parent, start, total, own, *_ in rows:
            assert 0 <= own <= total
            if parent >= 0:
                assert rows[parent][2] <= start and start + total <= rows[parent][2] + rows[parent][3]


def test_the_page_asks_for_nothing():
    page = to_html(example())
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", page)


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


@pytest.fixture
def page(chromium, tmp_path):
    path = tmp_path / "flame.html"
    write_html(example(), path)
    with opened(chromium, path) as shown:
        yield shown


def calls(page):
    return [e.text_content() for e in page.query_selector_all(".call")]


def test_calls_are_as_wide_as_they_took(page):
    widths = {e.text_content(): e.bounding_box()["width"] for e in page.query_selector_all(".call")}
    assert sorted(widths) == ["a", "b", "c", "d</script><b>", "main"]
    assert widths["a"] == pytest.approx(0.7 * widths["main"], abs=1)
    assert "raised" in page.locator(".call", has_text=re.compile("^c$")).get_attribute("class")


def test_zoom_and_back(page):
    page.locator(".call", has_text=re.compile("^a$")).click()
    assert sorted(calls(page)) == ["a", "b", "b", "c", "main"]
    whole = page.locator("#graph").bounding_box()["width"]
    width = page.locator(".call", has_text=re.compile("^a$")).bounding_box()["width"]
    assert width == pytest.approx(whole, abs=3)
    assert page.locator("#path button").all_text_contents() == ["main", "a"]
    page.locator("#path button").first.click()
    assert len(calls(page)) == 6
    page.locator(".call", has_text=re.compile("^d")).click()
    page.locator("#reset").click()
    assert len(calls(page)) == 6


def test_fold_and_unfold(page):
    page.locator(".call", has_text=re.compile("^a$")).click(modifiers=["Shift"])
    assert sorted(calls(page)) == ["a", "d</script><b>", "main"]
    assert "folded" in page.locator(".call", has_text=re.compile("^a")).get_attribute("class")
    page.locator("#unfold").click()
    assert len(calls(page)) == 6


def test_search_marks_and_adds_up(page):
    page.locator("#search").fill("^b$")
    hits = page.locator(".call.hit")
    assert hits.count() == 2 and page.locator(".call.miss").count() == 4
    assert page.locator("#found").text_content() == "2 calls, 40.000 ms, 40.0 %"
    page.locator("#search").fill("a|b")
    assert page.locator("#found").text_content() == "5 calls, 100.000 ms, 100.0 %"
    page.locator("#search").fill("(")
    page.locator("#search").fill("")
    assert page.locator(".call.hit, .call.miss").count() == 0


def test_tooltips_tell_all(page):
    page.locator(".call", has_text=re.compile("^d")).hover()
    lines = page.locator("#tip").text_content().splitlines()
    assert lines[0] == "d</script><b>(1, x='<i>') -> 2"
    assert lines[1:] == ["30.000 ms (30.0 %), own 30.000 ms", "called at prog.py:7"]


def test_another_thread(page):
    page.locator("#thread").select_option(label="worker")
    assert calls(page) == ["worker", "w x 3"]
    assert page.locator("#table tbody tr").all_text_contents() == ["w35.0005.000", "worker10.0005.000"]


def test_the_table_is_sorted_as_asked(page):
    names = lambda: page.locator("#table tbody td:first-child").all_text_contents()  # noqa: E731
    assert names()[0] == "b"
    page.locator("#table button", has_text="total").click()
    assert names()[:2] == ["main", "a"]
    page.locator("#table button", has_text="function").click()
    assert names() == sorted(names())


def test_keys(page):
    page.locator(".call", has_text="main").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#path button").all_text_contents() == ["main", "a"]
    page.keyboard.press("Backspace")
    assert page.locator("#path button").all_text_contents() == ["main"]
    page.keyboard.press("/")
    page.keyboard.type("^c$")
    assert page.locator(".call.hit").count() == 1


def test_a_hundred_thousand_calls_stay_usable(chromium, tmp_path):
    path = tmp_path / "huge.html"
    write_html(huge(), path)
    with opened(chromium, path) as page:
        assert 40 < page.locator(".call").count() < 20_000
        page.locator("#search").fill("g7$")
        assert page.locator("#found").text_content().startswith("400 calls")
        page.locator('.call[aria-label^="f3,"]').click()
        assert page.locator("#path button").count() == 2


@pytest.mark.skipif("SCREENSHOTS" not in os.environ, reason="draws docs/contexts/tracing.png when asked to")
def test_screenshot_for_the_docs(chromium, tmp_path):
    import numpy as np
    from scipy.optimize import minimize, rosen

    from ctxdispatch import overdub
    from ctxdispatch.contexts import TraceContext

    ctx = TraceContext(arguments=True)
    overdub(ctx, minimize, rosen, np.array([1.3, 0.7, 0.8]), method="BFGS", options={"maxiter": 12})
    path = tmp_path / "flame.html"
    write_html(ctx.tree, path, "minimize(rosen, method='BFGS')")
    with opened(chromium, path, viewport={"width": 1200, "height": 620}) as page:
        page.locator("#search").fill("rosen")
        page.screenshot(path=Path(__file__).parents[2] / "docs" / "contexts" / "tracing.png")
