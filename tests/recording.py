"""What has a program recorded: a `with`, which has no SSA form, of C code, which costs nothing."""

import threading

RECORDED = threading.RLock()


def recorded(f):
    """`f` where runs of it are recorded."""

    def within(*args):
        with RECORDED:
            return f(*args)

    return within
