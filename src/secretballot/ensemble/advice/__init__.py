"""Advice from public numbers: number of teachers, and whether votes survive noise."""

from secretballot.ensemble.advice._recommend_teachers import (
    fallback_n_teachers,
    recommend_teachers,
    recommended_n_teachers,
)
from secretballot.ensemble.advice._survival import check_noise, expected_survival, warn_noise
from secretballot.ensemble.advice._teacher_advice import NoiseAgainstBallots, TeacherAdvice
from secretballot.ensemble.advice._teacher_rows import chosen_rows, too_few_rows

__all__ = [
    "NoiseAgainstBallots",
    "TeacherAdvice",
    "check_noise",
    "chosen_rows",
    "expected_survival",
    "fallback_n_teachers",
    "recommend_teachers",
    "recommended_n_teachers",
    "too_few_rows",
    "warn_noise",
]
