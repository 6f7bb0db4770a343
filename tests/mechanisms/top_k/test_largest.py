"""The largest counts of long rows, without sorting them."""

import math

import numpy as np
import pytest

from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import ExponentialTopK, StableTopK
from secretballot.mechanisms._top_k import largest


@pytest.mark.parametrize("n_items", [1, 7, 512, 513, 5_000])
@pytest.mark.parametrize("n", [1, 5, 300])
def test_like_a_stable_sort_with_ties(n_items, n):
    rng = np.random.default_rng(n_items + n)
    counts = rng.integers(0, 4, size=(6, n_items)).astype(float)
    counts[1] = 2.0  # all alike
    counts[2] = np.arange(n_items)  # none alike
    values, positions = largest(counts, n)
    order = np.argsort(-counts, axis=1, kind="stable")[:, :n]
    n_kept = min(n, n_items)
    assert (positions[:, :n_kept] == order).all()
    assert (values[:, :n_kept] == np.take_along_axis(counts, order, axis=1)).all()
    # Items that nobody has, to fill up what is asked for.
    assert (values[:, n_kept:] == 0).all()
    assert (positions[:, n_kept:] >= n_items).all()


def test_fractional_counts():
    counts = [[10.5, 0.25, 10.25, 0.0]]
    accountant = PrivacyAccountant(1e3, 1e-4, approximation_delta=5e-5)
    outcome = accountant.release(StableTopK(rho=20.0, delta_t=1e-6, weight=0.5), counts)
    assert outcome.tolist() == [[1, 0, 1, 0]]
    assert accountant.release(ExponentialTopK(k=2, rho=50.0), counts).tolist() == [[1, 0, 1, 0]]
    with pytest.raises(ValueError, match="non-negative"):
        accountant.release(ExponentialTopK(k=2, rho=1.0), [[1.0, -0.5, 3.0]])
    with pytest.raises(ValueError, match="k=5 items are wanted and counts has 4"):
        accountant.release(ExponentialTopK(k=5, rho=1.0), counts)


@pytest.mark.parametrize(
    "mechanism",
    [
        StableTopK(rho=0.1, delta_t=1e-6, k=2, regularizer=math.inf),
        StableTopK(rho=0.1, delta_t=1e-6, k_max=3, regularizer=[-math.inf, 0, 1.5]),
    ],
)
def test_excluded_sizes_are_recorded(mechanism):
    accountant = PrivacyAccountant(50.0, 1e-4, approximation_delta=5e-5)
    accountant.release(mechanism, [[9, 8, 1, 0]])
    assert "inf" in accountant.entries()[0].mechanism
    assert hash(mechanism) == hash(mechanism)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rho": None}, "give one of them"),
        ({"epsilon": 1.0}, "give one of them"),
        ({"delta_t": 0.0}, "delta_t"),
        ({"delta_t": 0.6}, "delta_t"),
        ({"relation": "remove"}, "relation='remove' is unknown"),
        ({"selector": "laplace"}, "selector='laplace' is unknown"),
        ({"test": "gumbel"}, "test='gumbel' is unknown"),
        ({"n_votes": 5, "relation": "add_remove"}, "is private then"),
        ({"n_votes": 5, "k": 2}, "of no use with k=2"),
        ({"regularizer": 1.0}, "is per item more or fewer than k"),
        ({"regularizer": [1.0, 2.0], "k_max": 3}, "one for each size from 1 to k_max"),
        ({"regularizer": [math.nan], "k_max": 1}, "finite numbers, or minus infinity"),
        ({"regularizer": [[1.0], [1.0, 2.0]], "k_max": 1}, "finite numbers, or minus infinity"),
        ({"regularizer": "much", "k": 2}, "regularizer='much' must be a number"),
        ({"regularizer": True, "k": 2}, "regularizer=True must be a number"),
        ({"regularizer": np.float32(-1), "k": 2}, "must be at least 0"),
        ({"weight": {}}, "weight={} has no level"),
        ({"regularizer": [-math.inf] * 2, "k_max": 2}, "leaves no size"),
        ({"regularizer": -1.0, "k": 2}, "at least 0"),
        ({"k": 3, "k_max": 2}, "k_max"),
        ({"choice_share": 1.0}, "choice_share"),
        ({"draw_share": 0.0, "k": 2}, "draw_share"),
        ({"weight": 0.0}, "weight"),
        ({"unknown_domain": 1}, "unknown_domain=1 must be True or False"),
    ],
)
def test_parameters_out_of_range(given, message):
    with pytest.raises(ValueError, match=message):
        StableTopK(**{"rho": 0.1, "delta_t": 1e-6} | given)


def test_counts_of_small_float_types():
    mechanism = StableTopK(rho=1.0, delta_t=1e-6)
    assert mechanism.check_counts(np.array([[900, 2]], dtype=np.float16)).tolist() == [[900, 2]]
