"""Rounds of noisy sums over private rows, and the coefficients that follow from them."""

from secretballot.linear.rounds._class_response import ClassResponse
from secretballot.linear.rounds._label_response import LabelResponse
from secretballot.linear.rounds._number_response import NumberResponse
from secretballot.linear.rounds._output import ClassifierResponse
from secretballot.linear.rounds._pair_rounds import resized
from secretballot.linear.rounds._posterior import Posterior, centred_coefficients
from secretballot.linear.rounds._private_sums import (
    BinnedResiduals,
    PrivateRows,
    Residuals,
    RowSums,
    Targets,
)
from secretballot.linear.rounds._reference_rows import N_SYNTHETIC, ReferenceRows
from secretballot.linear.rounds._residual_histogram import ResidualHistogram
from secretballot.linear.rounds._response import (
    FittedRounds,
    PairPlan,
    Response,
    RivalPlan,
    RoundPlan,
)
from secretballot.linear.rounds._synthetic_rows import rank_error_ratio

__all__ = [
    "N_SYNTHETIC",
    "BinnedResiduals",
    "ClassResponse",
    "ClassifierResponse",
    "FittedRounds",
    "NumberResponse",
    "LabelResponse",
    "PairPlan",
    "Posterior",
    "PrivateRows",
    "ReferenceRows",
    "ResidualHistogram",
    "Residuals",
    "Response",
    "RivalPlan",
    "RoundPlan",
    "RowSums",
    "Targets",
    "centred_coefficients",
    "resized",
    "rank_error_ratio",
]
