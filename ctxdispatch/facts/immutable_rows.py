"""Rows of the methods of immutable types, numbers and text among them: nothing is stored, kept or shared."""

from __future__ import annotations

import datetime
import decimal
import re
import struct
import time
import types

from ctxdispatch.facts.fact import fact
from ctxdispatch.facts.python_rows import ATTRIBUTE, ITERATION, KEYS, NUMBER, TRUTH
from ctxdispatch.facts.table import family, of

IMMUTABLE: tuple[type, ...] = (
    int,
    float,
    complex,
    bool,
    str,
    bytes,
    range,
    slice,
    types.NoneType,
    types.EllipsisType,
    types.NotImplementedType,
    types.CodeType,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
    datetime.tzinfo,
    decimal.Decimal,
    re.Pattern,
    re.Match,
    struct.Struct,
    time.struct_time,
)
of(fact(result="itself 0"), IMMUTABLE, "__copy__ __deepcopy__ canonical conjugate")
of(
    fact(effect=True, repeats=True, looks="1.. **", methods=ATTRIBUTE),
    (datetime.date, datetime.datetime),
    "now today utcnow timestamp astimezone",
)
of(
    fact(effect=True, repeats=True, looks="1.. **", methods=f"index {NUMBER} {ATTRIBUTE}"),
    (datetime.date, datetime.datetime),
    "fromtimestamp utcfromtimestamp",
)
_ASKED = f"class buffer add radd mul rmul lt le gt ge eq ne {ATTRIBUTE}"
_OF_TEXT = fact(
    looks="1..",
    inside=True,
    methods=f"index {NUMBER} {KEYS} {ITERATION} {_ASKED}",
)
for _cls in (str, bytes):
    of(
        _OF_TEXT._replace(gives=_cls),
        [_cls],
        "strip lstrip rstrip replace expandtabs translate removeprefix removesuffix zfill ljust rjust center "
        "capitalize casefold lower upper title swapcase",
    )
    of(fact(looks="1", inside=True, iterates="1", methods=ITERATION, gives=_cls), [_cls], "join")
of(_OF_TEXT._replace(gives=int), (str, bytes), "find rfind index rindex count")
of(
    _OF_TEXT._replace(gives=bool),
    (str, bytes),
    "startswith endswith isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric "
    "isprintable isspace istitle isupper",
)
of(fact(gives=bool), (int, float), "is_integer")
_formatted = fact(
    looks="1.. **",
    inside=True,
    methods=f"format str repr getitem getattribute getattr {NUMBER}",
)
of(_formatted._replace(gives=str), (str,), "format format_map")
of(_formatted, (str,), "__mod__ __rmod__")
family(
    fact(
        looks="0..",
        inside=True,
        iterates="0..",
        methods=f"{NUMBER} {KEYS} {ITERATION} {TRUTH} {_ASKED}",
    ),
    IMMUTABLE,
)
