"""Scores of public models on private rows, paid from the budget, and prices beforehand.

Names that are imported as themselves are for other folders of the library, not for users.
"""

from secretballot._public import published
from secretballot.scoring._answers import codes_of as codes_of
from secretballot.scoring._answers import right_answers as right_answers
from secretballot.scoring._confusion import PrivateConfusion, confusion_private
from secretballot.scoring._fit_price import FitPrice
from secretballot.scoring._fit_price import FitPriceMethods as FitPriceMethods
from secretballot.scoring._fit_price import by_level as by_level
from secretballot.scoring._fit_price import price_of_all as price_of_all
from secretballot.scoring._fit_price import price_of_fits as price_of_fits
from secretballot.scoring._people import NO_BUDGET as NO_BUDGET
from secretballot.scoring._people import People as People
from secretballot.scoring._people import check_unit as check_unit
from secretballot.scoring._score import PrivateScore, score_private
from secretballot.scoring._score_methods import ScoreMethods as ScoreMethods
from secretballot.scoring._score_price import ScorePrice, price_score

__all__ = [
    "FitPrice",
    "PrivateConfusion",
    "PrivateScore",
    "ScorePrice",
    "price_score",
    "confusion_private",
    "score_private",
]

published(globals())
