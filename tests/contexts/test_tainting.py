"""TaintContext: labels are where the data went, and no output that changes is without."""

import asyncio
import contextvars
import io
import json
import os
import pathlib
import sys
import threading
from argparse import ArgumentParser
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxdispatch import overdub
from ctxdispatch.contexts import TaintContext
from ctxdispatch_contexts.tainting import Labels, TaintError, sources, taints

# -- one call --------------------------------------------------------------------------------------


def test_labels_have_the_structure_of_the_result():
    def f(x, y, opts):
        return {"sum": x[0] + y, "n": len(x), "both": [opts["k"], (opts["m"],)], "constant": 1}

    x, opts = [1.0, 2.0], {"k": 1, "m": 2}
    result, labels = taints(f, x, 3, opts)
    assert result == {"sum": 4.0, "n": 2, "both": [1, (2,)], "constant": 1}
    assert labels == {"sum": {"x", "y"}, "n": {"x"}, "both": [{"opts"}, ({"opts"},)], "constant": set()}
    labels = taints(f, x, 3, opts, granular=True).labels
    assert labels == {
        "sum": {"x[0]", "y"}, "n": set(), "both": [{"opts['k']"}, ({"opts['m']"},)], "constant": set(),
    }
    assert x == [1.0, 2.0] and type(x[0]) is float and type(opts["k"]) is int


def test_each_element_of_an_array_has_its_labels():
    def f(a, w):
        b = np.zeros(4)
        b[1:] = a[:-1] * w
        b[0] = a.sum()
        return b

    a = np.arange(4.0)
    result, labels = taints(f, a, 2.0, granular=True)
    assert type(result) is np.ndarray and result.tolist() == [6.0, 0.0, 2.0, 4.0]
    assert labels.tolist() == [
        {"a[0]", "a[1]", "a[2]", "a[3]"}, {"a[0]", "w"}, {"a[1]", "w"}, {"a[2]", "w"},
    ]  # fmt: skip
    assert taints(f, a, 2.0).labels.tolist() == [{"a"}, {"a", "w"}, {"a", "w"}, {"a", "w"}]


@dataclass
class Account:
    owner: str
    balance: float


def test_attributes_of_objects_have_labels_of_their_own():
    def f(account, rate):
        account.balance *= rate
        return account, account.owner.title()

    account = Account("ada", 2.0)
    (result, title), labels = taints(f, account, 1.5, granular=True)
    assert result is account and account.balance == 3.0 and type(account.balance) is float
    assert labels == ({"owner": {"account.owner"}, "balance": {"account.balance", "rate"}}, {"account.owner"})
    assert title == "Ada"
    assert taints(f, account, 1.5).labels[1] == {"account"}


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


def test_slots_are_attributes():
    point = Point(1, 2)
    result, labels = taints(lambda p, k: Point(p.y, k), point, 3, granular=True)
    assert labels == {"x": {"p.y"}, "y": {"k"}}
    assert type(result.x) is int and type(point.x) is int


def test_arguments_are_named_as_the_function_names_them():
    def f(a, *rest, k, **others):
        return a, rest[1], k, others["z"]

    assert taints(f, 1, 2, 3, k=4, z=5).labels == ({"a"}, {"rest[1]"}, {"k"}, {"z"})
    assert sources(f)(1, 2, 3, k=4, z=5) == {"a", "rest[1]", "k", "z"}
    assert repr(Labels({"b", "a"})) == "{'a', 'b'}"


def test_an_exception_is_raised_and_arguments_are_clean_after_it():
    def f(xs, y):
        xs[0] = y
        raise KeyError(y)

    xs = [1]
    with pytest.raises(KeyError):
        taints(f, xs, 2, granular=True)
    assert type(xs[0]) is int and xs == [2]


def test_one_object_in_two_arguments_has_both_labels():
    xs = [1]
    assert taints(lambda a, b: a[0], xs, xs).labels == {"a", "b"}


# -- sinks, sources, sanitizers --------------------------------------------------------------------


def execute(query):
    return len(query)


class Log:
    lines = []

    def write(self, line):
        self.lines.append(line)


def test_a_sink_raises_at_the_line_of_the_call():
    def f(user, password):
        execute("name = " + user)
        return execute(["where", {"x": f"{password}"}])  # the line

    ctx = TaintContext(sinks={execute: {"password"}})
    with pytest.raises(TaintError) as info:
        overdub(ctx, f, ctx.label("ada", "user"), ctx.label("pw", "password"))
    finding = info.value.finding
    assert finding.labels == {"password"} and finding.function is execute
    assert finding.position.line == f.__code__.co_firstlineno + 2
    assert str(info.value).endswith("test_tainting.execute")
    assert overdub(ctx, f, ctx.label("ada", "user"), "pw") == 2


