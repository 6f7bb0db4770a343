"""The student: what it learns from, what it does for the ensemble, and what may be published."""

from secretballot.ensemble.student._choosing import Choosing
from secretballot.ensemble.student._fit_student import fit_student
from secretballot.ensemble.student._methods import UNFITTED, StudentMethods
from secretballot.ensemble.student._noisy_vote_logistic_regression import (
    NoisyVoteLogisticRegression,
)
from secretballot.ensemble.student._private_choice import PrivateChoice
from secretballot.ensemble.student._public_student import PublicStudent
from secretballot.ensemble.student._trial import try_student

__all__ = [
    "UNFITTED",
    "Choosing",
    "NoisyVoteLogisticRegression",
    "PrivateChoice",
    "PublicStudent",
    "StudentMethods",
    "fit_student",
    "try_student",
]
