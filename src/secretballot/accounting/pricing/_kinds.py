"""The pricing of each kind of budget."""

from __future__ import annotations

from secretballot.accounting._limits import Limits
from secretballot.accounting._protocol import game_laws
from secretballot.accounting.pricing._gaussian_pricing import GaussianPricing
from secretballot.accounting.pricing._priced_rows import PricedRows
from secretballot.accounting.pricing._pricing import Pricing
from secretballot.accounting.pricing._renyi_pricing import RenyiPricing
from secretballot.accounting.pricing._threshold_pricing import ThresholdPricing
from secretballot.costs._split_plan import answer_steps


def plan_pricing(limits: Limits, priced: PricedRows) -> type[GaussianPricing] | None:
    """Return the pricing of rows as plans; None where the budget charges them one by one."""
    if limits.budget.kind != "gaussian":
        return None
    laws = game_laws(priced.mechanism, priced.n_columns)
    is_split = laws and all(map(answer_steps, laws.values())) and not priced.is_parallel
    return ThresholdPricing if is_split else GaussianPricing


def pricing_for(limits: Limits, priced: PricedRows) -> Pricing:
    """Return the pricing of rows in the kind of budget that has the limits."""
    return (plan_pricing(limits, priced) or RenyiPricing)(limits, priced)
