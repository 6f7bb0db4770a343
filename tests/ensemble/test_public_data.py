"""A pool that scikit-learn hands on as it is."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from secretballot.ensemble import PublicData
from secretballot.tables._public_data import public_rows


def test_public_data_cannot_be_sliced():
    pool = PublicData(np.zeros((5, 2)))
    for name in ("__len__", "shape", "__array__", "__getitem__", "__iter__", "dtype", "iloc"):
        assert not hasattr(pool, name)


def test_public_data_is_never_copied():
    pool = PublicData(np.zeros((5, 2)))
    assert clone(pool, safe=False) is pool
    assert copy.copy(pool) is pool
    assert copy.deepcopy({"X_public": pool})["X_public"] is pool
    assert (pickle.loads(pickle.dumps(pool)).X == pool.X).all()
    assert PublicData(pool).X is pool.X


def test_a_bare_pool_as_long_as_the_data_is_refused():
    with pytest.raises(ValueError, match=r"X_public has as many rows as X \(5\).*PublicData"):
        public_rows(np.zeros((5, 2)), np.ones((5, 2)))
    assert len(public_rows(np.zeros((5, 2)), np.ones((4, 2)))) == 5
    assert len(public_rows(PublicData(np.zeros((5, 2))), np.ones((5, 2)))) == 5


def test_an_empty_pool_is_refused():
    with pytest.raises(ValueError, match="X_public has 0 rows"):
        public_rows(PublicData(np.zeros((0, 2))), np.ones((5, 2)))


def test_public_data_of_none_is_refused():
    with pytest.raises(ValueError, match="X is None; give the public rows, or X_public=None"):
        PublicData(None)
