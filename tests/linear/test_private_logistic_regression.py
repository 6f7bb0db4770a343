"""The estimator on tables: accuracy, input, and charges."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.accounting import BudgetExceededError, PrivacyLeakWarning
from secretballot.linear import _classes, _fit_features

N, N_PUBLIC = 8000, 500


def table(n, seed=0):
    """Return a table of numbers and categories, and its labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "gain": np.where(rng.random(n) < 0.9, 0.0, rng.lognormal(8, 1, n)),
            "job": rng.choice(["clerk", "nurse", "pilot"], n),
            "noise": rng.normal(size=n),
        }
    )
    score = np.abs(frame["age"] - 50) / -8 + 2.0 + 2 * (frame["gain"] > 0)
    score += frame["job"].map({"clerk": -1, "nurse": 0, "pilot": 2})
    return frame, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "rich", "poor")


X, Y = table(N)
POOL, _ = table(N_PUBLIC, 1)
TEST, ANSWERS = table(4000, 2)
BEST = 0.772  # of the law that the labels were drawn from, on 200,000 rows


def model(budget=1.0, **given):
    budget = PrivacyAccountant(budget, 1e-5) if isinstance(budget, float) else budget
    return PrivateLogisticRegression(**{"classes": ["poor", "rich"], "accountant": budget, **given})


def test_bins_fit_nonlinear_effects():
    found = model().fit(X, Y, X_public=POOL)
    assert found.score(TEST, ANSWERS) > BEST - 0.025
    linear = model(features="linear").fit(X, Y, X_public=POOL)
    assert 0.6 < linear.score(TEST, ANSWERS) < found.score(TEST, ANSWERS) - 0.02
    assert list(found.feature_names_in_) == list(X.columns)
    assert found.coef_.shape == found.coef_error_.shape == (1, found._public_features.n_features)


def test_probabilities_are_calibrated():
    p = model().fit(X, Y, X_public=POOL).predict_proba(TEST)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    rich = ANSWERS == "rich"
    for low in np.arange(0.1, 0.9, 0.2):
        here = (p[:, 1] > low) & (p[:, 1] <= low + 0.2)
        assert abs(p[here, 1].mean() - rich[here].mean()) < 0.08


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_all_rounds_are_paid_before_the_first(order):
    budget = PrivacyAccountant(1.0, 1e-5, order=order)
    found = model(budget=budget, rounds=2, interactions=0).fit(X, Y, X_public=POOL)
    # The check and the sums are paid, drawn and settled.
    paid, drawn, settled = np.split(np.array(budget.entries()), [2, 6])
    assert all(entry.charges for entry in paid)
    assert not any(entry.charges for entry in drawn)
    assert all(entry.is_refund for entry in settled)
    assert len(drawn) == 1 + 1 + found.n_rounds_ == 4
    assert 0.99 < budget.spent().share <= 1
    assert found.score(TEST, ANSWERS) > BEST - 0.025


def test_an_interrupted_fit_pays_for_what_was_drawn(monkeypatch):
    budget, seen = PrivacyAccountant(1.0, 1e-5), []

    def fit_posterior(releases, *rest, **options):
        seen.append(len(releases))
        if len(releases) == 2:
            raise KeyboardInterrupt
        return original(releases, *rest, **options)

    original = _classes.fit_posterior
    monkeypatch.setattr(_classes, "fit_posterior", fit_posterior)
    with pytest.raises(KeyboardInterrupt):
        model(budget=budget, rounds=3, interactions=0).fit(X, Y, X_public=POOL)
    assert seen == [1, 2]
    # Of four rounds two were drawn, and the check of the public rows before them.
    assert budget.spent().share == pytest.approx(0.5, abs=0.01)
    assert len(budget.entries()) == 2 + 1 + 2 + 2


def test_epsilon_caps_a_fit():
    budget = PrivacyAccountant(2.0, 1e-5)
    model(budget=budget, epsilon=0.5).fit(X, Y, X_public=POOL)
    assert 0.45 < budget.spent().epsilon <= 0.5
    model(budget=budget).fit(X, Y, X_public=POOL)
    with pytest.raises(BudgetExceededError):
        model(budget=budget).fit(X, Y, X_public=POOL)


def test_without_public_rows():
    declared = {
        "bounds": {"age": (18, 80), "gain": (0, 1e5), "noise": (-4, 4)},
        "categories": {"job": ["clerk", "nurse", "pilot"]},
    }
    found = model(interactions=0, **declared).fit(X, Y)
    assert found.score(TEST, ANSWERS) > BEST - 0.04
    # The check, the quantiles and the sums are paid, drawn (two first sums, the other rounds) and
    # settled.
    assert len(found.accountant.entries()) == 3 + (1 + 1 + 2 + found.n_rounds_) + 3


