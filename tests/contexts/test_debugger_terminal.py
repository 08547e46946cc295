"""The debugger's terminal: its commands, driven with text, directly and in a process of its own."""

import io
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ctxdispatch import overdub
from ctxdispatch_contexts.debugging import Aborted, DebugContext, Terminal

HERE = Path(__file__).name
ROOT = Path(__file__).parent.parent.parent
WRITES = sys.version_info >= (3, 13)


def price(amount, rate=0.5):
    """What it costs."""
    total = amount * (1 + rate)
    return total


def shop(amounts):
    paid = 0
    for amount in amounts:
        paid += price(amount)
    return paid


def line_of(f, n):
    return f.__code__.co_firstlineno + n


def typed(text, f=shop, *args, **options):
    """What the terminal writes for these commands."""
    out = io.StringIO()
    ctx = DebugContext.of(Terminal(io.StringIO(textwrap.dedent(text)), out), **options)
    overdub(ctx, f, *(args or ([1, 2],)))
    return out.getvalue().replace("(ctx) ", "")


def test_stops_are_announced_with_their_place():
    out = typed("s\ns\nc\n")
    assert out == (
        f"--Call--\n> {__file__}({line_of(shop, 0)})shop()\n-> def shop(amounts):\n"
        f"> {__file__}({line_of(shop, 1)})shop()\n-> paid = 0\n"
        f"> {__file__}({line_of(shop, 2)})shop()\n-> for amount in amounts:\n"
    )


def test_breakpoints_are_set_listed_changed_and_removed():
    out = typed(f"""\
        b price from shop, amount > 1
        tbreak {HERE}:{line_of(shop, 4)}
        b
        c
        p amount
        c
        b
        disable 1
        ignore 1 2
        condition 1 amount > 5
        condition 1
        enable 1
        cl 1
        b
        cl
        c
        """)
    assert "Breakpoint 1: price from shop, if amount > 1\n" in out
    assert f"Breakpoint 2: {HERE}:{line_of(shop, 4)}, temporary\n" in out
    assert f"Breakpoint 1: price from shop, if amount > 1, hit 1 times\n> {__file__}" in out
    assert "\n2\n" in out and f"({line_of(shop, 4)})shop()\n-> return paid" in out
    assert "Breakpoint 1: price from shop, if amount > 1, disabled, hit 1 times\n" in out
    assert "Breakpoint 1: price from shop, disabled, ignore next 2, hit 1 times\n" in out
    assert out.endswith("Removed breakpoint 1: price from shop, ignore next 2, hit 1 times\n"
                        "Removed all breakpoints\n")  # fmt: skip


def test_a_line_of_the_current_file_and_its_condition():
    out = typed(f"b {line_of(shop, 3)}, amount == 2\nc\np paid\nc\n")
    assert out.splitlines()[-1] == "1.5"


def test_stepping_commands():
    out = typed("n\nn\nn\ns\nr\nrv\no\nunt\nunt\nq\n".replace("q\n", "c\n"))
    places = [int(x.split("(")[1].split(")")[0]) for x in out.splitlines() if x.startswith("> ")]
    expected = [line_of(shop, k) for k in (0, 1, 2, 3)] + [line_of(price, k) for k in (0, 3)]
    assert places == expected + [line_of(shop, k) for k in (2, 3, 4)]
    assert "--Return-- 1.5\n" in out and "\n1.5\n" in out


def test_the_stack_and_the_variables_of_each_frame():
    looking = "w\na\nu\np amount, paid\nlocals\nu\nd\nd\np rate\nwhatis amount\nwhatis price\n"
    out = typed(f"b price\nc\n{looking}c\nc\n")
    assert f"  {__file__}({line_of(shop, 3)})shop()\n-> paid += price(amount)\n> {__file__}" in out
    assert "amount = 1\nrate = 0.5\n" in out and "\n(1, 0)\n" in out
    assert "amounts = [1, 2]\npaid = 0\namount = 1\n" in out
    assert "*** Oldest frame\n" in out and "*** Newest frame\n" in out
    assert "<class 'int'>\nFunction price\n" in out


