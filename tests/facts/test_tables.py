"""Closed tables of callables: their number only goes down."""

from tests.facts.tables import tables

MOST = 35


def test_there_are_no_more_tables_of_callables():
    found = tables()
    assert len(found) <= MOST, "\n".join(map(str, found))
