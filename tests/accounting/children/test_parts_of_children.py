"""Parts of a child's budget: as large as the child, and right when the ledger is replayed."""

import warnings

import numpy as np

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData, score_private
from secretballot.accounting._report import replay

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3_300, 3))
Y = (X[:, 0] > 0).astype(int)
POOL = PublicData(X[3_000:])


def test_what_a_child_spends_under_an_epsilon_is_replayed():
    accountant = PrivacyAccountant(2.0, 1e-5)
    child = accountant.child("cardiology", epsilon=0.8)
    score_private(child, Y, Y, epsilon=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PrivateLogisticRegression(classes=[0, 1], epsilon=0.4, accountant=child).fit(
            X[:3_000], Y[:3_000], X_public=POOL
        )
    score_private(accountant, Y, Y, epsilon=0.1)
    spent = replay(accountant._ledger)["everyone"]
    assert spent.share == accountant.spent().share


def test_a_part_may_be_as_large_as_its_child():
    child = PrivacyAccountant(2.0, 1e-5).child("cardiology", epsilon=0.8)
    model = PrivateLogisticRegression(classes=[0, 1], epsilon=0.8, accountant=child)
    assert model.price_fit(3_000, POOL).problem == ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:3_000], Y[:3_000], X_public=POOL)
    assert 0.79 < child.spent().epsilon <= 0.8
    assert child.spent().share <= 1
