"""Promises about noise: its law, its independence, and that it is enough for the claim."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2, rankdata

from secretballot.accounting import ORDERS, RenyiCost
from secretballot.audit import (
    Audit,
    Draw,
    Neighbours,
    OutcomeLaw,
    as_neighbours,
    audit_epsilon,
    draw_in_blocks,
    groups_paid,
    hockey_stick,
    mechanism_draws,
    outcome_law,
)
from secretballot.checks._contract import NotApplicable
from secretballot.checks._mechanism_example import (
    MechanismExample,
    budget_of,
    charges_known,
    count_columns,
    mechanism_counts,
    own_delta,
    pay,
    rows_that_fit,
)
from secretballot.divergences import EVERYONE, GAUSSIAN, gaussian_delta, level_cost, split_group
from secretballot.mechanisms import Mechanism

AUDIT_DELTA = 1e-2
#: Draws of the audits in continuous integration.
CI_DRAWS = 200_000
_N_ROWS = 1 << 15
_FALSE_ALARM = 1e-12  # probability that a statistical check of a correct mechanism fails
_FINITE = ORDERS[:-1]
_MEDIUM_EPSILON = 60.0  # a row of an example takes a noticeable share of such a budget


def example_neighbours(example: MechanismExample) -> list[Neighbours]:
    """List the example's pairs of neighbouring data sets."""
    return [as_neighbours(pair) for pair in example.neighbours]


def accountant_draws(example: MechanismExample) -> Draw:
    """Build a function that draws through the accountant, as users do."""
    if own_delta(example) and example.mechanism.rows == "sequential":
        return mechanism_draws(example.mechanism)  # so many rows fit no delta below 1

    def draw(counts: ArrayLike, n_draws: int, rng: np.random.Generator) -> NDArray[Any]:
        accountant = budget_of(example)
        votes = example.mechanism.check_counts(counts)
        return draw_in_blocks(lambda rows: pay(accountant, example, rows, rng), votes, n_draws)

    return draw


def audit_example(
    example: MechanismExample, *, n_draws: int, n_rows: int = 1, random_state: int = 0
) -> Audit:
    """Audit a mechanism on the example's neighbours, each `n_rows` times over as one release."""
    mechanism = example.mechanism
    neighbours = [
        Neighbours(np.concatenate([data] * n_rows), np.concatenate([neighbour] * n_rows), group)
        for data, neighbour, group in example_neighbours(example)
    ]
    return audit_epsilon(
        mechanism,
        neighbours,
        AUDIT_DELTA,
        draw=accountant_draws(example),
        outcome_law=partial(outcome_law, mechanism),
        n_draws=n_draws,
        random_state=random_state,
    )


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
        for here, neighbour, log_p, log_q in rows:
            for known in (None, here, neighbour) if charges_known(mechanism, votes[0]) else (None,):
                counts = None if known is None else np.tile(known, (len(outcomes), 1))
                charged = mechanism.cost(outcomes, counts, n_columns=count_columns(votes[0]))
                paid = (charged[group] for group in groups_paid(pair.group, charged))
                cost = sum(paid, RenyiCost.zero())
                if cost.delta.any():
                    raise NotApplicable("with a delta of its own there is no moment to bound")
                covered = _covers(cost, log_p, log_q) and _covers(cost, log_q, log_p)
                promise = "what outcomes are charged, each its own, covers what they reveal"
                case = "in the worst case" if known is None else f"on the votes {known}"
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
