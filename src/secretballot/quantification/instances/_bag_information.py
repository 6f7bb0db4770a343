"""Whether bags differ by their classes alone: how much features tell of them, and labels could."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from secretballot.quantification._bag_softmax import bag_likelihood, fit_softmax
from secretballot.quantification._known_proportions import KnownProportions
from secretballot.quantification._softmax_model import folds

#: Instances that are enough to see it, and bags; more bags than that are joined.
_MOST_INSTANCES = 5000
_MOST_BAGS = 20
_NORMAL_99 = 2.326
_DRAWS = 200


class BagInformation(NamedTuple):
    """What an instance tells of its bag, in nats.

    Attributes
    ----------
    of_features : float
        By its features, as found on instances that were held out; never more than there is, but
        for chance.
    standard_error : float
        Of that.
    of_labels : float
        By its label, if that were known: the mutual information of label and bag.
    """

    of_features: float
    standard_error: float
    of_labels: float

    def differ_otherwise(self) -> bool:
        """Whether bags differ by more than their classes, at the level of 1 %."""
        return self.of_features - _NORMAL_99 * self.standard_error > self.of_labels

    def warn(self) -> None:
        """Warn that bags differ by more than their classes."""
        warnings.warn(
            f"bags differ by more than their classes: features tell {self.of_features:.3g} "
            f"(± {self.standard_error:.2g}) nats of an instance's bag, and labels could tell "
            f"{self.of_labels:.3g}. Within a class features depend on the bag, so that mean "
            "probabilities are matched instead (loss='proportion', which also silences this); "
            "probabilities may be biased, and without some labels nothing tells by how much. Leave "
            "out features that say which bag it is.",
            UserWarning,
            stacklevel=4,
        )


def bag_information(
    F: Any,
    bag: NDArray[np.int64],
    known: KnownProportions,
    *,
    alpha: float,
    n_folds: int,
    max_iter: int,
    rng: np.random.Generator,
) -> BagInformation:
    """Compare what features tell of the bag with what labels could.

    Given the class, features are to say nothing about the bag. Then they can't say more about it
    than the class does (the data processing inequality), and nor can they of joined bags.

    Parameters
    ----------
    F : ndarray or CSR of shape (n_instances, n_components)
    bag : ndarray of shape (n_instances,)
    known : KnownProportions
        As they were published: with noise labels are granted the most, up to 1 %, that they
        could tell were there as much noise again.
    alpha, n_folds, max_iter, rng
        Of a logistic regression that tells bags apart, trained on all but one fold.
    """
    n_bags, sizes = len(known.values), np.bincount(bag)
    joined = np.arange(n_bags) * min(n_bags, _MOST_BAGS) // n_bags
    starts = np.flatnonzero(np.diff(joined, prepend=-1))
    possible = known.values[None]
    if known.covariance is not None:
        values, vectors = np.linalg.eigh(known.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0))[:, None]
        draws = rng.standard_normal((_DRAWS, *known.values.shape))
        possible = known.values + np.einsum("bij,dbj->dbi", root, draws)
    possible = np.maximum(possible, 0)
    counts = sizes[:, None] * possible / possible.sum(axis=2, keepdims=True)
    share = np.add.reduceat(counts, starts, axis=1) / sizes.sum()
    marginals = share.sum(axis=2, keepdims=True) * share.sum(axis=1, keepdims=True)
    of_labels = float(np.quantile(rel_entr(share, marginals).sum(axis=(1, 2)), 0.99))
    if len(bag) > _MOST_INSTANCES:
        rows = np.sort(rng.choice(len(bag), _MOST_INSTANCES, replace=False))
        F, bag = F[rows], bag[rows]
    _, which = np.unique(joined[bag], return_inverse=True)
    rest = folds(which, n_folds, rng) == 0
    pure = np.eye(which.max() + 1) + 1e-12  # each bag a class of its own
    weights = fit_softmax(F[~rest], which[~rest], pure, alpha, max_iter=max_iter)
    lifts = pure / (np.bincount(which) / len(which))[:, None]
    told = bag_likelihood(weights.logits(F[rest]), which[rest], lifts)
    error = float(told.std(ddof=1) / np.sqrt(len(told))) if len(told) > 1 else np.inf
    return BagInformation(float(told.mean()), error, of_labels)