def test_source_listings():
    out = typed("l\nl .\nl 1,2\nll\nsource price\nl 100000\nc\n")
    here = line_of(shop, 0)
    assert f"{here:4} -> def shop(amounts):\n" in out and "   1    " in out
    assert f"{here + 4:4}        return paid\n" in out
    assert f"{line_of(price, 2):4}        total = amount * (1 + rate)\n" in out and "*** [EOF]\n" in out


def test_values_statements_and_errors():
    out = typed("""\
        p amounts
        pp {"key": amounts}
        amounts[0]
        !extra = len(amounts) + 5
        p [extra + k for k in amounts]
        !amounts.append(3)
        p nonsense
        1 +
        !import math; math.floor(2.5)
        rv
        exception
        frobnicate 2
        help nothing
        jump 3
        until x
        c
        """)
    expected = [
        "[1, 2]", "{'key': [1, 2]}", "1", "[8, 9]", "*** NameError: name 'nonsense' is not defined",
        "*** SyntaxError", "2", "*** Not yet returned!", "*** No exception", "*** SyntaxError",
        "*** no help on nothing", "*** a program under a context cannot jump", "*** 'x' is no number",
    ]  # fmt: skip
    rest = iter(out.splitlines()[3:])
    for wanted in expected:
        assert next(rest).startswith(wanted)


def test_a_local_variable_is_changed_where_the_interpreter_can():
    out = typed("b price\nc\nn\n!amount = 100\np amount\ncl\nr\nc\n", shop, [1])
    if WRITES:
        assert "\n100\n" in out and "--Return-- 150.0" in out
    else:
        assert "*** CPython 3.1" in out and "cannot change the local variable 'amount'" in out
        assert "--Return-- 1.5" in out


def test_display_and_watch():
    out = typed("display paid\nn\nn\nn\nn\nwatch paid\nc\ndisplay\nundisplay paid\nunwatch\nundisplay\nc\n")
    assert "display paid: ** raised NameError" in out
    assert "display paid: 0  [old: ** raised NameError" in out
    assert "display paid: 1.5  [old: 0]" in out
    assert "Watch 1: paid = 1.5\n" in out and "paid: 1.5 -> 4.5\n" in out
    assert out.endswith("*** not displaying anything\n")


def fails(x):
    return shop([x, None])


def test_catch_stops_where_an_exception_leaves():
    out = io.StringIO()
    ctx = DebugContext.of(Terminal(io.StringIO("catch leaves\nc\np amount\nexception\nu\nc\n"), out))
    with pytest.raises(TypeError):
        overdub(ctx, fails, 1)
    text = out.getvalue()
    assert "--Exception-- TypeError: unsupported operand" in text and "(ctx) None\n" in text
    assert "Traceback (most recent call last):" in text


@pytest.mark.parametrize("text", ["q\n", "", "quit\n", "abort\n"])
def test_quitting_and_the_end_of_the_input_abort(text):
    with pytest.raises(Aborted):
        typed(text)


def test_every_command_has_help_and_short_names_are_the_same():
    names = {n[3:] for n in dir(Terminal) if n.startswith("do_")}
    assert {*"b tbreak cl condition ignore n s r c unt w u d l ll p pp a whatis display q h".split()} <= names
    for name in names - {"help", "h"}:
        out = typed(f"help {name}\nc\n").split("\n", 3)[3]
        assert len(out.splitlines()) >= 1 and "***" not in out, name
    out = typed("h\nh b\nh !\nc\n")
    assert "b(reak) [WHERE" in out and "! STATEMENT" in out and "tbreak" in out


def test_an_empty_line_does_the_last_command_again():
    out = typed("n\n\n\nc\n")
    assert out.count("\n> ") == 4


def test_completion_knows_commands_variables_and_attributes():
    found = []
    terminal = Terminal(io.StringIO("c\n"), io.StringIO())

    def on_stop(stop):
        answer = terminal(stop)
        stop.frames = [sys._getframe()] if not stop.frames else stop.frames
        found.append([terminal.completedefault("amou", "p amou", 2, 6),
                      terminal.completedefault("amounts.app", "p amounts.app", 2, 13),
                      "continue" in terminal.completenames("cont")])  # fmt: skip
        return answer

    ctx = DebugContext.of(on_stop)
    terminal.session = ctx.session
    overdub(ctx, shop, [1])
    assert found == [[["amounts"], ["amounts.append("], True]]


