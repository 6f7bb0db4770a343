"""The private top k: counts in, names out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from secretballot._numbers import check_integer, check_number
from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import (
    ExponentialTopK,
    GaussianTopK,
    JointTopK,
    LimitedDomainTopK,
    Mechanism,
    StableTopK,
    TopK,
)
from secretballot.selection._candidates import Candidates
from secretballot.selection._private_items import PrivateItems

Domain = Literal["known", "unknown"]
Name = Literal["stable", "exponential", "gaussian", "joint", "limited_domain"]

_NAMED: dict[str, type[TopK]] = {
    "stable": StableTopK,
    "exponential": ExponentialTopK,
    "gaussian": GaussianTopK,
    "joint": JointTopK,
    "limited_domain": LimitedDomainTopK,
}

#: How many of the largest counts are looked at where items come from the data: so many times k.
_FURTHER = 5

#: Which part of the delta that may be spent is for sets that one person changes. As much again is
#: for the plan's price, and a budget keeps half for later plans.
_PART = 0.25


def private_top_k(
    counts: Any,
    k: int | None = None,
    *,
    accountant: PrivacyAccountant,
    epsilon: float | None = None,
    mechanism: Name | TopK | Callable[[float], TopK] = "stable",
    k_max: int | None = None,
    delta_t: float | None = None,
    max_contribution: float = 1.0,
    max_items: int | None = None,
    domain: Domain = "known",
    random_state: Any = None,
) -> PrivateItems:
    """Release which items have the largest counts, unordered, within a budget.

    Parameters
    ----------
    counts : array, Series, dict, data frame or sparse matrix
        One count for each item; or a matrix with people in rows and items in columns, which is
        added up.
    k : int, default=None
        How many items. None: as many as lie above the largest gap between neighbouring counts.
    accountant : PrivacyAccountant
        The budget. It says by its relation what is protected: a person's being there, or what it
        is.
    epsilon : float, default=None
        The most that this release may spend. None: all that is left.
    mechanism : {"stable", "exponential", "gaussian", "joint", "limited_domain"} or mechanism, \
