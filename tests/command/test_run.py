"""`python -m ctxdispatch run`: a program is what it is plainly, and the contexts report."""

import signal
import zipfile

import pytest
from command_lines import is_installed, python, run, same

SHOW = """
import sys
def f(): return 1
f()
skip = {"f", "skip", "sys"}
def shown(v): return v if isinstance(v, (str, type(None))) else getattr(v, "__name__", type(v).__name__)
print(sorted((k, shown(v)) for k, v in globals().items() if k not in skip | {"shown"}))
print(sys.argv, sys.path[0], __name__, sys.modules["__main__"].__dict__ is globals())
"""


@pytest.fixture
def script(folder):
    def write(source, name="program.py"):
        (folder / name).write_text(source)
        return name

    return write


# -- where it runs ---------------------------------------------------------------------------------


def test_a_script_has_the_names_arguments_and_path_of_the_plain_run(folder, script):
    (folder / "sub").mkdir()
    script(SHOW, "sub/program.py")
    _, other = same(["sub/program.py", "--context", "-x", "--help"], cwd=folder)
    assert "of f: 1" in other.stderr


def test_a_module_likewise(folder, script):
    script(SHOW, "amodule.py")
    same(["-m", "amodule", "--top", "1"], cwd=folder)
    (folder / "package").mkdir()
    script("value = 3", "package/__init__.py")
    script("from . import value\n" + SHOW + "print(value, __spec__.name, __package__)", "package/__main__.py")
    same(["-m", "package", "a"], cwd=folder)
    _, other = same(["-mpackage"], cwd=folder)
    assert "of f: 1" in other.stderr


def test_a_string_likewise(folder):
    _, other = same(["-c", SHOW, "-m", "x"], cwd=folder)
    assert "of f: 1" in other.stderr


def test_stdin_likewise(folder):
    _, other = same(["-", "x"], cwd=folder, stdin=SHOW)
    assert "of f: 1" in other.stderr


def test_a_directory_an_archive_and_compiled_code_likewise(folder, script):
    (folder / "app").mkdir()
    script(SHOW, "app/__main__.py")
    same(["app", "x"], cwd=folder)
    with zipfile.ZipFile(folder / "app.zip", "w") as archive:
        archive.writestr("__main__.py", SHOW)
    same(["app.zip", "x"], cwd=folder)
    python("-c", "import py_compile; py_compile.compile('app/__main__.py', 'app/__main__.pyc')", cwd=folder)
    same(["app/__main__.pyc", "x"], cwd=folder)


def test_a_source_in_another_encoding(folder):
    (folder / "latin.py").write_bytes("# coding: latin-1\nprint(len('ä'), ascii('ä'))".encode("latin-1"))
    same(["latin.py"], cwd=folder)


def test_top_level_code_runs_under_the_context(folder, script):
    script("x = 0\nfor i in range(5):\n    x = x + abs(-i)\nprint(x)")
    _, other = same(["program.py"], cwd=folder)
    assert "('add', 5), ('abs', 5)" in other.stderr or "('abs', 5)" in run(
        "--top", "9", "program.py", cwd=folder
    ).stderr


def test_what_the_program_reads_of_stdin(folder, script):
    script("import sys\nprint(input(), sys.stdin.read().upper())")
    same(["program.py"], cwd=folder, stdin="first\nrest\n")


# -- how it ends -----------------------------------------------------------------------------------

