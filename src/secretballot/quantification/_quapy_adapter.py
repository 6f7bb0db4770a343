"""Our estimators as QuaPy quantifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted


class QuapyQuantifier(BaseEstimator):
    """Have QuaPy's protocols, errors and plots run on an estimator of class ratios.

    QuaPy predicts one sample at a time and calls it X; here that is a bag. QuaPy itself is not
    imported.

    Parameters
    ----------
    estimator : estimator of class ratios
        Such as `MMDClassRatioEstimator`, or a pipeline that ends in one.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.quantification import MMDClassRatioEstimator, QuapyQuantifier
    >>> rng = np.random.default_rng(0)
    >>> bags = [np.r_[rng.normal(2, 1, (n, 2)), rng.normal(0, 1, (100 - n, 2))] for n in (20, 80)]
    >>> model = QuapyQuantifier(MMDClassRatioEstimator(random_state=0))
    >>> model.fit(bags, [[0.2, 0.8], [0.8, 0.2]]).predict(bags[0]).round(1)
    array([0.2, 0.8])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> QuapyQuantifier:
        """Fit the estimator on bags and proportions (not on instances and labels).

        Parameters
        ----------
        X : sequence of bags
        y : array-like of shape (n_bags, n_classes)

        Returns
        -------
        self
        """
        self.estimator_ = clone(self.estimator).fit(X, y)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the class ratios of one sample, shape (n_classes,).

        Parameters
        ----------
        X : array-like of shape (n_instances, n_features)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict([X])[0])

    def quantify(self, X: Any) -> NDArray[np.float64]:
        """Return the same as `predict`; QuaPy's older name.

        Parameters
        ----------
        X : array-like of shape (n_instances, n_features)
        """
        return self.predict(X)
