"""What the ledger holds of rows that are paid for beforehand: followed, checked, and shown."""

import contextlib
from dataclasses import replace

import pytest
from tests.accounting._reserved_rows import SHARP, VOTE, budget, failing, tied

from secretballot.__main__ import main
from secretballot.accounting import LedgerError
from secretballot.accounting._report import replay
from secretballot.inspection import BudgetDisplay
from secretballot.ledger._entry import Reserved


@pytest.mark.parametrize(
    ("state", "n_rows", "message"),
    [
        ({"rows": 11}, 11, "doesn't follow from how its reservation stood"),
        ({"rows": 2}, 3, "doesn't follow"),
        ({"event": "reserve", "plans": ((10, None), (5, None))}, 0, None),
        ({"event": "reserve", "plans": ((15, None),)}, 0, "doesn't follow"),
        ({"rows": 3, "id": "another"}, 3, "doesn't follow"),
        (None, 3, "releases rows that nobody paid for"),
    ],
)
def test_rows_that_nobody_paid_for_are_not_recorded_or_found(state, n_rows, message):
    accountant = budget()
    reservation = accountant.reserve(VOTE, 10, n_columns=2)
    (entry,) = accountant.entries()
    state_fields = {"id": reservation.id, "event": "draw", "plans": ((10, None),), **(state or {})}
    after = None if state is None else Reserved(**state_fields)
    charges = entry.charges if state_fields["event"] == "reserve" else {}
    another = type(entry)(
        **{
            **{name: getattr(entry, name) for name in ("mechanism", "note", "seeded")},
            "scope_id": entry.scope_id,
            "scope_epsilon": None,
            "n_rows": n_rows,
            "reservation": after,
            "charges": charges,
        }
    )
    with pytest.raises(LedgerError, match=message) if message else contextlib.nullcontext():
        accountant._ledger.transact(lambda transaction: transaction.append(another))
        replay(accountant._ledger)


def test_refunds_that_were_not_paid_are_not_recorded():
    accountant = budget()
    reservation = accountant.reserve(VOTE, 10, n_columns=2)
    other = accountant.reserve(VOTE, 10, n_columns=2, scope=reservation.scope)
    paid = accountant.entries()[0]
    accountant.release(VOTE, tied(1), reservation=reservation)
    state = accountant.reserved(reservation)
    more = {group: 1.5 * cost for group, cost in paid.charges.items()}
    settled = replace(paid, reservation=state.settled(), charges=more)
    with pytest.raises(LedgerError, match="gives back more than was paid"):
        accountant._ledger.transact(lambda transaction: transaction.append(settled))
    assert accountant.reserved(other).rows_left == 10
    replay(accountant._ledger)


def test_reservations_in_the_command_line_and_displays(tmp_path, capsys):
    accountant = budget(ledger=tmp_path / "budget.ledger")
    reservation = accountant.reserve(SHARP, 12, n_columns=2, n_answers=3)
    accountant.release(SHARP, failing(4), reservation=reservation)
    accountant.settle(reservation)
    for command in ("show", "verify", "replay", "statement"):
        assert main(["ledger", command, str(tmp_path / "budget.ledger")]) == 0
    output = capsys.readouterr().out
    for what in ("12 rows", "3 answers"):
        assert f"reserved {what}: ConfidentGNMax(" in output
    assert "settled: ConfidentGNMax(" in output
    assert f"mu^2 {accountant.spent().amount!r}, " in output
    figure = BudgetDisplay.from_accountant(accountant).plot().figure_
    assert figure.axes
