"""Mistakes with votes of several models, of which some have no budget."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from tests.mistakes._mistake import LABELS, N_PUBLIC, ROWS, X, logistic

from secretballot import PrivacyAccountant
from secretballot.accounting import PrivacyLeakWarning

FOREST = RandomForestClassifier(3)


def declared(accountant):
    return logistic(accountant, bounds=(-4, 4), epsilon=2.0)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_vote_with_a_model_without_a_budget(n_jobs):
    accountant = PrivacyAccountant(4.0, 1e-5)
    vote = VotingClassifier([("forest", FOREST), ("one", declared(accountant))], n_jobs=n_jobs)
    with pytest.warns(PrivacyLeakWarning, match=r"fits \['forest'\] to the private rows too"):
        vote.fit(X, LABELS)
    assert "NOT PROTECTED" in str(accountant.statement())


def test_such_a_vote_is_noticed_before_anything_is_spent():
    accountant = PrivacyAccountant(4.0, 1e-5)
    vote = VotingClassifier([("one", declared(accountant)), ("forest", FOREST)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrivacyLeakWarning, match="Vote among private models"):
            vote.fit(X, LABELS)
    assert accountant.entries() == []


@pytest.mark.filterwarnings("error")
def test_a_vote_with_a_model_of_public_rows():
    accountant = PrivacyAccountant(4.0, 1e-5)
    public = FrozenEstimator(FOREST.fit(ROWS, np.arange(N_PUBLIC) % 2))
    models = [("forest", public), ("one", declared(accountant)), ("two", "drop")]
    VotingClassifier(models).fit(X, LABELS)
    assert "NOT PROTECTED" not in str(accountant.statement())
