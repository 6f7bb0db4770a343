"""Diagnostics of a fit: classes with equal means, and the error bound."""

import numpy as np
import pytest
from tests.quantification._worlds import CENTRES, world

from secretballot.quantification import MMDClassRatioEstimator


def test_classes_with_equal_means_are_warned_of():
    bags, P, _, _, labels = world(size=300)
    rng = np.random.default_rng(0)
    # The third class is drawn as the second is.
    alike = [CENTRES[[0, 1, 1]][y] + rng.normal(size=(len(y), 3)) for y in labels]
    with pytest.warns(UserWarning, match="the classes [12] and [12] can't be told") as caught:
        blurred = MMDClassRatioEstimator(random_state=0).fit(alike, P)
    assert caught[0].filename == __file__  # it points at the user's line
    assert not blurred.diagnostics_.separable
    diagnostics = MMDClassRatioEstimator(random_state=0).fit(bags, P).diagnostics_
    assert diagnostics.separable
    assert diagnostics.rank == 3
    np.testing.assert_allclose(diagnostics.condition, np.linalg.cond(P))
    assert diagnostics.error_bound(10_000) < diagnostics.error_bound(100)
    assert diagnostics.error_bound(100) < blurred.diagnostics_.error_bound(100)


@pytest.mark.parametrize("where", [0.0, 0.7, 1e6])
def test_equal_instances_give_no_information(where):
    """But for rounding, also of features that are far from 0."""
    bags, P, _, _, _ = world()
    same = [bag * (where > 1) + where for bag in bags]
    with pytest.warns(UserWarning, match="can't be told apart"):
        model = MMDClassRatioEstimator(kernel="linear", random_state=0).fit(same, P)
    for bound, truth in zip(model.predict_interval(same)[1:], (0, 1), strict=True):
        np.testing.assert_allclose(bound, truth, atol=0.05)


def test_the_error_bound_holds():
    for seed in range(5):
        bags, P, tests, ratios, _ = world(seed)
        estimator = MMDClassRatioEstimator(random_state=0).fit(bags, P)
        errors = np.linalg.norm(estimator.predict(tests) - ratios, axis=1)
        assert errors.mean() <= estimator.diagnostics_.error_bound(120)