# -- processes -------------------------------------------------------------------------------------

PROGRAM = """
import sys, time, os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from ctxdispatch import overdub
from ctxdispatch_contexts.debugging import DebugContext

def square(x):
    y = x * x
    return y

def main():
    total = sum([square(k) for k in range(3)])
    print("total", total)

def waits():
    os.kill(os.getpid(), signal.SIGINT)
    n = 1
    n += 1
    print("n", n)

overdub(DebugContext.of(stop_at_entry=sys.argv[1] == "main"), globals()[sys.argv[1]])
"""


def process(tmp_path, name, text, check=True):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'contexts'}"}
    return subprocess.run(
        [sys.executable, file, name], input=text, capture_output=True, text=True, env=environment,
        timeout=120,
    )  # fmt: skip


def test_a_process_is_driven_by_its_input(tmp_path):
    done = process(tmp_path, "main", "b square, x == 2\nc\nn\nn\np y\nw\nc\n")
    assert done.returncode == 0, done.stderr
    assert "Breakpoint 1: square, if x == 2" in done.stdout
    assert "(ctx) 4\n" in done.stdout and done.stdout.endswith("total 5\n")


def test_a_process_that_is_aborted_says_so(tmp_path):
    done = process(tmp_path, "main", "q\n")
    assert done.returncode == 1 and "Aborted: aborted at" in done.stderr and "total" not in done.stdout


def test_control_c_stops_at_the_next_line(tmp_path):
    done = process(tmp_path, "waits", "n\np n\nc\n")
    assert done.returncode == 0, done.stderr
    assert "--Interrupted--\n" in done.stdout and "(ctx) 1\n" in done.stdout and "n 2" in done.stdout


def test_control_c_is_as_before_when_the_run_has_ended():
    before = signal.getsignal(signal.SIGINT)
    typed("c\n")
    assert signal.getsignal(signal.SIGINT) is before


# -- from a command line ---------------------------------------------------------------------------


def from_words(*words):
    import argparse

    parser = argparse.ArgumentParser()
    DebugContext.add_options(parser)
    options = parser.parse_args(words)
    return DebugContext.from_options(options), options


def test_options_of_the_command_line(tmp_path, capsys):
    script = tmp_path / "commands"
    script.write_text("p amount\nc\nw\nc\n")
    ctx, options = from_words(
        "--break", "price", "--condition", "amount > 1", "--break", f"{HERE}:{line_of(shop, 4)}",
        "--script", str(script), "--skip", "threading",
    )  # fmt: skip
    assert overdub(ctx, shop, [1, 2]) == 4.5
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.splitlines()[0] == "2" and "return paid" in captured.err
    assert ctx.report(options) == (
        "breakpoint 1: price, if amount > 1, hit 1 times\n"
        f"breakpoint 2: {HERE}:{line_of(shop, 4)}, hit 1 times"
    )


def test_top_level_code_has_its_globals_for_variables():
    from types import FunctionType

    space = {"__name__": "__main__", "__builtins__": __builtins__}
    code = compile("x = 1\nfor k in range(2):\n    x += k\ny = x\n", "top_level.py", "exec")
    out = io.StringIO()
    ctx = DebugContext.of(Terminal(io.StringIO("n\nn\np x\n!x = 10\nb 3, k == 1\nc\np x\nc\n"), out))
    overdub(ctx, FunctionType(code, space))
    assert space["y"] == 11 and "(ctx) 10\n" in out.getvalue()


def test_options_that_are_wrong(capsys, tmp_path):
    with pytest.raises(SystemExit):
        from_words("--condition", "x")
    assert "--condition is for the --break before it" in capsys.readouterr().err
    with pytest.raises(ValueError, match="is no expression"):
        from_words("--break", "f", "--condition", "1 +")
    with pytest.raises(FileNotFoundError):
        from_words("--script", str(tmp_path / "absent"))
