"""The code in README.md, CONTRIBUTING.md and docs/ runs, and prints what it says.

Blocks of a file share their names, from top to bottom. A `python` block is executed as a file example.py; in
a `pycon` block what stands after `>>>` is, and what it prints is compared.
"""

import doctest
import linecache
import re
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    *(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$", flags=re.M | re.S)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_python(source, namespace, n):
    # Python shows the lines of a file that is in linecache; a name of its own per block, "example.py" at its
    # end.
    filename = f"<{n}>/example.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), namespace)


def run_session(source, namespace, document, line):
    parsed = doctest.DocTestParser().get_doctest(source, namespace, document, document, line)
    parsed.globs = namespace  # the very dict, so that names carry over
    messages = []
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(
        parsed, out=messages.append, clear_globs=False
    )
    assert not messages, "".join(messages)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_code_runs_and_prints_what_it_says(document, monkeypatch):
    text = (ROOT / document).read_text()
    module = types.ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)
    monkeypatch.syspath_prepend(ROOT / "examples" / "plugin")
    for n, block in enumerate(BLOCK.finditer(text)):
        line = text.count("\n", 0, block.start()) + 1
        if block[1] == "python":
            run_python(block[2], vars(module), n)
        else:
            run_session(block[2], vars(module), document, line)
