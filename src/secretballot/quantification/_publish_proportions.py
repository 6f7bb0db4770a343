"""Release of the label proportions of bags under a budget, by the mechanism that distorts least."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar

from secretballot._base._errors import (
    NOT_FOR_PUBLICATION,
    BudgetExceededError,
    PrivacyLeakWarning,
    warn,
)
from secretballot._base._numbers import (
    check_integer,
    check_number,
    check_pair,
    check_unmasked,
    named_classes,
    quoted,
)
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._answers import Share, UnnamedBudget, answer_scope, check_amount
from secretballot.accounting._limits import USED_UP, WORTH_SPENDING, less_rounding
from secretballot.accounting._release_plan import PlannedRelease, unpaid_run
from secretballot.ledger._budget import Scope
from secretballot.mechanisms._proportions import (
    DirichletProportions,
    GaussianProportions,
    LaplacePriorProportions,
    LaplaceProportions,
    Proportions,
)
from secretballot.quantification._bag_ids import BagId, Floats, Integers, array_of_values, is_frame
from secretballot.quantification._bags import Bags
from secretballot.quantification._label_proportions import PublishedProportions
from secretballot.tables._cells import missing_cells
from secretballot.tables._part_counts import count_groups
from secretballot.tables._private_parts import PrivateParts

#: Relative rounding error of a mechanism calibrated to the same epsilon and delta.
_ROUNDING = 1e-9
#: Bags are compared if their label changes more often than this from one instance to the next.
_MOST_CHANGES = 20
#: Mechanisms that are calibrated from epsilon, delta and the number of classes alone.
_CLASSES: dict[str, type[GaussianProportions] | type[LaplaceProportions]] = {
    "gaussian": GaussianProportions,
    "laplace": LaplaceProportions,
    "laplace_prior": LaplacePriorProportions,
}
MECHANISM_NAMES = (*_CLASSES, "dirichlet")


def publish_proportions(
    y_bags: Bags | PrivateParts | Sequence[ArrayLike],
    classes: ArrayLike,
    epsilon: float | None = None,
    delta: float | None = None,
    mechanism: str | Proportions = "auto",
    min_count: int | None = None,
    pseudo_count: float | Literal["auto"] = "auto",
    accountant: PrivacyAccountant | None = None,
    *,
    share: Share = None,
    random_state: int | np.random.Generator | None = None,
) -> PublishedProportions:
    """Publish the label proportions of bags, protecting each label.

    Which instances are in which bag is public; a guarantee is given for one label of one bag.

    Parameters
    ----------
    y_bags : Bags, PrivateParts, or sequence of array-like of shape (n_instances,)
        The private labels of each bag. Every instance is in one bag, and not because of its label.
        That no instance is in two bags of a list is the caller's word, and the statement says so;
        bags of `Bags.from_groups` are disjoint, and so are the ``groups`` of `PrivateParts`.
    classes : array-like of shape (n_classes,)
        All classes there are, in any order; public, so named rather than learned. A class may be
        absent. Columns of the result are sorted by class.
    epsilon, delta : float, default=None
        The privacy of each label: the most that this release may cost, however large the budget
        of `accountant`. With an accountant, `share` can be given in their place, and a mechanism
        of your own needs neither.
    mechanism : {"auto", "gaussian", "laplace", "laplace_prior", "dirichlet"} or mechanism, \
