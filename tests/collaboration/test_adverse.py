"""What an attacker tried: labels mixed up, charges too low, budgets spent for nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.collaboration._parties import PLAIN, Says, agreed, budget, saying, several

from secretballot import BinaryVoting, GNMax, PrivacyAccountant, SkellamMax
from secretballot.mechanisms import PowersetVoting
from secretballot.parties import Collaboration, Party, VoteRefusedError

ROWS = np.zeros((5, 2))


def knowing(*labels, said=1):
    """Return parties a, b, ... that call present, or absent, the labels that they know."""
    return [
        saying([said] * len(own_labels), chr(97 + i), budget(1e6), labels=list(own_labels))
        for i, own_labels in enumerate(labels)
    ]


def test_budgets_with_add_remove_relation_are_refused():
    # A ballot is replaced then, which noise made for one ballot more doesn't hide.
    joining = PrivacyAccountant(1.0, 1e-5, relation="add_remove")
    with pytest.raises(ValueError, match="relation='add_remove'"):
        Party(Says(), name="a", accountant=joining, classes=[0, 1])


@pytest.mark.parametrize(
    ("classes", "seen"),
    [(["benign", "malignant"], ["benign"] * 4), ([0, 1, 2], [False, True, False, True])],
)
def test_answers_that_a_party_has_never_seen_are_learned_as_they_are(classes, seen):
    last = classes[-1]
    parties = [
        Party(Says(last), name=name, accountant=budget(1e6), classes=classes).fit(
            np.arange(8.0).reshape(4, 2), y
        )
        for name, y in zip("abcd", [seen, *[[classes[0], last] * 2] * 3], strict=True)
    ]
    answer = Collaboration(parties).ask("a", ROWS, agreed(GNMax(sigma=0.05)))
    parties[0].learn(ROWS, answer)
    assert parties[0]._model.classes_[-1] == last


@pytest.mark.parametrize(
    "mechanism",
    [
        BinaryVoting(sigma=0.05, n_votes=1, hierarchy={1: 0}),
        PowersetVoting(sigma=0.05, n_labels=3),
    ],
)
def test_mechanisms_that_relate_all_labels_need_all_of_them(mechanism):
    # Of those who know y and z, y would be taken for x, on which z depends no less than on y.
    parties = knowing("xyz", "yz", "yz", "yz")
    with pytest.raises(ValueError, match="all 3 labels"):
        Collaboration(parties).ask("a", ROWS, agreed(mechanism))
    assert all(party.accountant.entries() == [] for party in parties)


def test_noise_of_the_aggregator_does_not_depend_on_the_number_of_voters():
    for labels in (False, True):
        parties = knowing("xy", "xy", "xy", "xy") if labels else several(0, 1, 1, 1)
        together = Collaboration(parties)
        answer = together.ask("a", ROWS, together.agree(SkellamMax, n_rows=5))
        assert answer.answered.all()


def test_too_few_voters_for_the_colluders_are_refused():
    mechanism = SkellamMax(variance=9.0, n_parties=4, n_colluders=2)
    parties = [*several(0, 1, 1), saying(1, "d", budget(0.01))]
    with pytest.raises(VoteRefusedError, match=r"n_colluders=2 of n_parties=2.*'d': its budget"):
        Collaboration(parties).ask("a", ROWS, agreed(mechanism))
    assert parties[1].accountant.spent().share == 0


def test_voters_on_several_sets_of_labels_can_pay_for_the_agreement():
    parties = knowing("xyz", "xyz", "xyz", "xz", "xz", "yz", "yz")
    for party in parties:
        party.accountant = budget(8.0)
    together = Collaboration(parties)
    agreement = together.agree(lambda sigma: BinaryVoting(sigma=sigma, n_votes=3), n_rows=5)
    assert together.ask(None, ROWS, agreement).absent == {}
    assert parties[0].accountant.spent().share > 0.9


def test_weights_may_exceed_the_number_of_votes():
    heavy = agreed(BinaryVoting(sigma=1.0, n_votes=1), weights={"a": 3.0, "b": 0.5})
    assert heavy.weight("a") == 3.0
    with pytest.raises(ValueError, match=r"weights name 'zz'"):
        agreed(GNMax(sigma=3), weights={"zz": 2.0}, parties=["a", "b", "c"])


def test_pools_that_cannot_be_asked_about_are_refused_before_anybody_pays():
    parties = several(0, 1, 1, 1)
    together = Collaboration(parties)
    for pools, rounds, message in [
        ({"a": ROWS}, 6, "5 rows for rounds=6"),
        ({"a": ROWS, "zz": ROWS}, 1, "none of the parties"),
        ({"a": ROWS, "b": np.zeros((5, 3))}, 1, "for party 'b'"),
    ]:
        with pytest.raises(ValueError, match=message):
            together.learn(pools, PLAIN, rounds=rounds)
    assert all(party.accountant.entries() == [] for party in parties)


def test_a_data_frame_is_added_to_by_rows_that_came_without_names():
    party, *others = several(0, 1, 1, 1)
    party.fit(pd.DataFrame({"p": [0.0, 1.0], "q": [1.0, 0.0]}), [0, 1])
    with pytest.warns(UserWarning, match="feature names"):
        answer = Collaboration([party, *others]).ask("a", ROWS, PLAIN)
    with pytest.warns(UserWarning, match="feature names"):
        party.learn(ROWS, answer)
    assert len(party._parts) == 2


@pytest.mark.parametrize("fault", [OSError("disk"), KeyboardInterrupt()])
def test_a_ledger_that_cannot_record_does_not_stop_the_others(fault, monkeypatch):
    parties = several(0, 1, 1, 1)

    def full(*args):
        raise fault

    monkeypatch.setattr(parties[1], "close", full)
    with pytest.raises(type(fault)):
        Collaboration(parties).ask("a", ROWS, PLAIN)
    events = [[e.reservation.event for e in p.accountant.entries()] for p in parties]
    assert events == [[], ["reserve"], *[["reserve", "draw", "settle"]] * 2]
    assert parties[1].accountant.spent().share > 0


@pytest.mark.parametrize("said", [1, [1, 0]])
def test_ballots_too_heavy_for_the_noise_are_refused(said):
    # Else an error, of rows where they agree alone, would tell how many do.
    heavy = dict.fromkeys("bcd", 1e16)
    mechanism = BinaryVoting(sigma=1e-3, n_votes=1) if np.ndim(said) else GNMax(sigma=1e-3)
    parties = several(said, said, said, said)
    with pytest.raises(ValueError, match="too coarse|above 2"):
        Collaboration(parties).ask("a", ROWS, agreed(mechanism, weights=heavy))
    assert all(party.accountant.entries() == [] for party in parties)
