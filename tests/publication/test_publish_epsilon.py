"""Published bounds of the data-dependent epsilon."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests._quietly import quietly
from tests.divergences.test_margin import CASES, every_table, margin_and_cost

from secretballot.accounting import (
    BudgetExceededError,
    PrivacyAccountant,
    RenyiCost,
    publish_epsilon,
)
from secretballot.accounting._report import replay
from secretballot.costs._divergence import bit_logs, renyi_divergence
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.mechanisms import BinaryVoting, ConfidentGNMax, GNMax

#: 500 rows on which 200 to 250 of 250 teachers agree.
AGREED = 200 + np.arange(500) % 51
VOTES = np.stack([AGREED, 250 - AGREED], axis=1)


def budget(epsilon=6.0, **kwargs):
    return PrivacyAccountant(epsilon, 1e-5, **{"accounting": "sanitized"} | kwargs)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_the_bound_lies_between_the_exact_cost_and_the_worst_case(order):
    accountant = budget(order=order)
    mechanism = GNMax(sigma=40.0)
    accountant.release(mechanism, VOTES)
    before = accountant.spent()
    published = publish_epsilon(accountant)
    raw = RenyiCost.from_curve(mechanism.max_cost(2, VOTES)["*"].curve.sum(axis=0), 0.0).epsilon(
        1e-5
    )
    # Noise decides where between: outside with a probability below 1e-7.
    assert raw < published.epsilon < 0.85 * before.epsilon
    after = accountant.spent()
    assert after.amount > before.amount
    if order == "gaussian":
        assert after.amount - before.amount == pytest.approx(1 / published.sigma**2, rel=1e-6)
    assert published.n_rows == 500
    replay(accountant._ledger)
    statement = str(accountant.statement())
    assert f"epsilon {published.epsilon:.4g} at delta" in " ".join(statement.split())
    assert f"Epsilon {published.epsilon:.4g} at delta 1e-05" in str(published)
    assert accountant.statement().from_dict(accountant.statement().to_dict())
    # Votes are nowhere to be read but where they are kept.
    records = accountant.private_records()
    assert list(records) == [1]
    assert records[1] not in statement


def test_releases_without_records_count_at_their_worst_case():
    accountant, other = budget(), budget()
    for budget_ in (accountant, other):
        budget_.release(GNMax(sigma=40.0), VOTES)
    # A vote behind a threshold, without a public number of votes.
    by_chance = ConfidentGNMax(sigma=40.0, sigma_threshold=100.0, threshold=150.0)
    accountant.release(by_chance, VOTES[:100])
    with_more, less = (
        quietly(publish_epsilon, budget_, sigma=5.0, random_state=0)
        for budget_ in (accountant, other)
    )
    assert with_more.n_rows == less.n_rows == 500
    assert with_more.epsilon > less.epsilon + 0.3


def test_labels_and_thresholds_with_public_votes():
    accountant = budget(20.0, order="renyi")  # plans of so many rows take their time
    accountant.release(BinaryVoting(sigma=40.0, n_votes=250), VOTES[:200])
    accountant.release(
        ConfidentGNMax(sigma=40.0, sigma_threshold=100.0, threshold=150.0, n_votes=250), VOTES
    )
    accountant.release(GNMax(sigma=40.0), np.hstack([VOTES, np.zeros((500, 1))]))
    published = quietly(publish_epsilon, accountant, random_state=0)
    assert published.n_rows == 1_200
    assert published.epsilon < 0.75 * accountant.spent().epsilon


def test_in_an_ensemble():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_100, 2))
    y = (X[:, 0] > 0).astype(int)
    accountant = budget(8.0)
    mechanism = GNMax(sigma=20.0)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        100,
        mechanism=mechanism,
        student=LogisticRegression(),
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    )
    ensemble.fit(X[:2_000], y[:2_000], X_public=PublicData(X[2_000:]))
    published = publish_epsilon(accountant)
    assert published.n_rows == 100
    assert published.epsilon <= 8.0


def test_whole_runs_of_neighbours_are_no_further_apart_than_the_bound():
    """Exact divergences of all data sets of a few voters and their neighbours."""
    mechanism, n_voters, ballots, order, _ = CASES["two classes"]
    tables, pairs = every_table(n_voters, ballots)
    scale, sigma, at = np.sqrt(2) * mechanism.sigma, 0.8, np.array([order])
    results = {
        cast: margin_and_cost(mechanism, t, np.zeros(2, int), 2, order)
        for cast, t in tables.items()
    }
    closest = np.inf
    for cast, other in pairs:
        gaps, neighbour_gaps = (np.diff(tables[votes])[:, 0] / scale for votes in (cast, other))
        votes = renyi_divergence(bit_logs(gaps), bit_logs(neighbour_gaps), at).sum()
        margin, true_margin, cost = results[cast]
        shown = order * (true_margin - results[other][1]) ** 2 / (2 * sigma**2)
        bound = cost + order / (2 * sigma**2)
        assert votes + shown <= bound * (1 + 1e-9)
        assert cost <= margin.cost_at(true_margin) * (1 + 1e-9)
        closest = min(closest, bound / (votes + shown))
    assert closest < 1.2  # some are nearly as far apart


def test_votes_do_not_change_the_chosen_noise():
    choices = []
    for votes in (VOTES, np.tile([[125, 125]], (500, 1))):
        accountant = budget()
        accountant.release(GNMax(sigma=40.0), votes)
        published = publish_epsilon(accountant)
        choices.append((published.order, published.sigma))
    assert choices[0] == choices[1]


def test_tied_votes_cost_the_worst_case():
    accountant = budget()
    accountant.release(GNMax(sigma=40.0), np.tile([[125, 125]], (500, 1)))
    published = publish_epsilon(accountant)
    assert published.epsilon > accountant.spent().epsilon


#: What has a delta of its own in a budget that counts mu^2.
BY_CHANCE = budget()
BY_CHANCE.release(ConfidentGNMax(sigma=40.0, sigma_threshold=100.0, threshold=150.0), VOTES[:50])


@pytest.mark.parametrize(
    ("accountant", "kwargs", "message"),
    [
        (budget(accounting="worst_case"), {}, "only a budget that was opened with"),
        (budget({"a": 1.0, "b": 2.0}), {}, "has levels"),
        (budget(), {"failure": 0.0}, "failure"),
        (budget(), {"sigma": -1.0}, "sigma"),
        (budget(), {"sigma": 1e300}, "sigma"),
        (budget(), {"delta": 1.5}, "delta"),
        (BY_CHANCE, {"delta": 1e-12}, "other releases take"),
    ],
)
def test_budgets_without_records_are_refused(accountant, kwargs, message):
    if len(accountant.levels) == 1:
        accountant.release(GNMax(sigma=40.0), VOTES[:2])
    n_entries = len(accountant.entries())
    with pytest.raises(ValueError, match=message):
        publish_epsilon(accountant, **kwargs)
    assert len(accountant.entries()) == n_entries


def test_reservations_and_empty_budgets_are_refused():
    accountant = budget()
    accountant.reserve(GNMax(sigma=40.0), 10, n_columns=2)
    with pytest.raises(ValueError, match="has reservations"):
        publish_epsilon(accountant)
    with pytest.raises(ValueError, match="nothing was released yet"):
        publish_epsilon(budget())
    used_up = budget(1.0)
    mechanism = used_up.calibrate(GNMax, 500, n_columns=2)
    used_up.release(mechanism, VOTES)
    with pytest.raises(BudgetExceededError, match="leave some of the budget"):
        publish_epsilon(used_up)
    assert len(used_up.entries()) == 1
