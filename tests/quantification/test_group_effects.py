"""Random effects of groups: the metric, left-out bags, and intervals."""

import warnings

import numpy as np
import pytest
from tests.quantification.test_ratio_misfit import moved_world

from secretballot.quantification import MisfitWarning, MMDClassRatioEstimator, _ratios
from secretballot.quantification._class_means import class_means, effect_variance
from secretballot.quantification._kernels import BagGram
from secretballot.quantification._label_proportions import LabelProportions
from secretballot.quantification._ratios import fit_group_effects


def test_the_metric_is_the_inverse_of_the_effects_covariance():
    rng = np.random.default_rng(0)
    P, B, group = rng.dirichlet(np.ones(3), size=9), rng.normal(size=(9, 20)), rng.normal(size=20)
    gram = BagGram(B @ B.T, np.zeros(9))
    means = class_means(P, gram, dampings=(0.1,))[0]
    M = np.linalg.pinv(P) @ B
    residual = (B - P @ M) / np.sqrt(9 - 3)
    damping = 0.1 * np.sum(residual**2)
    metric = damping * np.linalg.inv(damping * np.eye(20) + residual.T @ residual)
    np.testing.assert_allclose(means.gram(gram, 1.0), M @ metric @ M.T, atol=1e-9)
    np.testing.assert_allclose(means.dual_mixture.T @ (B @ group), M @ metric @ group, atol=1e-9)


def test_the_variance_of_effects_is_estimated():
    variances = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        P, M = rng.dirichlet(np.ones(2), size=15), np.eye(2, 8)
        noise = rng.uniform(0.1, 1, size=15)
        errors = np.sqrt(noise / 8 + 0.4 / 8)[:, None] * rng.normal(size=(15, 8))
        B = P @ M + errors
        variances.append(effect_variance(P, BagGram(B @ B.T, noise), noise))
    np.testing.assert_allclose(np.mean(variances), 0.4, rtol=0.1)
    assert effect_variance(np.eye(2), BagGram(np.eye(2), np.zeros(2)), np.zeros(2)) == 0


def test_left_out_bags_are_predicted_by_the_others():
    bags, P, _, _ = moved_world(0, 0.5, n_bags=8)
    options = {"kernel": "linear", "solver": "bag_mixture", "diagonal": 0.0}
    with pytest.warns(MisfitWarning):
        model = MMDClassRatioEstimator(**options).fit(bags, P)
    errors = []
    for out in range(8):
        training = [i for i in range(8) if i != out]
        model_without = MMDClassRatioEstimator(**options, group_effects=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model_without.fit([bags[i] for i in training], P[training])
        errors.append(np.abs(model_without.predict([bags[out]])[0] - P[out]).sum())
    np.testing.assert_allclose(model.diagnostics_.left_out_error, np.mean(errors), rtol=1e-6)


def test_directions_of_group_effects_are_damped():
    """Classes differ in two features; groups, by far, in the first of them."""
    gain = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        P = rng.uniform(0.1, 0.9, size=40)
        y = [rng.random(200) < share for share in P]
        bags = [
            np.c_[3.0 * labels + 2 * rng.normal(), 1.0 * labels, np.zeros(200)]
            + rng.normal(size=(200, 3))
            for labels in y
        ]
        shares = np.array([[1 - labels.mean(), labels.mean()] for labels in y])
        error = {}
        for effects in (False, "auto"):
            with pytest.warns(MisfitWarning):
                model = MMDClassRatioEstimator(
                    kernel="linear", diagonal=0.0, group_effects=effects, random_state=0
                ).fit(bags[:20], shares[:20])
            error[effects] = np.abs(model.predict(bags[20:]) - shares[20:]).sum(axis=1).mean()
        gain.append(error["auto"] / error[False])
    assert max(gain) < 0.6


def test_intervals_with_group_effects_cover():
    covered = {False: [], "auto": []}
    for seed in range(8):
        bags, P, groups, ratios = moved_world(seed, 0.4)
        for effects, coverage_rates in covered.items():
            with pytest.warns(MisfitWarning, match="too narrow" if not effects else "left out"):
                model = MMDClassRatioEstimator(
                    kernel="linear", diagonal=0.0, group_effects=effects, random_state=0
                ).fit(bags, P)
            _, lower, upper = model.predict(groups, confidence=0.9)
            coverage_rates.append(((lower <= ratios) & (ratios <= upper)).mean())
    assert np.mean(covered[False]) < 0.65
    assert np.mean(covered["auto"]) > 0.8


def test_intervals_are_unbounded_without_a_bag_to_leave_out():
    P = np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]])
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(300, 2)) + where for where in ([0, 0], [2, 3], [-3, 2])]
    proportions = LabelProportions(P, np.arange(2), None)
    gram = BagGram(np.eye(3), np.ones(3))
    assert fit_group_effects(proportions, gram, "class_mean", 0.0, rng) is not None
    with pytest.warns(MisfitWarning):
        model = MMDClassRatioEstimator(kernel="linear", random_state=0).fit(bags, P)
    _, lower, upper = model.predict_interval(bags[:1], 0.9)
    assert (upper - lower > 0.9).all()
    with pytest.warns(UserWarning, match="group_effects=True: No bag can be left out"):
        model.set_params(group_effects=True).fit(bags[:2], P[:2])
    _, lower, upper = model.predict_interval(bags[:1], 0.9)
    assert (lower == 0).all()
    assert (upper == 1).all()


def test_damping_and_covariance_come_from_left_out_bags(monkeypatch):
    rng = np.random.default_rng(0)
    P, M = rng.dirichlet(np.ones(2), size=20), 2 * rng.normal(size=(2, 6))
    spread = rng.uniform(0.01, 1, size=20)
    moves = [1, 0.6, 0.4, 0.4, 0.2, 0.2] * rng.normal(size=(20, 6))
    B = P @ M + moves + np.sqrt(spread / 6)[:, None] * rng.normal(size=(20, 6))
    proportions, gram = LabelProportions(P, np.arange(2), None), BagGram(B @ B.T, spread)
    chosen = fit_group_effects(proportions, gram, "class_mean", 0.0, rng)
    effect = effect_variance(P, gram, spread)
    assert effect > 0
    mixture = class_means(P, gram, effect=effect)[0].mixture
    np.testing.assert_allclose(chosen.means.mixture, mixture)
    errors, off = {}, np.empty((20, 2))
    for damping in _ratios._DAMPINGS:
        monkeypatch.setattr(_ratios, "_DAMPINGS", (damping,))
        damped = fit_group_effects(proportions, gram, "class_mean", 0.0, rng)
        errors[damping] = damped.errors.mean()
    assert chosen.errors.mean() == pytest.approx(min(errors.values()))
    assert 0.001 < chosen.damping < np.inf
    assert errors[chosen.damping] < 0.99 * min(errors[np.inf], errors[0.001])
    for out in range(20):
        training = np.delete(np.arange(20), out)
        bags = gram.select(training)
        means = class_means(P[training], bags, None, "class_mean", effect, (chosen.damping,))[0]
        pulled = means.dual_mixture.T @ gram.products[training, out][:, None]
        off[out] = _ratios.signed_ratios(means, bags, pulled, P[training].mean(axis=0))[0] - P[out]
    np.testing.assert_allclose(chosen.covariance, off.T @ off / 20)
