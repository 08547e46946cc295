"""Test items must not depend on each other: a sample of them, each alone in a process, and in one process in
a random order.

    python tests/alone.py [--sample 40] [--seed 1] [paths of tests, default: all]

For the night; the tests have a tiny sample of one file. Prints what fails, and exits with 1 where something
does.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Sequence

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-n", "0"]


def items_of(paths: Sequence[str]) -> list[str]:
    found = subprocess.run([*PYTEST, "--collect-only", *paths], capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(found.stdout + found.stderr)
    return [line for line in found.stdout.splitlines() if "::" in line]


def fails(items: Sequence[str]) -> str:
    """What pytest says of these in this order, in a new process; nothing where all is well."""
    done = subprocess.run([*PYTEST, *items], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    chosen = random.Random(given.seed)
    items = items_of(given.paths)
    items = chosen.sample(items, min(given.sample, len(items)))  # which is in a random order
    failed = [text for text in (fails(items), *(fails([item]) for item in items)) if text]
    print(*failed, f"{len(items)} items, {len(failed)} processes failed", sep="\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