@pytest.mark.parametrize("sink", [Log.write, Log().write, os.path.exists, str.encode, print])
def test_methods_and_builtins_are_sinks(sink, capsys):
    calls = {
        Log.write: lambda x: Log().write(x), os.path.exists: lambda x: os.path.exists(x),
        str.encode: lambda x: x.encode(), print: lambda x: print(1, x, sep="-"),
    }  # fmt: skip
    ctx = TaintContext(sinks=[sink], record=True)
    overdub(ctx, calls.get(sink, calls[Log.write]), ctx.label("text", "x"))
    assert [f.labels for f in ctx.findings] == [{"x"}]
    overdub(ctx, calls.get(sink, calls[Log.write]), "text")
    assert len(ctx.findings) == 1


def test_a_sink_that_cannot_be_called_is_an_error():
    with pytest.raises(TypeError, match="no sink"):
        TaintContext(sinks=["os.system"])


def test_the_result_of_a_sanitizer_is_clean():
    def quoted(text):
        return "'" + text + "'"

    def f(x):
        execute(quoted(x))
        execute(x.strip())
        execute(x)

    ctx = TaintContext(sinks=[execute], sanitizers=[quoted, str.strip], record=True)
    overdub(ctx, f, ctx.label("x", "x"))
    assert [f.position.line for f in ctx.findings] == [f.__code__.co_firstlineno + 3]


def test_sources_label_what_they_return():
    def f():
        return read(), ask("name"), ask("age")

    def read():
        return [1, 2]

    def ask(what):
        return len(what)

    ctx = TaintContext(sources={read: "disk", ask: lambda what: f"asked {what}"})
    made = overdub(ctx, f)
    from ctxdispatch_contexts.tainting import all_labels

    assert [*map(lambda v: all_labels(ctx, v), made)] == [{"disk"}, {"asked name"}, {"asked age"}]


def test_a_path_made_of_labelled_text_goes_where_paths_go(tmp_path):
    (tmp_path / "data.txt").write_text("text")

    def f(text):
        path = pathlib.Path(text)
        with open(path) as file:
            return os.stat(path).st_size, path.exists(), file.read(), [p.name for p in path.parent.iterdir()]

    ctx = TaintContext(sources={open: lambda path, *more: f"file {path}"})
    size, exists, read, names = overdub(ctx, f, ctx.label(str(tmp_path / "data.txt"), "text"))
    assert ctx.clean([size, exists, read, names]) == [4, True, "text", ["data.txt"]]
    assert ctx.metadata(size) == {"text"} and f"file {tmp_path / 'data.txt'}" in ctx.metadata(read)


def test_what_says_a_label_may_call_the_source_itself():
    ctx = TaintContext(sources={os.getcwd: lambda: f"cwd {os.getcwd()}"})
    assert ctx.metadata(overdub(ctx, lambda: os.getcwd())) == {f"cwd {os.getcwd()}"}


def test_an_asynchronous_generator_that_is_left_is_closed():
    async def numbers(x, log):
        try:
            for k in range(9):
                yield x + k
        finally:
            log.append("closed")

    async def first(x, log):
        async for y in numbers(x, log):
            return y

    log, ctx = [], TaintContext()
    out = overdub(ctx, lambda x: asyncio.run(first(x, log)), ctx.label(1.0, "x"))
    assert ctx.untag(out) == 1.0 and ctx.metadata(out) == {"x"} and log == ["closed"]


def test_a_labelled_execution_context_runs_what_it_is_given():
    ctx = TaintContext()

    def f(held):
        return held["run"].run(lambda x: x + 1, held["x"])

    held = ctx.label({"run": contextvars.copy_context(), "x": 1}, "held", granular=True)
    assert ctx.metadata(overdub(ctx, f, held)) == {"held['x']"}
    handle = ctx.tag(contextvars.copy_context(), Labels({"loop"}))
    assert overdub(ctx, lambda: handle.run(lambda: 3)) == 3


