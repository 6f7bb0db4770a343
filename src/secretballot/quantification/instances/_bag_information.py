"""Test of the assumption that bags differ by their classes alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import rel_entr

from secretballot._base._errors import warn
from secretballot.quantification._bag_softmax import bag_likelihood, fit_softmax
from secretballot.quantification._bag_types import Integers, Matrix
from secretballot.quantification._label_proportions import LabelProportions
from secretballot.quantification._softmax_model import assign_folds

#: Most instances that are looked at, and most bags; further bags are merged.
_MOST_INSTANCES = 5000
_MOST_BAGS = 20
_NORMAL_99 = 2.326
_NOISE_DRAWS = 200


class BagInformation(NamedTuple):
    """Information of features, and of labels, about an instance's bag, in nats.

    If features are independent of the bag given the class, they have no more information about the
    bag than the label has (the data processing inequality).

    Attributes
    ----------
    feature_information : float
        That of the features, estimated on held-out instances: a lower bound, but for chance.
    standard_error : float
        Of `feature_information`.
    label_information : float
        That of the labels: the mutual information of label and bag.
    """

    feature_information: float
    standard_error: float
    label_information: float

    @property
    def violates_independence(self) -> bool:
        """True if bags differ by more than their classes, at the level of 1 %."""
        lower = self.feature_information - _NORMAL_99 * self.standard_error
        return lower > self.label_information

    def warn(self) -> None:
        """Warn that bags differ by more than their classes."""
        warn(
            "bags differ by more than their classes: features tell "
            f"{self.feature_information:.3g} (± {self.standard_error:.2g}) nats of an instance's "
            f"bag, and labels could tell {self.label_information:.3g}. Within a class features "
            "depend on the bag, so that mean probabilities are matched instead "
            "(loss='proportion', which also silences this); probabilities may be biased, and "
            "without some labels nothing tells by how much. Leave out features that say which bag "
            "it is."
        )


def measure_bag_information(
    F: Matrix,
    bag: Integers,
    proportions: LabelProportions,
    *,
    alpha: float,
    n_folds: int,
    max_iter: int,
    rng: np.random.Generator,
) -> BagInformation:
    """Estimate the information of features and of labels about the bag.

    The parameters are those of a logistic regression of the bag on features.
    """
    n_bags = len(proportions.values)
    merged = np.arange(n_bags) * min(n_bags, _MOST_BAGS) // n_bags
    label_information = _label_information(proportions, np.bincount(bag), merged, rng)
    if len(bag) > _MOST_INSTANCES:
        rows = np.sort(rng.choice(len(bag), _MOST_INSTANCES, replace=False))
        F, bag = F[rows], bag[rows]
    _, target = np.unique(merged[bag], return_inverse=True)
    held_out = assign_folds(target, n_folds, rng) == 0
    one_class_bags = np.eye(target.max() + 1) + 1e-12
    weights = fit_softmax(F[~held_out], target[~held_out], one_class_bags, alpha, max_iter=max_iter)
    lifts = one_class_bags / (np.bincount(target) / len(target))[:, None]
    gains = bag_likelihood(weights.logits(F[held_out]), target[held_out], lifts)
    error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else np.inf
    return BagInformation(float(gains.mean()), error, label_information)


def _label_information(
    proportions: LabelProportions, sizes: Integers, merged: Integers, rng: np.random.Generator
) -> float:
    """Return the mutual information of label and bag.

    With noisy proportions it is the 99th percentile over proportions with as much noise again.
    """
    possible = proportions.values[None]
    factors = proportions.noise_factors()
    if factors is not None:
        draws = rng.standard_normal((_NOISE_DRAWS, *proportions.values.shape))
        possible = proportions.values + np.einsum("bij,dbj->dbi", factors, draws)
    possible = np.maximum(possible, 0)
    counts = sizes[:, None] * possible / possible.sum(axis=2, keepdims=True)
    starts = np.flatnonzero(np.diff(merged, prepend=-1))
    joint = np.add.reduceat(counts, starts, axis=1) / sizes.sum()
    marginals = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    return float(np.quantile(rel_entr(joint, marginals).sum(axis=(1, 2)), 0.99))
