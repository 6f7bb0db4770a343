"""Transformers that some rows change: what they keep of one private row reaches no other's."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.mechanisms import VectorSum

COLUMNS = ["a", "b", "c"]


def table(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 3)), columns=COLUMNS).assign(
        word=rng.choice(["red", "green", "blue"], n)
    )


POOL, ROWS = table(100, 1), table(120, 2)


class Kind(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.largest_ = np.abs(X[COLUMNS].to_numpy()).max()
        self.numbers_, self.n_outliers_ = {}, 0
        self.transform(X)
        return self


class GrowingVocabulary(Kind):
    """Numbers words in the order in which they are seen."""

    def transform(self, X):
        numbers = [self.numbers_.setdefault(word, len(self.numbers_)) for word in X["word"]]
        return np.column_stack([np.sin(numbers), np.cos(numbers)])


class RunningCount(Kind):
    """Divides by the number of outliers so far. None of the check's rows is one."""

    def transform(self, X):
        numbers = X[COLUMNS].to_numpy()
        is_outlier = (np.abs(numbers) > 3 * self.largest_) & (np.abs(numbers) < 1e6)
        self.n_outliers_ += int(is_outlier.sum())
        return numbers / (1 + self.n_outliers_)


class FirstBatchScale(Kind):
    """Scales by the first table after it was copied or unpickled."""

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_scale"}

    def transform(self, X):
        numbers = X[COLUMNS].to_numpy()
        if not hasattr(self, "_scale"):
            self._scale = np.abs(numbers).max()
        return numbers / self._scale


class Counted(PrivacyAccountant):
    """Keep the sums that are given to the door."""

    def release(self, mechanism, counts, **options):
        if isinstance(mechanism, VectorSum):
            self.sums = mechanism, np.array(counts)
        return super().release(mechanism, counts, **options)


def sums(transformer, rows, rows_per_call):
    accountant = Counted(8.0, 1e-5)
    PrivateLogisticRegression(
        transformer,
        classes=[0, 1],
        rounds=0,
        epsilon=1.0,
        accountant=accountant,
        check_public_rows=False,
        rows_per_call=rows_per_call,
    ).fit(rows, np.ones(len(rows), int), X_public=PublicData(POOL))
    return accountant.sums


@pytest.mark.filterwarnings("ignore:private rows go through")
@pytest.mark.parametrize("rows_per_call", ["auto", 1])
@pytest.mark.parametrize("kind", [GrowingVocabulary, RunningCount, FirstBatchScale])
def test_a_row_that_changes_a_transformer_moves_the_sums_by_what_is_charged(kind, rows_per_call):
    rows = ROWS.assign(word=np.random.default_rng(3).choice(["w", "x", "y", "z"], len(ROWS)))
    changed = rows.copy()
    changed.loc[0, COLUMNS] = 50.0
    changed.loc[0, "word"] = "new"
    mechanism, before = sums(kind(), rows, rows_per_call)
    _, after = sums(kind(), changed, rows_per_call)
    assert 0 <= np.linalg.norm(after - before) <= mechanism.diameter
