"""Imports within differentiated functions: what is there already is found beforehand."""

import builtins
import sys
import types

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jvp
from ctxdispatch_contexts.recording import api

X = np.linspace(0.1, 1.0, 4)


@pytest.fixture
def module():
    made = types.ModuleType("imported_here")
    exec("import math\nscale = 2.0\ndef bend(x): return math.sin(x) * scale\n", vars(made))
    yield made
    sys.modules.pop("imported_here", None)


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setattr(api, "joint", lambda *args: pytest.fail("recorded"))


def whole(x):
    import numpy as np

    return np.sum(np.sin(x))


def part(x):
    from math import cos as c
    from math import sin

    return sin(x[0]) * c(x[1])


def dotted(x):
    import numpy.linalg
    import numpy.linalg as la

    return numpy.linalg.norm(x) * la.norm(x)


def of_library(x):
    from scipy.special import erf

    return np.sum(erf(x))


def helper(x):
    from numpy import cosh

    return np.sum(cosh(x))


def inlined(x):
    return helper(x) * helper(2.0 * x)


def bend(x):
    from imported_here import bend

    return bend(x)


@pytest.mark.parametrize("f", [whole, part, dotted, of_library, inlined])
def test_compiled(f, compiled):
    import scipy.special  # noqa: F401

    steps = 1e-6 * np.eye(4)
    expected = np.array([f(X + h) - f(X - h) for h in steps]) / 2e-6
    assert np.allclose(grad(f)(X), expected, rtol=1e-5)
    assert np.isclose(jvp(f, (X,), (np.ones(4),))[1], expected.sum(), rtol=1e-5)
    second = np.array([grad(f)(X + h) - grad(f)(X - h) for h in steps]) / 2e-6
    assert np.allclose(hessian(f)(X), second, rtol=1e-4, atol=1e-6)


def test_what_the_module_holds_may_change(module, compiled):
    sys.modules["imported_here"] = module
    g = grad(bend)
    assert np.isclose(g(1.0), 2.0 * np.cos(1.0))
    module.scale = 3.0
    assert np.isclose(g(1.0), 3.0 * np.cos(1.0))
    module.bend = lambda x: x * x
    assert g(1.0) == 2.0


def test_another_module_of_that_name_and_none(module):
    sys.modules["imported_here"] = module
    g = grad(bend)
    g(1.0)
    sys.modules["imported_here"] = other = types.ModuleType("imported_here")
    other.bend = lambda x: x**3
    assert g(2.0) == 12.0
    del other.bend
    with pytest.raises(ImportError, match="cannot import name 'bend'"):
        g(2.0)
    del sys.modules["imported_here"]
    with pytest.raises(ModuleNotFoundError):
        g(2.0)
    sys.modules["imported_here"] = None
    with pytest.raises(ModuleNotFoundError):
        g(2.0)
    sys.modules["imported_here"] = module
    assert np.isclose(g(1.0), 2.0 * np.cos(1.0))


def test_who_imports_is_called(module, monkeypatch):
    sys.modules["imported_here"] = module
    g, asked, plain = grad(bend), [], builtins.__import__
    g(1.0)

    def imports(name, *args, **kwargs):
        asked.append(name)
        return plain(name, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(builtins, "__import__", imports)
        assert np.isclose(g(1.0), 2.0 * np.cos(1.0))
    assert asked.count("imported_here") == 1


def test_a_module_that_is_there_only_afterwards(tmp_path, monkeypatch):
    """The first run is recorded; the next one knows more."""
    (tmp_path / "imported_late.py").write_text("def bend(x): return x * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def f(x):
        import imported_late

        return imported_late.bend(x)

    g = grad(f)
    assert g(3.0) == 6.0
    monkeypatch.setattr(api, "joint", lambda *args: pytest.fail("recorded"))
    assert g(4.0) == 8.0
    assert grad(f)(5.0) == 10.0
    del sys.modules["imported_late"]


def test_a_module_that_computes_its_attributes(module):
    """Its code runs."""
    asked = []
    vars(module).pop("bend")

    def compute(name):
        asked.append(name)
        if name == "bend":
            return lambda x: x * x
        raise AttributeError(name)

    module.__getattr__ = compute
    sys.modules["imported_here"] = module
    g = grad(bend)
    assert g(3.0) == 6.0
    before = asked.count("bend")
    assert g(3.0) == 6.0
    assert asked.count("bend") > before


VALUES = {
    "float": 2.5, "int": 3, "text": "abc", "list": [1.5, 2.0], "dict": {"a": 2.0}, "tuple": (1.0, 2.0),
    "array": np.arange(3.0), "nothing": None, "object": types.SimpleNamespace(v=2.0), "function": np.sin,
    "class": float, "module": np, "set": {1.0}, "complex": 1.0 + 2.0j, "bool": True,
}  # fmt: skip


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("kind", VALUES)
def test_whatever_is_imported_by_name(kind, alone):
    made = sys.modules["holds_values"] = types.ModuleType("holds_values")
    vars(made).update(value=VALUES[kind], other=3.0, third=[1.0])
    names = "value" if alone else "other, value, third"
    space = {}
    exec(
        f"def f(x):\n    from holds_values import {names}\n"
        "    return x * x * (2.0 if str(value) != 'q' and value is not Ellipsis else 1.0)\n",
        space,
    )
    try:
        for _ in range(3):
            assert grad(space["f"])(1.5) == 6.0
            assert jvp(space["f"], (1.5,), (1.0,))[1] == 6.0
    finally:
        del sys.modules["holds_values"]


IMPORTS = {
    "module": "import imported_here\n    return imported_here.scale * x * x",
    "by another name": "import imported_here as m\n    return m.scale * x * x",
    "from": "from imported_here import scale\n    return scale * x * x",
    "part": "import imported_here.part\n    return imported_here.part.scale * x * x",
    "part by another name": "import imported_here.part as m\n    return m.scale * x * x",
    "from part": "from imported_here.part import scale\n    return scale * x * x",
    "part from": "from imported_here import part\n    return part.scale * x * x",
    "function": "import imported_here as m\n    return m.bend(x)",
    "twice": "import imported_here\n    import imported_here as m\n    return m.scale * m.bend(x)",
    "found": "import sys\n    return sys.modules['imported_here'].scale * x * x",
}


@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("spelling", IMPORTS)
def test_another_module_of_that_name(spelling, mode, monkeypatch):
    space = {"__name__": __name__}
    exec(f"def f(x):\n    {IMPORTS[spelling]}\n", space)
    f = space["f"]
    for scale in (2.0, 3.0, 5.0):
        made, part = types.ModuleType("imported_here"), types.ModuleType("imported_here.part")
        exec(f"scale = {scale}\ndef bend(x): return x * x * scale\n", vars(made))
        part.scale, made.part, made.__path__ = scale + 1.0, part, []
        monkeypatch.setitem(sys.modules, "imported_here", made)
        monkeypatch.setitem(sys.modules, "imported_here.part", part)
        for _ in range(2):
            found = grad(f)(1.5) if mode == "grad" else jvp(f, (1.5,), (1.0,))[1]
            assert np.isclose(found, 2 * f(1.5) / 1.5)
