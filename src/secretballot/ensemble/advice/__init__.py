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
from secretballot.ensemble.advice._teacher_advice import NoiseAgainstBallots, TeacherAdvice

__all__ = [
    "ExpectedVote",
    "MechanismAdvice",
    "NoiseAgainstBallots",
    "TeacherAdvice",
    "recommend_teachers",
    "check_noise",
    "expected_survival",
    "fallback_n_teachers",
    "recommend_mechanism",
    "recommended_n_teachers",
    "vote_noise",
    "warn_noise",
]
