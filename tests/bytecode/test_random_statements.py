"""Random functions of all kinds of statements show rewritten what they show plain."""

import ast

import pytest
from hypothesis import Phase, given, reject, seed, settings
from random_programs import compiled, differs
from random_statements import ARGUMENTS, HOW, PROGRAMS
from rewriters import REWRITERS
from structure import complaints

QUICK = {"phases": [Phase.generate, Phase.shrink], "deadline": None, "derandomize": True, "database": None}
ABSTRACT = {ast.stmt, ast.expr, ast.pattern}
NEVER_WRITTEN = {"Interactive", "Expression"}


@pytest.mark.parametrize("rewriter", REWRITERS)
def test_random_functions(rewriter):
    """Their code is sound and does what it did."""

    @settings(max_examples=120, **QUICK)
    @given(PROGRAMS, ARGUMENTS, HOW)
    def check(text, arguments, how):
        code = compiled(text) or reject()
        made = REWRITERS[rewriter](code)
        assert not complaints(code, made), text
        assert not differs(code, made, arguments, how), text

    check()


def test_every_kind_of_syntax_is_drawn():
    """In some hundred programs; hardly any is refused by the compiler."""
    kinds = {kind.__name__ for base in ABSTRACT for kind in base.__subclasses__() if kind.__module__ == "ast"}
    missing = kinds - NEVER_WRITTEN - {"Num", "Str", "Bytes", "NameConstant", "Ellipsis"}
    texts = []
    for number in range(10):
        texts += drawn(number)
        missing -= {type(node).__name__ for text in texts[-100:] for node in ast.walk(ast.parse(text))}
        if not missing:
            break
    assert not missing
    assert sum(compiled(text) is None for text in texts) < len(texts) / 20


def drawn(number, count=100):
    texts = []

    @seed(number)
    @settings(max_examples=count, phases=[Phase.generate], deadline=None, database=None)
    @given(PROGRAMS)
    def collect(text):
        texts.append(text)

    collect()
    return texts[-count:]
