"""One program in a process of its own: python -m benchmarks.cliffs MODULE NAME. Prints JSON.

What one program leaves in objects may have others recorded, so each has a process. `first` and `second` are
the CPU seconds of the first two calls.
"""

import json
import logging
import sys
import time
import warnings
from importlib import import_module

from benchmarks.peers import Prepared
from benchmarks.timing import measure
from ctxdispatch import explain, grad

ROUNDS = 9


def main(module: str, name: str) -> None:
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    programs = {n: (f, args) for n, f, args in import_module(f"benchmarks.cliffs.{module}").PROGRAMS}
    f, args = programs[name]
    gradient = grad(f)
    calls = []
    try:
        for _ in range(2):
            start = time.process_time()
            gradient(*args)
            calls.append(time.process_time() - start)
        ran = explain(gradient)(*args).regions[0]
        columns = {"primal": Prepared(f, args, None), "ours": Prepared(gradient, args, None)}
        times = measure(columns, ROUNDS, lambda: None)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        return
    found = {"first": calls[0], "second": calls[1], **times, "tier": ran.tier}
    print(json.dumps({**found, "reason": "" if ran.reason is None else str(ran.reason)}))


if __name__ == "__main__":
    main(*sys.argv[1:3])
