"""Accuracy and confusion matrices of private rows: what is counted, charged, refused."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from secretballot import PrivacyAccountant, PrivateLogisticRegression
from secretballot.accounting import BudgetExceededError
from secretballot.measures import confusion_private, price_score, score_private
from secretballot.measures._answers import class_codes, right_answers
from secretballot.tables._people import People

pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")

TRUTH = np.array([0, 1, 1, 0, 1, 2] * 100)
PREDICTED = np.array([0, 1, 0, 0, 1, 1] * 100)
CELLS = np.array([[200, 0, 0], [100, 200, 0], [0, 100, 0]])


def budget(epsilon=1.0, **options):
    return PrivacyAccountant(epsilon, 1e-5, **options)


def nearly(accountant, truth, predictions, owners=None):
    """The accuracy with next to no noise."""
    arguments = {"owners": owners, "sigma": 1e-3, "random_state": 0}
    return score_private(accountant, truth, predictions, **arguments).accuracy


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_a_score_costs_its_price(order):
    accountant = budget(order=order)
    price = price_score(accountant, len(TRUTH), sigma=40.0)
    assert accountant.spent().share == 0
    score = score_private(accountant, TRUTH, PREDICTED, sigma=40.0, random_state=0)
    assert accountant.spent().share == pytest.approx(price.share, rel=1e-9)
    assert accountant.entries()[-1].n_rows == 1
    assert score.accuracy == pytest.approx(400 / 600, abs=6 * 40 / 600)
    assert (score.n, score.unit, score.sigma, score.level) == (600, "row", 40.0, 0.95)
    assert score.interval[0] < score.rows_interval[0] < score.accuracy
    assert score.accuracy < score.rows_interval[1] < score.interval[1]
    width = (score.interval[1] - score.interval[0]) / 2
    assert width <= price.half_width <= 1.3 * width


def test_epsilon_bounds_the_cost():
    accountant = budget(2.0)
    score = score_private(accountant, TRUTH, PREDICTED, epsilon=0.5, random_state=0)
    alone = budget(0.5)
    score_private(alone, TRUTH, PREDICTED, sigma=score.sigma, random_state=0)
    assert 0.99 < alone.spent().share <= 1
    both = price_score(accountant, 600, n_classes=3, epsilon=0.5)
    assert both.sigma == pytest.approx(score.sigma * math.sqrt(2), rel=0.01)


def test_the_noise_that_a_price_recommends_depends_on_the_number_of_rows():
    accountant = budget(3.0)
    price = price_score(accountant, 600)
    assert price.sigma == pytest.approx(math.sqrt(600) / 4)
    score = score_private(accountant, TRUTH, PREDICTED, random_state=0, sigma=price.sigma)
    assert score.sigma == price.sigma
    assert accountant.spent().amount == pytest.approx(16 / 600)
    assert accountant.spent().share == pytest.approx(price.share, rel=1e-9)


def test_a_confusion_matrix_with_its_intervals():
    accountant = budget(3.0)
    price = price_score(accountant, len(TRUTH), n_classes=3)
    confusion = confusion_private(
        accountant, TRUTH, PREDICTED, classes=[0, 1, 2], random_state=0, share=price.share
    )
    assert accountant.spent().share == pytest.approx(price.share, rel=1e-8)
    assert accountant.spent().amount == pytest.approx(2 * 16 / 600)  # twice an accuracy's
    np.testing.assert_allclose(confusion.matrix, CELLS, atol=6 * confusion.sigma)
    assert confusion.accuracy == confusion.matrix.trace() / 600
    assert confusion.accuracy_interval[0] < 400 / 600 < confusion.accuracy_interval[1]
    assert confusion.recall == pytest.approx(np.array([1, 2 / 3, 0]), abs=0.3)
    for (low, high), truth in zip(confusion.recall_interval, (1, 2 / 3, 0), strict=True):
        assert low <= truth <= high
    low, high = confusion.balanced_accuracy_interval
    assert low < confusion.balanced_accuracy < high
    assert pickle.loads(pickle.dumps(confusion)).classes.tolist() == [0, 1, 2]


def test_classes_are_sorted_in_whatever_order_they_are_named():
    sorted_matrix, other = (
        confusion_private(budget(4.0), TRUTH, PREDICTED, classes=classes, share=0.5, random_state=0)
        for classes in ([0, 1, 2], [2, 0, 1])
    )
    assert other.classes.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(other.matrix, sorted_matrix.matrix)


@pytest.mark.parametrize(
    ("truth", "predicted"),
    [(["yes", "no"], [1, 0]), ([1.0, 0.0], ["1", "0"]), ([True, False], np.array(["1", "0"]))],
)
def test_texts_on_one_side_and_numbers_on_the_other_are_refused(truth, predicted):
    accountant = budget(4.0)
    truth, predicted = 300 * list(truth), np.tile(predicted, 300)
    with pytest.raises(ValueError, match="Mix of label input types.*NOT FOR PUBLICATION"):
        score_private(accountant, truth, predicted, share=0.05)
    classes = sorted(set(predicted.tolist()))
    with pytest.raises(ValueError, match="Mix of label input types.*NOT FOR PUBLICATION"):
        confusion_private(accountant, truth, predicted, classes=classes, share=0.05)
    assert not accountant.entries()
    # One label of the other type is a wrong answer, and nothing else.
    truth[1:] = predicted[1:].tolist()
    assert score_private(accountant, truth, predicted, epsilon=1.0).accuracy > 0.9


def test_classes_of_texts_and_numbers_are_refused():
    with pytest.raises(ValueError, match="classes mixes labels"):
        confusion_private(budget(4.0), TRUTH, PREDICTED, classes=[0, 1, "2"], share=0.05)


def test_a_class_without_rows_has_no_recall():
    confusion = confusion_private(
        budget(4.0), TRUTH, PREDICTED, classes=[0, 1, 2, 3], sigma=20.0, random_state=3
    )
    assert confusion.matrix[3].sum() < 0
    assert np.isnan(confusion.recall[3])
    assert confusion.recall_interval[3].tolist() == [0.0, 1.0]
    assert math.isnan(confusion.balanced_accuracy)
    assert confusion.balanced_accuracy_interval == (0.0, 1.0)


def test_owners_have_equal_weight():
    accountant = budget(1e9, unit="owner")
    # One has three rows, two of them right; another one row, which is wrong.
    score = nearly(accountant, [1, 1, 1, 1], [1, 1, 0, 0], owners=["a", "a", "a", "b"])
    assert score == pytest.approx((2 / 3 + 0) / 2, abs=0.01)
    confusion = confusion_private(
        accountant,
        [1, 1, 1, 0],
        [1, 1, 0, 0],
        classes=[0, 1],
        owners=["a", "a", "a", "b"],
        sigma=1e-3,
        random_state=0,
    )
    np.testing.assert_allclose(confusion.matrix, [[1, 0], [1 / 3, 2 / 3]], atol=0.02)
    assert (confusion.n, confusion.unit) == (2, "owner")


STRANGE = [None, math.nan, "1", "other", [1, 1], np.array([1, 2]), 99, {}, 1 + 1e-9]


@pytest.mark.parametrize("strange", STRANGE, ids=repr)
def test_an_unknown_label_is_wrong_and_changes_no_other_row(strange):
    truth = [*TRUTH[:-1].tolist(), strange]
    right = right_answers(truth, PREDICTED)
    assert right[:-1].tolist() == right_answers(TRUTH, PREDICTED)[:-1].tolist()
    assert right[-1] == 0
    codes = class_codes(truth, np.array([0, 1, 2]), "y_true")
    assert codes[:-1].tolist() == TRUTH[:-1].tolist()
    assert codes[-1] == -1


@pytest.mark.parametrize("strange", [None, 1, [], [0, 1], "1", [[1]]], ids=repr)
def test_an_unknown_label_among_lists_of_one_changes_no_other_row(strange):
    truth = [[label] for label in TRUTH.tolist()]
    neighbour = [*truth[:-1], strange]
    right, moved = right_answers(truth, PREDICTED), right_answers(neighbour, PREDICTED)
    assert right.tolist() == right_answers(TRUTH, PREDICTED).tolist()
    assert moved[:-1].tolist() == right[:-1].tolist()
    codes = class_codes(neighbour, np.array([0, 1, 2]), "y_true")
    assert codes[:-1].tolist() == TRUTH[:-1].tolist()


def test_labels_of_several_kinds_compare_by_value():
    right = right_answers(np.array(["a", "b"], dtype=object), np.array(["a", "c"]))
    assert right.tolist() == [1, 0]
    assert right_answers([1.0, True, 0], np.array([1, 1, 1])).tolist() == [1, 1, 0]
    assert right_answers([[1, 0], [1, 1]], np.array([[1, 0], [1, 0]])).tolist() == [1, 0]


ARGUMENTS = {"y_true": TRUTH, "y_pred": PREDICTED}


@pytest.mark.parametrize(
    ("accountant", "arguments", "message"),
    [
        ({}, {"y_pred": PREDICTED[:5]}, r"y_true has .*600.* and y_pred .*5"),
        ({}, {"y_true": []}, r"y_true has shape \(0,\)"),
        ({}, {"y_true": np.ma.masked_array(TRUTH)}, r"y_true is a masked array"),
        ({}, {"owners": range(600)}, r"owners was given, but the accountant's unit='row'"),
        ({"unit": "owner"}, {}, r"Pass owners=, one owner id per row"),
        ({"unit": "owner"}, {"owners": [1] * 3}, r"owners has 3 entries"),
        ({"unit": "owner"}, {"owners": [1] * 599 + ["1"]}, r"owners mixes ids of kinds"),
        ({"unit": "owner"}, {"owners": [1] * 599 + [None]}, r"owners\[599\] is missing"),
        (
            {"relation": "add_remove"},
            {},
            r"relation='add_remove': the number of rows or owners is public",
        ),
        ({}, {"sigma": 0}, r"sigma=0\.0 must be a finite number above 0"),
        ({}, {"sigma": 3, "epsilon": 1}, r"epsilon=1 and sigma=3: give one"),
        ({}, {"level": 1.0}, r"level=1\.0 must be"),
    ],
)
def test_bad_input_spends_nothing(accountant, arguments, message):
    accountant = budget(**accountant)
    for score, more in ((score_private, {}), (confusion_private, {"classes": [0, 1, 2]})):
        given = {} if arguments.keys() & {"epsilon", "sigma"} else {"share": 0.05}
        with pytest.raises(ValueError, match=message):
            score(accountant, **{**ARGUMENTS, **arguments, **more, **given})
    assert not accountant.entries()


def test_scores_beyond_the_budget_are_refused():
    accountant = budget()
    with pytest.raises(BudgetExceededError):
        score_private(accountant, TRUTH, PREDICTED, sigma=0.1)
    price = price_score(accountant, 600, sigma=0.1)
    assert price.share > 1
    assert not price.fits
    assert "score more rows, accept a wider interval" in " ".join(str(price).split())
    with pytest.raises(ValueError, match="accountant=None"):
        score_private(None, TRUTH, PREDICTED, share=0.05)
    with pytest.raises(ValueError, match="holds 1 class"):
        confusion_private(accountant, TRUTH, PREDICTED, classes=[0, 0], share=0.05)
    with pytest.raises(ValueError, match="one class a row"):
        confusion_private(
            accountant, TRUTH[:, None] * [1, 1], PREDICTED, classes=[0, 1, 2], share=0.05
        )
    assert not accountant.entries()


def furthest(people, rows):
    """Largest move of the counts if some rows are replaced, by brute force."""
    rng, classes = np.random.default_rng(0), np.array([0, 1])
    truth, predictions = rng.integers(0, 2, 12).tolist(), rng.integers(0, 2, 12)

    def counted(truth, predictions):
        cells = class_codes(truth, classes, "y") * 2 + predictions
        inside = cells >= 0
        matrix = np.bincount(cells[inside], people.weights[inside], 4)
        return float(people.total(right_answers(truth, predictions))), matrix

    score, matrix = counted(truth, predictions)
    moved, moved_cells = [], []
    for other in np.ndindex(*(3, 2) * len(rows)):
        labels, predicted = list(truth), predictions.copy()
        for at, row in enumerate(rows):
            labels[row], predicted[row] = [0, 1, "none"][other[2 * at]], other[2 * at + 1]
        one, cells = counted(labels, predicted)
        moved.append(abs(one - score))
        moved_cells.append(np.linalg.norm(cells - matrix))
    return max(moved), max(moved_cells)


OWNERS = np.arange(12) // 3


@pytest.mark.parametrize(("unit", "owners", "rows"), [("row", None, 1), ("owner", OWNERS, 3)])
def test_no_person_moves_counts_by_more_than_is_charged(unit, owners, rows):
    moved, cells = furthest(People.from_owners(budget(unit=unit), owners, 12), range(rows))
    assert 0.6 < moved <= 1 + 1e-12
    assert 1 < cells <= math.sqrt(2) + 1e-12


def test_an_error_of_owners_without_averaging_is_found():
    people = People(4, "owner", np.ones(12))
    moved, cells = furthest(people, range(3))
    assert moved > 1
    assert cells > math.sqrt(2)


@pytest.mark.parametrize("n_labels", [1, 3, 7])
def test_an_owner_moves_exact_sums_by_one_at_most(n_labels):
    # Several labels: each row's share of right answers is no multiple of a power of two.
    rng = np.random.default_rng(0)
    others = rng.integers(1, 300, size=5000)
    for n_rows in (1, 3, 7, 49):
        owners = np.concatenate([np.zeros(n_rows, int), others])
        people = People.from_owners(budget(1.0, unit="owner"), owners, len(owners))
        right = rng.integers(2, size=(len(owners), n_labels)).mean(axis=1)
        right[:n_rows] = 0
        none = people.total(right)
        right[:n_rows] = 1
        assert 1 - 1e-9 < Fraction(float(people.total(right))) - Fraction(float(none)) <= 1
        order = rng.permutation(len(owners))
        again = People.from_owners(budget(1.0, unit="owner"), owners[order], len(owners))
        assert again.total(right[order]) == people.total(right)


def test_a_row_moves_exact_sums_by_one_at_most():
    people = People.from_owners(budget(), None, 5000)
    right = np.random.default_rng(0).integers(8, size=5000) / 7
    right[0] = 0
    none = people.total(right)
    right[0] = 1
    assert Fraction(float(people.total(right))) - Fraction(float(none)) == 1
    assert people.total(right[::-1]) == people.total(right)


@pytest.mark.parametrize("order", [None, "renyi"])
def test_a_price_beyond_what_is_left_is_that_of_an_unspent_budget(order):
    accountant, unspent = (PrivacyAccountant(1.0, 1e-5, order=order) for _ in range(2))
    score_private(accountant, TRUTH, PREDICTED, epsilon=0.9)
    price = price_score(accountant, 600, sigma=8.0)
    assert not price.fits
    assert 1 - accountant.spent().share < price.share <= 1
    assert price.share == pytest.approx(price_score(unspent, 600, sigma=8.0).share)
    assert price_score(unspent, 600, sigma=8.0).fits
    assert "more than what is left" not in str(price_score(unspent, 600, sigma=8.0))
    # With an epsilon the noise fits what is left, and the interval tells what that is worth.
    wide = price_score(accountant, 600, epsilon=0.9)
    assert wide.fits
    assert wide.half_width > price.half_width


def test_a_confusion_matrix_is_of_a_fitted_model():
    unfitted = PrivateLogisticRegression(classes=[0, 1], accountant=PrivacyAccountant(1.0, 1e-5))
    with pytest.raises(NotFittedError):
        unfitted.confusion_private([[0.0]], [1], share=0.1)