default="auto"
        "auto" takes the one with the least expected L1 distortion, computed from the public
        parameters. A mechanism of your own is used, and charged, as it is.
    min_count : int, default=None
        A public promise: every class has at least this many labels in every bag. The Dirichlet
        mechanism may rest on it; the others need none and don't check it.
    pseudo_count : float or "auto", default="auto"
        For the Dirichlet mechanism; "auto" is the one that distorts least.
    accountant : PrivacyAccountant, default=None
        The budget, with ``unit="label"``. None opens one of `epsilon` and `delta` for this release
        alone, with basic composition (order infinity), in a ledger that is deleted with the
        program. It is another budget than that of models of the same people: their epsilons and
        deltas add up, though each statement speaks of its own alone. Name it, with
        ``PrivacyAccountant(epsilon, delta, unit="label", order=math.inf, ledger=path)``, and hand
        out both statements. It protects a label of an owner, not all labels of one.
    share : float, dict of str to float or "rest", default=None
        In place of `epsilon` and `delta`: the most that this release may cost, as a part of the
        whole budget of `accountant`; ``"rest"``: all that is left. At order infinity it gets what
        is left of delta, if that is less: Laplace noise needs none.
    random_state : int, Generator or None, default=None
        None: a cryptographic generator. Anything else is for tests, and protects nobody.

    Returns
    -------
    PublishedProportions

    Raises
    ------
    ValueError
        If a bag is empty or given twice, a label is none of `classes`, a mechanism of your own
        costs more than `epsilon` and `delta`, or a bag breaks the promise: nothing is spent then.
        That a promise was broken is outside the guarantee, and must stay with the publisher.
    BudgetExceededError
        If the release does not fit what is left of `accountant`.

    Warns
    -----
    PrivacyLeakWarning
        If bags were formed by label, or a second budget is opened for the same labels.
    UserWarning
        If bags are so small that even proportions are as close to the truth.

    See Also
    --------
    Bags.from_groups : Bags from a public grouping.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.quantification import Bags, publish_proportions
    >>> rng = np.random.default_rng(0)
    >>> month, ill = rng.integers(12, size=6000), rng.integers(2, size=6000)
    >>> bags = Bags.from_groups(None, ill, groups=month)
    >>> published = publish_proportions(bags, classes=[0, 1], epsilon=0.5, delta=1e-6)
    >>> published
    <PublishedProportions: 12 bags, 2 classes, LaplaceProportions, expected distortion 0.00819>
    >>> published.proportions.shape
    (12, 2)
    """
    amount = _check_amount(epsilon, delta, share, accountant, mechanism)
    counts, labels, names, formed_by = count_labels(y_bags, classes)
    sizes = counts.sum(axis=1).astype(np.int64)
    check_integer("min_count", 0 if min_count is None else min_count, least=0)
    promise = max(min_count or 0, _promised_count(mechanism))
    if pseudo_count != "auto":
        check_number("pseudo_count", pseudo_count, least=0)
        if mechanism not in ("auto", "dirichlet"):
            raise ValueError(
                f"pseudo_count={pseudo_count!r} is for mechanism='dirichlet' (or 'auto'); with "
                f"mechanism={mechanism!r} leave it out."
            )
    budget = _open_budget(accountant, *amount)
    scope = None
    if share is not None:
        scope = answer_scope(budget, None, share)
        amount = _pair_of_share(budget, scope)
        if not amount[1] and mechanism in ("gaussian", "dirichlet"):
            raise BudgetExceededError(
                f"mechanism={mechanism!r} takes a delta, and none is left of the budget. Nothing "
                "was published or spent; mechanism='laplace' takes none."
            )
    smallest = int(sizes.min())
    if promise * len(labels) > smallest:
        raise ValueError(
            f"min_count={promise!r} for each of {len(labels)} classes can't hold in the bag "
            f"{names[int(sizes.argmin())]!r} of {smallest} labels; promise less, or merge bags."
        )
    public = PublicParameters(*amount, sizes, len(labels), promise, pseudo_count)

    def is_affordable(candidate: Proportions) -> bool:
        if scope is None:
            return True
        with suppress(BudgetExceededError):
            budget.price(candidate, len(sizes), n_columns=len(labels), scope=scope)
            return True
        return False

    chosen = _choose_mechanism(mechanism, public, is_affordable)
    if chosen is mechanism and epsilon is not None:
        _check_charge(chosen, *amount, len(labels), budget)
    promised = _promised_count(chosen)
    broken = np.flatnonzero((counts < promised).any(axis=1))
    if broken.size:
        # The mechanism refuses too, without the bag's name.
        raise ValueError(
            f"min_count={promised} is promised, but the bag "
            f"{names[broken[0]]!r} has a class with fewer labels; nothing was published or spent. "
            "Promise less, or leave min_count out. That this was refused is outside the "
            "guarantee: nobody but the publisher may learn it."
        )
    if formed_by == "label":
        warn(
            "these bags were formed by label, so that being in a bag gives the label away whatever "
            "is done to the proportions. It is right for a simulation; real bags come from a "
            "public grouping (Bags.from_groups).",
            PrivacyLeakWarning,
        )
    distortion = public.distortion(chosen)
    _warn_noise(distortion, sizes, len(labels))
    opened = None
    if accountant is None and random_state is None:
        opened = UnnamedBudget(label_arrays(y_bags, counts))
        opened.warn("labels")
    release = PlannedRelease(
        name="proportions",
        mechanism=chosen,
        n_rows=len(counts),
        share=1.0,
        reads="labels of each bag, by class",
        note={
            "purpose": "label proportions",
            "bags_formed_by": formed_by,
            "min_count_promised": promised,
        },
    )
    run = unpaid_run(budget, release, scope=scope, noise=lambda *_: random_state)

    def result(proportions: Floats) -> PublishedProportions:
        if opened is not None:
            opened.remember()
        return PublishedProportions(
            proportions=proportions,
            classes=labels,
            names=names,
            sizes=sizes,
            mechanism=chosen,
            expected_distortion=distortion,
            statement=budget.statement(),
        )

    try:
        return run.answer(release.name, counts, result)
    except BudgetExceededError as error:
        if (order := budget.levels[0].order) == math.inf:
            raise
        gaussian = ""
        if not isinstance(chosen, GaussianProportions):
            gaussian = " In this budget mechanism='gaussian' may fit."
        amount_text = (
            f"epsilon={epsilon!r} and delta={delta!r}"
            if share is None
            else f"share={quoted(share)}"
        )
        raise BudgetExceededError(
            f"{type(chosen).__name__} of {amount_text} does not fit what "
            f"is left of this budget, whose costs are added up at order={order!r}. Nothing was "
            "published or spent. With order=math.inf epsilons and deltas are added up as they "
            "are: pass accountant=PrivacyAccountant(epsilon, delta, unit='label', order=math.inf)."
            f"{gaussian}"
        ) from error


def _warn_noise(distortion: Floats, sizes: Integers, n_classes: int) -> None:
    """Warn of bags whose proportions say no more than even ones, by public numbers alone."""
    # Expected L1 distance of even proportions from proportions that may be any.
    even = 2 * (1 - 1 / n_classes) ** n_classes
    drowned = np.flatnonzero(distortion >= even)
    if drowned.size:
        worst = drowned[int(np.argmax(distortion[drowned]))]
        warn(
            f"the proportions of {drowned.size} of {len(sizes)} bags will be mostly noise: in one "
            f"of {sizes[worst]} labels it moves them by {distortion[worst]:.2f} (L1) on average; "
            f"even proportions, made without labels, are off by about {even:.2f}. Merge small "
            "bags, or give a larger epsilon."
        )


def _check_amount(
    epsilon: float | None,
    delta: float | None,
    share: Share,
    accountant: PrivacyAccountant | None,
    mechanism: str | Proportions,
) -> tuple[float, float]:
    """Check that one amount is given; return epsilon and delta, without limits if they are not."""
    if accountant is None:
        if share is not None:
            raise ValueError(
                f"share={quoted(share)} is a part of the budget of accountant=, and none was "
                "given. Pass one, or epsilon= and delta=."
            )
    else:
        has_noise = isinstance(mechanism, Proportions)
        needed = not has_noise and delta is None
        check_amount("publish_proportions", needed=needed, epsilon=epsilon, share=share)
        if share is not None and delta is not None:
            raise ValueError(
                f"delta={delta!r}: share={quoted(share)} has its part of the budget's delta; "
                "leave delta out."
            )
        if epsilon is None and delta is None:
            return math.inf, 1.0
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if value is None:
            raise ValueError(
                f"{name}=None: give epsilon= and delta=, the privacy of each label; or share= of "
                "the budget of accountant=. Nothing was published or spent."
            )
    assert epsilon is not None
    assert delta is not None
    check_pair(epsilon, delta)
    return epsilon, delta


def _pair_of_share(budget: PrivacyAccountant, scope: Scope) -> tuple[float, float]:
    """Compute the epsilon and the delta of a scope that takes a part of a budget."""
    remaining, levels = budget.remaining(), budget.levels
    parts, epsilons, deltas_left = [1.0], list[float](), list[float]()
    for level in levels:
        report = remaining[level.name] if isinstance(remaining, dict) else remaining
        share = scope.share_of(level.name)
        if share is not None and share <= WORTH_SPENDING:
            raise BudgetExceededError(
                f"share={share!r} is too small: under {WORTH_SPENDING:g} of a budget, noise drowns "
                "every answer. Nothing was published or spent; give a larger share."
            )
        if report.amount <= WORTH_SPENDING * level.amount:
            raise BudgetExceededError(f"Nothing was published or spent: {USED_UP}")
        amount = report.amount if share is None else min(share * level.amount, report.amount)
        parts.append(amount / report.amount)
        epsilons.append(less_rounding(amount, 1))
        deltas_left.append(report.delta if report.delta > WORTH_SPENDING * level.delta else 0.0)
    if levels[0].order == math.inf:
        # What is left of epsilon is of use without a delta, for Laplace noise.
        epsilon = min(epsilons)
        shares = (epsilon / level.epsilon * level.delta for level in levels)
        return epsilon, min(*shares, *deltas_left)
    cap = budget.epsilon_per_fit(share=min(parts))
    epsilon = min(cap.values()) if isinstance(cap, dict) else cap
    return epsilon, levels[0].delta - levels[0].approximation_delta


def _choose_mechanism(
    mechanism: str | Proportions,
    public: PublicParameters,
    is_affordable: Callable[[Proportions], bool],
) -> Proportions:
    if isinstance(mechanism, Proportions):
        return mechanism
    if isinstance(mechanism, str) and mechanism == "auto":
        return public.least_distorting(is_affordable)
    if not isinstance(mechanism, str) or mechanism not in MECHANISM_NAMES:
        raise ValueError(
            f"mechanism={quoted(mechanism)} is unknown; use 'auto', one of "
            f"{', '.join(MECHANISM_NAMES)}, or an instance such as GaussianProportions(sigma=10)."
        )
    return public.calibrate(mechanism)


def _promised_count(mechanism: str | Proportions) -> int:
    return getattr(mechanism, "min_count", 0)


def _check_charge(
    mechanism: Proportions, epsilon: float, delta: float, n_classes: int, budget: PrivacyAccountant
) -> None:
    """Refuse a mechanism that would be charged more than epsilon and delta."""
    charged = mechanism.epsilon
    if charged is None:
        # Charged by its curve: at order infinity its pure epsilon, else less than the pair.
        basic = budget.levels[0].order == math.inf
        charged = float(mechanism.move(n_classes).worst_case((math.inf,))[0]) if basic else epsilon
    if charged > epsilon * (1 + _ROUNDING):
        raise ValueError(
            f"mechanism={mechanism!r} is charged epsilon={charged:.6g}, more than the "
            f"epsilon={epsilon!r} asked for; give it more noise, or epsilon={epsilon!r} of its own "
            "to be charged that and the least delta."
        )
    least = mechanism.move(n_classes).delta(charged)
    if least > delta * (1 + _ROUNDING):
        raise ValueError(
            f"mechanism={mechanism!r} has delta={least:.3g} at epsilon={charged:.6g}, more than "
            f"the delta={delta!r} asked for; give it more noise."
        )


def _open_budget(
    accountant: PrivacyAccountant | None, epsilon: float, delta: float
) -> PrivacyAccountant:
    if accountant is None:
        return PrivacyAccountant(epsilon, delta, unit="label", order=math.inf)
    if not isinstance(accountant, PrivacyAccountant):
        raise TypeError(f"accountant={quoted(accountant)} must be None or a PrivacyAccountant.")
    if accountant.unit != "label":
        within = (
            "of this budget, private_top_k(..., owners=) names the most frequent labels"
            if accountant.unit == "owner"
            else "of this budget, they can't be released"
        )
        raise ValueError(
            f"the accountant's unit={accountant.unit!r}, but proportions protect one label of one "
            f"instance, whose bag is public: {within}. "
            "PrivacyAccountant(..., unit='label', order=inf) is another budget: what it spends "
            "adds to this one, for the same people."
        )
    return accountant


def count_labels(
    y_bags: Bags | PrivateParts | Sequence[ArrayLike], classes: ArrayLike
) -> tuple[Floats, NDArray[np.generic], tuple[BagId, ...], str]:
    """Count the labels of each bag, and return classes, names and how bags were formed.

    Missing labels, and labels of no class, are refused. Only the counts are private.
    """
    labels: Sequence[ArrayLike]
    if isinstance(y_bags, PrivateParts):
        return _count_parts(y_bags, named_classes(classes))
    if isinstance(y_bags, Bags):
        if y_bags.y is None:
            raise ValueError("these Bags hold no labels; give Bags.from_groups the labels.")
        labels, names, formed_by = y_bags.y, y_bags.names, y_bags.formed_by
    else:
        labels = _list_labels(y_bags)
        names, formed_by = tuple(range(len(labels))), "not said"
    if not labels:
        raise ValueError("y_bags has no bag; give at least one.")
    class_array = named_classes(classes)
    counts = [_count_bag(name, bag, class_array) for name, bag in zip(names, labels, strict=True)]
    if not isinstance(y_bags, Bags):  # which are disjoint
        _check_no_bag_twice(names, labels)
    return np.array(counts, dtype=float), class_array, names, formed_by


def label_arrays(
    y_bags: Bags | PrivateParts | Sequence[ArrayLike], counts: Floats
) -> list[NDArray[np.generic]]:
    if isinstance(y_bags, PrivateParts):
        return [counts]
    labels = y_bags.y if isinstance(y_bags, Bags) else y_bags
    return [array_of_values(bag) for bag in labels or ()]


def _check_no_bag_twice(names: Sequence[BagId], labels: Sequence[ArrayLike]) -> None:
    """Raise ValueError if a bag is given twice: the same object, or equal labels in equal order.

    Bags whose labels hardly change along the bag are equal by chance, or because they are sorted.
    """
    first_of: dict[object, BagId] = {}
    for name, bag in zip(names, labels, strict=True):
        array = array_of_values(bag)
        # Equal tuples of constants are one object.
        keys: list[object] = [] if isinstance(bag, tuple) else [id(bag)]
        if (array[1:] != array[:-1]).sum() > _MOST_CHANGES:
            keys.append(tuple(array.tolist()))
        for key in keys:
            if key in first_of:
                raise ValueError(
                    f"y_bags: the bags {first_of[key]!r} and {name!r} hold the same labels in the "
                    "same order. Each instance may be in one bag: its label would be published "
                    "twice for the price of one. Give each bag once; several groupings of the "
                    "same instances are several releases, of one accountant. "
                    f"{NOT_FOR_PUBLICATION}"
                )
            first_of[key] = name


def _count_parts(
    parts: PrivateParts, classes: NDArray[np.generic]
) -> tuple[Floats, NDArray[np.generic], tuple[BagId, ...], str]:
    counts = count_groups(parts, classes.tolist())
    names = sorted(counts, key=lambda name: (str(type(name)), name))
    table = np.array([counts[name] for name in names])
    broken = np.flatnonzero(table[:, -1])
    if broken.size:
        raise ValueError(
            f"y={parts.y!r}: the group {names[broken[0]]!r} has labels that are none of classes="
            f"{classes.tolist()!r}; name all classes there are. Nothing was published. "
            f"{NOT_FOR_PUBLICATION}"
        )
    return table[:, :-1].astype(float), classes, tuple(names), "group"


def _list_labels(y_bags: Sequence[ArrayLike]) -> list[ArrayLike]:
    table = sparse.issparse(y_bags) or is_frame(y_bags)
    if table or isinstance(y_bags, str | Mapping) or not isinstance(y_bags, Iterable):
        raise ValueError(
            f"y_bags is of {type(y_bags)}; give a list with the labels of each bag, or Bags: "
            "Bags.from_groups makes them of all labels and a grouping."
        )
    return list(y_bags)


def _count_bag(name: BagId, bag: ArrayLike, classes: NDArray[np.generic]) -> list[int]:
    check_unmasked(f"y_bags: the bag {name!r}", bag)
    try:
        # As objects, so that 1 and "1" are different labels.
        labels = np.asarray(array_of_values(bag).tolist(), dtype=object)
    except ValueError:  # lists of different lengths
        labels = np.empty((0, 0))
    if labels.ndim != 1:
        raise ValueError(
            f"y_bags: the bag {name!r} is not a list of labels, one per instance; Bags.from_groups "
            "makes bags of all labels and a grouping."
        )
    if not labels.size:
        raise ValueError(f"y_bags: the bag {name!r} is empty; leave it out, it has no proportions.")
    if missing_cells(labels).any():
        raise ValueError(
            f"y_bags: the bag {name!r} has missing labels; leave these instances out of the "
            f"labels and of the grouping. Nothing was published. {NOT_FOR_PUBLICATION}"
        )
    counts = [int((labels == label).sum()) for label in classes.tolist()]
    if sum(counts) != len(labels):
        raise ValueError(
            f"y_bags: the bag {name!r} has labels that are none of classes="
            f"{classes.tolist()!r}; name all classes there are, and give labels rather than "
            f"counts of them. Nothing was published. {NOT_FOR_PUBLICATION}"
        )
    return counts


class PublicParameters(NamedTuple):
    """Public parameters of a release."""

    epsilon: float
    delta: float
    sizes: Integers
    n_classes: int
    min_count: int  # promised
    pseudo_count: float | Literal["auto"]

    def distortion(self, mechanism: Proportions) -> Floats:
        """Return each bag's expected L1 distortion."""
        sizes, inverse = np.unique(self.sizes, return_inverse=True)
        by_size = [
            mechanism.expected_distortion(int(size), self.n_classes, min_count=self.min_count)
            for size in sizes
        ]
        return np.array(by_size)[inverse]

    def calibrate(self, name: str) -> Proportions:
        if name == "dirichlet":
            return self._calibrate_dirichlet()
        return _CLASSES[name].calibrated(self.epsilon, self.delta, n_classes=self.n_classes)

    def least_distorting(
        self, is_affordable: Callable[[Proportions], bool] = lambda _: True
    ) -> Proportions:
        """Return the affordable mechanism with the least expected distortion over all bags."""
        # Without a delta only Laplace noise is private.
        names = MECHANISM_NAMES if self.delta > 0 else ("laplace", "laplace_prior")
        mechanisms = [self.calibrate(name) for name in names]
        return min(
            filter(is_affordable, mechanisms),
            key=lambda mechanism: self.distortion(mechanism).mean(),
            default=mechanisms[0],
        )

    def _calibrate_dirichlet(self) -> DirichletProportions:
        """Return the Dirichlet mechanism with the pseudo-count that distorts least."""

        def calibrated(pseudo_count: float) -> DirichletProportions:
            return DirichletProportions.calibrated(
                self.epsilon, self.delta, pseudo_count=pseudo_count, min_count=self.min_count
            )

        if self.pseudo_count != "auto":
            return calibrated(self.pseudo_count)

        def distortion(log_pseudo_count: float) -> float:
            return float(self.distortion(calibrated(float(np.exp(log_pseudo_count)))).mean())

        minimum = minimize_scalar(
            distortion,
            bounds=(np.log(1e-2), np.log(1e3)),
            method="bounded",
            options={"xatol": 0.02},
        )
        with_pseudo_count = calibrated(float(np.exp(minimum.x)))
        try:
            without = calibrated(0.0)
        except ValueError:  # the promise is missing or too small
            return with_pseudo_count
        return without if self.distortion(without).mean() <= minimum.fun else with_pseudo_count
