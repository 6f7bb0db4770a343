"""Prices of fits beforehand: what the fit then chooses and spends, and what would be refused."""

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from secretballot import (
    BudgetExceededError,
    GNMax,
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.ensemble import PrivateChoice
from secretballot.measures import regression_score_private

X, Y = make_classification(2_500, 4, n_informative=3, n_redundant=0, random_state=0)
X, Y, POOL = X[:2_000], Y[:2_000], PublicData(X[2_000:])
N, FEW = len(Y), PublicData(POOL.X[:30])
LEVELS = {"strict": 0.5, "generous": 2.0}
BOUNDS = dict.fromkeys(range(4), (-5.0, 5.0))


def logistic(accountant, **settings):
    return PrivateLogisticRegression(**{"classes": [0, 1], "accountant": accountant, **settings})


def linear(accountant, **settings):
    return PrivateLinearRegression(target_bounds=(-1, 1), accountant=accountant, **settings)


def teachers(accountant, **settings):
    return PrivateTeacherEnsemble(
        DecisionTreeClassifier(max_depth=2),
        **{
            "n_teachers": None,
            "student": LogisticRegression(),
            "classes": [0, 1],
            "accountant": accountant,
            **settings,
        },
    )


@pytest.mark.filterwarnings("ignore:the last residual is:UserWarning")  # few rows
@pytest.mark.parametrize("epsilon", [0.5, None])
@pytest.mark.parametrize("public", [POOL, None])
@pytest.mark.parametrize("make", [logistic, linear])
def test_a_linear_fit_chooses_and_spends_what_was_said(make, public, epsilon):
    accountant = PrivacyAccountant(1.0, 1e-5)
    model = make(accountant, epsilon=epsilon, bounds=BOUNDS)
    price = model.price_fit(N, public)
    assert (accountant.entries(), accountant.spent().share) == ([], 0.0)
    assert price.sizes["n_columns"] == 4
    assert price.sizes["n_public_rows"] == (0 if public is None else 500)
    model.fit(X, Y, X_public=public)
    assert accountant.spent().share == pytest.approx(price.share["everyone"], rel=1e-4)
    assert (price.sizes["n_rounds"], price.sizes["n_bins"]) == (model.n_rounds_, model.n_bins_)
    assert (price.problem, price.remaining) == ("", {"everyone": 1.0})


@pytest.mark.filterwarnings("ignore:the last residual is:UserWarning")  # few rows
@pytest.mark.parametrize("n_scored", [None, 1_500])
@pytest.mark.parametrize("make", [logistic, linear])
def test_the_price_of_the_score_is_what_it_will_cost(make, n_scored):
    """Fewer rows cost more, and numbers four times as much as classes."""
    accountant = PrivacyAccountant(1.0, 1e-5)
    model = make(accountant, epsilon=0.5)
    price = model.price_fit(N, POOL, n_scored=n_scored)
    model.fit(X, Y, X_public=POOL)
    before = accountant.spent().share
    model.score_private(X[:n_scored], Y[:n_scored], sigma=price.score.sigma)
    assert accountant.spent().share - before == pytest.approx(price.score.share, rel=1e-6)
    assert f"score, {price.score.precision}" in str(price)


def test_a_score_that_nothing_can_pay_is_priced_and_said_to_be():
    price = logistic(PrivacyAccountant(0.2, 1e-5)).price_fit(N, POOL, n_scored=30)
    assert price.score.share == pytest.approx(142, abs=1)
    assert "142 times all of it" in str(price)
    assert "score more rows" in str(price)


@pytest.mark.parametrize("n_outputs", [3, 5])
def test_classes_and_labels(n_outputs):
    accountant = PrivacyAccountant(8.0, 1e-5)
    labels = n_outputs == 5
    y = (X[:, [0, 1, 2, 3, 0]] > 0).astype(int) if labels else np.digitize(X[:, 0], [-1, 1])
    model = logistic(accountant, classes=None if labels else [0, 1, 2])
    price = model.price_fit(N, POOL, n_labels=n_outputs if labels else None)
    model.fit(X, y, X_public=POOL)
    # Of 6 more releases with three classes, one comparison takes 5, and two take 8.
    more = model.n_rounds_ - price.sizes["n_rounds"]
    assert more in ([0] if labels else [6 - 5, 6 - 8])
    assert price.sizes["n_bins"] == model.n_bins_


def test_levels_of_a_linear_fit():
    accountant = PrivacyAccountant(LEVELS, 1e-5)
    budgets = np.where(np.arange(N) < 1_500, "strict", "generous")
    model = logistic(accountant)
    price = model.price_fit({"strict": 1_500, "generous": 500}, POOL)
    model.fit(X, Y, X_public=POOL, budgets=budgets)
    spent = {level: report.share for level, report in accountant.spent().items()}
    # The check of the public rows counts all people alike.
    assert price.share == pytest.approx(spent, rel=3e-3)
    assert (price.sizes["n_rounds"], price.sizes["n_bins"]) == (model.n_rounds_, model.n_bins_)
    with pytest.raises(ValueError, match="must have a number for each level: 'strict', 'generous'"):
        model.price_fit({"strict": 1_500}, POOL)
    with pytest.raises(ValueError, match="n names levels.*one budget for everyone"):
        logistic(PrivacyAccountant(1.0, 1e-5)).price_fit({"strict": 1_500}, POOL)


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 1.0},
        {"n_teachers": 150},
        {"student": PrivateChoice((DecisionTreeClassifier(), {"max_depth": [1, 2]}))},
        {"mechanism": GNMax(sigma=60.0), "n_teachers": 150},
        {"reservation": 100},
    ],
)
def test_an_ensemble_chooses_and_spends_what_was_said(settings):
    accountant = PrivacyAccountant(2.0, 1e-5)
    ensemble = teachers(accountant, **settings)
    price = ensemble.price_fit(N, FEW)
    assert (accountant.entries(), accountant.spent().share) == ([], 0.0)
    ensemble.fit(X, Y, X_public=FEW)
    spent = accountant.spent().share
    # The check of the public rows is at most a hundredth of a fit.
    assert price.share["everyone"] == pytest.approx(spent, rel=0.011)
    assert price.sizes["n_teachers"] == ensemble.n_teachers_
    assert price.sizes["sigma"] == pytest.approx(ensemble.mechanism_.sigma, rel=1e-6)
    assert "survives the noise with probability" in price.expected


