"""What others put into a ledger file: refused before any of it can run."""

import contextlib
import sqlite3

import pytest
from tests._fakes import basic_budget, spend

from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger import _file_store

FOREIGN = {
    "trigger": "CREATE TRIGGER silent BEFORE INSERT ON entry BEGIN SELECT RAISE(IGNORE); END",
    "table": "CREATE TABLE notes (text)",
    "index": "CREATE INDEX scopes ON entry (scope_id)",
    "view": "CREATE VIEW spent AS SELECT sum(n_rows) FROM entry",
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


def change(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as opened:
        for statement in statements:
            opened.execute(statement)
        opened.commit()


@pytest.mark.parametrize(("kind", "statement"), FOREIGN.items())
def test_foreign_sql_objects_are_refused(path, kind, statement):
    accountant = basic_budget(path)
    spend(accountant)
    change(path, statement)
    content = path.read_bytes()
    for use in (
        lambda: spend(accountant),
        accountant.spent,
        accountant.statement,
        lambda: PrivacyAccountant.open(path),
    ):
        with pytest.raises(LedgerError, match=f"it holds a {kind} .* did not make"):
            use()
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["DROP TRIGGER entry_delete"], "its trigger 'entry_delete' is missing"),
        (
            ["DROP TRIGGER total_update", "CREATE TRIGGER total_update BEFORE UPDATE ON total "
             "BEGIN SELECT 1; END"],
            "it holds a trigger 'total_update'",
        ),
        (
            ["ALTER TABLE level RENAME TO other", "CREATE VIEW level AS SELECT position, name, "
             "100 * epsilon AS epsilon, delta, approximation_delta, gate_order, amount "
             "FROM other"],
            "it holds a (table|trigger|view)",
        ),
    ],
)  # fmt: skip
def test_altered_sql_objects_are_refused(path, statements, said):
    basic_budget(path)
    change(path, *statements)
    with pytest.raises(LedgerError, match=said):
        PrivacyAccountant.open(path)


def test_a_row_that_is_not_written_is_an_error():
    """The last resort: a database that says yes and keeps nothing."""
    with contextlib.closing(sqlite3.connect(":memory:")) as opened:
        opened.execute("CREATE TABLE entry (sequence)")
        _file_store.insert_row(opened, "entry", (1,))
        assert opened.execute("SELECT * FROM entry").fetchall() == [(1,)]
        opened.execute(FOREIGN["trigger"])
        with pytest.raises(LedgerError, match="was not written. Nothing was released"):
            _file_store.insert_row(opened, "entry", (2,))


def test_a_function_in_the_file_is_not_trusted(path):
    basic_budget(path)
    asked = "PRAGMA trusted_schema"
    answer = _file_store.transact(
        str(path), lambda opened: opened.execute(asked).fetchone(), to="read"
    )
    assert answer == (0,)
