"""Teachers on a dask cluster: another joblib backend, the same result."""

import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.ensemble import PrivateTeacherEnsemble


def labels(X, y, pool):
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        12,
        classes=[0, 1],
        accountant=PrivacyAccountant(5.0, 1e-5),
        random_state=0,
        check_public_rows=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        ensemble.fit(X, y, X_public=pool)
    assert len(ensemble.accountant.entries()) == 1
    return ensemble.pool_labels_.labels


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_dask_cluster_gives_the_same_labels():
    distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(240, 2)), rng.normal(size=(20, 2))
    y = (X[:, 0] > 0).astype(int)
    from tests.distributed._cluster import two_workers

    with (
        two_workers() as cluster,
        distributed.Client(cluster, timeout="30s"),
        parallel_config(backend="dask"),
    ):
        there = labels(X, y, pool)
    np.testing.assert_array_equal(there, labels(X, y, pool))
