"""Texts made by loops: sizes that need EXTENDED_ARG, and every way out of every part of a `try`.

A row of `SOURCES` is (name, text); what runs is the module.
"""

import itertools
import re

PARTS = "body handler else_ final".split()
WAYS = {
    "pass": "log('{part}')",
    "return": "return log('{part}', '{part}')",
    "break": "break",
    "continue": "continue",
    "raise": "raise KeyError('{part}')",
}
TRY = """
def {name}(fails):
    for i in range(2):
        log(i)
        try:
            log('try')
            if fails: raise ValueError('fails')
            {body}
        except ValueError as e:
            {handler}
        else:
            {else_}
        finally:
            {final}
        log('after')
    else:
        return 'exhausted'
    return 'broken', i
"""
LEAVES_WITH = """
def {name}(fails):
    while log('round', turns.pop()):
        with Manager('m', {suppresses}) as m:
            for j in (1, 2):
                try:
                    if fails: raise ValueError
                    {body}
                except* ValueError as e:
                    log(e)
                finally:
                    {final}
            {else_}
        log('after')
    return 'end'
"""
CALLS = """
def attempt(f, fails):
    global turns
    turns = [0, 1, 1]
    try:
        log(f.__name__, fails, f(fails))
    except (KeyError, ValueError) as e:
        log(f.__name__, fails, type(e), str(e), e.__context__)

for name, f in sorted(globals().items()):
    if name.startswith('way_'):
        attempt(f, False)
        attempt(f, True)
"""


def ways(template, first, second, **more):
    """A module with a function for each pair of ways out of two parts."""
    functions = []
    for a, b in itertools.product([*WAYS][1:], repeat=2):
        lines = {part: WAYS["pass"].format(part=part) for part in PARTS}
        lines |= {first: WAYS[a].format(part=first), second: WAYS[b].format(part=second)}
        functions.append(template.format(name=f"way_{a}_{b}", **lines, **more))
    return "from observe import Manager, log\n" + "".join(functions) + CALLS


def tried():
    for first, second in itertools.combinations(PARTS, 2):
        yield f"ways_out_of_{first}_and_{second}", ways(TRY, first, second)
    for suppresses in (False, True):
        yield f"ways_out_of_with_{suppresses}", ways(LEAVES_WITH, "body", "final", suppresses=suppresses)
    yield "ways_out_of_with_and_after", ways(LEAVES_WITH, "body", "else_", suppresses=True)


NESTED = {
    "try_finally": "try:\n{0}\nfinally:\n log('finally {n}')",
    "try_except": "try:\n{0}\nexcept ValueError as e{n}:\n log('except {n}', e{n})\n raise",
    "with": "with Manager({n}):\n{0}",
    "for": "for i{n} in range(2):\n{0}\nelse:\n log('else {n}')",
    "while": "while next(fuel, 0):\n{0}",
    "if": "if fuel:\n{0}\nelse:\n log('never')",
    "match": "match {n}:\n case 99: pass\n case x{n}:\n{0}",
}


def indented(text, by=1):
    return "\n".join(" " * by + line for line in text.split("\n"))


def nests():
    """Every three of them within each other, with a way out from the middle of it all."""
    for outer, middle in itertools.product(NESTED, repeat=2):
        functions = []
        for inner, way in zip(("try_finally", "with", "for"), ("return 1", "raise ValueError", "break")):
            text = f"log('innermost')\n{way}"
            for n, kind in enumerate((inner, middle, outer)):
                text = NESTED[kind].format(indented(text, 2), n=n)
            head = f"def way_{outer}_{middle}_{inner}_{way.split()[0]}(fails):\n fuel = iter((1, 1, 1))\n"
            functions.append(head + indented(text) + "\n")
        yield f"nest_{outer}_{middle}", "from observe import Manager, log\n" + "\n".join(functions) + CALLS


# -- sizes -----------------------------------------------------------------------------------------

