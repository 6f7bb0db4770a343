"""Single answers from private rows: scores, top k, quantiles, and their prices beforehand."""

from secretballot._base._objects import published
from secretballot.measures._class_scores import (
    PrivateConfusion,
    PrivateScore,
    ScorePrice,
    confusion_private,
    price_score,
    score_private,
)
from secretballot.measures._fit_price import FitPrice
from secretballot.measures._number_scores import (
    PrivateRegressionScore,
    RegressionScorePrice,
    price_regression_score,
    regression_score_private,
)
from secretballot.measures._private_quantiles import PrivateQuantiles, private_quantiles
from secretballot.measures._private_top_k import PrivateItems, private_top_k

__all__ = [
    "FitPrice",
    "PrivateConfusion",
    "PrivateItems",
    "PrivateQuantiles",
    "PrivateRegressionScore",
    "PrivateScore",
    "RegressionScorePrice",
    "ScorePrice",
    "confusion_private",
    "price_regression_score",
    "price_score",
    "private_quantiles",
    "private_top_k",
    "regression_score_private",
    "score_private",
]

published(globals())