def test_labels_and_findings_are_those_of_all_threads():
    def work(x, k):
        execute(f"{x}{k}")

    def f(x):
        threads = [threading.Thread(target=work, args=(x, k)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    ctx = TaintContext(sinks=[execute], record=True)
    overdub(ctx, f, ctx.label("x", "x"))
    assert len(ctx.findings) == 8


# -- from a command line ---------------------------------------------------------------------------


def options(*argv):
    parser = ArgumentParser()
    TaintContext.add_options(parser)
    return parser.parse_args(argv)


def test_a_command_line_labels_what_comes_from_outside(monkeypatch, tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("one\ntwo\n")
    monkeypatch.setattr(sys, "argv", ["prog", "first", str(path)])
    monkeypatch.setenv("HOME_OF_TEST", "here")
    monkeypatch.setattr(sys, "stdin", io.StringIO("line\n"))

    def main():
        execute(sys.argv[1])
        execute(os.environ["HOME_OF_TEST"])
        execute(os.environ.get("HOME_OF_TEST"))
        execute(os.getenv("HOME_OF_TEST"))
        execute(sys.stdin.read())
        with open("".join([*sys.argv[2]])) as file:
            for line in file:
                execute(line)
        execute("nothing")

    given = options("--sink", f"{__name__}.execute")
    ctx = TaintContext.from_options(given)
    overdub(ctx, main)
    environ = {"environ['HOME_OF_TEST']"}
    file = {f"file {str(path)!r}", "argv[2]"}
    assert [f.labels - {"argv[2]"} for f in ctx.findings] == [
        {"argv[1]"}, environ, environ, environ, {"stdin"}, *[file - {"argv[2]"}] * 2,
    ]  # fmt: skip
    assert sys.argv == ["prog", "first", str(path)] and type(sys.argv[1]) is str
    assert ctx.report(given).count("reached") == 6  # the loop's line once


def test_a_command_line_chooses_inputs_and_stops():
    given = options("--input", "environ", "--sink", f"{__name__}.execute=environ", "--stop")
    ctx = TaintContext.from_options(given)
    with pytest.raises(TaintError):
        overdub(ctx, lambda: execute(os.environ["PATH"]))
    assert TaintContext.from_options(given).report(given) == "no label reached a sink"
    with pytest.raises(ValueError, match="has no 'nothing'"):
        TaintContext.from_options(options("--sink", "os.nothing"))


# -- against perturbation --------------------------------------------------------------------------

STEPS = {
    "add": lambda s: s + [s[-1] + s[0]],
    "multiply": lambda s: s + [s[-1] * s[1]],
    "divmod": lambda s: s + [divmod(s[0], 1 + abs(s[-1]))[1]],
    "pair": lambda s: s + [(s[0], s[-1])[1]],
    "swap": lambda s: s[::-1],
    "rotate": lambda s: s[1:] + s[:1],
    "index": lambda s: s + [s[s[0] % len(s)]],
    "store": lambda s: stored([*s], s[1] % len(s), s[0]),
    "insert": lambda s: inserted([*s], s[0] % len(s), 7),
    "pop": lambda s: popped([*s], s[2] % len(s)),
    "dict": lambda s: s + [{"a": s[0], s[1] % 3: s[2], 1: 5}.get(1)],
    "keys": lambda s: s + [len({s[0] % 3, s[1] % 3})],
    "members": lambda s: s + [int(s[0] in s[1:])],
    "sort": lambda s: sorted(s),
    "sort by": lambda s: [*s, *sorted(range(3), key=lambda k: s[k])],
    "maximum": lambda s: s + [max(s[:2]), min(s[1:])],
    "sum": lambda s: s + [sum(s), sum(v for v in s[:2])],
    "text": lambda s: s + [int(f"{abs(s[0])}{abs(s[1])}"), len(str(s[2]))],
    "join": lambda s: s + [len(",".join(map(str, s)))],
    "compare": lambda s: s + [int(s[0] < s[1]), int(not s[2])],
    "range": lambda s: s + [sum(range(abs(s[0]) % 5))],
    "unpack": lambda s: unpacked(*s),
    "zip": lambda s: [a - b for a, b in zip(s, s[1:])] + s[:3],
    "array": lambda s: s + np.array(s)[::-1].tolist(),
    "array item": lambda s: s + [int(np.array(s)[1] + np.array(s)[s[0] % 3])],
    "array store": lambda s: [*map(int, array_store(s))],
    "array view": lambda s: [*map(int, array_view(s))],
    "array mask": lambda s: s + [int(np.where(np.array(s[:3]) > 1, s[0], s[1])[k]) for k in range(3)],
    "array stack": lambda s: s + [int(v) for v in np.concatenate([np.array(s[:2]), np.zeros(1, int)])],
    "array sort": lambda s: [int(v) for v in np.sort(np.array(s))],
    "array sum": lambda s: s + [int(v) for v in np.array([s[:3], s[:3]]).sum(axis=0)],
    "array out": lambda s: [int(v) for v in array_out(s)],
}


def stored(s, k, v):
    s[k] = v
    return s


def inserted(s, k, v):
    s.insert(k, v)
    return s


def popped(s, k):
    s.append(s.pop(k))
    return s


def unpacked(a, *rest, last=0):
    *middle, end = rest
    return [end, *middle, a, last]


def array_store(s):
    a = np.zeros(len(s) + 2, int)
    a[: len(s)] = s
    a[s[0] % 3] = s[1]
    return a


def array_view(s):
    a = np.zeros((3, 2), int)
    column = a[:, 1]
    a[1] = [s[0], s[1]]
    column[2] = s[2]
    return [*column, *a.ravel()]


def array_out(s):
    a = np.array(s)
    np.add(a[:-1], a[1:], out=a[:-1])
    a[1:] += a[:-1]
    return a


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    st.lists(st.integers(-9, 9), min_size=3, max_size=4),
    st.lists(st.integers(-9, 9), min_size=4, max_size=4),
)
def test_each_output_that_changes_with_an_input_has_its_label(steps, inputs, others):
    def program(*s):
        s = [*s]
        for step in steps:
            s = STEPS[step](s)
        return s

    result, labels = taints(program, *inputs)
    plain = program(*inputs)
    assert result == plain and not any(type(v).__name__ == "Tagged" for v in result)
    for k, other in zip(range(len(inputs)), others):
        changed = program(*inputs[:k], other, *inputs[k + 1 :])
        for before, after, label in zip(plain, changed, labels):
            assert before == after or f"s[{k}]" in label, (steps, k)


@pytest.mark.parametrize("step", sorted(STEPS))
def test_each_step_alone_labels_what_it_changes(step):
    for inputs, k, other in [((3, 1, 2), 0, 5), ((3, 1, 2), 1, 4), ((0, 0, 0), 2, 1), ((-1, 2, 9), 0, 2)]:
        result, labels = taints(lambda *s: STEPS[step]([*s]), *inputs)
        assert result == STEPS[step]([*inputs])
        changed = STEPS[step]([*inputs[:k], other, *inputs[k + 1 :]])
        for before, after, label in zip(result, changed, labels):
            assert before == after or f"s[{k}]" in label


def test_dicts_keep_what_has_no_label():
    assert taints(lambda x: {**x, "b": 1}, {"a": 1}).result == {"a": 1, "b": 1}
    assert taints(lambda x: {x: 1, 2: 2}, 5).result == {5: 1, 2: 2}
    ctx, kept = TaintContext(), {"k": 1}
    overdub(ctx, lambda x: kept.__setitem__(x, 2), ctx.label("q", "x"))
    ctx.clean(kept)
    assert kept == {"k": 1, "q": 2}


def hooked(s, k):
    return json.loads(s, object_hook=lambda d: d["a"] + k)


def seen_by_a_hook(s):
    seen = []
    json.loads(s, object_pairs_hook=lambda pairs: seen.append(pairs[0][1]))
    return seen[0]


def seen_by_a_parser(s):
    seen = []
    json.loads(s, parse_int=lambda text: seen.append(int(text)))
    return seen[0]


def encoded(x):
    return json.dumps({"a": [3j]}, default=lambda _: x)


def encoded_by_a_class(x):
    class Encoder(json.JSONEncoder):
        def default(self, _):
            return x

    return json.dumps(3j, cls=Encoder)


@pytest.mark.parametrize("f, args, labels", [
    (hooked, ('{"a": 1}', 5), {"s", "k"}), (seen_by_a_hook, ('{"a": 1}',), {"s"}),
    (seen_by_a_parser, ("[4]",), {"s"}), (encoded, (3.5,), {"x"}), (encoded_by_a_class, ("t",), {"x"}),
])  # fmt: skip
def test_what_functions_in_json_are_given_and_give_keeps_its_labels(f, args, labels):
    assert taints(f, *args) == (f(*args), labels)


def generator():
    try:
        got = yield 1
        yield got
    except KeyError as error:
        yield str(error)
    return 9


class Channel:
    """An iterator of the user's that is sent to."""

    def __iter__(self):
        return self

    def __next__(self):
        return 1

    def send(self, value):
        return value

    def throw(self, error):
        raise StopIteration(9)


@pytest.mark.parametrize("made", [generator, Channel])
def test_what_is_delegated_to_and_has_a_label_gets_what_is_sent_and_thrown(made):
    def delegates(k):
        delegate = [None, made()][k]

        def outer():
            yield (yield from delegate)

        it = outer()
        return [next(it), it.send(5), it.throw(KeyError("k")), *it]

    out, labels = taints(delegates, 1)
    assert out == delegates(1) and labels == [{"k"}] * len(out)
