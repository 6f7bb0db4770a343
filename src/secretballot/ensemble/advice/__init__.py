"""Advice from public numbers: mechanism, number of teachers, and whether votes survive noise."""

from secretballot.ensemble.advice._expected_vote import ExpectedVote
from secretballot.ensemble.advice._recommend_mechanism import MechanismAdvice, recommend_mechanism
from secretballot.ensemble.advice._recommend_teachers import (
    fallback_n_teachers,
    recommend_teachers,
    recommended_n_teachers,
)
from secretballot.ensemble.advice._survival import (
    check_noise,
    expected_survival,
    vote_noise,
    warn_noise,
)
from secretballot.ensemble.advice._teacher_advice import (
    NoiseAgainstBallots,
    TeacherAdvice,
    agreement,
)
from secretballot.ensemble.advice._teacher_rows import chosen_rows, too_few_rows

__all__ = [
    "ExpectedVote",
    "MechanismAdvice",
    "NoiseAgainstBallots",
    "TeacherAdvice",
    "agreement",
    "check_noise",
    "chosen_rows",
    "expected_survival",
    "fallback_n_teachers",
    "recommend_mechanism",
    "recommend_teachers",
    "recommended_n_teachers",
    "too_few_rows",
    "vote_noise",
    "warn_noise",
]
