"""The page of a call tree: its data, that it is complete in itself, and what it does in a browser.

FLAME_GRAPH_SCREENSHOT=FILE keeps a picture of a real program's page.
"""

import json
import os
import re
import threading

import pytest
from browsing import opened

from ctxdispatch import overdub
from ctxdispatch.contexts import TraceContext
from ctxdispatch_contexts.tracing import Node, Tree
from ctxdispatch_contexts.tracing.page import embedded

MS = 1_000_000
HOSTILE = '</script><script>document.title = "broken"</script><!-- <b>&amp; /*flame.css*/ \u2028'


def node(name, ms, *children, **fields):
    return Node(name, total=round(ms * MS), children=[*children], **fields)


def by_hand():
    """Of known shares: of 100 ms, 60 are in `app.load`."""
    parse = node("app.parse", 40, node("re.match", 10), node("app.parse", 20, node("re.match", 5)))
    fields = {"site": "app.py:3", "arguments": "(1, x=2)", "result": "[]"}
    load = node("app.load", 60, parse, node("app.close", 0.001), **fields)
    steps = node("app.step", 30, calls=1200, raised=7, site="app.py:9")
    piece = node("app.items", 5, resumed=True)
    main = Node("MainThread", total=100 * MS, children=[node("app.main", 100, load, steps, piece)])
    return Tree([main, Node("worker", total=8 * MS, children=[node("app.work", 8, node(HOSTILE, 4))])])


@pytest.fixture
def page(chromium, tmp_path):
    """`page(tree)`: a context manager, the page of `tree` in a browser."""

    def open_page(tree, title="Call tree", **options):
        path = tmp_path / "tree.html"
        tree.write_html(path, title)
        return opened(chromium, path, **options)

    return open_page


def box(page, name, nth=0):
    return page.locator(".call", has_text=re.compile(rf"^(\+ )?{re.escape(name)}( × .*)?$")).nth(nth)


def shares(page):
    """Of the graph's width, by text; of several boxes with one text that of the first."""
    width = page.evaluate("document.getElementById('graph').clientWidth")
    text_and_width = "all => all.map(e => [e.textContent, parseFloat(e.style.width)])"
    boxes = page.locator(".call").evaluate_all(text_and_width)
    return {text: round(wide / width, 3) for text, wide in reversed(boxes) if text}


# -- the file --------------------------------------------------------------------------------------


def data_of(text):
    found = text.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    return json.loads(found)


def test_the_page_is_complete_and_nothing_in_it_ends_its_scripts():
    text = by_hand().to_html(HOSTILE)
    assert text.lower().count("</script") == 2 and "http" not in text
    assert not re.search(r"\b(src|href|@import|url\()", text) and "/*flame.css*/ \\u2028" not in text
    assert "<title>&lt;/script&gt;" in text
    assert HOSTILE in data_of(text)["strings"]


def test_data_for_a_script_element():
    value = {"a": HOSTILE, "b": ["é", "\\u003c"]}
    assert "<" not in embedded(value) and "/*" not in embedded(value) and embedded(value).isascii()
    assert json.loads(embedded(value)) == value


def test_columns_have_all_of_the_tree():
    tree = by_hand()
    found = data_of(tree.to_html())
    strings, (main, worker) = found["strings"], found["threads"]
    assert main["thread"] == "MainThread" and len(worker["name"]) == 3
    rows = [*zip(main["name"], main["parent"], main["total"])]
    assert [strings[k] for k, _, _ in rows[1:]] == [each.name for each in tree][: len(rows) - 1]
    assert [strings[rows[up][0]] for _, up, _ in rows[1:4]] == ["MainThread", "app.main", "app.load"]
    assert strings[main["text"][2]] == "(1, x=2) -> []" and strings[main["site"][2]] == "app.py:3"


# -- the graph -------------------------------------------------------------------------------------


