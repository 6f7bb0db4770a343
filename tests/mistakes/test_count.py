"""The tables hold enough mistakes of each kind, and none twice."""

import pytest
from tests.mistakes import (
    test_budget,
    test_labels,
    test_other_tools,
    test_people_and_columns,
    test_pool,
    test_rows,
    test_searches,
)

TABLES = {
    "rows": test_rows,
    "labels": test_labels,
    "public rows": test_pool,
    "budget": test_budget,
    "searches": test_searches,
    "people and columns": test_people_and_columns,
    "other tools": test_other_tools,
}


@pytest.mark.parametrize("kind", TABLES)
def test_each_kind_has_ten_mistakes(kind):
    names = [mistake.name for mistake in TABLES[kind].MISTAKES]
    assert len(set(names)) == len(names) >= 10


def test_messages_have_a_remedy():
    """No line accepts any message: each asks for some words of it."""
    mistakes = [mistake for table in TABLES.values() for mistake in table.MISTAKES]
    assert len(mistakes) >= 230
    assert min(len(mistake.message) for mistake in mistakes) >= 8