ENDS = {
    "status": "import sys; sys.exit(3)",
    "message": "raise SystemExit('sorry')",
    "none": "import sys; sys.exit()",
    "exception": "print(1)\ndef g(x): return 1 / x\ng(0)",
    "syntax": "print(1)\ndef g(:\n",
    "chained": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e",
    "group": "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])",
    "init": "class A:\n    def __init__(self, x):\n        self.x = 1 / x\nsorted([0], key=A)",
    "property": "class A:\n    @property\n    def p(self): return {}['q']\ndef g(a): return a.p + 1\ng(A())",
    "generator": "def g():\n    yield 1\n    raise OSError('no')\nprint(list(g()))",
    "hook": "import sys\nsys.excepthook = lambda t, v, tb: print('mine', t.__name__, tb.tb_lineno)\n[][1]",
    "atexit": "import atexit\natexit.register(print, 'last')\nprint('first')",
    "thread": "import threading, time\n"
    "t = threading.Thread(target=lambda: (time.sleep(0.2), print('late')))\nt.start()",
    "recursion": "def r(n): return r(n + 1)\ntry:\n    r(0)\nexcept RecursionError as e: print(type(e))",
}


@pytest.mark.every(9)
@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("context", ["mine:Count", "mine:Everything", ("mine:Everything", "mine:Count")])
def test_status_and_traceback_are_those_of_the_plain_run(folder, script, name, context):
    script(ENDS[name])
    plain, other = same(["program.py"], cwd=folder, context=context)
    assert other.stderr.startswith(plain.stderr)
    report = other.stderr.removeprefix(plain.stderr)
    assert bool(report) == (name != "syntax")


def test_a_report_comes_after_all_of_the_program(folder, script):
    script("import atexit, sys\natexit.register(lambda: (sys.stderr.write('last\\n'), f()))\ndef f(): pass")
    assert run("program.py", cwd=folder).stderr.splitlines()[0] == "last"


@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="POSIX")
def test_keyboard_interrupt_kills_as_it_does_plainly(folder, script):
    script(
        "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def g(): os.kill(os.getpid(), signal.SIGINT)\ng()\nprint('not reached')"
    )
    plain, other = same(["program.py"], cwd=folder)
    assert plain.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in other.stderr and "ctxdispatch" not in other.stderr
    assert "calls:" in other.stderr


def test_full_tracebacks_for_those_who_ask(folder, script):
    script("1 / 0")
    words = "--context", "mine:Count", "--full-traceback", "program.py"
    assert "overdub.py" in python("-m", "ctxdispatch", "run", *words, cwd=folder).stderr


def test_what_a_hook_raises_is_at_the_users_line(folder, script):
    script("def g(x):\n    return abs(x)\n\ng(-1)\n")
    done = run("program.py", context="mine:Failing", cwd=folder)
    assert done.returncode == 1
    assert 'program.py", line 2, in g' in done.stderr
    assert "FloatingPointError: abs is forbidden" in done.stderr
    assert "the report failed" in done.stderr and "RuntimeError: no report" in done.stderr


# -- what programs do with __main__ ----------------------------------------------------------------


def test_classes_of_main_are_pickled_and_found_there(folder, script):
    script("""
import copy, dataclasses, enum, pickle

@dataclasses.dataclass
class Point:
    x: int

class Color(enum.Enum):
    RED = 1

def helper(): return 1

if __name__ == "__main__":
    point = pickle.loads(pickle.dumps([Point(3), Color.RED, helper]))
    print(point[0], point[1] is Color.RED, point[2] is helper, copy.deepcopy(Point(4)))
    import __main__
    print(__main__.Point is Point)
""")
    same(["program.py"], cwd=folder)
    same(["program.py"], cwd=folder, context="mine:Everything")


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes_find_main(folder, script, method):
    script(f"""
import multiprocessing

def work(n):
    return n * n

if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    with context.Pool(2) as pool:
        print(pool.map(work, range(5)))
""")
    _, other = same(["program.py"], cwd=folder)
    assert other.stderr.count("calls:") == 1


def test_a_forked_child_that_ends_reports_nothing(folder, script):
    script("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('x', flush=True)")
    _, other = same(["program.py"], cwd=folder)
    assert other.stderr.count("calls:") == 1


# -- contexts and options --------------------------------------------------------------------------


