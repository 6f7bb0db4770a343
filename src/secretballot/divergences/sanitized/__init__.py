"""What known votes did cost, in a form that may be published."""

from secretballot.divergences.sanitized._gap_costs import gap_costs, gaps_of, has_gap
from secretballot.divergences.sanitized._gap_record import (
    GapRecord,
    from_text,
    gap_records,
    to_text,
)
from secretballot.divergences.sanitized._margin import GapCosts, Margin

__all__ = [
    "GapCosts",
    "GapRecord",
    "Margin",
    "from_text",
    "gap_costs",
    "gap_records",
    "gaps_of",
    "has_gap",
    "to_text",
]
