"""What a dotted name on a command line means. What is wrong is a ValueError that says so."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any


def named(name: str) -> Any:
    """What `module.name`, `module.Class.method` or the name of a builtin means: the module is as much of it
    as can be imported."""
    if name.partition(".")[0] == "__main__":
        why = "functions of the program itself are made when it runs; move them to a module of their own"
        raise ValueError(f"{name!r} cannot be named: {why}")
    parts = name.split(".") if "." in name else ["builtins", name]
    for k in range(len(parts) - 1, 0, -1):
        module = _imported(".".join(parts[:k]))
        if module is not None:
            return attribute(module, ".".join(parts[k:]))
    raise ValueError(f"there is no module for {name!r}")


def of_module(module_name: str, path: str) -> Any:
    """What `module:path` means."""
    module = _imported(module_name)
    if module is None:
        raise ValueError(f"there is no module {module_name!r}")
    return attribute(module, path)


def _imported(module_name: str) -> Any:
    """None where there is no such module."""
    try:
        return import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise ValueError(f"importing {module_name!r} failed: {error}") from error
        return None


def attribute(owner: Any, path: str) -> Any:
    """`owner.path`, where `path` may have dots."""
    for name in path.split("."):
        if not hasattr(owner, name):
            near = get_close_matches(name, dir(owner), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{getattr(owner, '__name__', owner)!r} has no {name!r}{hint}")
        owner = getattr(owner, name)
    return owner