def test_contexts_are_stacked_and_options_belong_to_the_nearest(folder, script):
    script("print(abs(-1), abs(-2), len('x'))")
    count, everything = "--context mine:Count --top", "--context mine:Everything"
    words = f"{count} 1 {everything} {count}=3 program.py --top 9"
    done = python("-m", "ctxdispatch", "run", *words.split(), cwd=folder)
    assert done.stdout == "1 2 1\n"
    first, second, third = done.stderr.splitlines()
    assert first == "calls: [('abs', 2)]; of f: 0" and second == "results: True"
    assert third == "calls: [('abs', 2), ('print', 1), ('len', 1)]; of f: 0" or third.count("('") == 3


def test_reports_to_a_file(folder, script):
    script("def f(): return 1\nf()")
    done = run("--report", "out.txt", "program.py", cwd=folder)
    assert done.stderr == "" and "of f: 1" in (folder / "out.txt").read_text()


def test_help_shows_the_options_of_the_contexts(folder):
    done = run("--help", cwd=folder)
    assert done.returncode == 0 and "so many names" in done.stdout and "--report" in done.stdout
    assert "options of Count" in done.stdout
    assert "no options of its own" in run("--help", context="mine:Everything", cwd=folder).stdout


def test_the_scripts_own_help_is_the_scripts(folder, script):
    script("import argparse\nargparse.ArgumentParser(description='mine').parse_args()")
    same(["program.py", "--help"], cwd=folder)


ERRORS = {
    "no command": ([], "usage:"),
    "unknown command": (["rnu"], "no such command: rnu; did you mean 'run'?"),
    "unknown option": (["--nope"], "no such option: --nope"),
    "no context": (["run", "x.py"], "no context given"),
    "no program": (["run", "--context", "mine:Count"], "nothing to run"),
    "no file": (["run", "--context", "mine:Count", "x.py"], "can't open file 'x.py'"),
    "no module": (["run", "--context", "mine:Count", "-m", "no.such"], "no module named 'no.such'"),
    "no runnable package": (["run", "--context", "mine:Count", "-m", "email"], "a package and cannot be run"),
    "no name of a module": (["run", "--context", "mine:Count", "-m"], "expected one argument"),
    "misspelt context": (["run", "--context", "dule", "x.py"], "did you mean 'DualContext'?"),
    "unknown context": (["run", "--context", "qqqqqq", "x.py"], "there are: ADContext"),
    "misspelt class": (["run", "--context", "mine:Cuont", "x.py"], "did you mean 'Count'?"),
    "no module of a context": (["run", "--context", "nowhere:C", "x.py"], "No module named 'nowhere'"),
    "no context class": (["run", "--context", "json:dumps", "x.py"], "is no context class"),
    "misspelt option": (["run", "--context", "mine:Count", "--tpo", "1", "x.py"], "did you mean '--top'?"),
    "bad value": (["run", "--context", "mine:Count", "--top", "x", "-c", ""], "invalid int value: 'x'"),
    "bad combination": (["run", "--context", "mine:Count", "--top", "0", "-c", ""], "--top must be positive"),
    "no value": (["run", "--context", "mine:Count", "--top"], "expected one argument"),
    "no report file": (["run", "--context", "mine:Count", "--report", "no/x", "-c", "1"], "can't write"),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ERRORS)
def test_what_is_asked_wrongly_is_one_line_and_status_2(folder, name):
    words, message = ERRORS[name]
    done = python("-m", "ctxdispatch", *words, cwd=folder)
    assert done.returncode == 2 and done.stdout == "" and message in done.stderr
    assert name == "no command" or len(done.stderr.splitlines()) == 1


def test_an_installed_context_by_its_short_name(folder):
    if not is_installed("trace"):
        pytest.skip("no trace context")
    full = run("--help", context="TraceContext", cwd=folder)
    assert run("--help", context="trace", cwd=folder).stdout == full.stdout


# -- what contexts are made of ---------------------------------------------------------------------

