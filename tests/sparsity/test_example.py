"""The example runs, and does what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "brusselator.py"


def test_the_example(tmp_path):
    pytest.importorskip("scipy")
    pytest.importorskip("ctxdispatch_contexts.forward")
    picture = tmp_path / "pattern.png"
    command = [sys.executable, EXAMPLE, "--n", "8", "--t-end", "0.1", "--out", picture]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"pattern +768 entries", done.stdout) and "equals finite differences" in done.stdout
    methods = re.findall(r"^(dense|jac_sparsity|sparse_jacobian) +[\d.]+ +\d+", done.stdout, flags=re.M)
    assert methods == ["dense", "jac_sparsity", "sparse_jacobian"]
    assert picture.stat().st_size > 0
