"""Advice from public numbers, before anything is asked."""

from secretballot.ensemble.advice._recommend_mechanism import (
    MechanismAdvice,
    recommend_mechanism,
)

__all__ = ["MechanismAdvice", "recommend_mechanism"]
