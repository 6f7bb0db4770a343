"""Teachers on private shards, their votes, and the student that learns from what is released."""

from secretballot.ensemble._private_labels import PrivateLabels
from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble
from secretballot.ensemble._public_data import PublicData
from secretballot.ensemble._student import PublicStudent
from secretballot.ensemble._upsampling import Upsampling
from secretballot.ensemble._vanishing import Vanishing
from secretballot.ensemble._weighting import Weighting

__all__ = [
    "PrivateLabels",
    "PrivateTeacherEnsemble",
    "PublicData",
    "PublicStudent",
    "Upsampling",
    "Vanishing",
    "Weighting",
]

for _name in __all__:
    # Users see, and pickles name, the public path.
    globals()[_name].__module__ = __name__
del _name
