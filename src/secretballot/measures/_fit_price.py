"""Price of a fit, of a score after it, and of a search, before anything is spent."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from secretballot._base._errors import GIVE_BUDGET, BudgetExceededError
from secretballot._base._numbers import check_integer, number_of_rows
from secretballot._base._sklearn_compat import ShortParameterErrors
from secretballot._base._view import Bar, Cell, Prose, Shown, Table, View
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._release_plan import ReleasePlan
from secretballot.ledger._budget import ONLY_LEVEL, Scope, by_level
from secretballot.measures._class_scores import ScorePrice, price_score
from secretballot.measures._measure import ROUNDING, TOO_EXPENSIVE, share_text
from secretballot.measures._number_scores import RegressionScorePrice
from secretballot.tables._fit_checks import price_of_all

#: Least and largest part of what is left that fits are advised to take if a score follows.
_LEAST_PART, _MOST_PART = 0.01, 0.9


@dataclass(frozen=True, kw_only=True)
class FitPrice(Shown):
    """Price of a fit, and its prospects, from public numbers.

    Attributes
    ----------
    share : dict of str to float
        Share of the whole budget that a fit takes, per level.
    remaining : dict of str to float
        Share of the whole budget that is left now, per level.
    score : ScorePrice, RegressionScorePrice or None
        Price of `score_private` afterwards, which may be more than what is left now.
    n_fits : int
        Fits that are to follow, such as those of a search.
    epsilon_per_fit : float, dict of str to float or None
        Epsilon of each fit at which `n_fits` fits use up what is left; None if too little is left.
    sizes : dict of str to float
        Sizes that the fit would choose, such as the number of teachers, or of rounds.
    problem : str
        Reason for which the fit would be refused; empty if it would not.
    expected : str
        Prospects of the fit, in words.
    unit : str
        ``"row"``, or ``"owner"`` if the price is for a number of owners.
    plan : ReleasePlan or None
        What the fit would release; None if it would be refused.
    """

    share: Mapping[str, float]
    remaining: Mapping[str, float]
    score: ScorePrice | RegressionScorePrice | None
    n_fits: int
    epsilon_per_fit: float | Mapping[str, float] | None
    sizes: Mapping[str, float]
    problem: str
    expected: str
    unit: str = "row"
    plan: ReleasePlan | None = None

    @property
    def all_fits_succeed(self) -> bool:
        """True if all fits fit what is left, and none is refused."""
        return not self.problem and all(
            share <= self.remaining[level] * ROUNDING for level, share in self._all_fits.items()
        )

    def _view(self) -> View:
        steps = [("this fit", self.share)]
        if self.n_fits > 1:
            steps = [("one fit", self.share), (f"{self.n_fits} fits", self._all_fits)]
        if self.score is not None:
            steps.append((f"score, {self.score.precision}", by_level(self.score.share)))
        steps.append(("left now", self.remaining))
        rows: list[list[Cell]] = []
        for step, shares in steps:
            for level, share in shares.items():
                name = step if level == ONLY_LEVEL else f"{step} ({level})"
                rows.append([name, Bar.of(share, "of the budget"), share_text(share)])
        sizes = ", ".join(
            f"{name.removeprefix('n_').replace('_', ' ')} "
            + (f"{size:,}" if isinstance(size, int) else f"{size:.4g}")
            for name, size in self.sizes.items()
        )
        problem = f"Refused: {self.problem}" if self.problem else ""
        unit = "The unit is the owner: numbers are of owners, not of rows."
        counted = unit if self.unit == "owner" else ""
        texts = [problem, self._budget_advice(), sizes, counted, self.expected]
        table = Table(("step", "", "of the budget"), rows)
        plan = () if self.plan is None else self.plan._view().parts
        return View("FitPrice", (table, *plan, *(Prose.of(text) for text in texts if text)))

    def __repr__(self) -> str:
        return str(self)

    @property
    def _all_fits(self) -> dict[str, float]:
        return {level: self.n_fits * share for level, share in self.share.items()}

    def _budget_advice(self) -> str:
        """Return the epsilon at which all fits suit what is left, if they don't."""
        epsilon = self.epsilon_per_fit
        if self.problem or epsilon is None:
            return ""
        call = f"epsilon=accountant.epsilon_per_fit({self.n_fits}"
        if not self.all_fits_succeed:
            number = repr(dict(epsilon)) if isinstance(epsilon, Mapping) else f"{epsilon:.4g}"
            return (
                f"Too little is left for {self.n_fits} such fits: {call}), which is {number}, is "
                "enough for all of them."
            )
        score = {} if self.score is None else by_level(self.score.share)
        if self.score is not None and not self.score.fits:
            return self.score._remedy
        if all(
            share + score.get(level, 0.0) <= self.remaining[level]
            for level, share in self._all_fits.items()
        ):
            return ""
        part = min(
            1 - score.get(level, 0.0) / remaining_share
            for level, remaining_share in self.remaining.items()
        )
        if (part := math.floor(100 * part) / 100) < _LEAST_PART:
            return TOO_EXPENSIVE
        part = min(part, _MOST_PART)
        return f"Too little would be left for a score: {call}, share={part:g}) leaves enough."


