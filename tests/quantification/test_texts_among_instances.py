"""Instances that hold texts: errors show none, and their remedy is followed."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from secretballot.ensemble import TableEncoder
from secretballot.quantification import (
    LabelProportionsClassifier,
    MMDClassRatioEstimator,
    PerBag,
    SoftmaxClassRatioEstimator,
)

SECRET = "secret-77"
_RNG = np.random.default_rng(0)
_AT = np.arange(600)
LABELS, BAG = (_RNG.random(600) < (_AT % 6 + 1) / 8).astype(int), _AT % 6
NUMBERS = pd.DataFrame({"age": LABELS + _RNG.normal(size=600), "pay": _RNG.normal(size=600)})
TEXTS = NUMBERS.assign(job=np.where(_RNG.random(600) < 0.5, SECRET, "nurse"))
SHARES = np.array([LABELS[BAG == bag].mean() for bag in range(6)])
TABLE = pd.DataFrame({0: 1 - SHARES, 1: SHARES})
BAGS = [TEXTS[BAG == bag] for bag in range(6)]


def refused(ask):
    with pytest.raises(ValueError, match="holds texts") as error:
        ask()
    assert SECRET not in str(error.value)
    assert "nurse" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("rows", [TEXTS, TEXTS.to_numpy()])
def test_instances_of_a_classifier(rows):
    model = LabelProportionsClassifier(features=None, random_state=0)
    text = refused(lambda: model.fit(rows, bag_ids=BAG, proportions=TABLE))
    names = {"X": rows, "TableEncoder": TableEncoder}
    names["encoder"] = eval(re.search("encoder = (.*) of secret", text)[1], names)
    encoded = eval(re.search("give (.*?), in", text)[1], names)
    assert model.fit(encoded, bag_ids=BAG, proportions=TABLE).score(encoded, LABELS) > 0.6


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "decision_function"])
def test_instances_to_classify(ask):
    model = LabelProportionsClassifier(features=None, random_state=0)
    model.fit(NUMBERS, bag_ids=BAG, proportions=TABLE)
    refused(lambda: getattr(model, ask)(NUMBERS.assign(pay=SECRET)))


@pytest.mark.parametrize("make", [MMDClassRatioEstimator, SoftmaxClassRatioEstimator])
@pytest.mark.filterwarnings("ignore")
def test_bags(make):
    text = refused(lambda: make(random_state=0).fit(BAGS, TABLE.to_numpy()))
    step = re.search(r"(PerBag\(TableEncoder\(\)\)) of", text)[1]
    model = make_pipeline(
        eval(step, {"PerBag": PerBag, "TableEncoder": TableEncoder}), make(random_state=0)
    )
    assert np.abs(model.fit(BAGS, TABLE.to_numpy()).predict(BAGS) - TABLE).to_numpy().mean() < 0.2
    fitted = make(random_state=0).fit([NUMBERS[BAG == bag] for bag in range(6)], TABLE.to_numpy())
    refused(lambda: fitted.predict([bag.assign(pay=SECRET)[["age", "pay"]] for bag in BAGS]))
