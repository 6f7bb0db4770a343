"""Spending that somebody undoes by inserting an entry, with right digests: refused by everybody."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tests._fakes import Pure
from tests.ledger._forging import forging

from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant, price_plan
from secretballot.accounting._report import replay
from secretballot.costs._cost import RenyiCost
from secretballot.ledger._entry import Grant
from secretballot.ledger._ledger import Ledger
from secretballot.mechanisms import ConfidentGNMax, GNMax, RoundRobin

VOTE, QUIET = GNMax(sigma=40), GNMax(sigma=400)
MU2 = np.array([0.01]).tobytes()


def tied(n_rows):
    return np.full((n_rows, 2), 120.0)


def refused(accountant, name, match, capsys):
    """Nobody opens, releases, verifies or states a ledger any more."""
    handle = PrivacyAccountant.__new__(PrivacyAccountant)
    ledger = accountant._ledger
    handle._ledger = Ledger(ledger._store, ledger.budget, ledger.genesis)
    for use in (
        lambda: PrivacyAccountant.open(name),
        lambda: accountant.release(VOTE, tied(1)),
        lambda: handle.release(VOTE, tied(1)),
        handle.spent,
        accountant.statement,
        accountant._ledger.verify,
        lambda: replay(accountant._ledger),
    ):
        with pytest.raises(LedgerError, match=match):
            use()
    for command in ("show", "verify", "statement", "replay"):
        assert main(["ledger", command, name]) == 1
    capsys.readouterr()


@pytest.fixture
def accountant(name):
    return PrivacyAccountant(1.0, 1e-5, ledger=name)


@pytest.mark.parametrize(("drawn", "share"), [(1, 1.0), (20, 0.65), (40, 1.0), (40, 0.01)])
def test_a_settlement_that_gives_back_what_was_drawn(accountant, name, capsys, drawn, share):
    reservation = accountant.reserve(VOTE, 40, n_columns=2)
    accountant.release(VOTE, tied(drawn), reservation=reservation)
    with forging(name) as forger:
        id, _, state = forger.reservation(2)
        ((group, (delta, curve)),) = forger.charges(1).items()
        part = (np.frombuffer(curve) * share).tobytes()
        forger.append(
            charges={group: (share * delta, part)},
            scope_id=forger.scope(1),
            reservation=(id, "settle", state),
        )
    refused(accountant, name, "entry 3 gives back more than was paid and not drawn", capsys)


def settle(forger, **changes):
    """Settle the reservation of the first entry, of whose rows none was drawn, with changes."""
    id, _, state = forger.reservation(1)
    forger.append(
        **{
            "charges": forger.charges(1),
            "scope_id": forger.scope(1),
            "reservation": (id, "settle", state),
            **changes,
        }
    )


def test_an_honest_settlement_by_hand_is_accepted(accountant, name):
    """What is refused below is refused for its change."""
    accountant.reserve(VOTE, 40, n_columns=2)
    with forging(name) as forger:
        settle(forger)
    assert PrivacyAccountant.open(name).spent().amount <= 1e-15


def of_nobody(forger):
    settle(forger, reservation=("another", "settle", "[[[40, null]], 0, 0]"))


def twice(forger):
    settle(forger)
    settle(forger)


def of_another_scope(forger):
    settle(forger, scope_id=None)


def to_another_group(forger):
    ((_, cost),) = forger.charges(1).items()
    settle(forger, charges={"*": cost})


def for_one_who_did_not_pay(forger):
    settle(forger, child=("team", "spend", ""))


def of_more_rows(forger):
    id, _, state = forger.reservation(1)
    (plan,), *drawn = json.loads(state)
    settle(forger, reservation=(id, "settle", json.dumps([[plan, [40, None]], *drawn])))


def with_a_grain_more(forger):
    ((group, (delta, curve)),) = forger.charges(1).items()
    settle(forger, charges={group: (delta, (np.frombuffer(curve) * 1.001).tobytes())})


def of_rows_and_answers_at_once(forger):
    settle(forger, reservation=("another", "reserve", "[[[4, 4]], 0, 0]"))


def as_a_draw_that_pays(forger):
    id, _, _ = forger.reservation(1)
    settle(forger, n_rows=1, reservation=(id, "draw", "[[[40, null]], 1, 0]"))


@pytest.mark.parametrize(
    "forge",
    [
        *(of_nobody, twice, of_another_scope, to_another_group, for_one_who_did_not_pay),
        *(of_more_rows, with_a_grain_more, as_a_draw_that_pays),
        of_rows_and_answers_at_once,
    ],
)
def test_a_settlement_of_what_was_not_paid(accountant, name, capsys, forge):
    accountant.reserve(VOTE, 40, n_columns=2)
    accountant.child("team", epsilon=0.4).release(VOTE, tied(1))
    with forging(name) as forger:
        forge(forger)
    refused(accountant, name, r"entry \d .*no version records", capsys)


def close(forger, **changes):
    forger.append(
        **{
            "charges": forger.charges(1),
            "scope_id": forger.scope(1),
            "child": ("team", "close", ""),
            **changes,
        }
    )


def all_of_it(forger):
    close(forger)


def of_a_child_that_was_never_paid(forger):
    given = forger.fetch("given", "child", "event = 'carve'")[0][0]
    forger.append(scope_id="other", child=("other", "carve", given))
    close(forger, scope_id="other", child=("other", "close", ""))


def made_and_closed_at_once(forger):
    given = forger.fetch("given", "child", "event = 'carve'")[0][0]
    close(forger, child=("other", "close", given))


def closed_and_reserved(forger):
    reservation = ("r", "reserve", "[[[1, null]], 0, 0]")
    close(forger, charges={}, reservation=reservation)


@pytest.mark.parametrize(
    "forge",
    [all_of_it, of_a_child_that_was_never_paid, made_and_closed_at_once, closed_and_reserved],
)
def test_a_child_that_is_closed_with_more_than_is_left(accountant, name, capsys, forge):
    accountant.child("team", epsilon=0.5).release(VOTE, tied(4))
    with forging(name) as forger:
        forge(forger)
    refused(accountant, name, r"entry \d .*no version records", capsys)


@pytest.mark.usefixtures("frequent_checkpoints")
def test_a_reservation_is_found_behind_checkpoints(accountant, name):
    """What was paid for it is no part of the sums that are read when a ledger is opened."""
    reservation = accountant.reserve(QUIET, 20, n_columns=2)
    for _ in range(14):
        accountant.release(QUIET, tied(1), reservation=reservation)
    accountant.settle(reservation)
    again = PrivacyAccountant.open(name)
    assert again.spent().amount == accountant.spent().amount
    replay(again._ledger)


@pytest.mark.usefixtures("frequent_checkpoints")
def test_a_forged_settlement_is_found_behind_checkpoints(accountant, name, capsys):
    reservation = accountant.reserve(QUIET, 10, n_columns=2)
    for _ in range(10):
        accountant.release(QUIET, tied(1), reservation=reservation)
    with forging(name) as forger:
        id, _, state = forger.reservation(11)
        reserved = (id, "settle", state)
        forger.append(charges=forger.charges(1), scope_id=forger.scope(1), reservation=reserved)
    refused(accountant, name, "entry 12 gives back more", capsys)


def test_sums_that_somebody_inserted_are_not_believed(name, capsys):
    """A checkpoint may be believed up to the last entry that this machine has added up."""
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=name)
    for _ in range(70):
        accountant.release(QUIET, tied(1))
    with forging(name) as forger:
        charges = forger.charges(1)
        forger.append(charges=charges, n_rows=1, sums=(1, 1, charges))
    refused(accountant, name, "stored with entry 71 are not the sums", capsys)


def test_right_sums_of_others_are_accepted(name):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=name)
    other = PrivacyAccountant.open(name)
    for _ in range(70):  # of which 64 are read at once
        accountant.release(QUIET, tied(1))
    assert other.spent().amount == accountant.spent().amount
    assert PrivacyAccountant.open(name).spent().amount == accountant.spent().amount


@pytest.mark.parametrize("n_rows", [2, 4, 10])
def test_the_bound_takes_nothing_from_honest_refunds(n_rows):
    for drawn in range(1, n_rows):
        accountant = PrivacyAccountant(1.0, 1e-5)
        reservation = accountant.reserve(VOTE, n_rows, n_columns=2)
        paid = accountant.spent().amount
        accountant.release(VOTE, tied(drawn), reservation=reservation)
        accountant.settle(reservation)
        back, left = paid - accountant.spent().amount, n_rows - drawn
        expected = min(price_plan(VOTE, left, n_columns=2).refund(), left * 2 / 40**2)
        assert back == pytest.approx(expected)


SHARP = ConfidentGNMax(sigma=60, sigma_threshold=60, threshold=1000)
DEAR_ROWS = ConfidentGNMax(sigma=60, sigma_threshold=20, threshold=1000)
DEAR_ANSWERS = ConfidentGNMax(sigma=20, sigma_threshold=60, threshold=1000)
TURNS = RoundRobin(mechanism=GNMax(sigma=40), turns={"everyone": (1, 3)})


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
@pytest.mark.parametrize(
    ("mechanism", "answered", "parts"),
    [(DEAR_ROWS, 0, (0.05, 1.0)), (DEAR_ANSWERS, 30, (1.0, 1e-9)), (DEAR_ANSWERS, 30, (0.5, 0.05))],
)
def test_rows_and_answers_behind_a_threshold_come_back_apart(
    name, capsys, order, mechanism, answered, parts
):
    """What is left of one is not paid out at the price of the other."""
    accountant = PrivacyAccountant(30.0, 1e-5, order=order, ledger=name)
    reservation = accountant.reserve(mechanism, 60, n_columns=2, n_answers=30)
    votes = np.where(np.arange(60)[:, None] < answered, [1e6, 0.0], [1.0, 0.0])
    accountant.release(mechanism, votes, reservation=reservation)
    drawn = accountant.reserved(reservation)
    assert (drawn.rows, drawn.answers) == (answered or 60, answered)
    with forging(name) as forger:
        id, _, state = forger.reservation(3)
        back = {}
        for sequence, part in enumerate(parts, start=1):
            for group, (_, curve) in forger.charges(sequence).items():
                back[group] = back.get(group, 0.0) + part * np.frombuffer(curve)
        forger.append(
            charges={group: (0.0, curve.tobytes()) for group, curve in back.items()},
            scope_id=forger.scope(1),
            reservation=(id, "settle", state),
        )
    refused(accountant, name, "entry 4 gives back more than was paid and not drawn", capsys)


@pytest.mark.parametrize(
    ("mechanism", "order"),
    [
        *itertools.product([SHARP, VOTE, TURNS, Pure(epsilon=0.01)], ["gaussian", "renyi"]),
        (Pure(epsilon=0.01), math.inf),
    ],
)
def test_every_honest_settlement_is_accepted(name, order, mechanism):
    accountant = PrivacyAccountant(4.0, 1e-5, order=order, ledger=name)
    for n_rows, more, drawn in ((6, 0, 0), (6, 0, 1), (6, 3, 5), (6, 3, 7), (6, 3, 9)):
        reservation = accountant.reserve(mechanism, n_rows, n_columns=2)
        if more:
            accountant.top_up(reservation, n_rows=more, n_answers=None)
        if drawn:
            counts = np.where(np.arange(drawn)[:, None] % 2, [1e6, 0.0], [1.0, 0.0])
            scope = reservation.scope
            accountant.release(mechanism, counts, reservation=reservation, scope=scope)
        accountant.settle(reservation)
    replay(PrivacyAccountant.open(name)._ledger)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_rows_that_somebody_added_for_nothing_are_not_drawn_and_bring_nothing_back(name, order):
    """The reservation can be settled."""
    accountant = PrivacyAccountant(1.0, 1e-5, order=order, ledger=name)
    reservation = accountant.reserve(VOTE, 20, n_columns=2)
    accountant.release(VOTE, tied(5), reservation=reservation)
    with forging(name) as forger:
        id, _, state = forger.reservation(2)
        plans, *drawn = json.loads(state)
        more = json.dumps([[*plans, [1000, None]], *drawn])
        forger.append(scope_id=forger.scope(1), reservation=(id, "reserve", more))
    paid = accountant.spent().amount
    for handle in (accountant, PrivacyAccountant.open(name)):
        with pytest.raises(LedgerError, match="pays for 1000 rows, and too little.*by hand"):
            handle.release(VOTE, tied(3), reservation=reservation)
    accountant.settle(reservation)
    assert accountant.spent().amount <= paid
    replay(accountant._ledger)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_a_reservation_that_somebody_made_for_nothing_is_not_drawn(name, order):
    accountant = PrivacyAccountant(1.0, 1e-5, order=order, ledger=name)
    reservation = accountant.reserve(VOTE, 20, n_columns=2)
    with forging(name) as forger:
        _, event, state = forger.reservation(1)
        (described,) = {entry.mechanism for entry in accountant.entries()}
        forger.append(
            scope_id=forger.scope(1), reservation=("f" * 32, event, state), mechanism=described
        )
    opened = PrivacyAccountant.open(name)
    forged = opened.resume("f" * 32, VOTE)
    with pytest.raises(LedgerError, match="pays for 20 rows, and too little.*by hand"):
        opened.release(VOTE, tied(3), reservation=forged)
    opened.release(VOTE, tied(3), reservation=reservation)


def test_plans_of_earlier_versions_bring_nothing_back_once_they_were_begun(name):
    """At order infinity they were paid for as one pair, of which no part is the price of a row."""
    levels = {"strict": 2.0, "generous": 2.0}
    vote = GNMax(sigma=40, weight=dict.fromkeys(levels, 1.0))
    PrivacyAccountant(levels, 1e-5, order=math.inf, ledger=name)
    described = json.dumps(vote.describe(), sort_keys=True)
    pair = RenyiCost.from_epsilon_delta(0.8, 2e-6)
    charges = dict.fromkeys(levels, (2e-6, pair.curve.tobytes()))
    begun, untouched = ("b" * 32, "[[[100, null]], {}, 0]"), ("u" * 32, "[[[100, null]], {}, 0]")
    with forging(name) as forger:
        for id, state in (begun, untouched):
            words = {"mechanism": described, "scope_id": id, "charges": charges}
            forger.append(reservation=(id, "reserve", state.format(0)), **words)
        id, state = begun
        drawn = (id, "draw", state.format(50))
        forger.append(reservation=drawn, n_rows=50, mechanism=described, scope_id=id)
    opened = PrivacyAccountant.open(name)
    assert [part.amount for part in opened.spent().values()] == pytest.approx([1.6, 1.6])
    for id, _ in (begun, untouched):
        reservation = opened.resume(id, vote)
        with pytest.raises(LedgerError, match="as one plan at order=inf, which was removed"):
            opened.release(vote, tied(3), reservation=reservation)
        opened.settle(reservation)
    assert [part.amount for part in opened.spent().values()] == pytest.approx([0.8, 0.8])
    replay(opened._ledger)


def in_sum(group, mu2):
    return {group: (0.0, np.array([mu2]).tobytes())}


def grant(accountant, mu2, **changes):
    """Return what a child is given that has a limit of `mu2`."""
    (level,) = accountant.levels
    levels = (replace(level, amount=mu2, approximation_delta=0.0, **changes),)
    return Grant(levels).stored()


@pytest.mark.parametrize("mu2", [1e300, 1e9, 1.0])
def test_a_payment_that_comes_back_does_not_drown_what_was_spent(accountant, name, capsys, mu2):
    """Of a sum that is large enough the difference is 0."""
    accountant.release(VOTE, tied(20))
    with forging(name) as forger:
        for event in ("reserve", "settle"):
            reserved = ("r", event, "[[[1, null]], 0, 0]")
            forger.append(charges=in_sum("everyone", mu2), scope_id="s", reservation=reserved)
    refused(accountant, name, "entry 2 reserves more than the budget", capsys)


@pytest.mark.parametrize("event", ["spend", "close"])
@pytest.mark.parametrize("child", ["nobody", "team"])
def test_a_child_that_is_not_open(accountant, name, capsys, child, event):
    accountant.child("team", epsilon=0.1).close()
    with forging(name) as forger:
        forger.append(scope_id=forger.scope(1), child=(child, event, ""))
    refused(accountant, name, f"entry 3 can't {event} the child {child!r} as it stands", capsys)


@pytest.mark.parametrize("changes", [{"name": "ghost"}, {"order": 2.0}])
def test_a_child_of_another_budget(accountant, name, capsys, changes):
    """It would spend what nobody of this one pays."""
    with forging(name) as forger:
        child = ("team", "carve", grant(accountant, 1000.0, **changes))
        forger.append(charges=in_sum("everyone", 0.001), child=child)
    refused(accountant, name, "entry 1 makes a child with other levels", capsys)


@pytest.mark.parametrize("group", ["ghost", "*/x/0", "everyone/part"])
def test_charges_of_nobody(accountant, name, capsys, group):
    with forging(name) as forger:
        forger.append(charges=in_sum(group, 0.001), n_rows=1)
    refused(accountant, name, "entry 1 ", capsys)


def test_a_child_is_closed_in_the_scope_that_paid(accountant, name, capsys):
    """Another fit would have its own limit anew."""
    scope = accountant.scope(0.3)
    accountant.release(VOTE, tied(2), scope=scope)
    mu2 = accountant.spent().amount
    with forging(name) as forger:
        charges = in_sum("everyone", mu2)
        forger.append(
            charges=charges, scope_id="s", child=("team", "carve", grant(accountant, mu2))
        )
        forger.append(charges=charges, scope_id=scope.id, child=("team", "close", ""))
    refused(accountant, name, "entry 3 gives back to others than", capsys)


@pytest.mark.usefixtures("frequent_checkpoints")
@pytest.mark.parametrize("behind", [0, 10])
def test_a_child_is_closed_behind_checkpoints(accountant, name, behind):
    team = accountant.child("team", epsilon=0.2)
    for _ in range(behind):
        accountant.release(QUIET, tied(1))
    before = PrivacyAccountant.open(name).spent().amount
    PrivacyAccountant.open(name).child("team").close()
    assert accountant.spent().amount < before
    replay(team._ledger.root)


def test_sums_that_are_not_those_of_their_digest(accountant, name, capsys):
    """Whoever begins there would be stopped, after others have gone on."""
    accountant.release(QUIET, tied(1))
    with forging(name) as forger:
        charges = forger.charges(1)
        ((group, (delta, curve)),) = charges.items()
        both = {group: (2 * delta, (2 * np.frombuffer(curve)).tobytes())}
        forger.append(charges=charges, n_rows=1, sums=(2, 2, both), stored_delta=0.5)
    refused(accountant, name, "stored with entry 2 are not the sums", capsys)