def test_a_shared_reservation_costs_a_fit_nothing():
    accountant = PrivacyAccountant(2.0, 1e-5)
    reservation = accountant.reserve(GNMax(sigma=60.0), 30, n_columns=2)
    price = teachers(accountant, reservation=reservation, n_teachers=200).price_fit(N, FEW)
    assert price.share == {"everyone": 0.0}


@pytest.mark.parametrize("make", [logistic, linear, teachers])
def test_too_small_a_set_is_named_before_the_fit_refuses_it(make):
    accountant = PrivacyAccountant(0.1, 1e-5)
    rows = np.random.default_rng(0).normal(size=(650, 14))
    model = make(accountant)
    price = model.price_fit(650, rows[:100])
    assert not price.all_fits_succeed
    with pytest.raises(BudgetExceededError) as refusal:
        model.fit(rows, np.arange(650) % 2, X_public=PublicData(rows[:100] + 1e-3))
    assert price.problem == str(refusal.value)
    assert f"Refused: {price.problem[:40]}" in str(price)
    assert accountant.spent().share == 0


@pytest.mark.parametrize("make", [logistic, linear])
def test_a_small_set_is_warned_of_before_anything_is_spent(make):
    accountant = PrivacyAccountant(0.1, 1e-5)
    rows = np.random.default_rng(0).normal(size=(750, 8))
    model, pool = make(accountant, interactions=0), PublicData(rows[650:])
    price = model.price_fit(650, pool)
    assert 6 < price.sizes["signal"] < 30
    assert price.problem == ""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the private rows stand out of the noise")
        with pytest.raises(UserWarning) as warned:
            model.fit(rows[:650], np.arange(650) % 2, X_public=pool)
    assert price.expected in str(warned.value)
    assert accountant.entries() == []


def test_prospects_grow_with_the_signal():
    model = logistic(PrivacyAccountant(1.0, 1e-5))
    texts = [model.price_fit(n, POOL).expected for n in (120, 600, 2_000, 50_000)]
    kept = [int(re.search(r"(\d+)%", text)[1]) for text in texts]
    assert kept == sorted(set(kept))


def test_prospects_of_labels_shrink_with_their_number():
    model = logistic(PrivacyAccountant(1.0, 1e-5)).set_params(classes=None)
    few, many = (model.price_fit(600, POOL, n_labels=n_labels).expected for n_labels in (2, 200))
    assert "five tables (scene" in few
    assert int(re.search(r"(\d+)%", few)[1]) > int(re.search(r"(\d+)%", many)[1])