class FitPriceMethods(ShortParameterErrors, ABC):
    """The price of an estimator's fit, as a method."""

    accountant: PrivacyAccountant | None

    def price_fit(
        self,
        n: int | Mapping[str, int],
        X_public: object = None,
        *,
        n_fits: int = 1,
        n_labels: int | None = None,
        n_scored: int | None = None,
    ) -> FitPrice:
        """Compute the price of `fit`, and what is known of its quality beforehand. Free.

        It reads the parameters, the budget and public numbers.

        Parameters
        ----------
        n : int, table of rows, or dict of str to either
            Number of private rows, or owners, or the rows themselves, whose number is taken; per
            level if ``budgets`` is given to `fit`.
        X_public : array-like of shape (n_public, n_features) or PublicData, default=None
            Public rows, as for `fit`.
        n_fits : int, default=1
            Fits that are to follow. A search over a grid makes ``len(ParameterGrid(grid))`` fits
            for each fold, and one more with ``refit=True``.
        n_labels : int, default=None
            Number of labels, where a row has several.
        n_scored : int or table of rows, default=None
            Number of rows, or owners, of a score after the fit; fewer cost more. None: those of
            the fit.

        Returns
        -------
        FitPrice
            A table, if it is printed or shown in a notebook.

        Raises
        ------
        BudgetExceededError
            If next to nothing is left of the budget.
        ValueError
            If an argument is invalid, or there is no accountant.
        """
        self._validate_params()
        if self.accountant is None:
            raise ValueError(f"accountant=None: a price is a share of a budget. {GIVE_BUDGET}")
        n = fitted_rows(n, n_fits, n_labels, self.accountant.unit)
        n_scored = number_of_rows("n_scored", n_scored, self.accountant.unit)
        if n_scored is None:
            n_scored = sum(n.values()) if isinstance(n, Mapping) else n
        check_integer("n_scored", n_scored)
        score: ScorePrice | RegressionScorePrice | None = None
        with suppress(BudgetExceededError):
            score = self._price_later_score(self.accountant, n_scored)
        priced = self._price_fit(n, X_public, n_fits, n_labels)
        return replace(priced, score=score, unit=self.accountant.unit)

    @abstractmethod
    def _price_fit(
        self,
        n: int | Mapping[str, int],
        X_public: object,
        n_fits: int,
        n_labels: int | None,
    ) -> FitPrice:
        """Compute the price of the fit, without that of a score; the numbers were checked."""

    def _price_later_score(
        self, accountant: PrivacyAccountant, n: int
    ) -> ScorePrice | RegressionScorePrice:
        return price_score(accountant, n)


def fitted_rows(
    n: int | Mapping[str, int], n_fits: int, n_labels: int | None, unit: str
) -> int | Mapping[str, int]:
    """Return the number of rows, or owners, of a fit that is planned; check the other numbers."""
    n = number_of_rows("n", n, unit)
    check_integer("n", n, per_level=True)
    check_integer("n_fits", n_fits)
    if n_labels is not None:
        check_integer("n_labels", n_labels, least=2)
    return n


def price_of_fits(
    accountant: PrivacyAccountant,
    scope: Scope,
    n_fits: int,
    *,
    share: Mapping[str, float] | None,
    sizes: Mapping[str, float],
    problem: str,
    expected: str,
    plan: ReleasePlan | None = None,
) -> FitPrice:
    """Compute the price of fits that take all that their scope allows, or a given share.

    The cap of the scope is that of one fit.
    """
    epsilon_per_fit = None
    with suppress(BudgetExceededError):
        epsilon_per_fit = accountant.epsilon_per_fit(n_fits)
    remaining = by_level(accountant.remaining())
    return FitPrice(
        share=price_of_all(accountant, scope) if share is None else share,
        remaining={level: report.share for level, report in remaining.items()},
        score=None,
        n_fits=n_fits,
        epsilon_per_fit=epsilon_per_fit,
        sizes=sizes,
        problem=problem,
        expected=expected,
        plan=plan,
    )
