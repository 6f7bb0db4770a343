"""Scores of targets in another unit than that of the fit."""

import warnings

import numpy as np
import pytest

from secretballot import PrivacyAccountant, PrivateLinearRegression, PublicData
from secretballot.measures import regression_score_private

pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
RNG = np.random.default_rng(0)
X, POOL = RNG.normal(size=(3000, 4)), PublicData(RNG.normal(size=(300, 4)))
Y = 30 + 7 * X[:, 0] + 4 * X[:, 1] + RNG.normal(scale=3.0, size=3000)
UNIT = "^If the targets have another unit than the predictions.*convert them.*is paid for"


def fitted(epsilon):
    accountant = PrivacyAccountant(epsilon, 1e-5)
    model = PrivateLinearRegression(
        target_bounds=(0, 100),
        accountant=accountant,
        epsilon=accountant.epsilon_per_fit(share=0.8),
        random_state=0,
    )
    return model.fit(X, Y, X_public=POOL)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("factor", [1000.0, 0.001, 7.0, 2.5])
def test_targets_in_another_unit_warn(epsilon, factor):
    with pytest.warns(UserWarning, match=UNIT):
        fitted(epsilon).score_private(X, factor * Y, share="rest")


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_targets_in_the_unit_of_the_fit_give_no_alarm(epsilon):
    model = fitted(epsilon)
    for _ in range(4):
        assert model.score_private(X, Y, share=0.04).r2 > 0.5


@pytest.mark.parametrize("factor", [1.0, 1000.0])
def test_scores_of_given_predictions(factor):
    accountant = PrivacyAccountant(1.0, 1e-5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        regression_score_private(
            accountant, factor * Y, Y + 1, target_bounds=(0, 100), share="rest", random_state=0
        )
    assert any("have another unit" in str(warning.message) for warning in caught) == (factor > 1)
