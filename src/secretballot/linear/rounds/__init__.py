"""Rounds of noisy sums over private rows, and the coefficients that follow from them."""

from secretballot.linear.rounds._class_response import ClassResponse as ClassResponse
from secretballot.linear.rounds._label_response import LabelResponse as LabelResponse
from secretballot.linear.rounds._number_response import NumberResponse as NumberResponse
from secretballot.linear.rounds._output import ClassifierResponse as ClassifierResponse
from secretballot.linear.rounds._posterior import Posterior as Posterior
from secretballot.linear.rounds._posterior import centred_coefficients as centred_coefficients
from secretballot.linear.rounds._private_sums import BinnedResiduals as BinnedResiduals
from secretballot.linear.rounds._private_sums import PrivateRows as PrivateRows
from secretballot.linear.rounds._private_sums import Residuals as Residuals
from secretballot.linear.rounds._private_sums import RowSums as RowSums
from secretballot.linear.rounds._private_sums import Targets as Targets
from secretballot.linear.rounds._reference_rows import N_SYNTHETIC as N_SYNTHETIC
from secretballot.linear.rounds._reference_rows import ReferenceRows as ReferenceRows
from secretballot.linear.rounds._residual_histogram import ResidualHistogram as ResidualHistogram
from secretballot.linear.rounds._response import FittedRounds as FittedRounds
from secretballot.linear.rounds._response import Response as Response
from secretballot.linear.rounds._response import RivalPlan as RivalPlan
from secretballot.linear.rounds._response import RoundPlan as RoundPlan
from secretballot.linear.rounds._response import scaled_sum as scaled_sum
from secretballot.linear.rounds._synthetic_rows import rank_error_ratio as rank_error_ratio
