"""A note that is a function of the outcome: it sees what is paid for, and pays if it fails."""

import json

import numpy as np
import pytest

from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import GNMax

VOTES = np.tile([[240, 10]], (300, 1))
MECHANISM = GNMax(sigma=40.0)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_a_note_function_gets_the_begun_rows(order):
    accountant, shown = PrivacyAccountant(1.0, 1e-5, order=order), []

    def note(outcome):
        shown.append(outcome)
        return {"first": int(outcome[0])}

    released = accountant.release(MECHANISM, VOTES, note=note)
    assert 0 < len(released) < len(VOTES)
    assert [each.tolist() for each in shown] == [released.tolist()]
    assert shown[0].base is None  # behind a view the other rows could be read
    assert json.loads(accountant.entries()[0].note)["first"] == released[0]


@pytest.mark.parametrize("reserved", [False, True])
@pytest.mark.parametrize(
    "told",
    [lambda outcome: 1 / 0, lambda outcome: {"published": 3}, lambda outcome: 3],
    ids=["fails", "misleads", "no note"],
)
def test_rows_are_paid_for_if_the_note_function_fails(told, reserved):
    accountant = PrivacyAccountant(3.0, 1e-5)
    reservation = accountant.reserve(MECHANISM, 20, n_columns=2) if reserved else None
    with pytest.raises((ZeroDivisionError, ValueError, TypeError)):
        accountant.release(MECHANISM, VOTES[:20], note=told, reservation=reservation)
    last = accountant.entries()[-1]
    assert last.n_rows == 20
    assert '"first"' not in last.note
    if reserved:
        assert accountant.reserved(reservation).rows_left == 0
    else:
        assert accountant.spent().epsilon > 0


def test_a_reservation_keeps_its_note():
    accountant = PrivacyAccountant(3.0, 1e-5)
    reservation = accountant.reserve(MECHANISM, 20, n_columns=2)
    accountant.release(
        MECHANISM, VOTES[:20], note=lambda outcome: {"n": len(outcome)}, reservation=reservation
    )
    assert accountant.entries()[-1].note == '{"n": 20}'
