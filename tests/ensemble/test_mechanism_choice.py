"""A mechanism charges for every ballot in full, on every row."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, Upsampling, Vanishing, Weighting
from secretballot.mechanisms import (
    BinaryVoting,
    ConfidentGNMax,
    GNMax,
    LaplaceProportions,
    Mechanism,
    PowersetVoting,
    RoundRobin,
    TauVoting,
)

VOTE = GNMax(sigma=20)
LIGHT = GNMax(sigma=20, weight=1e-3)
THRESHOLD = ConfidentGNMax(sigma=20, sigma_threshold=20, threshold=1)


class EverySecond(GNMax):
    def participation(self, n_rows):
        return {"everyone": np.arange(n_rows) % 2 == 0}


class OnLongBatches(GNMax):
    def participation(self, n_rows):
        return {"*": np.arange(n_rows) < 5}


class CallsItselfPlain(GNMax):
    def for_plain_ballots(self):
        return self


@dataclass(frozen=True, kw_only=True)
class Relay(RoundRobin):
    """Turns that don't say so, around any mechanism."""

    mechanism: Mechanism = field(default=LIGHT)

    def participation(self, n_rows):
        return {}


def turns(mechanism, *turn, **levels):
    return RoundRobin(mechanism=mechanism, turns=levels or {"everyone": turn})


UNDERCHARGING = {
    "a weight below 1": LIGHT,
    "a weight below 1 of a level": GNMax(sigma=20, weight={"everyone": 0.5}),
    "a threshold's": replace(THRESHOLD, weight=0.5),
    "turns": turns(VOTE, 1, 8),
    "turns of a threshold": turns(THRESHOLD, 7, 8),
    "a weight inside of turns": turns(LIGHT, 1, 1),
    "a level's weight inside of turns": turns(GNMax(sigma=20, weight={"everyone": 0.9}), 1, 1),
    "a weight inside of turns inside of turns": turns(turns(LIGHT, 1, 1), 2, 2),
    "a subclass that sits out": EverySecond(sigma=20),
    "a subclass that sits out later": OnLongBatches(sigma=20),
    "a subclass that hides its turns": Relay(turns={"everyone": (1, 2)}),
    "a subclass that calls itself plain": CallsItselfPlain(sigma=20, weight=1e-3),
    "and inside of turns": turns(CallsItselfPlain(sigma=20, weight=1e-3), 1, 1),
    "rows of different people": LaplaceProportions(scale=1.0),
}


@pytest.mark.parametrize("mechanism", UNDERCHARGING.values(), ids=UNDERCHARGING)
@pytest.mark.parametrize("order", ["gaussian", "renyi", np.inf], ids=["mu2", "orders", "pairs"])
def test_nobody_is_charged_less_than_a_ballot(private, public, mechanism, order):
    accountant = PrivacyAccountant(20.0, 1e-5, order=order)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        10,
        mechanism=mechanism,
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    ).fit(*private)
    with pytest.raises(ValueError, match=r"mechanism=.* (charges|lets) "):
        ensemble.predict_private(public[0])
    assert accountant.spent().n_releases == 0


SETS = [
    BinaryVoting(sigma=3, n_votes=10),
    TauVoting(sigma=3, n_votes=10, tau=1),
    PowersetVoting(sigma=3, n_labels=2),
    turns(BinaryVoting(sigma=3, n_votes=10), 1, 1),
]


@pytest.mark.parametrize("mechanism", SETS, ids=lambda each: type(each).__name__)
def test_label_mechanisms_are_refused_for_one_class_a_row(private, public, mechanism):
    accountant = PrivacyAccountant(20.0, 1e-5)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        10,
        mechanism=mechanism,
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    )
    with pytest.raises(ValueError, match="votes on sets of labels, and every row has one class"):
        ensemble.fit(*private, X_public=public[0])
    assert accountant.spent().n_releases == 0


LEVELS = {"strict": 5.0, "generous": 20.0}


@pytest.mark.parametrize(
    "mechanism",
    [
        GNMax(sigma=20, weight={"strict": 0.5, "generous": 2.0}),
        GNMax(sigma=20, weight={"generous": 2.0}),
        turns(VOTE, strict=(1, 1)),
        turns(VOTE, strict=(1, 2), generous=(1, 1)),
        turns(
            GNMax(sigma=20, weight={"strict": 0.5, "generous": 1}), strict=(1, 1), generous=(1, 1)
        ),
    ],
    ids=repr,
)
def test_no_level_is_charged_less_than_a_ballot(private, public, mechanism):
    accountant = PrivacyAccountant(LEVELS, 1e-5)
    budgets = np.where(np.arange(200) % 2, "strict", "generous")
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        10,
        mechanism=mechanism,
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    )
    with pytest.raises(ValueError, match=r"mechanism=.* (charges|lets) "):
        ensemble.fit(*private, X_public=public[0], budgets=budgets)
    assert accountant.spent()["strict"].n_releases == 0
    assert not hasattr(ensemble, "_teachers")


@pytest.mark.parametrize("individualization", [Upsampling(), Weighting(), Vanishing()], ids=repr)
@pytest.mark.parametrize("mechanism", [EverySecond(sigma=20), turns(VOTE, 1, 2)], ids=repr)
def test_individual_budgets_are_not_charged_less_than_a_ballot(
    private, public, individualization, mechanism
):
    accountant = PrivacyAccountant(LEVELS, 1e-5)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        10,
        mechanism=mechanism,
        individualization=individualization,
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    )
    budgets = np.where(np.arange(200) % 4, "strict", "generous")
    with pytest.raises(
        ValueError, match=r"mechanism=.* (lets|does not scale with the number of votes)"
    ):
        ensemble.fit(*private, X_public=public[0], budgets=budgets)
    assert accountant.spent()["strict"].n_releases == 0


@pytest.mark.parametrize(
    "mechanism",
    [
        GNMax(sigma=3, weight=2.0),
        GNMax(sigma=3, ballots=2),
        GNMax(sigma=3, weight={"everyone": 1.0}),
        turns(GNMax(sigma=3), 8, 8),
        turns(GNMax(sigma=3, weight=2.0), 1, 1),
    ],
    ids=repr,
)
def test_more_than_a_ballot_may_be_charged(ensemble, private, public, mechanism):
    ensemble.set_params(mechanism=mechanism).fit(*private)
    assert ensemble.predict_private(public[0][:3]).answered.all()