def test_a_search_that_does_not_fit_says_which_epsilon_does():
    accountant = PrivacyAccountant(2.0, 1e-5)
    model = logistic(accountant, epsilon=1.0)
    price = model.price_fit(50_000, POOL, n_fits=9)
    assert not price.all_fits_succeed
    assert price.epsilon_per_fit == accountant.epsilon_per_fit(9)
    assert "Too little is left for 9 such fits: epsilon=accountant.epsilon_per_fit(9)" in str(price)
    model.set_params(epsilon=price.epsilon_per_fit)
    all_of_it = model.price_fit(50_000, POOL, n_fits=9)
    assert all_of_it.all_fits_succeed
    assert "Too little would be left for a score" in str(all_of_it)
    model.set_params(epsilon=accountant.epsilon_per_fit(9, share=0.9))
    price = model.price_fit(50_000, POOL, n_fits=9)
    assert price.all_fits_succeed
    assert 9 * price.share["everyone"] == pytest.approx(0.9, rel=1e-5)
    assert "Too little" not in str(price)
    assert "<table" in price._repr_html_()


@pytest.mark.parametrize("n_scored", [300, 800])
def test_the_advised_share_leaves_enough_for_the_score(n_scored):
    accountant = PrivacyAccountant(1.0, 1e-5)
    model = logistic(accountant, epsilon=accountant.epsilon_per_fit(share=0.95), bounds=BOUNDS)
    advice = str(model.price_fit(N, n_scored=n_scored))
    part = float(re.search(r"epsilon_per_fit\(1, share=(0\.\d+)\) leaves enough", advice)[1])
    model.set_params(epsilon=accountant.epsilon_per_fit(share=part))
    assert "Too little" not in str(model.price_fit(N, n_scored=n_scored))
    model.fit(X, Y)
    model.score_private(X[:n_scored], Y[:n_scored], sigma=model.price_score(n_scored).sigma)
    assert accountant.spent().share > 0.95


def test_a_score_that_does_not_fit_names_its_own_parameters():
    accountant = PrivacyAccountant(1.0, 1e-5)
    model = logistic(accountant, epsilon=accountant.epsilon_per_fit(share=0.9), bounds=BOUNDS).fit(
        X, Y
    )
    for score in (
        lambda **how: model.score_private(X[:800], Y[:800], **how),
        lambda **how: model.confusion_private(X[:800], Y[:800], **how),
        lambda **how: regression_score_private(
            accountant, Y[:800], Y[:800] / 2, target_bounds=(-1, 1), **how
        ),
    ):
        message = r"The score would take (\d+|more).*Pass share='rest'.*sigma="
        with pytest.raises(BudgetExceededError, match=message):
            score(sigma=3.0)
        with pytest.raises(BudgetExceededError, match=message):
            score(sigma=1.0)
        with pytest.raises(
            BudgetExceededError, match="share=0.2 takes 20.0% of the budget, and 10"
        ):
            score(share=0.2)
    n_entries = len(accountant.entries())
    model.score_private(X[:800], Y[:800], share="rest")
    assert len(accountant.entries()) == n_entries + 1


def test_the_table_names_levels():
    accountant = PrivacyAccountant(LEVELS, 1e-5)
    text = str(logistic(accountant, epsilon=0.4).price_fit(50_000, POOL, n_fits=2))
    for line in ("one fit (strict)", "2 fits (generous)", "left now (strict)"):
        assert line in text


def test_a_budget_that_is_used_up_has_no_prices():
    accountant = PrivacyAccountant(2.0, 1e-5)
    model = logistic(accountant).fit(X, Y, X_public=POOL)
    with pytest.raises(BudgetExceededError, match="Next to nothing is left"):
        model.price_fit(N, POOL)


@pytest.mark.parametrize(
    ("make", "settings", "arguments", "message"),
    [
        (logistic, {}, {"n": 0}, "n=0 must be an integer of at least 1"),
        (logistic, {}, {"n_fits": 0}, "n_fits=0"),
        (logistic, {}, {"n_labels": 1}, "n_labels=1"),
        (logistic, {"accountant": None}, {}, "accountant=None"),
        (logistic, {}, {"X_public": None}, "bounds=None: which columns there are is not known"),
        (logistic, {"bounds": (0, 1)}, {"X_public": None}, "which columns there are is not known"),
        (linear, {}, {"n_labels": 2}, "n_labels=2, and this model predicts a number"),
        (teachers, {}, {"X_public": None}, "X_public=None"),
        (teachers, {"accountant": None}, {}, "accountant=None"),
    ],
)
def test_invalid_arguments(make, settings, arguments, message):
    model = make(PrivacyAccountant(1.0, 1e-5)).set_params(**settings)
    with pytest.raises(ValueError, match=message):
        model.price_fit(**{"n": N, "X_public": POOL, **arguments})


@pytest.mark.parametrize("unit", ["row", "owner"])
def test_the_price_of_owners_says_so(unit):
    priced = logistic(PrivacyAccountant(1.0, 1e-5, unit=unit)).price_fit(N, POOL)
    assert ("numbers are of owners, not of rows" in str(priced)) == (unit == "owner")
