"""Students: training on released labels, the choice among several, and publication."""

from secretballot.ensemble.student._fit_student import fit_student
from secretballot.ensemble.student._private_choice import PrivateChoice
from secretballot.ensemble.student._public_student import PublicStudent
from secretballot.ensemble.student._student_choice import StudentChoice, labels_share
from secretballot.ensemble.student._student_methods import NO_STUDENT, UNFITTED, StudentMethods
from secretballot.ensemble.student._trial import try_student

__all__ = [
    "NO_STUDENT",
    "UNFITTED",
    "PrivateChoice",
    "PublicStudent",
    "StudentChoice",
    "StudentMethods",
    "fit_student",
    "labels_share",
    "try_student",
]
