"""Report on a publisher's choice of bags, for learning from their proportions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secretballot._views import Items, Prose, Shown, View

#: Contrast below which bags are alike.
_LOW_CONTRAST = 0.1


@dataclass(frozen=True, kw_only=True)
class PublisherAdvice(Shown):
    """Report on bags: a bound on learning from their proportions, and suggestions.

    Attributes
    ----------
    n_bags, n_classes : int
    sizes : tuple of int
        The smallest, the median and the largest bag.
    contrast : float
        Smallest singular value of the proportions: from 0, if some class can't be told from
        others, to 1, if each has a bag of its own.
    expected_distortion : float
        Mean over the bags of the expected L1 distance from the true proportions.
    learning_bound : float
        Bound on the error of the class means that can be learned, in units of the kernel's
        feature length (1 for rbf); infinite where they can't be told apart.
    advice : tuple of str
        Suggestions, in sentences; empty if there are none.

    Examples
    --------
    >>> from secretballot.quantification import recommend_publisher
    >>> print(recommend_publisher([[0.9, 0.1], [0.1, 0.9]], sizes=[600, 600], distortion=0.02))
    2 bags of 600 to 600 labels, 2 classes, contrast 0.80
    expected distortion 0.02, learning bound 0.108
    """

    n_bags: int
    n_classes: int
    sizes: tuple[int, int, int]
    contrast: float
    expected_distortion: float
    learning_bound: float
    advice: tuple[str, ...]

    def _view(self) -> View:
        summary = (
            f"{self.n_bags} bags of {self.sizes[0]} to {self.sizes[2]} labels, {self.n_classes} "
            f"classes, contrast {self.contrast:.2f}",
            f"expected distortion {self.expected_distortion:.3g}, learning bound "
            f"{self.learning_bound:.3g}",
        )
        advice = (Items(self.advice),) if self.advice else ()
        return View("PublisherAdvice", (Prose.of(*summary), *advice), between="\n")


def recommend_publisher(
    proportions: ArrayLike, sizes: ArrayLike, distortion: ArrayLike
) -> PublisherAdvice:
    """Report on the number, the size and the skew of bags.

    All values are public: published proportions, or a guess made beforehand.

    Parameters
    ----------
    proportions : array-like of shape (n_bags, n_classes)
    sizes : array-like of shape (n_bags,)
    distortion : array-like of shape (n_bags,) or float
        Expected L1 distortion of each bag, from the mechanism.

    Returns
    -------
    PublisherAdvice

    Notes
    -----
    With proportions P, class means M and bag means B = P M + E, the means learned from the
    published P' are P'^+ B, and their error is P'^+ ((P - P') M + E). With features of length at
    most 1 it is expected to be at most (norm(d) + norm(1 / sqrt(sizes))) / contrast, where d
    holds the distortions. The first norm is due to noise, the second to the size of the bags.
    """
    P, m = np.asarray(proportions, dtype=float), np.asarray(sizes)
    if P.ndim != 2 or m.shape != (len(P),) or not (np.isfinite(P).all() and (m >= 1).all()):
        raise ValueError(
            f"proportions has shape {P.shape} and sizes {m.shape}; give one row of finite "
            "proportions, and one size of at least 1, for each bag."
        )
    noise = np.broadcast_to(np.asarray(distortion, dtype=float), m.shape)
    if not (noise >= 0).all():
        raise ValueError(f"distortion={distortion!r} must be at least 0.")
    n_bags, n_classes = P.shape
    contrast = float(np.linalg.svd(P, compute_uv=False)[-1]) if n_bags >= n_classes else 0.0
    from_noise, from_size = float(np.linalg.norm(noise)), float(np.linalg.norm(1 / np.sqrt(m)))
    bound = (from_noise + from_size) / contrast if contrast > 0 else math.inf
    advice = []
    if n_bags < n_classes:
        advice.append(
            f"{n_bags} bags can't tell {n_classes} classes apart; use at least as many as classes."
        )
    elif contrast < _LOW_CONTRAST:
        advice.append(
            "the bags are alike: group by something that goes with the label, so that each class "
            "is common in some bag and rare in others."
        )
    if from_noise > from_size:
        advice.append(
            "the noise costs more than the size of the bags does: fewer, larger bags or a larger "
            "epsilon would help most."
        )
    n_noisy = int((noise > 0.5).sum())
    if n_noisy:
        advice.append(
            f"{n_noisy} of the bags are so small that their proportions are mostly noise; merge "
            "them."
        )
    return PublisherAdvice(
        n_bags=n_bags,
        n_classes=n_classes,
        sizes=(int(m.min()), int(np.median(m)), int(m.max())),
        contrast=contrast,
        expected_distortion=float(noise.mean()),
        learning_bound=bound,
        advice=tuple(advice),
    )
