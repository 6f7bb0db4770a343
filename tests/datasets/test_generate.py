import numpy as np
import pytest

from secretballot.datasets import make_noisy_labels, make_votes


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("margin", [None, 1, 100])
def test_the_winner_leads_by_the_margin(n_classes, margin):
    votes, winners = make_votes(500, n_classes, margin=margin, random_state=0)
    assert votes.shape == (500, n_classes)
    np.testing.assert_array_equal(votes.sum(axis=1), 100)
    ranked = np.sort(votes, axis=1)
    assert (ranked[:, -1] - ranked[:, -2] >= (margin or 50)).all()
    np.testing.assert_array_equal(votes.argmax(axis=1), winners)
    # No class is favoured, not even where all free ballots are tied.
    assert np.bincount(winners, minlength=n_classes).min() > 250 / n_classes


def test_votes_follow_the_seed():
    first, again = (make_votes(random_state=3)[0] for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_labels_are_wrong_as_often_as_asked(n_classes):
    X, y, best = make_noisy_labels(20_000, n_classes, n_features=4, flip=0.3, random_state=0)
    assert X.shape == (20_000, 4)
    assert abs((y != best).mean() - 0.3) < 0.02
    # A wrong label is any other class alike, so that the best one stays best.
    for label in range(n_classes):
        given = np.bincount(y[best == label], minlength=n_classes) / (best == label).sum()
        np.testing.assert_allclose(np.delete(given, label), 0.3 / (n_classes - 1), atol=0.05)


def test_no_flips_give_the_best_labels():
    _, y, best = make_noisy_labels(100, flip=0, random_state=0)
    np.testing.assert_array_equal(y, best)


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (make_votes, {"n_classes": 1}, "n_classes=1 must be an integer of at least 2"),
        (make_votes, {"n_queries": 2.5}, "n_queries=2.5 must be an integer of at least 0"),
        (make_votes, {"margin": 101}, "margin=101 must be at most n_teachers=100"),
        (make_noisy_labels, {"flip": 0.5}, "flip=0.5 must be .* of at least 0 and below 0.5"),
        (make_noisy_labels, {"n_features": 1}, "n_features=1 must be an integer of at least 2"),
    ],
)
def test_bad_input(make, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters)
