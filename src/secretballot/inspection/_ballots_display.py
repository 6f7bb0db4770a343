"""Display of noise against ballots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Self

from sklearn.utils.validation import check_is_fitted

from secretballot.ensemble import (
    NoiseAgainstBallots,
    PrivateTeacherEnsemble,
    TeacherAdvice,
    agreement,
)
from secretballot.inspection._axes import (
    AxesDisplay,
    caution,
    depends_on_votes,
    draw_line,
    plain_logarithms,
    thin,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Numbers of teachers on the axis, as shares of the ensemble's.
_TEACHER_SHARES = (0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3.5, 5, 10)


@dataclass(repr=False, eq=False)
class BallotsDisplay(AxesDisplay):
    """Plot of the probability that majorities survive the noise, against the number of teachers.

    Use `from_advice` before anything is spent, or `from_estimator` for the noise of a fitted
    ensemble. Both use public numbers only: the real majorities are not shown.

    Parameters
    ----------
    rows : sequence of NoiseAgainstBallots
        Points of the curves, all for one number of public rows.
    n_teachers : int
        Number of teachers marked by a line.
    sensitive : bool, default=False
        Draw a caution, because the noise was calibrated to the rest of a data-dependent budget.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One for each share of the ballots of a majority.

    See Also
    --------
    secretballot.ensemble.recommend_teachers : The numbers.
    LabelsDisplay : What labels cost.

    Examples
    --------
    >>> from secretballot.ensemble import recommend_teachers
    >>> from secretballot.inspection import BallotsDisplay
    >>> advice = recommend_teachers(n_private=4_000, n_public=40, epsilon=1, delta=1e-5)
    >>> display = BallotsDisplay.from_advice(advice)
    >>> [line.get_label() for line in display.lines_]
    ['60% agree', '75% agree', '90% agree', 'all teachers agree']
    """

    rows: Sequence[NoiseAgainstBallots]
    _: KW_ONLY
    n_teachers: int
    sensitive: bool = False

    @classmethod
    def from_advice(
        cls, advice: TeacherAdvice, *, n_public: int | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the results of `recommend_teachers`.

        Parameters
        ----------
        advice : TeacherAdvice
        n_public : int, default=None
            Number of public rows; None for the whole pool.
        ax : matplotlib Axes, default=None
            As for `plot`.

        Returns
        -------
        BallotsDisplay

        Raises
        ------
        ValueError
            If the advice has no such number of public rows.
        """
        numbers = sorted({row.n_public for row in advice.rows})
        if n_public is None:
            n_public = numbers[-1]
        if n_public not in numbers:
            raise ValueError(f"n_public={n_public!r} is none of the numbers in advice: {numbers}.")
        rows = [row for row in advice.rows if row.n_public == n_public]
        return cls(rows, n_teachers=advice.n_teachers).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: PrivateTeacherEnsemble, *, ax: Axes | None = None) -> Self:
        """Draw the effect of a fitted ensemble's noise on votes of more and fewer teachers.

        Nothing is spent. With several labels a row, the majority is that of one label.

        Parameters
        ----------
        estimator : PrivateTeacherEnsemble
            Fitted, with a pool that was labelled by a mechanism with one noisy maximum a row, such
            as `GNMax` or `BinaryVoting` without a threshold, where all ballots have one weight.
        ax : matplotlib Axes, default=None
            As for `plot`.

        Returns
        -------
        BallotsDisplay

        Raises
        ------
        ValueError
            If its mechanism is another.
        """
        check_is_fitted(estimator, "pool_labels_")
        mechanism, n_teachers = estimator.mechanism_, estimator.n_teachers_
        sigma = mechanism.count_noise
        if (
            sigma is None
            or mechanism.noise_share(n_teachers) is None
            or {len(law) for law in mechanism.laws().values()} != {1}
            or mechanism.for_plain_ballots() != mechanism
        ):
            raise ValueError(
                f"mechanism_={mechanism!r} is not drawn: only GNMax is, and BinaryVoting without a "
                "threshold, where all ballots have one weight. BallotsDisplay.from_advice draws "
                "the results of recommend_teachers()."
            )
        n_private = estimator._privacy.get("n_counted", math.nan)  # parties keep it to themselves
        rows = [
            NoiseAgainstBallots.compute(
                n_public=len(estimator.pool_labels_.labels),
                n_teachers=number,
                rows_per_teacher=n_private / number,
                sigma=sigma,
                n_classes=2 if mechanism.multilabel else len(estimator.classes_),
            )
            for number in sorted({max(round(share * n_teachers), 1) for share in _TEACHER_SHARES})
        ]
        sensitive = depends_on_votes(estimator)
        return cls(rows, n_teachers=n_teachers, sensitive=sensitive).plot(ax)

    def _draw_on(self, ax: Axes) -> None:
        self.lines_ = []
        teachers = [row.n_teachers for row in self.rows]
        first = self.rows[0]
        for share in first.survival:
            survival = [row.survival[share] for row in self.rows]
            self.lines_ += draw_line(ax, teachers, survival, agreement(share))
        ax.axvline(self.n_teachers, **thin(ax, "--"))
        title = f"{first.n_public:,} public rows, sigma = {first.sigma:.3g}"
        marked = [row.rows_per_teacher for row in self.rows if row.n_teachers == self.n_teachers]
        if marked and not math.isnan(marked[0]):
            title += f", {marked[0]:,.0f} rows a teacher"
        ax.set(
            xscale="log",
            ylim=(None, 1.02),
            xlabel="teachers",
            ylabel="the majority survives the noise",
            title=title,
        )
        plain_logarithms(ax.xaxis)
        if self.sensitive:
            caution(ax)
        ax.legend(fontsize="small")
