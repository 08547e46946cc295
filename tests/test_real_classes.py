"""What is code is decided by the class that an object is of, not by the one that it says it is of.

`isinstance` believes `__class__`, and so takes a decorated function, a mock or a lazy proxy for what that
stands for.
"""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parent.parent
CALLABLES = set(
    """FunctionType MethodType BuiltinFunctionType BuiltinMethodType MethodDescriptorType LambdaType CodeType
    WrapperDescriptorType MethodWrapperType ClassMethodDescriptorType GetSetDescriptorType CellType
    MemberDescriptorType ModuleType type partial staticmethod classmethod property cached_property ufunc
    Callable""".split()
)


def believing(path):
    """(line, source) of each `isinstance` of `path` that asks for one of those."""
    calls = (n for n in ast.walk(_tree(path)) if isinstance(n, ast.Call))
    asked = (n for n in calls if isinstance(n.func, ast.Name) and n.func.id == "isinstance")
    return [(n.lineno, ast.unparse(n)) for n in asked if _names(n.args[1], path) & CALLABLES]


@functools.cache
def _tree(path):
    return ast.parse(path.read_text())


def _names(node, path):
    """The classes in a tuple or union; what has a name is looked up, also where it is imported from."""
    match node:
        case ast.Attribute(attr=name):
            return {name}
        case ast.Name(id=name):
            return {name, *_constant(name, path)}
        case ast.Tuple(elts=parts):
            return set().union(*(_names(part, path) for part in parts))
        case ast.BinOp(left=left, right=right):
            return _names(left, path) | _names(right, path)
        case ast.Starred(value=value):
            return _names(value, path)
    return set()


@functools.cache
def _constant(name, path):
    home, value = _bindings(path).get(name, (None, None))
    if isinstance(value, str):
        return _constant(value, home) if home is not None else frozenset()
    return frozenset(() if value is None else _names(value, path))


@functools.cache
def _bindings(path):
    """By name: (the file, the name there) of what is imported, (None, the node) of a constant."""
    found = {}
    for node in _tree(path).body:
        if isinstance(node, ast.ImportFrom):
            home = _file(node.module or "")
            found |= {a.asname or a.name: (home, a.name) for a in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            found[getattr(target, "id", "")] = (None, node.value)
    return found


def _file(module):
    for root in (ROOT, ROOT / "contexts"):
        path = root.joinpath(*module.split(".")).with_suffix(".py")
        if path.exists():
            return path
    return None


def test_no_callable_is_classified_by_what_it_says_it_is():
    paths = sorted([*(ROOT / "ctxdispatch").rglob("*.py"), *(ROOT / "contexts").rglob("*.py")])
    found = [f"{path.relative_to(ROOT)}:{line}: {text}" for path in paths for line, text in believing(path)]
    assert not found, "\n".join(["use `type(x) is C` or `issubclass(type(x), C)`:", *found])


def test_the_rule_sees_tuples_unions_and_names(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "import types\nfrom ctxdispatch.dispatch.overdub import _BUILTIN\nKINDS = (int, types.FunctionType)\n"
        "isinstance(x, type)\nisinstance(x, (int, types.MethodType))\nisinstance(x, int | type)\n"
        "isinstance(x, KINDS)\nisinstance(x, (*KINDS, str))\nisinstance(x, _BUILTIN)\n"
        "isinstance(x, (int, str))\nissubclass(type(x), KINDS)\n"
    )
    assert [line for line, _ in believing(path)] == [4, 5, 6, 7, 8, 9]
