"""What is kept for the owner only: recorded with its entry, and never in anything shown."""

import contextlib
import pickle
import sqlite3
import warnings
from functools import partial

import numpy as np
import pytest
from tests._fakes import Gaussian, tamper

from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.accounting._report import replay
from secretballot.ledger import _ledger as transactions
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._file_store import FileRows
from secretballot.ledger._ledger import Ledger, Transaction
from secretballot.ledger._transfer import export
from secretballot.mechanisms import GNMax

#: Of the entries 1, 2 and 4.
SECRETS = {1: "gaps 917453", 2: '{"gaps": [481207, "\u00e9"]}', 4: "gaps 733019"}


def sanitized(path=None):
    return PrivacyAccountant(1.0, 1e-5, accounting="sanitized", order="renyi", ledger=path)


def release(number):
    """An entry that differs from others in its time only."""
    return LedgerEntry(
        mechanism=f'{{"mechanism": "Fake", "number": {number}}}',
        n_rows=1,
        scope_id=None,
        scope_epsilon=None,
        seeded=False,
        charges=Gaussian(sigma=400).row_cost(),
    )


def record(accountant, number, private=None, then=lambda: None):
    def append(transaction):
        transaction.append(release(number), private)
        then()

    accountant._ledger.transact(append)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


def with_records(name):
    accountant = sanitized(name)
    for number in range(1, 5):
        record(accountant, number, SECRETS.get(number))
    return accountant


@pytest.fixture
def accountant(path):
    return with_records(path)


def test_they_last_and_every_handle_reads_them(name):
    accountant = with_records(name)
    handles = [accountant, pickle.loads(pickle.dumps(accountant)), PrivacyAccountant.open(name)]
    for handle in handles:
        assert handle.private_records() == SECRETS
    record(handles[1], 5, "later")
    for handle in handles:
        assert list(handle.private_records().items()) == [*SECRETS.items(), (5, "later")]


@pytest.mark.parametrize("where", ["writing the record", "before the commit"])
def test_an_entry_and_its_record_are_there_together_or_not_at_all(
    accountant, path, monkeypatch, where
):
    def fail(*_):
        raise OSError("planted")

    if where == "writing the record":
        monkeypatch.setattr(FileRows, "insert", fail)
    head = accountant._ledger.verify()
    with pytest.raises(OSError, match="planted"):
        record(accountant, 5, "lost 655943", then=fail)
    monkeypatch.undo()
    assert accountant._ledger.verify() == head
    assert accountant.private_records() == SECRETS
    assert b"655943" not in path.read_bytes()
    record(accountant, 5, "kept")
    assert accountant.private_records() == {**SECRETS, 5: "kept"}


