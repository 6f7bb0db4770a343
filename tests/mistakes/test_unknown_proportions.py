"""Mistakes with the proportions of bags: the argument and the bag are named."""

import numpy as np
import pandas as pd
import pytest

from secretballot.quantification import LabelProportionsClassifier, SoftmaxClassRatioEstimator

X = np.random.default_rng(0).normal(size=(30, 2))
IDS = np.repeat(["a", "b", "c"], 10)
TABLE = pd.DataFrame({0: [0.2, np.nan, np.inf], 1: [0.8, 0.5, 0.5]}, index=["a", "b", "c"])


@pytest.mark.parametrize(
    "proportions",
    [TABLE, TABLE[1].mask([False, True, True]), dict(zip("abc", TABLE.to_numpy(), strict=True))],
    ids=["frame", "series", "mapping"],
)
def test_a_bag_without_proportions_is_named(proportions):
    with pytest.raises(ValueError, match="^proportions must.* bag 'b', and of 1 more, contains N"):
        LabelProportionsClassifier().fit(X, bag_ids=IDS, proportions=proportions)


def test_a_list_of_bags_is_numbered():
    bags, table = np.split(X, 3), TABLE.to_numpy()[[0, 0, 1]]
    with pytest.raises(ValueError, match="^proportions must .* bag 2 contains NaN"):
        LabelProportionsClassifier().fit(bags, proportions=table)
    with pytest.raises(ValueError, match="^y must .* bag 2 contains NaN"):
        SoftmaxClassRatioEstimator().fit(bags, table)
