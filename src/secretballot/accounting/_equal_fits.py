"""Division of what is left of a budget into the caps of equal fits."""

from __future__ import annotations

from dataclasses import replace

from secretballot._base._errors import BudgetExceededError
from secretballot.accounting._largest_epsilon import largest_epsilon
from secretballot.accounting._limits import USED_UP, Limits
from secretballot.accounting._privacy_filter import WORTH_SPENDING, scope_filters
from secretballot.ledger._budget import Budget, LevelBudget, Scope
from secretballot.ledger._totals import Totals

#: The relative rounding of a price, and of each term of a sum of charges.
_PRICE_ROUNDING, _SUM_ROUNDING = 1e-9, 2.0**-50

#: Largest part of a fit's charge that may be missing from the budget: rounding of other charges.
_SHORTFALL = 1e-6


def equal_caps(budget: Budget, totals: Totals, n_fits: int, share: float) -> dict[str, float]:
    """Compute the epsilon of each of `n_fits` fits that take a share of what is left, by level.

    BudgetExceededError if a fit would get too little to calibrate noise to.
    """
    if budget.is_sensitive and totals.n_releases:
        raise ValueError(
            "accounting='data_dependent': what is left depends on the votes, and would be seen in "
            "the epsilon of each fit. Compute it before the first release."
        )
    headroom = Limits(budget).headroom(totals, budget.names)
    part = share / n_fits * (1 - _PRICE_ROUNDING - n_fits * _SUM_ROUNDING)
    caps = {}
    for level in budget.levels:
        amount, delta = headroom[level.name]
        if part * amount <= WORTH_SPENDING * level.amount:
            most = int(share * amount / (WORTH_SPENDING * level.amount) * (1 - 1e-6))
            remedy = f"at most {most} fits have so much" if most else "the budget is used up"
            raise BudgetExceededError(
                f"n_fits={n_fits}: each fit would get {part * amount / level.amount:.2g} of the "
                f"budget of {level.name!r}, and needs more than {WORTH_SPENDING:g}: under less, "
                f"noise drowns every answer. Nothing was released or spent; {remedy}."
            )
        caps[level.name] = _largest_cap(budget, level, part * amount, part * delta)
    return caps


def check_left(budget: Budget, totals: Totals, scope: Scope) -> None:
    """Refuse a new scope whose epsilon, or share, is more than what is left of the budget.

    Where costs depend on the votes nothing is refused: what is left depends on them too.
    """
    if budget.is_sensitive:
        return
    headroom = Limits(budget).headroom(totals, budget.names)
    for level in budget.levels:
        cap, share = scope.cap(level.name), scope.share_of(level.name)
        if cap is not None:
            amount_text = f"epsilon={scope.epsilon!r}"
            remedy = "epsilon=accountant.epsilon_per_fit()"
            amount, _ = _largest_charge(budget, level, min(cap, level.epsilon))
        elif share is not None:
            amount_text, amount = f"share={scope.share!r}", share * level.amount
            remedy = "share='rest'"
        else:
            continue
        remaining, _ = headroom[level.name]
        if amount * (1 - _SHORTFALL) > remaining:
            price, share_left = (
                min(max(part / level.amount, 0), 1) for part in (amount, remaining)
            )
            is_used_up = any(
                headroom[other.name][0] <= WORTH_SPENDING * other.amount for other in budget.levels
            )
            advice = f"T{USED_UP[1:]}" if is_used_up else f"Pass {remedy} for what is left."
            raise BudgetExceededError(
                f"{amount_text} takes {price:.1%} of the budget"
                f"{_of_level(level, budget)}, and {share_left:.1%} is left. Nothing was released "
                f"or spent. {advice}"
            )


def _of_level(level: LevelBudget, budget: Budget) -> str:
    return f" of {level.name!r}" if len(budget.levels) > 1 else ""


def _largest_cap(budget: Budget, level: LevelBudget, amount: float, delta: float) -> float:
    """Compute the largest epsilon of a fit that takes at most so much of a level's amounts."""

    def fits(cap: float) -> bool:
        charged_amount, charged_delta = _largest_charge(budget, level, cap)
        return charged_amount <= amount and charged_delta <= delta

    return largest_epsilon(level.epsilon, fits)


def _largest_charge(budget: Budget, level: LevelBudget, cap: float) -> tuple[float, float]:
    """Compute the amount and the delta that a fit takes of a level at most, under a cap.

    At Renyi orders it is that of Gaussian noise, whose divergences are proportional to the order:
    the filter of a fit has another order than that of the budget.
    """
    one_level = replace(budget, levels=(level,))
    (filter_,) = scope_filters(one_level, Scope("equal fit", cap))
    if isinstance(filter_.order, str):
        return filter_.amount, filter_.delta
    if budget.kind == "pairs":
        return filter_.amount, cap / level.epsilon * level.delta
    assert not isinstance(level.order, str)
    return filter_.amount * level.order / filter_.order, 0.0
