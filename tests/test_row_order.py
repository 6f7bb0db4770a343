"""Labels, owners and budgets in another order than the rows: refused before anything is spent."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from secretballot import (
    LabelProportionsClassifier,
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.measures import private_quantiles

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
X = pandas.DataFrame(RNG.normal(size=(200, 2)), columns=["a", "b"])
Y = pandas.Series(RNG.integers(0, 2, 200))
POOL = pandas.DataFrame(RNG.normal(size=(40, 2)), columns=["a", "b"])
OTHER = RNG.permutation(200)


def linear(accountant):
    return PrivateLogisticRegression(classes=[0, 1], accountant=accountant)


def teachers(accountant):
    learner = LogisticRegression()
    return PrivateTeacherEnsemble(
        learner, 10, student=learner, classes=[0, 1], accountant=accountant, check_public_rows=False
    )


@pytest.mark.parametrize("make", [linear, teachers])
@pytest.mark.parametrize("name", ["y", "owners", "budgets"])
def test_another_order_is_refused(make, name):
    levels = {"low": 50.0, "high": 90.0} if name == "budgets" else 90.0
    accountant = PrivacyAccountant(levels, 1e-5, unit="owner" if name == "owners" else "row")
    budgets = pandas.Series(np.where(np.arange(200) % 2, "low", "high"))
    arguments = {
        "y": {},
        "owners": {"owners": pandas.Series(np.arange(200))},
        "budgets": {"budgets": budgets},
    }
    fit = {"y": Y, **arguments[name]}
    fit[name] = fit[name].iloc[OTHER]
    with pytest.raises(
        ValueError, match=rf"{name} has the index of X in .*\.loc.*NOT FOR PUBLICATION"
    ):
        make(accountant).fit(X, **fit, X_public=PublicData(POOL))
    assert not accountant.entries()


@pytest.mark.parametrize("make", [linear, teachers])
def test_of_scores_too(make):
    accountant = PrivacyAccountant(200.0, 1e-5)
    fitted = make(accountant).set_params(epsilon=90.0).fit(X, Y, X_public=POOL)
    n_entries = len(accountant.entries())
    for score in (fitted.score_private, fitted.confusion_private):
        with pytest.raises(ValueError, match="y has the index of X in another order"):
            score(X, Y.iloc[OTHER], share=0.05)
    assert len(accountant.entries()) == n_entries
    assert fitted.score_private(X.iloc[OTHER], Y.iloc[OTHER], share=0.05).n == 200


@pytest.mark.parametrize("make", [linear, teachers])
def test_labels_of_the_next_row_are_refused(make):
    accountant, rows = PrivacyAccountant(200.0, 1e-5), X.set_axis(np.arange(200) + 7)
    labels = Y.set_axis(np.arange(200) + 8)
    words = r"y has other index labels than X.*of the same rows.*NOT FOR PUBLICATION"
    with pytest.raises(ValueError, match=words):
        make(accountant).fit(rows, labels, X_public=POOL)
    fitted = (
        make(accountant).set_params(epsilon=90.0).fit(rows, Y.set_axis(rows.index), X_public=POOL)
    )
    n_entries = len(accountant.entries())
    with pytest.raises(ValueError, match="y has other index labels than X"):
        fitted.score_private(rows[:-1], Y.set_axis(rows.index)[1:], share=0.05)
    assert len(accountant.entries()) == n_entries


@pytest.mark.parametrize("make", [linear, teachers])
def test_columns_of_labels_are_matched_by_name(make):
    labels = pandas.DataFrame({"up": X["a"] > 0, "down": X["a"] < 0.5}).astype(int)
    model = make(PrivacyAccountant(400.0, 1e-5)).set_params(epsilon=90.0, classes=None)
    if make is teachers:
        learner = MultiOutputClassifier(LogisticRegression())
        model.set_params(estimator=learner, student=learner)
    fitted = model.fit(X, labels, X_public=POOL)
    scores = [
        fitted.score_private(X, y, epsilon=80.0).accuracy
        for y in (labels, labels[["down", "up"]], labels.to_numpy())
    ]
    assert max(scores) - min(scores) < 0.1
    with pytest.raises(ValueError, match=r"columns \['up', 'left'\].*fitted to \['up', 'down'\]"):
        fitted.score_private(X, labels.rename(columns={"down": "left"}), share=0.05)


@pytest.mark.parametrize("make", [linear, teachers])
def test_an_index_of_several_levels_beside_a_plain_one_warns(make):
    rows = X.set_index(pandas.MultiIndex.from_product([range(20), range(10)]))
    with pytest.warns(UserWarning, match=r"other index labels.*reset_index.*y.to_numpy\(\)"):
        make(PrivacyAccountant(90.0, 1e-5)).fit(rows, Y, X_public=PublicData(POOL))


@pytest.mark.parametrize("make", [linear, teachers])
@pytest.mark.parametrize("is_y", [True, False])
def test_an_index_of_several_levels_beside_names_is_refused(make, is_y):
    accountant = PrivacyAccountant(90.0, 1e-5)
    levels = pandas.MultiIndex.from_product([range(20), range(10)])
    names = [f"row {number}" for number in range(200)]
    rows, labels = X.set_index(pandas.Index(names) if is_y else levels), Y.copy()
    labels.index = levels if is_y else pandas.Index(names)
    with pytest.raises(ValueError, match=r"same rows\? Pass y.to_numpy\(\).*NOT FOR"):
        make(accountant).fit(rows, labels, X_public=PublicData(POOL))
    assert accountant.entries() == []
    make(accountant).fit(rows, labels.to_numpy(), X_public=PublicData(POOL))


@pytest.mark.parametrize("make", [linear, teachers])
@pytest.mark.parametrize("is_public", [True, False])
def test_rows_and_public_rows_may_have_an_index_of_several_levels(make, is_public):
    pool, rows = POOL, X
    if is_public:
        pool = POOL.set_index(pandas.MultiIndex.from_product([range(4), range(10)]))
    else:
        rows = X.set_index(pandas.MultiIndex.from_product([range(20), range(10)]))
    make(PrivacyAccountant(90.0, 1e-5)).fit(rows, Y.to_numpy(), X_public=PublicData(pool))


def test_of_quantiles_and_bags_too():
    accountant = PrivacyAccountant(1.0, 1e-5, unit="owner")
    owners = pandas.Series(np.arange(200)).iloc[OTHER]
    with pytest.raises(ValueError, match="owners has the index of X in another order"):
        private_quantiles(X, [0.5], bounds=(-9, 9), owners=owners, accountant=accountant, share=0.1)
    assert not accountant.entries()
    groups = pandas.Series(np.arange(200) % 2).iloc[OTHER]
    with pytest.raises(ValueError, match="bag_ids has the index of X in another order"):
        LabelProportionsClassifier().fit(
            X, bag_ids=groups, proportions=pandas.DataFrame({0: [0.2, 0.7], 1: [0.8, 0.3]})
        )
