"""A ledger against its witness: restored, forked, replaced and cut-off ledgers are refused."""

import shutil
from dataclasses import replace

import pytest
from tests._commands import ledger_command
from tests._fakes import Known, Pure, basic_budget, spend, tamper, votes

from secretballot.accounting import (
    LedgerError,
    PrivacyAccountant,
    PrivacyLeakWarning,
    WitnessError,
)
from secretballot.accounting.witnessing import SignedHead
from secretballot.accounting.witnessing._signing_keys import read_signing_key
from secretballot.ledger import Ledger


def opened(place, **options):
    return PrivacyAccountant.open(place.ledger, witness=place.witness, **options)


def test_a_ledger_with_its_head_is_opened_and_spent_from(place, accountant):
    head = place.sign()
    spend(opened(place))
    assert len(opened(place).entries()) == 3
    about = accountant.statement(witness=place.witness).witness
    assert about == {
        **{"n_heads": 1, "n_entries": 2},
        **{"time": head.time, "key_id": head.key_id},
    }
    assert "Witness: 1 signed head, all in this ledger" in str(
        accountant.statement(witness=place.witness)
    )
    assert accountant.statement().witness is None


def test_a_ledger_restored_with_its_mark_is_refused(restored, capsys):
    content = restored.ledger.read_bytes()
    for accept in (None, "moved", "clock"):
        with pytest.raises(WitnessError, match="has 2 entries, and had 3 when its witness signed"):
            opened(restored, accept=accept)
    accountant = PrivacyAccountant.open(restored.ledger)
    with pytest.raises(LedgerError, match="restored from a copy"):
        accountant.statement(witness=restored.witness)
    with pytest.raises(WitnessError, match="restored from a copy"):
        restored.sign()
    assert restored.ledger.read_bytes() == content
    options = ("--witness", restored.log, "--witness-key", restored.public)
    for command in ("verify", "statement"):
        status, output, errors = ledger_command(capsys, command, restored.ledger, *options)
        assert (status, output) == (1, "")
        assert "restored from a copy" in errors
        assert ledger_command(capsys, command, restored.ledger)[0] == 0


def test_a_restored_ledger_that_was_spent_from_is_a_fork(restored):
    spend(PrivacyAccountant.open(restored.ledger), 2)
    for ask in (
        lambda: opened(restored),
        lambda: PrivacyAccountant.open(restored.ledger).statement(witness=restored.witness),
        restored.sign,
    ):
        with pytest.raises(WitnessError, match="its entry 3 has another digest"):
            ask()


def test_another_ledger_in_its_place_is_refused(place, accountant):
    place.sign()
    for path in (place.ledger, place.mark):
        path.unlink()
    spend(basic_budget(place.ledger), 5)
    with pytest.raises(WitnessError, match="another one than its witness"):
        opened(place)
    with pytest.raises(WitnessError, match="another one than its witness"):
        place.sign()


def test_an_earlier_head_is_compared_by_a_statement(place, accountant):
    """The newest is the ledger's own; one before is not: the witness signed a fork."""
    head = place.sign()
    spend(accountant, 200, epsilon=0.001)
    place.sign()
    forged = replace(head, digest="0" * 64)
    lines = place.log.read_bytes().splitlines(keepends=True)
    place.log.write_bytes(forged.signed(read_signing_key(place.key)).line + lines[1])
    opened(place)
    with pytest.raises(WitnessError, match="its entry 2 has another digest"):
        accountant.statement(witness=place.witness)


@pytest.mark.parametrize("n_since", [0, 1, 63, 64, 65, 200])
def test_the_newest_head_is_found_behind_checkpoints(place, n_since):
    accountant = basic_budget(place.ledger, epsilon=1000.0)
    spend(accountant, 100)
    place.sign()
    spend(accountant, n_since)
    opened(place)
    # The witness saw another entry.
    (line,) = place.log.read_bytes().splitlines()
    other = replace(SignedHead.from_line(line), digest="0" * 64)
    place.log.write_bytes(other.signed(read_signing_key(place.key)).line)
    with pytest.raises(WitnessError, match="its entry 100 has another digest"):
        opened(place)


def test_others_spend_while_the_newest_head_is_looked_for(place, monkeypatch):
    accountant = basic_budget(place.ledger, epsilon=1000.0)
    spend(accountant, 130)
    place.sign()
    log, ledger = place.witness.read(), Ledger.open(place.ledger)
    totals, asked = Ledger.totals, []

    def totals_before_others(self, scope=None):
        answer = totals(self, scope)
        if self is ledger and not asked:
            asked.append(True)
            spend(accountant, 200)
        return answer

    monkeypatch.setattr(Ledger, "totals", totals_before_others)
    seen = []
    compared = type(log).compared
    monkeypatch.setattr(
        type(log),
        "compared",
        lambda self, *rest: (seen.append(e.sequence) or e for e in compared(self, *rest)),
    )
    log.check_newest(ledger)
    assert asked
    assert 130 in seen


