"""Advice from public numbers: number of teachers, and whether votes survive noise."""

from secretballot.ensemble.advice._recommend_teachers import (
    fallback_n_teachers as fallback_n_teachers,
)
from secretballot.ensemble.advice._recommend_teachers import (
    recommend_teachers as recommend_teachers,
)
from secretballot.ensemble.advice._recommend_teachers import (
    recommended_n_teachers as recommended_n_teachers,
)
from secretballot.ensemble.advice._survival import check_noise as check_noise
from secretballot.ensemble.advice._survival import expected_survival as expected_survival
from secretballot.ensemble.advice._survival import warn_costly_rows as warn_costly_rows
from secretballot.ensemble.advice._survival import warn_noise as warn_noise
from secretballot.ensemble.advice._teacher_advice import NoiseAgainstBallots as NoiseAgainstBallots
from secretballot.ensemble.advice._teacher_advice import TeacherAdvice as TeacherAdvice
from secretballot.ensemble.advice._teacher_rows import chosen_rows as chosen_rows
from secretballot.ensemble.advice._teacher_rows import too_few_rows as too_few_rows
