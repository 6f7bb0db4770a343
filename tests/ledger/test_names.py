"""Names of ledgers, levels, children and reservations, and texts of notes, without NUL."""

from dataclasses import replace

import pytest
from tests._fakes import Grouped, Pure, basic_budget, spend, votes

from secretballot.accounting import LedgerError, PrivacyAccountant, Scope


class Described(Pure):
    def describe(self):
        return {"column": "a\0b"}


def a_child(accountant):
    accountant.child("a\0b", epsilon=0.5)


def a_child_that_is_looked_up(accountant):
    accountant.child("a\0b")


def a_note(accountant):
    accountant.release(Pure(epsilon=0.25), votes(1), note={"who": "a\0b"})


def a_word_of_a_note(accountant):
    accountant.release(Pure(epsilon=0.25), votes(1), note={"a\0b": [1]})


def a_text_deep_in_a_note(accountant):
    accountant.release(Pure(epsilon=0.25), votes(1), note={"a": [{"b": "\\\0"}]})


def a_description(accountant):
    accountant.release(Described(epsilon=0.25), votes(1))


def a_note_of_a_reservation(accountant):
    accountant.reserve(Pure(epsilon=0.25), 1, note={"who": "\0"})


def a_reservation_that_is_looked_up(accountant):
    accountant.resume("a\0b", Pure(epsilon=0.25))


def a_reservation_with_another_name(accountant):
    reservation = accountant.reserve(Pure(epsilon=0.25), 1)
    try:
        mechanism = Pure(epsilon=0.25)
        accountant.release(mechanism, votes(1), reservation=replace(reservation, id="a\0b"))
    finally:
        accountant.settle(reservation)


def a_scope(accountant):
    Scope("a\0b", None)


USES = [
    *(a_child, a_child_that_is_looked_up, a_note, a_word_of_a_note),
    *(a_text_deep_in_a_note, a_description, a_note_of_a_reservation),
    *(a_reservation_that_is_looked_up, a_reservation_with_another_name, a_scope),
]


@pytest.mark.parametrize("use", USES)
def test_a_name_with_nul_is_refused(name, use):
    accountant = basic_budget(name)
    with pytest.raises(ValueError, match=r"NUL|no reservation|not in the ledger"):
        use(accountant)
    assert accountant.spent().n_releases == 0
    assert accountant.children() == {}
    spend(accountant)


def test_a_level_with_nul_is_refused(name):
    with pytest.raises(ValueError, match="NUL"):
        PrivacyAccountant({"a\0b": 1.0}, 1e-5, ledger=name)
    PrivacyAccountant({"all": 1.0}, 1e-5, ledger=name)


def test_a_part_of_a_level_with_nul_is_refused(name):
    accountant = PrivacyAccountant({"all": 1.0}, 1e-5, ledger=name, order="renyi")
    with pytest.raises(ValueError, match="NUL"):
        accountant.release(Grouped(rates={"all/sides/\0": 0.001}), votes(1))
    assert accountant.spent()["all"].n_releases == 0


def test_a_ledger_with_nul_is_refused(name):
    for use in (basic_budget, PrivacyAccountant.open):
        with pytest.raises((LedgerError, ValueError)):
            use(f"{name}\0")


def test_a_note_may_tell_of_nul(name):
    """A backslash and digits are no NUL."""
    note = {"escape": "\\u0000", "more": "\\\\u0000"}
    accountant = basic_budget(name)
    accountant.release(Pure(epsilon=0.25), votes(1), note=note)
    assert accountant.entries()[0].note.count("u0000") == 2
