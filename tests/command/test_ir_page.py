"""`python -m ctxdispatch ir --html`: the page, its data, and what it does in a browser."""

import json
import re

import pytest
from browsing import opened
from command_lines import CONTEXTS, python
from test_ir import PROGRAM

from ctxdispatch.command.page import embedded
from ctxdispatch.command.stages import Pipeline, Recorder, changes
from ctxdispatch.passes.snapshots import recording, snapshot

HOSTILE = '''
def hostile(x):
    """</script><script>document.title = "broken"</script><!-- <script> ]]> \u2028 &amp;"""
    return x + len("</SCRIPT ><b>")
'''


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """`written(*words)`: the path of the page for these words."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "mine.py").write_text(CONTEXTS)
    (folder / "maths.py").write_text(PROGRAM + HOSTILE)

    def write(*words):
        path = folder / f"page{len(list(folder.glob('*.html')))}.html"
        done = python("-m", "ctxdispatch", "ir", *words, "--html", str(path), cwd=folder)
        assert done.returncode == 0 and str(path) in done.stdout, done.stderr
        return path

    return write


@pytest.fixture(scope="module")
def power(written):
    return written("maths:power", "2.0", "--context", "mine:Count")


def data_of(path):
    text = path.read_text().partition('<script type="application/json" id="data">')[2]
    return json.loads(text.partition("</script>")[0])


# -- what is in it ---------------------------------------------------------------------------------


def test_every_pass_has_a_stage_in_the_order_they_are_run(power):
    stages = {p["title"]: [s["name"] for s in p["stages"]] for p in data_of(power)["pipelines"]}
    assert stages["power"] == ["lift", "infer"] and stages["Count: power"] == ["lift", "Count"]
    adjoint = iter(stages["adjoint: power"])
    wanted = ["lift", "infer", "fold, prune", "inline", "normalise", "instrument", "adjoint", "tidy"]
    wanted += ["fold", "prune", "cse", "dce", "carry signs", "peephole"]
    assert [name for name in wanted if name in adjoint] == wanted
    assert [b["name"] for b in data_of(power)["bytecodes"]] == ["plain", "Count", "adjoint"]


def lines_of(stage):
    return [text for head, lines in stage["parts"] for text in (head, *(line[0] for line in lines))]


def test_code_without_an_ssa_form_is_shown_as_contexts_see_it_and_why_there_is_no_derivative(written):
    shown = data_of(written("maths:entered", "4.5"))
    pipeline, *_ = shown["pipelines"]
    (stage,) = pipeline["stages"]
    assert "reraise" in json.dumps(stage["parts"])
    assert shown["adjoint"].startswith("not available: DerivativeError: ")


def test_changed_lines_are_those_that_differ(power):
    for pipeline in data_of(power)["pipelines"]:
        flat = [lines_of(stage) for stage in pipeline["stages"]]
        for before, after, stage in zip(flat, flat[1:], pipeline["stages"][1:]):
            assert [t for i, t in enumerate(before) if i not in stage["gone"]] == [
                t for i, t in enumerate(after) if i not in stage["new"]
            ]


def test_lines_know_their_source(power):
    found = data_of(power)
    source = {found["first"] + i: text for i, text in enumerate(found["source"])}
    parts = found["pipelines"][0]["stages"][0]["parts"] + found["bytecodes"][0]["parts"]
    lines = [line for _, lines in parts for line in lines]
    assert any("mul(" in li[0] and "result * base" in source[li[1]] for li in lines)
    assert any("BINARY_OP" in li[0] and "result * base" in source[li[1]] for li in lines)


def test_the_page_is_complete_and_nothing_in_it_ends_its_scripts(written):
    text = written("maths:hostile", "2.0").read_text()
    assert not re.search(r'(src|href)="(?!data:)', text) and "http" not in text.partition("<body>")[0]
    assert text.lower().count("</script") == 2 and "/*data*/" not in text


def test_data_for_a_script_element_has_nothing_that_html_reads():
    value = {"a": "</script><!--", "b": ["\u2028", "é", "\\u003c"]}
    assert "<" not in embedded(value) and embedded(value).isascii() and json.loads(embedded(value)) == value


def test_changes_of_lines():
    assert changes("abcd", "abxde") == ([2], [2, 4])
    assert changes("ab", "ab") == ([], []) and changes("", "a") == ([], [0])


def test_snapshots_are_for_those_who_record(power):
    from ctxdispatch.bytecode.lift import lift
    from ctxdispatch.passes.dce import dce

    def f(x):
        y = x + 1
        return x

    graph = lift(f)
    snapshot("lift", graph)
    recorder = Recorder()
    with recording(recorder):
        snapshot("lift", graph)
        dce(graph)
        snapshot("dce", graph)
    snapshot("after", graph)
    (pipeline,) = recorder.pipelines
    assert isinstance(pipeline, Pipeline) and [s.name for s in pipeline.stages] == ["lift", "dce"]
    assert len(pipeline.stages) == 2


# -- in a browser ----------------------------------------------------------------------------------


def test_passes_and_the_switch_between_before_and_after(chromium, power):
    with opened(chromium, power) as page:
        assert page.title() == "power(2.0)"
        page.get_by_role("button", name=re.compile("^adjoint")).first.click()
        assert "adjoint" in page.inner_text("#stage")
        assert page.locator("#after").is_visible() and not page.locator("#before").is_visible()
        assert page.locator("#after .new").count() > 3
        after = page.inner_text("#after")
        page.get_by_label("before", exact=True).check()
        assert page.locator("#before").is_visible() and not page.locator("#after").is_visible()
        assert page.inner_text("#before") != after and page.locator("#before .gone").count() > 0
        page.keyboard.press("s")
        assert page.locator("#before").is_visible() and page.locator("#after").is_visible()
        page.keyboard.press("a")
        assert page.inner_text("#after") == after
        page.keyboard.press("j")
        assert page.inner_text("#stage").startswith("adjoint: power: tidy")
        page.keyboard.press("k")
        assert page.inner_text("#after") == after
        plain = page.inner_text("#bytecode")
        page.get_by_role("radio", name="Count").check()
        assert len(page.inner_text("#bytecode")) > 3 * len(plain)


def test_search_counts_goes_on_and_unfolds(chromium, power):
    with opened(chromium, power) as page:
        page.keyboard.press("f")
        assert page.locator("details[open]").count() == 0
        page.keyboard.press("/")
        page.keyboard.type("mul(")
        page.keyboard.press("Enter")
        count = page.locator("mark").count()
        assert count >= 1 and page.inner_text("#found").endswith(f"/ {count}")
        assert page.locator("details[open] mark.current, .line mark.current").count() == 1
        page.fill("#search", "result")
        assert page.inner_text("#found").startswith("1 / ")
        page.keyboard.press("Enter")
        assert page.inner_text("#found").startswith("2 / ")
        page.keyboard.press("Shift+Enter")
        assert page.inner_text("#found").startswith("1 / ")
        page.fill("#search", "no such text")
        assert page.inner_text("#found") == "none" and page.locator("mark").count() == 0
        page.keyboard.press("Escape")
        assert page.inner_text("#found") == ""


def test_blocks_fold_one_by_one_and_all(chromium, power):
    with opened(chromium, power) as page:
        blocks = page.locator("#after details")
        first = blocks.first
        assert first.get_attribute("open") is not None
        first.locator("summary").focus()
        page.keyboard.press("Enter")
        assert first.get_attribute("open") is None
        page.get_by_role("button", name="fold all").click()
        assert page.locator("details[open]").count() == 0
        page.get_by_role("button", name="unfold all").click()
        assert page.locator("details[open]").count() == page.locator("details").count() > 3


def test_hovering_shows_what_belongs_together(chromium, power):
    with opened(chromium, power) as page:
        page.locator("#source .line", has_text="result * base").hover()
        assert page.locator("#after .near", has_text="mul(").count() == 1
        assert page.locator("#bytecode .near", has_text="BINARY_OP").count() == 1
        page.locator("#after .line", has_text="mul(").hover()
        assert "BINARY_OP" in page.locator("#bytecode .exact").inner_text()
        assert page.locator("#source .near").inner_text().endswith("result = result * base")
        page.mouse.move(700, 5)
        assert page.locator(".near, .exact").count() == 0


def test_the_keyboard_reaches_lines_and_holds_one(chromium, power):
    with opened(chromium, power) as page:
        page.locator("#source").focus()
        for _ in range(4):
            page.keyboard.press("ArrowDown")
        assert "while n > 0" in page.inner_text("#source .at")
        assert page.locator("#after .near", has_text="gt(").count() == 2
        page.keyboard.press("Enter")
        page.locator("#search").focus()
        assert page.locator("#after .near", has_text="gt(").count() == 2
        assert page.locator(".held").count() == 1
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        assert {"source", "after", "bytecode", "fold", "theme", "SUMMARY"} <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_and_the_button(chromium, power, scheme):
    with opened(chromium, power, color_scheme=scheme) as page:
        shade = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
        assert (page.evaluate(shade) > 128) == (scheme == "light")
        page.click("#theme")
        assert (page.evaluate(shade) > 128) == (scheme == "dark")


def test_a_hostile_docstring_is_text(chromium, written):
    with opened(chromium, written("maths:hostile", "2.0")) as page:
        assert page.title() == "hostile(2.0)" and "</script><script>" in page.inner_text("#source")


def test_a_page_for_a_narrow_window_has_no_sideways_scrolling(chromium, power):
    with opened(chromium, power, viewport={"width": 420, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
