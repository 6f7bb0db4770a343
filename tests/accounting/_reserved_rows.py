"""Budgets, mechanisms and votes for tests of rows that are paid for before they are drawn."""

import numpy as np

from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import ConfidentGNMax, GNMax

VOTE = GNMax(sigma=40)
CONFIDENT = ConfidentGNMax(sigma=40, sigma_threshold=200, threshold=300)
#: A threshold that nothing but the votes decides.
SHARP = ConfidentGNMax(sigma=60, sigma_threshold=60, threshold=1000)


def budget(order="gaussian", epsilon=1.0, **options):
    return PrivacyAccountant(epsilon, 1e-5, order=order, **options)


def tied(n_rows, n_columns=2):
    return np.full((n_rows, n_columns), 120.0)


def passing(n_rows):
    return np.tile([1e6, 0.0], (n_rows, 1))


def failing(n_rows):
    return np.full((n_rows, 2), 1.0) * [1, 0]
