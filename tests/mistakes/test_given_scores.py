"""Mistakes with labels and predictions that are scored outside of estimators."""

import numpy as np
import pandas as pd
import pytest
from tests.mistakes._mistake import LABELS, TARGETS

from secretballot import PrivacyAccountant
from secretballot.accounting import BudgetExceededError
from secretballot.measures import confusion_private, regression_score_private, score_private

Y, AMOUNTS = pd.Series(LABELS), pd.Series(TARGETS)
OTHER = Y.sample(frac=1, random_state=0)


def confusion(*arguments, **settings):
    return confusion_private(*arguments, classes=[0, 1], **settings)


def regression(*arguments, **settings):
    return regression_score_private(*arguments, target_bounds=(-6, 6), **settings)


@pytest.mark.parametrize("score", [score_private, confusion, regression])
def test_predictions_or_owners_of_other_rows(score):
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(ValueError, match=r"y_pred has the index of y_true in another order.*\.loc"):
        score(accountant, Y, OTHER, share=0.1)
    by_owner = PrivacyAccountant(1.0, 1e-5, unit="owner")
    owners = pd.Series(np.arange(len(Y)), index=OTHER.index)
    with pytest.raises(ValueError, match="owners has the index of y_true in another order"):
        score(by_owner, Y, Y.to_numpy(), owners=owners, share=0.1)
    assert not accountant.entries()
    assert not by_owner.entries()


@pytest.mark.parametrize("predicted", [AMOUNTS * 1.01, AMOUNTS.to_numpy(), AMOUNTS.round()])
def test_numbers_with_fractions_as_classes(predicted):
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(
        ValueError, match="y_true holds numbers with fractions.*NOT FOR PUBLICATION"
    ):
        score_private(accountant, AMOUNTS, predicted, share=0.1)
    with pytest.raises(ValueError, match="y_pred holds .*regression_score_.*NOT FOR PUBLICATION"):
        score_private(accountant, AMOUNTS.round(), AMOUNTS, share=0.1)
    assert not accountant.entries()


def test_a_label_with_a_fraction_among_classes_is_a_wrong_answer():
    accountant = PrivacyAccountant(1.0, 1e-5)
    one = Y.astype(float)
    one[0] = 0.5
    score_private(accountant, one, LABELS.astype(float), share=0.1)


@pytest.mark.parametrize("score", [score_private, confusion, regression])
@pytest.mark.parametrize("amount", [{"epsilon": 0.3}, {"sigma": 4.0}])
def test_a_handful_of_rows(score, amount):
    """The interval would be 0 to 1, whatever the answer."""
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(ValueError, match=r"too large for its 5 rows.*Score more rows, or .*share="):
        score(accountant, LABELS[:5], LABELS[:5], **amount)
    assert not accountant.entries()


@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
@pytest.mark.parametrize("n", [20, 200])
def test_intervals_are_never_narrower_than_the_noise(n):
    """Also if the noisy count exceeds the rows, as it does in half of all cases here."""
    for seed in range(20):
        accountant = PrivacyAccountant(9.0, 1e-5)
        score = score_private(
            accountant, LABELS[:n], LABELS[:n], sigma=n / 10, level=0.95, random_state=seed
        )
        for low, high in (score.interval, score.rows_interval):
            assert high - low > 1.9 * score.sigma / n


@pytest.mark.parametrize("score", [score_private, confusion, regression])
def test_more_than_the_budget(score):
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(
        BudgetExceededError, match="more than the accountant's budget.*share='rest'"
    ):
        score(accountant, Y, Y, epsilon=100)
    assert not accountant.entries()


PREDICTED = np.where(np.arange(len(Y)) % 5, LABELS, 1 - LABELS)


