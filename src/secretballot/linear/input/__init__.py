"""Private rows of a fit: checked, and read and added up in memory or in parts."""

from secretballot.linear.input._fit_input import (
    FitInput,
    check_input,
    check_public_table,
    checked_bounds,
    declared_bounds,
    declared_categories,
)
from secretballot.linear.input._monotonic_cst import refuse_categories
from secretballot.linear.input._parts_input import check_parts

__all__ = [
    "FitInput",
    "check_input",
    "check_parts",
    "check_public_table",
    "checked_bounds",
    "declared_bounds",
    "declared_categories",
    "refuse_categories",
]
