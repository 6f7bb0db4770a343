"""Class ratios from class means: tests of the assumptions, intervals and random group effects."""

from secretballot.quantification.ratios._ratio_diagnostics import (
    RatioDiagnostics as RatioDiagnostics,
)
from secretballot.quantification.ratios._ratio_diagnostics import diagnose as diagnose
from secretballot.quantification.ratios._ratio_fit import fit_ratios as fit_ratios
from secretballot.quantification.ratios._ratio_interval import RatioInterval as RatioInterval
from secretballot.quantification.ratios._ratio_interval import bootstrap as bootstrap
from secretballot.quantification.ratios._ratio_misfit import Misfit as Misfit
from secretballot.quantification.ratios._ratio_misfit import MisfitWarning as MisfitWarning
from secretballot.quantification.ratios._ratio_misfit import (
    warn_of_misfit_groups as warn_of_misfit_groups,
)