@pytest.mark.parametrize(
    "statement",
    ["UPDATE private_record SET content = 'other'", "DELETE FROM private_record"],
)
def test_they_are_append_only(accountant, path, statement):
    with (
        contextlib.closing(sqlite3.connect(path)) as opened,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        opened.execute(statement)
    assert accountant.private_records() == SECRETS


def shown(accountant, path, capsys):
    """Everything that is printed of a ledger, exported or pickled."""
    for command in ("show", "verify", "replay", "statement"):
        assert main(["ledger", command, str(path)]) == 0
    pages = (["show", "--html"], ["statement", "--html"])
    for command in (*pages, ["statement", "--json"], ["export", "--json"]):
        assert main(["ledger", *command, str(path)]) == 0
    written = capsys.readouterr()
    opened = Ledger.open(path)
    values = [accountant.entries(), accountant.history(), accountant.spent(), replay(opened)]
    values += [accountant.statement().to_dict(), export(opened), opened.header(), opened.verify()]
    values += [accountant, accountant._repr_html_(), vars(opened), opened.totals()]
    return [
        *written,
        *map(repr, values),
        *(str(pickle.dumps(each)) for each in (accountant, opened)),
    ]


def test_private_records_are_never_shown(accountant, path, capsys):
    texts = shown(accountant, path, capsys)
    assert any("accounting sanitized" in text for text in texts)
    for secret in ("917453", "481207", "733019", "gaps"):
        assert [text for text in texts if secret in text] == []
        assert secret.encode() in path.read_bytes()  # the same search finds it where it is
    assert secret.encode() not in path.with_name(f"{path.name}.mark").read_bytes()


def test_other_records_leave_the_same_chain(tmp_path, monkeypatch):
    """A digest of what has little entropy would be a way to try out guesses."""
    path, other, third = (tmp_path / name for name in "abc")
    sanitized(path)
    for each in (other, third):
        each.write_bytes(path.read_bytes())
    heads = []
    monkeypatch.setattr("secretballot.ledger._ledger.same_place", lambda one, other: True)
    monkeypatch.setattr(transactions, "CHECKPOINT_EVERY", 1)
    monkeypatch.setattr(transactions, "datetime", Noon)
    for each, secret in ((path, "yes"), (other, "no"), (third, None)):
        opened = Ledger.open(each)
        opened.transact(partial(Transaction.append, entry=release(1), private=secret))
        heads.append((opened.verify(), export(opened)))
        assert opened.private_records() == ({} if secret is None else {1: secret})
    assert heads[0] == heads[1] == heads[2]
    assert opened.entries()[0].checkpoint is not None  # totals too


class Noon:
    """A clock that stands still."""

    @classmethod
    def now(cls, zone):
        return cls()

    def isoformat(self, timespec):
        return "2026-01-01T12:00:00.000000+00:00"


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO private_record VALUES (5, 'gaps 655943')",
        "INSERT INTO private_record VALUES (0, 'gaps 655943')",
        "DELETE FROM entry WHERE sequence = 4",
    ],
)
def test_a_record_without_an_entry_is_detected(name, statement, capsys):
    accountant = with_records(name)
    tamper(name, statement)
    assert main(["ledger", "verify", name]) == 1
    assert "a private record for entry" in (message := capsys.readouterr().err)
    assert "gaps" not in message
    for use in (lambda: Ledger.open(name).private_records(), lambda: record(accountant, 5)):
        with pytest.raises(LedgerError):
            use()


@pytest.mark.parametrize("accounting", ["worst_case", "data_dependent"])
@pytest.mark.filterwarnings("ignore:accounting='data_dependent'")
def test_other_ledgers_keep_none(accounting):
    accountant = PrivacyAccountant(1.0, 1e-5, accounting=accounting, order="renyi")
    with pytest.raises(ValueError, match=f"accounting='{accounting}', which keeps nothing"):
        record(accountant, 1, "gaps")
    assert (accountant.entries(), accountant.private_records()) == ([], {})
    record(accountant, 1)
    assert len(accountant.entries()) == 1


@pytest.mark.parametrize("private", ["", b"gaps", 917453, "gaps \ud800"])
def test_an_invalid_record_is_refused_without_quoting_it(private):
    accountant = sanitized()
    with pytest.raises(ValueError, match="must be a non-empty string") as refused:
        record(accountant, 1, private)
    assert "gaps" not in str(refused.value)
    assert "917453" not in str(refused.value)
    assert accountant.entries() == []


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_it_charges_and_stops_as_the_worst_case(order):
    results = []
    for accounting in ("worst_case", "sanitized"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing about its figures is sensitive
            accountant = PrivacyAccountant(1.0, 1e-5, accounting=accounting, order=order)
        # Votes far apart: what they did cost is next to nothing.
        counts = np.tile([1e4, 0.0], (60, 1))
        done = len(accountant.release(GNMax(sigma=20.0), counts))
        assert 0 < done < 60
        statement = accountant.statement().to_dict()
        assert statement["head"] is not None
        stated = statement["levels"], [each["n_rows"] for each in statement["released"]]
        results.append((done, accountant.spent().amount, stated, statement["assumptions"]))
        assert "sensitive" not in repr(accountant)
    assert results[0] == results[1]
