"""Bags with chosen class proportions, to simulate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from secretballot._base._numbers import as_float, check_integer, check_unmasked
from secretballot.quantification._bags import Bags


def make_bags(
    X: ArrayLike | sparse.sparray | sparse.spmatrix | None,
    y: ArrayLike,
    n_bags: int | None = None,
    *,
    rho: float = 0.05,
    size: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Bags:
    """Sample bags with chosen class proportions, for simulations only.

    Each class in turn has most of a bag, ``1 - (n_classes - 1) * rho`` of it, and the others
    `rho` each. No instance is in two bags. Bags depend on labels, so publishing anything about them
    protects nobody, and warns.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), sparse matrix, data frame or None
    y : array-like of shape (n_samples,)
    n_bags : int, default=None
        One bag for each class if None; twice as many leave a second set for choosing parameters.
    rho : float, default=0.05
        Proportion of each of the rarer classes in a bag.
    size : int, default=None
        Instances in a bag; the most that all classes suffice for if None.
    random_state : int, Generator or None, default=None

    Returns
    -------
    Bags

    Raises
    ------
    ValueError
        If there are not enough instances of a class, or `rho` is out of range.

    References
    ----------
    Iyer, Nath and Sarawagi, "Privacy-preserving Class Ratio Estimation" (KDD 2016), Section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.datasets import make_bags
    >>> y = np.repeat([0, 1], 100)
    >>> bags = make_bags(None, y, rho=0.1, size=50, random_state=0)
    >>> [np.bincount(labels).tolist() for labels in bags.y]
    [[45, 5], [5, 45]]
    """
    check_unmasked("y", y)
    labels = np.asarray(y)
    classes, codes = np.unique(labels, return_inverse=True)
    n_classes = len(classes)
    if n_classes < 2:
        raise ValueError("y has one class only; bags differ in their proportions of several.")
    if not 0 <= as_float(rho) <= 1 / (n_classes - 1):
        raise ValueError(
            f"rho={rho!r} must be from 0 to {1 / (n_classes - 1):.4g}, for {n_classes} classes."
        )
    n_bags = n_classes if n_bags is None else n_bags
    check_integer("n_bags", n_bags)
    available = np.bincount(codes)
    # The class that has most of each bag.
    is_main = np.arange(n_bags)[:, None] % n_classes == np.arange(n_classes)
    if size is None:
        shares = np.where(is_main, 1 - (n_classes - 1) * rho, rho).sum(axis=0)
        size = int((available / np.maximum(shares, 1e-300)).min())
        while size > 1 and (_counts(is_main, rho, size).sum(0) > available).any():
            size -= 1
    check_integer("size", size)
    counts = _counts(is_main, rho, size)
    needed = counts.sum(axis=0)
    if (needed > available).any():
        scarce = int(np.argmax(needed > available))
        raise ValueError(
            f"size={size!r}: {n_bags} bags take {needed[scarce]} instances of the class "
            f"{classes.tolist()[scarce]!r}, and there are {available[scarce]}; use smaller "
            "bags, or fewer."
        )
    rng = np.random.default_rng(random_state)
    parts = [
        np.split(rng.permutation(np.flatnonzero(codes == k)), np.cumsum(counts[:, k]))[:-1]
        for k in range(n_classes)
    ]
    bags = [rng.permutation(np.concatenate(bag)) for bag in zip(*parts, strict=True)]
    return Bags.from_indices(X, labels, bags, formed_by="label")


def _counts(is_main: NDArray[np.bool_], rho: float, size: int) -> NDArray[np.int64]:
    """Return the number of instances of each class in each bag."""
    n_rare = int(rho * size + 1e-9)
    return np.where(is_main, size - (is_main.shape[1] - 1) * n_rare, n_rare)
