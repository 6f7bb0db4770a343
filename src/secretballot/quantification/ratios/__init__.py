"""Class ratios from class means: tests of the assumptions, intervals and random group effects."""

from secretballot.quantification.ratios._group_misfit import warn_of_misfit_groups
from secretballot.quantification.ratios._ratio_diagnostics import (
    MisfitWarning,
    RatioDiagnostics,
    diagnose,
)
from secretballot.quantification.ratios._ratio_fit import RatioFit, fit_ratios
from secretballot.quantification.ratios._ratio_interval import RatioInterval, bootstrap
from secretballot.quantification.ratios._ratio_misfit import Misfit

__all__ = [
    "Misfit",
    "MisfitWarning",
    "RatioDiagnostics",
    "RatioFit",
    "RatioInterval",
    "bootstrap",
    "diagnose",
    "fit_ratios",
    "warn_of_misfit_groups",
]
