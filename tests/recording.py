"""What has a program recorded: a `with`, which has no SSA form, of C code, which costs nothing."""

import threading

RECORDED = threading.RLock()