@pytest.mark.filterwarnings("ignore:.*tell a model little")  # pixels of the margin
def test_three_classes_with_string_labels():
    digits, y = load_digits(return_X_y=True)
    few = np.random.default_rng(0).permutation(np.flatnonzero(np.isin(y, [1, 3, 8])))
    digits, y = digits[few], np.array(["one", "three", "eight"])[np.searchsorted([1, 3, 8], y[few])]
    found = model(20.0, classes=["one", "three", "eight"], features="linear")
    found.fit(digits[:350], y[:350], X_public=PublicData(digits[350:450]))
    assert found.classes_.tolist() == ["eight", "one", "three"]
    assert found.score(digits[450:], y[450:]) > 0.85
    assert found.decision_function(digits).shape == found.predict_proba(digits).shape == (len(y), 3)


def test_owners_are_averaged_and_levels_weigh():
    budget = PrivacyAccountant({"strict": 0.5, "generous": 2.0}, 1e-5, unit="owner")
    owners = np.arange(N) // 2
    budgets = np.where(owners % 2, "strict", "generous")
    found = model(budget=budget).fit(X, Y, X_public=POOL, owners=owners, budgets=budgets)
    assert found.score(TEST, ANSWERS) > BEST - 0.025
    spent = budget.spent()
    assert spent["strict"].share > 0.99
    assert spent["generous"].share > 0.99
    assert found.mechanism_.weight["generous"] > 2 * found.mechanism_.weight["strict"]
    assert "4000" not in repr(found)
    statement = " ".join(str(budget.statement()).split())
    assert "2000 of 'strict'" in statement
    assert "weight of their level ('generous': 3" in statement
    assert "contributed alike" not in statement
    assert {group["note"]["n_counted"] for group in budget.statement().released} == {N // 2}
    assert f"names is {N // 2:,}: one over delta is 25 times as many" in statement


def test_transformers_are_fitted_on_public_rows_alone():
    seen = []

    class Watched(StandardScaler):
        def fit(self, X, y=None):
            seen.append(len(X))
            return super().fit(X, y)

    numbers = ["age", "gain", "noise"]
    pipeline = make_pipeline(Watched(), PCA(2))
    model(features=pipeline).fit(X[numbers], Y, X_public=POOL[numbers])
    assert seen == [N_PUBLIC]
    frozen = FrozenEstimator(StandardScaler().fit(POOL[numbers]))
    found = model(features=frozen).fit(X[numbers], Y, X_public=POOL[numbers])
    assert "fitted beforehand" in " ".join(str(found.accountant.statement()).split())
    assert found.predict(TEST[numbers]).shape == (len(TEST),)


def test_seeds_are_refused_on_a_named_ledger_before_anything_is_spent(tmp_path):
    budget = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "budget.ledger")
    with pytest.raises(ValueError, match="reproducible"):
        model(budget=budget, random_state=0).fit(X, Y, X_public=POOL)
    assert not budget.entries()


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_searches_charge_every_fit():
    budget = PrivacyAccountant(3.0, 1e-5)
    base = model(budget=budget, epsilon=0.5)
    search = GridSearchCV(base, {"n_bins": [3, 8]}, cv=2, n_jobs=2, refit=False)
    search.fit(X, Y, X_public=PublicData(POOL))
    assert sum(entry.mechanism.count("VectorSum") for entry in budget.entries()) >= 4
    assert 4 * 0.2 < budget.spent().amount / PrivacyAccountant(0.5, 1e-5).remaining().amount <= 4.1
    assert (search.cv_results_["mean_test_score"] > 0.7).all()


def test_copies_and_pickles_predict_the_same():
    found = model().fit(X, Y, X_public=POOL)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(TEST), found.predict(TEST))
    assert not hasattr(clone(found), "coef_")
    assert clone(found).accountant is found.accountant


def test_scores_on_private_rows_are_paid():
    budget = PrivacyAccountant(2.0, 1e-5)
    found = model(budget=budget, epsilon=1.0).fit(X, Y, X_public=POOL)
    before = len(budget.entries())
    score = found.score_private(TEST, ANSWERS, epsilon=0.5)
    assert abs(score.accuracy - found.score(TEST, ANSWERS)) < 0.03
    assert len(budget.entries()) == before + 1


