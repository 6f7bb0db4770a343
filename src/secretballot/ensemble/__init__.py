"""Teachers on private shards, their votes, and the student that learns from what is released."""

from secretballot.ensemble._private_labels import PrivateLabels
from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble
from secretballot.ensemble._public_data import PublicData
from secretballot.ensemble._student import PublicStudent

__all__ = ["PrivateLabels", "PrivateTeacherEnsemble", "PublicData", "PublicStudent"]

for _name in __all__:
    # Users see, and pickles name, the public path.
    globals()[_name].__module__ = __name__
del _name
