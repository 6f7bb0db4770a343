"""The pricing of each kind of budget."""

from __future__ import annotations

from secretballot.accounting._limits import Limits
from secretballot.accounting.pricing._gaussian_prices import GaussianPrices
from secretballot.accounting.pricing._pair_prices import PairPrices, is_pair_plan
from secretballot.accounting.pricing._plan_prices import PlanPrices
from secretballot.accounting.pricing._plan_pricing import PlanPricing
from secretballot.accounting.pricing._priced_rows import PricedRows
from secretballot.accounting.pricing._pricing import Pricing
from secretballot.accounting.pricing._renyi_pricing import RenyiPricing
from secretballot.accounting.pricing._threshold_pricing import ThresholdPricing


def plan_prices(limits: Limits, priced: PricedRows) -> type[PlanPrices] | None:
    """Return the prices of rows as plans; None where the budget charges them one by one."""
    if limits.kind == "gaussian":
        return GaussianPrices
    return PairPrices if limits.kind == "pairs" and is_pair_plan(priced) else None


def pricing_for(limits: Limits, priced: PricedRows) -> Pricing:
    """Return the pricing of rows in the kind of budget that has the limits."""
    kind = plan_prices(limits, priced)
    if kind is None:
        return RenyiPricing(limits, priced)
    prices = kind(limits, priced)
    pricing = ThresholdPricing if prices.has_threshold else PlanPricing
    return pricing(limits, priced, prices)
