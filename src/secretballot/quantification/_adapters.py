"""Adapters: transformers of instances for bags, and estimators of class ratios for QuaPy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from secretballot._base._sklearn_compat import (
    HasMethods,
    _fit_context,
    _num_samples,
    _safe_indexing,
)
from secretballot.quantification._bag_ids import (
    BagSequence,
    Floats,
    Instances,
    ProportionsTable,
    is_frame,
)
from secretballot.quantification._bags import Bags, check_columns, list_bags, replace_instances
from secretballot.quantification._class_ratio_mixin import BagInputMixin
from secretballot.tables._frames import validate_columns


class PerBag(BagInputMixin, TransformerMixin, BaseEstimator):
    """Transformer of instances, lifted to bags.

    It is fitted on the instances of all bags together. Bags may be arrays, data frames, CSR
    matrices (never made dense) or lists of texts.

    Parameters
    ----------
    transformer : transformer
        Of instances, such as a scaler or a vectorizer. Fitted on private instances it would leak.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone.
    n_features_in_ : int
        Number of columns, if bags are tables.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of bags that are data frames, if they are strings. Other bags must
        have the same in the same order.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from secretballot.quantification import PerBag
    >>> bags = [["buy now", "buy buy"], ["nice song"]]
    >>> [bag.toarray().tolist() for bag in PerBag(CountVectorizer()).fit_transform(bags)]
    [[[1, 0, 1, 0], [2, 0, 0, 0]], [[0, 1, 0, 1]]]
    """

    _parameter_constraints = {"transformer": [HasMethods(["fit", "transform"])]}

    def __init__(self, transformer: BaseEstimator) -> None:
        self.transformer = transformer

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: BagSequence, y: ProportionsTable | None = None) -> PerBag:
        """Fit the transformer on all instances.

        Parameters
        ----------
        X : sequence of bags, 3-d array, or Bags
        y : ignored

        Returns
        -------
        self
        """
        bags = list_bags(X)
        self.transformer_ = clone(self.transformer).fit(_stack_raw(bags))
        validate_data(self, bags[0], skip_check_array=True)
        return self

    def transform(self, X: BagSequence) -> Bags | list[Instances]:
        """Transform the instances of each bag.

        Parameters
        ----------
        X : sequence of bags, 3-d array, or Bags

        Returns
        -------
        list of length n_bags, or Bags if `X` is that
        """
        check_is_fitted(self)
        bags = list_bags(X)
        stacked = _stack_raw(bags)
        validate_columns(self, bags[0], "bag", skip_check_array=True)
        with warnings.catch_warnings():
            # The transformer's own warnings of the same.
            for words in ("has feature names", "does not have valid feature names"):
                warnings.filterwarnings("ignore", f"X {words}, but", UserWarning)
            return replace_instances(X, _split_rows(self.transformer_.transform(stacked), bags))


def _stack_raw(bags: Sequence[Instances]) -> Instances:
    check_columns(bags)
    first = bags[0]
    if all(sparse.issparse(bag) for bag in bags):
        return sparse.vstack(bags, format="csr")
    if is_frame(first):
        from pandas import concat

        return concat(bags)
    if isinstance(first, list | tuple) and isinstance(first[0], str):
        return [text for bag in cast("Sequence[Sequence[str]]", bags) for text in bag]
    arrays = [np.asarray(bag) for bag in bags]
    widths = {array.shape[1:] for array in arrays}
    if len(widths) > 1:
        raise ValueError(f"bags have different widths {sorted(widths)}; give all the same columns.")
    return np.concatenate(arrays)


def _split_rows(stacked: Instances, bags: Sequence[Instances]) -> list[Instances]:
    rows = stacked.tocsr() if sparse.issparse(stacked) and hasattr(stacked, "tocsr") else stacked
    ends = np.cumsum([_num_samples(bag) for bag in bags])
    return [
        _safe_indexing(rows, slice(int(start), int(end)))
        for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True)
    ]


class QuapyQuantifier(BaseEstimator):
    """QuaPy quantifier made of an estimator of class ratios, for QuaPy's protocols and plots.

    QuaPy's sample X is a bag here. QuaPy itself is not imported.

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

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator

    def fit(self, X: BagSequence, y: ProportionsTable) -> QuapyQuantifier:
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

    def predict(self, X: Instances) -> Floats:
        """Return the class ratios of one sample.

        Parameters
        ----------
        X : array-like of shape (n_instances, n_features)

        Returns
        -------
        ndarray of shape (n_classes,)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict([X])[0])

    #: QuaPy's older name.
    quantify = predict