def half(X):
    """Lose private rows."""
    return np.zeros((len(X) // 2 if len(X) > N_PUBLIC else len(X), 2))


def centred(X):
    """Make of a row what depends on all others."""
    return X[["age", "gain"]] - X[["age", "gain"]].mean()


def holes(X):
    """Return no number for one public row."""
    return np.where(X[["age"]] == POOL["age"][1], np.nan, 1.0)


@pytest.mark.parametrize(
    ("given", "changed", "message"),
    [
        ({}, {"X_public": None}, "neither X_public nor bounds"),
        ({"features": "linear", "bounds": (0, 1)}, {"X_public": None}, "pass X_public"),
        ({"bounds": {"age": (0, 1)}}, {"X_public": None}, "'gain'"),
        ({"bounds": (1, 0), "categories": {"job": ["a"]}}, {"X_public": None}, "below high"),
        ({"bounds": [(0, 1)]}, {"X_public": None}, "one for each of the 4 columns"),
        ({"bounds": ["low", "high"]}, {"X_public": None}, "no numbers"),
        ({"bounds": {"age": (0, 1)}}, {"X": X[["job"]], "X_public": None}, "'age'"),
        ({"bounds": {0: (0, 1, 2)}}, {"X": X[["age"]].to_numpy(), "X_public": None}, "give"),
        ({"bounds": {0: (-1e308, 1e308)}}, {"X": X[["age"]].to_numpy(), "X_public": None}, "give"),
        ({"bounds": {0: (0, 1), "b": 3}}, {"X": X[["age"]].to_numpy(), "X_public": None}, "'b'"),
        ({"features": FunctionTransformer(half)}, {}, "every row needs"),
        ({"features": FunctionTransformer(centred)}, {}, "that row alone"),
        ({"features": FunctionTransformer(holes)}, {}, "every row needs"),
        ({"categories": {"town": ["a"]}}, {}, "'town'"),
        ({"categories": {"job": "clerk"}}, {}, "no list"),
        ({}, {"y": np.full(N, "rich")}, None),
        ({"classes": None}, {"y": np.full(N, "rich")}, "1 class"),
        ({}, {"y": np.eye(2)[np.zeros(N, int)].astype(int)}, "2 labels"),
        ({"classes": None}, {"y": np.full((N, 2), 2)}, "other values"),
        ({}, {"X": X[["gain", "age", "noise"]]}, "columns"),
        ({}, {"X": X.rename(columns={"age": "years"})}, "columns of X.*'years'"),
        ({}, {"X": X[["age"]].to_numpy()}, "columns"),
        ({}, {"X_public": X}, "PublicData"),
        ({}, {"owners": np.arange(N)}, "unit"),
        ({"accountant": None}, {}, "accountant=None"),
    ],
)
def test_invalid_input_costs_nothing(given, changed, message):
    asked = {"X": X, "y": Y, "X_public": POOL, **changed}
    fitted = model(**given)
    if message is None:
        fitted.fit(**asked)  # one class, of two that were named: a sensible model
        assert (fitted.predict(TEST) == "rich").mean() > 0.99
        return
    with pytest.raises(ValueError, match=message):
        fitted.fit(**asked)
    assert fitted.accountant is None or not fitted.accountant.entries()


@pytest.mark.usefixtures("few_cosines")
@pytest.mark.parametrize("features", ["additive", "kernel", "linear"])
def test_misfit_cells_are_missing(features):
    given = X.assign(age=X.age.where(X.index % 9 > 0, "n/a"), job=X.job.where(X.index % 7 > 0))
    given = given[["gain", "job", "noise", "age"]]
    found = model(features=features, interactions=0).fit(given, Y, X_public=POOL)
    whole = model(features=features).fit(X, Y, X_public=POOL)
    test = TEST[given.columns]
    assert found.score(test, ANSWERS) > whole.score(TEST, ANSWERS) - 0.03
    missing = test.assign(age=None, job=None)
    with pytest.warns(UserWarning, match="'job' .100.0%.*'age' .100.0%"):
        assert found.score(missing, ANSWERS) > 0.5


@pytest.mark.parametrize("cells", [np.nan, None, "old", 10**400])
def test_many_misfits_warn_after_the_release(cells):
    fitted = model(8.0, check_public_rows=False)
    with (
        pytest.warns(UserWarning, match=r"'age'.*NOT FOR PUBLICATION"),
        pytest.warns(UserWarning, match="next to no private row has a cell of 'age'.*released"),
    ):
        fitted.fit(X.assign(age=cells), Y, X_public=POOL)
    assert fitted.accountant.entries()


def test_learned_classes_warn_of_a_leak():
    with pytest.warns(PrivacyLeakWarning, match="classes=None"):
        model(classes=None).fit(X, Y, X_public=POOL)


def test_many_public_rows_are_thinned_out(monkeypatch):
    monkeypatch.setattr(_fit_features, "MOST_PUBLIC_ROWS", 100)
    assert model().fit(X, Y, X_public=POOL).score(TEST, ANSWERS) > BEST - 0.05
