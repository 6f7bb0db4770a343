"""Ctrl-C after a release: what is made of it is kept, not the numbers that were drawn alone."""

import signal

import numpy as np
import pandas as pd
import pytest

from secretballot import PrivacyAccountant, PrivateLinearRegression, PrivateLogisticRegression
from secretballot.accounting import CompletedInterrupt
from secretballot.measures import (
    PrivateConfusion,
    PrivateItems,
    PrivateQuantiles,
    PrivateRegressionScore,
    PrivateScore,
    confusion_private,
    private_quantiles,
    private_top_k,
    regression_score_private,
    score_private,
)
from secretballot.quantification import Bags, PublishedProportions, publish_proportions

RNG = np.random.default_rng(0)
N = 400
LABELS, GUESSES = RNG.integers(0, 2, N), RNG.integers(0, 2, N)
NUMBERS = RNG.uniform(0, 1, N)
TABLE = pd.DataFrame({"age": RNG.integers(20, 60, N), "hours": RNG.normal(40, 5, N)})
BAGS = Bags.from_groups(None, LABELS, np.repeat(np.arange(4), N // 4))
BOUNDS = {"age": (0, 100), "hours": (0, 100)}


def classifier(accountant):
    model = PrivateLogisticRegression(
        bounds=BOUNDS, classes=[0, 1], accountant=accountant, epsilon=30.0
    )
    return model.fit(TABLE, LABELS)


def regressor(accountant):
    model = PrivateLinearRegression(
        bounds=BOUNDS, target_bounds=(0, 1), accountant=accountant, epsilon=30.0
    )
    return model.fit(TABLE, NUMBERS)


#: By name: what is prepared, what is called with it, and the answer's type.
ANSWERS = {
    "score": (
        None,
        lambda a, _: score_private(a, LABELS, GUESSES, epsilon=9.0),
        PrivateScore,
    ),
    "confusion": (
        None,
        lambda a, _: confusion_private(a, LABELS, GUESSES, classes=[0, 1], epsilon=9.0),
        PrivateConfusion,
    ),
    "score of numbers": (
        None,
        lambda a, _: regression_score_private(
            a, NUMBERS, NUMBERS / 2, target_bounds=(0, 1), epsilon=9.0
        ),
        PrivateRegressionScore,
    ),
    "quantiles": (
        None,
        lambda a, _: private_quantiles(TABLE, 0.5, bounds=BOUNDS, accountant=a, epsilon=9.0),
        PrivateQuantiles,
    ),
    "top k": (
        None,
        lambda a, _: private_top_k(pd.get_dummies(TABLE["age"]), 3, accountant=a, epsilon=9.0),
        PrivateItems,
    ),
    "score of a model": (
        classifier,
        lambda _, model: model.score_private(TABLE, LABELS, epsilon=9.0),
        PrivateScore,
    ),
    "score of a regression": (
        regressor,
        lambda _, model: model.score_private(TABLE, NUMBERS, epsilon=9.0),
        PrivateRegressionScore,
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("moment", ["drawn", "returned"])
def test_the_answer_is_kept(name, moment, monkeypatch):
    prepare, ask, kind = ANSWERS[name]
    accountant = PrivacyAccountant(99.0, 1e-5)
    prepared = prepare and prepare(accountant)
    interrupt_release(monkeypatch, moment)
    with pytest.raises(CompletedInterrupt) as interrupt:
        ask(accountant, prepared)
    assert isinstance(interrupt.value.answer, kind)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("moment", ["drawn", "returned"])
def test_published_proportions_are_kept(moment, monkeypatch):
    interrupt_release(monkeypatch, moment)
    with pytest.raises(CompletedInterrupt) as interrupt:
        publish_proportions(BAGS, epsilon=5.0, delta=1e-6, classes=[0, 1])
    assert isinstance(interrupt.value.answer, PublishedProportions)


def interrupt_release(monkeypatch, moment):
    """Send SIGINT when the last entry was written, or when `release` has returned."""
    inner = PrivacyAccountant.release

    def release(self, *args, **options):
        ledger = self._ledger
        write = ledger._store.write

        def written(record):
            answer = write(record)
            if moment == "drawn":
                signal.raise_signal(signal.SIGINT)
            return answer

        with monkeypatch.context() as patch:
            patch.setattr(ledger._store, "write", written)
            outcome = inner(self, *args, **options)
        if moment == "returned":
            signal.raise_signal(signal.SIGINT)
        return outcome

    monkeypatch.setattr(PrivacyAccountant, "release", release)
