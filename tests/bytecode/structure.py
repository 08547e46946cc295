"""Whether an emitted code object is sound, by what `dis` knows; and how near to the original it is."""

import dis
import functools
from types import CodeType

from observe import LAST, children, code_difference


def complaints(plain: CodeType, made: CodeType) -> list[str]:
    """About `made` and the code nested in it; empty where all is well."""
    found = [f"{made.co_qualname}: {text}" for check in CHECKS for text in check(plain, made)]
    for a, b in zip(children(plain), children(made)):
        found += complaints(a, b)
    return found


def metadata_differs(plain, made):
    text = code_difference(plain, made)
    return [text] if text else []


def stack_is_too_small(plain, made):
    needed = stack_needed(made)
    return [f"needs a stack of {needed}, has {made.co_stacksize}"] if needed > made.co_stacksize else []


def table_is_unsound(plain, made):
    starts = {i.offset for i in seen(made)} | {len(made.co_code)}
    last = 0
    for entry in dis._parse_exception_table(made):
        if entry.start < last or entry.end <= entry.start:
            yield f"exception table: {entry} is out of order"
        if not {entry.start, entry.target} <= starts or entry.end > len(made.co_code):
            yield f"exception table: {entry} is not at instructions"
        last = entry.end


def depth_is_uneven(plain, made):
    """The stack has one depth at each instruction, and is never shallower than where an exception goes."""
    code = seen(made)
    at = {i.offset: k for k, i in enumerate(code)}
    depths, work = {}, []

    def reach(k, depth, where):
        if depths.setdefault(k, depth) != depth:
            return [f"stack: {depths[k]} or {depth} at {code[k].offset}, from {where}"]
        work.append(k)
        return [] if depth >= 0 else [f"stack: {depth} at {code[k].offset}"]

    table = dis._parse_exception_table(made)
    yield from reach(0, 0, "start")
    for entry in table:
        yield from reach(at[entry.target], entry.depth + entry.lasti + 1, "exception")
    done = set()
    while work:
        k = work.pop()
        if k in done:
            continue
        done.add(k)
        i = code[k]
        if i.opcode in JUMPING:
            yield from reach(at[i.argval], depths[k] + effect(i, True), i.offset)
        if i.opname not in LAST:
            yield from reach(k + 1, depths[k] + effect(i, False), i.offset)
    for entry in table:
        inside = [k for k, i in enumerate(code) if entry.start <= i.offset < entry.end and k in depths]
        yield from (f"stack: {depths[k]} in a handler's {entry}" for k in inside if depths[k] < entry.depth)


def effect(i, jump):
    if i.opname == "RETURN_GENERATOR":
        return 1
    return dis.stack_effect(i.opcode, i.arg if i.opcode >= dis.HAVE_ARGUMENT else None, jump=jump)


JUMPING = {op for op in dis.hasjrel if dis.opname[op] != "END_ASYNC_FOR"}


def lines_differ(plain, made):
    """Coverage tools read them; code that nothing leads to may go."""
    wanted, needed, got = ({i.positions.lineno for i in some}
        for some in (seen(plain), led_to(plain), seen(made)))
    if lost := needed - got - {None}:
        yield f"lost lines {sorted(lost)}"
    if new := got - wanted - {None}:
        yield f"new lines {sorted(new)}"


def places_differ(plain, made):
    """Line by line, as sets: instructions may be others, the places that programs can come to see are not."""
    wanted, needed = places(seen(plain)), places(loud(led_to(plain)))
    got, told = places(seen(made)), places(loud(seen(made)))
    for line in sorted(wanted.keys() | got.keys(), key=lambda line: line or 0):
        lost = needed.get(line, set()) - got.get(line, set())
        new = told.get(line, set()) - wanted.get(line, set())
        if lost or new:
            yield f"places of line {line}: lost {sorted(lost)}, new {sorted(new)}"


def places(instructions):
    lines = {}
    for line, *rest in (i.positions for i in instructions):
        lines.setdefault(line, set()).add(tuple(-1 if k is None else k for k in rest))
    return lines


def loud(instructions):
    return [i for i in instructions if not i.opname.startswith(SILENT)]


@functools.lru_cache(4)
def seen(code):
    return list(dis.get_instructions(code))


def led_to(code):
    """Instructions that something leads to; to handlers, what can raise."""
    heights, _ = walked(code)
    return [i for i in seen(code) if i.offset in heights]


# How the names begin of what neither raises nor looks whether it is to be interrupted.
SILENT = tuple(
    """NOP COPY SWAP POP_TOP POP_EXCEPT POP_ITER PUSH_ LOAD_CONST LOAD_SMALL_INT LOAD_CLOSURE STORE_FAST
    LOAD_FAST_AND_CLEAR MAKE_CELL CACHE PRECALL KW_NAMES EXTENDED_ARG JUMP_FORWARD JUMP_BACKWARD_NO RETURN_
    NOT_TAKEN END_FOR END_SEND""".split()
)
CHECKS = [
    metadata_differs, lines_differ, places_differ, stack_is_too_small, depth_is_uneven, table_is_unsound
]  # fmt: skip


def same_bytes(plain: CodeType, made: CodeType) -> bool:
    """Of this code object alone."""
    return all(getattr(plain, n) == getattr(made, n)
        for n in ("co_code", "co_linetable", "co_exceptiontable"))


def all_codes(code):
    yield code
    for inner in children(code):
        yield from all_codes(inner)


# -- the stack -------------------------------------------------------------------------------------

JUMPS = {*dis.hasjrel, *dis.hasjabs}
ENDS = {dis.opmap[n] for n in dis.opmap if n.startswith(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS",
    "RERAISE"))}
ALWAYS = {dis.opmap[n] for n in dis.opmap if n.startswith("JUMP_") and "_IF_" not in n}


def stack_needed(code):
    """The most values on the stack, over all ways through the instructions."""
    return walked(code)[1]


def walked(code):
    """The greatest height of the stack before each instruction that something leads to, and of all."""
    instructions = {i.offset: i for i in seen(code)}
    following = dict(zip(instructions, [*instructions][1:]))
    handlers = dis._parse_exception_table(code)
    heights, work, most = {}, [(0, 0)], 0
    while work:
        offset, height = work.pop()
        if heights.get(offset, -1) >= height:
            continue
        heights[offset] = height
        most = max(most, height)
        instruction = instructions[offset]
        work += [(target, height + change) for target, change in _ways(instruction, following)]
        if not instruction.opname.startswith(SILENT):
            work += _handled(handlers, offset)
    return heights, most


def _ways(instruction, following):
    """(where to, change of the height)."""
    op = instruction.opcode
    arg = instruction.arg if op >= dis.HAVE_ARGUMENT else None
    if op in JUMPS:
        yield instruction.argval, dis.stack_effect(op, arg, jump=True)
    if op not in ENDS and op not in ALWAYS and instruction.offset in following:
        yield following[instruction.offset], dis.stack_effect(op, arg, jump=False)


def _handled(handlers, offset):
    for entry in handlers:
        if entry.start <= offset < entry.end:
            yield entry.target, entry.depth + 1 + entry.lasti
