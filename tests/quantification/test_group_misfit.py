"""Test of new groups: mixtures of the learned classes, or not."""

import warnings

import numpy as np
import pytest
from tests.quantification._worlds import world
from tests.quantification.test_ratio_misfit import fit

from secretballot.quantification import MisfitWarning, MMDClassRatioEstimator, _misfit
from secretballot.quantification._kernels import cut_bags
from secretballot.quantification._misfit import group_p_values


def p_values(model, groups):
    parts, bags = cut_bags(model._check_bags_like_fit(groups), 200, 0)
    cross = model._embedding.cross(model._number, bags, parts)
    within = model._embedding.within(model._number, bags, parts)
    return group_p_values(model._ratio_fit.test_data, within, cross, model.predict(groups))


@pytest.mark.parametrize("options", [{}, {"features": "rff"}], ids=str)
def test_groups_like_the_bags_are_not_rejected(options):
    """As many bags as classes, so that the bags themselves can't be tested: 15 worlds."""
    results = []
    for seed in range(15):
        bags, P, groups, _, _ = world(seed, n_bags=3, n_tests=4)
        results.append(p_values(fit(bags, P, **options), groups))
    results = np.concatenate(results)
    assert (results < 0.001).sum() <= 1
    assert 0.2 < (results < 0.5).mean() < 0.8


@pytest.mark.parametrize(("apart", "size"), [(10.0, 60), (2.0, 2)])
def test_small_groups_and_distant_classes_are_not_rejected(apart, size):
    """Of few instances the variance is hardly known; and labels vary in no other direction."""
    results = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        laws = np.r_[0.7 * np.eye(3) + 0.1, rng.dirichlet(np.ones(3), size=12)]
        y = [rng.choice(3, n, p=p) for n, p in zip([150] * 3 + [size] * 12, laws, strict=True)]
        bags = [apart * np.eye(3)[labels] + rng.normal(size=(len(labels), 3)) for labels in y]
        P = np.array([np.bincount(labels, minlength=3) / len(labels) for labels in y[:3]])
        results.append(p_values(fit(bags[:3], P, kernel="linear"), bags[3:]))
    assert (np.concatenate(results) < 0.001).sum() <= 1
    assert 0.2 < (np.concatenate(results) < 0.5).mean() < 0.8


@pytest.mark.parametrize("options", [{}, {"features": "rff"}], ids=str)
def test_misfit_groups_are_named(options):
    bags, P, same, _, _ = world(n_bags=3, size=300, n_tests=4)
    groups = [*same[:2], same[2] + [0.7, 0.7, 0.7], same[3]]
    model = fit(bags, P, **options)
    assert model.diagnostics_.misfit is None
    with pytest.warns(MisfitWarning, match="1 of 4 groups .number 2. are not mixtures") as caught:
        model.predict_interval(groups)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_interval(groups[:2])


def test_noise_of_proportions_rejects_no_group():
    results = []
    for seed in range(10):
        bags, P, groups, _, _ = world(seed, n_bags=3, size=400, n_tests=4)
        rng = np.random.default_rng(seed)
        noise = np.clip(0.06 * rng.normal(size=(3, 3)) @ (np.eye(3) - 1 / 3), -0.09, 0.09)
        noise -= noise.mean(axis=1, keepdims=True)
        covariance = 0.06**2 * np.tile(np.eye(3) - 1 / 3, (3, 1, 1))
        released = np.maximum(P + noise, 0)
        released /= released.sum(axis=1, keepdims=True)
        # Class means are mixed by it, and leave their plane no more than by other errors.
        results.append(p_values(fit(bags, released, covariance, features="rff"), groups))
    assert (np.concatenate(results) < 0.01).sum() <= 2


def test_the_level_is_for_all_groups_together(monkeypatch):
    for p_value, n_groups, warned in ((0.005, 1, True), (0.005, 3, False), (0.002, 3, True)):
        results = np.r_[p_value, np.full(n_groups - 1, 0.5)]
        monkeypatch.setattr(_misfit, "group_p_values", lambda *_, results=results: results)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _misfit.warn_of_misfit_groups(None, [None] * n_groups, None, None)
        assert len(caught) == warned


def test_no_group_is_rejected_in_one_dimension():
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(60, 1)) + where for where in (0, 3)]
    model = MMDClassRatioEstimator(kernel="linear", random_state=0)
    model.fit(bags, [[0.9, 0.1], [0.1, 0.9]])
    assert p_values(model, [bags[0] + 50]).tolist() == [1.0]
