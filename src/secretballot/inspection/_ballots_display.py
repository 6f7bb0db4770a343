"""A picture of noise against ballots."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from secretballot.ensemble import NoiseAgainstBallots
from secretballot.inspection._drawing import axes_of, caution, ink, plain_logarithms, tells_of_votes
from secretballot.mechanisms import BinaryVoting, GNMax, Mechanism

#: Numbers of teachers, in shares of those that there are.
_AROUND = (0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3.5, 5, 10)


class BallotsDisplay:
    """How likely majorities survive the noise, against the number of teachers.

    Use `from_advice` before anything is spent, or `from_estimator` for the noise that a fitted
    ensemble has. Both know public numbers only: how large majorities are in fact is not told.

    Parameters
    ----------
    rows : sequence of NoiseAgainstBallots
        Of one number of public rows; a point of each curve for each.
    n_teachers : int
        The number that is marked.
    sensitive : bool, default=False
        Whether the noise tells of the votes, as it was calibrated to what they had left of a
        data-dependent budget: a caution is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One for each share of the ballots that a majority may have.

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
    ['60% of ballots', '75% of ballots', '90% of ballots', '100% of ballots']
    """

    def __init__(self, rows, *, n_teachers, sensitive=False):
        self.rows = rows
        self.n_teachers = n_teachers
        self.sensitive = sensitive

    @classmethod
    def from_advice(cls, advice, *, n_public=None, ax=None):
        """Draw what `recommend_teachers` found.

        Parameters
        ----------
        advice : TeacherAdvice
        n_public : int, default=None
            Which number of public rows; None: the whole pool.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : BallotsDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the advice has no such number of public rows.
        """
        known = sorted({row.n_public for row in advice.rows})
        if n_public is None:
            n_public = known[-1]
        if n_public not in known:
            raise ValueError(f"n_public={n_public!r} is none of what was looked at: {known}.")
        rows = [row for row in advice.rows if row.n_public == n_public]
        return cls(rows, n_teachers=advice.n_teachers).plot(ax)

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw what the noise of a fitted ensemble leaves of votes of more and fewer teachers.

        Nothing is spent. Of several labels a row it is one label that has a majority.

        Parameters
        ----------
        estimator : PrivateTeacherEnsemble
            Fitted, with a pool that was labelled by `GNMax` or `BinaryVoting` without a threshold,
            where all ballots weigh alike.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : BallotsDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If its mechanism is another.
        """
        check_is_fitted(estimator, "pool_labels_")
        mechanism, n_teachers = estimator.mechanism_, estimator.n_teachers_
        known = isinstance(mechanism, GNMax | BinaryVoting)
        if (
            not known
            or getattr(mechanism, "threshold", None) is not None
            or Mechanism.for_plain_ballots(mechanism) != mechanism
        ):
            raise ValueError(
                f"mechanism_={mechanism!r} is not drawn: only GNMax is, and BinaryVoting without a "
                "threshold, where all ballots weigh alike. BallotsDisplay.from_advice draws what "
                "recommend_teachers() finds."
            )
        n_public = len(estimator.pool_labels_.labels)
        n_classes = 2 if isinstance(mechanism, BinaryVoting) else len(estimator.classes_)
        several = sorted({max(round(share * n_teachers), 1) for share in _AROUND})
        rows = [
            NoiseAgainstBallots.compute(
                n_public=n_public,
                n_teachers=each,
                rows_per_teacher=float("nan"),
                sigma=mechanism.sigma,
                n_classes=n_classes,
            )
            for each in several
        ]
        sensitive = tells_of_votes(estimator)
        return cls(rows, n_teachers=n_teachers, sensitive=sensitive).plot(ax)

    def plot(self, ax=None):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : BallotsDisplay
            The display itself.
        """
        ax = axes_of(self, ax)
        self.lines_ = []
        teachers = [row.n_teachers for row in self.rows]
        for share in self.rows[0].survival:
            survive = [row.survival[share] for row in self.rows]
            label = f"{share:.0%} of ballots"
            self.lines_ += ax.plot(teachers, survive, marker="o", markersize=4, label=label)
        ax.axvline(self.n_teachers, color=ink(ax), linewidth=0.8, linestyle="--")
        first = self.rows[0]
        ax.set(
            xscale="log",
            ylim=(None, 1.02),
            xlabel="teachers",
            ylabel="the majority survives the noise",
            title=f"{first.n_public:,} public rows, sigma = {first.sigma:.3g}",
        )
        plain_logarithms(ax.xaxis)
        if self.sensitive:
            caution(ax)
        ax.legend(fontsize="small")
        return self
