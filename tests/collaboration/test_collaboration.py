"""Parties end to end: what they agree on, ask and learn; and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_multilabel_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from tests.collaboration._parties import PLAIN, Says, agreed, budget, real, saying, several

from secretballot import BinaryVoting, GNMax, PrivacyAccountant, SkellamMax
from secretballot.accounting import PrivacyLeakWarning
from secretballot.mechanisms import NoisyCounts, NoisyMargin
from secretballot.parties import Collaboration, Party, VoteRefusedError
from secretballot.parties._question import for_party

ROWS = np.zeros((5, 2))


def test_a_weak_party_learns_from_the_others():
    parties, X, y = real(9, 40, epsilon=1e5)
    sharp = agreed(GNMax(sigma=0.3))  # which turns hardly any vote but ties
    weak = parties[0].fit(X[:4], 1 - y[:4])  # it has everything the wrong way round
    before = (weak.predict(X) == y).mean()
    together = Collaboration(parties)
    answers = together.learn({"site 0": X}, sharp, rounds=2)["site 0"]
    assert [len(answer.labels) for answer in answers] == [20, 20]
    assert before < 0.5
    assert (weak.predict(X) == y).mean() > 0.7
    spent = together.spent()
    assert spent["site 0"].share == 0
    assert all(0 < spent[name].share <= 1 for name in spent if name != "site 0")


def test_answers_before_a_failed_vote_are_learned():
    parties, X, y = real(4, 10)
    weak = parties[0].fit(X[:4], 1 - y[:4])
    sharp = agreed(GNMax(sigma=0.5))
    for party in parties[1:]:
        party.accountant = budget(epsilon=150.0)
    before = weak.predict(X)
    with pytest.raises(VoteRefusedError, match="budget"):
        Collaboration(parties).learn({"site 0": X, "site 1": np.repeat(X, 50, axis=0)}, sharp)
    assert (weak.predict(X) != before).any()


def test_the_smallest_budget_sets_the_noise():
    parties, X, _ = real(4, 10)
    for party in parties:
        party.accountant = budget(epsilon=100.0)
    parties[3].accountant = budget(epsilon=8.0)
    together = Collaboration(parties)
    agreement = together.agree(GNMax, n_rows=10)
    assert agreement.mechanism.sigma == budget(8.0).calibrate(GNMax, 10, n_columns=2).sigma
    answer = together.ask("site 0", X, agreement)
    assert answer.voters == ("site 1", "site 2", "site 3")
    assert together.spent()["site 3"].share > 0.99
    assert together.spent()["site 1"].share < 0.1


def test_weights_use_all_budgets_up_together():
    parties, X, _ = real(4, 10)
    parties[3].accountant = budget(epsilon=2.0)
    together = Collaboration(parties)
    agreement = together.agree(GNMax, n_rows=10, weighted=True)
    assert sum(agreement.weights.values()) == pytest.approx(4)
    assert agreement.weights["site 3"] < agreement.weights["site 1"]
    together.ask("site 0", X, agreement)
    for name in ("site 1", "site 2", "site 3"):
        assert 0.99 < together.spent()[name].share <= 1
    asker, *_, poorest = together.report().splitlines()[2:]
    assert asker.split() == ["site", "0", "20", "0.0%", "0"]
    assert poorest.split()[:3] == ["site", "3", "2"]
    assert poorest.endswith("10")


@pytest.mark.parametrize("said", [1, [0, 1, 1]])
def test_an_agreement_on_divided_noise_uses_up_the_smallest_budget(said):
    def divided(noise):
        return SkellamMax(variance=noise**2, n_parties=4, n_colluders=1)

    together = Collaboration(several(*[said] * 5))
    answer = together.ask("a", ROWS, together.agree(divided, n_rows=5))
    assert answer.absent == {}
    assert 0.9 < together.spent()["b"].share <= 1


def test_weights_that_are_no_whole_numbers_are_not_for_whole_counts():
    parties, _, _ = real(4, 10)
    with pytest.raises(ValueError, match="no whole numbers, and SkellamMax counts whole"):
        Collaboration(parties).agree(SkellamMax, n_rows=10, weighted=True)


def test_several_labels_data_frames_and_rounds():
    X, Y = make_multilabel_classification(200, n_features=6, n_classes=3, random_state=0)
    X = pd.DataFrame(X, columns=[f"column {i}" for i in range(6)])
    estimator = MultiOutputClassifier(LogisticRegression(max_iter=1_000))
    parties = [
        Party(
            estimator,
            name=f"site {i}",
            accountant=budget(1e5),
            labels=["p", "q", "r"] if i else ["r", "p"],
        ).fit(X[i::5], Y[i::5] if i else Y[i::5][:, [2, 0]])
        for i in range(4)
    ]
    agreement = agreed(BinaryVoting(sigma=0.3, n_votes=3, threshold=1.5, sigma_threshold=0.5))
    together = Collaboration(parties)
    assert together.labels == ("r", "p", "q")
    asked = X[4::5]
    answers = together.learn({"site 0": asked, "site 1": asked}, agreement, rounds=2)
    assert parties[0].predict(asked).shape == (40, 2)
    assert parties[1].predict(asked).shape == (40, 3)
    assert answers["site 0"][0].labels.shape == (20, 3)
    # A label that a party doesn't know is asked about and answered all the same.
    assert answers["site 0"][0].answered[:, 2].any()
    labels = np.concatenate([each.labels for each in answers["site 1"]])
    there = labels >= 0
    truth = Y[4::5][:, [2, 0, 1]]
    assert (labels[there] == truth[there]).mean() > 0.6


def test_sparse_rows_pickles_and_models_that_cannot_be_trained():
    parties, X, y = real(4, 10)
    for party in parties[:2]:
        party.fit(csr_array(X), y)
    again = pickle.loads(pickle.dumps(parties[0]))
    assert again.accountant.same_ledger(parties[0].accountant)
    with pytest.warns(UserWarning, match="NOT FOR PUBLICATION"):
        broken = Party(
            LogisticRegression(C=-1), name="broken", accountant=budget(), classes=[0, 1]
        ).fit(X, y)
    together = Collaboration([*parties, broken])
    with pytest.warns(UserWarning, match="public rule votes"):
        answer = together.ask("site 0", csr_array(X), PLAIN)
    assert "broken" in answer.voters
    # Nor is it silent where warnings are errors, as they are in these tests.
    assert "broken" in together.ask("site 0", csr_array(X), PLAIN).voters
    parties[0].learn(csr_array(X), answer)


def test_models_trained_elsewhere_vote_too():
    _, X, y = real(1, 20)
    parties = [
        Party(
            FrozenEstimator(LogisticRegression(C=c).fit(X, y)),
            name=f"site {i}",
            accountant=budget(),
            classes=[0, 1],
        ).fit(X[i : i + 4], np.arange(4) % 2)
        for i, c in enumerate((0.1, 1.0, 10.0))
    ]
    assert Collaboration(parties).ask(None, X, PLAIN).voters == ("site 0", "site 1", "site 2")


def test_parties_that_can_not_collaborate_are_refused():
    a, b = several(0, 1)
    for parties, message in [
        ([a], "1 parties: one asks"),
        ([a, b], "2 parties: one asks"),
        ([a, b, saying(1, "b")], "names must differ"),
        ([a, b, saying(1, "c", b.accountant)], "'b' and 'c' have one ledger"),
        ([a, b, saying([0, 1], "d")], "same classes"),
    ]:
        with pytest.raises(ValueError, match=message):
            Collaboration(parties)
    with pytest.raises(TypeError, match="no Party"):
        Collaboration([a, b, LogisticRegression()])
    with pytest.raises(ValueError, match="no model yet"):
        Collaboration([a, b, Party(Says(), name="d", accountant=budget(), classes=[0, 1])])
    X = np.arange(8.0).reshape(4, 2)
    twice = [
        Party(Says(), name=name, accountant=budget(), classes=[0, 1]).fit(X, [0, 1, 0, 1])
        for name in "xy"
    ]
    with pytest.raises(ValueError, match="same model or rows"):
        Collaboration([a, *twice])
    frozen = FrozenEstimator(Says().fit(X, [0, 1, 0, 1]))
    twice = [
        Party(frozen, name=name, accountant=budget(), classes=[0, 1]).fit(X + i, [0, 1, 0, 1])
        for i, name in enumerate("xy")
    ]
    with pytest.raises(ValueError, match="same model or rows"):
        Collaboration([a, *twice])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"name": ""}, ValueError, "must be a text"),
        ({"accountant": None}, TypeError, "budget of its own"),
        ({"classes": [0, 1], "labels": ["p", "q"]}, ValueError, "not both"),
        ({"labels": ["p", "p"]}, ValueError, "different names"),
        ({"labels": "pq"}, ValueError, "list of names"),
        ({"epsilon": -1.0}, ValueError, "epsilon"),
        ({"classes": [0]}, ValueError, "at least two"),
    ],
)
def test_objects_that_are_no_party_are_refused(settings, error, message):
    arguments = {"name": "a", "accountant": budget(), **settings}
    with pytest.raises(error, match=message):
        Party(Says(), **arguments)


def test_budgets_that_show_votes_are_refused():
    with pytest.warns(PrivacyLeakWarning):
        leaky = PrivacyAccountant(1.0, 1e-5, accounting="data_dependent", order="renyi")
    with pytest.raises(ValueError, match="data_dependent"):
        Party(Says(), name="a", accountant=leaky, classes=[0, 1])


def test_bad_rows_and_labels_of_a_party_are_refused():
    party = Party(Says(), name="a", accountant=budget())
    with pytest.raises(ValueError, match="name the classes"):
        party.fit([[1.0], [2.0]], [0, 1])
    named = Party(Says(), name="a", accountant=budget(), classes=[0, 1])
    with pytest.raises(ValueError, match="not among the classes"):
        named.fit([[1.0], [2.0]], [0, 2])
    with pytest.raises(ValueError, match="2 columns of labels"):
        named.fit([[1.0], [2.0]], [[0, 1], [1, 0]])


def test_bad_questions_cost_nothing():
    parties = several(0, 1, 1, 1)
    together = Collaboration(parties)
    for asker, X, agreement, error, message in [
        ("nobody", ROWS, PLAIN, ValueError, "none of the parties"),
        ("a", ROWS[:0], PLAIN, ValueError, "0 rows"),
        ("a", ROWS, GNMax(sigma=3), TypeError, "agree"),
        ("a", np.zeros((5, 3)), PLAIN, ValueError, "X, for party 'a', has 3 features"),
    ]:
        with pytest.raises(error, match=message):
            together.ask(asker, X, agreement)
    with pytest.raises(ValueError, match="releases one class a row, and rows have labels"):
        Collaboration([saying([0, 1], name) for name in "xyz"]).ask("x", ROWS, PLAIN)
    for mechanism in (3, NoisyCounts(sigma=3.0)):
        with pytest.raises(TypeError, match="voting mechanism"):
            agreed(mechanism)
    # Else it would be charged less than it costs.
    with pytest.raises(ValueError, match="another weight than 1"):
        agreed(GNMax(sigma=3, weight=0.5))
    with pytest.raises(ValueError, match="weights"):
        agreed(GNMax(sigma=3), weights={"a": 0.0})
    with pytest.raises(ValueError, match="knows no weights"):
        for_party(NoisyMargin(sigma=3.0), 2.0)
    assert all(party.accountant.entries() == [] for party in parties)


def test_seeds_are_refused_on_named_ledgers(tmp_path):
    parties = several(0, 1, 1)
    with pytest.warns(PrivacyLeakWarning, match="reproducible"):
        first = Collaboration(parties).ask("a", ROWS, PLAIN, random_state=0)
    assert parties[1].accountant.entries()[1].seeded
    parties[2].accountant = budget(ledger=tmp_path / "c.ledger")
    with (
        pytest.warns(PrivacyLeakWarning),
        pytest.raises(ValueError, match="refused on the named ledger"),
    ):
        Collaboration(parties).ask("a", ROWS, PLAIN, random_state=0)
    assert len(parties[1].accountant.entries()) == 3
    assert first.answered.all()


def test_nothing_private_is_printed():
    party, *others = several(0, 1, 1)
    together = Collaboration([party, *others])
    shown = repr(party) + repr(together) + repr(together.ask("a", ROWS, PLAIN))
    assert "Says" not in shown
    assert "7." not in shown
