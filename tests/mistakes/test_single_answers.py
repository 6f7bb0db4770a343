"""Mistakes with scores, quantiles and top k outside of estimators."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from tests.mistakes._mistake import LABELS, POOL, TARGETS, X, logistic, numbers, teachers

from secretballot import BudgetExceededError, PrivacyAccountant, PublicData, private_top_k
from secretballot.measures import (
    confusion_private,
    price_regression_score,
    price_score,
    private_quantiles,
    regression_score_private,
    score_private,
)

pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")

NAMES = np.where(LABELS, "yes", "no")
N_BIG = 4000
_RNG = np.random.default_rng(0)
TALL = 100 + 20 * _RNG.normal(size=N_BIG)
NEAR = TALL + 5 * _RNG.normal(size=N_BIG)


def budget(**settings):
    return PrivacyAccountant(**{"epsilon": 1.0, "delta": 1e-5, **settings})


def confusion(accountant, y, predicted, **settings):
    return confusion_private(accountant, y, predicted, classes=np.unique(predicted), **settings)


def regression(accountant, y, predicted, **settings):
    return regression_score_private(accountant, y, predicted, target_bounds=(-6, 6), **settings)


def _with_missing(labels, missing):
    cells = pd.Series(labels, dtype=object)
    cells[::50] = missing
    return cells


def _all_missing(labels):
    return pd.Series([np.nan] * len(labels))


MISSING = {
    "NaN": lambda labels: _with_missing(labels, np.nan),
    "None": lambda labels: _with_missing(labels, None),
    "a list": lambda labels: _with_missing(labels, None).tolist(),
    "NA": lambda labels: _with_missing(labels, pd.NA),
    "a category": lambda labels: _with_missing(labels, np.nan).astype("category"),
    "all": _all_missing,
}


@pytest.mark.parametrize("score", [score_private, confusion])
@pytest.mark.parametrize("labels", [LABELS, NAMES], ids=["numbers", "texts"])
@pytest.mark.parametrize("lose", MISSING.values(), ids=MISSING)
def test_missing_labels(score, labels, lose):
    accountant = budget()
    with pytest.raises(
        ValueError, match="Every row needs a label. Leave rows without one out of y_true and y_pred"
    ):
        score(accountant, lose(labels), labels, share=0.1)
    assert not accountant.entries()


def test_a_missing_label_of_several():
    accountant, several = budget(), np.column_stack([LABELS, LABELS])
    private = several.astype(float)
    private[3, 1] = np.nan
    with pytest.raises(ValueError, match="Every row needs a label"):
        score_private(accountant, private, several, share=0.1)
    assert not accountant.entries()


def test_numbers_that_the_noise_hides_by_wide_bounds():
    """Only the release shows that targets fill little of their bounds."""
    for seed in range(3):
        accountant = budget()
        with pytest.warns(UserWarning, match=r"closer.*noise hides the variance.*from -inf to"):
            score = regression_score_private(
                accountant, TALL, NEAR, target_bounds=(0, 3000), share=0.05, random_state=seed
            )
        assert score.r2_interval[0] == -np.inf


def test_an_error_that_the_noise_hides():
    """No error is measured, and the interval says how large it may be."""
    accountant, tried = budget(), range(20)
    settings = {"target_bounds": (40, 160), "sigma": 40}
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        scores = [
            regression_score_private(accountant, TALL, TALL, random_state=seed, **settings)
            for seed in tried
        ]
    hidden = [score for score in scores if score.rmse == 0]
    words = [str(warned.message) for warned in record if "best that is" in str(warned.message)]
    assert 0 < len(hidden) < len(scores)
    assert len(words) == len(hidden)
    for score, said in zip(hidden, words, strict=True):
        assert score.r2 == 1
        assert f"the error is up to {score.rmse_interval[1]:,.4g}" in said


@pytest.mark.parametrize(("n", "share"), [(1000, 0.05), (4000, 0.004)])
def test_numbers_of_so_few_rows(n, share):
    accountant = budget()
    price = price_regression_score(accountant, n, target_bounds=(0, 120), share=share)
    assert price.half_width > 0.5
    with pytest.raises(ValueError, match=r"deviation of 30: .*target_bounds.*largest_error"):
        regression_score_private(
            accountant, TALL[:n], NEAR[:n], target_bounds=(0, 120), share=share
        )
    assert not accountant.entries()


@pytest.mark.parametrize(
    ("make", "y", "ask", "message"),
    [
        (
            numbers,
            TARGETS,
            lambda model: model.score_private(X, TARGETS, epsilon=0.02),
            "too large for .*standard deviation",
        ),
        (
            logistic,
            LABELS,
            lambda model: model.confusion_private(X, LABELS, sigma=150),
            "2 classes.*score_private",
        ),
    ],
)
def test_few_rows_by_method(make, y, ask, message):
    accountant = budget(epsilon=4.0)
    model = make(accountant, epsilon=3.0).fit(X, y, X_public=POOL)
    n_entries = len(accountant.entries())
    with pytest.raises(ValueError, match=message):
        ask(model)
    assert len(accountant.entries()) == n_entries


def test_the_price_says_which_deviation_it_expects():
    price = price_regression_score(budget(), 4000, target_bounds=(0, 3000), share=0.05)
    assert "targets with a standard deviation of 750" in " ".join(str(price).split())
    price = price_regression_score(
        budget(), 4000, target_bounds=(0, 3000), target_std=20, share=0.05
    )
    assert "targets with a standard deviation of 20" in " ".join(str(price).split())
    assert price.half_width > 1


def test_a_confusion_matrix_of_many_classes():
    accountant, names = budget(), np.arange(500)
    labels = np.arange(4000) % 500
    with pytest.raises(ValueError, match=r"500 classes.*larger.*fewer classes.*score_private"):
        confusion_private(accountant, labels, labels, classes=names, share=0.02)
    assert not accountant.entries()


@pytest.mark.parametrize("kind", ["texts", "infinite"])
def test_the_remedy_of_cells_without_numbers(kind):
    cells = pd.Series(np.linspace(1000, 9000, N_BIG))
    cells = cells.map("{:,.0f}".format) if kind == "texts" else cells
    if kind == "texts":
        cells[::2] = cells[::2].str.replace(",", "")
        mended = pd.to_numeric(cells.str.replace(",", ""))
    else:
        cells[::2] = np.inf
        mended = cells.clip(0, 10_000)
    settings = {"bounds": {"pay": (0, 10_000)}, "share": 0.2, "random_state": 0}
    with pytest.warns(UserWarning, match=r"texts.*pandas.to_numeric.*infinite.*\.clip\(low, high"):
        private_quantiles(pd.DataFrame({"pay": cells}), accountant=budget(), **settings)
    private_quantiles(pd.DataFrame({"pay": mended}), accountant=budget(), **settings)


PUBLIC = {
    "private_quantiles": lambda a: private_quantiles(
        PublicData(X), bounds=(-5, 5), accountant=a, share=0.1
    ),
    "private_top_k": lambda a: private_top_k(PublicData(X > 0), 1, accountant=a, share=0.1),
    "score_private": lambda a: score_private(a, PublicData(LABELS), LABELS, share=0.1),
    "predictions": lambda a: score_private(a, LABELS, PublicData(LABELS), share=0.1),
    "confusion_private": lambda a: confusion_private(
        a, PublicData(LABELS), LABELS, classes=[0, 1], share=0.1
    ),
    "regression_score_private": lambda a: regression(a, PublicData(TARGETS), TARGETS, share=0.1),
    "fit": lambda a: logistic(a).fit(POOL, LABELS, X_public=POOL),
    "teachers": lambda a: teachers(a).fit(POOL, LABELS, X_public=POOL),
    "labels": lambda a: logistic(a).fit(X, PublicData(LABELS), X_public=POOL),
}


@pytest.mark.parametrize("call", PUBLIC.values(), ids=PUBLIC)
def test_public_data_as_private_rows(call):
    accountant = budget()
    with pytest.raises(TypeError, match="is PublicData.*as they are") as refused:
        call(accountant)
    assert "Pipeline" not in str(refused.value)
    assert not accountant.entries()


@pytest.mark.parametrize("ask", ["score_private", "confusion_private"])
def test_public_data_as_rows_to_score(ask):
    model = logistic(budget(epsilon=4.0), epsilon=3.5).fit(X, LABELS, X_public=POOL)
    n_entries = len(model.accountant.entries())
    for rows, labels in ((POOL, LABELS), (X, PublicData(LABELS))):
        with pytest.raises(TypeError, match="is PublicData.*as they are"):
            getattr(model, ask)(rows, labels, share=0.05)
    assert len(model.accountant.entries()) == n_entries


NO_BUDGET = {
    "score_private": lambda a: score_private(a, LABELS, LABELS, share=0.1),
    "confusion_private": lambda a: confusion(a, LABELS, LABELS, share=0.1),
    "regression_score_private": lambda a: regression(a, TARGETS, TARGETS, share=0.1),
    "price_score": lambda a: price_score(a, 1000),
    "price_regression_score": lambda a: price_regression_score(a, 1000, target_bounds=(0, 1)),
    "private_quantiles": lambda a: private_quantiles(X, bounds=(-5, 5), accountant=a, share=0.1),
    "private_top_k": lambda a: private_top_k(X > 0, 1, accountant=a, share=0.1),
}


@pytest.mark.parametrize("call", NO_BUDGET.values(), ids=NO_BUDGET)
@pytest.mark.parametrize("given", ["x.ledger", None, LABELS])
def test_no_budget(call, given):
    message = "accountant=.* (must be a PrivacyAccountant, the budget of|nothing is released with)"
    with pytest.raises((TypeError, ValueError), match=message):
        call(given)


@pytest.mark.parametrize("rows", [{1, 2}, frozenset({1})])
@pytest.mark.parametrize("make", [logistic, numbers, teachers])
def test_a_set_in_place_of_public_rows(make, rows):
    accountant = budget()
    y = TARGETS if make is numbers else LABELS
    with pytest.raises(ValueError, match="X_public.* no table"):
        make(accountant).fit(X, y, X_public=PublicData(rows))
    assert not accountant.entries()


VISITS = pd.DataFrame(
    {
        "person": np.repeat(np.arange(2000), 2),
        "place": np.tile(["park", "park", "park", "zoo", "pool"], 800),
    }
)


def test_a_table_of_visits():
    accountant = budget(approximation_delta=5e-6)
    with pytest.raises(ValueError, match=r"holds texts.*pandas\.crosstab.*domain='unknown'"):
        private_top_k(VISITS, 1, accountant=accountant, share=0.5, domain="unknown")
    assert not accountant.entries()
    table = pd.crosstab(VISITS["person"], VISITS["place"]).clip(upper=1)
    found = private_top_k(table, 1, accountant=accountant, share=0.5, domain="unknown")
    assert found.items == ["park"]


def test_lists_of_answers():
    accountant = budget()
    with pytest.raises(ValueError, match=r"holds texts.*pandas\.crosstab"):
        private_top_k([["ann", "park"], ["bob", "zoo"]], 1, accountant=accountant, share=0.5)
    assert not accountant.entries()


@pytest.mark.parametrize("q", [[[0.1, 0.5]], [[0.1], [0.5]], [[0.1], [0.2, 0.3]], []])
def test_levels_of_another_shape(q):
    accountant = budget()
    with pytest.raises(ValueError, match="q=.*one list of levels.*for all columns") as refused:
        private_quantiles(X, q, bounds=(-5, 5), accountant=accountant, share=0.1)
    assert "between 0 and 1, both" not in str(refused.value)
    assert not accountant.entries()


def test_a_score_from_a_budget_that_is_used_up_names_the_way_out():
    """Neither more rows nor a larger sigma help, nor share="rest"."""
    accountant = budget()
    score_private(accountant, LABELS, LABELS, share="rest")
    way_out = "This budget is used up.*Rows of other people, who have a budget of their own"
    for price in (
        price_score(accountant, 500),
        price_score(accountant, 500, n_classes=2),
        price_regression_score(accountant, 500, target_bounds=(0, 1)),
    ):
        text = " ".join(str(price).split())
        assert re.search(way_out, text)
        assert "accept a wider interval" not in text
    with pytest.raises(BudgetExceededError, match=way_out) as error:
        score_private(accountant, LABELS, LABELS, sigma=10.0)
    assert "share='rest'" not in str(error.value)