def test_boxes_are_as_wide_as_their_times_and_lie_below_their_callers(page):
    with page(by_hand(), "by hand") as shown:
        assert shown.title() == "by hand" and shown.inner_text("h1") == "by hand"
        found = shares(shown)
        assert found["app.main"] == 1 and found["app.load"] == 0.6 and found["app.step × 1200"] == 0.3
        load, parse, inner = box(shown, "app.load"), box(shown, "app.parse"), box(shown, "app.parse", 1)
        tops = [each.bounding_box()["y"] for each in (box(shown, "app.main"), load, parse, inner)]
        assert [b - a for a, b in zip(tops, tops[1:])] == [20, 20, 20]
        assert parse.bounding_box()["x"] == load.bounding_box()["x"]
        step, width = box(shown, "app.step").bounding_box(), shown.locator("#graph").bounding_box()["width"]
        assert step["x"] == pytest.approx(load.bounding_box()["x"] + 0.6 * width, abs=3)
        assert box(shown, "app.close").count() == 0
        assert shown.inner_text("#hidden").startswith("1 call is too narrow")


def test_zoom_and_back(page):
    with page(by_hand()) as shown:
        box(shown, "app.load").click()
        found = shares(shown)
        assert found["app.load"] == 1 and found["app.parse"] == 0.667 and "app.step × 1200" not in found
        assert found["app.main"] == 1 and shown.locator(".call.around").count() == 2
        assert shown.locator("#path button").all_inner_texts() == ["MainThread", "app.main", "app.load"]
        box(shown, "app.parse", 1).click()
        assert shares(shown)["re.match"] == 0.25 and shown.locator("#path button").count() == 5
        shown.locator("#path button", has_text="app.main").click()
        assert shares(shown)["app.load"] == 0.6
        box(shown, "app.step").click()
        assert shares(shown)["app.step × 1200"] == 1
        shown.click("#reset")
        assert shares(shown)["app.load"] == 0.6 and shown.locator("#path button").count() == 1


def test_fold_and_unfold(page):
    with page(by_hand()) as shown:
        before = shares(shown)
        box(shown, "app.load").click(button="right")
        assert shown.locator(".call").all_inner_texts()[2] == "+ app.load"
        assert box(shown, "app.parse").count() == 0
        box(shown, "app.load").hover()
        assert "folded: 5 calls" in shown.inner_text("#tip")
        box(shown, "app.load").click(modifiers=["Shift"])
        assert shares(shown) == before
        box(shown, "app.parse", 1).click(modifiers=["Shift"])
        box(shown, "app.load").click(modifiers=["Shift"])
        shown.click("#unfold")
        assert shares(shown) == before
        box(shown, "app.items").click(button="right")
        assert shown.locator(".call.folded").count() == 0  # there is nothing below


def test_search_marks_matches_and_says_their_share(page):
    with page(by_hand()) as shown:
        shown.fill("#search", "PARSE")
        assert shown.locator(".call.hit").all_inner_texts() == ["app.parse", "app.parse"]
        assert shown.inner_text("#found") == "2 calls, 40.000 ms, 40.0 %"
        assert shown.locator(".call.miss").count() == shown.locator(".call").count() - 2
        shown.fill("#search", "/^app\\.(step|items)$/")
        assert shown.inner_text("#found") == "1,201 calls, 35.000 ms, 35.0 %"
        box(shown, "app.load").click()
        assert shown.inner_text("#found").endswith("35.0 %") and shown.locator(".call.hit").count() == 0
        shown.fill("#search", "/(/")
        assert shown.inner_text("#found") == "" and shown.locator("#search:invalid").count() == 1
        shown.fill("#search", "no such name")
        assert shown.inner_text("#found") == "0 calls, 0.000 ms, 0.0 %"
        shown.fill("#search", "")
        assert shown.inner_text("#found") == "" and shown.locator(".call.miss").count() == 0


