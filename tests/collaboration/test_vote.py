"""The order of a vote: all pay before anybody casts, and nothing is opened unpaid."""

from __future__ import annotations

import numpy as np
import pytest
from tests.collaboration._parties import PLAIN, agreed, budget, saying, several

from secretballot import BinaryVoting, ConfidentGNMax, GNMax, SkellamMax
from secretballot.parties import Collaboration, TrustedAggregator, VoteRefusedError
from secretballot.parties._aggregator import Absent

ROWS = np.zeros((5, 2))


class Watched:
    """A party whose every call is noted, and fails where it is told to."""

    def __init__(self, party, log, fails=None):
        self.party, self.log, self.fails = party, log, fails or {}

    def __getattr__(self, name):
        value = getattr(self.party, name)
        if name not in ("invite", "reserve", "cast", "close", "void"):
            return value

        def called(*arguments):
            self.log.append((name, self.party.name))
            if name in self.fails:
                raise self.fails.pop(name)
            return value(*arguments)

        return called


class Opener(TrustedAggregator):
    def __init__(self, log, fails=None):
        self.log, self.fails = log, fails

    def open(self, *arguments):
        self.log.append(("open", ""))
        if self.fails:
            raise self.fails
        return super().open(*arguments)


def watched(said, fails=None, opening=None):
    """A collaboration whose parties and aggregator are watched; `fails` by party and call."""
    log = []
    together = Collaboration(several(*said), aggregator=Opener(log, opening))
    together.parties = {
        name: Watched(party, log, (fails or {}).get(name))
        for name, party in together.parties.items()
    }
    return together, log


def shares(together):
    return {name: party.accountant.spent().share for name, party in together.parties.items()}


def test_all_pay_before_anybody_casts_and_all_record_before_the_answer():
    together, log = watched([0, 1, 1, 1])
    answer = together.ask("a", ROWS, PLAIN)
    stages = [name for name, _ in log]
    assert stages == ["invite"] * 3 + ["reserve"] * 3 + ["cast"] * 3 + ["open"] + ["close"] * 3
    assert answer.voters == ("b", "c", "d")
    assert answer.answered.all()
    assert {name for _, name in log} == {"b", "c", "d", ""}
    paid = shares(together)
    assert paid["a"] == 0
    price = saying(0, "x").accountant.price(PLAIN.mechanism, 5, n_columns=2)
    assert paid["b"] == paid["c"] == paid["d"] == pytest.approx(price)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_every_ledger_has_the_reservation_the_draw_and_the_refund(order):
    parties = several(0, 1, 1, 1)
    for party in parties:
        party.accountant = budget(order=order)
    answer = Collaboration(parties).ask("a", ROWS, PLAIN)
    for party in parties[1:]:
        paid, drawn, settled = party.accountant.entries()
        assert [e.reservation.event for e in (paid, drawn, settled)] == [
            "reserve",
            "draw",
            "settle",
        ]
        assert answer.id in paid.note
        assert drawn.n_rows == 5
        assert drawn.is_release
        assert not drawn.seeded
        assert party.accountant.spent().share > 0
    assert parties[0].accountant.entries() == []
    assumptions = parties[1].accountant.statement().assumptions
    assert any("aggregator among parties saw their ballots" in line for line in assumptions)


def test_a_party_that_fails_before_the_opening_is_left_out():
    for stage in ("invite", "reserve", "cast"):
        together, log = watched([0, 1, 1, 1], {"c": {stage: Absent("c", "gone")}})
        answer = together.ask("a", ROWS, PLAIN)
        assert answer.voters == ("b", "d")
        assert answer.absent == {"c": "gone"}
        paid = shares(together)
        once = saying(0, "x").accountant.price(PLAIN.mechanism, 5, n_columns=2)
        assert paid["b"] == paid["d"] == pytest.approx(once)
        # Whoever paid and was not heard of again stays charged: its ballot may be on its way.
        assert paid["c"] == pytest.approx(once if stage == "cast" else 0)
        assert log.index(("open", "")) > max(
            at for at, (name, _) in enumerate(log) if name in ("void", "cast")
        )


def test_a_party_that_fails_after_the_opening_has_paid():
    together, _ = watched([0, 1, 1, 1], {"c": {"close": Absent("c", "gone")}})
    answer = together.ask("a", ROWS, PLAIN)
    assert answer.voters == ("b", "c", "d")
    paid = shares(together)
    assert paid["c"] == pytest.approx(paid["b"])


def test_a_vote_that_fails_while_it_is_opened_stays_charged():
    together, _ = watched([0, 1, 1, 1], opening=ValueError("a count of 3"))
    with pytest.raises(VoteRefusedError, match=r"opened \(ValueError\).*stays charged"):
        together.ask("a", ROWS, PLAIN)
    once = saying(0, "x").accountant.price(PLAIN.mechanism, 5, n_columns=2)
    for name in "bcd":
        assert shares(together)[name] == pytest.approx(once)
        assert together.parties[name].accountant.entries()[-1].reservation.rows_left == 5
    together.aggregator.fails = None
    assert together.ask("a", ROWS, PLAIN).answered.all()


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), MemoryError(), ValueError("odd")])
@pytest.mark.parametrize("stage", ["reserve", "cast"])
def test_errors_before_a_vote_is_opened_cost_nothing(fault, stage):
    together, log = watched([0, 1, 1, 1], {"d": {stage: fault}})
    with pytest.raises(type(fault)):
        together.ask("a", ROWS, PLAIN)
    assert ("open", "") not in log
    assert set(shares(together).values()) == {0.0}
    assert together.ask("a", ROWS, PLAIN).answered.all()


