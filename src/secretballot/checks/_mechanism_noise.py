"""Promises about the noise: drawn as stated, afresh, and as much as the claim needs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, rankdata

from secretballot.accounting import ORDERS, RenyiCost
from secretballot.audit import (
    Audit,
    Draw,
    Neighbours,
    as_neighbours,
    audit_epsilon,
    charged_to,
    in_blocks,
    mechanism_draws,
    outcome_law,
)
from secretballot.checks._budgets import budget_of, mechanism_counts, n_columns, own_delta, pay
from secretballot.checks._registry import MechanismExample

AUDIT_DELTA = 1e-2
#: Draws of the audits in continuous integration.
CI_DRAWS = 200_000
_N_ROWS = 1 << 15
_NEVER = 1e-12  # probability with which a statistical check of an honest mechanism fails
_FINITE = ORDERS[:-1]


def example_neighbours(example: MechanismExample) -> list[Neighbours]:
    """Return the example's pairs of neighbouring data sets."""
    return [as_neighbours(pair) for pair in example.neighbours]


def door_draws(example: MechanismExample) -> Draw:
    """Return a function that draws through the accountant, as users do."""
    if own_delta(example) and example.mechanism.rows == "sequential":
        return mechanism_draws(example.mechanism)  # so many rows fit no delta below 1

    def draw(counts: Any, n_draws: int, rng: np.random.Generator) -> NDArray[Any]:
        accountant = budget_of(example)
        votes = example.mechanism.check_counts(counts)
        return in_blocks(lambda rows: pay(accountant, example, rows, rng), votes, n_draws)

    return draw


def audit_example(
    example: MechanismExample, *, n_draws: int, n_rows: int = 1, random_state: Any = 0
) -> Audit:
    """Audit a mechanism on the example's neighbours, each `n_rows` times over as one release."""
    mechanism = example.mechanism
    neighbours = [
        Neighbours(*(np.concatenate([data] * n_rows) for data in pair[:2]), pair.group)
        for pair in example_neighbours(example)
    ]
    return audit_epsilon(
        mechanism,
        neighbours,
        AUDIT_DELTA,
        draw=door_draws(example),
        law=partial(outcome_law, mechanism),
        n_draws=n_draws,
        random_state=random_state,
    )


def check_claim_survives_the_audit(example: MechanismExample) -> None:
    audit = audit_example(example, n_draws=CI_DRAWS)
    audit.check()
    assert audit.share >= example.tightness, (
        f"a tight claim is nearly spent by some pair of neighbours, but {audit}: that is less than "
        f"tightness={example.tightness:g} of it"
    )


def check_draws_follow_the_stated_law(example: MechanismExample) -> None:
    mechanism, counts = example.mechanism, mechanism_counts(example)
    law = outcome_law(mechanism, counts)
    if law is None:
        return
    drawn = door_draws(example)(counts, _N_ROWS, np.random.default_rng(0))
    for row, log_p in enumerate(law.log_probabilities):
        same = drawn[:, row, None] == law.outcomes[None]
        same = same.reshape(*same.shape[:2], -1).all(axis=-1)
        assert same.any(axis=1).all(), "nothing is released that the stated law doesn't know"
        _check_frequencies(same.sum(axis=0), _N_ROWS * np.exp(log_p))


def _check_frequencies(seen: NDArray[Any], expected: NDArray[np.float64]) -> None:
    rare = expected < 20  # pooled, so that the statistic is nearly chi-squared
    seen = np.append(seen[~rare], seen[rare].sum())
    expected = np.append(expected[~rare], max(expected[rare].sum(), 20.0))
    statistic = ((seen - expected) ** 2 / expected)[:-1].sum() + (
        max(seen[-1] - expected[-1], 0.0) ** 2 / expected[-1]
    )
    assert statistic < chi2.isf(_NEVER, len(seen)), "outcomes are drawn by the stated law"


def check_charges_pass_the_filter(example: MechanismExample) -> None:
    # Charging by outcome is sound at a fixed order a if E_Q[(P/Q)^a e^{-(a-1) cost}] <= 1
    # (Feldman and Zrnic, 2021): enumerated, for the example's neighbours, in both directions.
    mechanism = example.mechanism
    for pair in example_neighbours(example):
        laws = [outcome_law(mechanism, data) for data in pair[:2]]
        if laws[0] is None or laws[1] is None:
            return
        columns = n_columns(mechanism.check_counts(pair.data))
        charged = mechanism.cost(laws[0].outcomes, n_columns=columns)
        cost = sum(
            (charged[group] for group in charged_to(pair.group, charged)),
            0.0 * next(iter(charged.values())),
        )
        for p, q in zip(laws[0].log_probabilities, laws[1].log_probabilities, strict=True):
            covered = _filter(p, q, cost), _filter(q, p, cost)
            assert all(covered), "what outcomes are charged, each its own, covers what they reveal"


def _filter(log_p: NDArray[np.float64], log_q: NDArray[np.float64], cost: RenyiCost) -> bool:
    possible = log_p > -np.inf
    log_p, log_q = log_p[possible, None], log_q[possible, None]
    charge = (_FINITE - 1) * cost.curve[possible, :-1]
    with np.errstate(invalid="ignore"):
        moment = np.logaddexp.reduce(_FINITE * log_p + (1 - _FINITE) * log_q - charge, axis=0)
    allowed = 1e-9 * (1 + np.where(np.isfinite(charge), charge, 0.0).max(axis=0))
    return bool((cost.delta > 0).any() or np.all((moment <= allowed) | np.isnan(moment)))


def check_draws_are_independent(example: MechanismExample) -> None:
    # The same rows many times over in one release: were noise repeated, at whatever distance, the
    # outcomes' correlation at that lag would tell.
    varied = 0
    for index, pair in enumerate(example_neighbours(example)):
        counts = example.mechanism.check_counts(pair.data)[:1]
        outcome = pay(budget_of(example), example, np.concatenate([counts] * _N_ROWS), index)
        series = _series(outcome)
        if series.var() < 0.03:
            continue  # so rare an event that chance alone may repeat it
        varied += 1
        spectrum = np.abs(np.fft.rfft(series - series.mean(), 2 * _N_ROWS)) ** 2
        correlation = np.fft.irfft(spectrum)[1 : _N_ROWS // 2] / (series.var() * _N_ROWS)
        promise = "the noise of one row is independent of every other row's"
        assert np.abs(correlation).max() * np.sqrt(_N_ROWS) < 8, promise
    assert varied, "the example needs neighbours on which the outcome varies"


def _series(outcome: NDArray[Any]) -> NDArray[np.float64]:
    """Whether each outcome is the most frequent one; its rank among numbers that don't repeat."""
    rows = outcome.reshape(len(outcome), -1)
    if rows.dtype.kind == "f":
        return rankdata(rows[:, 0]) / len(rows)
    codes = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    return (codes == np.bincount(codes).argmax()).astype(np.float64)


def check_every_release_draws_afresh(example: MechanismExample) -> None:
    accountant, same = budget_of(example), True
    for pair in example_neighbours(example):
        rows = np.concatenate([example.mechanism.check_counts(pair.data)] * 200)
        first, second = (pay(accountant, example, rows, None) for _ in range(2))
        same = same and np.array_equal(first, second)
    assert not same, "no release repeats the noise of another"
