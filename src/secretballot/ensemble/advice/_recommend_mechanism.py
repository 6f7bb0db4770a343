"""Which vote on labels to take, from public numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from secretballot._numbers import as_float, check_integer
from secretballot._views import Prose, Shade, Shown, Table, View
from secretballot.accounting import calibrate
from secretballot.ensemble.advice._expected_balance import expected_balance
from secretballot.mechanisms import BinaryVoting, PowersetVoting, TauVoting

Vote = BinaryVoting | TauVoting | PowersetVoting

#: Balanced accuracies closer than that are called equal, and the simplest mechanism is taken.
_ALIKE = 0.005


@dataclass(frozen=True, kw_only=True)
class MechanismAdvice(Shown):
    """What `recommend_mechanism` found.

    Attributes
    ----------
    mechanism : BinaryVoting, TauVoting or PowersetVoting
        The one that is recommended, with noise for all rows.
    reason : str
        Why, in a sentence or two.
    candidates : dict of str to tuple of (mechanism, float)
        All that were looked at, and the balanced accuracy of a label that is expected of each.
    """

    mechanism: Vote
    reason: str
    candidates: dict[str, tuple[Vote, float]]

    def _view(self) -> View:
        rows = [
            (name, f"{mechanism.sigma:.4g}", Shade(f"{balance:.3f}", balance))
            for name, (mechanism, balance) in self.candidates.items()
        ]
        table = Table(("vote", "sigma", "expected balanced accuracy"), rows)
        return View("MechanismAdvice", (table, Prose.of(self.reason)))


def recommend_mechanism(
    *,
    n_teachers: int,
    n_labels: int,
    n_queries: int,
    epsilon: float,
    delta: float,
    agreement: float = 0.9,
    n_positives: int | None = None,
    correlation: float = 0.0,
) -> MechanismAdvice:
    """Advise which vote on labels to take, and why.

    Everything it is given must be public: known beforehand, or a guess. It computes the noise at
    which each vote answers all rows, and how often labels would then come out right if teachers
    were as good as was guessed.

    Parameters
    ----------
    n_teachers : int
        Ballots on each row.
    n_labels : int
        Labels of each row.
    n_queries : int
        Rows to be answered.
    epsilon, delta : float
        What they may cost.
    agreement : float, default=0.9
        How often a teacher is right about a label; above one half.
    n_positives : int, default=None
        How many labels a row has that are present. None: half of them, for which clipped ballots
        are not considered.
    correlation : float, default=0.0
        From 0, teachers err about each label on its own, to 1, about all labels of a row or none.

    Returns
    -------
    MechanismAdvice

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Noise is on both counts of a label. So a row of ballots clipped to tau moves the squares of
    gaps by up to min(2 tau^2, n_labels) where whole ballots move them by n_labels: clipping pays
    only where 2 tau^2 is below n_labels, and tau^2 should not be below the number of labels that
    rows have, or present labels lose their majority. PMWV, which charges half of that, recommends
    tau voting wherever tau is below the root of n_labels [1]_.

    References
    ----------
    .. [1] Dziedzic et al., "Private Multi-Winner Voting for Machine Learning" (PoPETs 2023),
       Section 5.6.

    Examples
    --------
    >>> from secretballot.ensemble import recommend_mechanism
    >>> advice = recommend_mechanism(
    ...     n_teachers=100, n_labels=20, n_queries=50, epsilon=8, delta=1e-5, n_positives=2
    ... )
    >>> type(advice.mechanism).__name__
    'TauVoting'
    """
    check_integer("n_teachers", n_teachers)
    check_integer("n_labels", n_labels, least=2)
    check_integer("n_queries", n_queries)
    if not 0.5 < as_float(agreement) <= 1:
        raise ValueError(f"agreement={agreement!r} must be above 0.5 and at most 1.")
    if not 0 <= as_float(correlation) <= 1:
        raise ValueError(f"correlation={correlation!r} must be from 0 to 1.")
    if n_positives is not None:
        check_integer("n_positives", n_positives, most=n_labels)
    positives = n_positives or max(1, n_labels // 2)

    def balance(mechanism: Vote) -> float:
        return expected_balance(mechanism, n_teachers, n_labels, agreement, positives, correlation)

    found = {}
    for name, make in _candidates(n_teachers, n_labels, n_positives).items():
        mechanism = calibrate(
            make,
            epsilon=epsilon,
            delta=delta,
            n_queries=n_queries,
            n_columns=n_labels,
            order="renyi",
        )
        found[name] = mechanism, balance(mechanism)
    best = max(balance for _, balance in found.values())
    # In this order: the simplest first.
    name, mechanism, reached = next(
        (name, mechanism, reached)
        for name, (mechanism, reached) in found.items()
        if reached >= best - _ALIKE
    )
    return MechanismAdvice(
        mechanism=mechanism, reason=_reason(name, found, reached), candidates=found
    )


def _candidates(
    n_teachers: int, n_labels: int, n_positives: int | None
) -> dict[str, Callable[[float], Vote]]:
    """Return what makes each vote from an amount of noise."""

    def binary(sigma: float) -> Vote:
        return BinaryVoting(sigma=sigma, n_votes=n_teachers)

    def sets(sigma: float) -> Vote:
        return PowersetVoting(sigma=sigma, n_labels=n_labels)

    def clipped(tau: float) -> Callable[[float], Vote]:
        return lambda sigma: TauVoting(sigma=sigma, n_votes=n_teachers, tau=tau)

    made: dict[str, Callable[[float], Vote]] = {"Binary": binary}
    for size in () if n_positives is None else sorted({n_positives, -(-3 * n_positives // 2)}):
        if 2 * size < n_labels:
            made[f"tau = sqrt({size})"] = clipped(math.sqrt(size))
    made["Powerset"] = sets
    return made


def _reason(name: str, found: dict[str, tuple[Any, float]], reached: float) -> str:
    said = {
        "Binary": "no other vote is expected to have more labels right: clipping or voting on "
        "whole sets saves less noise here than it loses votes.",
        "Powerset": "ballots agree on whole sets often enough, and one vote a row needs less "
        "noise than one for each label.",
    }
    others = ", ".join(
        f"{balance:.3f} by {other}" for other, (_, balance) in found.items() if other != name
    )
    because = said.get(
        name,
        "rows have few labels, so that ballots clipped to as many keep their votes and move less.",
    )
    hopeless = (
        " None of them is worth its budget: use more teachers, fewer rows or a larger epsilon."
        if reached < 0.6
        else ""
    )
    return (
        f"{name}: {because} Expected balanced accuracy {reached:.3f} ({others}), if teachers are "
        f"as was guessed.{hopeless}"
    )
