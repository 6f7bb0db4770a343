"""Generators whose right answer is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from secretballot._base._numbers import check_integer, check_number


def make_votes(
    n_queries: int = 100,
    n_classes: int = 2,
    *,
    n_teachers: int = 100,
    margin: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Make votes with a known winner in every row.

    Parameters
    ----------
    n_queries : int, default=100
        Number of rows.
    n_classes : int, default=2
        Number of columns.
    n_teachers : int, default=100
        Number of ballots in each row.
    margin : int, default=None
        The winner leads every other class by at least this many votes, between 1 and
        ``n_teachers``; half of the teachers if None.
    random_state : int, RandomState instance or None, default=None
        Determines the votes.

    Returns
    -------
    votes : ndarray of shape (n_queries, n_classes)
        Integer counts; each row adds up to ``n_teachers``.
    winners : ndarray of shape (n_queries,)
        The class with the most votes.

    Examples
    --------
    >>> from secretballot.datasets import make_votes
    >>> votes, winners = make_votes(5, 3, n_teachers=10, margin=8, random_state=0)
    >>> votes.sum(axis=1).tolist()
    [10, 10, 10, 10, 10]
    >>> bool((votes.argmax(axis=1) == winners).all())
    True
    """
    check_integer("n_queries", n_queries, least=0)
    check_integer("n_classes", n_classes, least=2)
    check_integer("n_teachers", n_teachers)
    margin = max(n_teachers // 2, 1) if margin is None else margin
    check_integer("margin", margin)
    if margin > n_teachers:
        raise ValueError(f"margin={margin} must be at most n_teachers={n_teachers}.")
    rng = check_random_state(random_state)
    votes = rng.multinomial(n_teachers - margin, np.full(n_classes, 1 / n_classes), size=n_queries)
    # The winner so far gets the margin on top; ties are broken at random.
    winners = (votes + rng.uniform(size=votes.shape)).argmax(axis=1)
    votes[np.arange(n_queries), winners] += margin
    return votes, winners


def make_noisy_labels(
    n_samples: int = 1000,
    n_classes: int = 2,
    *,
    n_features: int = 2,
    flip: float = 0.1,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Make a classification problem whose best possible answer is known for every row.

    The features are standard normal. The best label of a row is the class whose random direction
    it points to most; with probability ``flip`` the label that is given is another class. The best
    label is the Bayes label, since ``flip`` is below ``(n_classes - 1) / n_classes``.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_classes : int, default=2
        Number of classes.
    n_features : int, default=2
        Number of columns.
    flip : float, default=0.1
        Probability that a label is wrong.
    random_state : int, RandomState instance or None, default=None
        Determines the data.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Labels as given, 0 to ``n_classes - 1``.
    best : ndarray of shape (n_samples,)
        The Bayes labels.

    Examples
    --------
    >>> from secretballot.datasets import make_noisy_labels
    >>> X, y, best = make_noisy_labels(10_000, 3, flip=0.2, random_state=0)
    >>> round(float((y == best).mean()), 2)
    0.8
    """
    check_integer("n_samples", n_samples, least=0)
    check_integer("n_classes", n_classes, least=2)
    check_integer("n_features", n_features, least=2)
    most = (n_classes - 1) / n_classes
    check_number("flip", flip, least=0, below=most)
    rng = check_random_state(random_state)
    directions = rng.standard_normal((n_classes, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X = rng.standard_normal((n_samples, n_features))
    best = (X @ directions.T).argmax(axis=1)
    wrong = rng.uniform(size=n_samples) < flip
    step = rng.randint(1, n_classes, size=n_samples)
    return X, np.where(wrong, (best + step) % n_classes, best), best
