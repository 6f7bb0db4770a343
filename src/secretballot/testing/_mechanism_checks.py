"""Contract of mechanisms: promises about description, charges and noise, on an example."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, fields
from functools import partial
from typing import Any, ParamSpec, TypeVar
from unittest import SkipTest

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2, rankdata

from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.costs._cost import Cost, RenyiCost
from secretballot.costs._groups import EVERYONE, level_cost, split_group
from secretballot.costs._noise import gaussian_delta
from secretballot.costs._orders import GAUSSIAN, ORDERS
from secretballot.mechanisms._base import Mechanism
from secretballot.testing._audit import (
    Audit,
    Draw,
    Neighbours,
    as_neighbours,
    audit_epsilon,
    draw_in_blocks,
    groups_paid,
    mechanism_draws,
)
from secretballot.testing._outcome_laws import OutcomeLaw, hockey_stick, outcome_law

P = ParamSpec("P")
R = TypeVar("R")

AUDIT_DELTA = 1e-2
#: Draws of the audits in continuous integration.
CI_DRAWS = 200_000
ROUNDING = 1 + 1e-9
#: Part of the delta of a budget for mechanisms with a delta of their own.
_APPROXIMATION_DELTA = 0.09
LARGE_EPSILON = 1e9
_N_ROWS = 1 << 15
_FALSE_ALARM = 1e-12  # probability that a statistical check of a correct mechanism fails
_FINITE = ORDERS[:-1]
_MEDIUM_EPSILON = 60.0  # a row of an example takes a noticeable share of such a budget


class NotApplicable(SkipTest):
    """Raised by a check that does not apply, with the reason; pytest reports it as skipped."""


@dataclass(frozen=True, kw_only=True)
class MechanismExample:
    """A mechanism with counts to run it on.

    Parameters
    ----------
    mechanism : Mechanism
        With little noise: an audit of a few thousand draws can only tell large epsilons apart.
    counts : ndarray of shape (n_rows, ...)
        A few different rows.
    neighbours : tuple of Neighbours or of ndarray
        Pairs of neighbouring data sets, as telling as possible; an array is a pair of data sets of
        one row, shape (2, 1, ...). The audits run on these.
    tightness : float, default=0.7
        Share of the claimed epsilon that the audit has to find spent on one of the pairs, at delta
        0.01. Lower where a bound is known not to be tight; say why beside it.
    """

    mechanism: Mechanism
    counts: NDArray[Any]
    neighbours: tuple[Neighbours | NDArray[Any], ...]
    tightness: float = 0.7


def check_mechanism(example: MechanismExample) -> dict[str, str]:
    """Run the common checks on one mechanism.

    Parameters
    ----------
    example : MechanismExample
        The mechanism, counts to run it on, and neighbouring rows.

    Returns
    -------
    dict of str to str
        Promises that do not apply to this mechanism, and the reasons.

    Raises
    ------
    AssertionError
        If a promise is broken, with its name.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import GNMax
    >>> from secretballot.testing import MechanismExample, check_mechanism
    >>> pair = np.array([[[3.0, 7.0]], [[2.0, 8.0]]])
    >>> check_mechanism(
    ...     MechanismExample(mechanism=GNMax(sigma=1.5), counts=pair[:, 0], neighbours=(pair,))
    ... )
    {}
    """
    reasons = {}
    for check in MECHANISM_CHECKS:
        try:
            check(example)
        except NotApplicable as outcome:
            reasons[check.__name__.removeprefix("check_")] = str(outcome)
    return reasons


def quietly(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call without warnings: checks are seeded, and their runs may end early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PrivacyLeakWarning is one
        return call(*args, **kwargs)


def mechanism_counts(example: MechanismExample) -> NDArray[Any]:
    return example.mechanism.check_counts(example.counts)


def charges_known(mechanism: Mechanism, counts: NDArray[Any]) -> bool:
    """Check that a mechanism can be charged for known votes, not only in the worst case."""
    try:
        mechanism.state(counts)
    except ValueError:
        return False
    return True


def count_columns(counts: NDArray[Any]) -> int | None:
    return counts.shape[1] if counts.ndim > 1 and counts.dtype.names is None else None


def own_delta(example: MechanismExample) -> float:
    return max(float(cost.delta) for cost in example.mechanism.max_cost().values())


def budget_of(
    example: MechanismExample, epsilon: float = LARGE_EPSILON, **options: Any
) -> PrivacyAccountant:
    """Open a budget with the levels that the mechanism charges, which adds up its costs."""
    levels = {split_group(group)[0] for group in example.mechanism.max_cost()} - {EVERYONE}
    if own_delta(example):
        options.setdefault("delta", 0.1)
        if options.get("order") != np.inf:
            options.setdefault("approximation_delta", _APPROXIMATION_DELTA)
    return quietly(
        PrivacyAccountant,
        epsilon=dict.fromkeys(sorted(levels), epsilon) if levels else epsilon,
        relation=max(example.mechanism.relations),  # replacement, if it is proven for both
        **{"order": "renyi", "delta": 1e-5, **options},
    )


def rows_that_fit(example: MechanismExample, n_rows: int) -> int:
    """Return a number of rows, or fewer if the delta of `budget_of` has no room for as many."""
    delta = own_delta(example)
    return min(n_rows, max(int(_APPROXIMATION_DELTA / delta / ROUNDING), 1)) if delta else n_rows


def pay(
    accountant: PrivacyAccountant,
    example: MechanismExample,
    counts: NDArray[Any],
    seed: int | np.random.Generator | None = 0,
) -> NDArray[Any]:
    return quietly(accountant.release, example.mechanism, counts, random_state=seed)


def example_neighbours(example: MechanismExample) -> list[Neighbours]:
    return [as_neighbours(pair) for pair in example.neighbours]


def accountant_draws(example: MechanismExample) -> Draw:
    """Build a function that draws through the accountant, as users do."""
    if own_delta(example) and example.mechanism.rows == "sequential":
        return mechanism_draws(example.mechanism)  # so many rows fit no delta below 1
    # A Gaussian budget prices many rows at once, but not rows behind a threshold.
    by_row = own_delta(example) > 0 or getattr(example.mechanism, "threshold", None) is not None

    def draw(counts: ArrayLike, n_draws: int, rng: np.random.Generator) -> NDArray[Any]:
        order = "renyi" if by_row or n_draws < _N_ROWS else "gaussian"
        accountant = budget_of(example, order=order)
        votes = example.mechanism.check_counts(counts)
        return draw_in_blocks(lambda rows: pay(accountant, example, rows, rng), votes, n_draws)

    return draw


def audit_example(example: MechanismExample, *, n_draws: int, random_state: int = 0) -> Audit:
    """Audit a mechanism, as users draw from it, on the example's neighbours."""
    return audit_epsilon(
        example.mechanism,
        example_neighbours(example),
        AUDIT_DELTA,
        draw=accountant_draws(example),
        outcome_law=partial(outcome_law, example.mechanism),
        n_draws=n_draws,
        random_state=random_state,
    )