FAR = "  <<x = x.real.real.real.real|; >>\n" * 11  # more than 2**16 code units
SIZES = {
    "many_locals": """
def f(a):
 v{i} = a + {i}
 del v7, v299
 try: v299
 except NameError as e: print(e)
 x = lambda: v0 + v258
 v258 += v257
 return sum((v1, v255, v256, v257, v298)), x(), len(locals())
r = f(1)
""",
    "many_constants": "def f(a): return a, <<a + {i}.5, 'c{i}'|, >>\nr = f(1)[-9:]",
    "many_names": """
class B: pass
def f(b):
 b.n{i} = {i}
 del b.n299
 b.n298 += 1
 return b.n255, b.n256, b.n298, b.n299
try: f(B())
except AttributeError as e: print(e)
""",
    "many_globals": "g{i} = {i}\ndef f():\n return g255 + g256 + g299\nr = f()",
    "many_cells": """
def f(a):
 v{i} = a + {i}
 def g():
  nonlocal v299
  v299 += 1
  return <<v{i}| + >>
 return g(), v299
r = f(1)
""",
    "far_jumps": """
def f(x, y):
 for i in range(2):
  x = x + {i} * y.real + {i}
  if x < 0: break
  if x > 1e9: continue
  x = x - {i} * y.real + {i}
 else:
  x += 1
 x = x * y.real + {i}
 return x
r = f(1, 2)
""",
    "far_handlers": """
def f(x, y):
 try:
  x = x + {i} * y.real + {i}
  x.missing
 except KeyError: pass
 finally:
  x = x - {i} * y.real + {i}
  print(x)
try: f(1, 2)
except AttributeError as e: print(e)
""",
    "very_far_jumps": f"def f(x):\n while x < 3:\n  x += 1\n{FAR}  if x == 2: continue\n return x\nr = f(0)",
    "many_branches": "def f(x):\n if x == {i}: return 'v{i}'\n return None\nr = f(0), f(299), f(-1)",
    "long_chain": "def f(x):\n if x == -1: r = 0\n elif x == {i}: r = {i}\n return r\nr = f(299), f(5)",
    "deep_stack": "f = lambda *a: len(a)\nx = 1\nr = f(<<x|, >>), [<<x|, >>], <<x| + >>",
    "deep_sum": "x = 1\nr = " + "x + (" * 60 + "x" + ")" * 60,
    "wide_unpacking": "<<u{i}|, >> = range(300)\nr = u0, u255, u256, u299\ndel u{i}",
    "star_behind": ", ".join(f"u{i}" for i in range(255)) + ", *rest = range(310)\nr = u0, u254, rest",
    "star_in_front": "a, b, *c, <<d{i}|, >> = range(310)\nr = c, d0, d299",
    "deep_blocks": "\n".join(f"{' ' * i}for i{i} in (1, 2):" for i in range(13)) + " pass\nr = i12",
    "many_keywords": "r = dict(<<k{i}={i}|, >>)['k299']\nd = {<<'k{i}': r|, >>}",
    "many_functions": "fs = [<<lambda x: x + {i}|, >>]\nr = [f(1) for f in fs[250:260]]",
    "long_lines": f"r = [{' ' * 300}1, 2,LONG3{' ' * 200}, len('abc')]LONGr.x".replace("LONG", "\n" * 400),
    "many_comparisons": "x = 1\nr = <<x + {i}| < >>, <<x| and >>, <<x and 0| or >>",
}


def expanded(text, n=300):
    """`<<part|between>>` is repeated within its line, every other line that has `{i}` as a whole."""
    def repeated(match):
        return match[2].join(match[1].replace("{i}", str(i)) for i in range(n))

    text = re.sub(r"<<(.*?)\|(.*?)>>", repeated, text)
    lines = [(line, range(n) if "{i}" in line else range(1)) for line in text.split("\n")]
    return "\n".join(line.replace("{i}", str(i)) for line, numbers in lines for i in numbers)


def sizes():
    for name, text in SIZES.items():
        yield name, expanded(text) + "\n"


SOURCES = dict(itertools.chain(tried(), nests(), sizes()))
