"""Teachers on private shards, their votes, and the student that learns from what is released."""

from secretballot._base._objects import published
from secretballot.ensemble._private_labels import PrivateLabels
from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble
from secretballot.ensemble.advice import NoiseAgainstBallots, TeacherAdvice, recommend_teachers
from secretballot.ensemble.individual import Upsampling, Vanishing, Weighting
from secretballot.ensemble.student import PrivateChoice, PublicStudent
from secretballot.ensemble.tables import TableEncoder, make_table_pipeline
from secretballot.tables._public_data import PublicData

__all__ = [
    "NoiseAgainstBallots",
    "PrivateChoice",
    "PrivateLabels",
    "PrivateTeacherEnsemble",
    "PublicData",
    "PublicStudent",
    "TableEncoder",
    "TeacherAdvice",
    "Upsampling",
    "Vanishing",
    "Weighting",
    "make_table_pipeline",
    "recommend_teachers",
]

published(globals())