def test_a_party_whose_budget_is_spent_stops_and_the_rest_go_on():
    parties = [*several(0, 1, 1), saying(1, "d", budget(epsilon=0.1))]
    together = Collaboration(parties)
    answer = together.ask("a", ROWS, PLAIN)
    assert answer.voters == ("b", "c")
    assert list(answer.absent) == ["d"]
    assert "budget" in answer.absent["d"]
    assert parties[3].accountant.entries() == []
    parties[2].accountant = budget(epsilon=0.1)
    before = parties[1].accountant.spent().share
    with pytest.raises(
        VoteRefusedError, match=r"'c', 'd': its budget does not allow it.*given back"
    ):
        together.ask("a", ROWS, PLAIN)
    assert parties[1].accountant.spent().share == pytest.approx(before)


def test_epsilon_of_a_party_limits_one_question():
    generous = several(0, 1, 1)
    careful = saying(1, "d", epsilon=0.5)
    assert Collaboration([*generous, careful]).ask("a", ROWS, PLAIN).voters == ("b", "c")
    assert Collaboration([*generous, saying(1, "d", epsilon=19.0)]).ask("a", ROWS, PLAIN).voters


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_rows_that_fail_a_threshold_give_their_vote_back(order):
    mechanism = ConfidentGNMax(sigma=3.0, sigma_threshold=0.07, threshold=2.5)
    parties = several(0, 1, 1, 0)  # two against one: never three
    for party in parties:
        party.accountant = budget(epsilon=1000.0, order=order)
    answer = Collaboration(parties).ask("a", ROWS, agreed(mechanism))
    assert not answer.answered.any()
    whole = budget(epsilon=1000.0, order=order).price(mechanism, 5, n_columns=2)
    paid = parties[1].accountant.spent().share
    assert 0 < paid < whole
    assert parties[1].accountant.entries()[-1].reservation.answers_left == 5


def test_labels_are_voted_on_by_the_parties_that_know_them():
    parties = [
        saying([0, 1, 1], "a", labels=["x", "y", "z"]),
        saying([1, 1, 0], "b", labels=["x", "y", "z"]),
        saying([1, 0], "c", labels=["x", "z"]),
        saying([0, 1], "d", labels=["z", "x"]),
        saying([1, 1], "e", labels=["y", "w"]),
    ]
    agreement = agreed(BinaryVoting(sigma=0.05, n_votes=1))
    for party in parties:
        party.accountant = budget(epsilon=1e6)
    answer = Collaboration(parties).ask("a", ROWS, agreement)
    assert answer.names == ("x", "y", "z", "w")
    assert (answer.labels == [1, 1, 0, -1]).all()
    assert answer.answered.all(axis=0).tolist() == [True, True, True, False]
    assert answer.voters == {"x": ("b", "c", "d"), "y": ("b", "e"), "z": ("b", "c", "d"), "w": ()}
    # Two labels cost two, three cost three; who abstains doesn't pay.
    paid = {p.name: [e.n_rows for e in p.accountant.entries() if e.is_release] for p in parties}
    assert paid == {"a": [], "b": [5, 5], "c": [5], "d": [5], "e": [5]}
    price = budget(epsilon=1e6).price(BinaryVoting(sigma=0.05, n_votes=2), 5, n_columns=1)
    assert parties[4].accountant.spent().share == pytest.approx(price)


def test_labels_of_whole_counts_are_rows_of_their_own():
    parties = several(*[[0, 1, 1]] * 4)
    for party in parties:
        party.accountant = budget(epsilon=1e4)
    mechanism = SkellamMax(variance=0.02, n_parties=3, n_colluders=1)  # wrong once in 10^5 or so
    answer = Collaboration(parties).ask("a", ROWS, agreed(mechanism))
    assert (answer.labels == [0, 1, 1]).all()
    # Each of five rows' three labels was paid for.
    (drawn,) = (entry for entry in parties[1].accountant.entries() if entry.is_release)
    assert drawn.n_rows == 15


def test_heavier_ballots_cost_more_and_count_more():
    parties = several(0, 1, 0, 0)
    for party in parties:
        party.accountant = budget(epsilon=1e5)
    agreement = agreed(GNMax(sigma=0.05), weights={"b": 3.0})
    answer = Collaboration(parties).ask("a", ROWS, agreement)
    assert (answer.labels == 1).all()
    heavy = budget(epsilon=1e5).price(GNMax(sigma=0.05, weight=3.0), 5, n_columns=2)
    assert parties[1].accountant.spent().share == pytest.approx(heavy)
    assert parties[2].accountant.spent().share < heavy / 2