default="stable"
        `StableTopK` or another, with the least noise that fits; or one with the noise it has, which
        knows itself what `k` and the parameters below say; or a function from an amount of noise to
        one.
    k_max : int, default=None
        The largest set that is considered, a public number. None: what the mechanism says; where
        items come from the data, five times `k`, or a hundred.
    delta_t : float, default=None
        With what probability a set may be released that one person changes. None: a quarter of what
        may be spent of the accountant's delta for approximations.
    max_contribution : float, default=1.0
        The most that one person adds to an item's count. Checked where a matrix is passed: a
        refusal says what somebody has, and no budget pays for it, so keep to it beforehand.
    max_items : int, default=None
        How many items a person contributes to at most; "gaussian" needs it. None: any number.
    domain : {"known", "unknown"}, default="known"
        Whether the list of items (an index, a matrix's columns) is public. If it comes from the
        data, so that a name may be somebody's own, only mechanisms are allowed that don't return
        such names.
    random_state : int, Generator or None, default=None
        None: a cryptographic generator. Anything else is for tests, and protects nobody.

    Returns
    -------
    PrivateItems
        What was found, and whether something was released.

    Raises
    ------
    ValueError
        If a parameter is out of range, a person contributes more than was said, or the mechanism is
        not proven for items that come from the data.
    BudgetExceededError
        If nothing is left that this could be made of.

    See Also
    --------
    secretballot.mechanisms.StableTopK : For several histograms at once, as rows of a table, by
        ``accountant.release``.

    References
    ----------
    Zhu and Wang, "Adaptive Private-K-Selection with Adaptive K and Application to Multi-label PATE"
    (AISTATS 2022).

    Examples
    --------
    >>> from secretballot import PrivacyAccountant, private_top_k
    >>> visitors = {"park": 910, "pool": 887, "zoo": 12, "mine": 1}
    >>> accountant = PrivacyAccountant(
    ...     1, 1e-6, unit="voter", relation="add_remove", approximation_delta=5e-7
    ... )
    >>> found = private_top_k(visitors, accountant=accountant, domain="unknown")
    >>> sorted(found.items)
    ['park', 'pool']
    """
    if domain not in ("known", "unknown"):
        raise ValueError(f"domain={domain!r} is unknown; use 'known' or 'unknown'.")
    check_number("max_contribution", max_contribution, above=0)
    if max_items is not None:
        check_integer("max_items", max_items)
    if not isinstance(accountant, PrivacyAccountant):
        raise TypeError(
            f"accountant={accountant!r} must be a PrivacyAccountant, the budget of these counts."
        )
    own = mechanism.contribution if isinstance(mechanism, TopK) else max_contribution
    candidates = Candidates.of(counts, own)
    candidates = candidates.brought() if domain == "unknown" else candidates.sorted_by_name()
    if not len(candidates.counts):
        if domain == "known":
            raise ValueError("counts holds no items; pass at least one.")
        # As if there were items that nobody has: that there are none is private too.
        candidates = Candidates(np.zeros(1), np.empty(0, dtype=object))
    table = candidates.counts[None]
    scope = None if epsilon is None else accountant.scope(epsilon)
    if isinstance(mechanism, Mechanism):
        chosen: Any = mechanism
    elif isinstance(mechanism, str) or (callable(mechanism) and not isinstance(mechanism, type)):
        made: Any = mechanism
        if isinstance(made, str):
            part = _PART * _share(epsilon, accountant)
            limits = {"max_items": max_items, "weight": float(max_contribution)}
            made = _maker(made, k, k_max, delta_t, domain, limits, accountant, part)
        _check_asked(made(1.0), candidates, domain, mechanism)
        made(1.0).check_counts(table)  # before noise is looked for
        columns = len(candidates.counts) if domain == "known" else None
        chosen = accountant.calibrate(made, 1, n_columns=columns, scope=scope)
    else:
        raise ValueError(
            f"mechanism={mechanism!r} must be one of {', '.join(map(repr, _NAMED))}; a mechanism, "
            "such as ExponentialTopK(k=3, rho=0.1); or a function from an amount of noise to one."
        )
    _check_asked(chosen, candidates, domain, mechanism)
    outcome = accountant.release(chosen, table, scope=scope, random_state=random_state)[0]
    if (outcome < 0).any():
        return PrivateItems(None, False)
    return PrivateItems(candidates.called(np.flatnonzero(outcome[: len(candidates.counts)])), True)


def _maker(
    name: str,
    k: int | None,
    k_max: int | None,
    delta_t: float | None,
    domain: Domain,
    limits: dict[str, Any],
    accountant: PrivacyAccountant,
    part: float,
) -> Callable[[float], TopK]:
    """Return how a mechanism is made from an amount of noise."""
    if name not in _NAMED:
        raise ValueError(
            f"mechanism={name!r} is unknown; use one of {', '.join(map(repr, _NAMED))}, or a "
            "mechanism."
        )
    kind, unknown = _NAMED[name], domain == "unknown"
    if k is None and kind is not StableTopK:
        raise ValueError(f"k=None with mechanism={name!r}: say how many items are wanted.")
    given: dict[str, Any] = {**limits, "k": k, "relation": accountant.relation}
    if kind in (ExponentialTopK, GaussianTopK, JointTopK):
        if unknown:
            raise ValueError(
                f"mechanism={name!r} adds noise to all counts and names items that one person "
                "brought; with domain='unknown' use 'stable' or 'limited_domain'."
            )
    else:
        given["unknown_domain"] = unknown
        if k_max is None and (unknown or kind is not StableTopK):
            k_max = 100 if k is None else _FURTHER * k
        given["k_max"] = k_max
        # Draws that end at a floor have a delta each.
        times = k or 1 if kind is LimitedDomainTopK else 1
        if kind is StableTopK and unknown and k is not None:
            times = k + 1
        given["delta_t"] = _delta_of(accountant, part / times) if delta_t is None else delta_t
    return lambda noise: kind(rho=1 / noise**2, **given)  # type: ignore[call-arg]


def _share(epsilon: float | None, accountant: PrivacyAccountant) -> float:
    """Return about which part of a budget a part of its epsilon is, or less."""
    if epsilon is None:
        return 1.0
    whole = accountant.epsilon
    most = max(whole.values()) if isinstance(whole, dict) else whole
    return min(float(epsilon) / most, 1.0) ** 2


def _delta_of(accountant: PrivacyAccountant, part: float) -> float:
    left = accountant.remaining()
    each = left.values() if isinstance(left, dict) else [left]
    delta = part * min(one.delta for one in each)
    if not delta > 0:
        raise ValueError(
            "delta_t=None, and this budget has no delta for approximations (left), which sets that "
            "are released without noise need. Open one with approximation_delta=, such as half of "
            "its delta, or use mechanism='exponential'."
        )
    return float(min(delta, 0.1))


def _check_asked(mechanism: Any, candidates: Candidates, domain: Domain, asked: Any) -> None:
    """Refuse a mechanism that is made for others, or for people who have less."""
    if not isinstance(mechanism, TopK):
        raise ValueError(
            f"mechanism={mechanism!r} does not release the items with the largest counts; use "
            "StableTopK or another of its kind."
        )
    if domain == "unknown" and not mechanism.unknown_domain:
        raise ValueError(
            f"mechanism={mechanism!r} is not for items that come from the data; make it with "
            "unknown_domain=True if it allows that."
        )
    names = ("max_contribution", "max_items")
    if not isinstance(asked, str):
        names = ("the mechanism's weight", "its max_items")
    candidates.check_people((names[0], mechanism.contribution), (names[1], mechanism.max_items))
