"""The kernel that held-out instances choose."""

import itertools

import numpy as np
from tests.quantification._worlds import error, world

from secretballot.quantification import MMDClassRatioEstimator
from secretballot.quantification._kernels import candidate_gammas


def test_held_out_instances_choose_well():
    """A bandwidth far off is not chosen, and what is chosen is near the best."""
    bags, P, tests, ratios, _ = world(1, n_bags=3, size=200, n_tests=30)
    chosen = MMDClassRatioEstimator(random_state=0).fit(bags, P)
    assert chosen.validation_error_.shape == (5, 5)
    X = np.concatenate(bags)
    (median,) = candidate_gammas("median", (), X, np.random.default_rng(0))
    errors = []
    for multiple, diagonal in itertools.product((1, 4, 16), (0.0, 1.0)):
        fixed = MMDClassRatioEstimator(
            gamma=multiple * median, diagonal=diagonal, random_state=0
        ).fit(bags, P)
        errors.append(error(fixed.predict(tests), ratios))
    assert error(chosen.predict(tests), ratios) < min(errors) + 0.02
