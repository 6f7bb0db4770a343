"""Several students, one of which is chosen on private data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from secretballot._base._numbers import check_number
from secretballot.ensemble._estimator_types import Learner, Rows
from secretballot.ensemble._learners import check_learner
from secretballot.tables._rowwise_check import check_rows_per_call

Pair: TypeAlias = tuple[Learner, Mapping[str, Any] | Sequence[Mapping[str, Any]]]


class Candidate(NamedTuple):
    """One student of several, and its setting of the grid."""

    estimator: Learner
    params: dict[str, Any]


def _has_probabilities(choice: PrivateChoice) -> bool:
    best = vars(choice).get("best_estimator_")
    students = [candidate.estimator for candidate in choice.expand()] if best is None else [best]
    return all(hasattr(student, "predict_proba") for student in students)


class PrivateChoice(ClassifierMixin, BaseEstimator):
    """Several students; the best on private data is chosen, for a small share of the budget.

    For the parameter ``student`` of `PrivateTeacherEnsemble`. All candidates learn from the same
    released labels, which is free. The choice is not: the candidate with the largest noisy count
    of right answers on private rows is released (`BestOfCounts`), at a cost that does not depend
    on the number of candidates.

    Parameters
    ----------
    candidates : list of estimator or (estimator, grid), or one such pair
        A grid is one of `ParameterGrid`: each of its settings is a candidate.
    scoring : str or callable, default=None
        None counts right answers on all private rows (for several labels a row, the share of them
        that is right; with owners, the average of each). With a scorer's name
        (``"balanced_accuracy"``, where a class is rare) or ``scorer(estimator, X, y)``, each
        teacher votes for the candidate that scores best on the teacher's rows, and a noisy
        plurality wins (`GNMax`); votes split among similar candidates. Parties have no rows here:
        they vote by the agreement of a candidate with their predictions of the public rows.
    share : float, default=0.05
        Share of what the fit may spend that the choice takes; the labels take the remainder.
    rows_per_call : {"auto", 256, 8, 1}, default="auto"
        Number of private rows that a candidate is given in one call, as for
        `PrivateTeacherEnsemble.score_private`.

    Attributes
    ----------
    best_index_ : int
        Position of the chosen candidate, in the order of the list, and of `ParameterGrid`.
    best_estimator_ : estimator
        That candidate, fitted. It predicts positions in the ensemble's ``classes_``, or labels.
    best_params_ : dict
        Its setting of the grid; empty without a grid.
    n_candidates_ : int
        Number of candidates.
    classes_, n_features_in_, feature_names_in_ : object
        As the chosen candidate has them.

    See Also
    --------
    secretballot.mechanisms.BestOfCounts : The choice.

    Notes
    -----
    A `GridSearchCV` as the student is free, as it reads released labels only (and takes noisy
    labels for true). So is a `GridSearchCV` as the ensemble's estimator: each teacher searches
    within its own rows. With budgets per level all levels pay for the choice alike, and its noise
    is calibrated to the smallest budget.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from secretballot import PrivacyAccountant, PrivateTeacherEnsemble
    >>> from secretballot.ensemble import PrivateChoice
    >>> X, y = make_blobs(1200, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> trees = DecisionTreeClassifier(), {"max_depth": [1, 3]}
    >>> ensemble = PrivateTeacherEnsemble(
    ...     LogisticRegression(),
    ...     n_teachers=50,
    ...     student=PrivateChoice([LogisticRegression(), trees]),
    ...     classes=[0, 1],
    ...     accountant=PrivacyAccountant(epsilon=2.0, delta=1e-5),
    ... )
    >>> ensemble = ensemble.fit(X[:1000], y[:1000], X_public=X[1000:1030])
    >>> ensemble.student_.n_candidates_
    3
    >>> ensemble.predict(X[1030:]).shape
    (170,)
    """

    def __init__(
        self,
        candidates: Sequence[Learner | Pair] | Pair,
        scoring: str | Callable[..., float] | None = None,
        share: float = 0.05,
        rows_per_call: int | str = "auto",
    ) -> None:
        self.candidates = candidates
        self.scoring = scoring
        self.share = share
        self.rows_per_call = rows_per_call

    def expand(self) -> list[Candidate]:
        """Return all candidates of all grids, unfitted."""
        expanded: list[Candidate] = []
        entries: Any = [self.candidates] if _is_pair(self.candidates) else self.candidates
        if not isinstance(entries, list | tuple) or not entries:
            raise ValueError(
                f"candidates={self.candidates!r} must be a list of estimators, or of pairs "
                "(estimator, grid); or one such pair."
            )
        for index, entry in enumerate(entries):
            estimator, grid = entry if _is_pair(entry) else (entry, {})
            if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
                raise ValueError(
                    f"candidates[{index}]={entry!r} is no estimator, nor a pair (estimator, grid)."
                )
            check_learner(f"candidates[{index}]", estimator)
            for params in ParameterGrid(grid):
                settings = {name: clone(value, safe=False) for name, value in params.items()}
                expanded.append(Candidate(clone(estimator).set_params(**settings), params))
        return expanded

    def check(self) -> None:
        """Raise ValueError if a parameter is out of range."""
        self.expand()
        check_number("share", self.share, above=0, below=1)
        check_rows_per_call(self.rows_per_call)
        self.scorer()

    def scorer(self) -> Callable[..., float] | None:
        """Return the scorer; None for the number of right answers."""
        if self.scoring is None or callable(self.scoring):
            return self.scoring
        try:
            return get_scorer(self.scoring)
        except (ValueError, TypeError) as error:  # (InvalidParameterError is both)
            raise ValueError(
                f"scoring={self.scoring!r} must be None, a scorer's name, or a function "
                f"scorer(estimator, X, y). {error}"
            ) from None

    def with_choice(self, index: int, student: Any) -> PrivateChoice:
        """Return a fitted copy, with the chosen candidate."""
        choice, candidates = clone(self), self.expand()
        choice.best_index_ = index
        choice.best_estimator_ = student
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(student, name):
                setattr(choice, name, getattr(student, name))
        choice.best_params_ = dict(candidates[index].params)
        choice.n_candidates_ = len(candidates)
        return choice

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        input_tags = [get_tags(candidate.estimator).input_tags for candidate in self.expand()]
        tags.input_tags.sparse = all(candidate.sparse for candidate in input_tags)
        tags.input_tags.allow_nan = all(candidate.allow_nan for candidate in input_tags)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def fit(self, X: object, y: object) -> PrivateChoice:
        """Raise an error: only an ensemble has private rows to choose by.

        Parameters
        ----------
        X, y : object
            Ignored.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError(
            "PrivateChoice cannot be fitted alone: it chooses on private rows, paid by a budget. "
            "Give it as student= of PrivateTeacherEnsemble; on labels that were released already "
            "GridSearchCV chooses for free."
        )

    def predict(self, X: Rows) -> NDArray[np.int64]:
        """Predict positions of classes, or labels, with the chosen student.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_labels)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Predict probabilities with the chosen student.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        ndarray
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)


def _is_pair(entry: object) -> bool:
    if not (isinstance(entry, tuple) and len(entry) == 2 and hasattr(entry[0], "get_params")):
        return False
    grids = entry[1] if isinstance(entry[1], list | tuple) else [entry[1]]
    return all(isinstance(grid, Mapping) for grid in grids)
