"""Teachers on private shards, their votes, and the student that learns from what is released.

What is imported as itself is for other folders of the library, not for users.
"""

from secretballot._public import published
from secretballot.ensemble._label_model import label_probabilities as label_probabilities
from secretballot.ensemble._mechanism_choice import check_votes_on as check_votes_on
from secretballot.ensemble._parameter_checks import refuse_arguments as refuse_arguments
from secretballot.ensemble._parameter_checks import warn_settings as warn_settings
from secretballot.ensemble._private_labels import PrivateLabels
from secretballot.ensemble._private_labels import declared_classes as declared_classes
from secretballot.ensemble._private_labels import encode as encode
from secretballot.ensemble._private_labels import learned_classes as learned_classes
from secretballot.ensemble._private_labels import warn_classes_learned as warn_classes_learned
from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble
from secretballot.ensemble._public_data import PublicData
from secretballot.ensemble._public_data import declared_private as declared_private
from secretballot.ensemble._public_data import public_rows as public_rows
from secretballot.ensemble._public_rows import as_rows as as_rows
from secretballot.ensemble._public_rows import matching_rows as matching_rows
from secretballot.ensemble._public_rows import warn_categories_left_out as warn_categories_left_out
from secretballot.ensemble._randomness import Randomness as Randomness
from secretballot.ensemble._read_target import check_targets as check_targets
from secretballot.ensemble._read_target import target_of_data as target_of_data
from secretballot.ensemble._target import Target as Target
from secretballot.ensemble._target import as_target as as_target
from secretballot.ensemble._target import dense_labels as dense_labels
from secretballot.ensemble._teacher_ballots import ballots as ballots
from secretballot.ensemble._teacher_ballots import training_failure as training_failure
from secretballot.ensemble._teachers import Shard as Shard
from secretballot.ensemble._teachers import train_teacher as train_teacher
from secretballot.ensemble._votes import collect_votes as collect_votes
from secretballot.ensemble.advice import NoiseAgainstBallots, TeacherAdvice, recommend_teachers
from secretballot.ensemble.individual import Levels as Levels
from secretballot.ensemble.individual import Upsampling, Vanishing, Weighting
from secretballot.ensemble.individual import check_levels as check_levels
from secretballot.ensemble.individual import level_names as level_names
from secretballot.ensemble.student import PrivateChoice, PublicStudent
from secretballot.ensemble.tables import TableEncoder, make_table_pipeline

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
