"""Several students, of which the private data choose one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from secretballot._numbers import check_number


class Candidate(NamedTuple):
    """One student of several."""

    estimator: Any
    params: dict[str, Any]


def _proba(choice: Any) -> bool:
    best = vars(choice).get("best_estimator_")
    some = [each.estimator for each in choice.listed()] if best is None else [best]
    return all(hasattr(each, "predict_proba") for each in some)


class PrivateChoice(ClassifierMixin, BaseEstimator):
    """Students of which the best on private data is chosen, for a small part of the budget.

    For the parameter ``student`` of `PrivateTeacherEnsemble`. All candidates learn from the same
    released labels, which is free. How many private rows each of them then gets right is not:
    which one has most is released with noise (`BestOfCounts`), at the same price however many there
    are. Of candidates that differ by less than the noise any may come out.

    Parameters
    ----------
    candidates : list of estimator or (estimator, grid), or one such pair
        A grid is one of `ParameterGrid`: each of its settings is a candidate.
    scoring : str or callable, default=None
        None counts right answers on all private rows (of several labels a row, the share of them
        that is right; with owners, each one's average). That says little where a class is rare: a
        candidate that never names it has nearly all. A scorer's name (``"balanced_accuracy"``), or
        ``scorer(estimator, X, y)``: each teacher votes for the candidate that scores best on its
        own rows, and a noisy plurality wins (`GNMax`). Parties that trained elsewhere have no rows
        here: they vote by how far a candidate agrees with them on the public ones, by accuracy if
        None. Ballots split among candidates that are alike, so count where that is possible.
    share : float, default=0.05
        The part of what the fit may spend that the choice takes; the labels have the rest.

    Attributes
    ----------
    best_index_ : int
        Which candidate was chosen, in the order of the list, and of `ParameterGrid`.
    best_estimator_ : estimator
        That candidate, fitted. It predicts positions in the ensemble's ``classes_``, or labels.
    best_params_ : dict
        The setting of its grid; empty if it had none.
    n_candidates_ : int
        How many there were.

    See Also
    --------
    secretballot.mechanisms.BestOfCounts : The choice.

    Notes
    -----
    Free is what looks at released labels alone, such as a `GridSearchCV` as the student (which
    believes noisy labels), and what a teacher does within its own rows, such as a `GridSearchCV` as
    the ensemble's estimator. With budgets per level all levels pay for the choice alike, and the
    smallest budget says how much noise it has.

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

    def __init__(self, candidates: Any, scoring: Any = None, share: float = 0.05) -> None:
        self.candidates = candidates
        self.scoring = scoring
        self.share = share

    def listed(self) -> list[Candidate]:
        """Return all candidates, unfitted."""
        found: list[Candidate] = []
        given = self.candidates
        entries = [given] if _is_pair(given) else given
        if not isinstance(entries, list | tuple) or not entries:
            raise ValueError(
                f"candidates={given!r} must be a list of estimators, or of pairs (estimator, "
                "grid); or one such pair."
            )
        for at, entry in enumerate(entries):
            estimator, grid = entry if _is_pair(entry) else (entry, {})
            if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
                raise ValueError(
                    f"candidates[{at}]={entry!r} is no estimator, nor a pair (estimator, grid)."
                )
            if isinstance(estimator, type):
                raise ValueError(
                    f"candidates[{at}]={estimator.__name__} is a class; give one of it."
                )
            for params in ParameterGrid(grid):
                settings = {name: clone(value, safe=False) for name, value in params.items()}
                found.append(Candidate(clone(estimator).set_params(**settings), params))
        return found

    def check(self) -> None:
        """Raise ValueError if a parameter is out of range."""
        self.listed()
        check_number("share", self.share, above=0, below=1)
        self.scorer()

    def scorer(self) -> Any:
        """Return the scorer; None where right answers are counted."""
        if self.scoring is None or callable(self.scoring):
            return self.scoring
        try:
            return get_scorer(self.scoring)
        except (ValueError, TypeError) as error:  # (InvalidParameterError is both)
            raise ValueError(
                f"scoring={self.scoring!r} must be None, a scorer's name, or a function "
                f"scorer(estimator, X, y). {error}"
            ) from None

    def chosen(self, index: int, fitted: Any) -> PrivateChoice:
        """Return a fitted copy, of which a candidate was chosen."""
        choice, listed = clone(self), self.listed()
        choice.best_index_ = index
        choice.best_estimator_ = fitted
        choice.best_params_ = dict(listed[index].params)
        choice.n_candidates_ = len(listed)
        return choice

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = [get_tags(each.estimator).input_tags for each in self.listed()]
        tags.input_tags.sparse = all(each.sparse for each in known)
        tags.input_tags.allow_nan = all(each.allow_nan for each in known)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    @property
    def classes_(self) -> Any:
        """The classes of the one that was chosen."""
        return self._best.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features that the one that was chosen has seen in fit."""
        return self._best.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features that the one that was chosen has seen in fit."""
        return self._best.feature_names_in_

    @property
    def _best(self) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("nothing was chosen yet: it is chosen as an ensemble is fitted.")
        return self.best_estimator_

    def fit(self, X: Any, y: Any) -> PrivateChoice:
        """Refuse: only an ensemble has private rows to choose by.

        Parameters
        ----------
        X, y : object
            Not looked at.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError(
            "PrivateChoice is no estimator of its own: private rows choose, and a budget pays. "
            "Give it as student= of PrivateTeacherEnsemble; on labels that were released already "
            "GridSearchCV chooses for free."
        )

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict with the one that was chosen.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        predicted : ndarray of shape (n_rows,) or (n_rows, n_labels)
            Positions of classes, or labels.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_proba)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict probabilities with the one that was chosen.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray
            As it gives them.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)


def _is_pair(entry: Any) -> bool:
    """Whether it is an estimator with its grid."""
    if not (isinstance(entry, tuple) and len(entry) == 2 and hasattr(entry[0], "get_params")):
        return False
    grids = entry[1] if isinstance(entry[1], list | tuple) else [entry[1]]
    return all(isinstance(grid, Mapping) for grid in grids)
