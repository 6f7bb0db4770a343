"""What known votes did cost, in a form that may be published."""

from secretballot.divergences.sanitized._gap_costs import gap_costs, gaps_of, has_gap
from secretballot.divergences.sanitized._gap_record import (
    GapRecord,
    dump_gap_records,
    load_gap_records,
    record_gaps,
)
from secretballot.divergences.sanitized._margin import GapCosts, Margin

__all__ = [
    "GapCosts",
    "GapRecord",
    "Margin",
    "load_gap_records",
    "gap_costs",
    "record_gaps",
    "gaps_of",
    "has_gap",
    "dump_gap_records",
]
