"""The publisher's door: private label proportions of bags."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_integer, check_number
from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.divergences import check_pair
from secretballot.mechanisms import Proportions
from secretballot.quantification._bags import Bags
from secretballot.quantification.publishing._choose_mechanism import NAMES, Task
from secretballot.quantification.publishing._published_proportions import PublishedProportions


def publish_proportions(
    y_bags: Bags | Sequence[ArrayLike],
    classes: ArrayLike,
    epsilon: float,
    delta: float,
    mechanism: str | Proportions = "auto",
    min_count: int | None = None,
    pseudo_count: float | Literal["auto"] = "auto",
    accountant: PrivacyAccountant | None = None,
    *,
    random_state: Any = None,
) -> PublishedProportions:
    """Publish how labels are distributed in bags, protecting each label.

    Which instances are in which bag is public; a guarantee is given for one label of one bag.

    Parameters
    ----------
    y_bags : Bags, or sequence of array-like of shape (n_instances,)
        The private labels of each bag. Every instance is in one bag, and not because of its label.
    classes : array-like of shape (n_classes,)
        All classes there are; public, so named rather than learned. One of them may be absent.
    epsilon, delta : float
        The privacy of each label.
    mechanism : {"auto", "gaussian", "laplace", "laplace_prior", "dirichlet"} or mechanism, \