UNMADE = """
from ctxdispatch import Context

class Wants(Context):
    seen: list

class Nothing(Context):
    @classmethod
    def from_options(cls, options):
        pass
"""


@pytest.mark.parametrize(
    "name, message",
    [("Wants", "Wants needs 'seen'"), ("Nothing", "Nothing.from_options returned None, no context")],
)
def test_a_context_that_cannot_be_made_is_one_line(folder, script, name, message):
    script(UNMADE, "unmade.py")
    done = run("-c", "print(1)", context=f"unmade:{name}", cwd=folder)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and message in done.stderr
    assert not done.stdout


def test_the_example_of_the_documentation_finds_something(folder):
    done = run("-c", "x = 1e200; print(x * x)", context="nan", cwd=folder)
    assert done.returncode == 1 and "1e+200 * 1e+200 gave inf" in done.stderr


LIBRARY = "def helper(x):\n    return x + 1\n"


def test_options_name_modules_beside_the_script(folder, script):
    (folder / "sub").mkdir()
    script(LIBRARY, "sub/lib.py")
    script("import lib\nprint(lib.helper(2))", "sub/program.py")
    words = ["run", "--context", "mock", "--replace", "lib.helper=99", "sub/program.py"]
    for start in (["-m", "ctxdispatch"], ["-c", "from ctxdispatch.command import main; main()"]):
        done = python(*start, *words, cwd=folder)
        assert done.stdout == "99\n", done.stderr


@pytest.mark.parametrize("name", ["program.helper", "__main__.helper"])
def test_functions_of_the_script_cannot_be_named(folder, script, name):
    script(LIBRARY + "print(helper(2))")
    done = run("--replace", f"{name}=99", "program.py", context="mock", cwd=folder)
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1
    assert "made when" in done.stderr


def test_a_report_that_is_no_string_harms_no_other(folder, script):
    number = "from mine import *\nclass Number(Count):\n    def report(self, options):\n        return 3"
    script(number, "more.py")
    done = python(
        *["-m", "ctxdispatch", "run", "--context", "more:Number", "--context", "mine:Count", "-c", "abs(1)"],
        cwd=folder,
    )
    assert "Number.report returned 3, not a string" in done.stderr and "calls:" in done.stderr


def test_warnings_under_tags_have_the_user_s_line(folder, script):
    script(
        "import warnings\n"
        "def old():\n    warnings.warn('old', DeprecationWarning, stacklevel=2)\n"
        "def a():\n    warnings.warn('same')\n"
        "def b():\n    warnings.warn('same')\n"
        "a()\nb()\nold()\n"
    )
    plain = python("program.py", cwd=folder, PYTHONWARNINGS="default")
    other = run("program.py", context="taint", cwd=folder, PYTHONWARNINGS="default")
    assert plain.stderr and other.stderr.startswith(plain.stderr)


def test_a_breakpoint_that_is_never_hit_is_told_of(folder):
    (folder / "go").write_text("continue\n")
    done = run("--break", "nosuch", "--script", "go", "-c", "abs(1)", context="debug", cwd=folder)
    assert "breakpoint 1: nosuch, never hit" in done.stderr


def test_an_option_of_the_command_is_none_of_a_context(folder, script):
    source = "def add_options(cls, parser):\n        parser.add_argument('--report')"
    script(f"from mine import Count\nclass Takes(Count):\n    @classmethod\n    {source}", "takes.py")
    done = run("-c", "1", context="takes:Takes", cwd=folder)
    assert done.returncode == 2 and "Takes.add_options declares --report" in done.stderr


def test_a_reader_that_has_enough(folder):
    words = "import subprocess, sys; p = subprocess.Popen([sys.executable, '-m', 'ctxdispatch', 'contexts'], "
    words += "stdout=subprocess.PIPE, stderr=subprocess.PIPE); p.stdout.close(); print(p.stderr.read())"
    assert python("-c", words, cwd=folder).stdout.strip() == "b''"
