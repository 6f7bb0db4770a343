"""What the class ratio benchmark compares: ours, pSVM, and rivals with instance labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from secretballot.quantification import MMDClassRatioEstimator, SoftmaxClassRatioEstimator


def kernel_means(**options: Any) -> Any:
    return MMDClassRatioEstimator(random_state=0, **options)


def counted(**options: Any) -> Any:
    return SoftmaxClassRatioEstimator(random_state=0, **options)


def learned(**options: Any) -> Any:
    matching = MMDClassRatioEstimator(kernel="linear", random_state=0)
    return make_pipeline(counted(**options), matching)


def fit(model: Any, bags: Any, given: Any) -> Any:
    """Fit on plain or published proportions; a pipeline takes those for its first step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes that can't be told apart
        return model.fit(list(bags.X), given)


class AlternatingProportionSVM:
    """Two classes: labels and an SVM in turn, such that labels agree with the bags' proportions.

    Given the decision values, each bag's labels of least hinge loss are found by sorting; given
    labels, an SVM is trained. The best of several random starts, by the objective, as proposed by
    Yu et al., "Proportion SVM for Learning with Label Proportions" (ICML 2013). C is chosen by the
    error of the counts in two further bags.
    """

    def __init__(self, Cs: tuple[float, ...] = (0.1, 1.0, 10.0), n_starts: int = 3) -> None:
        self.Cs, self.n_starts = Cs, n_starts

    def fit(self, bags: list[Any], positive: NDArray[Any], others: list[Any], their: Any) -> Any:
        X, sizes = np.concatenate(bags), [len(bag) for bag in bags]
        ends = np.cumsum(sizes)[:-1]
        least = np.inf
        for C in self.Cs:
            model = self._best_start(X, ends, np.rint(positive * sizes).astype(int), C)
            found = [(model.decision_function(bag) > 0).mean() for bag in others]
            error = np.abs(np.array(found) - their).mean()
            if error < least:
                least, self.model_ = error, model
        return self

    def _best_start(self, X: Any, ends: Any, n_positive: Any, C: float) -> Any:
        best, least = None, np.inf
        for start in range(self.n_starts):
            values = np.random.default_rng(start).normal(size=len(X))
            labels = None
            for _ in range(15):
                new = self._labels(values, ends, n_positive)
                if labels is not None and (new == labels).all():
                    break
                labels = new
                model = SVC(C=C, gamma="scale").fit(X, labels)
                values = model.decision_function(X)
            hinge = np.maximum(1 - labels * values, 0).sum()
            dual = model.dual_coef_[0]
            gram = model._gamma
            support = model.support_vectors_
            distance = (support**2).sum(1)[:, None] + (support**2).sum(1) - 2 * support @ support.T
            loss = 0.5 * dual @ np.exp(-gram * distance) @ dual + C * hinge
            if loss < least:
                best, least = model, loss
        return best

    @staticmethod
    def _labels(values: NDArray[Any], ends: Any, n_positive: Any) -> NDArray[Any]:
        labels = []
        for part, count in zip(np.split(values, ends), n_positive, strict=True):
            one = np.full(len(part), -1)
            # By how much calling it positive lowers the hinge loss.
            gain = np.maximum(1 + part, 0) - np.maximum(1 - part, 0)
            one[np.argsort(-gain, kind="stable")[:count]] = 1
            labels.append(one)
        return np.concatenate(labels)

    def predict(self, tests: list[Any]) -> NDArray[np.float64]:
        share = np.array([(self.model_.decision_function(test) > 0).mean() for test in tests])
        return np.c_[1 - share, share]


def with_instance_labels(X: Any, y: Any, tests: list[Any], only: tuple[str, ...] = ()) -> dict:
    """QuaPy's EMQ, PACC and KDEyML on a logistic regression; empty without QuaPy."""
    try:
        from quapy.method.aggregative import EMQ, PACC, KDEyML
    except ImportError:
        return {}
    found = {}
    for kind in (EMQ, PACC, KDEyML):
        if only and kind.__name__ not in only:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(LogisticRegression(C=1.0, max_iter=300)).fit(X, y)
            predictions = [np.asarray(model.predict(test)) for test in tests]
        found[f"{kind.__name__}, instance labels"] = np.array(predictions)
    return found
