"""Students: training on released labels, the choice among several, and publication."""

from secretballot.ensemble.student._fit_student import fit_student as fit_student
from secretballot.ensemble.student._private_choice import PrivateChoice as PrivateChoice
from secretballot.ensemble.student._public_student import PublicStudent as PublicStudent
from secretballot.ensemble.student._student_choice import StudentChoice as StudentChoice
from secretballot.ensemble.student._student_choice import labels_share as labels_share
from secretballot.ensemble.student._student_methods import NO_STUDENT as NO_STUDENT
from secretballot.ensemble.student._student_methods import UNFITTED as UNFITTED
from secretballot.ensemble.student._student_methods import StudentMethods as StudentMethods
from secretballot.ensemble.student._trial import try_student as try_student