def check_is_an_immutable_description(example: MechanismExample) -> None:
    mechanism = example.mechanism
    parameters = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    assert type(mechanism)(**parameters) == mechanism, "parameters make the same mechanism again"
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism, "a pickle is the same mechanism"
    for name in parameters:
        try:
            setattr(mechanism, name, None)
        except FrozenInstanceError:
            continue
        raise AssertionError(f"{name} can be changed after the mechanism was made")
    described = json.loads(json.dumps(mechanism.describe()))
    name = described["mechanism"].rpartition(":")[2]
    assert name == type(mechanism).__qualname__, "describe() names the mechanism"
    assert set(parameters) <= set(described), "describe() tells every parameter"


def check_charges_no_more_than_its_most(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    outcome = pay(budget_of(example), example, counts)
    columns = count_columns(counts)
    most, anywhere = mechanism.max_cost(columns), mechanism.max_cost()
    votes = counts if charges_known(mechanism, counts) else None
    most_on_votes = mechanism.max_cost(columns, votes)
    charged = mechanism.cost(outcome, n_columns=columns)
    charged_known = mechanism.cost(outcome, votes, n_columns=columns)
    for group, cost in charged.items():
        assert cost.shape == (len(counts),), "cost() is per row"
        assert _is_below(cost, most[group]), "no row costs more than max_cost()"
        assert _is_below(most[group], anywhere[group]), "max_cost() bounds any number of columns"
        assert _is_below(charged_known[group], most_on_votes[group]), (
            "known rows cost at most their most"
        )
        finite = most_on_votes[group].curve[..., :-1] <= most[group].curve[:-1] * ROUNDING
        assert finite.all(), "no known row costs more than the worst case"


def check_every_row_is_charged_alone(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    columns = count_columns(counts)
    outcome = pay(budget_of(example), example, np.concatenate([counts] * 2))
    together = mechanism.cost(outcome, n_columns=columns)
    participation, first = mechanism.participation(len(outcome)), mechanism.participation(1)
    for row in range(len(outcome)):
        for group, alone in mechanism.cost(outcome[row : row + 1], n_columns=columns).items():
            if group in participation and not participation[group][row]:
                assert not together[group][row].curve.any(), "who sits a row out pays nothing"
            elif group not in first or first[group][0]:
                promise = "a row costs the same in any batch, wherever it stands"
                assert_same_cost(together[group][row : row + 1], alone, promise)


def _is_below(cost: RenyiCost, most: RenyiCost) -> bool:
    return bool((cost.curve <= most.curve * ROUNDING).all() and (cost.delta <= most.delta).all())


def assert_same_cost(cost: Cost, other: Cost, promise: str) -> None:
    """Compare two Renyi costs at the finite orders; AssertionError, with the promise."""
    finite = slice(0, -1)
    curve, other_curve = cost.curve[..., finite], other.curve[..., finite]
    assert np.allclose(curve, other_curve, rtol=1e-9, atol=0), promise
    assert np.allclose(cost.delta, other.delta, rtol=1e-9, atol=0), promise


def _stated_law(mechanism: Mechanism, counts: NDArray[Any]) -> OutcomeLaw:
    law = outcome_law(mechanism, counts)
    if law is None:
        raise NotApplicable("no outcome_law is stated, by which outcomes could be enumerated")
    return law


def check_draws_follow_the_stated_law(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    law = _stated_law(mechanism, counts)
    outcomes = np.asarray(accountant_draws(example)(counts, _N_ROWS, np.random.default_rng(0)))
    for row, log_p in enumerate(law.log_probabilities):
        same = outcomes[:, row, None] == law.outcomes[None]
        same = same.reshape(*same.shape[:2], -1).all(axis=-1)
        assert same.any(axis=1).all(), "all outcomes are among those of the stated law"
        _check_frequencies(same.sum(axis=0), _N_ROWS * np.exp(log_p))


def _check_frequencies(observed: NDArray[Any], expected: NDArray[np.float64]) -> None:
    rare = expected < 20  # pooled, so that the statistic is nearly chi-squared
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], max(expected[rare].sum(), 20.0))
    statistic = ((observed - expected) ** 2 / expected)[:-1].sum() + (
        max(observed[-1] - expected[-1], 0.0) ** 2 / expected[-1]
    )
    assert statistic < chi2.isf(_FALSE_ALARM, len(observed)), "outcomes are drawn by the stated law"


def check_charges_pass_the_filter(example: MechanismExample) -> None:
    # Charging by outcome is sound at a fixed order a if E_Q[(P/Q)^a e^{-(a-1) cost}] <= 1
    # (Feldman and Zrnic, 2021), and at order infinity if no outcome's log P/Q is above its cost:
    # enumerated, for the example's neighbours, in both directions; for what is charged in the
    # worst case, and for what is charged on the votes of either.
    mechanism = example.mechanism
    for pair in example_neighbours(example):
        votes = [mechanism.check_counts(data) for data in pair[:2]]
        laws = [_stated_law(mechanism, data) for data in votes]
        outcomes = laws[0].outcomes
        same = np.array_equal(outcomes, laws[1].outcomes)
        assert same, "the stated law names the same outcomes on neighbouring data"
        rows = zip(*votes, *(law.log_probabilities for law in laws), strict=True)
        is_known = charges_known(mechanism, votes[0])
        for row, neighbour, log_p, log_q in rows:
            for charged_votes in (None, row, neighbour) if is_known else (None,):
                counts = None
                if charged_votes is not None:
                    counts = np.tile(charged_votes, (len(outcomes), 1))
                charged = mechanism.cost(outcomes, counts, n_columns=count_columns(votes[0]))
                paid = (charged[group] for group in groups_paid(pair.group, charged))
                cost = sum(paid, RenyiCost.zero())
                if cost.delta.any():
                    raise NotApplicable("with a delta of its own there is no moment to bound")
                covered = _covers(cost, log_p, log_q) and _covers(cost, log_q, log_p)
                promise = "what outcomes are charged, each its own, covers what they reveal"
                case = "in the worst case" if counts is None else f"on the votes {charged_votes}"
                assert covered, f"{promise}; not {case}"


def check_gaussian_charges_cover_the_law(example: MechanismExample) -> None:
    # The charge of a row in a Gaussian budget lies above the hockey stick of the example's
    # neighbours, at every epsilon and in both directions.
    mechanism = example.mechanism
    accountant = budget_of(example, _MEDIUM_EPSILON, order="gaussian")
    for pair in example_neighbours(example):
        votes = [mechanism.check_counts(data)[:1] for data in pair[:2]]
        laws = [_stated_law(mechanism, data) for data in votes]
        if mechanism.rows == "parallel":
            pay(accountant, example, votes[0])
        else:
            accountant.reserve(mechanism, 1, n_columns=count_columns(votes[0]))
        charged = accountant.entries()[-1].charges
        levels = {split_group(group)[0] for group in charged}
        if pair.group != EVERYONE:
            levels = {split_group(pair.group)[0]}
        for level in levels:
            cost = level_cost(charged, level, GAUSSIAN)
            mu, failure = float(cost.at(GAUSSIAN)) ** 0.5, float(cost.delta)
            for epsilon in np.linspace(0.0, 5.0, 26):
                log_p, log_q = (law.log_probabilities[0] for law in laws)
                revealed = hockey_stick(log_p, log_q, float(epsilon))
                allowed = failure + (1 - failure) * float(gaussian_delta(mu, epsilon))
                promise = "what a row is charged in a Gaussian budget covers what it reveals"
                assert revealed <= allowed * (1 + 1e-9), promise


def _covers(cost: RenyiCost, log_p: NDArray[np.float64], log_q: NDArray[np.float64]) -> bool:
    """Check that outcomes are charged at least what they reveal of P against Q, at every order."""
    possible = log_p != -np.inf
    p, q, curve = log_p[possible, None], log_q[possible, None], cost.curve[possible]
    with np.errstate(invalid="ignore"):
        terms = np.hstack([_FINITE * p + (1 - _FINITE) * q, p - q])
        charge = np.append(_FINITE - 1, 1.0) * curve
        # An infinite charge fits no budget: the outcome is never released.
        terms = np.where(np.isinf(charge), -np.inf, terms - charge)
        moment = np.append(np.logaddexp.reduce(terms[:, :-1], axis=0), terms[:, -1].max())
    most = np.where(np.isinf(charge), 0.0, charge).max(axis=0)
    return bool((moment <= 1e-9 * (1 + most)).all())  # NaN is no proof


def check_draws_are_independent(example: MechanismExample) -> None:
    # The same rows many times over in one release: repeated noise shows as a correlation of the
    # outcomes at some lag.
    n_varied = 0
    for index, pair in enumerate(example_neighbours(example)):
        counts = example.mechanism.check_counts(pair.data)[:1]
        draws = accountant_draws(example)(counts, _N_ROWS, np.random.default_rng(index))
        series = _series(np.asarray(draws))
        assert len(series) == _N_ROWS
        if series.var() < 0.03:
            continue  # chance alone may repeat so rare an outcome
        n_varied += 1
        spectrum = np.abs(np.fft.rfft(series - series.mean(), 2 * _N_ROWS)) ** 2
        correlation = np.fft.irfft(spectrum)[1 : _N_ROWS // 2] / (series.var() * _N_ROWS)
        promise = "the noise of one row is independent of every other row's"
        assert np.abs(correlation).max() * np.sqrt(_N_ROWS) < 8, promise
    assert n_varied, "the example needs neighbours on which the outcome varies"


def _series(outcome: NDArray[Any]) -> NDArray[np.float64]:
    """Mark the outcomes that are the most frequent one; rank numbers that don't repeat."""
    rows = outcome.reshape(len(outcome), -1)
    if rows.dtype.kind == "f":
        return rankdata(rows[:, 0]) / len(rows)
    codes = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    return (codes == np.bincount(codes).argmax()).astype(np.float64)


def check_every_release_draws_afresh(example: MechanismExample) -> None:
    same = True
    for pair in example_neighbours(example):
        accountant = budget_of(example)
        n_rows = max(rows_that_fit(example, 400) // 2, 1)
        rows = np.concatenate([example.mechanism.check_counts(pair.data)] * n_rows)
        first, second = (pay(accountant, example, rows, None) for _ in range(2))
        assert len(first) == len(second) == len(rows), "the budget has room for both"
        same = same and np.array_equal(first, second)
    assert not same, "no release repeats the noise of another"


def check_claim_survives_the_audit(example: MechanismExample) -> None:
    audit = audit_example(example, n_draws=CI_DRAWS)
    audit.check()
    assert audit.share >= example.tightness, (
        f"a tight claim is nearly spent by some pair of neighbours, but {audit}: that is less than "
        f"tightness={example.tightness:g} of it"
    )


MECHANISM_CHECKS: tuple[Callable[[MechanismExample], None], ...] = (
    check_is_an_immutable_description,
    check_charges_no_more_than_its_most,
    check_every_row_is_charged_alone,
    check_draws_follow_the_stated_law,
    check_charges_pass_the_filter,
    check_gaussian_charges_cover_the_law,
    check_draws_are_independent,
    check_every_release_draws_afresh,
    check_claim_survives_the_audit,
)
