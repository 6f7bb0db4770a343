"""Recommendation of a mechanism for several labels a row, from public numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from secretballot._numbers import as_float, check_integer
from secretballot._views import Cell, Prose, Shade, Shown, Table, View
from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble.advice._expected_vote import (
    BallotModel,
    ExpectedVote,
    Vote,
    expected_votes,
)
from secretballot.mechanisms import BinaryVoting, PowersetVoting, TauVoting

#: Balanced accuracies that differ by less count as equal: then the simplest mechanism is taken.
_TOLERANCE = 0.005

#: Least balanced accuracy at which labels are worth their budget; .5 is chance.
_MIN_ACCURACY = 0.6


@dataclass(frozen=True, kw_only=True)
class MechanismAdvice(Shown):
    """Result of `recommend_mechanism`.

    Attributes
    ----------
    mechanism : BinaryVoting, TauVoting or PowersetVoting
        Recommended mechanism, with noise for all rows.
    reason : str
        Reason, in a sentence or two.
    candidates : dict of str to ExpectedVote
        Compared mechanisms: ``mechanism``, and the expected ``recall``, ``specificity`` and
        ``balanced_accuracy`` of a released label.
    noiseless : float
        Expected balanced accuracy of a majority of the teachers without noise: no vote corrects
        the errors that most teachers share.
    """

    mechanism: Vote
    reason: str
    candidates: dict[str, ExpectedVote]
    noiseless: float

    def _view(self) -> View:
        rows: list[tuple[Cell, ...]] = [
            (
                name,
                f"{expected.mechanism.sigma:.4g}",
                *(Shade(f"{score:.3f}", score) for score in expected[1:]),
                Shade(f"{expected.balanced_accuracy:.3f}", expected.balanced_accuracy),
            )
            for name, expected in self.candidates.items()
        ]
        headings = ("vote", "sigma", "recall", "specificity", "balanced accuracy")
        return View("MechanismAdvice", (Table(headings, rows), Prose.of(self.reason)))


def recommend_mechanism(
    *,
    n_teachers: int,
    n_labels: int,
    n_queries: int,
    epsilon: float,
    delta: float,
    recall: float,
    specificity: float,
    n_positives: int | None = None,
    shared_errors: float = 0.3,
    correlation: float = 0.0,
) -> MechanismAdvice:
    """Recommend a mechanism for a vote on several labels a row.

    All parameters must be public: known beforehand, or a guess. The function computes the noise at
    which each vote answers all rows, and the expected recall and specificity of released labels if
    the guesses are right.

    Parameters
    ----------
    n_teachers : int
        Number of ballots on each row.
    n_labels : int
        Number of labels of each row.
    n_queries : int
        Number of rows to be answered.
    epsilon, delta : float
        Budget of all rows.
    recall : float
        Probability that a teacher calls a present label present.
    specificity : float
        Probability that a teacher calls an absent label absent.
    n_positives : int, default=None
        Number of present labels of a row. None: half of the labels, for which clipped ballots are
        not considered.
    shared_errors : float, default=0.3
        From 0 (teachers err independently) to 1 (all teachers err on the same rows). At 0 a
        majority is nearly always right, unlike that of real teachers.
    correlation : float, default=0.0
        From 0 (a teacher errs on each label independently) to 1 (on all labels of a row or none).

    Returns
    -------
    MechanismAdvice

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Expected scores are computed from simulated ballots (a probit model with a fixed seed). Where
    some rows and labels are public, `recall`, `specificity` and `shared_errors` can be measured on
    the ballots of a few teachers. The default of `shared_errors` is the median of six data sets.

    Noise is added to both counts of a label, so clipping to tau pays only where 2 tau^2 is below
    n_labels. PMWV, which charges half of that, recommends it below the root of n_labels [1]_.

    References
    ----------
    .. [1] Dziedzic et al., "Private Multi-Winner Voting for Machine Learning" (PoPETs 2023),
       Section 5.6.

    Examples
    --------
    >>> from secretballot.ensemble import recommend_mechanism
    >>> advice = recommend_mechanism(
    ...     n_teachers=100,
    ...     n_labels=20,
    ...     n_queries=50,
    ...     epsilon=8,
    ...     delta=1e-5,
    ...     recall=0.7,
    ...     specificity=0.95,
    ...     n_positives=2,
    ... )
    >>> type(advice.mechanism).__name__
    'TauVoting'
    """
    check_integer("n_teachers", n_teachers)
    check_integer("n_labels", n_labels, least=2)
    check_integer("n_queries", n_queries)
    for name, value in (("recall", recall), ("specificity", specificity)):
        if not 0 < as_float(value) <= 1:
            raise ValueError(f"{name}={value!r} must be above 0 and at most 1.")
    if recall + specificity <= 1:
        raise ValueError(
            f"recall={recall!r} and specificity={specificity!r} must add up to more than 1: "
            "such teachers name a label no more often where it is present."
        )
    for name, value in (("shared_errors", shared_errors), ("correlation", correlation)):
        if not 0 <= as_float(value) <= 1:
            raise ValueError(f"{name}={value!r} must be from 0 to 1.")
    if n_positives is not None:
        check_integer("n_positives", n_positives, most=n_labels - 1)
    model = BallotModel(
        n_teachers=n_teachers,
        n_labels=n_labels,
        n_positives=n_positives or max(1, n_labels // 2),
        recall=recall,
        specificity=specificity,
        shared_errors=shared_errors,
        correlation=correlation,
    )
    accountant = PrivacyAccountant(epsilon, delta, order="renyi")
    makers = _candidates(n_teachers, n_labels, n_positives)
    mechanisms = [
        accountant.calibrate(make, n_queries, n_columns=n_labels) for make in makers.values()
    ]
    expected, noiseless = expected_votes(mechanisms, model)
    candidates = dict(zip(makers, expected, strict=True))
    least = max(vote.balanced_accuracy for vote in expected) - _TOLERANCE
    # Candidates are in order of simplicity.
    name = next(name for name, vote in candidates.items() if vote.balanced_accuracy >= least)
    return MechanismAdvice(
        mechanism=candidates[name].mechanism,
        reason=_reason(name, candidates, noiseless),
        candidates=candidates,
        noiseless=noiseless,
    )


def _candidates(
    n_teachers: int, n_labels: int, n_positives: int | None
) -> dict[str, Callable[[float], Vote]]:
    """Return functions that make each vote from an amount of noise."""

    def clipped(square: int) -> Callable[[float], Vote]:
        return lambda sigma: TauVoting(sigma=sigma, n_votes=n_teachers, tau=math.sqrt(square))

    makers: dict[str, Callable[[float], Vote]] = {
        "Binary": lambda sigma: BinaryVoting(sigma=sigma, n_votes=n_teachers)
    }
    for size in () if n_positives is None else sorted({n_positives, -(-3 * n_positives // 2)}):
        if 2 * size < n_labels:
            makers[f"tau = sqrt({size})"] = clipped(size)
    makers["Powerset"] = lambda sigma: PowersetVoting(sigma=sigma, n_labels=n_labels)
    return makers


def _reason(name: str, candidates: dict[str, ExpectedVote], noiseless: float) -> str:
    reasons = {
        "Binary": "no other vote is expected to have more labels right: clipping or voting on "
        "whole sets saves less noise here than it loses votes.",
        "Powerset": "ballots agree on whole sets often enough, and one vote a row needs less "
        "noise than one for each label.",
    }
    reason = reasons.get(
        name,
        "rows have few labels, so that ballots clipped to as many keep their votes and move less.",
    )
    alternatives = ", ".join(
        f"{vote.balanced_accuracy:.3f} by {other}"
        for other, vote in candidates.items()
        if other != name
    )
    accuracy = candidates[name].balanced_accuracy
    return (
        f"{name}: {reason} Expected balanced accuracy {accuracy:.3f} ({alternatives}; a majority "
        f"without noise {noiseless:.3f}), if the guesses are right.{_remedy(accuracy, noiseless)}"
    )


def _remedy(accuracy: float, noiseless: float) -> str:
    if accuracy >= _MIN_ACCURACY:
        return ""
    if noiseless >= _MIN_ACCURACY:
        return (
            " None of them is worth its budget: use more teachers, fewer rows or a larger epsilon."
        )
    return (
        " No budget helps, however large: teachers miss most present labels, or err on the same "
        "ones. Let ballots name more labels (ballot_threshold), or give each teacher more rows."
    )
