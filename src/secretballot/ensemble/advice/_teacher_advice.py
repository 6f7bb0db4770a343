"""Result of `recommend_teachers`: a table and a sentence."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secretballot._base._view import Cell, Prose, Shade, Shown, Table, View
from secretballot.costs._exact_max import max_log_probabilities

if TYPE_CHECKING:
    import pandas as pd

#: Shares of the ballots that a majority may have.
_MAJORITIES = (0.6, 0.75, 0.9, 1.0)


@dataclass(frozen=True, kw_only=True)
class NoiseAgainstBallots:
    """Noise compared with votes, for one number of public rows and one of teachers.

    Attributes
    ----------
    n_public : int
        Number of public rows that are labelled.
    n_teachers : int
        Number of teachers that vote.
    rows_per_teacher : float
        Private rows of a teacher, on average.
    sigma : float
        Noise on the votes of each class at which all rows fit the budget.
    survival : dict of float to float
        Probability that a majority with that share of the ballots wins despite the noise. All
        other ballots are on one other class, which is the worst case.
    evidence : float
        Evidence for a student: the number of ballots over the noise on the difference of two
        classes, times the root of the number of rows. It hardly depends on that number.
    """

    n_public: int
    n_teachers: int
    rows_per_teacher: float
    sigma: float
    survival: dict[float, float]
    evidence: float

    @classmethod
    def compute(
        cls,
        *,
        n_public: int,
        n_teachers: int,
        rows_per_teacher: float,
        sigma: float,
        n_classes: int,
    ) -> NoiseAgainstBallots:
        """Compute survival probabilities and evidence."""
        shares = np.array(_MAJORITIES)
        votes = np.zeros((len(shares), n_classes))
        # Given the winner's noise, the other classes are behind independently, and log Phi is
        # concave: for the winner it is worst if all other ballots are on one class.
        votes[:, 0], votes[:, 1] = shares * n_teachers, (1 - shares) * n_teachers
        wins = np.exp(max_log_probabilities(votes, sigma)[:, 0])
        return cls(
            n_public=n_public,
            n_teachers=n_teachers,
            rows_per_teacher=rows_per_teacher,
            sigma=sigma,
            survival=dict(zip(_MAJORITIES, wins.tolist(), strict=True)),
            evidence=math.sqrt(n_public) * n_teachers / (math.sqrt(2) * sigma),
        )


@dataclass(frozen=True, kw_only=True)
class TeacherAdvice(Shown):
    """Result of `recommend_teachers`.

    Attributes
    ----------
    rows : tuple of NoiseAgainstBallots
        One row for each number of public rows and teachers.
    estimator : str
        Recommended: ``"PrivateLogisticRegression"`` or ``"PrivateTeacherEnsemble"``.
    n_teachers : int
        Number of teachers of an ensemble that labels the whole pool.
    reason : str
        The advice in words.
    """

    rows: tuple[NoiseAgainstBallots, ...]
    estimator: str
    n_teachers: int
    reason: str

    def _view(self) -> View:
        shares = list(self.rows[0].survival)
        headings = ["public rows", "teachers", "rows each", "sigma"]
        headings += [
            "if all teachers agree" if share == 1 else f"if {share:.0%} agree" for share in shares
        ]
        headings.append("evidence")
        cells: list[list[Cell]] = [
            [
                f"{row.n_public:,}",
                f"{row.n_teachers:,}",
                f"{row.rows_per_teacher:,.0f}",
                f"{row.sigma:.4g}",
                *(Shade(f"{row.survival[share]:.3f}", row.survival[share]) for share in shares),
                f"{row.evidence:.1f}",
            ]
            for row in self.rows
        ]
        return View("TeacherAdvice", (Table(headings, cells), Prose.of(self.reason)))

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values.

        Returns
        -------
        dict
            ``"rows"`` is a list of dicts.
        """
        return {**asdict(self), "rows": [asdict(row) for row in self.rows]}

    def frame(self) -> pd.DataFrame:
        """Return the table as a data frame, one column for each majority; needs pandas.

        Returns
        -------
        DataFrame
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("frame() makes a data frame; install pandas.") from error
        flat = []
        for row in self.rows:
            values = asdict(row)
            survival = values.pop("survival")
            flat.append({**values, **{f"survival {share:g}": p for share, p in survival.items()}})
        return pd.DataFrame(flat)