default="auto"
        "auto" takes the one with the least expected L1 distortion, computed from `epsilon`,
        `delta`, the sizes of the bags, the number of classes and `min_count`: the data has no say.
    min_count : int, default=None
        A promise, public, that every class has so many labels in every bag. It is what the
        Dirichlet mechanism may rest on; the others need none and don't check it.
    pseudo_count : float or "auto", default="auto"
        For the Dirichlet mechanism; "auto" is the one that distorts least.
    accountant : PrivacyAccountant, default=None
        The budget, with ``unit="label"``. None opens one of `epsilon` and `delta` for this release
        alone, with basic composition (order infinity).
    random_state : int, Generator or None, default=None
        None: a cryptographic generator. Anything else is for tests, and protects nobody.

    Returns
    -------
    PublishedProportions

    Raises
    ------
    ValueError
        If a bag is empty, a label is none of `classes`, or a bag breaks the promise: nothing is
        spent then. That a promise was broken is outside the guarantee, and must stay with the
        publisher.
    BudgetExceededError
        If the release does not fit what is left of `accountant`.

    Warns
    -----
    PrivacyLeakWarning
        If bags were formed by label.

    See Also
    --------
    group_bags : Bags from a public grouping.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import publish_proportions
    >>> from secretballot.quantification import group_bags
    >>> rng = np.random.default_rng(0)
    >>> month, ill = rng.integers(12, size=6000), rng.integers(2, size=6000)
    >>> published = publish_proportions(
    ...     group_bags(None, ill, groups=month), classes=[0, 1], epsilon=0.5, delta=1e-6
    ... )
    >>> published
    <PublishedProportions: 12 bags, 2 classes, LaplaceProportions, expected distortion 0.00798>
    >>> published.proportions.shape
    (12, 2)
    """
    bags = y_bags if isinstance(y_bags, Bags) else None
    labels = bags.y if bags is not None else list(y_bags)
    names = tuple(range(len(labels))) if bags is None else bags.names
    known = _classes(classes)
    counts = _counts(labels, names, known)
    sizes = counts.sum(axis=1).astype(np.int64)
    check_pair(epsilon, delta)
    promise = 0 if min_count is None else min_count
    check_integer("min_count", promise, least=0)
    if pseudo_count != "auto":
        check_number("pseudo_count", pseudo_count, least=0)
    smallest = int(sizes.min())
    if promise * len(known) > smallest:
        raise ValueError(
            f"min_count={min_count!r} for each of {len(known)} classes can't hold in the bag "
            f"{names[int(sizes.argmin())]!r} of {smallest} labels; promise less, or merge bags."
        )
    task = Task(epsilon, delta, sizes, len(known), promise, pseudo_count)
    chosen = _mechanism(mechanism, task)
    broken = np.flatnonzero((counts < getattr(chosen, "min_count", 0)).any(axis=1))
    if broken.size:
        # The mechanism refuses too; here the bag has its name.
        raise ValueError(
            f"min_count={getattr(chosen, 'min_count', 0)} is promised, but the bag "
            f"{names[broken[0]]!r} has a class with fewer labels; nothing was published or spent. "
            "Promise less, or leave min_count out. That this was refused is outside the "
            "guarantee: nobody but the publisher may learn it."
        )
    budget = _budget(accountant, epsilon, delta)
    formed_by = "not said" if bags is None else bags.formed_by
    if formed_by == "label":
        warnings.warn(
            "these bags were formed by label, so that being in a bag gives the label away whatever "
            "is done to the proportions. It is right for a simulation; real bags come from a "
            "public grouping (group_bags).",
            PrivacyLeakWarning,
            stacklevel=2,
        )
    proportions = budget.release(
        chosen,
        counts,
        random_state=random_state,
        note={
            "purpose": "label proportions",
            "bags_formed_by": formed_by,
            "min_count_promised": getattr(chosen, "min_count", 0),
        },
    )
    return PublishedProportions(
        proportions=proportions,
        classes=known,
        names=names,
        sizes=sizes,
        mechanism=chosen,
        expected_distortion=task.distortion(chosen),
        statement=budget.statement(),
    )


def _classes(classes: ArrayLike) -> NDArray[Any]:
    known = np.asarray(classes)
    if known.ndim != 1 or len(known) < 2 or len(np.unique(known)) < len(known):
        raise ValueError(f"classes={classes!r} must be a list of two or more different labels.")
    return known


def _counts(
    labels: Sequence[ArrayLike], names: Sequence[Any], classes: NDArray[Any]
) -> NDArray[np.float64]:
    if not len(labels):
        raise ValueError("y_bags has no bag; give at least one.")
    counts = np.zeros((len(labels), len(classes)))
    for row, (name, bag) in enumerate(zip(names, labels, strict=True)):
        # As objects, so that 1 and "1" are different labels.
        found = np.asarray(np.asarray(bag).tolist(), dtype=object)
        if found.ndim != 1:
            raise ValueError(f"y_bags: the bag {name!r} is not a list of labels, one per instance.")
        if not found.size:
            raise ValueError(
                f"y_bags: the bag {name!r} is empty; leave it out, it has no proportions."
            )
        counts[row] = [(found == label).sum() for label in classes.tolist()]
        if counts[row].sum() != len(found):
            raise ValueError(
                f"y_bags: the bag {name!r} has labels that are none of classes="
                f"{classes.tolist()!r}; name all classes there are. Nothing was published."
            )
    return counts


def _mechanism(mechanism: str | Proportions, task: Task) -> Proportions:
    if isinstance(mechanism, Proportions):
        return mechanism
    if mechanism == "auto":
        return task.best()
    if not isinstance(mechanism, str) or mechanism not in NAMES:
        raise ValueError(
            f"mechanism={mechanism!r} is unknown; use 'auto', one of {', '.join(NAMES)}, or an "
            "instance such as GaussianProportions(sigma=10)."
        )
    return task.named(mechanism)


def _budget(
    accountant: PrivacyAccountant | None, epsilon: float, delta: float
) -> PrivacyAccountant:
    if accountant is None:
        return PrivacyAccountant(epsilon, delta, unit="label", order=math.inf)
    if accountant.unit != "label":
        raise ValueError(
            f"the accountant's unit={accountant.unit!r}, but proportions protect one label of one "
            "instance, whose bag is public; use PrivacyAccountant(..., unit='label', order=inf)."
        )
    return accountant
