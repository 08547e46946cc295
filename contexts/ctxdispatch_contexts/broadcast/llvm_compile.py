"""LLVM IR to machine code, kept in memory and on disk.

Object code on disk is under the hash of what it was made from (the IR, the target and its processor, the
options of the passes, the versions of LLVM and of this file): it is never stale. It stands there after its
own hash: what was cut short, as where a disk was full, is not given to LLVM, which would abort the process,
but made again. CTXDISPATCH_CACHE_DIR says where; empty, nothing is kept.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm

from ctxdispatch_contexts.broadcast.errors import KernelError
from ctxdispatch_contexts.broadcast.forks import making
from ctxdispatch_contexts.broadcast.streaming import stream

_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Compiled:
    """Machine code; `function(arguments, first row, last row)` needs at least `lanes` columns. `streams`: it
    stores past the caches, into rows that are aligned, of columns in multiples of `lanes`."""

    def __init__(self, module: str, lanes: int, streams: bool) -> None:
        self.lanes, self.streams = lanes, streams
        self.engine = _engine(module, lanes if streams else None)
        self.function = _KERNEL(self.engine.get_function_address("kernel"))


_known: WeakValueDictionary[tuple[str, bool], Compiled] = WeakValueDictionary()


def compiled(module: str, lanes: int, streams: bool = False) -> Compiled:
    """The machine code of a module. Of kernels that are the same there is one."""
    with making:
        found = _known.get((module, streams))
        if found is None:
            found = _known[module, streams] = Compiled(module, lanes, streams)
        return found


def register_bytes() -> int:
    """Of the machine's vector registers."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 64
    return 32 if features.get("avx") else 16


@cache
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


TARGET: dict[str, Any] = {"opt": 3, "reloc": "default", "codemodel": "jitdefault"}

PASSES = {"speed_level": 3, "loop_vectorization": True, "slp_vectorization": True, "loop_interleaving": True}

VERSION = 2
"""Of what this file and `streaming.py` make of the same IR with the same options."""


def target_machine() -> Any:
    """A new one: an engine owns its own."""
    _initialise()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, **TARGET)


def _engine(module: str, streamed: int | None) -> Any:
    """`streamed`: of so many lanes, stores go past the caches."""
    machine = target_machine()
    parsed = llvm.parse_assembly(module)
    parsed.triple, parsed.data_layout = machine.triple, str(machine.target_data)
    stored = _Stored(module, "" if streamed is None else f"{streamed} lanes, streamed")
    if not stored.found:
        optimise(parsed, machine)
        if streamed is not None:
            parsed = llvm.parse_assembly(stream(str(parsed), streamed))
    engine = llvm.create_mcjit_compiler(parsed, machine)
    code = stored.found or stored.keep(machine.emit_object(parsed))
    _check_calls(code)
    engine.set_object_cache(getbuffer_func=lambda _: code)
    engine.finalize_object()
    return engine


def _check_calls(code: bytes) -> None:
    """KernelError where the code calls what this process does not have: MCJIT would link it to address 0."""
    missing = [name for name in undefined_symbols(code) if llvm.address_of_symbol(name) is None]
    if missing:
        raise KernelError(
            f"the machine code of this kernel calls {', '.join(missing)}, which the process does not have: "
            "this processor lacks an instruction, such as conversions of float16; use other dtypes, or "
            "backend='reference'"
        )


_SYMBOL = struct.Struct("<IBBHQQ")
"""Of ELF: name, kind, visibility, section, value, size."""


def undefined_symbols(code: bytes) -> list[str]:
    """What object code refers to and does not define; nothing is known of formats other than ELF's."""
    sections = {section.name(): section.data() for section in llvm.ObjectFileRef.from_data(code).sections()}
    symbols, names = sections.get(b".symtab", b""), sections.get(b".strtab", b"")
    starts = [start for start, _, _, section, _, _ in _SYMBOL.iter_unpack(symbols) if start and not section]
    return [names[start : names.index(b"\0", start)].decode() for start in starts]


def optimise(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options()
    for name, value in PASSES.items():
        setattr(options, name, value)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


class _Stored:
    """The object code of a module on disk."""

    def __init__(self, module: str, how: str) -> None:
        what = "\n".join((module, how, *map(str, _made_by())))
        folder = cache_folder()
        self.path = folder and folder / f"{hashlib.sha256(what.encode()).hexdigest()}.o"
        self.found = None if self.path is None else _read(self.path)

    def keep(self, code: bytes) -> bytes:
        """The code itself, stored where there is a folder for it."""
        if self.path is None:
            return code
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _write(self.path, hashlib.sha256(code).digest() + code)
            _keep_few(self.path.parent)
        except OSError:
            return code  # a folder that cannot be written to: compiled again the next time
        return code


@cache
def _made_by() -> tuple[Any, ...]:
    """What code is made by, and for, whatever the module."""
    processor = (llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return *processor, TARGET, PASSES, VERSION, llvmlite.__version__, llvm.llvm_version_info


def _read(path: Path) -> bytes | None:
    """The code, if it is there and whole; what is not whole is removed."""
    try:
        found = path.read_bytes()
    except OSError:
        return None
    size = hashlib.sha256().digest_size
    if hashlib.sha256(found[size:]).digest() == found[:size]:
        return found[size:]
    with suppress(OSError):  # a folder that cannot be written to
        path.unlink()
    return None


def _write(path: Path, content: bytes) -> None:
    """All of it, or nothing: others read meanwhile."""
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


MAX_STORED = 2000
"""Files of about 10 KB; the oldest go."""


def _keep_few(folder: Path) -> None:
    files = list(folder.glob("*.o"))
    if len(files) > MAX_STORED:
        for old in sorted(files, key=lambda path: path.stat().st_mtime)[: len(files) - MAX_STORED // 2]:
            old.unlink(missing_ok=True)


def cache_folder() -> Path | None:
    given = os.environ.get("CTXDISPATCH_CACHE_DIR")
    if given is not None:
        return Path(given) if given else None
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ctxdispatch" / "kernels"
