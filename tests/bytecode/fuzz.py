"""Long runs of the random tests, and round trips of all code of installed packages.

    python -m tests.bytecode.fuzz --minutes 30 [--seed N] [--rewriter dispatch_code | --stack all]
    python -m tests.bytecode.fuzz --library numpy --library scipy

The first prints the smallest program that shows a difference, the second every module that is not rewritten
or emitted unsoundly, and how many code objects came out byte for byte. The exit status is 1 where anything
was wrong.
"""

import argparse
import importlib.util
import sys
import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import seed as seeded
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parent))  # siblings go by their plain names, as under pytest

from random_programs import compiled, differs
from random_statements import ARGUMENTS, HOW, PROGRAMS
from rewriters import ALL
from stacked import STACKS, differs_under
from structure import all_codes, complaints, same_bytes

ROUND = 50  # examples between two looks at the clock
QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


def main(argv=None):
    options = parse(argv)
    rewrite = ALL[options.rewriter]
    print(f"{options.stack or options.rewriter} on {sys.version.split()[0]}")
    if options.library:
        return bool(sum(library(name, rewrite) for name in options.library))
    judge = partial(judged_under, options.stack) if options.stack else partial(judged, rewrite)
    return bool(random_programs(judge, 60 * options.minutes, options.seed))


def parse(argv):
    parser = argparse.ArgumentParser(prog="python -m tests.bytecode.fuzz")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--library", action="append", help="an importable package; `stdlib` for all of it")
    parser.add_argument("--rewriter", choices=ALL, default=next(iter(ALL)))
    help = "run the programs under these contexts, from the inside out (all: one stack after the other)"
    parser.add_argument("--stack", choices=["all", *STACKS], help=help)
    return parser.parse_args(argv)


# -- random programs -------------------------------------------------------------------------------


def random_programs(judge, seconds, seed):
    """Rounds of examples, each with a seed of its own, until time is up or one fails."""
    end = time.monotonic() + seconds
    with tqdm(total=round(seconds), unit="s",
        bar_format="{l_bar}{bar}| {n:.0f}/{total:.0f} s{postfix}") as bar:
        count = 0
        while (left := end - time.monotonic()) > 0:
            bar.n = seconds - left
            bar.set_postfix(programs=count, seed=seed)
            if failure := one_round(judge, seed):
                bar.close()
                print(f"--seed {seed} finds:\n\n{failure}")
                return True
            seed, count = seed + 1, count + ROUND
    print(f"{count} programs, none of them wrong")
    return False


def one_round(judge, seed):
    """The smallest failing program of the round, with what is wrong; empty where there is none."""
    last = ""

    @seeded(seed)
    @settings(max_examples=ROUND, phases=[Phase.generate, Phase.shrink], print_blob=False, **QUIET)
    @given(PROGRAMS, ARGUMENTS, HOW)
    def check(text, arguments, how):
        nonlocal last
        code = compiled(text) or reject()
        if wrong := judge(code, arguments, how):
            last = f"{text}\n# f{arguments}, use {how}\n{wrong}"
            raise AssertionError(wrong.split(":")[0])

    try:
        check()
    except AssertionError:
        return last
    except BaseException:
        print(last)
        raise
    return ""


def judged_under(stack, code, arguments, how):
    stacks = [*STACKS] if stack == "all" else [stack]
    for name in stacks:
        if wrong := differs_under(name, code, arguments, how):
            return f"under {name}: {wrong}"
    return ""


def judged(rewrite, code, arguments, how):
    try:
        made = rewrite(code)
    except Exception as error:
        return f"refused: {error!r}"
    return "".join(complaints(code, made)[:3]) or differs(code, made, arguments, how)


# -- libraries -------------------------------------------------------------------------------------


def library(name, rewrite):
    """How many modules of the package are wrong."""
    counts, wrong = Counter(), 0
    for path in tqdm(sorted(sources(name)), unit=" files", desc=name):
        text = source_code(path)
        if text is None:
            counts["files that do not compile"] += 1
            continue
        problems = module_problems(text, rewrite, counts)
        wrong += bool(problems)
        for problem in problems[:5]:
            tqdm.write(f"{path}: {problem[:300]}")
    print(name, *(f"{n} {what}" for what, n in counts.items()), sep=", ")
    return wrong


def sources(name):
    if name == "stdlib":
        root = Path(importlib.util.find_spec("os").origin).parent
        return [p for p in root.rglob("*.py") if "site-packages" not in p.parts]
    spec = importlib.util.find_spec(name)
    if spec is None:
        sys.exit(f"no package {name!r} is installed")
    places = spec.submodule_search_locations
    return [p for folder in places for p in Path(folder).rglob("*.py")] if places else [Path(spec.origin)]


def source_code(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None


def module_problems(code, rewrite, counts):
    codes = list(all_codes(code))
    counts["code objects"] += len(codes)
    try:
        made = rewrite(code)
    except Exception as error:
        counts["modules refused"] += 1
        return [f"refused: {error!r}"]
    counts["byte for byte"] += sum(same_bytes(a, b) for a, b in zip(codes, all_codes(made)))
    found = complaints(code, made)
    counts["complaints"] += len(found)
    return found


if __name__ == "__main__":
    sys.exit(main())
