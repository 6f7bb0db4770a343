"""Pricing of rows: one class for each kind of budget."""

from secretballot.accounting.pricing._calibration import calibrate_noise, noise_builder
from secretballot.accounting.pricing._kinds import pricing_for
from secretballot.accounting.pricing._priced_rows import PricedRows, Span
from secretballot.accounting.pricing._pricing import Pricing
from secretballot.accounting.pricing._threshold_pricing import answered_rows

__all__ = [
    "PricedRows",
    "Pricing",
    "Span",
    "answered_rows",
    "calibrate_noise",
    "noise_builder",
    "pricing_for",
]