def test_threads_are_chosen_one_by_one(page):
    with page(by_hand()) as shown:
        shown.select_option("#thread", "worker")
        assert set(shares(shown)) == {"worker", "app.work", HOSTILE} and shown.title() == "Call tree"
        assert shown.locator("#table tbody tr").count() == 2
        shown.select_option("#thread", "MainThread")
        assert shares(shown)["app.load"] == 0.6
    with page(Tree(by_hand().roots[1:])) as shown:
        assert not shown.locator("#thread").is_visible()


def test_the_tip_says_calls_times_arguments_and_place(page):
    with page(by_hand()) as shown:
        box(shown, "app.load").hover()
        assert shown.inner_text("#tip").splitlines() == [
            "app.load", "(1, x=2) -> []", "total 60.000 ms (60.0 %), self 19.999 ms", "1 call",
            "called at app.py:3",
        ]  # fmt: skip
        box(shown, "app.step").hover()
        assert shown.inner_text("#tip").splitlines()[2:] == [
            "1,200 calls", "7 left by an exception", "called at app.py:9",
        ]  # fmt: skip
        box(shown, "app.items").hover()
        assert shown.inner_text("#tip").splitlines()[0] == "app.items (resumed)"
        shown.mouse.move(5, 5)
        assert not shown.locator("#tip").is_visible()


def test_the_table_is_by_function_and_sorts(page):
    def rows():
        return [row.split("\t") for row in shown.locator("#table tbody").inner_text().splitlines()]

    with page(by_hand()) as shown:
        assert rows()[:3] == [
            ["app.step", "1,200", "30.000", "30.000"], ["app.parse", "2", "25.000", "40.000"],
            ["app.load", "1", "19.999", "60.000"],
        ]  # fmt: skip
        assert shown.locator("th[aria-sort=descending]").inner_text().startswith("self")
        shown.locator("th button", has_text="total").click()
        assert [row[0] for row in rows()][:3] == ["app.main", "app.load", "app.parse"]
        shown.locator("th button", has_text="total").click()
        assert rows()[-1][0] == "app.main" and shown.locator("th[aria-sort=ascending]").count() == 1
        shown.locator("th button", has_text="function").click()
        assert [row[0] for row in rows()] == sorted(row[0] for row in rows())
        shown.locator("td button", has_text="re.match").click()
        assert shown.input_value("#search") == "re.match" and shown.inner_text("#found").startswith("2 calls")


# -- keyboard, colors, sizes -----------------------------------------------------------------------


def test_everything_is_reached_by_keys(page):
    with page(by_hand()) as shown:
        shown.keyboard.press("/")
        shown.keyboard.type("match")
        assert shown.inner_text("#found").startswith("2 calls")
        for _ in range(20):
            shown.keyboard.press("Tab")
            if shown.evaluate("document.activeElement.dataset.node") == "0":
                break
        pressed = []
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"):
            shown.keyboard.press(key)
            pressed.append(shown.evaluate("document.activeElement.textContent"))
        assert pressed == ["app.main", "app.load", "app.step × 1200", "app.load", "app.parse", "app.load"]
        assert "called at app.py:3" in shown.inner_text("#tip")
        shown.keyboard.press("Enter")
        assert shares(shown)["app.load"] == 1
        assert shown.evaluate("document.activeElement.textContent") == "app.load"
        shown.keyboard.press("Space")
        assert box(shown, "app.parse").count() == 0
        shown.keyboard.press("Escape")
        assert shares(shown)["+ app.load"] == 0.6
        shown.keyboard.press("u")
        assert shares(shown)["app.parse"] == 0.4
        shown.keyboard.press("Enter")
        shown.keyboard.press("Home")
        assert shares(shown)["app.load"] == 0.6


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_and_the_button(page, scheme):
    with page(by_hand(), color_scheme=scheme) as shown:
        shade = "getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number)[0]"
        assert (shown.evaluate(shade) > 128) == (scheme == "light")
        shown.click("#theme")
        assert (shown.evaluate(shade) > 128) == (scheme == "dark")
        shown.click("#theme")
        assert (shown.evaluate(shade) > 128) == (scheme == "light")


