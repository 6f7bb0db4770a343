"""The pricing of each kind of budget."""

from __future__ import annotations

from secretballot.accounting._limits import Limits
from secretballot.accounting._protocol import game_laws
from secretballot.accounting.pricing._gaussian_pricing import GaussianPricing
from secretballot.accounting.pricing._pair_pricing import PairPricing, is_pair_plan
from secretballot.accounting.pricing._priced_rows import PricedRows
from secretballot.accounting.pricing._pricing import Pricing
from secretballot.accounting.pricing._renyi_pricing import RenyiPricing
from secretballot.accounting.pricing._threshold_pricing import ThresholdPricing
from secretballot.games import answer_steps


def plan_pricing(
    limits: Limits, priced: PricedRows
) -> type[GaussianPricing] | type[PairPricing] | None:
    """Return the pricing of rows as plans; None where the budget charges them one by one."""
    if limits.budget.kind == "gaussian":
        laws = game_laws(priced.mechanism, priced.n_columns)
        # Known votes are known to be answered or not: nothing is left over.
        is_split = laws and priced.votes is None and all(map(answer_steps, laws.values()))
        return ThresholdPricing if is_split and not priced.is_parallel else GaussianPricing
    return PairPricing if limits.budget.kind == "pairs" and is_pair_plan(priced) else None


def pricing_for(limits: Limits, priced: PricedRows) -> Pricing:
    """Return the pricing of rows in the kind of budget that has the limits."""
    return (plan_pricing(limits, priced) or RenyiPricing)(limits, priced)
