"""Tags belong to one run."""

import copy

import pytest

from ctxdispatch.dispatch import Context, metadata, tag, untag
from ctxdispatch.dispatch.tags import parent


class Ctx(Context):
    depth: int = 0


class Node:
    pass


@pytest.mark.parametrize("value", [1.5, [1], "text", None, object()])
def test_untag_gives_the_value_itself(value):
    ctx = Ctx()
    tagged = tag(ctx, value, "meta")
    assert untag(ctx, tagged) is value
    assert metadata(ctx, tagged) == "meta" and metadata(ctx, value, "none") == "none"
    assert ctx.untag(ctx.tag(value, 1)) is value and ctx.metadata(ctx.tag(value, 1)) == 1


def test_only_a_run_s_own_tags_are_stripped():
    outer, inner = Ctx(), Ctx()
    once = tag(outer, 2.0, "outer")
    twice = tag(inner, once, "inner")
    assert untag(outer, twice) is twice and metadata(outer, twice) is None
    assert untag(inner, twice) is once and untag(outer, once) == 2.0
    assert parent(twice) is outer._run and parent(once) is None


def test_replace_stays_in_the_run_and_retagging_replaces():
    ctx = Ctx()
    deeper = ctx.replace(depth=1)
    tagged = tag(ctx, 1.0, "a")
    assert metadata(deeper, tagged) == "a"
    assert untag(ctx, tag(deeper, tagged, "b")) == 1.0 and type(untag(ctx, tag(deeper, tagged, "b"))) is float


def test_tags_survive_containers_fields_and_swaps():
    ctx, node, items = Ctx(), Node(), []
    node.x, node.y = tag(ctx, 1.0, "x"), tag(ctx, 2.0, "y")
    node.x, node.y = node.y, node.x
    items.append(node.x)
    held = {"k": (items[0], lambda: node.y)}
    assert metadata(ctx, held["k"][0]) == "y" and metadata(ctx, held["k"][1]()) == "x"
    assert items[0] + 1 == 3.0


def test_copies_keep_the_tag():
    ctx = Ctx()
    tagged = tag(ctx, [1, 2], {"m": 1})
    for other in (copy.copy(tagged), copy.deepcopy(tagged)):
        assert untag(ctx, other) == [1, 2] and untag(ctx, other) is not untag(ctx, tagged)
        assert metadata(ctx, other) == {"m": 1}
