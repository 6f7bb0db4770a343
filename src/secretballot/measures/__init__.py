"""Single answers from private rows: scores, top k, quantiles, and their prices beforehand."""

from secretballot._base._objects import published
from secretballot.measures._confusion import PrivateConfusion, confusion_private
from secretballot.measures._fit_price import FitPrice
from secretballot.measures._private_quantiles import PrivateQuantiles, private_quantiles
from secretballot.measures._private_top_k import PrivateItems, private_top_k
from secretballot.measures._regression_price import RegressionScorePrice, price_regression_score
from secretballot.measures._regression_score import PrivateRegressionScore, regression_score_private
from secretballot.measures._score import PrivateScore, score_private
from secretballot.measures._score_price import ScorePrice, price_score

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
