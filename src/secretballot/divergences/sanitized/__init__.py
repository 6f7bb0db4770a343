"""What known votes did cost, in a form that may be published."""

from secretballot.divergences.sanitized._gap_costs import gap_costs, gaps_of, has_gap
from secretballot.divergences.sanitized._gap_record import (
    GapRecord,
    from_text,
    gap_records,
    to_text,
)
from secretballot.divergences.sanitized._margin import GapCosts, Margin
from secretballot.divergences.sanitized._smooth_bit import (
    line_sensitivities,
    two_class_costs,
    two_class_sensitivities,
)
from secretballot.divergences.sanitized._smooth_papernot import (
    PapernotCurve,
    papernot_sensitivities,
)
from secretballot.divergences.sanitized._smooth_release import (
    SmoothRelease,
    smooth_release_cost,
    smooth_sensitivity,
)

__all__ = [
    "GapCosts",
    "GapRecord",
    "Margin",
    "PapernotCurve",
    "SmoothRelease",
    "from_text",
    "gap_costs",
    "gap_records",
    "gaps_of",
    "has_gap",
    "line_sensitivities",
    "papernot_sensitivities",
    "smooth_release_cost",
    "smooth_sensitivity",
    "to_text",
    "two_class_costs",
    "two_class_sensitivities",
]
