"""What to take, from public numbers: which vote, how many teachers and rows; what noise leaves."""

from secretballot.ensemble.advice._recommend_mechanism import (
    MechanismAdvice,
    recommend_mechanism,
)
from secretballot.ensemble.advice._survival import check_noise, warn_noise

__all__ = ["MechanismAdvice", "check_noise", "recommend_mechanism", "warn_noise"]
