"""C functions that take paths, and ask an object for its `__fspath__`.

    %y = os.stat(%x)        %s = stand_in(%x);  %y = os.stat(%s)

The function asks when it wants the path, and says itself what is no path.
"""

from __future__ import annotations

import builtins
import io
import os
from typing import Any

from ctxdispatch.dispatch.protocols.standins import stand_in
from ctxdispatch.dispatch.reach import Engine, Handlers
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

OF_OS = (
    "access", "chdir", "chflags", "chmod", "chown", "chroot", "execv", "execve", "getxattr", "lchflags",
    "lchmod", "lchown", "link", "listdir", "listxattr", "lstat", "mkdir", "mkfifo", "mknod", "open",
    "pathconf", "posix_spawn", "posix_spawnp", "readlink", "remove", "removexattr", "rename", "replace",
    "rmdir", "scandir", "setxattr", "stat", "statvfs", "symlink", "truncate", "unlink", "utime",
)  # fmt: skip
"""Those of a system: what another one lacks is not in its `os`."""


HANDLERS = Handlers()


@HANDLERS.runs(builtins.open, io.open_code, os.fspath, *[getattr(os, n) for n in OF_OS if hasattr(os, n)])
def _taking(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    given = [stand_in(engine, ctx, a, _PATH) for a in args]
    return engine.native(ctx, f)(*given, **{k: stand_in(engine, ctx, v, _PATH) for k, v in kwargs.items()})


_PATH = ("__fspath__",)