def test_a_ledger_without_entries_has_a_head(place):
    basic_budget(place.ledger)
    assert place.sign().n_entries == 0
    assert place.sign().digest == Ledger.open(place.ledger).genesis
    spend(opened(place))
    other = place.ledger.with_name("other.ledger")
    basic_budget(other)
    with pytest.raises(WitnessError, match="another one"):
        PrivacyAccountant.open(other, witness=place.witness)


def test_a_ledger_cut_off_and_written_anew(place, accountant):
    place.sign()
    tamper(
        place.ledger,
        "DELETE FROM charge WHERE sequence = 2",
        "DELETE FROM entry WHERE sequence = 2",
    )
    with pytest.raises(WitnessError, match="has 1 entry, and had 2"):
        opened(place)
    spend(PrivacyAccountant.open(place.ledger))
    with pytest.raises(WitnessError, match="forked"):
        opened(place)


def test_a_copy_is_checked_before_its_move_is_recorded(place, accountant, tmp_path):
    copy, late = tmp_path / "copy.ledger", tmp_path / "late.ledger"
    shutil.copy(place.ledger, copy)
    spend(accountant)
    place.sign()
    content = copy.read_bytes()
    with pytest.raises(WitnessError, match="has 2 entries, and had 3"):
        PrivacyAccountant.open(copy, accept="moved", witness=place.witness)
    assert copy.read_bytes() == content
    shutil.copy(place.ledger, late)
    place.ledger.unlink()
    spend(PrivacyAccountant.open(late, accept="moved", witness=place.witness))


def test_an_empty_witness_is_said(place, accountant, capsys):
    place.log.touch()
    with pytest.warns(UserWarning, match="no signed head yet: nothing was compared"):
        opened(place)
    statement = accountant.statement(witness=place.witness)
    assert statement.witness["n_heads"] == 0
    assert "no signed head yet, so nothing was compared" in str(statement)
    status, output, errors = ledger_command(
        capsys,
        *("verify", place.ledger, "--witness", place.log, "--witness-key", place.public),
    )
    assert status == 0
    assert "no signed head yet" in errors
    assert "signed" not in output


def test_a_data_dependent_budget_has_no_witness(place, tmp_path):
    path = tmp_path / "known.ledger"
    with pytest.warns(PrivacyLeakWarning):
        accountant = PrivacyAccountant(
            1.0, 1e-5, accounting="data_dependent", order="renyi", ledger=path
        )
    accountant.release(Known(most=1.0), [[5.0, 1e-4]])
    digest = accountant.entries()[-1].digest
    with pytest.raises(WitnessError, match="could confirm a guess") as refused:
        place.sign(path)
    assert digest not in str(refused.value)
    assert not place.log.exists()
    place.log.touch()
    with pytest.raises(WitnessError, match="could confirm a guess"):
        PrivacyAccountant.open(path, witness=place.witness)
    with pytest.raises(WitnessError, match="could confirm a guess"):
        accountant.statement(witness=place.witness)


def test_a_sanitized_budget_has_one(place):
    accountant = PrivacyAccountant(1.0, 1e-5, accounting="sanitized", ledger=place.ledger)
    assert place.sign().n_entries == 0
    assert accountant.statement(witness=place.witness).witness["n_heads"] == 1


def test_verify_says_what_was_compared(place, accountant, tmp_path, capsys):
    place.sign()
    place.sign()
    spend(accountant)
    options = ("--witness", place.log, "--witness-key", place.public)
    status, output, errors = ledger_command(capsys, "verify", place.ledger, *options)
    assert (status, errors) == (0, "")
    assert "has 2 signed heads, all in this ledger; the newest is entry 2" in output
    assert "1 was recorded since" in output
    # A witness stands for the end of a copy, which has no mark.
    copy = tmp_path / "copy.ledger"
    shutil.copy(place.ledger, copy)
    assert "unaltered, but not checked" in ledger_command(capsys, "verify", copy)[1]
    assert "\nok: 3 entries" in ledger_command(capsys, "verify", copy, *options)[1]
    for alone in (options[:2], options[2:]):
        assert ledger_command(capsys, "verify", copy, *alone)[0] == 2


def test_a_release_is_unaffected(place, accountant):
    """A witness is checked when the ledger is opened, and holds nobody up afterwards."""
    place.sign()
    handle = opened(place)
    place.log.unlink()
    handle.release(Pure(epsilon=0.25), votes(1))