@pytest.mark.parametrize(
    ("truth", "predicted"),
    [
        (Y.map({0: "no", 1: "yes"}), np.where(PREDICTED, "Yes", "No")),
        (Y, np.where(PREDICTED, 7, 8)),
        (Y, np.where(np.arange(len(Y)) % 2, PREDICTED, -1)),
        (np.ones(len(Y)), np.zeros(len(Y))),
    ],
    ids=["words", "codes", "half", "a single label"],
)
def test_predictions_that_are_no_labels(truth, predicted):
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(ValueError, match="half or more of the predictions .*same.*NOT FOR PUB"):
        score_private(accountant, truth, predicted, share=0.1)
    assert not accountant.entries()


def test_some_predictions_that_are_no_labels():
    accountant = PrivacyAccountant(1.0, 1e-5)
    for other in (2, None, "two", [1, 2], float("nan")):
        some = PREDICTED.astype(object)
        for row in range(0, len(some), 5):
            some[row] = other
        with pytest.warns(UserWarning, match="130 of 650 predictions .*wrong answers.*NOT FOR"):
            score_private(accountant, Y, some, share=0.1)


@pytest.mark.filterwarnings("error")
def test_answers_for_rows_of_one_class():
    """The score of a class alone is its recall, whatever else is predicted."""
    accountant, ones = PrivacyAccountant(9.0, 1e-5), np.ones(len(Y), dtype=int)
    for every in (2, 5, 200):
        predicted = np.where(np.arange(len(Y)) % every, 0, 1)
        score_private(accountant, ones, predicted, share=0.1)


# Labels of no class in a confusion matrix


@pytest.mark.parametrize("others", [7, "yes"])
def test_a_confusion_of_predictions_that_are_none_of_the_classes(others):
    accountant = PrivacyAccountant(1.0, 1e-5)
    for n_others, message in (
        (len(Y), "half|Mix"),
        (len(Y) // 2 + 1, "half or more of the predictions"),
    ):
        predicted = Y.astype(object)
        predicted[:n_others] = others
        with pytest.raises(ValueError, match=f"({message}).*NOT FOR PUBLICATION"):
            confusion(accountant, Y, predicted, share=0.1)
    assert not accountant.entries()
    predicted[100:] = Y[100:]
    with pytest.warns(UserWarning, match="100 of 650 predictions in y_pred are none of the cla"):
        released = confusion(accountant, Y, predicted, share=0.5)
    assert 530 < released.matrix.sum() < 570
    named = predicted.astype(str)
    confusion_private(
        accountant, Y.astype(str), named, classes=[*map(str, [0, 1, others])], share=0.1
    )


def test_a_confusion_of_labels_that_are_none_of_the_classes():
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(ValueError, match="most labels in y_true are none of the cla") as error:
        confusion(accountant, Y + 5, Y, share=0.1)
    assert "the model" not in str(error.value)
    assert "of fit" not in str(error.value)
    with pytest.raises(ValueError, match="y_true contains NaN or None"):
        confusion(accountant, Y.where(Y.index != 3), Y, share=0.1)
    with pytest.raises(ValueError, match="y_true holds numbers with fractions, and confusion_priv"):
        confusion(accountant, AMOUNTS, Y, share=0.1)
    assert not accountant.entries()
    few = Y.where(Y.index >= 50, 7)
    with pytest.warns(UserWarning, match="50 of 650 labels in y_true are none of the classes"):
        confusion(accountant, few, Y, share=0.1)


@pytest.mark.parametrize("score", [score_private, confusion])
@pytest.mark.parametrize(
    "convert", [lambda y: y.to_numpy(complex), lambda y: y.to_numpy(complex).tolist()]
)
def test_complex_labels(score, convert):
    accountant = PrivacyAccountant(1.0, 1e-5)
    for labels in ((convert(Y), LABELS), (LABELS, convert(Y))):
        with pytest.raises(ValueError, match="Complex data not supported: y_.*NOT FOR PUBLIC"):
            score(accountant, *labels, share=0.1)
    assert not accountant.entries()
