"""Part sums that a fit stores: blocks, threads, sparse bags and many bags."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from tests.quantification._worlds import draw, error, world

from secretballot.quantification import MMDClassRatioEstimator, PerBag, SoftmaxClassRatioEstimator


def test_threads_change_nothing():
    bags, P, tests, _, _ = world(size=600)
    for features in (None, "rff", "nystroem"):
        alone, together = (
            MMDClassRatioEstimator(features=features, random_state=0, n_jobs=n)
            .fit(bags, P)
            .predict_interval(tests)
            for n in (1, 3)
        )
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, other)


def texts(rng, n_spam, n_ham):
    spam = ["subscribe my channel " + "free money " * k for k in rng.integers(1, 4, n_spam)]
    ham = ["love this song " + "best voice " * k for k in rng.integers(1, 4, n_ham)]
    return [*spam, *ham]


# Frequencies and a softmax have a weight for each column: that is their nature.
FOR_TEXTS = {
    "linear": (MMDClassRatioEstimator(kernel="linear", random_state=0), 2**18),
    "exact": (MMDClassRatioEstimator(random_state=0), 2**18),
    "nystroem": (MMDClassRatioEstimator(features="nystroem", random_state=0), 2**18),
    "rff": (MMDClassRatioEstimator(features="rff", random_state=0), 300),
    "softmax": (SoftmaxClassRatioEstimator(features=None, random_state=0), 300),
}


@pytest.mark.parametrize(("estimator", "n_features"), FOR_TEXTS.values(), ids=FOR_TEXTS)
def test_sparse_is_never_made_dense(estimator, n_features, monkeypatch):
    rng = np.random.default_rng(0)
    bags = [texts(rng, 20, 60), texts(rng, 60, 20)]
    words = PerBag(CountVectorizer()).fit(bags)
    width = words.transform(bags)[0].shape[1]

    def widened(bags):
        # Many more columns, all empty: what texts look like.
        return [sparse.csr_array((b.data, b.indices, b.indptr), shape=(b.shape[0], n_features))
                for b in bags]  # fmt: skip

    assert width < 300
    for kind in (sparse.csr_array, sparse.csr_matrix):
        dense = kind.toarray

        def refuse(self, *args, dense=dense, **kwargs):
            assert self.shape[1] != n_features, "made dense"
            return dense(self, *args, **kwargs)

        monkeypatch.setattr(kind, "toarray", refuse)
    learned = clone(estimator).fit(widened(words.transform(bags)), [[0.25, 0.75], [0.75, 0.25]])
    estimates = learned.predict(widened(words.transform([texts(rng, 95, 5), texts(rng, 5, 95)])))
    np.testing.assert_allclose(estimates[:, 0], [0.95, 0.05], atol=0.08)


@pytest.mark.parametrize("features", [None, "rff"])
def test_many_bags(features):
    """A thousand small bags: sums for all pairs of parts are not kept at once."""
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(12, p) for p in rng.dirichlet(np.ones(3), size=1000)])
    bags = [draw(rng, c)[0] for c in counts]
    estimator = MMDClassRatioEstimator(gamma=0.1, features=features, random_state=0)
    estimates = estimator.fit(bags, counts / 12).predict_interval([draw(rng, [300, 0, 0])[0]])
    assert error(estimates.ratios, np.array([[1, 0, 0]])) < 0.1
    assert (estimates.upper - estimates.lower).max() < 0.15
    assert len(estimator._embedding.parts.bag) <= (2000 if features is None else 12_000)
