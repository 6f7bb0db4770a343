"""Class ratios from class means: tests of the assumptions, intervals and random group effects."""

from secretballot.quantification.ratios._ratio_diagnostics import RatioDiagnostics, diagnose
from secretballot.quantification.ratios._ratio_fit import fit_ratios
from secretballot.quantification.ratios._ratio_interval import RatioInterval, bootstrap
from secretballot.quantification.ratios._ratio_misfit import (
    Misfit,
    MisfitWarning,
    warn_of_misfit_groups,
)

__all__ = [
    "Misfit",
    "MisfitWarning",
    "RatioDiagnostics",
    "RatioInterval",
    "bootstrap",
    "diagnose",
    "fit_ratios",
    "warn_of_misfit_groups",
]
