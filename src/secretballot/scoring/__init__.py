"""Scores of public models on private rows, paid from the budget, and prices beforehand.

Names that are imported as themselves are for other folders of the library, not for users.
"""

from secretballot._public import published
from secretballot.scoring._answers import codes_of as codes_of
from secretballot.scoring._answers import right_answers as right_answers
from secretballot.scoring._classifier_score_methods import (
    ClassifierScoreMethods as ClassifierScoreMethods,
)
from secretballot.scoring._confusion import PrivateConfusion, confusion_private
from secretballot.scoring._error_scale import ErrorScale as ErrorScale
from secretballot.scoring._error_scale import clip_error as clip_error
from secretballot.scoring._fit_price import FitPrice
from secretballot.scoring._fit_price import FitPriceMethods as FitPriceMethods
from secretballot.scoring._fit_price import by_level as by_level
from secretballot.scoring._fit_price import price_of_all as price_of_all
from secretballot.scoring._fit_price import price_of_fits as price_of_fits
from secretballot.scoring._people import People as People
from secretballot.scoring._people import check_unit as check_unit
from secretballot.scoring._regression_price import RegressionScorePrice, price_regression_score
from secretballot.scoring._regression_score import PrivateRegressionScore, regression_score_private
from secretballot.scoring._regressor_score_methods import (
    RegressorScoreMethods as RegressorScoreMethods,
)
from secretballot.scoring._score import PrivateScore, score_private
from secretballot.scoring._score_methods import PrivatePredictor as PrivatePredictor
from secretballot.scoring._score_price import ScorePrice, price_score
from secretballot.scoring._targets import check_column as check_column
from secretballot.scoring._targets import check_target_bounds as check_target_bounds
from secretballot.scoring._targets import read_targets as read_targets

__all__ = [
    "FitPrice",
    "PrivateConfusion",
    "PrivateRegressionScore",
    "PrivateScore",
    "RegressionScorePrice",
    "ScorePrice",
    "confusion_private",
    "price_regression_score",
    "price_score",
    "regression_score_private",
    "score_private",
]

published(globals())
