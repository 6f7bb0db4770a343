import numpy as np
import pytest
from scipy.sparse import csr_matrix

from secretballot.inspection import label_scores

TRUTH = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 1], [1, 0, 1, 1]])
VOTES = np.array([[1, 0, 1, -1], [0, 0, 0, -1], [0, 1, 1, -1], [-1, 0, 1, -1], [1, 1, -1, -1]])
SCORE = np.array(
    [
        [0.9, 0.4, 0.8, 0.1],
        [0.2, 0.3, 0.4, 0.1],
        [0.1, 0.8, 0.6, 0.1],
        [np.nan, 0.2, 0.9, np.nan],
        [0.7, 0.6, 0.5, 0.1],
    ]
)


def test_means_over_labels_are_those_worked_out_by_hand():
    """Of four labels the third is always present, and the fourth not answered at all."""
    scores = label_scores(TRUTH, VOTES, SCORE)
    by_hand = {
        "accuracy": [3 / 4, 3 / 5, 3 / 4, np.nan],
        "balanced_accuracy": [(2 / 3 + 1) / 2, (1 / 2 + 2 / 3) / 2, np.nan, np.nan],
        # Pairs of a present and an absent row that scores rank rightly: 2 of 3, and 4 of 6.
        "auc": [2 / 3, 4 / 6, np.nan, np.nan],
        # Precision wherever a present row comes: 1, 2/2, 3/4; and 1/1, 2/4.
        "average_precision": [(1 + 1 + 3 / 4) / 3, (1 + 2 / 4) / 2, np.nan, np.nan],
    }
    assert set(scores.per_label) == set(by_hand)
    for name, values in by_hand.items():
        np.testing.assert_allclose(scores.per_label[name], values)
        assert getattr(scores, name) == pytest.approx(np.nanmean(values))
    assert (scores.n_unanswered, scores.n_one_class) == (1, 1)


def test_without_scores_there_is_no_ranking_and_votes_may_be_the_scores():
    scores = label_scores(csr_matrix(TRUTH), VOTES)
    assert scores.auc is None
    assert scores.average_precision is None
    assert set(scores.per_label) == {"accuracy", "balanced_accuracy"}
    ranked = label_scores(TRUTH, VOTES, VOTES)
    assert ranked.auc == pytest.approx(scores.balanced_accuracy)


def test_means_without_answers_are_nan():
    scores = label_scores(TRUTH, np.full_like(TRUTH, -1))
    assert np.isnan([scores.accuracy, scores.balanced_accuracy]).all()
    assert scores.n_unanswered == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TRUTH, VOTES[:4]), r"y_pred has shape \(4, 4\)"),
        ((TRUTH, VOTES, SCORE[:, :2]), r"y_score has shape \(5, 2\)"),
        ((VOTES, VOTES), "y_true must be 0, 1 for"),
        ((TRUTH, TRUTH * 2), "y_pred must be -1, 0, 1 for"),
        ((TRUTH[0], VOTES), "y_true has shape"),
        ((TRUTH, TRUTH, SCORE), "y_score must be finite"),
    ],
)
def test_invalid_labels_and_scores_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        label_scores(*arguments)
