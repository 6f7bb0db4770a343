"""Least squares on the simplex."""

import numpy as np
from scipy.optimize import minimize

from secretballot.quantification._class_means import fit_on_simplex


def test_the_simplex_fit_is_the_constrained_minimum():
    rng = np.random.default_rng(0)
    for _ in range(10):
        M = rng.normal(size=(4, 6))
        G, v = M @ M.T, M @ rng.normal(size=6)
        (ratios,) = fit_on_simplex(G, v[:, None], np.full(4, 0.25))
        best = minimize(
            lambda r, G=G, v=v: r @ G @ r - 2 * r @ v,
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda r: r.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(ratios, best.x, atol=1e-5)


def test_directions_without_a_positive_length_have_the_usual_ratios():
    usual = np.array([0.2, 0.3, 0.5])
    nothing = fit_on_simplex(np.zeros((3, 3)), np.ones((3, 1)), usual)
    np.testing.assert_allclose(nothing, [usual])
    alike = fit_on_simplex(np.ones((3, 3)), np.ones((3, 1)), usual)
    np.testing.assert_allclose(alike, [usual], atol=1e-6)
    gram, pulled = np.diag([1.0, 1.0, -1e-3]), np.array([[0.7], [0.3], [5.0]])
    np.testing.assert_allclose(fit_on_simplex(gram, pulled, usual), [[0.7, 0.3, 0.0]], atol=1e-9)