def test_narrow_windows_and_no_calls(page):
    with page(by_hand(), viewport={"width": 400, "height": 700}) as shown:
        assert shown.evaluate("document.documentElement.scrollWidth") <= 400
        shown.set_viewport_size({"width": 900, "height": 700})
        shown.wait_for_function("document.getElementById('graph').clientWidth > 800")
        assert shares(shown)["app.load"] == 0.6
    with page(Tree()) as shown:
        assert shown.locator(".call").count() == 0


def large(count):
    """A binary tree of calls with chains below them."""
    nodes = [Node(f"m{k % 7}.f{k % 97}", total=0, site=f"m.py:{k % 500}") for k in range(count)]
    for k in range(count - 1, 0, -1):
        nodes[k].total += MS // 10
        nodes[(k - 1) // 2].children.insert(0, nodes[k])
        nodes[(k - 1) // 2].total += nodes[k].total
    return Tree([Node("MainThread", total=nodes[0].total, children=nodes[:1])])


def test_a_hundred_thousand_calls_are_drawn_as_far_as_they_are_seen(page):
    with page(large(100_000)) as shown:
        drawn = shown.locator(".call").count()
        assert 100 < drawn < 12_100
        numbers = re.findall(r"[\d,]+", shown.inner_text("#hidden"))
        assert int(numbers[0].replace(",", "")) + drawn == 100_001
        shown.fill("#search", "m1.f1")
        assert re.match(r"[\d,]+ calls", shown.inner_text("#found"))
        for _ in range(12):  # down to where all is seen
            shown.evaluate("zoom([...children(zoomed)][0])")
        assert shown.inner_text("#hidden") == "" and shown.locator(".call").count() > 12
        shown.click("#reset")
        assert shown.locator(".call").count() == drawn


def test_a_tree_that_is_thousands_of_calls_deep(page):
    top = bottom = Node("f", total=MS)
    for _ in range(3000):
        bottom.children.append(Node("f", total=MS))
        bottom = bottom.children[0]
    with page(Tree([Node("MainThread", total=MS, children=[top])])) as shown:
        assert shown.locator(".call").count() == 3002
        shown.evaluate("zoom(3001)")
        assert shown.locator("#path button").count() == 3002


# -- a real program --------------------------------------------------------------------------------


def encoded():
    """The encoder of the standard library in Python: with an indentation it is not the one in C."""
    data = {f"user {k}": {"id": k, "tags": ["a", "b", k], "score": k / 7, "next": None} for k in range(40)}
    return json.dumps(data, indent=1, sort_keys=True)


def program():
    thread = threading.Thread(target=lambda: json.loads(encoded()), name="reader")
    thread.start()
    thread.join()
    optimize = pytest.importorskip("scipy.optimize")
    found = optimize.minimize(optimize.rosen, [1.3, 0.7, 0.8], method="BFGS", options={"maxiter": 8})
    return found.x.tolist()


def test_the_page_of_a_real_program(page):
    ctx = TraceContext(exclude=("threading.*", "_thread.*"))
    overdub(TraceContext(), program)
    assert overdub(ctx, program) == program()
    tree = ctx.tree
    for each in tree:
        each.site = "/".join(each.site.split("/")[-3:])
    with page(tree, "scipy.optimize.minimize", viewport={"width": 1200, "height": 860}) as shown:
        shown.fill("#search", "rosen")
        count, share = re.match(r"([\d,]+) calls, .* ms, ([\d.]+) %", shown.inner_text("#found")).groups()
        assert int(count) >= 20 and 0 < float(share) < 100
        assert "_minimize_bfgs" in shown.locator("#table").inner_text()
        if path := os.environ.get("FLAME_GRAPH_SCREENSHOT"):
            shown.locator(".call", has_text="_minimize_bfgs").first.click()
            shown.locator(".call", has_text="line_search").first.hover()
            shown.screenshot(path=path)
        shown.select_option("#thread", "reader")
        assert "json.loads" in shown.locator("#table").inner_text()
