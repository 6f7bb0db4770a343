"""Private top k: counts in, names out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import warn
from secretballot._base._numbers import check_integer, check_no_public_data, check_number
from secretballot._base._sklearn_compat import _num_samples
from secretballot._base._view import Prose, Shown, View
from secretballot.accounting._accountant import PrivacyAccountant, check_accountant
from secretballot.accounting._answers import Share, answer_scope, check_amount
from secretballot.accounting._release_plan import PlannedRelease, unpaid_run
from secretballot.ledger._budget import Scope
from secretballot.measures._item_counts import CountsInput, ItemCounts, Names, is_matrix
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._stable_top_k import StableTopK
from secretballot.mechanisms._top_k import ExponentialTopK, LimitedDomainTopK, TopK
from secretballot.tables._owners import Owners
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._private_rows import Chunk, PrivateRows
from secretballot.tables._table_checks import check_row_order, warn_repeated_rows

Domain = Literal["known", "unknown"]
Name = Literal["stable", "exponential", "limited_domain"]

_NAMED: dict[str, type[TopK]] = {
    "stable": StableTopK,
    "exponential": ExponentialTopK,
    "limited_domain": LimitedDomainTopK,
}

#: Mechanisms that don't name items of a single person, except with a probability of delta_t.
_STABLE_SETS = ("stable", "limited_domain")

#: Number of counts that are considered in an unknown domain, as a multiple of k.
_CONSIDERED = 5

#: Part of the remaining delta for the failure that one person changes the set. The Gaussian price
#: takes as much again, and half remains for later releases.
_DELTA_PART = 0.25

#: Number of items that are shown.
_MOST_SHOWN = 20


class PrivateItems(NamedTuple):
    """Items with the largest counts, as `private_top_k` releases them.

    Attributes
    ----------
    items : ndarray of shape (n_items,)
        Positions of an array's entries or a matrix's columns, or names (objects) of a dict or a
        data frame's columns, in sorted order. None if nothing was released.
    released : bool
        False if nothing was released. A released set may be empty.
    """

    items: NDArray[np.intp] | Names | None
    released: bool

    def _view(self) -> View:
        if self.items is None:
            return View("PrivateItems", (Prose.of("nothing was released"),))
        names = [str(item) for item in self.items[:_MOST_SHOWN]]
        further = ", ..." if len(self.items) > _MOST_SHOWN else ""
        parts = [Prose.of(f"{len(self.items):,} items, sorted by name")]
        if names:
            parts.append(Prose.of(f"{', '.join(names)}{further}"))
        return View("PrivateItems", tuple(parts))

    __str__, _repr_html_ = Shown.__str__, Shown._repr_html_  # type: ignore[misc]


def private_top_k(
    counts: CountsInput | PrivateParts,
    k: int | None = None,
    *,
    accountant: PrivacyAccountant,
    epsilon: float | dict[str, float] | None = None,
    share: Share = None,
    mechanism: Name | TopK | Callable[[float], TopK] = "stable",
    k_max: int | None = None,
    delta_t: float | None = None,
    max_contribution: float | None = None,
    max_items: int | None = None,
    domain: Domain = "known",
    owners: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
) -> PrivateItems:
    """Release the items with the largest counts, unordered, within a budget.

    Parameters
    ----------
    counts : dict, array, data frame, sparse matrix or PrivateParts
        One count for each item, such as ``visits["place"].value_counts().to_dict()``; or a matrix
        with people in rows and items in columns, which is added up. With `owners`, a matrix whose
        rows are visits, purchases or the like, several of one person, such as
        ``pd.get_dummies(visits["place"])``. Of `PrivateParts`, `y` is the column of items, or one
        column for each item. A Series is refused: its index may number rows or hold people's ids.
    k : int, default=None
        Number of items, fewer than there are known ones. None: those above the largest gap between
        neighbouring counts.
    accountant : PrivacyAccountant
        The budget. Its relation defines neighbours: one person more or less, or one replaced. Its
        unit is who counts as a person: counts of rows protect one row, not all that a person
        has, and ``"owner"`` needs `owners`.
    epsilon, share : default=None
        The most that this release may spend, one of both. `share` is a part of the whole budget,
        as ``accountant.price`` returns it, or ``"rest"``: all that is left. None is needed beside
        a mechanism, which has noise of its own.
    mechanism : {"stable", "exponential", "limited_domain"} or mechanism, default="stable"
        Name of a mechanism, which gets the least noise that fits; a mechanism, which replaces `k`
        and the parameters below; or a function from an amount of noise to a mechanism.
    k_max : int, default=None
        Public size of the largest set that is considered. None: the mechanism's default; for an
        unknown domain five times `k`, or a hundred.
    delta_t : float, default=None
        Probability of releasing a set that one person changes. None: a quarter of the approximation
        delta that may be spent.
    max_contribution : float, default=None
        The most that one person adds to an item's count. It is checked if a matrix is passed; clip
        beforehand, because a refusal reveals somebody's contribution and no budget pays for it.
        None: 1, and totals are whole numbers of people. Any number allows totals of fractions.
    max_items : int, default=None
        Largest number of items that a person contributes to. None: any number.
    domain : {"known", "unknown"}, default="known"
        "known": the list of items (a dict's keys, a matrix's columns) is public. "unknown": it
        comes from the data, and only mechanisms are allowed that don't release one person's names.
    owners : array-like of shape (n_rows,), default=None
        Owner id of each row of a matrix; the accountant's unit is ``"owner"``. An owner counts
        once an item: with the largest entry of all its rows.
    random_state : int, Generator or None, default=None
        None: a cryptographic generator. A seed is for tests, and protects nobody.

    Returns
    -------
    PrivateItems

    Raises
    ------
    ValueError
        If no amount is given, `k` is the number of all known items, a person exceeds a limit,
        totals are not whole numbers (and `max_contribution` is None), counts is a Series, the
        mechanism is not proven for an unknown domain, or owners and the accountant's unit don't go
        together; nothing is spent.
    BudgetExceededError
        If the remaining budget is too small, or less than `epsilon` or `share`.

    Warns
    -----
    UserWarning
        Before anything is paid, if the noise is above the largest count that the people can add
        up to. Of totals the number of people is not known: items of fewer people than
        ``mechanism.hidden_count`` are named by chance, or not at all. If most items are numbers
        with fractions, such as sums of money.

    See Also
    --------
    secretballot.mechanisms.StableTopK : For several histograms at once, as rows of a table, with
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
    >>> found = private_top_k(visitors, accountant=accountant, share="rest", domain="unknown")
    >>> sorted(found.items)
    ['park', 'pool']
    """
    if domain not in ("known", "unknown"):
        raise ValueError(f"domain={domain!r} is unknown; use 'known' or 'unknown'.")
    most = 1.0 if max_contribution is None else max_contribution
    check_number("max_contribution", most, above=0)
    if max_items is not None:
        check_integer("max_items", max_items)
    check_accountant(accountant, "counts")
    check_no_public_data("counts", counts)
    has_noise = isinstance(mechanism, Mechanism)
    check_amount("private_top_k", needed=not has_noise, epsilon=epsilon, share=share)
    grid = mechanism.contribution if isinstance(mechanism, TopK) else most
    if isinstance(counts, PrivateParts):
        counts.check_alone(owners=owners)
        if accountant.unit != "owner":
            raise ValueError(
                f"the accountant's unit={accountant.unit!r}, and rows in parts are counted by "
                "owner: use PrivacyAccountant(..., unit='owner')."
            )
        items, counted_from = _items_of_parts(counts, grid, domain), "owners"
    else:
        owner_of_row = _owner_of_row(counts, owners, accountant)
        counted_from = "totals" if not is_matrix(counts) else "rows" if owners is None else "owners"
        if counted_from == "rows":
            warn_repeated_rows(counts, "counts", accountant.unit, cells=False)
        items = ItemCounts.from_input(counts, grid, owner_of_row)
        if counted_from == "totals" and max_contribution is None and grid == 1:
            items.check_whole()
    items.warn_amounts()
    items = items.contributed() if domain == "unknown" else items.sorted_by_name()
    if not len(items.counts):
        if domain == "known":
            raise ValueError("counts holds no items; pass at least one.")
        # An empty list is private too: it is treated like one item without contributions.
        items = replace(items, counts=np.zeros(1), names=np.empty(0, dtype=object))
    table = items.counts[None]
    scope = answer_scope(accountant, epsilon, share)
    limits = ("the mechanism's weight", "its max_items")
    if isinstance(mechanism, str):
        limits = ("max_contribution", "max_items")
        part = _DELTA_PART * _budget_share(scope, accountant)
        people = {"max_items": max_items, "weight": float(most)}
        mechanism = _named(mechanism, k, k_max, delta_t, domain, people, accountant, part)
    elif not isinstance(mechanism, Mechanism) and (
        isinstance(mechanism, type) or not callable(mechanism)
    ):
        raise ValueError(
            f"mechanism={mechanism!r} must be one of {', '.join(map(repr, _NAMED))}; a mechanism, "
            "such as ExponentialTopK(k=3, rho=0.1); or a function from an amount of noise to one."
        )
    chosen: Any = mechanism
    if not isinstance(mechanism, Mechanism):
        trial = mechanism(1.0)
        _check_suitable(trial, items, domain, limits)
        trial.check_counts(table)  # before the search for noise
        columns = len(items.counts) if domain == "known" else None
        make: Any = mechanism
        chosen = accountant.calibrate(make, 1, n_columns=columns, scope=scope)
    _check_suitable(chosen, items, domain, limits)
    if accountant.relation == "replace":
        _warn_noise(chosen, items, accountant.unit)

    def result(released: NDArray[Any]) -> PrivateItems:
        outcome = released[0]
        if (outcome < 0).any():
            return PrivateItems(None, False)
        positions = np.flatnonzero(outcome[: len(items.counts)])
        return PrivateItems(positions if items.names is None else items.names[positions], True)

    release = PlannedRelease(
        name="items",
        mechanism=chosen,
        n_rows=1,
        share=1.0,
        reads=f"counts of items, of {counted_from}",
        note={"counted_from": counted_from},
    )
    run = unpaid_run(accountant, release, scope=scope, noise=lambda *_: random_state)
    return run.answer(release.name, table, result)


def _items_of_parts(parts: PrivateParts, max_contribution: float, domain: str) -> ItemCounts:
    """Count the owners of each item: a column of items, or one column of counts an item."""
    if isinstance(parts.y, str) and domain == "known":
        raise ValueError(
            f"domain='known', and the items are what the private column {parts.y!r} holds: pass "
            "domain='unknown', or name one column for each public item (y=[...])."
        )
    rows = PrivateRows.of_parts(parts, [], parts.y)
    try:
        counts, largest, most_items = Counter[Hashable](), 0.0, 0
        count = partial(_count_chunk, parts.y, max_contribution)
        for part, part_largest, part_most in rows.map(count):
            counts.update(part)
            largest, most_items = max(largest, part_largest), max(most_items, part_most)
    finally:
        rows.close()
    return replace(
        ItemCounts.from_input(counts),
        largest=largest,
        most_items=most_items,
        n_people=rows.n_people,
    )


def _count_chunk(
    y: str | list[str], max_contribution: float, chunk: Chunk
) -> tuple[dict[Hashable, float], float, int]:
    """Count a chunk, with the largest contribution and the most items of an owner."""
    target: Any = chunk.target
    owners = chunk.owners.owner_of_row
    if isinstance(y, str):
        pairs = target.to_frame("item").assign(owner=owners).dropna().drop_duplicates()
        counts = pairs["item"].value_counts().to_dict()
        most_items = int(pairs["owner"].value_counts().max()) if len(pairs) else 0
        return counts, float(len(pairs) > 0), most_items
    items = chunk.read_target(lambda table: ItemCounts.from_input(table, max_contribution, owners))
    counts = dict(zip(y, items.counts.tolist(), strict=True))
    return counts, items.largest, items.most_items


def _owner_of_row(
    counts: CountsInput, owners: ArrayLike | None, accountant: PrivacyAccountant
) -> NDArray[np.intp] | None:
    """Number the owner of each row; refuse counts in which an owner may count more than once."""
    if owners is None:
        if accountant.unit != "owner":
            return None
        what = "a row of counts may be one of several of an owner"
        if not is_matrix(counts):
            what = "counts are added up already, and how much an owner added is not to be seen"
        raise ValueError(
            f"the accountant's unit='owner', but {what}. Pass a matrix with items in columns, as "
            "pd.get_dummies makes, and owners=, one owner id per row: an owner counts once an item."
        )
    if accountant.unit != "owner":
        raise ValueError(
            f"owners was given, but the accountant's unit={accountant.unit!r}. Use "
            "PrivacyAccountant(..., unit='owner'), or leave owners out."
        )
    if not is_matrix(counts):
        raise ValueError(
            "owners was given, but counts are added up already. Pass a matrix with one row for "
            "each owner id and items in columns, as pd.get_dummies makes."
        )
    check_row_order("owners", owners, counts)
    return Owners.read(owners, _num_samples(counts)).of_row


def _named(
    name: str,
    k: int | None,
    k_max: int | None,
    delta_t: float | None,
    domain: Domain,
    people: dict[str, float | None],
    accountant: PrivacyAccountant,
    part: float,
) -> Callable[[float], TopK]:
    if name not in _NAMED:
        raise ValueError(
            f"mechanism={name!r} is unknown; use one of {', '.join(map(repr, _NAMED))}, or a "
            "mechanism."
        )
    if k is not None:
        check_integer("k", k)
    unknown, stable = domain == "unknown", name == "stable"
    if k is None and not stable:
        raise ValueError(f"k=None with mechanism={name!r}: say how many items are wanted.")
    if unknown and name not in _STABLE_SETS:
        raise ValueError(
            f"mechanism={name!r} adds noise to all counts and names items that one person "
            "brought; with domain='unknown' use 'stable' or 'limited_domain'."
        )
    parameters: dict[str, Any] = {**people, "k": k, "relation": accountant.relation}
    if name in _STABLE_SETS:
        draws = unknown or not stable
        if k_max is None and draws:
            k_max = 100 if k is None else _CONSIDERED * k
        if delta_t is None:
            # Each draw may fail in an unknown domain, and so may the test of a stable set.
            n_failures = (k or 0) * draws + stable
            delta_t = _remaining_delta(accountant, part / max(n_failures, 1))
        parameters |= {"unknown_domain": unknown, "k_max": k_max, "delta_t": delta_t}
    return lambda noise: _NAMED[name](rho=1 / noise**2, **parameters)  # type: ignore[call-arg]


def _budget_share(scope: Scope, accountant: PrivacyAccountant) -> float:
    """Estimate the share of a budget that a scope may take, from below."""
    shares = [1.0]
    for level in accountant.levels:
        cap, share = scope.cap(level.name), scope.share_of(level.name)
        shares.append(1.0 if share is None else share)
        shares.append(1.0 if cap is None else min(cap / level.epsilon, 1.0) ** 2)
    return min(shares)


def _remaining_delta(accountant: PrivacyAccountant, part: float) -> float:
    """Take a part of the remaining approximation delta of every level."""
    remaining = accountant.remaining()
    levels = remaining.values() if isinstance(remaining, dict) else [remaining]
    delta = part * min(level.delta for level in levels)
    if not delta > 0:
        raise ValueError(
            "delta_t=None, and this budget has no delta for approximations (left), which sets that "
            "are released without noise need. Open one with approximation_delta=, such as half of "
            "its delta, or use mechanism='exponential'."
        )
    return float(min(delta, 0.1))


def _check_suitable(
    mechanism: Mechanism, items: ItemCounts, domain: Domain, limits: tuple[str, str]
) -> None:
    """Refuse a mechanism of another kind or domain, and people who exceed its limits."""
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
    n_items = len(items.counts)
    if domain == "known" and mechanism.has_fixed_size and mechanism.k == n_items:
        raise ValueError(
            f"k={n_items} are all of the {n_items} known item(s), so that nothing is chosen by "
            "counts, and the answer is known without them. Nothing was released or spent. Ask for "
            "fewer items, or for k=None (those above the largest gap); NoisyCounts releases the "
            "counts themselves."
        )
    items.check_people((limits[0], mechanism.contribution), (limits[1], mechanism.max_items))


def _warn_noise(mechanism: TopK, items: ItemCounts, unit: str) -> None:
    """Warn, before anything is paid, of noise above the largest count that the people allow."""
    if items.n_people is None:
        return
    most = items.n_people * mechanism.contribution
    if mechanism.hidden_count > most:
        named = "named by chance" if mechanism.has_fixed_size else "hardly ever named"
        warn(
            f"the noise of this release hides counts up to {mechanism.hidden_count:,.0f}, and the "
            f"{items.n_people:,} {unit}s add {most:,.0f} to an item at most: items are {named}. "
            f"Give a larger amount (epsilon= or share=), a smaller k, or more {unit}s."
        )
