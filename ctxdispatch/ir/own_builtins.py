"""The builtins of the engine's own functions.

    from ctxdispatch.ir.own_builtins import own as __builtins__

A program may put something else into `builtins` while it runs. That concerns the program: functions of a
module that has imported this find what was there before. (A function has the builtins that the global
`__builtins__` of its module holds when it is defined.)
"""

import builtins
from typing import Any

own: dict[str, Any] = {**vars(builtins)}
