"""Any transformer of instances, lifted to bags."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from secretballot._sklearn_compat import HasMethods, _fit_context, _num_samples, _safe_indexing
from secretballot.quantification._bag_estimator import ColumnNamesMixin
from secretballot.quantification._bag_input import (
    check_alike,
    check_names,
    feature_names,
    like,
    raw_bags,
)


class PerBag(ColumnNamesMixin, TransformerMixin, BaseEstimator):
    """Lift a transformer of instances to bags.

    It is fitted once, on the instances of all bags together, and transforms them together. Bags
    may be arrays, data frames, CSR matrices (never made dense) or lists of texts.

    Parameters
    ----------
    transformer : transformer
        Of instances, such as a scaler or a vectorizer. It sees no proportions. Instances are
        public where proportions are what is private; fitted on private instances it would leak.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of bags that are data frames, if they are strings. Other bags must
        have the same in the same order, whatever the transformer thinks of that.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from secretballot.quantification import PerBag
    >>> bags = [["buy now", "buy buy"], ["nice song"]]
    >>> [bag.toarray().tolist() for bag in PerBag(CountVectorizer()).fit_transform(bags)]
    [[[1, 0, 1, 0], [2, 0, 0, 0]], [[0, 1, 0, 1]]]
    """

    _parameter_constraints = {"transformer": [HasMethods(["fit", "transform"])]}

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> PerBag:
        """Fit the transformer on all instances.

        Parameters
        ----------
        X : sequence of bags, 3-d array, or Bags
        y : ignored

        Returns
        -------
        self
        """
        bags = raw_bags(X)
        self.transformer_ = clone(self.transformer).fit(_together(bags))
        self._take_names(feature_names(bags))
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and transform the bags.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        list of length n_bags, or Bags if `X` is that
        """
        bags = raw_bags(X)
        self.transformer_ = clone(self.transformer)
        self._take_names(feature_names(bags))
        if hasattr(self.transformer_, "fit_transform"):
            found = self.transformer_.fit_transform(_together(bags))
        else:
            found = self.transformer_.fit(_together(bags)).transform(_together(bags))
        return like(X, _apart(found, bags))

    def transform(self, X: Any) -> Any:
        """Transform the instances of each bag.

        Parameters
        ----------
        X : sequence of bags, 3-d array, or Bags

        Returns
        -------
        list of length n_bags, or Bags if `X` is that
        """
        check_is_fitted(self)
        bags = raw_bags(X)
        together = _together(bags)
        check_names(feature_names(bags), self._names)
        with warnings.catch_warnings():
            # What has just been said of the bags.
            for words in ("has feature names", "does not have valid feature names"):
                warnings.filterwarnings("ignore", f"X {words}, but", UserWarning)
            return like(X, _apart(self.transformer_.transform(together), bags))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = tags.input_tags.sparse = True
        return tags


def _together(bags: list[Any]) -> Any:
    empty = [number for number, bag in enumerate(bags) if _num_samples(bag) == 0]
    if empty:
        raise ValueError(f"bag {empty[0]} is empty; leave it out.")
    check_alike(bags)
    first = bags[0]
    if all(sparse.issparse(bag) for bag in bags):
        return sparse.vstack(bags, format="csr")
    if hasattr(first, "iloc"):
        from pandas import concat

        return concat(bags)
    if isinstance(first, list | tuple) and isinstance(first[0], str):
        return [text for bag in bags for text in bag]
    arrays = [np.asarray(bag) for bag in bags]
    widths = {array.shape[1:] for array in arrays}
    if len(widths) > 1:
        raise ValueError(f"bags have different widths {sorted(widths)}; give all the same columns.")
    return np.concatenate(arrays)


def _apart(stacked: Any, bags: list[Any]) -> list[Any]:
    if sparse.issparse(stacked):
        stacked = stacked.tocsr()
    ends = np.cumsum([_num_samples(bag) for bag in bags])
    return [
        _safe_indexing(stacked, slice(int(end) - _num_samples(bag), int(end)))
        for end, bag in zip(ends, bags, strict=True)
    ]
